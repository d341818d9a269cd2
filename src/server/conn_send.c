/* SPDX-License-Identifier: MIT */

/* Commands on their way out: made of their arguments, queued, handed to the stream. */

#include <string.h>

#include "engine/client.h"
#include "server/conn.h"

#define MS UINT64_C(1000000)

/* While answers come, those behind them will: a server that has a lot to do is
   not lost, and whoever were to ask again would ask for all of it again. */
uint64_t lk__conn_limit(const lk__conn *conn)
{
    uint64_t since = conn->first->sent_at;

    if (conn->heard_at > since)
        since = conn->heard_at;
    return since + conn->client->settings.command_timeout_ms * MS +
           conn->patience;
}

lk__arg lk__arg_text(const char *text)
{
    return lk__arg_bytes(text, strlen(text));
}

lk__arg lk__arg_bytes(const char *bytes, size_t size)
{
    lk__arg arg = {bytes, size, 0};

    return arg;
}

lk__arg lk__arg_number(int64_t number)
{
    lk__arg arg = {NULL, 0, number};

    return arg;
}

static void request_append(lk__conn *conn, lk__request *request)
{
    request->next = NULL;
    request->busy = true;
    request->ahead = conn->pending;
    if (conn->first == NULL)
        conn->first = request;
    else
        conn->last->next = request;
    conn->last = request;
    conn->pending++;
}

/* Whether it takes a request now. */
lk_status lk__conn_check(const lk__conn *conn)
{
    if (conn->link == NULL ||
        (conn->state != LK__CONN_READY && conn->state != LK__CONN_GREETING))
        return LK_EOFFLINE;
    if (conn->pending >= conn->client->settings.max_pending)
        return LK_EFULL;
    return LK_OK;
}

void lk__conn_begin(lk__conn *conn, size_t count)
{
    conn->before = lk__buffer_size(&conn->out);
    lk__resp_begin(&conn->out, (unsigned)count);
}

void lk__conn_args(lk__conn *conn, size_t count, const lk__arg *args)
{
    for (size_t i = 0; i < count; i++) {
        if (args[i].bytes == NULL)
            lk__resp_arg_int(&conn->out, args[i].number);
        else
            lk__resp_arg(&conn->out, args[i].bytes, args[i].size);
    }
}

lk_status lk__conn_end(lk__conn *conn, lk__request *request)
{
    lk_status status = lk__resp_end(&conn->out);

    if (status != LK_OK)
        return status;
    request->sent_at = lk__client_now(conn->client);
    request->conn = conn;
    request->begin = conn->queued;
    conn->queued += lk__buffer_size(&conn->out) - conn->before;
    conn->client->stats.commands++;
    request_append(conn, request);
    if (conn->state == LK__CONN_READY &&
        conn->alarm.timer.at > lk__conn_limit(conn))
        lk__alarm_set(&conn->client->alarms, &conn->alarm,
                      lk__conn_limit(conn));
    return LK_OK;
}

lk_status lk__conn_send(lk__conn *conn, lk__request *request, size_t count,
                        const lk__arg *args)
{
    lk_status status = lk__conn_check(conn);

    if (status != LK_OK)
        return status;
    lk__conn_begin(conn, count);
    lk__conn_args(conn, count, args);
    return lk__conn_end(conn, request);
}

void lk__conn_flush(lk__conn *conn)
{
    size_t size = lk__buffer_size(&conn->out);
    ssize_t sent;

    if (conn->link == NULL || conn->blocked || size == 0)
        return;

    sent = conn->client->world->class->link_send(conn->link,
                                                 lk__buffer_bytes(&conn->out),
                                                 size);
    conn->client->stats.writes++;
    if (sent < 0)
        return; /* on_end follows */
    if (conn->client->world->class->link_want != NULL)
        conn->client->world->class->link_want(conn->link);

    conn->sent += (uint64_t)sent;
    lk__buffer_consume(&conn->out, (size_t)sent);
    conn->blocked = (size_t)sent < size;
}
