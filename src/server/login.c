/* SPDX-License-Identifier: MIT */
#include "server/login.h"

#include "engine/client.h"
#include "server/reply.h"

static void
on_auth(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__login *login = (lk__login *)(void *)request;

    if (status != LK_OK)
        return;
    status = lk__reply_status(reply);
    if (status != LK_OK)
        lk__conn_break(login->conn, status, lk__reply_words(reply));
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
