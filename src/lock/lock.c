/* SPDX-License-Identifier: MIT */

/*
 * The lock: Redisson's hash `N` with one field, the owner's, and beside it
 * what Latchkey's clients need of each other. Everything but the choice of
 * scripts is core's; see core/place.h for the keys.
 */

#include <latchkey/lock.h>

#include "core/error.h"
#include "core/info.h"
#include "core/mem.h"
#include "core/names.h"
#include "core/operate.h"
#include "core/place.h"
#include "core/script.h"
#include "core/transfer.h"

extern const lk__script lk__script_lock_acquire;
extern const lk__script lk__script_lock_recheck;
extern const lk__script lk__script_lock_confirm;
extern const lk__script lk__script_lock_renew;
extern const lk__script lk__script_lock_release;
extern const lk__script lk__script_lock_leave;
extern const lk__script lk__script_lock_pass;
extern const lk__script lk__script_lock_force;
extern const lk__script lk__script_lock_info;

static const lk__kind lock_kind = {
    .word = "lock",
    .passes = true,
    .acquire = &lk__script_lock_acquire,
    .recheck = &lk__script_lock_recheck,
    .confirm = &lk__script_lock_confirm,
    .renew = &lk__script_lock_renew,
    .release = &lk__script_lock_release,
    .leave = &lk__script_lock_leave,
    .pass = &lk__script_lock_pass,
    .force = &lk__script_lock_force,
    .info = &lk__script_lock_info,
};

struct lk_lock {
    lk__place *place;
    lk_lock_options options;
};

/* ---- new and free ------------------------------------------------------------ */

static lk_status lock_check(const lk_lock *lock, const void *ret)
{
    if (lock == NULL)
        return lk__fail(LK_EINVAL, "the lock is NULL");
    if (ret == NULL)
        return lk__fail(LK_EINVAL, "there is no place for the result");
    return lk__client_check(lock->place->client);
}

static lk_status options_take(lk_lock *lock, const lk_lock_options *options)
{
    lk_status status = lk__options_copy(&lock->options, sizeof(lock->options),
                                        options, sizeof(lk_lock_options));

    if (status != LK_OK)
        return lk__fail(status, "the lock options have a bad size, or a field "
                                "that this release does not know");
    return lock->options.lease_ms == 0
               ? LK_OK
               : lk__lease_check(lock->options.lease_ms);
}

lk_status lk_lock_new(lk_lock **ret_lock, lk_client *client, const char *name,
                      const lk_lock_options *options)
{
    lk_lock *lock;
    lk_status status = lk__name_check(name);

    if (ret_lock == NULL)
        return lk__fail(LK_EINVAL, "ret_lock is NULL");
    if (status == LK_OK)
        status = lk__client_enter(client);
    if (status != LK_OK)
        return status;

    lock = lk__alloc(sizeof(*lock));
    status = lock == NULL ? LK_ENOMEM : options_take(lock, options);
    if (status == LK_OK) {
        lock->place = lk__place_get(client, &lock_kind, name);
        status = lock->place == NULL ? LK_ENOMEM : LK_OK;
    }
    lk__client_leave(client);
    if (status != LK_OK) {
        lk__free(lock);
        return status;
    }
    lk__client_ref(client);
    *ret_lock = lock;
    return LK_OK;
}

void lk_lock_free(lk_lock *lock)
{
    lk_client *client;

    if (lock == NULL || lk__client_check(lock->place->client) != LK_OK)
        return;
    client = lock->place->client;
    lk__client_lock(client);
    lk__place_unref(lock->place);
    lk__client_leave(client);
    lk__free(lock);
    lk__client_unref(client);
}

/* ---- acquire ----------------------------------------------------------------- */

static lk__wish
wish_of(const lk_lock *lock, int64_t wait_ms, const lk_acquire_options *options)
{
    lk__wish wish = {lock->place, wait_ms, lock->options.lease_ms, options};

    return wish;
}

