/* SPDX-License-Identifier: MIT */

/* What a server is asked, and what may become of any answer. */

#include <stdio.h>
#include <string.h>

#include "claims/node.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

lk_status lk__node_command(lk__node *node, lk__request *request, size_t count,
                           const lk__arg *args)
{
    if (!lk__node_is_ready(node))
        return LK_EOFFLINE;
    request->script = NULL;
    request->in_full = false;
    return lk__conn_send(&node->command, request, count, args);
}

lk_status lk__node_call(lk__conn *conn, lk__request *request,
                        const lk__script *script, size_t key_count,
                        const lk__arg *keys, size_t arg_count,
                        const lk__arg *args)
{
    lk__node *node = lk__node_of(conn);
    bool seen = node->seen[script->index] != 0;
    lk__arg head[3];
    lk_status status = lk__conn_check(conn);

    if (conn == &node->command && !lk__node_is_ready(node))
        return LK_EOFFLINE;
    if (status != LK_OK)
        return status;
    head[0] = lk__arg_text(seen ? "EVALSHA" : "EVAL");
    head[1] = seen ? lk__arg_bytes(script->sha1, 40)
                   : lk__arg_bytes(script->body, script->size);
    head[2] = lk__arg_number((int64_t)key_count);

    request->script = script;
    request->in_full = !seen;
    lk__conn_begin(conn, 3 + key_count + arg_count);
    lk__conn_args(conn, 3, head);
    lk__conn_args(conn, key_count, keys);
    lk__conn_args(conn, arg_count, args);
    status = lk__conn_end(conn, request);
    if (status == LK_OK && !seen)
        node->seen[script->index] = request->sent_at;
    return status;
}

/* Of all that was under way when the server forgot it, one sends the text
   again; the rest follow that one by the hash. */
static void script_lost(lk__node *node, const lk__request *request)
{
    uint64_t *seen = &node->seen[request->script->index];

    if (*seen == 0 || request->sent_at < *seen)
        return;
    *seen = 0;
    node->client->stats.scripts_lost++;
}

/* Every script answers with an array; what may stand in it is for the asker to
   tell, by the script's table. */
static bool is_understood(const lk__request *request, const redisReply *reply)
{
    return request->script == NULL || reply->type == REDIS_REPLY_ARRAY;
}

bool lk__node_passes(const lk__request *request, const redisReply *reply)
{
    if (lk__reply_is_passing(reply))
        return true;
    return lk__node_of(request->conn)->client->work->cluster != NULL &&
           (lk__reply_is_error(reply, "MOVED") ||
            lk__reply_is_error(reply, "ASK"));
}

lk_status lk__node_check(const lk__request *request, const redisReply *reply)
{
    lk__conn *conn = request->conn;
    lk__node *node = lk__node_of(conn);
    lk_status status = lk__reply_status(reply);
    bool is_command = conn == &node->command;

    if (status == LK_OK && !is_understood(request, reply)) {
        lk__conn_break(conn, LK_EPROTO,
                       "an answer of a script is not understood");
        return LK_EPROTO;
    }
    if (lk__reply_is_noscript(reply) && request->in_full) {
        lk__conn_break(conn, LK_EPROTO,
                       "a script that was sent in full is not known");
        return LK_EPROTO;
    }
    if (status == LK_OK)
        lk__conn_serves(conn);
    if (lk__node_passes(request, reply))
        snprintf(node->refusal, sizeof(node->refusal), "%s", reply->str);
    if (lk__reply_is_noscript(reply) && request->script != NULL) {
        script_lost(node, request);
    } else if (status == LK_ELOADING || status == LK_EREADONLY) {
        node->refusing = node->refusing || is_command;
        lk__conn_break(conn, status, reply->str);
    } else if (node->refusing && is_command) {
        lk__node_serves(node);
    }
    return status;
}
