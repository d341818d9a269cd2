/* SPDX-License-Identifier: MIT */

/* What programs do with locks and semaphores; see shortage_scene.h. */

#include "support/shortage_scene.h"

/* ---- the lock -------------------------------------------------------------------- */

void shortage_open_and_close(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_client_stats stats = {.size = sizeof(stats)};

    if (client == NULL)
        return;
    (void)shortage_good(s, "ready", lk_client_wait_ready(client, WAIT_MS));
    (void)shortage_good(s, "stats", lk_client_stats_get(client, &stats));
    shortage_close(s, client);
}

/* So often that its caller reads its answers itself. */
void shortage_lock_again_and_again(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_lock *lock = shortage_lock(s, client);

    for (int i = 0; i < 10; i++)
        shortage_give(s, shortage_take(s, lock));
    lk_lock_free(lock);
    shortage_close(s, client);
}

void shortage_lock_alone(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_lock *lock = shortage_lock(s, client);
    lk_hold *hold = shortage_take(s, lock);
    lk_hold *again = hold != NULL ? shortage_take(s, lock) : NULL;

    if (hold != NULL) {
        (void)shortage_good(s, "on lost",
                            lk_hold_on_lost(hold, 100, shortage_on_lost, s));
        (void)shortage_good(s, "extend", lk_hold_extend(hold, 5000));
        (void)shortage_good(s, "check", lk_hold_check(hold));
    }
    shortage_give(s, again);
    shortage_give(s, hold);
    lk_lock_free(lock);
    shortage_close(s, client);
}

void shortage_lock_handed_over(shortage *s)
{
    lk_client *one = shortage_open(s), *other = shortage_open(s);
    lk_lock *lock = shortage_lock(s, one), *wanted = shortage_lock(s, other);
    lk_hold *hold = shortage_take(s, lock);
    shortage_async a = {.s = s};

    if (wanted != NULL) {
        shortage_begin(&a, lk_lock_acquire_async(wanted, LONGER_MS, NULL,
                                                 shortage_on_acquire, &a));
        (void)shortage_good(s, "ready", lk_client_wait_ready(other, WAIT_MS));
    }
    shortage_give(s, hold);
    shortage_await(&a);
    shortage_give(s, atomic_load(&a.hold));
    lk_lock_free(wanted);
    lk_lock_free(lock);
    shortage_close(s, other);
    shortage_close(s, one);
}

void shortage_lock_passed_on(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_lock *lock = shortage_lock(s, client);
    lk_owner *owner = NULL;
    lk_hold *hold = shortage_take(s, lock);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    shortage_async a = {.s = s};

    if (lock != NULL &&
        shortage_good(s, "owner", lk_owner_new(&owner, client))) {
        options.owner = owner;
        shortage_begin(&a, lk_lock_acquire_async(lock, WAIT_MS, &options,
                                                 shortage_on_acquire, &a));
    }
    shortage_give(s, hold);
    shortage_await(&a);
    shortage_give(s, atomic_load(&a.hold));
    lk_owner_free(owner);
    lk_lock_free(lock);
    shortage_close(s, client);
}

void shortage_lock_canceled(shortage *s)
{
    lk_client *one = shortage_open(s), *other = shortage_open(s);
    lk_lock *lock = shortage_lock(s, one), *wanted = shortage_lock(s, other);
    lk_hold *hold = shortage_take(s, lock);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    shortage_async a = {.s = s};

    if (wanted != NULL &&
        shortage_good(s, "cancel", lk_cancel_new(&cancel, other))) {
        options.cancel = cancel;
        shortage_begin(&a, lk_lock_acquire_async(wanted, LONGER_MS, &options,
                                                 shortage_on_acquire, &a));
        lk_cancel_fire(cancel);
    }
    shortage_await(&a);
    shortage_give(s, atomic_load(&a.hold));
    shortage_give(s, hold);
    lk_cancel_free(cancel);
    lk_lock_free(wanted);
    lk_lock_free(lock);
    shortage_close(s, other);
    shortage_close(s, one);
}

