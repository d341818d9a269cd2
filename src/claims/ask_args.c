/* SPDX-License-Identifier: MIT */

/* What a question asks: its script, its keys and arguments, and the node that they
   lead to. */

#include "claims/ask_args.h"

#include <string.h>

#include "base/mem.h"
#include "claims/cluster.h"
#include "claims/node.h"

enum { LK__ASK_ARGS = 32 }; /* keys and arguments, at most */

/* That of a plain command stands behind its name. */
const lk__arg *lk__ask_key(const lk__ask *ask)
{
    if (ask->script == NULL)
        return ask->count > 1 ? &ask->args[1] : NULL;
    return ask->key_count > 0 ? &ask->args[0] : NULL;
}

lk__node *lk__ask_node(const lk__ask *ask)
{
    const lk_client *client = ask->call.client;
    const lk__arg *key = lk__ask_key(ask);

    if (ask->place != NULL)
        return ask->place->node;
    return key != NULL ? lk__cluster_node_of(client, key->bytes, key->size)
                       : lk__cluster_lead(client);
}

lk__arg *lk__args_copy(size_t count, const lk__arg *args)
{
    size_t size = count * sizeof(*args);
    lk__arg *copy;
    char *bytes;

    for (size_t i = 0; i < count; i++)
        size += args[i].size;
    copy = lk__alloc(size + 1);
    if (copy == NULL)
        return NULL;
    bytes = (char *)(copy + count);
    for (size_t i = 0; i < count; i++) {
        copy[i] = args[i];
        if (args[i].bytes == NULL)
            continue;
        memcpy(bytes, args[i].bytes, args[i].size);
        copy[i].bytes = bytes;
        bytes += args[i].size;
    }
    return copy;
}

/* Which the script is told, and how, is known when it is sent: it depends on the
   node. So the copies have the place's own text of it, which is pinned. */
static void channels_keep(const lk__ask *ask, lk__arg *copy, size_t count,
                          const lk__arg *args)
{
    for (size_t i = 0; ask->place != NULL && i < count; i++) {
        if (args[i].bytes != NULL &&
            lk__place_channel(ask->place, args[i].bytes) != NULL)
            copy[i] = args[i];
    }
}

void lk__ask_channels_tell(lk__ask *ask)
{
    for (size_t i = 0; ask->place != NULL && i < ask->count; i++) {
        const lk__channel *channel =
            ask->args[i].bytes == NULL
                ? NULL
                : lk__place_channel(ask->place, ask->args[i].bytes);

        if (channel != NULL)
            ask->args[i] =
                lk__arg_text(lk__channel_told(channel, ask->place->node));
    }
}

/* The keys come first. */
static lk_status question_set(lk__ask *ask, const lk__script *script,
                              size_t key_count, size_t count,
                              const lk__arg *args)
{
    lk__arg *copy = lk__args_copy(count, args);

    if (copy == NULL)
        return LK_ENOMEM;
    if (script != NULL)
        channels_keep(ask, copy, count, args);
    lk__free(ask->args);
    ask->args = copy;
    ask->count = count;
    ask->key_count = key_count;
    ask->script = script;
    return LK_OK;
}

lk_status lk__ask_question(lk__ask *ask, const lk__question *question)
{
    lk__arg all[LK__ASK_ARGS];
    size_t keys, count;

    if (question == NULL)
        return LK_ENOMEM;
    keys = question->key_count;
    count = keys + question->arg_count;
    if (count > LK__ASK_ARGS)
        return LK_EINVAL;
    memcpy(all, question->keys, keys * sizeof(*all));
    memcpy(all + keys, question->args, question->arg_count * sizeof(*all));
    return question_set(ask, question->script, keys, count, all);
}

lk_status lk__ask_command(lk__ask *ask, size_t count, const lk__arg *args)
{
    return question_set(ask, NULL, 0, count, args);
}
