/* SPDX-License-Identifier: MIT */

/*
 * One server. Behind its greeting the command connection says CLIENT KILL ID of
 * the one before, if that was at this very server process. Nothing that the old
 * one carried can run after the answer, so what was in doubt can be asked
 * again. The numbers of connections mean nothing in another process, therefore
 * INFO comes first. The inbox says SUBSCRIBE.
 */

#include "claims/node.h"

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "claims/ask.h"
#include "claims/cluster.h"
#include "claims/group.h"
#include "claims/inbox.h"
#include "claims/place.h"
#include "claims/record.h"
#include "claims/watchdog.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"
#include "shared_table.h"

#define MS UINT64_C(1000000)

/* ---- greeting ------------------------------------------------------------ */

lk__node *lk__node_of(const lk__conn *conn)
{
    return conn->owner;
}

static void on_command_open(lk__conn *conn)
{
    lk__greet(&lk__node_of(conn)->command_greeting);
}

static void on_inbox_open(lk__conn *conn)
{
    lk__greet(&lk__node_of(conn)->inbox_greeting);
}

/* At one and the same server process. */
static bool is_together(const lk__node *node)
{
    return lk__run_ids_same(node->inbox_greeting.run_id,
                            node->command_greeting.run_id);
}

/* At two. */
static bool is_apart(const lk__node *node)
{
    return lk__run_ids_differ(node->inbox_greeting.run_id,
                              node->command_greeting.run_id);
}

void lk__node_serves(lk__node *node)
{
    node->refusing = false;
    node->offline = false;
    lk__alarm_clear(&node->client->alarms, &node->offline_alarm);
}

/* The process that answers now may know nothing of what the one before did; nor
   may one that has followed another meanwhile: then its data have a new name. */
static void holds_check(lk__node *node)
{
    const char *run_id = node->command_greeting.run_id;
    const char *replid = node->command_greeting.replid;
    bool is_same = lk__run_ids_same(node->served_run_id, run_id) &&
                   strcmp(node->served_replid, replid) == 0;

    memcpy(node->served_run_id, run_id, sizeof(node->served_run_id));
    memcpy(node->served_replid, replid, sizeof(node->served_replid));
    if (is_same)
        return;
    lk__belief_turn(node);
    lk__closed_again(node);
    lk__places_check_holds(node);
}

/* Of two connections at two server processes the older one is outdated. */
static void on_command_ready(lk__node *node)
{
    lk__conn_ready(&node->command);
    node->delifeq = LK__DELIFEQ_UNKNOWN; /* another server, or another user */
    lk__tracking_reset(node);
    if (node->command_greeting.id == 0 ||
        node->command_greeting.run_id[0] == '\0')
        node->can_kill = false; /* the next one cannot say what to kill */
    node->killed_id = 0;
    if (!node->refusing)
        lk__node_serves(node);
    if (node->inbox.state == LK__CONN_READY && is_apart(node))
        lk__conn_break(&node->inbox, LK_EOFFLINE, "at another server process");
    lk__lane_together(&node->signals.lane, node->command_greeting.run_id);
    lk__lane_together(&node->replicas.lane, node->command_greeting.run_id);
    lk__road_home(&node->road, node->command_greeting.run_id);
    lk__record_write(node);
    holds_check(node);
    lk__group_look(node->group);
    lk__cluster_look(node);
    lk__places_on_ready(node);
    if (lk__node_can_queue(node))
        lk__places_on_inbox(node); /* whichever came first */
    lk__asks_on_ready(node);
}

static void on_inbox_ready(lk__node *node)
{
    lk__conn_ready(&node->inbox);
    lk__tracking_reset(node);
    if (node->command.state == LK__CONN_READY && is_apart(node))
        lk__conn_break(&node->command, LK_EOFFLINE,
                       "at another server process");
    else if (lk__node_can_queue(node))
        lk__places_on_inbox(node);
}

