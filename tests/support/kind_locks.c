/* SPDX-License-Identifier: MIT */
#include "support/kind_inside.h"

MADE_BY_DEFAULT(lock)
MADE_BY_DEFAULT(fairlock)
MADE_BY_DEFAULT(leader)
MADE_BY_DEFAULT(rwlock)
MADE_BY_DEFAULT(siglock)
SAME_AS_A_LOCK(lock)
SAME_AS_A_LOCK(fairlock)
SAME_AS_A_LOCK(rwlock)
SAME_AS_A_LOCK(siglock)
FORCED_ALIKE(lock)
FORCED_ALIKE(fairlock)
FORCED_ALIKE(rwlock)
FORCED_ALIKE(siglock)
ACQUIRED_BY(lock_acquire)
ACQUIRED_BY(fairlock_acquire)
ACQUIRED_BY(rwlock_acquire_read)
ACQUIRED_BY(rwlock_acquire_upgradeable)
ACQUIRED_BY(rwlock_acquire_write)
ACQUIRED_BY(siglock_acquire)
ACQUIRED_BY(leader_campaign)
ASKED_BY(lock, is_locked, bool)
ASKED_BY(fairlock, is_locked, bool)
ASKED_BY(siglock, is_locked, bool)
ASKED_BY(rwlock, state_get, lk_rwlock_state)
RUN_BY(lock_run)
RUN_BY(fairlock_run)
RUN_BY(siglock_run)
RUN_BY(rwlock_run_read)
RUN_BY(rwlock_run_write)

static lk_status
spinlock_make(void **ret_handle, const kind_site *site, const char *name)
{
    const lk_lock_options spins = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};

    *ret_handle = NULL;
    return lk_lock_new((lk_lock **)ret_handle, site->clients[0], name, &spins);
}

static lk_status leader_resign(void *handle, lk_hold *hold)
{
    return lk_leader_resign(handle, hold);
}

static lk_status
leader_resign_async(void *handle, lk_hold *hold, lk_done_cb cb, void *data)
{
    return lk_leader_resign_async(handle, hold, cb, data);
}

static lk_status leader_info(void *handle, lk_info **ret_info)
{
    return lk_leader_get(handle, ret_info);
}

static lk_status leader_info_async(void *handle, lk_info_cb cb, void *data)
{
    return lk_leader_get_async(handle, cb, data);
}

/* ---- the rows -------------------------------------------------------------------- */

const kind kind_lock = {.word = "lock",
                        .history = HISTORY_LOCK,
                        .servers = 1,
                        .room = 1,
                        .has_hold = true,
                        .reenters = true,
                        .is_fenced = true,
                        .is_queued = true,
                        .key = "n",
                        .make = lock_make,
                        MADE(lock, lease_ms),
                        .run = lock_run,
                        ACQUIRED(lock_acquire),
                        RELEASED,
                        ASKED(lock),
                        OPERATED(lock)};

const kind kind_spinlock = {.word = "spinlock",
                            .history = HISTORY_LOCK,
                            .servers = 1,
                            .room = 1,
                            .has_hold = true,
                            .reenters = true,
                            .is_fenced = true,
                            .key = "n",
                            .make = spinlock_make,
                            MADE(lock, lease_ms),
                            .run = lock_run,
                            ACQUIRED(lock_acquire),
                            RELEASED,
                            ASKED(lock),
                            OPERATED(lock)};

const kind kind_fairlock = {.word = "fairlock",
                            .history = HISTORY_FAIRLOCK,
                            .servers = 1,
                            .room = 1,
                            .has_hold = true,
                            .reenters = true,
                            .is_fair = true,
                            .is_fenced = true,
                            .is_queued = true,
                            .key = "n",
                            .make = fairlock_make,
                            MADE(fairlock, lease_ms),
                            .run = fairlock_run,
                            ACQUIRED(fairlock_acquire),
                            RELEASED,
                            ASKED(fairlock),
                            OPERATED(fairlock)};

const kind kind_leader = {.word = "leader",
                          .history = HISTORY_LEADER,
                          .servers = 1,
                          .room = 1,
                          .has_hold = true,
                          .reenters = true,
                          .is_fenced = true,
                          .is_queued = true,
                          .key = "n",
                          .make = leader_make,
                          MADE(leader, lease_ms),
                          .acquire = leader_campaign,
                          .acquire_async = leader_campaign_async,
                          .release = leader_resign,
                          .release_async = leader_resign_async,
                          .shut = leader_campaign,
                          .open = leader_resign,
                          .open_async = leader_resign_async,
                          .info = leader_info,
                          .info_async = leader_info_async};

const kind kind_read = {.word = "read",
                        .history = HISTORY_RWLOCK,
                        .mode = HISTORY_READ,
                        .servers = 1,
                        .has_hold = true,
                        .reenters = true,
                        .is_queued = true,
                        .key = "n",
                        .make = rwlock_make,
                        MADE(rwlock, lease_ms),
                        .run = rwlock_run_read,
                        SHARED(rwlock_acquire_read),
                        RELEASED,
                        ASKED(rwlock),
                        OPERATED(rwlock)};

const kind kind_upgradeable = {.word = "upgradeable",
                               .history = HISTORY_RWLOCK,
                               .mode = HISTORY_UPGRADEABLE,
                               .servers = 1,
                               .room = 1,
                               .has_hold = true,
                               .reenters = true,
                               .is_queued = true,
                               .key = "n",
                               .make = rwlock_make,
                               MADE(rwlock, lease_ms),
                               SHARED(rwlock_acquire_upgradeable),
                               RELEASED,
                               ASKED(rwlock),
                               OPERATED(rwlock)};

const kind kind_write = {.word = "write",
                         .history = HISTORY_RWLOCK,
                         .mode = HISTORY_WRITER,
                         .servers = 1,
                         .room = 1,
                         .has_hold = true,
                         .reenters = true,
                         .is_fenced = true,
                         .is_queued = true,
                         .key = "n",
                         .make = rwlock_make,
                         MADE(rwlock, lease_ms),
                         .run = rwlock_run_write,
                         ACQUIRED(rwlock_acquire_write),
                         RELEASED,
                         ASKED(rwlock),
                         OPERATED(rwlock)};

const kind kind_siglock = {.word = "siglock",
                           .history = HISTORY_SIGLOCK,
                           .servers = 1,
                           .room = 1,
                           .has_hold = true,
                           .key = "lock:n",
                           .make = siglock_make,
                           MADE(siglock, lease_ms),
                           .run = siglock_run,
                           ACQUIRED(siglock_acquire),
                           RELEASED,
                           ASKED(siglock),
                           OPERATED(siglock)};
