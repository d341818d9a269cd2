/* SPDX-License-Identifier: MIT */

/* The public functions of each primitive, behind one form. */

#include "play/art.h"

/* ---- lock -------------------------------------------------------------------- */

static lk_status lock_make(void **ret_handle, lk_client *client,
                           const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_lock_new((lk_lock **)ret_handle, client, name, NULL);
}

static lk_status spinlock_make(void **ret_handle, lk_client *client,
                               const char *name, const sim_plan *plan)
{
    lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};

    (void)plan;
    return lk_lock_new((lk_lock **)ret_handle, client, name, &options);
}

static void lock_free(void *handle)
{
    lk_lock_free(handle);
}

static lk_status lock_acquire(void *handle, const sim_want *want,
                              const lk_acquire_options *options,
                              lk_acquire_cb cb, void *data)
{
    return lk_lock_acquire_async(handle, want->wait_ms, options, cb, data);
}

static lk_status lock_import(void *handle, const char *text,
                             const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    return lk_lock_import(handle, text, options, ret_hold);
}

static lk_status
lock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_lock_revoke_async(handle, owner, cb, data);
}

static lk_status lock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_lock_force_release_async(handle, cb, data);
}

/* ---- fair lock --------------------------------------------------------------- */

static lk_status fairlock_make(void **ret_handle, lk_client *client,
                               const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_fairlock_new((lk_fairlock **)ret_handle, client, name, NULL);
}

static void fairlock_free(void *handle)
{
    lk_fairlock_free(handle);
}

static lk_status fairlock_acquire(void *handle, const sim_want *want,
                                  const lk_acquire_options *options,
                                  lk_acquire_cb cb, void *data)
{
    return lk_fairlock_acquire_async(handle, want->wait_ms, options, cb, data);
}

static lk_status fairlock_import(void *handle, const char *text,
                                 const lk_acquire_options *options,
                                 lk_hold **ret_hold)
{
    return lk_fairlock_import(handle, text, options, ret_hold);
}

static lk_status
fairlock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_fairlock_revoke_async(handle, owner, cb, data);
}

static lk_status fairlock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_fairlock_force_release_async(handle, cb, data);
}

/* ---- election ----------------------------------------------------------------- */

static lk_status leader_make(void **ret_handle, lk_client *client,
                             const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_leader_new((lk_leader **)ret_handle, client, name, NULL);
}

static void leader_free(void *handle)
{
    lk_leader_free(handle);
}

static lk_status leader_acquire(void *handle, const sim_want *want,
                                const lk_acquire_options *options,
                                lk_acquire_cb cb, void *data)
{
    return lk_leader_campaign_async(handle, want->wait_ms, options, cb, data);
}

/* ---- read-write lock ---------------------------------------------------------- */

static lk_status rwlock_make(void **ret_handle, lk_client *client,
                             const char *name, const sim_plan *plan)
{
    lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                 .order = plan->seed % 3};

    return lk_rwlock_new((lk_rwlock **)ret_handle, client, name, &options);
}

static void rwlock_free(void *handle)
{
    lk_rwlock_free(handle);
}

static lk_status rwlock_acquire(void *handle, const sim_want *want,
                                const lk_acquire_options *options,
                                lk_acquire_cb cb, void *data)
{
    if (want->mode == SIM_READ)
        return lk_rwlock_acquire_read_async(handle, want->wait_ms, options, cb,
                                            data);
    if (want->mode == SIM_UPGRADEABLE)
        return lk_rwlock_acquire_upgradeable_async(handle, want->wait_ms,
                                                   options, cb, data);
    return lk_rwlock_acquire_write_async(handle, want->wait_ms, options, cb,
                                         data);
}

static lk_status rwlock_import(void *handle, const char *text,
                               const lk_acquire_options *options,
                               lk_hold **ret_hold)
{
    return lk_rwlock_import(handle, text, options, ret_hold);
}

static lk_status
rwlock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_rwlock_revoke_async(handle, owner, cb, data);
}

static lk_status rwlock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_rwlock_force_release_async(handle, cb, data);
}