static void on_command_greeted(lk__conn *conn)
{
    lk__node *node = lk__node_of(conn);
    lk__arg args[4] = {lk__arg_text("CLIENT"), lk__arg_text("KILL"),
                       lk__arg_text("ID"), lk__arg_number(node->killed_id)};

    if (node->killed_id != 0 && node->can_kill &&
        lk__run_ids_same(node->killed_run_id, node->command_greeting.run_id))
        lk__greet_last(&node->command_greeting, 4, args);
    else
        on_command_ready(node);
}

static void
on_killed(lk__conn *conn, lk_status refused, const redisReply *reply)
{
    lk__node *node = lk__node_of(conn);

    if (refused == LK_OK && reply->type != REDIS_REPLY_INTEGER) {
        lk__greet_refuse(&node->command_greeting, LK_EPROTO, reply);
        return;
    }
    node->can_kill = refused == LK_OK;
    on_command_ready(node);
}

static void on_inbox_greeted(lk__conn *conn)
{
    lk__node *node = lk__node_of(conn);
    lk__arg args[2] = {lk__arg_text("SUBSCRIBE"), lk__arg_text(node->channel)};

    lk__greet_last(&node->inbox_greeting, 2, args);
}

static void
on_subscribed(lk__conn *conn, lk_status refused, const redisReply *reply)
{
    lk__node *node = lk__node_of(conn);

    if (refused != LK_OK)
        lk__greet_refuse(&node->inbox_greeting, refused, reply);
    else if (!lk__reply_is_text(lk__reply_at(reply, 0), "subscribe"))
        lk__greet_refuse(&node->inbox_greeting, LK_EPROTO, reply);
    else
        on_inbox_ready(node);
}

/* ---- down ---------------------------------------------------------------- */

static void on_offline(lk__alarm *alarm)
{
    lk__node *node = LK__CONTAINER_OF(alarm, lk__node, offline_alarm);

    node->offline = true;
    if (!lk__node_is_ready(node))
        lk__places_on_offline(node);
}

static void offline_in(lk__node *node, uint64_t ms)
{
    lk__alarm_set(&node->client->alarms, &node->offline_alarm,
                  lk__client_now(node->client) + ms * MS);
}

void lk__node_wait_more(lk__node *node)
{
    if (lk__node_is_away(node) && !lk__alarm_is_set(&node->offline_alarm))
        offline_in(node, node->client->settings.command_timeout_ms);
}

void lk__node_give_up(lk__node *node)
{
    node->offline = true;
    lk__places_on_offline(node);
}

static void on_command_down(lk__conn *conn, lk_status why)
{
    lk__node *node = lk__node_of(conn);
    lk_client *client = node->client;

    /* One that never became ready carried nothing: the one before is meant. */
    if (node->command_greeting.id != 0 && node->killed_id == 0) {
        node->killed_id = node->command_greeting.id;
        memcpy(node->killed_run_id, node->command_greeting.run_id,
               sizeof(node->killed_run_id));
    }
    if (node->command_greeting.id != 0)
        node->command_greeting.heard_at = conn->heard_at;
    node->command_greeting.id = 0;
    lk__group_look(node->group);
    lk__cluster_look(node);
    if (why == LK_EAUTH || why == LK_EDENIED ||
        (node->offline && !lk_status_is_retriable(why)))
        lk__node_give_up(node);
    else if (!node->offline && !lk__alarm_is_set(&node->offline_alarm))
        offline_in(node, client->settings.offline_ms);
    else if (lk__waits_have_limits(node))
        lk__node_wait_more(
            node); /* the server may come and go without serving */
}

static void on_inbox_down(lk__conn *conn, lk_status why)
{
    (void)why;
    lk__places_on_inbox_down(lk__node_of(conn));
}

