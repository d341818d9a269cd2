/* SPDX-License-Identifier: MIT */

/* Operations on a latch: questions that persist until they are answered. */

#include "latch/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "claims/ask.h"
#include "claims/work.h"
#include "server/reply.h"

enum { MEMBER_MAX = 200, ID_SIZE = 64 };

/* Answers of the scripts; see lua/latch_*.lua. */
enum { ANSWER_NONE = 0, ANSWER_DONE = 1, ANSWER_UNSET = 5, ANSWER_MISMATCH };

extern const lk__script lk__script_latch_set;
extern const lk__script lk__script_latch_reset;
extern const lk__script lk__script_latch_down;
extern const lk__script lk__script_latch_arrive;
extern const lk__script lk__script_latch_quit;
extern const lk__script lk__script_latch_delete;
extern const lk__script lk__script_latch_count;

const lk__latch_act lk__latch_set = {.script = &lk__script_latch_set,
                                     .takes_count = true,
                                     .none = LK_EALREADY};
const lk__latch_act lk__latch_reset = {.script = &lk__script_latch_reset,
                                       .takes_count = true,
                                       .none = LK_EPROTO};
const lk__latch_act lk__latch_down = {.script = &lk__script_latch_down,
                                      .takes_count = true,
                                      .persists = true,
                                      .none = LK_EPROTO};
const lk__latch_act lk__latch_arrive = {.script = &lk__script_latch_arrive,
                                        .takes_count = true,
                                        .takes_member = true,
                                        .none = LK_EPROTO};
const lk__latch_act lk__latch_quit = {.script = &lk__script_latch_quit,
                                      .takes_member = true,
                                      .none = LK_OK};
const lk__latch_act lk__latch_delete = {.script = &lk__script_latch_delete,
                                        .none = LK_EUNSET};
const lk__latch_act lk__latch_count = {.script = &lk__script_latch_count,
                                       .reads = true,
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
    int64_t answer = lk__reply_integer_at(reply, 0, -1);
    uint64_t second = (uint64_t)lk__reply_integer_at(reply, 1, 0);

    *ret_more = false;
    op->value = op->act->reads ? second : (uint64_t)answer;
    if (!op->act->reads && second == 1)
        lk__client_log(ask->call.client, LK_LOG_WARN,
                       "%s: the server denied to publish; who waits looks",
                       ask->place->name);
    switch (answer) {
    case ANSWER_DONE:
        return LK_OK;
    case ANSWER_NONE:
        return op->act->none;
    case ANSWER_UNSET:
        return LK_EUNSET;
    case ANSWER_MISMATCH:
        return LK_EMISMATCH;
    default:
        return LK_EPROTO;
    }
}

/* ---- doing it ---------------------------------------------------------------- */

static lk_status question_set(operation *op, const lk__latch_order *order)
{
    lk_client *client = order->handle->place->client;
    char id[ID_SIZE];
    const char *member = order->member == NULL ? "" : order->member;
    lk__arg args[3];

    snprintf(id, sizeof(id), "%s:%" PRIu64, client->id,
             ++client->work->last_claim_number);
    args[0] = lk__arg_number((int64_t)order->count);
    args[1] = lk__arg_number((int64_t)order->ttl_ms);
    args[2] = lk__arg_text(member);
    return lk__ask_script(&op->ask, op->act->script, id, op->act->reads ? 0 : 3,
                          args);
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
