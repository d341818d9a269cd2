/* SPDX-License-Identifier: MIT */

/* A call of a script, written down. */

#include "claims/question.h"

#include <assert.h>

#include "base/mem.h"
#include "claims/node.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"

void lk__question_done(lk__question *question)
{
    lk__free(question->texts);
    question->texts = NULL;
    question->room = 0;
}

lk__question *
lk__question_begin(lk_client *client, const lk__script *script, size_t room)
{
    lk__question *question = &client->work->question;
    char *texts;

    assert(lk__client_is_busy(client));
    question->script = script;
    question->key_count = question->arg_count = question->taken = 0;
    if (room <= question->room)
        return question;
    texts = lk__realloc(question->texts, room);
    if (texts == NULL)
        return NULL;
    question->texts = texts;
    question->room = room;
    return question;
}

void lk__question_key(lk__question *question, const char *key)
{
    assert(question->key_count < LK__QUESTION_KEYS);
    question->keys[question->key_count++] = lk__arg_text(key);
}

char *lk__question_text(lk__question *question, size_t size)
{
    char *text = question->texts + question->taken;

    assert(size <= question->room - question->taken);
    question->taken += size;
    return text;
}

lk_status lk__question_send(lk__conn *conn, lk__request *request,
                            const lk__question *question)
{
    return lk__node_call(conn, request, question->script, question->key_count,
                         question->keys, question->arg_count, question->args);
}

void lk__question_pick(lk__question *question, size_t key)
{
    size_t others = question->arg_count - question->key_count;

    question->args[others] = question->args[others + key];
    question->keys[0] = question->keys[key];
    question->key_count = 1;
    question->arg_count = others + 1;
}

void lk__question_fill(lk__question *question, const lk__signature *signature,
                       size_t key_count, char *const *keys, const void *args)
{
    for (size_t i = 0; i < key_count; i++)
        lk__question_key(question, keys[signature->keys[i]]);
    if (signature->args == NULL)
        return;
    assert(lk__args_count(signature->args, args) <= LK__QUESTION_ARGS);
    lk__args_write(signature->args, args, question->args);
    question->arg_count = lk__args_count(signature->args, args);
}
