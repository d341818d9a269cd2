/* SPDX-License-Identifier: MIT */
#include "support/thing.h"

const char *thing_word(thing_kind kind)
{
    static const char *const words[THING_KINDS] = {"lock", "fair lock",
                                                   "read-write lock",
                                                   "semaphore", "siglock"};

    return words[kind];
}

lk_status
thing_new(thing *t, thing_kind kind, lk_client *client, const char *name)
{
    static const lk_semaphore_options one = {LK_SEMAPHORE_OPTIONS_INIT,
                                             .permits = 1};

    *t = (thing){.kind = kind};
    switch (kind) {
    case THING_LOCK:
        return lk_lock_new((lk_lock **)&t->handle, client, name, NULL);
    case THING_FAIRLOCK:
        return lk_fairlock_new((lk_fairlock **)&t->handle, client, name, NULL);
    case THING_RWLOCK:
        return lk_rwlock_new((lk_rwlock **)&t->handle, client, name, NULL);
    case THING_SEMAPHORE:
        return lk_semaphore_new((lk_semaphore **)&t->handle, client, name,
                                &one);
    case THING_SIGLOCK:
        return lk_siglock_new((lk_siglock **)&t->handle, client, name, NULL);
    case THING_KINDS:
        break;
    }
    return LK_EINVAL;
}

void thing_free(thing *t)
{
    switch (t->kind) {
    case THING_LOCK:
        lk_lock_free(t->handle);
        break;
    case THING_FAIRLOCK:
        lk_fairlock_free(t->handle);
        break;
    case THING_RWLOCK:
        lk_rwlock_free(t->handle);
        break;
    case THING_SEMAPHORE:
        lk_semaphore_free(t->handle);
        break;
    case THING_SIGLOCK:
        lk_siglock_free(t->handle);
        break;
    case THING_KINDS:
        break;
    }
    t->handle = NULL;
}

lk_status thing_acquire(const thing *t, int64_t wait_ms,
                        const lk_acquire_options *options, lk_hold **ret_hold)
{
    switch (t->kind) {
    case THING_LOCK:
        return lk_lock_acquire(t->handle, wait_ms, options, ret_hold);
    case THING_FAIRLOCK:
        return lk_fairlock_acquire(t->handle, wait_ms, options, ret_hold);
    case THING_RWLOCK:
        return lk_rwlock_acquire_write(t->handle, wait_ms, options, ret_hold);
    case THING_SEMAPHORE:
        return lk_semaphore_acquire(t->handle, 1, wait_ms, options, ret_hold);
    case THING_SIGLOCK:
        return lk_siglock_acquire(t->handle, wait_ms, options, ret_hold);
    case THING_KINDS:
        break;
    }
    return LK_EINVAL;
}

lk_status thing_acquire_async(const thing *t, int64_t wait_ms,
                              const lk_acquire_options *options,
                              lk_acquire_cb cb, void *data)
{
    switch (t->kind) {
    case THING_LOCK:
        return lk_lock_acquire_async(t->handle, wait_ms, options, cb, data);
    case THING_FAIRLOCK:
        return lk_fairlock_acquire_async(t->handle, wait_ms, options, cb, data);
    case THING_RWLOCK:
        return lk_rwlock_acquire_write_async(t->handle, wait_ms, options, cb,
                                             data);
    case THING_SEMAPHORE:
        return lk_semaphore_acquire_async(t->handle, 1, wait_ms, options, cb,
                                          data);
    case THING_SIGLOCK:
        return lk_siglock_acquire_async(t->handle, wait_ms, options, cb, data);
    case THING_KINDS:
        break;
    }
    return LK_EINVAL;
}

lk_status thing_import(const thing *t, const char *text, lk_hold **ret_hold)
{
    switch (t->kind) {
    case THING_LOCK:
        return lk_lock_import(t->handle, text, NULL, ret_hold);
    case THING_FAIRLOCK:
        return lk_fairlock_import(t->handle, text, NULL, ret_hold);
    case THING_RWLOCK:
        return lk_rwlock_import(t->handle, text, NULL, ret_hold);
    case THING_SEMAPHORE:
        return lk_semaphore_import(t->handle, text, NULL, ret_hold);
    case THING_SIGLOCK:
        return lk_siglock_import(t->handle, text, NULL, ret_hold);
    case THING_KINDS:
        break;
    }
    return LK_EINVAL;
}

lk_status thing_info(const thing *t, lk_info **ret_info)
{
    switch (t->kind) {
    case THING_LOCK:
        return lk_lock_info(t->handle, ret_info);
    case THING_FAIRLOCK:
        return lk_fairlock_info(t->handle, ret_info);
    case THING_RWLOCK:
        return lk_rwlock_info(t->handle, ret_info);
    case THING_SEMAPHORE:
        return lk_semaphore_info(t->handle, ret_info);
    case THING_SIGLOCK:
        return lk_siglock_info(t->handle, ret_info);
    case THING_KINDS:
        break;
    }
    return LK_EINVAL;
}

lk_status thing_revoke(const thing *t, const char *owner, int64_t *ret_left_ms)
{
    switch (t->kind) {
    case THING_LOCK:
        return lk_lock_revoke(t->handle, owner, ret_left_ms);
    case THING_FAIRLOCK:
        return lk_fairlock_revoke(t->handle, owner, ret_left_ms);
    case THING_RWLOCK:
        return lk_rwlock_revoke(t->handle, owner, ret_left_ms);
    case THING_SEMAPHORE:
        return lk_semaphore_revoke(t->handle, owner, ret_left_ms);
    case THING_SIGLOCK:
        return lk_siglock_revoke(t->handle, owner, ret_left_ms);
    case THING_KINDS:
        break;
    }
    return LK_EINVAL;
}

lk_status thing_force(const thing *t, const char *owner)
{
    switch (t->kind) {
    case THING_LOCK:
        return lk_lock_force_release(t->handle);
    case THING_FAIRLOCK:
        return lk_fairlock_force_release(t->handle);
    case THING_RWLOCK:
        return lk_rwlock_force_release(t->handle);
    case THING_SEMAPHORE:
        return lk_semaphore_force_release(t->handle, owner);
    case THING_SIGLOCK:
        return lk_siglock_force_release(t->handle);
    case THING_KINDS:
        break;
    }
    return LK_EINVAL;
}
