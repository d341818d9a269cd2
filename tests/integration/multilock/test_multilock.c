/* SPDX-License-Identifier: MIT */

/* The multilock: all or nothing, one order, one hold of many. */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/redisson.h"
#include "support/server.h"
#include "support/wait.h"

enum { SOON_MS = 5000, LONG_MS = 60000 };

/* ---- acquire and release ---- */

LOCKS_TEST(all_are_held_and_all_are_released)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(multi_of(f, client, "cab"));

    multi_assert_held(f, "abc");
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 20000, 30000);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_NONE);
    assert_int_equal(lk_hold_lost_for_ms(hold), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "abc");
}

LOCKS_TEST(all_requests_leave_in_one_write)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_multilock *set = multi_of(f, client, "abcdefgh");
    uint64_t writes = locking_stats(client).writes;
    lk_hold *hold = locking_hold(set);

    assert_int_equal(locking_stats(client).writes - writes, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(locking_stats(client).writes - writes, 2);
}

LOCKS_TEST(one_member_is_enough)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(multi_of(f, client, "a"));

    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "a");
}

LOCKS_TEST(a_try_gets_all_or_nothing)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "abcd");
    lk_hold *held = locking_hold(locking_lock(f, other, "c"));
    lk_hold *hold = NULL;

    assert_says(lk_multilock_acquire(set, 0, NULL, &hold), LK_EBUSY, "c: ");
    assert_null(hold);
    multi_assert_free(f, "abd");
    assert_status(lk_hold_release(held), LK_OK);
    assert_status(lk_hold_release(locking_hold(set)), LK_OK);
}

LOCKS_TEST(what_is_not_free_is_waited_for_with_what_comes_before_it)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_hold *held = locking_hold(locking_lock(f, other, "c"));
    taker *t = locking_take(f, multi_of(f, client, "dcba"), LK_FOREVER, NULL);

    locking_wait_queued(f, "c", 1);
    multi_assert_held(f, "ab");
    multi_assert_free(f, "d");
    assert_status(lk_hold_release(held), LK_OK);
    assert_status(taker_join(t), LK_OK);
    multi_assert_held(f, "abcd");
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abcd");
}

LOCKS_TEST(each_that_is_not_free_is_waited_for_in_turn)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_hold *a = locking_hold(locking_lock(f, other, "a"));
    lk_hold *b = locking_hold(locking_lock(f, other, "b"));
    lk_hold *d = locking_hold(locking_lock(f, other, "d"));
    taker *t = locking_take(f, multi_of(f, client, "abcd"), LK_FOREVER, NULL);

    locking_wait_queued(f, "a", 1);
    multi_assert_free(f, "c");
    assert_status(lk_hold_release(a), LK_OK);
    locking_wait_queued(f, "b", 1);
    assert_status(lk_hold_release(b), LK_OK);
    locking_wait_queued(f, "d", 1);
    multi_assert_held(f, "abc");
    assert_status(lk_hold_release(d), LK_OK);
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abcd");
}

LOCKS_TEST(all_members_have_one_time_limit)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_hold *b = locking_hold(locking_lock(f, other, "b"));
    lk_hold *a = locking_hold(locking_lock(f, other, "a"));
    taker *t = locking_take(f, multi_of(f, client, "abc"), 300, NULL);

    locking_wait_queued(f, "a", 1);
    assert_status(lk_hold_release(a), LK_OK);
    assert_status(taker_join(t), LK_ETIMEDOUT);
    assert_in_range(t->took_ms, 300,
                    wait_allowed_ms(300 + wait_scaled_ms(300)));
    multi_assert_free(f, "ac");
    assert_status(lk_hold_release(b), LK_OK);
    multi_assert_free(f, "b");
}

LOCKS_TEST(a_cancel_ends_it_and_gives_back_what_is_held)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_hold *b = locking_hold(locking_lock(f, other, "b"));
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    taker *t;

    assert_status(lk_cancel_new(&options.cancel, client), LK_OK);
    t = locking_take(f, multi_of(f, client, "abc"), LK_FOREVER, &options);
    locking_wait_queued(f, "b", 1);
    lk_cancel_fire(options.cancel);
    assert_status(taker_join(t), LK_ECANCELED);
    multi_assert_free(f, "ac");
    locking_wait_queued(f, "b", 0);
    lk_cancel_free(options.cancel);
    assert_status(lk_hold_release(b), LK_OK);
}

/* ---- members of all sorts ---- */

