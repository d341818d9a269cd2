/* SPDX-License-Identifier: MIT */

/* The client's record; see record.h. */

#include "claims/record.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/container.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/work.h"
#include "engine/client.h"
#include "shared_table.h"

enum {
    WRITE_EVERY_MS = 20000,
    LOOK_EVERY_MS = 1000,
    EXPIRES_MS = 60000,
    FIELD_MAX = 64
};

/* More than that is not looked through for holders and waiters. */
enum { WAITS_LOOKED_AT = 64, LOOKS_MOST = 8192, CLAIMS_NAMED = 16 };

#define MS UINT64_C(1000000)

/* Of the pid namespace: what its line begins with, behind the one before. */
#define AMONG "\np "

enum { BOOT_DIGITS = 8, AMONG_SIZE = 48 };

/* A refusal is of no consequence: operators see less. */
static void
on_written(lk__request *request, lk_status status, const redisReply *reply)
{
    (void)request;
    (void)status;
    (void)reply;
}

/* ---- who holds and waits --------------------------------------------------- */

/* Text that grows within its room; what does not fit is left out. */
struct text {
    char *at;
    size_t left; /* with the NUL */
};

static void text_add(struct text *text, const char *part)
{
    size_t size = strlen(part);

    if (size >= text->left)
        return;
    memcpy(text->at, part, size + 1);
    text->at += size;
    text->left -= size;
}

/* A line break in a name would end the line. */
static bool can_be_named(const lk__wait *wait)
{
    return !wait->call.done && !wait->try_only &&
           strchr(wait->place->name, '\n') == NULL;
}

const char *lk__record_first_wait(const lk_client *client)
{
    unsigned left = WAITS_LOOKED_AT;

    for (const lk__wait *wait = client->work->first_wait;
         wait != NULL && left > 0; wait = wait->next_all, left--) {
        if (can_be_named(wait))
            return wait->place->name;
    }
    return NULL;
}

/* Adds those claims of one place that the owner of a wait holds. budget: how
   many places and claims may yet be looked at; named: how many were added. */
static void claims_add(struct text *text, const lk__place *place,
                       const lk__wait *wait, unsigned *budget, unsigned *named)
{
    const lk__claim *claim = place->first_claim;

    --*budget;
    for (; claim != NULL && *budget > 0 && *named < CLAIMS_NAMED;
         claim = claim->next) {
        --*budget;
        if (!lk__claim_is_owned_by(claim, wait->owner))
            continue;
        text_add(text, (*named)++ == 0 ? "\nw " : ",");
        text_add(text, lk__claim_id(claim) + LK__CLIENT_ID_SIZE + 1);
    }
}

/* Adds what the owner of a wait holds: "w 12,15"; false: nothing. */
static bool holds_add(struct text *text, const lk__wait *wait, unsigned *budget)
{
    unsigned named = 0;

    for (const lk__place *place = wait->call.client->work->places;
         place != NULL && *budget > 0; place = place->next)
        claims_add(text, place, wait, budget, &named);
    return named > 0;
}

static void waits_add(struct text *text, const lk_client *client)
{
    unsigned waits = WAITS_LOOKED_AT, budget = LOOKS_MOST, lines = 0;

    for (const lk__wait *wait = client->work->first_wait;
         wait != NULL && waits > 0 && lines < LK__RECORD_WAITS;
         wait = wait->next_all) {
        waits--;
        if (!can_be_named(wait))
            continue;
        if (holds_add(text, wait, &budget)) {
            text_add(text, " ");
            text_add(text, wait->place->name);
            lines++;
        }
    }
}