/* ---- semaphore ----------------------------------------------------------------- */

static lk_status semaphore_make(void **ret_handle, lk_client *client,
                                const char *name, const sim_plan *plan)
{
    lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                    .permits = plan->permits};

    return lk_semaphore_new((lk_semaphore **)ret_handle, client, name,
                            &options);
}

static void semaphore_free(void *handle)
{
    lk_semaphore_free(handle);
}

static lk_status semaphore_acquire(void *handle, const sim_want *want,
                                   const lk_acquire_options *options,
                                   lk_acquire_cb cb, void *data)
{
    return lk_semaphore_acquire_async(handle, want->count, want->wait_ms,
                                      options, cb, data);
}

static lk_status semaphore_import(void *handle, const char *text,
                                  const lk_acquire_options *options,
                                  lk_hold **ret_hold)
{
    return lk_semaphore_import(handle, text, options, ret_hold);
}

static lk_status
semaphore_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_semaphore_revoke_async(handle, owner, cb, data);
}

static lk_status semaphore_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_semaphore_force_release_async(handle, NULL, cb, data);
}

/* ---- siglock ------------------------------------------------------------------- */

static lk_status siglock_make(void **ret_handle, lk_client *client,
                              const char *name, const sim_plan *plan)
{
    (void)plan;
    return lk_siglock_new((lk_siglock **)ret_handle, client, name, NULL);
}

static void siglock_free(void *handle)
{
    lk_siglock_free(handle);
}

static lk_status siglock_acquire(void *handle, const sim_want *want,
                                 const lk_acquire_options *options,
                                 lk_acquire_cb cb, void *data)
{
    return lk_siglock_acquire_async(handle, want->wait_ms, options, cb, data);
}

static lk_status siglock_import(void *handle, const char *text,
                                const lk_acquire_options *options,
                                lk_hold **ret_hold)
{
    return lk_siglock_import(handle, text, options, ret_hold);
}

static lk_status
siglock_revoke(void *handle, const char *owner, lk_revoke_cb cb, void *data)
{
    return lk_siglock_revoke_async(handle, owner, cb, data);
}

static lk_status siglock_force(void *handle, lk_done_cb cb, void *data)
{
    return lk_siglock_force_release_async(handle, cb, data);
}

/* -------------------------------------------------------------------------------- */

const sim_art sim_arts[SIM_PRIMITIVES] = {
    [SIM_LOCK] = {SIM_OF_LOCK, true, lock_make, lock_free, lock_acquire,
                  lock_import, lock_revoke, lock_force},
    [SIM_SPINLOCK] = {SIM_OF_LOCK, true, spinlock_make, lock_free, lock_acquire,
                      lock_import, lock_revoke, lock_force},
    [SIM_FAIRLOCK] = {SIM_OF_LOCK, true, fairlock_make, fairlock_free,
                      fairlock_acquire, fairlock_import, fairlock_revoke,
                      fairlock_force},
    [SIM_LEADER] = {SIM_OF_LOCK, true, leader_make, leader_free, leader_acquire,
                    NULL, NULL, NULL},
    [SIM_READ] = {SIM_OF_RWLOCK, false, rwlock_make, rwlock_free,
                  rwlock_acquire, rwlock_import, rwlock_revoke, rwlock_force},
    [SIM_UPGRADEABLE] = {SIM_OF_RWLOCK, false, rwlock_make, rwlock_free,
                         rwlock_acquire, rwlock_import, rwlock_revoke,
                         rwlock_force},
    [SIM_WRITE] = {SIM_OF_RWLOCK, true, rwlock_make, rwlock_free,
                   rwlock_acquire, rwlock_import, rwlock_revoke, rwlock_force},
    [SIM_SEMAPHORE] = {SIM_OF_SEMAPHORE, false, semaphore_make, semaphore_free,
                       semaphore_acquire, semaphore_import, semaphore_revoke,
                       semaphore_force},
    [SIM_SIGLOCK] = {SIM_OF_SIGLOCK, false, siglock_make, siglock_free,
                     siglock_acquire, siglock_import, siglock_revoke,
                     siglock_force},
};
