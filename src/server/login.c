/* SPDX-License-Identifier: MIT */
#include "server/login.h"

#include <stdio.h>
#include <string.h>

#include "engine/client.h"
#include "server/reply.h"

const char *lk__login_words(const redisReply *reply, const char *password)
{
    /* It may be repeated in part; a shorter one is in any words by chance. */
    enum { LEAST = 4, PART = 16 };
    const char *words = lk__reply_words(reply);
    char part[PART + 1];

    if (words == NULL)
        return "AUTH got an answer that says nothing";
    (void)snprintf(part, sizeof(part), "%s", password);
    if (strstr(words, "unknown command") != NULL ||
        (strlen(part) >= LEAST && strstr(words, part) != NULL))
        return "the server refuses AUTH, in words that may hold the password";
    return words;
}

static void
on_auth(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__login *login = (lk__login *)(void *)request;

    if (status != LK_OK)
        return;
    status = lk__reply_status(reply);
    if (status != LK_OK)
        lk__conn_break(login->conn, status,
                       lk__login_words(reply, login->conn->client->settings
                                                  .sentinel_password));
    else if (reply->type != REDIS_REPLY_STATUS)
        lk__conn_break(login->conn, LK_EPROTO, "an unexpected reply");
    else
        login->done(login->conn);
}

void lk__login_begin(lk__login *login)
{
    const lk__settings *settings = &login->conn->client->settings;
    lk__arg args[3] = {lk__arg_text("AUTH")};
    size_t count = 1;

    if (settings->sentinel_password == NULL) {
        login->done(login->conn);
        return;
    }
    if (settings->sentinel_user != NULL)
        args[count++] = lk__arg_text(settings->sentinel_user);
    args[count++] = lk__arg_text(settings->sentinel_password);
    login->request.on_reply = on_auth;
    if (lk__conn_send(login->conn, &login->request, count, args) != LK_OK)
        lk__conn_break(login->conn, LK_ENOMEM, "no memory for the greeting");
}