/* All that is to be written. NULL: no memory. */
static char *text_make(const lk__node *node)
{
    enum { LINE_MAX_SIZE = LK__NAME_MAX + CLAIMS_NAMED * 21 + 8 };
    size_t size = sizeof(node->record) + 1;
    struct text text = {.left = 0};
    char *made;

    if (node->client->work->first_wait != NULL &&
        node->client->stats.holding > 0)
        size += WAITS_LOOKED_AT + LK__RECORD_WAITS * LINE_MAX_SIZE;
    made = lk__alloc(size);
    if (made == NULL)
        return NULL;
    text = (struct text){.at = made, .left = size};
    text_add(&text, node->record);
    if (size > sizeof(node->record) + 1)
        waits_add(&text, node->client);
    return made;
}

/* In a cluster it is a key like any other: at the master of its slot. */
static lk__node *node_of(const lk_client *client)
{
    char key[LK__RECORD_KEY_SIZE];

    lk__record_key(key, client, client->id);
    return lk__cluster_node_of(client, key, strlen(key));
}

void lk__record_on_wait(lk_client *client)
{
    lk__node *node;
    uint64_t soon;

    if (client->stats.holding == 0)
        return;
    node = node_of(client);
    soon = lk__client_now(client) + LOOK_EVERY_MS * MS;
    if (lk__alarm_is_set(&node->record_alarm) &&
        node->record_alarm.timer.at > soon)
        lk__alarm_set(&client->alarms, &node->record_alarm, soon);
}

/* ---- writing --------------------------------------------------------------- */

static void on_alarm(lk__alarm *alarm);

/*
 * The user's name if it is in the local file, else the number: to ask the name
 * service may mean to ask the network, for any length of time, and to run
 * modules in this process that nobody here answers for.
 */
static void user_name(char *text, size_t size)
{
    FILE *file = fopen("/etc/passwd", "re");
    uid_t uid = geteuid();
    struct passwd entry, *found = NULL;
    char room[1024];

    snprintf(text, size, "%u", (unsigned)uid);
    if (file == NULL)
        return;
    while (fgetpwent_r(file, &entry, room, sizeof(room), &found) == 0 &&
           found->pw_uid != uid)
        found = NULL;
    if (found != NULL)
        snprintf(text, size, "%s", found->pw_name);
    fclose(file);
}

/* What a pid is a number of: "<begin of the boot's id>:<pid namespace>", behind the
   sign of its line. An empty text: not known. */
static void among_write(char text[AMONG_SIZE])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    char boot[BOOT_DIGITS + 1] = "", space[64];
    ssize_t size = readlink("/proc/self/ns/pid", space, sizeof(space) - 1);

    if (file != NULL && fgets(boot, sizeof(boot), file) == NULL)
        boot[0] = '\0';
    if (file != NULL)
        (void)fclose(file);
    space[size > 0 ? size : 0] = '\0';
    text[0] = '\0';
    /* "pid:[4026531836]" */
    if (boot[0] != '\0' && strncmp(space, "pid:[", 5) == 0)
        snprintf(text, AMONG_SIZE, AMONG "%s:%.*s", boot,
                 (int)strcspn(space + 5, "]"), space + 5);
}

/* Made once, by the thread that opens the client. */
void lk__record_init(lk__node *node)
{
    char host[FIELD_MAX + 1] = "";
    char user[FIELD_MAX + 1];
    char among[AMONG_SIZE];

    among_write(among);
    gethostname(host, FIELD_MAX);
    user_name(user, sizeof(user));
    snprintf(node->record, sizeof(node->record), "%s\n%d\n%.64s\n%s\n%.64s%s",
             host, (int)getpid(), program_invocation_short_name, user,
             node->client->settings.name, among);
    node->record_alarm.fire = on_alarm;
    node->record_request.on_reply = on_written;
}

void lk__record_key(char key[LK__RECORD_KEY_SIZE], const lk_client *client,
                    const char *id)
{
    snprintf(key, LK__RECORD_KEY_SIZE, LK__FORM_CLIENT "%.*s:%.*s",
             LK__TENANT_MAX, client->settings.tenant, LK__CLIENT_ID_SIZE, id);
}

