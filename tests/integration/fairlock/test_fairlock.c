/* SPDX-License-Identifier: MIT */

/* The fair lock: whoever asked first has it first, and it is a lock. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { AT_ONCE_MS = 250, LOOK_MS = 1000 };

/* ---- order ---- */

LOCKS_TEST(threads_get_it_in_the_order_in_which_they_came)
{
    enum { THREADS = 16 };
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *lock = locking_new(f, lk_fairlock);
    taker *takers[THREADS];

    for (int i = 0; i < THREADS; i++)
        takers[i] = locking_queue_up(f, lock, i + 1);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < THREADS; i++) {
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i + 1);
        assert_int_equal(f->takers.turns, i + 1);
        assert_status(taker_release(takers[i]), LK_OK);
    }
    locking_wait_clean(f, "n");
}

/* A client has no turn of its own: each thread has one. */
LOCKS_TEST(threads_of_several_clients_stand_in_one_line)
{
    static const int order[] = {0, 1, 0, 0, 2, 1, 2, 0, 1};
    enum { WAITS = sizeof(order) / sizeof(order[0]) };
    lk_fairlock *locks[3];
    taker *takers[WAITS];
    uint64_t fence;
    lk_hold *hold;

    for (size_t i = 0; i < 3; i++)
        locks[i] = locking_new(f, lk_fairlock);
    hold = locking_hold(locks[0]);
    fence = lk_hold_fence(hold);
    for (int i = 0; i < WAITS; i++)
        takers[i] = locking_queue_up(f, locks[order[i]], i + 1);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i++) {
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i + 1);
        assert_true(lk_hold_fence(takers[i]->hold) > fence);
        fence = lk_hold_fence(takers[i]->hold);
        assert_status(taker_release(takers[i]), LK_OK);
    }
}

/* Its inbox does not stand yet; they wait for that, not for a look. */
LOCKS_TEST(the_first_waits_of_a_client_queue_at_once_and_in_order)
{
    enum { WAITS = 5 };
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_client *client = locking_open(f, NULL);
    lk_fairlock *lock = locking_of(f, lk_fairlock, client);
    uint64_t begin = wait_now_ms();
    taker *takers[WAITS];

    for (int i = 0; i < WAITS; i++) {
        takers[i] = locking_take(f, lock, LK_FOREVER, NULL);
        locking_wait_waiting(client, (uint64_t)i + 1);
    }
    locking_wait_queued(f, "n", WAITS);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(500)));
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i++) {
        assert_status(taker_release(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i + 1);
    }
}

/* Nobody released it, so nobody was told: the name is free for a moment. */
LOCKS_TEST(a_newcomer_does_not_take_a_free_lock_from_who_waits)
{
    lk_hold *deleted = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *newcomer = locking_calm(f, lk_fairlock);
    taker *first = locking_queue_up(f, locking_new(f, lk_fairlock), 1);
    taker *second;
    lk_hold *none = NULL;

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_status(lk_fairlock_acquire(newcomer, 0, NULL, &none), LK_EBUSY);
    second = locking_take(f, newcomer, LK_FOREVER, NULL);
    assert_status(taker_join(first), LK_OK);
    locking_wait_queued(f, "n", 1);
    assert_int_equal(first->turn, 1);
    assert_false(second->done);
    assert_status(taker_release(first), LK_OK);
    assert_status(taker_release(second), LK_OK);
    assert_status(lk_hold_release(deleted), LK_ELOST);
}

LOCKS_TEST(a_lock_that_others_deleted_is_had_within_a_second)
{
    lk_hold *deleted = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *newcomer = locking_calm(f, lk_fairlock);
    taker *first = locking_queue_up(f, locking_new(f, lk_fairlock), 1);
    lk_hold *none = NULL;
    uint64_t begin;

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    begin = wait_now_ms();
    assert_status(lk_fairlock_acquire(newcomer, 0, NULL, &none), LK_EBUSY);
    assert_status(taker_join(first), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(LOOK_MS + wait_scaled_ms(AT_ONCE_MS)));
    assert_status(taker_release(first), LK_OK);
    assert_status(lk_hold_release(deleted), LK_ELOST);
}

