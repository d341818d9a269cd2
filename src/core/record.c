/* SPDX-License-Identifier: MIT */

/* The client's record; see record.h. */

#include "core/record.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/client.h"
#include "core/node.h"

enum { WRITE_EVERY_MS = 20000, EXPIRES_MS = 60000, FIELD_MAX = 64 };

#define MS UINT64_C(1000000)

/* A refusal is of no consequence: operators see less. */
static void
on_written(lk__request *request, lk_status status, const redisReply *reply)
{
    (void)request;
    (void)status;
    (void)reply;
}

static void on_alarm(lk__alarm *alarm)
{
    lk__record_write(
        (lk__node *)(void *)((char *)alarm - offsetof(lk__node, record_alarm)));
}

static void user_name(char *text, size_t size)
{
    char room[1024];
    struct passwd entry, *found = NULL;

    if (getpwuid_r(geteuid(), &entry, room, sizeof(room), &found) == 0 &&
        found != NULL)
        snprintf(text, size, "%s", entry.pw_name);
    else
        snprintf(text, size, "%u", (unsigned)geteuid());
}

/* Made once, by the thread that opens the client: looking up a user's name may
   ask the network. */
void lk__record_init(lk__node *node)
{
    char host[FIELD_MAX + 1] = "";
    char user[FIELD_MAX + 1];

    gethostname(host, FIELD_MAX);
    user_name(user, sizeof(user));
    snprintf(node->record, sizeof(node->record), "%s\n%d\n%.64s\n%s\n%.64s",
             host, (int)getpid(), program_invocation_short_name, user,
             node->client->settings.name);
    node->record_alarm.fire = on_alarm;
    node->record_request.on_reply = on_written;
}

void lk__record_key(char *key, size_t size, const char *uuid)
{
    snprintf(key, size, "latchkey:client:%.36s", uuid);
}

void lk__record_write(lk__node *node)
{
    lk_client *client = node->client;
    char key[64];
    lk__arg args[5] = {lk__arg_text("SET")};

    lk__alarm_set(&client->alarms, &node->record_alarm,
                  lk__client_now(client) + WRITE_EVERY_MS * MS);
    if (client->state != LK__CLIENT_OPEN || node->record_request.busy ||
        !lk__node_is_ready(node))
        return;
    lk__record_key(key, sizeof(key), client->id);
    args[1] = lk__arg_text(key);
    args[2] = lk__arg_text(node->record);
    args[3] = lk__arg_text("PX");
    args[4] = lk__arg_number(EXPIRES_MS);
    if (lk__node_command(node, &node->record_request, 5, args) != LK_OK)
        return; /* the next one is due in time */
}

void lk__record_remove(lk__node *node)
{
    char key[64];
    lk__arg args[2] = {lk__arg_text("DEL")};

    lk__record_key(key, sizeof(key), node->client->id);
    args[1] = lk__arg_text(key);
    lk__alarm_clear(&node->client->alarms, &node->record_alarm);
    node->record_removal.on_reply = on_written;
    if (!node->record_removal.busy &&
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
}