static void send(lk__node *node)
{
    char key[LK__RECORD_KEY_SIZE];
    lk__arg args[5] = {lk__arg_text("SET")};

    lk__record_key(key, node->client, node->client->id);
    args[1] = lk__arg_text(key);
    args[2] = lk__arg_text(node->record_text);
    args[3] = lk__arg_text("PX");
    args[4] = lk__arg_number(EXPIRES_MS);
    if (lk__node_command(node, &node->record_request, 5, args) != LK_OK)
        return; /* the next one is due in time */
}

/* Writes it if it has changed or is due; again: in any case. */
static void refresh(lk__node *node, bool again)
{
    lk_client *client = node->client;
    uint64_t now = lk__client_now(client);
    bool is_its = node_of(client) == node;
    char *text = is_its ? text_make(node) : NULL;
    bool looks_again = is_its && (text == NULL || node->record_request.busy ||
                                  strlen(text) > strlen(node->record));

    lk__alarm_set(&client->alarms, &node->record_alarm,
                  now + (looks_again ? LOOK_EVERY_MS : WRITE_EVERY_MS) * MS);
    if (client->state != LK__CLIENT_OPEN || node->record_request.busy ||
        text == NULL || !lk__node_is_ready(node)) {
        lk__free(text);
        return;
    }
    if (node->record_text == NULL || strcmp(node->record_text, text) != 0)
        again = true;
    lk__free(node->record_text);
    node->record_text = text;
    if (!again && now < node->record_at + WRITE_EVERY_MS * MS)
        return;
    node->record_at = now;
    send(node);
}

static void on_alarm(lk__alarm *alarm)
{
    refresh(LK__CONTAINER_OF(alarm, lk__node, record_alarm), false);
}

void lk__record_write(lk__node *node)
{
    refresh(node, true);
}

void lk__record_remove(lk__node *node)
{
    char key[LK__RECORD_KEY_SIZE];
    lk__arg args[2] = {lk__arg_text("DEL")};

    lk__record_key(key, node->client, node->client->id);
    args[1] = lk__arg_text(key);
    lk__alarm_clear(&node->client->alarms, &node->record_alarm);
    node->record_removal.on_reply = on_written;
    if (!node->record_removal.busy && node_of(node->client) == node &&
        lk__node_command(node, &node->record_removal, 2, args) != LK_OK)
        return; /* it expires */
}

static char *line_cut(char **rest)
{
    char *line = *rest;
    char *end = strchr(line, '\n');

    if (end == NULL) {
        *rest = line + strlen(line);
    } else {
        *end = '\0';
        *rest = end + 1;
    }
    return line;
}

void lk__record_parse(lk__record *record, char *text)
{
    record->host = line_cut(&text);
    record->pid = line_cut(&text);
    record->command = line_cut(&text);
    record->user = line_cut(&text);
    record->name = line_cut(&text);
    record->among = strncmp(text, &AMONG[1], strlen(&AMONG[1])) == 0
                        ? line_cut(&text) + strlen(&AMONG[1])
                        : "";
    record->waits = text;
}

bool lk__record_is_near(const lk__record *record, const lk_client *client)
{
    const char *own = strstr(client->node->record, AMONG);

    return own != NULL && record->among[0] != '\0' &&
           strcmp(own + strlen(AMONG), record->among) == 0;
}

/* Whether a list of numbers, up to a blank, has this one. */
static bool has_number(const char *list, uint64_t number)
{
    while (*list != '\0' && *list != ' ') {
        char *end;

        if (strtoull(list, &end, 10) == number && end != list)
            return true;
        list = *end == ',' ? end + 1 : end;
        if (*list != ' ' && (*list < '0' || *list > '9'))
            return false;
    }
    return false;
}

const char *lk__record_waits_for(lk__record *record, uint64_t claim_number)
{
    while (record->waits[0] != '\0') {
        const char *line = line_cut(&record->waits);
        const char *name =
            strncmp(line, "w ", 2) == 0 ? strchr(line + 2, ' ') : NULL;

        if (name != NULL && has_number(line + 2, claim_number))
            return name + 1;
    }
    return "";
}
