/* SPDX-License-Identifier: MIT */

/*
 * One connection and its life:
 *
 *   stopped -> opening -> greeting -> ready
 *                 ^          |          |
 *                 +- waiting <----------+   broken, refused, too slow
 *
 * One alarm serves it: the end of an attempt, the next attempt, the oldest
 * request's deadline, and the ping of an idle connection.
 */

#include "server/conn.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "engine/client.h"
#include "server/reply.h"

enum {
    BACKOFF_FIRST_MS = 20,
    BACKOFF_MAX_MS = 1000,
    SERVED_MS = 50, /* of use for so long: the next outage begins again */
    STOOD_MS = 100, /* the same for one that nobody had a use for */
    IDLE_PING_MS = 3000
};

#define MS UINT64_C(1000000)

static void on_alarm(lk__alarm *alarm);

static lk__conn *conn_of_alarm(lk__alarm *alarm)
{
    return LK__CONTAINER_OF(alarm, lk__conn, alarm);
}

/* ---- life ---------------------------------------------------------------- */

void lk__conn_init(lk__conn *conn, const lk__conn_class *class,
                   lk_client *client, void *owner)
{
    memset(conn, 0, sizeof(*conn));
    conn->class = class;
    conn->client = client;
    conn->owner = owner;
    conn->address = &client->settings.address;
    conn->alarm.fire = on_alarm;
    conn->why = LK_EOFFLINE;
    snprintf(conn->words, sizeof(conn->words), "not connected yet");
}

void lk__conn_done(lk__conn *conn)
{
    lk__conn_stop(conn);
    lk__resp_reader_free(conn->reader);
    conn->reader = NULL;
    lk__buffer_done(&conn->out);
}

/* Fails what is under way: the part that was sent is in doubt. */
static void requests_fail(lk__conn *conn)
{
    lk__request *request;
    uint64_t sent = conn->sent;

    while ((request = conn->first) != NULL) {
        conn->first = request->next;
        conn->pending--;
        request->busy = false;
        request->on_reply(request,
                          request->begin < sent ? LK_EINDOUBT : LK_EOFFLINE,
                          NULL);
    }
    conn->last = NULL;
}

static void link_drop(lk__conn *conn)
{
    if (conn->link != NULL)
        conn->client->world->class->link_close(conn->link);
    conn->link = NULL;
    conn->blocked = false;
    lk__buffer_clear(&conn->out);
    lk__alarm_clear(&conn->client->alarms, &conn->alarm);
}

static void attempt_begin(lk__conn *conn)
{
    lk_client *client = conn->client;
    uint64_t now = lk__client_now(client);

    conn->state = LK__CONN_WAITING;
    if (conn->address->path == NULL && conn->address->host == NULL) {
        conn->absent_since = 0;
        return;
    }
    conn->queued = 0;
    conn->sent = 0;
    conn->limit_at = now + client->settings.connect_timeout_ms * MS;
    lk__resp_reader_free(conn->reader);
    conn->reader = lk__resp_reader_new();
    if (conn->reader != NULL)
        conn->link =
            client->world->class->link_open(client->world, conn->address, conn);
    if (conn->link == NULL) {
        lk__conn_break(conn, LK_ENOMEM, "no memory or descriptors");
        return;
    }
    conn->state = LK__CONN_OPENING;
    lk__alarm_set(&client->alarms, &conn->alarm, conn->limit_at);
}

void lk__conn_start(lk__conn *conn)
{
    if (conn->state != LK__CONN_STOPPED)
        return;
    conn->failures = 0;
    conn->absent_since = 0;
    attempt_begin(conn);
}

void lk__conn_leave(lk__conn *conn, const char *words)
{
    if (conn->link != NULL)
        lk__conn_break(conn, LK_EOFFLINE, words);
}

void lk__conn_retry(lk__conn *conn)
{
    if (conn->state != LK__CONN_WAITING)
        return;
    conn->failures = 0;
    lk__alarm_set(&conn->client->alarms, &conn->alarm,
                  lk__client_now(conn->client));
}

