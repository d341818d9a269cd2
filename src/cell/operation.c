/* SPDX-License-Identifier: MIT */

/* Requests to a cell and their answers; see lua/cell/. */

#include "cell/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/slot.h"
#include "claims/ask.h"
#include "claims/family.h"
#include "claims/hold.h"
#include "claims/settled.h"
#include "claims/work.h"
#include "engine/client.h"
#include "server/reply.h"

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
    if (claim->place->client != place->client ||
        claim->place->slot != place->slot)
        return;
    order->lock = claim->place;
    snprintf(order->field, sizeof(order->field), "%s%s", lk__claim_id(claim),
             suffix);
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

static lk_status value_take(operation *op, const lk__text *bytes)
{
    lk_cell_value *value = lk__alloc(sizeof(*value) + bytes->size + 1);

    if (value == NULL)
        return LK_ENOMEM;
    if (bytes->size > 0)
        memcpy(value + 1, bytes->bytes, bytes->size);
    value->version = op->result.version;
    value->size = bytes->size;
    value->bytes = value + 1;
    op->result.value = value;
    return LK_OK;
}

static lk_status refused(operation *op, const char *what, int64_t number)
{
    snprintf(op->words, sizeof(op->words), "%s%" PRId64, what, number);
    op->ask.words = op->words;
    return LK_ESTALE;
}

static lk_status read_take(operation *op, const redisReply *reply)
{
    lk__cell_read_answer a;

    if (lk__answer_read(&lk__cell_read_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__CELL_READ_UNSET)
        return LK_EUNSET;
    op->result.version = (uint64_t)a.value.version;
    return value_take(op, &a.value.value);
}

static lk_status write_take(operation *op, const redisReply *reply)
{
    lk__cell_write_answer a;

    if (lk__answer_read(&lk__cell_write_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__CELL_WRITE_OTHER)
        return refused(op, "the version is ", a.other.version);
    op->result.fenced = a.kind == LK__CELL_WRITE_FENCED;
    if (op->result.fenced)
        return refused(op, "a newer holder has written, of the fence ",
                       a.fenced.fence);
    if (a.kind == LK__CELL_WRITE_UNHELD)
        return LK_ELOST;
    op->result.version = (uint64_t)a.written.version;
    return LK_OK;
}

static lk_status delete_take(operation *op, const redisReply *reply)
{
    lk__cell_delete_answer a;

    if (lk__answer_read(&lk__cell_delete_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__CELL_DELETE_OTHER)
        return refused(op, "the version is ", a.other.version);
    return a.kind == LK__CELL_DELETE_UNSET ? LK_EUNSET : LK_OK;
}

static lk_status answer_take(operation *op, const redisReply *reply)
{
    if (op->ask.script == lk__cell_read.script)
        return read_take(op, reply);
    return op->ask.script == lk__cell_write.script ? write_take(op, reply)
                                                   : delete_take(op, reply);
}

/* One that was sent once and answered cannot be met again. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    operation *op = (operation *)(void *)ask;
    lk_status status = answer_take(op, reply);

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

enum { NUMBER_SIZE = 24 };

/* The texts that a question refers to until it is copied. */
typedef struct texts {
    char id[LK__NUMBERED_SIZE], expected[NUMBER_SIZE];
} texts;

static void texts_write(texts *t, const operation *op, const lk__place *place,
                        const lk__cell_order *order)
{
    lk__numbered_write(t->id, place->client->id, op->number);
    t->expected[0] = '\0';
    if (order->version != LK_CELL_ANY)
        snprintf(t->expected, sizeof(t->expected), "%" PRIu64, order->version);
}

/* The key of the guard comes last. Without one it is the cell's, so that the script
   has all of its keys. */
static void write_fill(lk__question *q, const texts *t, lk__place *place,
                       const lk__cell_order *order)
{
    const lk__cell_write_args args = {
        .op = lk__text_of(t->id),
        .expected = lk__text_of(t->expected),
        .ttl = (int64_t)order->ttl_ms,
        .settled = lk__text_of(lk__settled_text(place)),
        .fence = (int64_t)order->fence,
        .field = lk__text_of(order->field),
        .value = {order->bytes != NULL ? order->bytes : "", order->size},
    };

    lk__family_fill(q, place, &lk__cell_write, LK__CELL_WRITE_WHOLE - 1, &args);
    if (order->lock != NULL)
        lk__family_key(q, order->lock, LK__KEY_NAME);
    else
        lk__family_key(q, place, LK__CELL_KEY_CELL);
}

static void delete_fill(lk__question *q, const texts *t, lk__place *place)
{
    const lk__cell_delete_args args = {
        .op = lk__text_of(t->id),
        .expected = lk__text_of(t->expected),
        .settled = lk__text_of(lk__settled_text(place)),
    };

    lk__family_fill(q, place, &lk__cell_delete, LK__CELL_DELETE_WHOLE, &args);
}

static lk_status
question(operation *op, lk__place *place, const lk__cell_order *order)
{
    lk__question *q = lk__family_begin(place, order->what, 0);
    texts t;

    if (q == NULL)
        return LK_ENOMEM;
    texts_write(&t, op, place, order);
    if (order->what == &lk__cell_read)
        lk__family_fill(q, place, order->what, LK__CELL_READ_WHOLE, NULL);
    else if (order->what == &lk__cell_write)
        write_fill(q, &t, place, order);
    else
        delete_fill(q, &t, place);
    return lk__ask_question(&op->ask, q);
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
    op->ask.reads = order->what == &lk__cell_read;
    op->ask.repeats = !op->ask.reads;
    op->ask.doubt = LK_EPENDING; /* said again it would be of another version */
    if (op->ask.repeats)
        op->number = ++place->client->work->last_claim_number;
    if (question(op, place, order) != LK_OK) {
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
