/* SPDX-License-Identifier: MIT */

/*
 * The bare counter: Redisson's number `N`, and beside it who waits and which
 * changes were made. What is acquired is not held: nobody remembers who has
 * it, once it was acquired for certain.
 */

#include <latchkey/plain_semaphore.h>

#include "base/error.h"
#include "base/names.h"
#include "claims/settled.h"
#include "engine/client.h"
#include "handle/handle.h"
#include "plain_semaphore/change.h"
#include "plain_semaphore/protocol.h"
#include "plain_semaphore_table.h"

static void on_granted(lk__place *place, const lk__claim *claim);

/* The last key is looked at only: whether these permits are leased. */
static const lk__kind kind = {
    .word = "plain semaphore",
    .family = "plain",
    .mode = "c",
    .protocol = &lk__protocol_plain,
    .counts = true,
    .holdless = true,
    .key_count = LK__PLAIN_SEMAPHORE_KEYS,
    .keys = lk__plain_semaphore_keys,
    .channel = "redisson_sc",
    .granted = on_granted,
    .own_free = lk__settled_free,
};

struct lk_plain_semaphore {
    lk__handle handle; /* first */
};

static const lk__handle *handle_of(const lk_plain_semaphore *semaphore)
{
    return (const lk__handle *)(const void *)semaphore;
}

lk_status lk_plain_semaphore_new(lk_plain_semaphore **ret_semaphore,
                                 lk_client *client, const char *name)
{
    lk__handle *handle;
    lk_status status;

    if (ret_semaphore == NULL)
        return lk__fail(LK_EINVAL, "ret_semaphore is NULL");
    status = lk__handle_new(&handle, sizeof(lk_plain_semaphore), client, &kind,
                            name);
    if (status == LK_OK)
        *ret_semaphore = (lk_plain_semaphore *)(void *)handle;
    return status;
}

void lk_plain_semaphore_free(lk_plain_semaphore *semaphore)
{
    lk__handle_free((lk__handle *)(void *)semaphore);
}

/* ---- acquire ----------------------------------------------------------------- */

/* Acquire is asked for again, too, but only a claim that was once in doubt. */
static void on_granted(lk__place *place, const lk__claim *claim)
{
    if (!claim->doubted)
        lk__settled_note(place, claim->entry.hash);
}

static lk_status count_check(uint64_t count)
{
    if (count == 0)
        return lk__fail(LK_EINVAL, "the count is 0");
    if (count > (uint64_t)LK_PLAIN_SEMAPHORE_MAX)
        return lk__fail(LK_ERANGE, "so many permits there cannot be");
    return LK_OK;
}

static lk_status wish_make(lk__wish *ret_wish,
                           const lk_plain_semaphore *semaphore, uint64_t count,
                           int64_t wait_ms, const lk_acquire_options *options)
{
    lk_status status = lk__handle_check(handle_of(semaphore), semaphore);

    if (status == LK_OK)
        status = count_check(count);
    if (status != LK_OK)
        return status;
    *ret_wish = (lk__wish){.place = semaphore->handle.place,
                           .wait_ms = wait_ms,
                           .options = options,
                           .line = LK__LINE_OWN,
                           .terms = {.need = count}};
    return LK_OK;
}

lk_status lk_plain_semaphore_acquire(lk_plain_semaphore *semaphore,
                                     uint64_t count, int64_t wait_ms,
                                     const lk_acquire_options *options)
{
    lk__wish wish;
    lk_status status = wish_make(&wish, semaphore, count, wait_ms, options);

    return status != LK_OK ? status : lk__wait_for(&wish);
}

lk_status lk_plain_semaphore_acquire_async(lk_plain_semaphore *semaphore,
                                           uint64_t count, int64_t wait_ms,
                                           const lk_acquire_options *options,
                                           lk_done_cb cb, void *data)
{
    lk__wish wish;
    lk_status status = wish_make(&wish, semaphore, count, wait_ms, options);

    return status != LK_OK ? status : lk__wait_for_async(&wish, cb, data);
}

/* ---- changes ------------------------------------------------------------------- */

/* ret_number: where the answer goes; NULL: there is none. */
static lk_status make(const lk_plain_semaphore *semaphore,
                      const lk__change *change, int64_t *ret_number)
{
    lk__place *place;
    lk_status status =
        lk__handle_enter(handle_of(semaphore), semaphore, &place);

    if (status != LK_OK)
        return status;
    status = lk__change_make(place, change, ret_number);
    lk__handle_leave(place);
    return status;
}

static lk_status make_async(const lk_plain_semaphore *semaphore,
                            const lk__change *change, lk_done_cb done,
                            lk_plain_semaphore_number_cb cb, void *data)
{
    lk_status status = lk__handle_enter_async(handle_of(semaphore),
                                              done != NULL || cb != NULL);

    if (status != LK_OK)
        return status;
    status =
        lk__change_make_async(semaphore->handle.place, change, done, cb, data);
    lk__handle_leave_async(handle_of(semaphore));
    return status;
}