/* What one process does again and again leaves room for all others. */
LOCKS_TEST(who_comes_again_stands_behind_who_waits)
{
    lk_fairlock *eager = locking_new(f, lk_fairlock);
    lk_hold *hold = locking_hold(eager);
    taker *other = locking_queue_up(f, locking_new(f, lk_fairlock), 1);
    taker *again;

    again = locking_queue_up(f, eager, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(other), LK_OK);
    assert_false(again->done);
    assert_int_equal(locking_stats(f->clients[0]).passes, 0);
    assert_status(taker_release(other), LK_OK);
    assert_status(taker_release(again), LK_OK);
}

/* ---- leases ---- */

/* Nobody gives it back: the next has it when the lease ends. */
LOCKS_TEST(leases_that_end_are_followed_in_order)
{
    enum { THREADS = 6 };
    const unsigned lease_ms = wait_lease_ms() / 4;
    const int64_t limit_ms = (int64_t)wait_limit_ms(10000);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_fairlock *lock = locking_calm(f, lk_fairlock);
    uint64_t begin = wait_now_ms();
    taker *takers[THREADS];

    takers[0] = locking_take(f, lock, limit_ms, &options);
    assert_status(taker_join(takers[0]), LK_OK);
    for (int i = 1; i < THREADS; i++) {
        takers[i] = locking_take(f, lock, limit_ms, &options);
        locking_wait_waiting(f->clients[0], (uint64_t)i);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i + 1);
    }
    assert_in_range(wait_now_ms() - begin, (THREADS - 1) * (lease_ms - 20),
                    wait_allowed_ms(THREADS * lease_ms + wait_scaled_ms(600)));
}

