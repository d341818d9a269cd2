/* SPDX-License-Identifier: MIT */

/* Questions to a semaphore; see claims/ask.h. */

#include "semaphore/operate.h"

#include "claims/ask.h"
#include "engine/client.h"
#include "semaphore/protocol.h"

struct operating {
    lk__ask ask; /* first */
    lk__numbers numbers;
    lk_done_cb done;
    lk_semaphore_count_cb count;
    void *data;
};

static lk_status
count_take(struct operating *operating, const redisReply *reply)
{
    int64_t permits = 0;
    lk_status status =
        lk__semaphore_read_count(reply, &permits, &operating->numbers.free);

    operating->numbers.permits = permits > 0 ? (uint64_t)permits : 0;
    return status;
}

/* The first answer is of the change, those after it of the handing on. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    const lk__protocol *protocol = ask->place->kind->protocol;
    lk_status status = LK_OK;

    *ret_more = false;
    if (lk__semaphore_is_count(ask->script))
        return count_take((struct operating *)(void *)ask, reply);
    if (lk__semaphore_is_resize(ask->script))
        status = lk__semaphore_read_resize(reply, ret_more);
    else
        *ret_more = protocol->read_hand_on(reply);
    return status == LK_OK && *ret_more
               ? lk__ask_go_on(ask, LK_OK, protocol->hand_on(ask->place),
                               ret_more)
               : status;
}

/* A resize asked again could undo one that was made since. */
static lk_status operating_new(struct operating **ret_operating,
                               lk__place *place, const lk__operation *operation,
                               void (*deliver)(lk__call *call))
{
    struct operating *operating =
        (struct operating *)(void *)lk__ask_new(sizeof(*operating),
                                                place->client, place, deliver);

    if (operating == NULL)
        return LK_ENOMEM;
    operating->ask.take = take;
    operating->ask.reads = !operation->resizes;
    if (lk__ask_question(&operating->ask,
                         operation->resizes
                             ? lk__semaphore_ask_resize(place,
                                                        operation->permits)
                             : lk__semaphore_ask_count(place)) != LK_OK) {
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