void shortage_lock_exported(shortage *s)
{
    lk_client *one = shortage_open(s), *other = shortage_open(s);
    lk_lock *lock = shortage_lock(s, one), *wanted = shortage_lock(s, other);
    lk_hold *hold = shortage_take(s, lock), *taken = NULL;
    char text[LK_EXPORT_SIZE];

    if (hold != NULL && wanted != NULL &&
        shortage_good(s, "export", lk_hold_export(hold, text, sizeof(text)))) {
        hold = NULL;
        (void)shortage_held(s, "import",
                            lk_lock_import(wanted, text, NULL, &taken), &taken);
    }
    shortage_give(s, hold);
    shortage_give(s, taken);
    lk_lock_free(wanted);
    lk_lock_free(lock);
    shortage_close(s, other);
    shortage_close(s, one);
}

void shortage_lock_operated(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_lock *lock = shortage_lock(s, client);
    lk_hold *hold = shortage_take(s, lock);
    lk_info *info = NULL;
    bool is_locked;
    shortage_async a = {.s = s};

    if (lock != NULL) {
        (void)shortage_good(s, "is locked",
                            lk_lock_is_locked(lock, &is_locked));
        if (shortage_good(s, "info", lk_lock_info(lock, &info)))
            lk_info_free(info);
        shortage_begin(&a, lk_lock_info_async(lock, shortage_on_info, &a));
        shortage_begin(&a,
                       lk_lock_force_release_async(lock, shortage_on_done, &a));
        shortage_await(&a);
    }
    shortage_give(s, hold);
    lk_lock_free(lock);
    shortage_close(s, client);
}

void shortage_lock_spun(shortage *s)
{
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};
    lk_client *client = shortage_open(s), *other = shortage_open(s);
    lk_lock *lock = shortage_lock(s, other), *spin = NULL;
    lk_hold *hold = shortage_take(s, lock), *spun = NULL;

    if (client != NULL &&
        shortage_good(s, "spin", lk_lock_new(&spin, client, s->name, &options)))
        (void)shortage_held(s, "spin", lk_lock_acquire(spin, 20, NULL, &spun),
                            &spun);
    shortage_give(s, spun);
    shortage_give(s, hold);
    lk_lock_free(spin);
    lk_lock_free(lock);
    shortage_close(s, other);
    shortage_close(s, client);
}

/* ---- other locks ------------------------------------------------------------------ */

void shortage_fairlock_handed_over(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_fairlock *lock = NULL;
    lk_owner *owner = NULL;
    lk_hold *hold = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    shortage_async a = {.s = s};

    if (client != NULL &&
        shortage_good(s, "fair",
                      lk_fairlock_new(&lock, client, s->name, NULL)) &&
        shortage_good(s, "owner", lk_owner_new(&owner, client))) {
        (void)shortage_held(s, "fair",
                            lk_fairlock_acquire(lock, WAIT_MS, NULL, &hold),
                            &hold);
        options.owner = owner;
        shortage_begin(&a, lk_fairlock_acquire_async(lock, LONGER_MS, &options,
                                                     shortage_on_acquire, &a));
    }
    shortage_give(s, hold);
    shortage_await(&a);
    shortage_give(s, atomic_load(&a.hold));
    lk_owner_free(owner);
    lk_fairlock_free(lock);
    shortage_close(s, client);
}