void lk__conn_stop(lk__conn *conn)
{
    conn->state = LK__CONN_STOPPED;
    link_drop(conn);
    requests_fail(conn);
}

/* When an idle connection is looked at: not later than a request that is sent
   meanwhile has to be answered, so that sending need not set the alarm. */
static uint64_t look_at(const lk__conn *conn, uint64_t now)
{
    uint64_t ms = conn->client->settings.command_timeout_ms;

    return now + (ms < IDLE_PING_MS ? ms : IDLE_PING_MS) * MS;
}

void lk__conn_ready(lk__conn *conn)
{
    conn->state = LK__CONN_READY;
    conn->client->stats.connects++;
    lk__client_log(conn->client, LK_LOG_INFO, "%s connection is ready",
                   conn->class->word);
    conn->heard_at = lk__client_now(conn->client);
    conn->ready_at = conn->heard_at;
    conn->serves = false;
    lk__alarm_set(&conn->client->alarms, &conn->alarm,
                  look_at(conn, conn->heard_at));
}

void lk__conn_serves(lk__conn *conn)
{
    conn->serves = true;
}

/* Whether the connection that ends was worth coming back to at once. */
static bool was_of_use(const lk__conn *conn)
{
    uint64_t stood = lk__client_now(conn->client) - conn->ready_at;

    return conn->state == LK__CONN_READY &&
           stood >= (conn->serves ? SERVED_MS : STOOD_MS) * MS;
}

/* The first retry is at once; then full jitter under a doubling limit. */
static uint64_t backoff_ns(lk__conn *conn)
{
    uint64_t limit = BACKOFF_FIRST_MS * MS;
    uint64_t most = conn->client->settings.watchdog_ms * MS / 4;

    if (conn->failures <= 1)
        return 0;
    for (unsigned i = 2; i < conn->failures && limit < BACKOFF_MAX_MS * MS; i++)
        limit *= 2;
    if (limit > BACKOFF_MAX_MS * MS)
        limit = BACKOFF_MAX_MS * MS;
    return lk__client_random(conn->client, (limit < most ? limit : most) + 1);
}

void lk__conn_break(lk__conn *conn, lk_status why, const char *words)
{
    lk_client *client = conn->client;
    bool was_ready = conn->state == LK__CONN_READY;

    if (words == NULL)
        words = lk_status_text(why);
    lk__client_log(client, was_ready ? LK_LOG_WARN : LK_LOG_INFO,
                   "%s connection: %s", conn->class->word, words);
    if (was_ready)
        client->stats.disconnects++;
    if (was_of_use(conn))
        conn->failures = 0;
    conn->why = why;
    snprintf(conn->words, sizeof(conn->words), "%s", words);
    conn->state = LK__CONN_WAITING;
    conn->failures++;
    link_drop(conn);
    requests_fail(conn);
    if (conn->state == LK__CONN_WAITING)
        lk__alarm_set(&client->alarms, &conn->alarm,
                      lk__client_now(client) + backoff_ns(conn));
    conn->class->on_down(conn, why);
}

/* ---- time ---------------------------------------------------------------- */

/* A connection that hears messages is answered with an array; one that may not
   ask, with an error. */
static void
on_pong(lk__request *request, lk_status status, const redisReply *reply)
{
    if (status == LK_OK && reply->type != REDIS_REPLY_ERROR &&
        !(reply->type == REDIS_REPLY_STATUS &&
          lk__reply_is_text(reply, "PONG")) &&
        !lk__reply_is_text(lk__reply_at(reply, 0), "pong"))
        lk__conn_break(LK__CONTAINER_OF(request, lk__conn, ping), LK_EPROTO,
                       "an unexpected reply");
}

