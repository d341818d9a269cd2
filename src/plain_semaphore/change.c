/* SPDX-License-Identifier: MIT */

/* Changes of the counter: questions that persist; see claims/ask.h. */

#include "plain_semaphore/change.h"

#include <inttypes.h>
#include <stdio.h>

#include "claims/ask.h"
#include "claims/settled.h"
#include "claims/work.h"
#include "engine/client.h"
#include "plain_semaphore/protocol.h"

struct making {
    lk__ask ask;     /* first */
    uint64_t number; /* 0: it changes nothing */
    bool passes;     /* it was made, and the waiters are being told */
    int64_t answer;
    lk_done_cb done;
    lk_plain_semaphore_number_cb cb;
    void *data;
};

/* ---- the answer ------------------------------------------------------------ */

/* The first answer is of the change, those after it of telling the waiters. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct making *making = (struct making *)(void *)ask;
    const lk__protocol *protocol = ask->place->kind->protocol;
    lk_status status = LK_OK;

    *ret_more = false;
    if (making->number == 0)
        return lk__plain_read_count(reply, &making->answer);
    if (making->passes)
        *ret_more = protocol->read_hand_on(reply);
    else
        status = lk__plain_read_change(reply, &making->answer, ret_more);
    if (!making->passes && status != LK_EPROTO && ask->sends == 1)
        lk__settled_note(ask->place, making->number);
    if (!*ret_more)
        return status;
    making->passes = true;
    return lk__ask_go_on(ask, LK_OK, protocol->hand_on(ask->place), ret_more);
}

/* ---- asking ---------------------------------------------------------------- */

static lk_status question(struct making *making, const lk__change *change)
{
    lk__place *place = making->ask.place;
    char op[LK__NUMBERED_SIZE];
    const lk__plain_wish wish = {.what = change->what,
                                 .op = op,
                                 .amount = change->amount,
                                 .must = change->must,
                                 .ttl_ms = change->ttl_ms};

    if (change->what == 'c')
        return lk__ask_question(&making->ask, lk__plain_ask_count(place));
    making->number = ++place->client->work->last_claim_number;
    lk__numbered_write(op, place->client->id, making->number);
    return lk__ask_question(&making->ask, lk__plain_ask_change(place, &wish));
}

/* What is added or taken nobody says again; what is set or deleted may be. */
static bool is_relative(const lk__change *change)
{
    return change->what == 'a' || change->what == 'd';
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
    making->ask.reads = change->what == 'c';
    making->ask.repeats = !making->ask.reads;
    making->ask.persists = is_relative(change);
    making->ask.doubt =
        is_relative(change) || change->what == 'x' ? LK_EPENDING : LK_EINDOUBT;
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
