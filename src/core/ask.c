/* SPDX-License-Identifier: MIT */

/*
 * Questions that one thread asks and waits for. The question's memory outlives
 * the caller's patience: whoever lets go of it last frees it.
 */

#include "core/ask.h"

#include "core/client.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/node.h"
#include "core/reply.h"

struct ask {
    lk__request request; /* first: found from it */
    lk_client *client;
    lk__take take;
    void *data;
    lk_status status;
    bool done;      /* answered */
    bool abandoned; /* the caller has gone */
    bool again;     /* the server has forgotten the script */
    char words[160];
    lk__parking parking;
};

/* What is asked: a script of a place, or a plain command. */
struct question {
    lk_client *client;
    lk__place *place; /* NULL: a plain command */
    const lk__script *script;
    const char *owner;
    size_t count;
    const lk__arg *args;
    lk__take take;
    void *data;
};

static void
on_reply(lk__request *request, lk_status status, const redisReply *reply)
{
    struct ask *ask = (struct ask *)(void *)request;
    lk_client *client = ask->client;

    if (status == LK_OK) {
        status = lk__node_check(client->node, request, reply);
        if (ask->abandoned) {
            lk__free(ask);
            return;
        }
        ask->again = lk__reply_is_noscript(reply);
        if (status != LK_OK)
            snprintf(ask->words, sizeof(ask->words), "%s", reply->str);
        else
            status = ask->take(ask->data, request, reply);
    }
    if (ask->abandoned) {
        lk__free(ask);
        return;
    }
    ask->status = status;
    ask->done = true;
    client->world->class->unpark(client->world, &ask->parking);
}

static bool is_settled(const lk_client *client)
{
    return lk__node_is_ready(client->node) || client->node->offline ||
           client->state == LK__CLIENT_CLOSED;
}

static lk_status wait_ready(lk_client *client, uint64_t until)
{
    if (!is_settled(client)) {
        lk__client_leave(client);
        lk__watch(client, is_settled, until);
        lk__client_lock(client);
    }
    if (client->state == LK__CLIENT_CLOSED)
        return LK_ECLOSED;
    return lk__node_is_ready(client->node) ? LK_OK : lk__node_why(client->node);
}

static lk_status send_question(const struct question *question, struct ask *ask)
{
    if (question->place == NULL)
        return lk__node_command(question->client->node, &ask->request,
                                question->count, question->args);
    return lk__place_call(question->place, &ask->request, question->script,
                          question->owner, question->count, question->args);
}

/* One sending and its answer; *ret_again: nothing was done, struct ask again. */
static lk_status
ask_once(const struct question *question, uint64_t until, bool *ret_again)
{
    lk_client *client = question->client;
    struct ask *ask = lk__alloc(sizeof(*ask));
    lk_status status;

    if (ask == NULL)
        return LK_ENOMEM;
    ask->request.on_reply = on_reply;
    ask->client = client;
    ask->take = question->take;
    ask->data = question->data;
    client->world->class->parking_init(client->world, &ask->parking);
    status = send_question(question, ask);
    if (status != LK_OK) {
        lk__free(ask);
        return status;
    }

    lk__client_leave(client);
    client->world->class->park(client->world, &ask->parking, until);
    lk__client_lock(client);
    if (!ask->done) {
        ask->abandoned = true;
        return LK_EINDOUBT;
    }
    status = ask->status;
    *ret_again = ask->again || status == LK_EOFFLINE;
    if (ask->words[0] != '\0')
        lk__error_set(ask->words);
    lk__free(ask);
    return status;
}

static lk_status ask_all(const struct question *question)
{
    lk_client *client = question->client;
    uint64_t until =
        lk__wait_until_ns(lk__client_now(client),
                          (int64_t)client->settings.command_timeout_ms);
    bool again = true;
    lk_status status = LK_EOFFLINE;

    while (again && lk__client_now(client) < until) {
        again = false;
        status = wait_ready(client, until);
        if (status == LK_OK)
            status = ask_once(question, until, &again);
    }
    return status;
}

lk_status lk__ask_script(lk__place *place, const lk__script *script,
                         const char *owner, size_t count, const lk__arg *args,
                         lk__take take, void *data)
{
    struct question question = {place->client, place, script, owner,
                                count,         args,  take,   data};

    return ask_all(&question);
}

lk_status lk__ask_command(lk_client *client, size_t count, const lk__arg *args,
                          lk__take take, void *data)
{
    struct question question = {client, NULL, NULL, NULL,
                                count,  args, take, data};

    return ask_all(&question);
}
