/* SPDX-License-Identifier: MIT */

/* Requests to a cell and their answers; see lua/cell_*.lua. */

#include "cell/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/slot.h"
#include "claims/ask.h"
#include "claims/hold.h"
#include "claims/settled.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

enum {
    ANSWER_STALE = 0,
    ANSWER_DONE = 1,
    ANSWER_FENCED = 2,
    ANSWER_NOT_HELD = 3,
    ANSWER_UNSET = 5
};

typedef struct operation {
    lk__ask ask;     /* first */
    uint64_t number; /* 0: it changes nothing */
    lk__cell_result result;
    lk__cell_end end;
    char words[96];
} operation;

/* ---- the guard --------------------------------------------------------------- */

/* Where the server tells whether the hold still stands: a key in the cell's own
   slot, of the server that the cell is asked of. */
static void proof_take(lk__cell_order *order, const lk__place *place,
                       const lk__claim *claim, const char *suffix)
{
    const char *key = claim->place->keys[LK__KEY_NAME];

    if (claim->place->client != place->client ||
        !lk__keys_share_slot(key, place->keys[LK__KEY_NAME]))
        return;
    order->lock_key = key;
    snprintf(order->field, sizeof(order->field), "%s%s", claim->id, suffix);
}

lk_status lk__cell_guard(lk__cell_order *order, const lk__place *place,
                         const lk_hold *hold)
{
    const char *suffix = NULL;
    lk_status status;

    if (hold == NULL)
        return lk__fail(LK_EINVAL, "the hold is NULL");
    if (hold->class == &lk__claim_hold_class) {
        const lk__kind *kind = hold->claim->place->kind;

        status = lk__client_check(hold->client);
        if (status != LK_OK)
            return status;
        lk__client_lock(hold->client);
        if (kind->guard != NULL)
            suffix = kind->guard(hold->claim);
        if (suffix != NULL)
            proof_take(order, place, hold->claim, suffix);
        lk__client_leave(hold->client);
    }
    if (suffix == NULL)
        return lk__fail(LK_ENOTSUP,
                        "the fence of such a hold can guard no write");
    order->fence = lk_hold_fence(hold);
    status = lk_hold_check(hold);
    return status == LK_ELOST ? lk__fail(LK_ELOST, "the hold is lost") : status;
}

/* ---- the answer -------------------------------------------------------------- */

static uint64_t number_at(const redisReply *reply, size_t i)
{
    return strtoull(lk__reply_text_at(reply, i), NULL, 10);
}

static lk_status value_take(operation *op, const redisReply *reply)
{
    const redisReply *bytes = lk__reply_at(reply, 2);
    lk_cell_value *value;

    if (bytes == NULL || bytes->type != REDIS_REPLY_STRING ||
        !lk__reply_is_number(lk__reply_at(reply, 1)))
        return LK_EPROTO;
    value = lk__alloc(sizeof(*value) + bytes->len + 1);
    if (value == NULL)
        return LK_ENOMEM;
    memcpy(value + 1, bytes->str, bytes->len);
    value->version = op->result.version;
    value->size = bytes->len;
    value->bytes = value + 1;
    op->result.value = value;
    return LK_OK;
}

static lk_status refused(operation *op, const char *what, const char *number)
{
    snprintf(op->words, sizeof(op->words), "%s%s", what, number);
    op->ask.words = op->words;
    return LK_ESTALE;
}

static lk_status status_of(operation *op, const redisReply *reply)
{
    switch (lk__reply_integer_at(reply, 0, -1)) {
    case ANSWER_STALE:
        return refused(op, "the version is ", lk__reply_text_at(reply, 1));
    case ANSWER_DONE:
        op->result.version = number_at(reply, 1);
        return op->ask.script == &lk__script_cell_read ? value_take(op, reply)
                                                       : LK_OK;
    case ANSWER_FENCED:
        op->result.fenced = true;
        return refused(op, "a newer holder has written, of the fence ",
                       lk__reply_text_at(reply, 1));
    case ANSWER_NOT_HELD:
        return LK_ELOST;
    case ANSWER_UNSET:
        return LK_EUNSET;
    default:
        return LK_EPROTO;
    }
}

/* One that was sent once and answered cannot be met again. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    operation *op = (operation *)(void *)ask;
    lk_status status = status_of(op, reply);

    *ret_more = false;
    if (status == LK_OK && op->number != 0 && ask->sends == 1)
        lk__settled_note(ask->place, op->number);
    return status;
}

/* ---- asking ------------------------------------------------------------------ */

