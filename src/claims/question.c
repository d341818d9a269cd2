/* SPDX-License-Identifier: MIT */

/* A call of a script, written down. */

#include "claims/question.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "claims/node.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"

void lk__question_done(lk__question *question)
{
    lk__free(question->texts);
    lk__free(question->key_texts);
    question->texts = question->key_texts = NULL;
    question->room = question->key_room = 0;
}

bool lk__question_reserve(lk__question *question, size_t key_size)
{
    char *texts;

    if (key_size <= question->key_room)
        return true;
    texts = lk__realloc(question->key_texts, LK__QUESTION_KEYS * key_size);
    if (texts == NULL)
        return false;
    question->key_texts = texts;
    question->key_room = key_size;
    return true;
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

void lk__question_key_of(lk__question *question, const char *form,
                         const char *name)
{
    char *text = question->key_texts + question->key_count * question->key_room;
    size_t length = lk__key_write(form, name, text, question->key_room);

    assert(length < question->key_room);
    assert(question->key_count < LK__QUESTION_KEYS);
    question->keys[question->key_count++] = lk__arg_bytes(text, length);
}

char *lk__question_text(lk__question *question, size_t size)
{
    char *text = question->texts + question->taken;

    assert(size <= question->room - question->taken);
    question->taken += size;
    return text;
}

char *lk__question_id(lk__question *question)
{
    return question->ids[question->next_id++ % LK__QUESTION_IDS];
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

    assert(key < question->key_count);
    question->args[others] = question->args[others + key];
    question->keys[0] = question->keys[key];
    question->key_count = 1;
    question->arg_count = others + 1;
}

void lk__question_args(lk__question *question, const lk__signature *signature,
                       const void *args)
{
    if (signature->args == NULL)
        return;
    assert(lk__args_count(signature->args, args) <= LK__QUESTION_ARGS);
    lk__args_write(signature->args, args, question->args);
    question->arg_count = lk__args_count(signature->args, args);
}