static bool on_inbox_push(lk__conn *conn, const redisReply *reply)
{
    const redisReply *bytes = lk__reply_at(reply, 2);
    const char *channel = lk__reply_text_at(reply, 1);
    lk__node *node = lk__node_of(conn);

    if (lk__reply_is_text(lk__reply_at(reply, 0), "sunsubscribe"))
        return lk__topic_ended(node, channel);
    if (!lk__reply_is_text(lk__reply_at(reply, 0), "message") &&
        !lk__reply_is_text(lk__reply_at(reply, 0), "smessage"))
        return false;
    if (lk__track_take(node, channel, bytes)) {
        lk__conn_serves(conn);
        return true;
    }
    if (bytes == NULL || bytes->type != REDIS_REPLY_STRING)
        return false;
    lk__conn_serves(conn);
    if (strcmp(channel, node->channel) == 0 ||
        lk__channel_is_inbox(channel, node->client->id))
        lk__inbox_take(node, bytes->str, bytes->len);
    else
        lk__topic_take(node, channel, bytes->str, bytes->len);
    return true;
}

static const lk__conn_class command_class = {.word = "command",
                                             .on_open = on_command_open,
                                             .on_down = on_command_down};

static const lk__conn_class inbox_class = {.word = "inbox",
                                           .on_open = on_inbox_open,
                                           .on_down = on_inbox_down,
                                           .on_push = on_inbox_push};

/* ---- its connections ------------------------------------------------------- */

/* Before those that were added. */
static void conn_add(lk__node *node, lk__conn *conn)
{
    conn->address = &node->address;
    conn->next = node->conns;
    node->conns = conn;
}

void lk__node_flush(lk__node *node)
{
    for (lk__conn *conn = node->conns; conn != NULL; conn = conn->next)
        lk__conn_flush(conn);
    lk__group_flush(node->group);
}

size_t lk__node_pending(const lk__node *node)
{
    size_t sum = 0;

    for (const lk__conn *conn = node->conns; conn != NULL; conn = conn->next)
        sum += conn->pending;
    return sum;
}

/* ---- life ---------------------------------------------------------------- */

static void conns_init(lk__node *node)
{
    lk_client *client = node->client;

    lk__conn_init(&node->command, &command_class, client, node);
    lk__conn_init(&node->inbox, &inbox_class, client, node);
    node->command_greeting.conn = &node->command;
    node->command_greeting.done = on_command_greeted;
    node->command_greeting.last = on_killed;
    node->inbox_greeting.conn = &node->inbox;
    node->inbox_greeting.done = on_inbox_greeted;
    node->inbox_greeting.last = on_subscribed;
    lk__signals_init(&node->signals, node);
    lk__replicas_init(&node->replicas, node);
    lk__road_init(&node->road, node);
    conn_add(node, &node->replicas.lane.conn);
    conn_add(node, &node->signals.lane.conn);
    conn_add(node, &node->inbox);
    conn_add(node, &node->command);
    conn_add(node, &node->road.lane.conn);
}

/* In zeroed memory. False: there is no more of it. */
static bool
begin(lk__node *node, lk_client *client, const lk__endpoint *endpoint)
{
    node->client = client;
    node->address = client->settings.address;
    if (endpoint != NULL)
        node->endpoint = *endpoint;
    node->address.port = endpoint != NULL ? endpoint->port : node->address.port;
    node->can_kill = true;
    node->offline_alarm.fire = on_offline;
    lk__belief_init(node);
    lk__record_init(node);
    lk__under_init(&node->under, node, client->settings.under);
    snprintf(node->channel, sizeof(node->channel), LK__FORM_INBOX "%s:%s",
             client->settings.tenant, client->id);
    conns_init(node);
    node->seen = lk__alloc(lk__script_count * sizeof(*node->seen) + 1);
    return node->seen != NULL && lk__group_new(node);
}

/* Lets go of what it has, its own memory excepted. */
static void end(lk__node *node)
{
    for (lk__conn *conn = node->conns; conn != NULL; conn = conn->next)
        lk__conn_done(conn);
    lk__group_free(node->group);
    lk__view_free(node->view);
    lk__free(node->seen);
    lk__free(node->record_text);
    node->group = NULL;
    node->view = NULL;
    node->seen = NULL;
    node->record_text = NULL;
}

lk__node *lk__node_new(lk_client *client, const lk__endpoint *endpoint)
{
    lk__node *node = lk__alloc(sizeof(*node));

    if (node == NULL)
        return NULL;
    if (!begin(node, client, endpoint)) {
        lk__node_free(node);
        return NULL;
    }
    return node;
}