static void cleanup(lk__ask *ask)
{
    lk_cell_value_free(((operation *)(void *)ask)->result.value);
}

enum { ARGS = 6, NUMBER_SIZE = 24 };

static lk_status
question(operation *op, lk__place *place, const lk__cell_order *order)
{
    bool writes = order->script == &lk__script_cell_write;
    char id[64] = "", expected[NUMBER_SIZE] = "", fence[NUMBER_SIZE];
    lk__arg args[ARGS];
    size_t count = 0;

    if (op->number != 0) {
        snprintf(id, sizeof(id), "%s:%" PRIu64, place->client->id, op->number);
        if (order->version != LK_CELL_ANY)
            snprintf(expected, sizeof(expected), "%" PRIu64, order->version);
        args[count++] = lk__arg_text(expected);
    }
    if (writes)
        args[count++] = lk__arg_number((int64_t)order->ttl_ms);
    if (op->number != 0)
        args[count++] = lk__arg_text(lk__settled_text(place));
    if (writes) {
        snprintf(fence, sizeof(fence), "%" PRIu64, order->fence);
        args[count++] = lk__arg_text(fence);
        args[count++] = lk__arg_text(order->field);
        args[count++] = lk__arg_bytes(order->bytes != NULL ? order->bytes : "",
                                      order->size);
    }
    return lk__ask_script(&op->ask, order->script, id, count, args);
}

/* A write has that key always, so that its keys are known. */
static bool lock_key_take(operation *op, const lk__place *place,
                          const lk__cell_order *order)
{
    const char *key = order->lock_key;

    if (order->script != &lk__script_cell_write)
        return true;
    op->ask.more_key =
        lk__strdup(key != NULL ? key : place->keys[LK__KEY_NAME]);
    return op->ask.more_key != NULL;
}

static lk_status operation_new(operation **ret_op, lk__place *place,
                               const lk__cell_order *order,
                               void (*deliver)(lk__call *call))
{
    operation *op = (operation *)(void *)lk__ask_new(sizeof(*op), place->client,
                                                     place, deliver);

    if (op == NULL)
        return LK_ENOMEM;
    op->ask.take = take;
    op->ask.cleanup = cleanup;
    op->ask.reads = order->script == &lk__script_cell_read;
    op->ask.repeats = !op->ask.reads;
    if (op->ask.repeats)
        op->number = ++place->client->work->last_claim_number;
    if (!lock_key_take(op, place, order) ||
        question(op, place, order) != LK_OK) {
        lk__ask_release(&op->ask);
        return LK_ENOMEM;
    }
    *ret_op = op;
    return LK_OK;
}

lk_status lk__cell_do(lk__place *place, const lk__cell_order *order,
                      lk__cell_result *result)
{
    lk_client *client = place->client;
    operation *op;
    lk_status status = lk__client_enter_blocking(client);

    if (status != LK_OK)
        return status;
    status = operation_new(&op, place, order, NULL);
    if (status == LK_OK) {
        lk__ask_begin(&op->ask);
        status = lk__ask_sleep(&op->ask);
        if (result != NULL) {
            *result = op->result;
            op->result.value = NULL;
        }
        lk__ask_release(&op->ask);
    }
    lk__client_leave_blocking(client);
    return status;
}

/* ---- the async end ------------------------------------------------------------- */

static void deliver(lk__call *call)
{
    operation *op = (operation *)(void *)lk__ask_of_call(call);
    const lk__cell_end *end = &op->end;
    lk_cell_value *value = op->result.value;

    if (end->step == NULL)
        op->result.value = NULL;
    if (end->step != NULL)
        end->step(call->status, &op->result, end->data);
    else if (end->read != NULL)
        end->read(call->status, value, end->data);
    else if (end->written != NULL)
        end->written(call->status, op->result.version, end->data);
    else
        end->done(call->status, end->data);
    lk__ask_finish(&op->ask);
}

lk_status lk__cell_do_async(lk__place *place, const lk__cell_order *order,
                            const lk__cell_end *end)
{
    lk_client *client = place->client;
    operation *op;
    lk_status status = lk__client_enter(client);

    if (status != LK_OK)
        return status;
    status = operation_new(&op, place, order, deliver);
    if (status == LK_OK) {
        op->end = *end;
        lk__ask_begin(&op->ask);
    }
    lk__client_leave(client);
    return status;
}
