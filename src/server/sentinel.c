/* SPDX-License-Identifier: MIT */

/* Asking one sentinel for a master. */

#include "server/sentinel.h"

#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "engine/client.h"
#include "server/endpoint.h"
#include "server/reply.h"

#define MS UINT64_C(1000000)

/* Between questions; and at least, whatever is heard. */
enum { ASK_MS = 1000, HINTS_MS = 50 };

static lk__sentinel *sentinel_of(lk__conn *conn)
{
    return (lk__sentinel *)(void *)conn;
}

/* ---- answers ------------------------------------------------------------- */

/* Digits of a number up to most; 0: it is none. */
static uint64_t number_of(const char *text, uint64_t most)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number > most)
        return 0;
    return number;
}

/* The value of a key in a list of keys and values; "": there is none. */
static const char *field_of(const redisReply *reply, const char *key)
{
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        if (lk__reply_is_text(reply->element[i], key))
            return lk__reply_text_at(reply, i + 1);
    }
    return "";
}

/* A host and a port, or that there is no master of that name. */
static bool is_address(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_NIL ||
           (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
}

static void
on_address(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__sentinel *sentinel = LK__CONTAINER_OF(request, lk__sentinel, address);
    uint64_t now = lk__client_now(sentinel->conn.client);
    const char *host;
    uint64_t port;

    if (status != LK_OK)
        return;
    status = lk__reply_status(reply);
    if (status != LK_OK) {
        lk__conn_break(&sentinel->conn, status, lk__reply_words(reply));
        return;
    }
    if (!is_address(reply)) {
        lk__conn_break(&sentinel->conn, LK_EPROTO, "an unexpected reply");
        return;
    }
    sentinel->is_unknown = reply->type == REDIS_REPLY_NIL;
    host = lk__reply_text_at(reply, 0);
    port = number_of(lk__reply_text_at(reply, 1), UINT16_MAX);
    if (!lk__is_host(host, strlen(host)) || port == 0) {
        host = "";
        port = 0;
    }
    lk__conn_serves(&sentinel->conn);
    lk__naming_note(sentinel->naming, host, (uint16_t)port, request->sent_at,
                    now);
}

/* It counts from when it began to name this one, or started, if that was
   later. While it leads a failover it names the next one, but tells of the one
   before. */
static void age_take(lk__sentinel *sentinel, const redisReply *reply)
{
    lk__naming *naming = sentinel->naming;

    if (strcmp(field_of(reply, "ip"), naming->host) != 0 ||
        number_of(field_of(reply, "port"), UINT16_MAX) != naming->port ||
        strcmp(field_of(reply, "role-reported"), "master") != 0)
        return;
    lk__naming_aged(naming, lk__client_now(sentinel->conn.client),
                    number_of(field_of(reply, "role-reported-time"),
                              UINT64_MAX / MS));
}

static void others_take(lk__naming *naming, const char *text)
{
    naming->others = number_of(text, 1000);
    naming->tells_others = naming->others > 0 || strcmp(text, "0") == 0;
}

static void
on_master(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__sentinel *sentinel = LK__CONTAINER_OF(request, lk__sentinel, master);

    if (status != LK_OK)
        return;
    if (lk__reply_status(reply) == LK_OK && reply->type != REDIS_REPLY_ARRAY) {
        lk__conn_break(&sentinel->conn, LK_EPROTO, "an unexpected reply");
        return;
    }
    if (lk__reply_status(reply) == LK_OK) {
        others_take(sentinel->naming, field_of(reply, "num-other-sentinels"));
        age_take(sentinel, reply);
    }
    if (sentinel->hinted_at > sentinel->address.sent_at)
        lk__sentinel_ask_anew(sentinel);
    sentinel->class->heard(sentinel);
}

/* ---- questions ------------------------------------------------------------- */

static void ask(lk__sentinel *sentinel)
{
    lk__conn *conn = &sentinel->conn;
    const char *name = conn->client->settings.master;
    lk__arg args[3] = {lk__arg_text("SENTINEL"),
                       lk__arg_text("GET-MASTER-ADDR-BY-NAME"),
                       lk__arg_text(name)};
    lk_status status;

    if (conn->state != LK__CONN_READY)
        return;
    lk__alarm_set(&conn->client->alarms, &sentinel->alarm,
                  lk__client_now(conn->client) + ASK_MS * MS);
    if (sentinel->address.busy || sentinel->master.busy)
        return;
    status = lk__conn_send(conn, &sentinel->address, 3, args);
    args[1] = lk__arg_text("MASTER");
    if (status == LK_OK)
        status = lk__conn_send(conn, &sentinel->master, 3, args);
    if (status != LK_OK)
        lk__conn_break(conn, LK_ENOMEM, "no memory for a request");
}

static void on_alarm(lk__alarm *alarm)
{
    ask(LK__CONTAINER_OF(alarm, lk__sentinel, alarm));
}

void lk__sentinel_ask_by(lk__sentinel *sentinel, uint64_t at)
{
    if (lk__alarm_is_set(&sentinel->alarm) && at < sentinel->alarm.timer.at)
        lk__alarm_set(&sentinel->conn.client->alarms, &sentinel->alarm, at);
}

/* An answer to what was asked before may be of the time before. */
void lk__sentinel_ask_anew(lk__sentinel *sentinel)
{
    uint64_t at = sentinel->address.sent_at + HINTS_MS * MS;

    sentinel->hinted_at = lk__client_now(sentinel->conn.client);
    lk__sentinel_ask_by(sentinel,
                        at > sentinel->hinted_at ? at : sentinel->hinted_at);
}

static void on_hinted(lk__ear *ear)
{
    lk__sentinel *sentinel = ear->conn.owner;

    sentinel->class->hinted(sentinel);
}

static void on_logged_in(lk__conn *conn)
{
    lk__sentinel *sentinel = sentinel_of(conn);

    lk__conn_ready(conn);
    lk__conn_start(&sentinel->ear.conn);
    ask(sentinel);
}

static void on_open(lk__conn *conn)
{
    lk__login_begin(&sentinel_of(conn)->login);
}

static void on_down(lk__conn *conn, lk_status why)
{
    lk__sentinel *sentinel = sentinel_of(conn);

    (void)why;
    lk__conn_stop(&sentinel->ear.conn);
    lk__alarm_clear(&conn->client->alarms, &sentinel->alarm);
    sentinel->class->heard(sentinel);
}

static const lk__conn_class sentinel_class = {.word = "sentinel",
                                              .on_open = on_open,
                                              .on_down = on_down};

void lk__sentinel_init(lk__sentinel *sentinel, struct lk_client *client,
                       const lk__address *address, lk__naming *naming,
                       const lk__sentinel_class *class, void *data)
{
    lk__conn_init(&sentinel->conn, &sentinel_class, client, sentinel);
    sentinel->conn.address = address;
    lk__ear_init(&sentinel->ear, client, address, on_hinted, sentinel);
    sentinel->naming = naming;
    sentinel->class = class;
    sentinel->data = data;
    sentinel->alarm.fire = on_alarm;
    sentinel->login.conn = &sentinel->conn;
    sentinel->login.done = on_logged_in;
    sentinel->address.on_reply = on_address;
    sentinel->master.on_reply = on_master;
}

void lk__sentinel_done(lk__sentinel *sentinel)
{
    lk__conn_done(&sentinel->ear.conn);
    lk__conn_done(&sentinel->conn);
}

void lk__sentinel_flush(lk__sentinel *sentinel)
{
    lk__conn_flush(&sentinel->conn);
    lk__conn_flush(&sentinel->ear.conn);
}

void lk__sentinel_start(lk__sentinel *sentinel)
{
    lk__conn_start(&sentinel->conn);
}

void lk__sentinel_stop(lk__sentinel *sentinel)
{
    lk__alarm_clear(&sentinel->conn.client->alarms, &sentinel->alarm);
    lk__conn_stop(&sentinel->ear.conn);
    lk__conn_stop(&sentinel->conn);
}