LOCKS_TEST(a_hold_outlives_its_first_lease_by_the_watchdog)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_fairlock *lock = locking_of(f, lk_fairlock, locking_open(f, &options));
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    taker *t = locking_queue_up(f, lock, 1);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    locking_pass_time(wait_lease_ms() * 5 / 2);
    assert_status(lk_hold_check(t->hold), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(taker_release(t), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(the_handles_lease_is_for_acquires_that_name_none)
{
    const lk_fairlock_options options = {LK_FAIRLOCK_OPTIONS_INIT,
                                         .lease_ms = 7000};
    lk_client *client = locking_open(f, NULL);
    lk_fairlock *lock = NULL;
    lk_hold *hold;

    assert_status(lk_fairlock_new(&lock, client, "n", &options), LK_OK);
    hold = locking_hold(lock);
    assert_in_range(locking_pttl(f, "n"), 1, 7000);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_hold_for(lock, 9000);
    assert_in_range(locking_pttl(f, "n"), 7001, 9000);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_fairlock_free(lock);
}

/* ---- re-entry ---- */

LOCKS_TEST(an_owner_enters_again_without_asking_anybody)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_fairlock *lock = locking_of(f, lk_fairlock, client);
    lk_hold *outer = locking_hold(lock);
    taker *t = locking_queue_up(f, locking_new(f, lk_fairlock), 1);
    lk_hold *inner;
    uint64_t commands;

    locking_wait_calm(client);
    commands = locking_stats(client).commands;
    inner = locking_hold(lock);
    assert_true(lk_hold_fence(inner) == lk_hold_fence(outer));
    assert_status(lk_hold_release(outer), LK_OK);
    assert_in_range(locking_stats(client).commands, commands, commands + 1);
    assert_false(t->done);
    assert_status(lk_hold_check(inner), LK_OK);
    assert_status(lk_hold_release(inner), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(another_thread_does_not_enter)
{
    lk_fairlock *lock = locking_new(f, lk_fairlock);
    lk_hold *hold = locking_hold(lock);

    assert_status(taker_join(locking_take(f, lock, 0, NULL)), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(locking_take(f, lock, 0, NULL)), LK_OK);
}

/* ---- beside the lock of the same name ---- */

LOCKS_TEST(a_lock_of_the_same_name_is_the_same_lock)
{
    lk_fairlock *fair = locking_new(f, lk_fairlock);
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(fair);
    lk_hold *none = NULL;
    taker *plain;
    taker *t;

    assert_status(lk_lock_acquire(lock, 0, NULL, &none), LK_EBUSY);
    plain = locking_take(f, lock, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    t = locking_queue_up(f, fair, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(plain), LK_OK);
    assert_false(t->done);
    assert_status(lk_fairlock_acquire(fair, 0, NULL, &none), LK_EBUSY);
    assert_status(taker_release(plain), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

/* They are two handles: re-entry is of one kind. */
LOCKS_TEST(a_hold_of_one_kind_is_not_entered_by_the_other)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_of(f, lk_fairlock, client));
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(lock, 0, NULL, &none), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- names ---- */

LOCKS_TEST(the_queue_of_a_tagged_name_lies_in_its_slot)
{
    lk_client *client = locking_open(f, NULL);
    lk_fairlock *lock = locking_named(f, lk_fairlock, client, "a{tag}b");
    lk_hold *hold = locking_hold(lock);
    taker *t = locking_take(f, lock, LK_FOREVER, NULL);

    locking_wait_integer(f, 1, "ZCOUNT %s 0 +inf", "latchkey::a{tag}b:q");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

/* ---- operators ---- */

LOCKS_TEST(who_holds_and_who_waits_is_told_in_order)
{
    enum { WAITS = 4 };
    const lk_acquire_options why = {LK_ACQUIRE_OPTIONS_INIT,
                                    .reason = "to hold it"};
    lk_fairlock *lock = locking_new(f, lk_fairlock);
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    char reason[24];
    bool locked = false;

    assert_status(lk_fairlock_acquire(lock, 0, &why, &hold), LK_OK);
    for (int i = 0; i < WAITS; i++) {
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                      .reason = reason};

        (void)snprintf(reason, sizeof(reason), "wait %d", i);
        (void)locking_take(f, lock, LK_FOREVER, &options);
        locking_wait_queued(f, "n", i + 1);
    }
    assert_status(lk_fairlock_is_locked(lock, &locked), LK_OK);
    assert_true(locked);
    assert_status(lk_fairlock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0]->reason, "to hold it");
    assert_true(info->holders[0]->fence == lk_hold_fence(hold));
    assert_int_equal(info->waiter_count, WAITS);
    for (int i = 0; i < WAITS; i++) {
        (void)snprintf(reason, sizeof(reason), "wait %d", i);
        assert_string_equal(info->waiters[i]->reason, reason);
    }
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_forced_release_hands_over_to_the_next)
{
    lk_fairlock *lock = locking_new(f, lk_fairlock);
    lk_hold *hold = locking_hold(lock);
    taker *t = locking_queue_up(f, locking_new(f, lk_fairlock), 1);
    bool locked = true;

    assert_status(lk_fairlock_force_release(lock), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_fairlock_force_release(lock), LK_ENOTHELD);
    assert_status(lk_fairlock_is_locked(lock, &locked), LK_OK);
    assert_false(locked);
}

/* ---- other ways to have it ---- */

static lk_status refuse(lk_hold *hold, void *data)
{
    *(uint64_t *)data = lk_hold_fence(hold);
    return LK_ERANGE;
}

LOCKS_TEST(a_function_runs_under_it)
{
    lk_fairlock *lock = locking_new(f, lk_fairlock);
    lk_fairlock *other = locking_new(f, lk_fairlock);
    uint64_t fence = 0;
    lk_hold *hold;

    assert_status(lk_fairlock_run(lock, 0, NULL, refuse, &fence), LK_ERANGE);
    assert_true(fence > 0);
    hold = locking_hold(other);
    fence = 0;
    assert_status(lk_fairlock_run(lock, 0, NULL, refuse, &fence), LK_EBUSY);
    assert_true(fence == 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_hold_that_was_exported_is_taken_over)
{
    lk_fairlock *giver = locking_new(f, lk_fairlock);
    lk_fairlock *taking = locking_new(f, lk_fairlock);
    lk_hold *hold = locking_hold(giver);
    uint64_t fence = lk_hold_fence(hold);
    taker *t = locking_queue_up(f, giver, 1);
    char text[LK_EXPORT_SIZE];
    lk_hold *none = NULL;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_fairlock_import(taking, text, NULL, &hold), LK_OK);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_fairlock_import(giver, text, NULL, &none), LK_ELOST);
    assert_false(t->done);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