void shortage_rwlock_all_ways(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_rwlock *rwlock = NULL;
    lk_rwlock_state state;
    lk_hold *base = NULL, *hold = NULL;

    if (client == NULL ||
        !shortage_good(s, "rwlock",
                       lk_rwlock_new(&rwlock, client, s->name, NULL))) {
        shortage_close(s, client);
        return;
    }
    if (shortage_held(s, "upgradeable",
                      lk_rwlock_acquire_upgradeable(rwlock, WAIT_MS, NULL,
                                                    &base),
                      &base) &&
        shortage_held(s, "upgrade",
                      lk_rwlock_acquire_write(rwlock, WAIT_MS, NULL, &hold),
                      &hold))
        (void)shortage_good(s, "state", lk_rwlock_state_get(rwlock, &state));
    shortage_give(s, hold);
    shortage_give(s, base);
    hold = NULL;
    if (shortage_held(s, "write",
                      lk_rwlock_acquire_write(rwlock, WAIT_MS, NULL, &hold),
                      &hold))
        (void)shortage_good(s, "downgrade", lk_rwlock_downgrade(hold));
    shortage_give(s, hold);
    lk_rwlock_free(rwlock);
    shortage_close(s, client);
}

void shortage_rwlock_handed_over(shortage *s)
{
    lk_client *client = shortage_open(s);
    lk_rwlock *rwlock = NULL;
    lk_owner *owner = NULL;
    lk_hold *hold = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    shortage_async a = {.s = s};

    if (client != NULL &&
        shortage_good(s, "rwlock",
                      lk_rwlock_new(&rwlock, client, s->name, NULL)) &&
        shortage_good(s, "owner", lk_owner_new(&owner, client))) {
        (void)shortage_held(s, "write",
                            lk_rwlock_acquire_write(rwlock, WAIT_MS, NULL,
                                                    &hold),
                            &hold);
        options.owner = owner;
        shortage_begin(&a,
                       lk_rwlock_acquire_read_async(rwlock, LONGER_MS, &options,
                                                    shortage_on_acquire, &a));
    }
    shortage_give(s, hold);
    shortage_await(&a);
    shortage_give(s, atomic_load(&a.hold));
    lk_owner_free(owner);
    lk_rwlock_free(rwlock);
    shortage_close(s, client);
}

void shortage_semaphore_all_ways(shortage *s)
{
    const lk_semaphore_options two = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 2};
    lk_client *client = shortage_open(s);
    lk_semaphore *semaphore = NULL;
    lk_hold *hold = NULL;
    uint64_t permits;
    int64_t left;
    shortage_async a = {.s = s};

    if (client != NULL &&
        shortage_good(s, "semaphore",
                      lk_semaphore_new(&semaphore, client, s->name, &two))) {
        (void)shortage_held(s, "permits",
                            lk_semaphore_acquire(semaphore, 2, WAIT_MS, NULL,
                                                 &hold),
                            &hold);
        shortage_begin(&a,
                       lk_semaphore_acquire_async(semaphore, 1, LONGER_MS, NULL,
                                                  shortage_on_acquire, &a));
        (void)shortage_good(s, "count",
                            lk_semaphore_count(semaphore, &permits, &left));
        (void)shortage_good(s, "resize", lk_semaphore_resize(semaphore, 2));
    }
    shortage_give(s, hold);
    shortage_await(&a);
    shortage_give(s, atomic_load(&a.hold));
    lk_semaphore_free(semaphore);
    shortage_close(s, client);
}

void shortage_siglock_handed_over(shortage *s)
{
    lk_client *one = shortage_open(s), *other = shortage_open(s);
    lk_siglock *lock = NULL, *wanted = NULL;
    lk_hold *hold = NULL;
    shortage_async a = {.s = s};

    if (one != NULL &&
        shortage_good(s, "siglock", lk_siglock_new(&lock, one, s->name, NULL)))
        (void)shortage_held(s, "siglock",
                            lk_siglock_acquire(lock, WAIT_MS, NULL, &hold),
                            &hold);
    if (other != NULL &&
        shortage_good(s, "siglock",
                      lk_siglock_new(&wanted, other, s->name, NULL)))
        shortage_begin(&a, lk_siglock_acquire_async(wanted, LONGER_MS, NULL,
                                                    shortage_on_acquire, &a));
    shortage_give(s, hold);
    shortage_await(&a);
    shortage_give(s, atomic_load(&a.hold));
    lk_siglock_free(wanted);
    lk_siglock_free(lock);
    shortage_close(s, other);
    shortage_close(s, one);
}