LOCKS_TEST(all_sorts_of_members_are_held_together)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open_calm(f, NULL);
    lk_multilock *set = multi_of(f, client, "l");
    lk_hold *none = NULL, *beside = NULL, *hold;

    assert_status(lk_multilock_add_fairlock(set, locking_named(f, lk_fairlock,
                                                               client, "f")),
                  LK_OK);
    assert_status(lk_multilock_add_read(set, locking_named(f, lk_rwlock, client,
                                                           "r")),
                  LK_OK);
    assert_status(lk_multilock_add_write(set, locking_named(f, lk_rwlock,
                                                            client, "w")),
                  LK_OK);
    hold = locking_hold(set);
    assert_status(lk_rwlock_acquire_read(locking_named(f, lk_rwlock, other,
                                                       "r"),
                                         0, NULL, &beside),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write(locking_named(f, lk_rwlock, other,
                                                        "r"),
                                          0, NULL, &none),
                  LK_EUPGRADE);
    assert_status(lk_rwlock_acquire_read(locking_named(f, lk_rwlock, other,
                                                       "w"),
                                         0, NULL, &none),
                  LK_EBUSY);
    assert_status(lk_fairlock_acquire(locking_named(f, lk_fairlock, other, "f"),
                                      0, NULL, &none),
                  LK_EBUSY);
    assert_status(lk_hold_release(beside), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "lfrw");
}

LOCKS_TEST(a_name_that_is_added_twice_is_held_once)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(multi_of(f, client, "abab"));

    assert_int_equal(locking_stats(client).holding, 2);
    assert_int_equal(lk_multilock_fence(hold, 0), lk_multilock_fence(hold, 2));
    assert_int_equal(lk_multilock_fence(hold, 1), lk_multilock_fence(hold, 3));
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_write_goes_before_a_read_of_the_same_name)
{
    lk_client *client = locking_open(f, NULL);
    lk_rwlock *other =
        locking_named(f, lk_rwlock, locking_open_calm(f, NULL), "n");
    lk_rwlock *rwlock = locking_named(f, lk_rwlock, client, "n");

    for (int write_first = 0; write_first < 2; write_first++) {
        lk_multilock *set = multi_empty(f);
        lk_hold *none = NULL, *hold;

        if (write_first)
            assert_status(lk_multilock_add_write(set, rwlock), LK_OK);
        assert_status(lk_multilock_add_read(set, rwlock), LK_OK);
        assert_status(lk_multilock_add_write(set, rwlock), LK_OK);
        hold = locking_hold(set);
        assert_status(lk_rwlock_acquire_read(other, 0, NULL, &none), LK_EBUSY);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

LOCKS_TEST(a_fair_lock_goes_before_a_lock_of_the_same_name)
{
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "n");
    lk_hold *hold;

    assert_status(lk_multilock_add_fairlock(set, locking_named(f, lk_fairlock,
                                                               client, "n")),
                  LK_OK);
    hold = locking_hold(set);
    assert_int_equal(locking_stats(client).holding, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "n");
}

LOCKS_TEST(the_members_of_another_one_can_be_added)
{
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "db");
    lk_hold *hold;

    assert_status(lk_multilock_add_all(set, multi_of(f, client, "cba")), LK_OK);
    hold = locking_hold(set);
    assert_int_equal(locking_stats(client).holding, 4);
    multi_assert_held(f, "abcd");
    for (size_t i = 0; i < 5; i++)
        assert_true(lk_multilock_fence(hold, i) > 0);
    assert_int_equal(lk_multilock_fence(hold, 1), lk_multilock_fence(hold, 3));
    assert_int_equal(lk_multilock_fence(hold, 5), 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(members_may_be_of_several_clients)
{
    lk_client *one = locking_open(f, NULL);
    lk_client *two = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, one, "ac");
    lk_hold *b = locking_hold(locking_lock(f, other, "b"));
    taker *t;

    assert_status(lk_multilock_add_all(set, multi_of(f, two, "bd")), LK_OK);
    t = locking_take(f, set, LK_FOREVER, NULL);
    locking_wait_queued(f, "b", 1);
    multi_assert_held(f, "a");
    multi_assert_free(f, "cd");
    assert_status(lk_hold_release(b), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(locking_stats(one).holding, 2);
    assert_int_equal(locking_stats(two).holding, 2);
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abcd");
}

/* ---- owners ---- */

LOCKS_TEST(the_thread_enters_again_what_it_holds)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *b = locking_hold(locking_lock(f, client, "b"));
    lk_multilock *set = multi_of(f, client, "abc");
    lk_hold *first = locking_hold(set);
    lk_hold *second = locking_hold(set);

    assert_int_equal(lk_multilock_fence(first, 1), lk_hold_fence(b));
    assert_int_equal(lk_multilock_fence(first, 0),
                     lk_multilock_fence(second, 0));
    assert_status(lk_hold_release(b), LK_OK);
    assert_status(lk_hold_release(first), LK_OK);
    multi_assert_held(f, "abc");
    assert_status(lk_hold_release(second), LK_OK);
    multi_assert_free(f, "abc");
}

LOCKS_TEST(an_owner_acts_for_all_of_its_client)
{
    lk_client *client = locking_open(f, NULL);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_multilock *set = multi_of(f, client, "ab");
    lk_hold *first = NULL, *second = NULL, *none = NULL;

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    assert_status(lk_multilock_acquire(set, 0, &options, &first), LK_OK);
    assert_status(lk_multilock_acquire(set, 0, NULL, &none), LK_EBUSY);
    assert_status(lk_multilock_acquire(set, 0, &options, &second), LK_OK);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    lk_owner_free(options.owner);
}

/* ---- leases ---- */

LOCKS_TEST(the_lease_is_the_shortest_of_all)
{
    lk_client *client = locking_open(f, NULL);
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .lease_ms = LONG_MS};
    lk_multilock *set = multi_of(f, client, "a");
    lk_lock *lock = NULL;
    lk_hold *hold;

    assert_status(lk_lock_new(&lock, client, "b", &options), LK_OK);
    assert_status(lk_multilock_add_lock(set, lock), LK_OK);
    hold = locking_hold(set);
    lk_lock_free(lock); /* a hold outlives its handle */
    assert_in_range(lk_hold_remaining_ms(hold), 20000, 30000);
    assert_status(lk_hold_extend(hold, 2 * (uint64_t)LONG_MS), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), LONG_MS + 1, 2 * LONG_MS);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* What is held while c is waited for would have three fifths of its lease left when c is
   free, were it not to begin again. */