/* The alarm is set lazily: it looks what is due and sleeps on. */
static void on_ready_alarm(lk__conn *conn, uint64_t now)
{
    lk__arg ping = lk__arg_text("PING");
    uint64_t idle_at = conn->heard_at + IDLE_PING_MS * MS;

    if (conn->first != NULL && now >= lk__conn_limit(conn)) {
        lk__conn_break(conn, LK_EOFFLINE, "no answer in time");
        return;
    }
    if (conn->first == NULL && now >= idle_at) {
        conn->ping.on_reply = on_pong;
        if (lk__conn_send(conn, &conn->ping, 1, &ping) == LK_OK)
            idle_at = lk__conn_limit(conn);
        else
            idle_at = now + IDLE_PING_MS * MS;
    } else if (conn->first != NULL) {
        idle_at = lk__conn_limit(conn);
    } else if (idle_at > look_at(conn, now)) {
        idle_at = look_at(conn, now);
    }
    lk__alarm_set(&conn->client->alarms, &conn->alarm, idle_at);
}

/* A network that does not carry says nothing of whether anybody is there. */
static void absence_note(lk__conn *conn, int error)
{
    if (conn->state != LK__CONN_OPENING || error != -ECONNREFUSED) {
        conn->absent_since = 0;
        return;
    }
    conn->absent_at =
        conn->limit_at - conn->client->settings.connect_timeout_ms * MS;
    if (conn->absent_since == 0)
        conn->absent_since = conn->absent_at;
}

/* What the world knows of the link beyond an error number. Empty: nothing. */
static void link_words(const lk__conn *conn, char *words, size_t size)
{
    words[0] = '\0';
    if (conn->client->world->class->link_words != NULL)
        conn->client->world->class->link_words(conn->link, words, size);
}

static void break_slow(lk__conn *conn)
{
    char words[160];

    absence_note(conn, -ETIMEDOUT);
    link_words(conn, words, sizeof(words));
    lk__conn_break(conn, LK_EOFFLINE,
                   words[0] != '\0' ? words : "connecting took too long");
}

static void on_alarm(lk__alarm *alarm)
{
    lk__conn *conn = conn_of_alarm(alarm);
    uint64_t now = lk__client_now(conn->client);

    switch (conn->state) {
    case LK__CONN_STOPPED:
        break;
    case LK__CONN_WAITING:
        attempt_begin(conn);
        break;
    case LK__CONN_OPENING:
        break_slow(conn);
        break;
    case LK__CONN_GREETING:
        lk__conn_break(conn, LK_EOFFLINE, "the greeting took too long");
        break;
    case LK__CONN_READY:
        on_ready_alarm(conn, now);
        break;
    }
}

/* ---- events of the world ------------------------------------------------- */

/* What it took, shared among those that stood before it. */
static void each_note(lk__conn *conn, const lk__request *request)
{
    uint64_t ns = conn->heard_at > request->sent_at
                      ? conn->heard_at - request->sent_at
                      : 0;

    conn->each_ns -= conn->each_ns / 8;
    conn->each_ns += ns / (request->ahead + 1) / 8;
}

static void reply_take(lk__conn *conn, const redisReply *reply)
{
    lk__request *request = conn->first;

    if (conn->class->on_push != NULL && conn->class->on_push(conn, reply))
        return;
    if (request == NULL) {
        lk__conn_break(conn, LK_EPROTO, "a reply that nobody asked for");
        return;
    }

    conn->first = request->next;
    if (conn->first == NULL)
        conn->last = NULL;
    conn->pending--;
    conn->client->stats.replies++;
    each_note(conn, request);
    request->busy = false;
    request->on_reply(request, LK_OK, reply);
}

/* Any reply may have ended the stream: then the rest of it is not read. */
static void replies_take(lk__conn *conn, const lk__link *link)
{
    redisReply *reply = NULL;

    while (conn->link == link) {
        lk_status status = lk__resp_reader_next(conn->reader, &reply);

        if (status != LK_OK) {
            lk__conn_break(conn, status, "the reply is not understood");
            return;
        }
        if (reply == NULL)
            return;
        reply_take(conn, reply);
        freeReplyObject(reply);
        reply = NULL;
    }
}

