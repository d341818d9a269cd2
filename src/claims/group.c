/* SPDX-License-Identifier: MIT */

/* A Sentinel group: whom it names, and what that changes for the node. */

#include "claims/group.h"

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/mem.h"
#include "claims/ask.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/place.h"
#include "engine/client.h"

#define MS UINT64_C(1000000)

enum { SOON_MS = 250 }; /* so often while there is no master to be had */

/* ---- questions that cannot wait ------------------------------------------------ */

static void ask_soon(lk__group *group)
{
    uint64_t at = lk__client_now(group->node->client) + SOON_MS * MS;

    for (size_t i = 0; i < group->count; i++)
        lk__sentinel_ask_by(&group->sentinels[i], at);
}

/* ---- belief ------------------------------------------------------------------ */

void lk__group_look(lk__group *group)
{
    lk__node *node;
    bool gives;
    uint64_t now, at;

    if (group == NULL)
        return;
    node = group->node;
    now = lk__client_now(node->client);
    lk__belief_born(node);
    lk__belief_stays(node);
    lk__holds_time(node->client);
    gives = lk__node_is_ready(node) && lk__node_gives(node);
    at = now < node->belief.from ? node->belief.from : node->belief.until;
    lk__alarm_clear(&node->client->alarms, &group->alarm);
    if (at > now && at != LK__NEVER)
        lk__alarm_set(&node->client->alarms, &group->alarm, at);
    if (!lk__node_is_ready(node))
        ask_soon(group);
    if (gives == group->gave)
        return;
    group->gave = gives;
    if (gives)
        lk__node_give_again(node);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__group_look(LK__CONTAINER_OF(alarm, lk__group, alarm));
}

static void believe(lk__group *group, const lk__majority *majority)
{
    lk__belief *belief = &group->node->belief;

    lk__group_look(group); /* whether it has lapsed meanwhile */
    belief->until = majority->until;
    belief->from = majority->from;
    lk__group_look(group);
}

/* ---- the address --------------------------------------------------------------- */

static void follow(lk__group *group, const lk__majority *majority)
{
    lk__node *node = group->node;

    if (group->followed.host[0] != '\0')
        lk__client_log(node->client, LK_LOG_WARN,
                       "the sentinels name %s:%u as the master now",
                       majority->named->host, (unsigned)majority->named->port);
    node->address.host = NULL;
    for (lk__conn *conn = node->conns; conn != NULL; conn = conn->next)
        lk__conn_leave(conn, "the sentinels name another master");
    group->followed = *majority->named;
    group->gave = false;
    node->command_greeting.heard_at = 0; /* that was another server */
    node->address.host = group->followed.host;
    node->address.port = group->followed.port;
    lk__belief_turn(node);
    for (lk__conn *conn = node->conns; conn != NULL; conn = conn->next)
        lk__conn_retry(conn);
}

/* ---- what is said while there is none -------------------------------------------- */

enum { TROUBLE = 256 };

static bool is_refusal(lk_status why)
{
    return why == LK_EAUTH || why == LK_EDENIED;
}

/* Why it makes no sense to wait; LK_OK: it may. Each has answered, or has failed
   to, and to most of them the name is unknown, or the client is. Once there was
   a master, whoever mends the sentinels is given time. */
static lk_status judge_trouble(const lk__group *group)
{
    size_t unknown = 0, refused = 0;
    lk_status why = LK_OK;

    if (group->node->address.host != NULL)
        return LK_OK;
    for (size_t i = 0; i < group->count; i++) {
        const lk__conn *conn = &group->sentinels[i].conn;

        if (conn->state == LK__CONN_READY) {
            if (group->namings[i].asked_at == 0)
                return LK_OK;
            unknown += group->sentinels[i].is_unknown;
        } else if (conn->failures == 0) {
            return LK_OK;
        } else if (is_refusal(conn->why)) {
            refused++;
            why = conn->why;
        }
    }
    if (unknown > group->count / 2)
        return LK_EOFFLINE;
    return refused > group->count / 2 ? why : LK_OK;
}

static const lk__conn *deaf_one(const lk__group *group)
{
    const lk__conn *deaf = NULL;

    for (size_t i = 0; i < group->count; i++) {
        const lk__conn *conn = &group->sentinels[i].conn;

        if (conn->state != LK__CONN_READY && conn->failures > 0 &&
            (deaf == NULL || is_refusal(conn->why)))
            deaf = conn;
    }
    return deaf;
}

static bool is_unknown(const lk__group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        if (group->sentinels[i].is_unknown)
            return true;
    }
    return false;
}

static void trouble_words(const lk__group *group, const lk__majority *majority,
                          char text[TROUBLE])
{
    const lk__conn *deaf = deaf_one(group);

    if (is_refusal(group->trouble))
        snprintf(text, TROUBLE, "sentinel %.40s:%u: %.160s",
                 deaf->address->host, (unsigned)deaf->address->port,
                 deaf->words);
    else if (majority->heard >= majority->needed && is_unknown(group))
        snprintf(text, TROUBLE,
                 "the sentinels know no master of that name; write the one "
                 "behind 'sentinel monitor' in their configuration");
    else if (majority->heard >= majority->needed)
        snprintf(text, TROUBLE, "the sentinels do not agree on it");
    else if (deaf == NULL || group->count < majority->needed)
        snprintf(text, TROUBLE,
                 "%zu of %zu sentinels answered, %zu have to; the URL names "
                 "%zu",
                 majority->heard, majority->total, majority->needed,
                 group->count);
    else
        snprintf(text, TROUBLE,
                 "%zu of %zu sentinels answered, %zu have to; %.40s:%u: %.90s",
                 majority->heard, majority->total, majority->needed,
                 deaf->address->host, (unsigned)deaf->address->port,
                 deaf->words);
}

