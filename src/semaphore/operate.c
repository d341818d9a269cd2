/* SPDX-License-Identifier: MIT */

/* Questions to a semaphore; see claims/ask.h. */

#include "semaphore/operate.h"

#include "claims/ask.h"
#include "engine/client.h"
#include "server/reply.h"

enum { ANSWER_DONE = 1, ANSWER_UNSET = 5 };

struct operating {
    lk__ask ask; /* first */
    lk__numbers numbers;
    lk_done_cb done;
    lk_semaphore_count_cb count;
    void *data;
};

/* Redisson may make N less than nothing. */
static lk_status
count_take(struct operating *operating, const redisReply *reply)
{
    int64_t permits;

    if (reply->type != REDIS_REPLY_ARRAY)
        return LK_EPROTO;
    if (reply->elements == 1)
        return lk__reply_integer_at(reply, 0, 0) == ANSWER_UNSET ? LK_EUNSET
                                                                 : LK_EPROTO;
    permits = lk__reply_integer_at(reply, 0, 0);
    operating->numbers.permits = permits > 0 ? (uint64_t)permits : 0;
    operating->numbers.free = lk__reply_integer_at(reply, 1, 0);
    return LK_OK;
}

/* The first answer is of the change, those after it of the handing on. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    const lk__script *pass = ask->place->kind->pass;

    *ret_more = false;
    if (ask->script == &lk__script_semaphore_count)
        return count_take((struct operating *)(void *)ask, reply);
    if (ask->script == pass) {
        *ret_more = lk__reply_integer_at(reply, 0, 0) == 1;
        return LK_OK;
    }
    if (lk__reply_integer_at(reply, 0, 0) != ANSWER_DONE)
        return LK_EPROTO;
    *ret_more = lk__reply_integer_at(reply, 1, 0) == 1;
    return *ret_more ? lk__ask_script(ask, pass, "", 0, NULL) : LK_OK;
}

/* A resize asked again could undo one that was made since. */
static lk_status operating_new(struct operating **ret_operating,
                               lk__place *place, const lk__operation *operation,
                               void (*deliver)(lk__call *call))
{
    lk__arg number = lk__arg_number(operation->number);
    size_t count = operation->script == &lk__script_semaphore_resize ? 1 : 0;
    struct operating *operating =
        (struct operating *)(void *)lk__ask_new(sizeof(*operating),
                                                place->client, place, deliver);

    if (operating == NULL)
        return LK_ENOMEM;
    operating->ask.take = take;
    operating->ask.reads = operation->script == &lk__script_semaphore_count;
    if (lk__ask_script(&operating->ask, operation->script, "", count,
                       &number) != LK_OK) {
        lk__ask_release(&operating->ask);
        return LK_ENOMEM;
    }
    *ret_operating = operating;
    return LK_OK;
}

lk_status lk__operate(lk__place *place, const lk__operation *operation,
                      lk__numbers *ret_numbers)
{
    struct operating *operating;
    lk_status status = operating_new(&operating, place, operation, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin(&operating->ask);
    status = lk__ask_sleep(&operating->ask);
    if (status == LK_OK && ret_numbers != NULL)
        *ret_numbers = operating->numbers;
    lk__ask_release(&operating->ask);
    return status;
}

static void deliver(lk__call *call)
{
    struct operating *operating =
        (struct operating *)(void *)lk__ask_of_call(call);

    if (operating->done != NULL)
        operating->done(call->status, operating->data);
    else
        operating->count(call->status, operating->numbers.permits,
                         operating->numbers.free, operating->data);
    lk__ask_finish(&operating->ask);
}

lk_status lk__operate_async(lk__place *place, const lk__operation *operation,
                            lk_done_cb done, lk_semaphore_count_cb count,
                            void *data)
{
    struct operating *operating;
    lk_status status = operating_new(&operating, place, operation, deliver);

    if (status != LK_OK)
        return status;
    operating->done = done;
    operating->count = count;
    operating->data = data;
    lk__ask_begin(&operating->ask);
    return LK_OK;
}