static lk__change change_release(uint64_t count)
{
    return (lk__change){.what = 'a', .amount = (int64_t)count, .must = true};
}

lk_status
lk_plain_semaphore_release(lk_plain_semaphore *semaphore, uint64_t count)
{
    const lk__change change = change_release(count);
    lk_status status = count_check(count);

    return status != LK_OK ? status : make(semaphore, &change, NULL);
}

lk_status lk_plain_semaphore_release_async(lk_plain_semaphore *semaphore,
                                           uint64_t count, lk_done_cb cb,
                                           void *data)
{
    const lk__change change = change_release(count);
    lk_status status = count_check(count);

    return status != LK_OK ? status
                           : make_async(semaphore, &change, cb, NULL, data);
}

static lk_status set_check(uint64_t permits, uint64_t ttl_ms)
{
    if (permits > (uint64_t)LK_PLAIN_SEMAPHORE_MAX)
        return lk__fail(LK_ERANGE, "so many permits there cannot be");
    return ttl_ms == 0 ? LK_OK : lk__lease_check(ttl_ms);
}

static lk__change change_set(uint64_t permits, uint64_t ttl_ms)
{
    return (
        lk__change){.what = 's', .amount = (int64_t)permits, .ttl_ms = ttl_ms};
}

lk_status lk_plain_semaphore_try_set(lk_plain_semaphore *semaphore,
                                     uint64_t permits, uint64_t ttl_ms)
{
    const lk__change change = change_set(permits, ttl_ms);
    lk_status status = set_check(permits, ttl_ms);

    return status != LK_OK ? status : make(semaphore, &change, NULL);
}

lk_status lk_plain_semaphore_try_set_async(lk_plain_semaphore *semaphore,
                                           uint64_t permits, uint64_t ttl_ms,
                                           lk_done_cb cb, void *data)
{
    const lk__change change = change_set(permits, ttl_ms);
    lk_status status = set_check(permits, ttl_ms);

    return status != LK_OK ? status
                           : make_async(semaphore, &change, cb, NULL, data);
}

static lk_status add_check(int64_t permits)
{
    if (permits > LK_PLAIN_SEMAPHORE_MAX || permits < -LK_PLAIN_SEMAPHORE_MAX)
        return lk__fail(LK_ERANGE, "so many permits there cannot be");
    return LK_OK;
}

lk_status lk_plain_semaphore_add(lk_plain_semaphore *semaphore, int64_t permits)
{
    const lk__change change = {.what = 'a', .amount = permits};
    lk_status status = add_check(permits);

    return status != LK_OK ? status : make(semaphore, &change, NULL);
}

lk_status lk_plain_semaphore_add_async(lk_plain_semaphore *semaphore,
                                       int64_t permits, lk_done_cb cb,
                                       void *data)
{
    const lk__change change = {.what = 'a', .amount = permits};
    lk_status status = add_check(permits);

    return status != LK_OK ? status
                           : make_async(semaphore, &change, cb, NULL, data);
}

static const lk__change change_drain = {.what = 'd'};
static const lk__change change_delete = {.what = 'x'};
static const lk__change change_none = {.what = 'c'};

lk_status
lk_plain_semaphore_drain(lk_plain_semaphore *semaphore, int64_t *ret_taken)
{
    if (ret_taken == NULL)
        return lk__fail(LK_EINVAL, "ret_taken is NULL");
    return make(semaphore, &change_drain, ret_taken);
}

lk_status lk_plain_semaphore_drain_async(lk_plain_semaphore *semaphore,
                                         lk_plain_semaphore_number_cb cb,
                                         void *data)
{
    return make_async(semaphore, &change_drain, NULL, cb, data);
}

lk_status lk_plain_semaphore_delete(lk_plain_semaphore *semaphore)
{
    return make(semaphore, &change_delete, NULL);
}

lk_status lk_plain_semaphore_delete_async(lk_plain_semaphore *semaphore,
                                          lk_done_cb cb, void *data)
{
    return make_async(semaphore, &change_delete, cb, NULL, data);
}

/* ---- questions ------------------------------------------------------------------ */

lk_status
lk_plain_semaphore_count(lk_plain_semaphore *semaphore, int64_t *ret_free)
{
    if (ret_free == NULL)
        return lk__fail(LK_EINVAL, "ret_free is NULL");
    return make(semaphore, &change_none, ret_free);
}

lk_status lk_plain_semaphore_count_async(lk_plain_semaphore *semaphore,
                                         lk_plain_semaphore_number_cb cb,
                                         void *data)
{
    return make_async(semaphore, &change_none, NULL, cb, data);
}

lk_status
lk_plain_semaphore_info(lk_plain_semaphore *semaphore, lk_info **ret_info)
{
    return lk__handle_info(handle_of(semaphore), ret_info);
}

lk_status lk_plain_semaphore_info_async(lk_plain_semaphore *semaphore,
                                        lk_info_cb cb, void *data)
{
    return lk__handle_info_async(handle_of(semaphore), cb, data);
}
