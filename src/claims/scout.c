/* SPDX-License-Identifier: MIT */

/* The connection to the nodes that the URL names. */

#include "claims/scout.h"

#include "base/container.h"
#include "engine/client.h"
#include "server/login.h"
#include "server/reply.h"

static lk__scout *scout_of(lk__conn *conn)
{
    return (lk__scout *)(void *)conn;
}

static void
on_map(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__scout *scout = LK__CONTAINER_OF(request, lk__scout, map);

    if (status == LK_OK)
        scout->heard(scout, reply);
}

static void ask(lk__scout *scout)
{
    lk__arg args[2] = {lk__arg_text("CLUSTER"), lk__arg_text("SLOTS")};

    scout->map.on_reply = on_map;
    if (lk__conn_send(&scout->conn, &scout->map, 2, args) != LK_OK)
        lk__conn_break(&scout->conn, LK_ENOMEM, "no memory for a request");
}

static void
on_login(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__scout *scout = LK__CONTAINER_OF(request, lk__scout, login);

    if (status != LK_OK)
        return;
    status = lk__reply_status(reply);
    if (status != LK_OK)
        lk__conn_break(&scout->conn, status,
                       lk__login_words(reply,
                                       scout->conn.client->settings.password));
    else if (reply->type != REDIS_REPLY_STATUS)
        lk__conn_break(&scout->conn, LK_EPROTO, "an unexpected reply");
}

/* The map is asked for behind it, and refused with it. */
static void login(lk__scout *scout)
{
    const lk__settings *settings = &scout->conn.client->settings;
    lk__arg args[3] = {lk__arg_text("AUTH")};
    size_t count = 1;

    if (settings->password == NULL)
        return;
    if (settings->user != NULL)
        args[count++] = lk__arg_text(settings->user);
    args[count++] = lk__arg_text(settings->password);
    scout->login.on_reply = on_login;
    if (lk__conn_send(&scout->conn, &scout->login, count, args) != LK_OK)
        lk__conn_break(&scout->conn, LK_ENOMEM, "no memory for a request");
}

static void on_open(lk__conn *conn)
{
    login(scout_of(conn));
    if (conn->state == LK__CONN_GREETING)
        ask(scout_of(conn));
}

static void turn_to_next(lk__scout *scout)
{
    const lk__settings *settings = &scout->conn.client->settings;

    scout->seed = (scout->seed + 1) % settings->seed_count;
    scout->conn.address = &settings->seeds[scout->seed];
}

/* The next one at once, until each has failed. */
static void on_down(lk__conn *conn, lk_status why)
{
    lk__scout *scout = scout_of(conn);
    const lk__settings *settings = &conn->client->settings;

    (void)why;
    scout->heard(scout, NULL);
    turn_to_next(scout);
    if (scout->left > 1) {
        unsigned failures = conn->failures;

        scout->left--;
        lk__conn_retry(conn);
        conn->failures = failures;
    } else {
        scout->left = settings->seed_count;
    }
}

static const lk__conn_class scout_class = {.word = "cluster",
                                           .on_open = on_open,
                                           .on_down = on_down};

void lk__scout_init(lk__scout *scout, lk_client *client,
                    void (*heard)(lk__scout *scout, const redisReply *reply),
                    void *data)
{
    lk__conn_init(&scout->conn, &scout_class, client, scout);
    scout->conn.address = &client->settings.seeds[0];
    scout->heard = heard;
    scout->data = data;
}

void lk__scout_start(lk__scout *scout)
{
    if (scout->conn.state != LK__CONN_STOPPED)
        return;
    scout->left = scout->conn.client->settings.seed_count;
    lk__conn_start(&scout->conn);
}

void lk__scout_rest(lk__scout *scout)
{
    lk__conn_stop(&scout->conn);
    turn_to_next(scout);
}
