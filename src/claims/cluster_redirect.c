/* SPDX-License-Identifier: MIT */

/*
 * What a node of a cluster says instead of an answer: that the slot is another's now, or
 * that its key is elsewhere while the slot moves.
 */

#include <stdio.h>

#include "base/container.h"
#include "claims/cluster_private.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/redirect.h"
#include "server/reply.h"

#define MS LK__CLUSTER_MS

enum {
    SWEEP_MS = 10,   /* from a hint until all names of the slot have moved */
    HINTS_MS = 20,   /* a slot does not go here and there more often */
    ASKED_MS = 10000 /* a node is kept that may be asked again */
};

/* The node that has the slot sends a request elsewhere. */
static void take_hint(lk__cluster *cluster, const lk__node *from,
                      const lk__redirect *redirect)
{
    uint64_t now = lk__client_now(cluster->client);
    unsigned slot = redirect->slot;
    lk__node *to;

    lk__cluster_ask_anew(cluster);
    if (cluster->owners[slot] != from ||
        now < cluster->changed_at[slot] + HINTS_MS * MS)
        return;
    to = lk__cluster_at(cluster, &redirect->to);
    if (to == NULL || to == from)
        return;
    lk__cluster_give(cluster, slot, to);
    lk__node_arrive(to);
    lk__cluster_wake_by(cluster, now + SWEEP_MS * MS);
}

lk_status lk__cluster_heard(lk_client *client, unsigned slot,
                            const lk__request *request, const redisReply *reply)
{
    lk__cluster *cluster = client->work->cluster;
    const lk__node *from = lk__node_of(request->conn);
    lk__redirect redirect = {.kind = LK__REDIRECT_NONE};

    if (cluster == NULL)
        return LK_OK;
    if (reply->type == REDIS_REPLY_ERROR)
        lk__redirect_read(&redirect, reply, slot, from->endpoint.host);
    if (redirect.kind == LK__REDIRECT_FOREIGN)
        return LK_EINDOUBT;
    if (redirect.kind == LK__REDIRECT_MOVED)
        take_hint(cluster, from, &redirect);
    if (cluster->owners[slot] == from)
        return LK_OK;
    return reply->type == REDIS_REPLY_ERROR ? LK_EOFFLINE : LK_EINDOUBT;
}

lk__node *lk__cluster_asks(lk_client *client, unsigned slot,
                           const lk__request *request, const redisReply *reply)
{
    lk__cluster *cluster = client->work->cluster;
    lk__redirect redirect = {.kind = LK__REDIRECT_NONE};
    lk__node *to = NULL;

    if (cluster == NULL || reply->type != REDIS_REPLY_ERROR)
        return NULL;
    lk__redirect_read(&redirect, reply, slot,
                      lk__node_of(request->conn)->endpoint.host);
    if (redirect.kind == LK__REDIRECT_ASK)
        to = lk__cluster_at(cluster, &redirect.to);
    if (to == NULL)
        return NULL;
    to->asked_until = lk__client_now(client) + ASKED_MS * MS;
    lk__node_arrive(to);
    return lk__node_is_ready(to) ? to : NULL;
}

/* Refused, what is behind it is sent back. */
static void
on_asking(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__asking *asking = LK__CONTAINER_OF(request, lk__asking, request);

    asking->is_denied =
        status == LK_OK && lk__reply_status(reply) == LK_EDENIED;
    if (asking->is_denied)
        (void)snprintf(asking->words, sizeof(asking->words), "%s", reply->str);
}

lk_status lk__cluster_asking(lk__node *node, lk__asking *asking)
{
    lk__arg word = lk__arg_text("ASKING");

    asking->request.on_reply = on_asking;
    asking->is_denied = false;
    return lk__node_command(node, &asking->request, 1, &word);
}

lk_status lk__cluster_ask(lk__node *node, lk__asking *asking,
                          lk__request *request, const lk__question *question)
{
    lk_status status = lk__cluster_asking(node, asking);

    if (status != LK_OK)
        return status;
    status = lk__question_send(&node->command, request, question);
    if (status != LK_OK) /* nothing else may stand behind the ASKING */
        lk__conn_break(&node->command, status, "no room behind ASKING");
    return status;
}