void lk__conn_take(lk__conn *conn, const lk__link *link, const char *bytes,
                   size_t size)
{
    lk_status status;

    if (conn->link != link)
        return;
    conn->heard_at = lk__client_now(conn->client);
    status = lk__resp_reader_feed(conn->reader, bytes, size);
    if (status != LK_OK)
        lk__conn_break(conn, status, "the reply is not understood");
    else
        replies_take(conn, link);
}

static void
on_data(void *user, void *tag, lk__link *link, const char *bytes, size_t size)
{
    lk_client *client = user;
    lk__conn *conn = tag;

    lk__client_lock(client);
    lk__conn_take(conn, link, bytes, size);
    if (conn->link == link)
        lk__conn_lend(conn);
    lk__client_leave(client);
}

static void error_words(int error, char *words, size_t size)
{
    if (error == 0)
        snprintf(words, size, "closed by the server");
    else
        lk__world_error(error, words, size);
}

static const char *tls_scheme(const lk__settings *settings)
{
    if (settings->seed_count > 0)
        return "rediss+cluster";
    return settings->master != NULL ? "rediss+sentinel" : "rediss";
}

/* A port with TLS ends a stream that greets without, and says nothing. So does
   a server that is stopped just then; the one that has greeted before is that. */
static bool looks_like_tls(const lk__conn *conn, int error)
{
    const lk__address *address = conn->address;

    return conn->state == LK__CONN_GREETING && conn->heard_at == 0 &&
           address->path == NULL && address->tls == NULL &&
           (error == 0 || error == -ECONNRESET);
}

/* The stream ended, or could not be had. */
static void link_lost(lk__conn *conn, int error)
{
    char words[160];

    absence_note(conn, error);
    link_words(conn, words, sizeof(words));
    if (words[0] == '\0')
        error_words(error, words, sizeof(words));
    if (looks_like_tls(conn, error))
        snprintf(words + strlen(words), sizeof(words) - strlen(words),
                 "; perhaps the port speaks TLS: %s://, or it has just ended",
                 tls_scheme(&conn->client->settings));
    lk__conn_break(conn, error == -EKEYREJECTED ? LK_EAUTH : LK_EOFFLINE,
                   words);
}

static void on_open(void *user, void *tag, lk__link *link, int error)
{
    lk_client *client = user;
    lk__conn *conn = tag;

    lk__client_lock(client);
    if (conn->link == link && error != 0) {
        link_lost(conn, error);
    } else if (conn->link == link) {
        conn->state = LK__CONN_GREETING;
        conn->open_at = lk__client_now(client);
        conn->absent_since = 0;
        conn->class->on_open(conn);
    }
    lk__client_leave(client);
}

static void on_end(void *user, void *tag, lk__link *link, int error)
{
    lk_client *client = user;
    lk__conn *conn = tag;

    lk__client_lock(client);
    if (conn->link == link)
        link_lost(conn, error);
    lk__client_leave(client);
}

static void on_writable(void *user, void *tag, lk__link *link)
{
    lk_client *client = user;
    lk__conn *conn = tag;

    lk__client_lock(client);
    if (conn->link == link)
        conn->blocked = false;
    lk__client_leave(client);
}

static void on_timer(void *user)
{
    lk_client *client = user;

    lk__client_lock(client);
    lk__alarms_run(&client->alarms, lk__client_now(client));
    lk__client_leave(client);
}

static void on_wake(void *user)
{
    lk_client *client = user;

    lk__client_lock(client);
    lk__client_on_wake(client);
    lk__client_leave(client);
}

const lk__events lk__conn_events = {
    .on_open = on_open,
    .on_data = on_data,
    .on_end = on_end,
    .on_writable = on_writable,
    .on_timer = on_timer,
    .on_wake = on_wake,
};