lk_status lk_lock_acquire(lk_lock *lock, int64_t wait_ms,
                          const lk_acquire_options *options, lk_hold **ret_hold)
{
    lk_status status = lock_check(lock, ret_hold);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(lock, wait_ms, options);
    return lk__wait_acquire(&wish, ret_hold);
}

lk_status lk_lock_acquire_async(lk_lock *lock, int64_t wait_ms,
                                const lk_acquire_options *options,
                                lk_acquire_cb cb, void *data)
{
    lk_status status = lock_check(lock, lock);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(lock, wait_ms, options);
    return lk__wait_acquire_async(&wish, cb, data);
}

lk_status lk_lock_import(lk_lock *lock, const char *text,
                         const lk_acquire_options *options, lk_hold **ret_hold)
{
    lk_status status = lock_check(lock, ret_hold);

    if (status != LK_OK)
        return status;
    return lk__import(lock->place, text, options, ret_hold);
}

/* What fn did under a hold that was lost, it did without protection. */
lk_status lk_lock_run(lk_lock *lock, int64_t wait_ms,
                      const lk_acquire_options *options, lk_run_fn fn,
                      void *data)
{
    lk_hold *hold;
    lk_status status, released;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = lk_lock_acquire(lock, wait_ms, options, &hold);
    if (status != LK_OK)
        return status;
    status = fn(hold, data);
    released = lk_hold_release(hold);
    return released == LK_ELOST || released == LK_ECLOSED ? LK_ELOST : status;
}

/* ---- operators ---------------------------------------------------------------- */

/* Enters the monitor of a lock, for a blocking call or with a callback. */
static lk_status lock_enter(lk_lock *lock, bool blocking, bool has_cb)
{
    lk_status status = lock_check(lock, lock);

    if (status != LK_OK)
        return status;
    if (blocking)
        return lk__client_enter_blocking(lock->place->client);
    if (!has_cb)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    return lk__client_enter(lock->place->client);
}

lk_status lk_lock_force_release(lk_lock *lock)
{
    lk_status status = lock_enter(lock, true, false);

    if (status != LK_OK)
        return status;
    status = lk__force(lock->place);
    lk__client_leave(lock->place->client);
    return status;
}

lk_status lk_lock_force_release_async(lk_lock *lock, lk_done_cb cb, void *data)
{
    lk_status status = lock_enter(lock, false, cb != NULL);

    if (status != LK_OK)
        return status;
    status = lk__force_async(lock->place, cb, data);
    lk__client_leave(lock->place->client);
    return status;
}

lk_status lk_lock_is_locked(lk_lock *lock, bool *ret_locked)
{
    lk_status status = ret_locked == NULL
                           ? lk__fail(LK_EINVAL, "ret_locked is NULL")
                           : lock_enter(lock, true, false);

    if (status != LK_OK)
        return status;
    status = lk__exists(lock->place, ret_locked);
    lk__client_leave(lock->place->client);
    return status;
}

lk_status
lk_lock_is_locked_async(lk_lock *lock, lk_lock_is_locked_cb cb, void *data)
{
    lk_status status = lock_enter(lock, false, cb != NULL);

    if (status != LK_OK)
        return status;
    status = lk__exists_async(lock->place, cb, data);
    lk__client_leave(lock->place->client);
    return status;
}

lk_status lk_lock_info(lk_lock *lock, lk_info **ret_info)
{
    lk_status status = ret_info == NULL
                           ? lk__fail(LK_EINVAL, "ret_info is NULL")
                           : lock_enter(lock, true, false);

    if (status != LK_OK)
        return status;
    status = lk__info_ask(lock->place, ret_info);
    lk__client_leave(lock->place->client);
    return status;
}

lk_status lk_lock_info_async(lk_lock *lock, lk_info_cb cb, void *data)
{
    lk_status status = lock_enter(lock, false, cb != NULL);

    if (status != LK_OK)
        return status;
    status = lk__info_ask_async(lock->place, cb, data);
    lk__client_leave(lock->place->client);
    return status;
}
