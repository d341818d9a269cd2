/* SPDX-License-Identifier: MIT */
#include "server/ear.h"

#include <string.h>

#include "base/container.h"
#include "engine/client.h"
#include "server/reply.h"

static const char channel[] = "+switch-master";

bool lk__ear_is_hint(const char *text, size_t size, const char *master)
{
    size_t length = strlen(master);

    return size > length && memcmp(text, master, length) == 0 &&
           text[length] == ' ';
}

static bool on_push(lk__conn *conn, const redisReply *reply)
{
    const redisReply *text = lk__reply_at(reply, 2);
    lk__ear *ear = (lk__ear *)(void *)conn;

    if (!lk__reply_is_text(lk__reply_at(reply, 0), "message"))
        return false;
    if (lk__reply_is_text(lk__reply_at(reply, 1), channel) && text != NULL &&
        text->type == REDIS_REPLY_STRING &&
        lk__ear_is_hint(text->str, text->len, conn->client->settings.master))
        ear->hinted(ear);
    return true;
}

static void
on_subscribed(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__ear *ear = LK__CONTAINER_OF(request, lk__ear, subscribe);

    if (status != LK_OK)
        return;
    if (lk__reply_is_text(lk__reply_at(reply, 0), "subscribe")) {
        lk__conn_ready(&ear->conn);
        return;
    }
    if (lk__reply_status(reply) == LK_OK) {
        lk__conn_break(&ear->conn, LK_EPROTO, "an unexpected reply");
        return;
    }
    lk__client_log(ear->conn.client, LK_LOG_INFO,
                   "a sentinel is not listened to: it denies SUBSCRIBE");
    lk__conn_stop(&ear->conn);
}

static void on_logged_in(lk__conn *conn)
{
    lk__ear *ear = (lk__ear *)(void *)conn;
    lk__arg args[2] = {lk__arg_text("SUBSCRIBE"), lk__arg_text(channel)};

    if (lk__conn_send(conn, &ear->subscribe, 2, args) != LK_OK)
        lk__conn_break(conn, LK_ENOMEM, "no memory for the greeting");
}

static void on_open(lk__conn *conn)
{
    lk__login_begin(&((lk__ear *)(void *)conn)->login);
}

static void on_down(lk__conn *conn, lk_status why)
{
    (void)conn;
    (void)why;
}

static const lk__conn_class ear_class = {.word = "sentinel's ear",
                                         .on_open = on_open,
                                         .on_down = on_down,
                                         .on_push = on_push};

void lk__ear_init(lk__ear *ear, struct lk_client *client,
                  const lk__address *address,
                  void (*hinted)(struct lk__ear *ear), void *owner)
{
    lk__conn_init(&ear->conn, &ear_class, client, owner);
    ear->conn.address = address;
    ear->login.conn = &ear->conn;
    ear->login.done = on_logged_in;
    ear->subscribe.on_reply = on_subscribed;
    ear->hinted = hinted;
}
