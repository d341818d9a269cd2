/* SPDX-License-Identifier: MIT */

/*
 * The latch: Redisson's count `N`, and beside it the record that tells unset,
 * armed and open apart. A wait is a claim that takes nothing, one for all waits
 * of a client; each wait has a mark of its own (judge.h). Everything else is
 * an operation (operation.h).
 */

#include <latchkey/latch.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "handle/handle.h"
#include "latch/judge.h"
#include "latch/operation.h"
#include "latch/protocol.h"
#include "latch_table.h"

static const lk__kind latch_kind = {
    .word = "latch",
    .has = "expects",
    .has_what = "",
    .family = "latch",
    .mode = "t",
    .protocol = &lk__protocol_latch,
    .holdless = true,
    .busy = "not open yet",
    .key_count = LK__LATCH_KEYS,
    .keys = lk__latch_keys,
    .channel = "redisson_countdownlatch__channel__{*}",
    .topic = ":n",
    .hear = lk__latch_hear,
    .judge = lk__latch_judge,
    .own_free = lk__free,
};

struct lk_latch {
    lk__handle handle; /* first */
    lk_latch_options options;
};

static const lk__handle *handle_of(const lk_latch *latch)
{
    return (const lk__handle *)(const void *)latch;
}

/* ---- new and free ------------------------------------------------------------ */

lk_status lk_latch_new(lk_latch **ret_latch, lk_client *client,
                       const char *name, const lk_latch_options *options)
{
    lk_latch_options copy;
    lk__handle *handle;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);

    if (ret_latch == NULL)
        return lk__fail(LK_EINVAL, "ret_latch is NULL");
    if (status == LK_OK && copy.ttl_ms > LK__TIME_MAX_MS)
        status = lk__fail(LK_EINVAL, "ttl_ms is longer than ten years");
    if (status == LK_OK)
        status = lk__handle_new(&handle, sizeof(lk_latch), client, &latch_kind,
                                name);
    if (status != LK_OK)
        return status;
    *ret_latch = (lk_latch *)(void *)handle;
    (*ret_latch)->options = copy;
    return LK_OK;
}

void lk_latch_free(lk_latch *latch)
{
    lk__handle_free((lk__handle *)(void *)latch);
}

/* ---- operations -------------------------------------------------------------- */

static lk__latch_order order_of(const lk_latch *latch, const lk__latch_act *act)
{
    lk__latch_order order = {.act = act, .handle = handle_of(latch)};

    if (latch != NULL)
        order.ttl_ms = latch->options.ttl_ms;
    return order;
}

static lk_status
order_count(lk_latch *latch, const lk__latch_act *act, uint64_t count)
{
    lk__latch_order order = order_of(latch, act);

    order.count = count;
    return lk__latch_operate(&order, NULL);
}

static lk_status order_count_async(lk_latch *latch, const lk__latch_act *act,
                                   uint64_t count, lk_done_cb cb, void *data)
{
    const lk__latch_end end = {.done = cb, .data = data};
    lk__latch_order order = order_of(latch, act);

    order.count = count;
    return lk__latch_operate_async(&order, &end);
}

lk_status lk_latch_try_set_count(lk_latch *latch, uint64_t count)
{
    return order_count(latch, &lk__latch_set, count);
}

lk_status lk_latch_try_set_count_async(lk_latch *latch, uint64_t count,
                                       lk_done_cb cb, void *data)
{
    return order_count_async(latch, &lk__latch_set, count, cb, data);
}

lk_status lk_latch_count_down(lk_latch *latch, uint64_t count)
{
    return order_count(latch, &lk__latch_down, count);
}

lk_status lk_latch_count_down_async(lk_latch *latch, uint64_t count,
                                    lk_done_cb cb, void *data)
{
    return order_count_async(latch, &lk__latch_down, count, cb, data);
}

lk_status lk_latch_reset(lk_latch *latch, uint64_t count)
{
    return order_count(latch, &lk__latch_reset, count);
}