void lk__node_free(lk__node *node)
{
    if (node == NULL)
        return;
    end(node);
    lk__free(node);
}

void lk__node_let_go(lk__node *node)
{
    lk__node_stop(node);
    end(node);
}

bool lk__node_begin_anew(lk__node *node, const lk__endpoint *endpoint)
{
    lk_client *client = node->client;

    memset(node, 0, sizeof(*node));
    if (begin(node, client, endpoint))
        return true;
    end(node);
    return false;
}

void lk__node_start(lk__node *node)
{
    lk_client *client = node->client;

    offline_in(node, client->settings.offline_ms);
    lk__conn_start(&node->command);
    lk__group_start(node->group);
}

void lk__node_stop(lk__node *node)
{
    lk__group_stop(node->group);
    lk__alarm_clear(&node->client->alarms, &node->offline_alarm);
    lk__alarm_clear(&node->client->alarms, &node->record_alarm);
    lk__under_stop(&node->under);
    lk__signals_stop(&node->signals);
    lk__replicas_stop(&node->replicas);
    lk__road_stop(&node->road);
    lk__conn_stop(&node->inbox);
    lk__conn_stop(&node->command);
    lk__alarm_clear(&node->client->alarms, &node->trust.alarm);
    lk__closed_forget(node);
}

/* ---- of a cluster ---------------------------------------------------------- */

void lk__node_wait_anew(lk__node *node)
{
    lk_client *client = node->client;

    node->offline = false;
    lk__alarm_clear(&client->alarms, &node->offline_alarm);
    if (!lk__node_is_ready(node))
        offline_in(node, client->settings.offline_ms);
}

void lk__node_arrive(lk__node *node)
{
    if (node->address.host != NULL || node->client->state == LK__CLIENT_CLOSED)
        return;
    node->address.host = node->endpoint.host;
    lk__node_wait_anew(node);
    lk__conn_start(&node->command);
    for (lk__conn *conn = node->conns; conn != NULL; conn = conn->next)
        lk__conn_retry(conn);
}

void lk__node_leave(lk__node *node, const char *words)
{
    if (node->address.host == NULL)
        return;
    node->address.host = NULL;
    for (lk__conn *conn = node->conns; conn != NULL; conn = conn->next)
        lk__conn_leave(conn, words);
    node->offline = false;
    lk__alarm_clear(&node->client->alarms, &node->offline_alarm);
    lk__watchdog_stop(node); /* holds that have ended */
    lk__closed_again(node);
}

void lk__node_give_again(lk__node *node)
{
    lk__places_check_holds(node);
    lk__places_on_ready(node);
    lk__asks_on_ready(node);
}

bool lk__node_is_ready(const lk__node *node)
{
    return node->command.state == LK__CONN_READY;
}

bool lk__node_gives(const lk__node *node)
{
    uint64_t now;

    if (node->belief.until == LK__NEVER)
        return true;
    now = lk__client_now(node->client);
    return now >= node->belief.from && now < node->belief.until;
}

bool lk__node_is_away(const lk__node *node)
{
    return node->offline && !lk__node_is_ready(node);
}

bool lk__node_is_vain(const lk__node *node)
{
    return lk__node_is_away(node) && !lk_status_is_retriable(node->command.why);
}

bool lk__status_is_outage(lk_status status)
{
    return status == LK_EOFFLINE || status == LK_ELOADING ||
           status == LK_EREADONLY;
}

bool lk__node_can_queue(const lk__node *node)
{
    return node->command.state == LK__CONN_READY &&
           node->inbox.state == LK__CONN_READY && is_together(node);
}

bool lk__node_has_shards(const lk__node *node)
{
    return node->command_greeting.has_shards;
}

uint64_t lk__node_inbox_at(const lk__node *node)
{
    return lk__node_can_queue(node) ? node->inbox.ready_at : 0;
}

void lk__node_want_inbox(lk__node *node)
{
    lk__conn_start(&node->inbox);
}
