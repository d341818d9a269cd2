/* SPDX-License-Identifier: MIT */

/* Operations on a latch: questions that persist until they are answered. */

#include "latch/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "claims/ask.h"
#include "claims/work.h"
#include "latch/protocol.h"

enum { MEMBER_MAX = 200 };

const lk__latch_act lk__latch_set = {.what = 's',
                                     .takes_count = true,
                                     .doubt = LK_EINDOUBT,
                                     .none = LK_EALREADY};
const lk__latch_act lk__latch_reset = {.what = 'r',
                                       .takes_count = true,
                                       .doubt = LK_EPENDING,
                                       .none = LK_EPROTO};
const lk__latch_act lk__latch_down = {.what = 'd',
                                      .takes_count = true,
                                      .persists = true,
                                      .doubt = LK_EPENDING,
                                      .none = LK_EPROTO};
const lk__latch_act lk__latch_arrive = {.what = 'a',
                                        .takes_count = true,
                                        .takes_member = true,
                                        .doubt = LK_EINDOUBT,
                                        .none = LK_EPROTO};
const lk__latch_act lk__latch_quit = {.what = 'q',
                                      .takes_member = true,
                                      .doubt = LK_EINDOUBT,
                                      .none = LK_OK};
const lk__latch_act lk__latch_delete = {.what = 'x',
                                        .doubt = LK_EPENDING,
                                        .none = LK_EUNSET};
const lk__latch_act lk__latch_count = {.reads = true,
                                       .doubt = LK_EINDOUBT,
                                       .none = LK_EPROTO};

typedef struct operation {
    lk__ask ask; /* first */
    const lk__latch_act *act;
    uint64_t value; /* of the answer */
    lk__latch_end end;
} operation;

/* ---- checks ------------------------------------------------------------------ */

static lk_status count_check(uint64_t count)
{
    if (count == 0)
        return lk__fail(LK_EINVAL, "the count is 0");
    if (count > LK_LATCH_COUNT_MAX)
        return lk__fail(LK_ERANGE, "the count is above LK_LATCH_COUNT_MAX");
    return LK_OK;
}

static lk_status member_check(const char *member)
{
    if (member == NULL || member[0] == '\0')
        return lk__fail(LK_EINVAL, "the member has no name");
    if (strnlen(member, MEMBER_MAX + 1) > MEMBER_MAX)
        return lk__fail(LK_EINVAL, "the member's name is longer than %d bytes",
                        MEMBER_MAX);
    return LK_OK;
}

static lk_status order_check(const lk__latch_order *order)
{
    lk_status status = lk__handle_check(order->handle, order->handle);

    if (status == LK_OK && order->act->takes_count)
        status = count_check(order->count);
    if (status == LK_OK && order->act->takes_member)
        status = member_check(order->member);
    return status;
}

/* ---- answers ----------------------------------------------------------------- */

static lk_status
operation_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    operation *op = (operation *)(void *)ask;
    lk__latch_changed changed;
    bool denied;

    *ret_more = false;
    if (op->act->reads)
        return lk__latch_read_count(reply, &op->value);
    if (lk__latch_read_change(reply, &changed, &denied,
                              &op->ask.found.number) != LK_OK)
        return LK_EPROTO;
    if (denied)
        lk__client_log(ask->call.client, LK_LOG_WARN,
                       "%s: the server denied to publish; waiters look",
                       ask->place->name);
    op->value = changed == LK__LATCH_DONE;
    switch (changed) {
    case LK__LATCH_DONE:
        return LK_OK;
    case LK__LATCH_NO:
        return op->act->none;
    case LK__LATCH_UNSET:
        return LK_EUNSET;
    case LK__LATCH_OTHER:
        break;
    }
    return LK_EMISMATCH;
}

/* ---- doing it ---------------------------------------------------------------- */

static lk_status question_set(operation *op, const lk__latch_order *order)
{
    const lk__place *place = order->handle->place;
    lk_client *client = place->client;
    char id[LK__NUMBERED_SIZE];
    const lk__latch_wish wish = {
        .what = op->act->what,
        .op = id,
        .number = order->count,
        .ttl_ms = order->ttl_ms,
        .who = order->member == NULL ? "" : order->member,
    };

    if (op->act->reads)
        return lk__ask_question(&op->ask, lk__latch_ask_count(place));
    lk__numbered_write(id, client->id, ++client->work->last_claim_number);
    return lk__ask_question(&op->ask, lk__latch_ask_change(place, &wish));
}

/* Inside the monitor. deliver NULL: a blocking one. */
static lk_status operation_new(operation **ret_op, const lk__latch_order *order,
                               void (*deliver)(lk__call *call))
{
    lk__place *place = order->handle->place;
    operation *op = (operation *)(void *)lk__ask_new(sizeof(*op), place->client,
                                                     place, deliver);

    if (op == NULL)
        return LK_ENOMEM;
    op->act = order->act;
    op->ask.reads = order->act->reads;
    op->ask.repeats = !order->act->reads;
    op->ask.persists = order->act->persists;
    op->ask.found.asked = order->count;
    op->ask.doubt = order->act->doubt;
    op->ask.take = operation_take;
    if (question_set(op, order) != LK_OK) {
        lk__ask_release(&op->ask);
        return LK_ENOMEM;
    }
    *ret_op = op;
    return LK_OK;
}

lk_status lk__latch_operate(const lk__latch_order *order, uint64_t *ret_value)
{
    lk_status status = order_check(order);
    lk__place *place;
    operation *op;

    if (status == LK_OK)
        status = lk__handle_enter(order->handle, order->handle, &place);
    if (status != LK_OK)
        return status;
    status = operation_new(&op, order, NULL);
    if (status == LK_OK) {
        lk__ask_begin(&op->ask);
        status = lk__ask_sleep(&op->ask);
        if (status == LK_OK && ret_value != NULL)
            *ret_value = op->value;
        lk__ask_release(&op->ask);
    }
    lk__handle_leave(place);
    return status;
}

static void deliver(lk__call *call)
{
    operation *op = (operation *)(void *)lk__ask_of_call(call);
    const lk__latch_end *end = &op->end;

    if (end->left != NULL)
        end->left(call->status, op->value == 1, end->data);
    else if (end->counted != NULL)
        end->counted(call->status, op->value, end->data);
    else
        end->done(call->status, end->data);
    lk__ask_finish(&op->ask);
}

lk_status
lk__latch_operate_async(const lk__latch_order *order, const lk__latch_end *end)
{
    bool has_cb =
        end->done != NULL || end->left != NULL || end->counted != NULL;
    lk_status status = order_check(order);
    operation *op;

    if (status == LK_OK)
        status = lk__handle_enter_async(order->handle, has_cb);
    if (status != LK_OK)
        return status;
    status = operation_new(&op, order, deliver);
    if (status == LK_OK) {
        op->end = *end;
        lk__ask_begin(&op->ask);
    }
    lk__handle_leave_async(order->handle);
    return status;
}