static void tell_trouble(lk__group *group, const lk__majority *majority)
{
    lk__node *node = group->node;
    lk__conn *conn = &node->command;
    char text[TROUBLE];

    if (conn->state == LK__CONN_READY)
        return;
    group->trouble = judge_trouble(group);
    trouble_words(group, majority, text);
    conn->why = group->trouble != LK_OK ? group->trouble : LK_EOFFLINE;
    snprintf(conn->words, sizeof(conn->words), "%.159s", text);
    if (group->trouble != LK_OK)
        lk__node_give_up(node);
}

lk_status lk__group_trouble(const lk__group *group)
{
    return group != NULL ? group->trouble : LK_OK;
}

/* ---- answers ----------------------------------------------------------------------- */

static void on_heard(lk__sentinel *sentinel)
{
    lk__group *group = sentinel->data;
    lk_client *client = group->node->client;
    lk__majority majority =
        lk__naming_judge(group->namings, group->count,
                         client->settings.failover, &group->followed,
                         lk__client_now(client));

    group->trouble = LK_OK;
    if (majority.named == NULL)
        tell_trouble(group, &majority);
    else if (!lk__naming_same(majority.named, &group->followed))
        follow(group, &majority);
    if (majority.named != NULL)
        believe(group, &majority);
    if (majority.named == NULL || !lk__node_is_ready(group->node))
        ask_soon(group);
}

/* Those that have not spoken of it yet may name another by now. */
static void on_hinted(lk__sentinel *sentinel)
{
    lk__group *group = sentinel->data;

    for (size_t i = 0; i < group->count; i++)
        lk__sentinel_ask_anew(&group->sentinels[i]);
}

static const lk__sentinel_class sentinel_class = {.heard = on_heard,
                                                  .hinted = on_hinted};

/* ---- for people ------------------------------------------------------------------------ */

static void
put_address(char *text, size_t size, const char *host, uint16_t port)
{
    (void)snprintf(text, size, strchr(host, ':') != NULL ? "[%s]:%u" : "%s:%u",
                   host, (unsigned)port);
}

/* What one that has gone said is not so of now. */
static void
see_views(const lk__group *group, uint64_t now, lk__group_facts *facts)
{
    facts->listed = group->count;
    for (size_t i = 0; i < group->count; i++) {
        const lk__address *address = group->sentinels[i].conn.address;
        lk__group_view *view = &facts->views[i];

        put_address(view->address, sizeof(view->address), address->host,
                    address->port);
        view->tells_others = group->namings[i].tells_others &&
                             lk__naming_is_heard(&group->namings[i], now);
        view->others = group->namings[i].others;
    }
}

bool lk__group_see(const lk__group *group, lk__group_facts *ret_facts)
{
    const lk_client *client;
    lk__majority majority;

    if (group == NULL)
        return false;
    client = group->node->client;
    majority = lk__naming_judge(group->namings, group->count,
                                client->settings.failover, &group->followed,
                                lk__client_now(client));
    *ret_facts = (lk__group_facts){.total = majority.total,
                                   .heard = majority.heard,
                                   .named = majority.votes};
    ret_facts->is_fast = client->settings.failover == LK_FAILOVER_FAST;
    if (majority.named != NULL)
        put_address(ret_facts->master, sizeof(ret_facts->master),
                    majority.named->host, majority.named->port);
    see_views(group, lk__client_now(client), ret_facts);
    return true;
}

/* ---- life ---------------------------------------------------------------------------- */

bool lk__group_new(lk__node *node)
{
    const lk__settings *settings = &node->client->settings;
    lk__group *group;

    if (settings->master == NULL)
        return true;
    group = lk__alloc(sizeof(*group));
    if (group == NULL)
        return false;
    group->node = node;
    group->count = settings->sentinel_count;
    group->alarm.fire = on_alarm;
    for (size_t i = 0; i < group->count; i++)
        lk__sentinel_init(&group->sentinels[i], node->client,
                          &settings->sentinels[i], &group->namings[i],
                          &sentinel_class, group);
    node->belief.until = 0;
    node->group = group;
    return true;
}

void lk__group_free(lk__group *group)
{
    for (size_t i = 0; group != NULL && i < group->count; i++)
        lk__sentinel_done(&group->sentinels[i]);
    lk__free(group);
}

void lk__group_start(lk__group *group)
{
    for (size_t i = 0; group != NULL && i < group->count; i++)
        lk__sentinel_start(&group->sentinels[i]);
}

void lk__group_stop(lk__group *group)
{
    if (group == NULL)
        return;
    lk__alarm_clear(&group->node->client->alarms, &group->alarm);
    for (size_t i = 0; i < group->count; i++)
        lk__sentinel_stop(&group->sentinels[i]);
}

void lk__group_flush(lk__group *group)
{
    for (size_t i = 0; group != NULL && i < group->count; i++)
        lk__sentinel_flush(&group->sentinels[i]);
}
