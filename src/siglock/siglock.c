/* SPDX-License-Identifier: MIT */

/*
 * The siglock: the keys and the signal of python-redis-lock. What it needs of
 * them is in its scripts; signals of `claims/` do the waiting.
 */

#include <latchkey/siglock.h>

#include "base/error.h"
#include "base/names.h"
#include "base/slot.h"
#include "claims/wait.h"
#include "claims/work.h"
#include "handle/handle.h"
#include "siglock/protocol.h"
#include "siglock_table.h"

static const lk__kind kind = {
    .word = "siglock",
    .family = "siglock",
    .mode = "x",
    .protocol = &lk__protocol_siglock,
    .fenceless = true,
    .signals = true,
    .meet = lk__wait_reenter,
    .key_count = LK__SIGLOCK_KEYS,
    .keys = lk__siglock_keys,
    .channel = "",
};

struct lk_siglock {
    lk__handle handle; /* first */
    lk_siglock_options options;
};

static const lk__handle *handle_of(const lk_siglock *siglock)
{
    return (const lk__handle *)(const void *)siglock;
}

/* Its keys are python-redis-lock's, and lie in one slot by a tag of the name alone. */
static lk_status slots_check(const lk__place *place)
{
    char lock[LK__KEY_SIZE], voided[LK__KEY_SIZE];

    if (place->client->work->cluster == NULL ||
        lk__keys_share_slot(lk__place_key(place, LK__SIGLOCK_KEY_LOCK, lock),
                            lk__place_key(place, LK__SIGLOCK_KEY_VOID, voided)))
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "in a cluster the keys of this siglock would be at several "
                    "masters: give its name a tag, as in '{%.64s}'",
                    place->name);
}

lk_status lk_siglock_new(lk_siglock **ret_siglock, lk_client *client,
                         const char *name, const lk_siglock_options *options)
{
    lk_siglock_options copy;
    lk__handle *handle;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);

    if (ret_siglock == NULL)
        return lk__fail(LK_EINVAL, "ret_siglock is NULL");
    if (status == LK_OK && copy.lease_ms != 0)
        status = lk__lease_check(copy.lease_ms);
    if (status == LK_OK)
        status =
            lk__handle_new(&handle, sizeof(lk_siglock), client, &kind, name);
    if (status != LK_OK)
        return status;
    status = slots_check(handle->place);
    if (status != LK_OK) {
        lk__handle_free(handle);
        return status;
    }
    *ret_siglock = (lk_siglock *)(void *)handle;
    (*ret_siglock)->options = copy;
    return LK_OK;
}

void lk_siglock_free(lk_siglock *siglock)
{
    lk__handle_free((lk__handle *)(void *)siglock);
}

/* ---- acquire ----------------------------------------------------------------- */

/* Of a handle that was checked. */
static lk__wish wish_of(const lk_siglock *siglock, int64_t wait_ms,
                        const lk_acquire_options *options)
{
    lk__wish wish = {.place = siglock->handle.place,
                     .wait_ms = wait_ms,
                     .default_lease_ms = siglock->options.lease_ms,
                     .options = options,
                     .line = LK__LINE_COMMON};

    return wish;
}

lk_status lk_siglock_acquire(lk_siglock *siglock, int64_t wait_ms,
                             const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    lk_status status = lk__handle_check(handle_of(siglock), ret_hold);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(siglock, wait_ms, options);
    return lk__wait_acquire(&wish, ret_hold);
}

lk_status lk_siglock_acquire_async(lk_siglock *siglock, int64_t wait_ms,
                                   const lk_acquire_options *options,
                                   lk_acquire_cb cb, void *data)
{
    lk_status status = lk__handle_check(handle_of(siglock), siglock);
    lk__wish wish;

    if (status != LK_OK)
        return status;
    wish = wish_of(siglock, wait_ms, options);
    return lk__wait_acquire_async(&wish, cb, data);
}

lk_status lk_siglock_import(lk_siglock *siglock, const char *text,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold)
{
    return lk__handle_import(handle_of(siglock), text, options, ret_hold);
}

lk_status lk_siglock_run(lk_siglock *siglock, int64_t wait_ms,
                         const lk_acquire_options *options, lk_run_fn fn,
                         void *data)
{
    lk_hold *hold;
    lk_status status;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = lk_siglock_acquire(siglock, wait_ms, options, &hold);
    return status != LK_OK ? status : lk__handle_run(hold, fn, data);
}

/* ---- operators ---------------------------------------------------------------- */

lk_status
lk_siglock_revoke(lk_siglock *siglock, const char *owner, int64_t *ret_left_ms)
{
    return lk__handle_revoke(handle_of(siglock), owner, ret_left_ms);
}

lk_status lk_siglock_revoke_async(lk_siglock *siglock, const char *owner,
                                  lk_revoke_cb cb, void *data)
{
    return lk__handle_revoke_async(handle_of(siglock), owner, cb, data);
}

lk_status lk_siglock_force_release(lk_siglock *siglock)
{
    return lk__handle_force(handle_of(siglock), NULL);
}

lk_status
lk_siglock_force_release_async(lk_siglock *siglock, lk_done_cb cb, void *data)
{
    return lk__handle_force_async(handle_of(siglock), NULL, cb, data);
}

lk_status lk_siglock_is_locked(lk_siglock *siglock, bool *ret_locked)
{
    return lk__handle_exists(handle_of(siglock), ret_locked);
}

lk_status lk_siglock_is_locked_async(lk_siglock *siglock,
                                     lk_siglock_is_locked_cb cb, void *data)
{
    return lk__handle_exists_async(handle_of(siglock), cb, data);
}

lk_status lk_siglock_info(lk_siglock *siglock, lk_info **ret_info)
{
    return lk__handle_info(handle_of(siglock), ret_info);
}

lk_status lk_siglock_info_async(lk_siglock *siglock, lk_info_cb cb, void *data)
{
    return lk__handle_info_async(handle_of(siglock), cb, data);
}