lk_status
lk_latch_reset_async(lk_latch *latch, uint64_t count, lk_done_cb cb, void *data)
{
    return order_count_async(latch, &lk__latch_reset, count, cb, data);
}

lk_status
lk_latch_arrive(lk_latch *latch, uint64_t expected, const char *member)
{
    lk__latch_order order = order_of(latch, &lk__latch_arrive);

    order.count = expected;
    order.member = member;
    return lk__latch_operate(&order, NULL);
}

lk_status lk_latch_arrive_async(lk_latch *latch, uint64_t expected,
                                const char *member, lk_done_cb cb, void *data)
{
    const lk__latch_end end = {.done = cb, .data = data};
    lk__latch_order order = order_of(latch, &lk__latch_arrive);

    order.count = expected;
    order.member = member;
    return lk__latch_operate_async(&order, &end);
}

lk_status lk_latch_leave(lk_latch *latch, const char *member, bool *ret_open)
{
    lk__latch_order order = order_of(latch, &lk__latch_quit);
    uint64_t open;
    lk_status status;

    if (ret_open == NULL)
        return lk__fail(LK_EINVAL, "ret_open is NULL");
    order.member = member;
    status = lk__latch_operate(&order, &open);
    if (status == LK_OK)
        *ret_open = open == 1;
    return status;
}

lk_status lk_latch_leave_async(lk_latch *latch, const char *member,
                               lk_latch_leave_cb cb, void *data)
{
    const lk__latch_end end = {.left = cb, .data = data};
    lk__latch_order order = order_of(latch, &lk__latch_quit);

    order.member = member;
    return lk__latch_operate_async(&order, &end);
}

lk_status lk_latch_count(lk_latch *latch, uint64_t *ret_count)
{
    const lk__latch_order order = order_of(latch, &lk__latch_count);

    if (ret_count == NULL)
        return lk__fail(LK_EINVAL, "ret_count is NULL");
    return lk__latch_operate(&order, ret_count);
}

lk_status
lk_latch_count_async(lk_latch *latch, lk_latch_count_cb cb, void *data)
{
    const lk__latch_end end = {.counted = cb, .data = data};
    const lk__latch_order order = order_of(latch, &lk__latch_count);

    return lk__latch_operate_async(&order, &end);
}

lk_status lk_latch_delete(lk_latch *latch)
{
    const lk__latch_order order = order_of(latch, &lk__latch_delete);

    return lk__latch_operate(&order, NULL);
}

lk_status lk_latch_delete_async(lk_latch *latch, lk_done_cb cb, void *data)
{
    const lk__latch_end end = {.done = cb, .data = data};
    const lk__latch_order order = order_of(latch, &lk__latch_delete);

    return lk__latch_operate_async(&order, &end);
}

/* ---- waiting ----------------------------------------------------------------- */

/* Of a handle that was checked. */
static lk__wish wish_of(const lk_latch *latch, int64_t wait_ms,
                        const lk_acquire_options *options)
{
    lk__wish wish = {.place = latch->handle.place,
                     .wait_ms = wait_ms,
                     .options = options,
                     .line = LK__LINE_SHARED};

    return wish;
}

lk_status lk_latch_wait(lk_latch *latch, int64_t wait_ms,
                        const lk_acquire_options *options)
{
    lk_status status = lk__handle_check(handle_of(latch), latch);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(latch, wait_ms, options);
    return lk__wait_for(&wish);
}

lk_status lk_latch_wait_async(lk_latch *latch, int64_t wait_ms,
                              const lk_acquire_options *options, lk_done_cb cb,
                              void *data)
{
    lk_status status = lk__handle_check(handle_of(latch), latch);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(latch, wait_ms, options);
    return lk__wait_for_async(&wish, cb, data);
}

/* ---- operators ---------------------------------------------------------------- */

lk_status lk_latch_info(lk_latch *latch, lk_info **ret_info)
{
    return lk__handle_info(handle_of(latch), ret_info);
}

lk_status lk_latch_info_async(lk_latch *latch, lk_info_cb cb, void *data)
{
    return lk__handle_info_async(handle_of(latch), cb, data);
}