LOCKS_TEST(a_fixed_lease_begins_with_the_last_member)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    unsigned lease_ms = wait_lease_ms();
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *c = locking_hold(locking_lock(f, other, "c"));
    taker *t =
        locking_take(f, multi_of(f, client, "abc"), LK_FOREVER, &options);
    uint64_t free_at, left_ms;

    locking_wait_queued(f, "c", 1);
    locking_pass_time(lease_ms / 10 * 14);
    free_at = wait_now_ms();
    assert_status(lk_hold_release(c), LK_OK);
    assert_status(taker_join(t), LK_OK);
    left_ms = lk_hold_remaining_ms(t->hold);
    assert_in_range(left_ms, 1, lease_ms);
    assert_true(left_ms + (wait_now_ms() - free_at) >=
                lease_ms / 4 * UINT64_C(3));
    assert_int_equal(locking_stats(client).losses, 0);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(a_hold_has_no_fence_of_its_own_and_is_not_exported)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *single = locking_hold(locking_lock(f, client, "x"));
    lk_hold *hold = locking_hold(multi_of(f, client, "ab"));
    char text[LK_EXPORT_SIZE];

    assert_int_equal(lk_hold_fence(hold), 0);
    assert_int_equal(lk_multilock_fence(single, 0), 0);
    assert_int_equal(lk_multilock_fence(NULL, 0), 0);
    assert_says(lk_hold_export(hold, text, sizeof(text)), LK_ENOTSUP,
                "exported");
    assert_says(lk_rwlock_downgrade(hold), LK_EINVAL, "read-write");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(single), LK_OK);
}

static lk_status work(lk_hold *hold, void *data)
{
    *(lk_status *)data = lk_hold_check(hold);
    return LK_EALREADY;
}

/* Redisson's turn is over when nobody comes; then it is who waited before. */
LOCKS_TEST(a_wait_goes_before_nobody_in_redissons_turn)
{
    redisson *java = redisson_new(f->server, "a");
    lk_client *client = locking_open(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_client *third = locking_open(f, NULL);
    lk_hold *held = locking_hold(locking_lock(f, other, "a"));
    taker *first =
        locking_take(f, locking_lock(f, third, "a"), LK_FOREVER, NULL);
    taker *t;

    locking_wait_queued(f, "a", 1);
    redisson_subscribe(java, REDISSON_LOCK);
    locking_wait_looked(third); /* not heard of for 3 s, it would be dead */
    assert_status(lk_hold_release(held), LK_OK);
    t = locking_take(f, set, LK_FOREVER, NULL);
    assert_status(taker_join(first), LK_OK);
    assert_false(atomic_load(&t->done));
    assert_status(taker_release(first), LK_OK);
    assert_status(taker_release(t), LK_OK);
    redissons_free();
}

LOCKS_TEST(a_function_runs_under_all_of_them)
{
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_status inside = LK_EINVAL;

    assert_status(lk_multilock_run(set, 0, NULL, work, &inside), LK_EALREADY);
    assert_status(inside, LK_OK);
    multi_assert_free(f, "ab");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
