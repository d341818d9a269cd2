/* SPDX-License-Identifier: MIT */

/* Changes of the counter: questions that persist; see claims/ask.h. */

#include "plain_semaphore/change.h"

#include <inttypes.h>
#include <stdio.h>

#include "claims/ask.h"
#include "claims/settled.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

/* Answers of the scripts; see lua/plain_add.lua and its like. */
enum {
    ANSWER_DONE = 1,
    ANSWER_WAS_SET = 2,
    ANSWER_RANGE = 4,
    ANSWER_UNSET = 5
};

struct making {
    lk__ask ask;     /* first */
    uint64_t number; /* 0: it changes nothing */
    int64_t answer;
    lk_done_cb done;
    lk_plain_semaphore_number_cb cb;
    void *data;
};

/* ---- the answer ------------------------------------------------------------ */

static lk_status status_of(const redisReply *reply)
{
    switch (lk__reply_integer_at(reply, 0, -1)) {
    case ANSWER_DONE:
        return LK_OK;
    case ANSWER_WAS_SET:
        return LK_EALREADY;
    case ANSWER_RANGE:
        return LK_ERANGE;
    case ANSWER_UNSET:
        return LK_EUNSET;
    default:
        return LK_EPROTO;
    }
}

/* The first answer is of the change, those after it of telling the waiters. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct making *making = (struct making *)(void *)ask;
    const lk__script *pass = ask->place->kind->pass;
    lk_status status;

    if (ask->script == pass) {
        *ret_more = lk__reply_integer_at(reply, 0, 0) == 1;
        return LK_OK;
    }
    status = status_of(reply);
    if (status == LK_OK)
        making->answer = lk__reply_integer_at(reply, 3, 0);
    if (status != LK_EPROTO && making->number != 0 && ask->sends == 1)
        lk__settled_note(ask->place, making->number);
    *ret_more = status == LK_OK && lk__reply_integer_at(reply, 1, 0) == 1;
    return *ret_more ? lk__ask_script(ask, pass, "", 0, NULL) : status;
}

/* ---- asking ---------------------------------------------------------------- */

enum { MAX_ARGS = 3 };

static lk_status question(struct making *making, const lk__change *change)
{
    lk__place *place = making->ask.place;
    lk__arg args[MAX_ARGS];
    size_t count = 0;
    char op[64] = "";

    while (count < change->count) {
        args[count] = lk__arg_number(change->args[count]);
        count++;
    }
    if (making->number != 0) {
        snprintf(op, sizeof(op), "%s:%" PRIu64, place->client->id,
                 making->number);
        args[count++] = lk__arg_text(lk__settled_text(place));
    }
    return lk__ask_script(&making->ask, change->script, op, count, args);
}

/* What is added or taken nobody says again; what is set or deleted may be. */
static bool is_relative(const lk__change *change)
{
    return change->script == &lk__script_plain_add ||
           change->script == &lk__script_plain_drain;
}

static lk_status making_new(struct making **ret_making, lk__place *place,
                            const lk__change *change,
                            void (*deliver)(lk__call *call))
{
    struct making *making =
        (struct making *)(void *)lk__ask_new(sizeof(*making), place->client,
                                             place, deliver);

    if (making == NULL)
        return LK_ENOMEM;
    making->ask.take = take;
    making->ask.reads = change->script == &lk__script_plain_count;
    making->ask.repeats = !making->ask.reads;
    making->ask.persists = is_relative(change);
    if (making->ask.repeats)
        making->number = ++place->client->work->last_claim_number;
    if (question(making, change) != LK_OK) {
        lk__ask_release(&making->ask);
        return LK_ENOMEM;
    }
    *ret_making = making;
    return LK_OK;
}

lk_status
lk__change_make(lk__place *place, const lk__change *change, int64_t *ret_number)
{
    struct making *making;
    lk_status status = making_new(&making, place, change, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin(&making->ask);
    status = lk__ask_sleep(&making->ask);
    if (status == LK_OK && ret_number != NULL)
        *ret_number = making->answer;
    lk__ask_release(&making->ask);
    return status;
}

static void deliver(lk__call *call)
{
    struct making *making = (struct making *)(void *)lk__ask_of_call(call);
    lk_status status = call->status;

    if (making->done != NULL)
        making->done(status, making->data);
    else
        making->cb(status, status == LK_OK ? making->answer : 0, making->data);
    lk__ask_finish(&making->ask);
}

lk_status lk__change_make_async(lk__place *place, const lk__change *change,
                                lk_done_cb done,
                                lk_plain_semaphore_number_cb cb, void *data)
{
    struct making *making;
    lk_status status = making_new(&making, place, change, deliver);

    if (status != LK_OK)
        return status;
    making->done = done;
    making->cb = cb;
    making->data = data;
    lk__ask_begin(&making->ask);
    return LK_OK;
}
