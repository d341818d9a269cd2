/* SPDX-License-Identifier: MIT */

/* The multilock: all or nothing, one order, one hold of many. */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/server.h"
#include "support/standin.h"
#include "support/wait.h"

enum { SOON_MS = 5000, LONG_MS = 60000 };

/* ---- acquire and release ---- */

static void all_are_held_and_all_are_released(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_hold *hold = multi_hold(multi_of(f, client, "cab"));

    multi_assert_held(f, "abc");
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 20000, 30000);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_NONE);
    assert_int_equal(lk_hold_lost_for_ms(hold), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "abc");
}

static void all_requests_leave_in_one_write(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "abcdefgh");
    uint64_t writes = locking_stats(client).writes;
    lk_hold *hold = multi_hold(set);

    assert_int_equal(locking_stats(client).writes - writes, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(locking_stats(client).writes - writes, 2);
}

static void one_member_is_enough(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_hold *hold = multi_hold(multi_of(f, client, "a"));

    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "a");
}

static void a_try_gets_all_or_nothing(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "abcd");
    lk_hold *held = locking_hold(locking_lock(f->base, other, "c"));
    lk_hold *hold = NULL;

    assert_words(lk_multilock_acquire(set, 0, NULL, &hold), LK_EBUSY, "c: ");
    assert_null(hold);
    multi_assert_free(f, "abd");
    assert_status(lk_hold_release(held), LK_OK);
    assert_status(lk_hold_release(multi_hold(set)), LK_OK);
}

static void
what_is_not_free_is_waited_for_with_what_comes_before_it(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    lk_hold *held = locking_hold(locking_lock(f->base, other, "c"));
    taker *t = multi_take(f, multi_of(f, client, "dcba"), LK_FOREVER, NULL);

    locking_wait_queued(f->base, "c", 1);
    multi_assert_held(f, "ab");
    multi_assert_free(f, "d");
    assert_status(lk_hold_release(held), LK_OK);
    assert_status(taker_join(t), LK_OK);
    multi_assert_held(f, "abcd");
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abcd");
}

static void each_that_is_not_free_is_waited_for_in_turn(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    lk_hold *a = locking_hold(locking_lock(f->base, other, "a"));
    lk_hold *b = locking_hold(locking_lock(f->base, other, "b"));
    lk_hold *d = locking_hold(locking_lock(f->base, other, "d"));
    taker *t = multi_take(f, multi_of(f, client, "abcd"), LK_FOREVER, NULL);

    locking_wait_queued(f->base, "a", 1);
    multi_assert_free(f, "c");
    assert_status(lk_hold_release(a), LK_OK);
    locking_wait_queued(f->base, "b", 1);
    assert_status(lk_hold_release(b), LK_OK);
    locking_wait_queued(f->base, "d", 1);
    multi_assert_held(f, "abc");
    assert_status(lk_hold_release(d), LK_OK);
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abcd");
}

static void all_members_have_one_time_limit(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    lk_hold *b = locking_hold(locking_lock(f->base, other, "b"));
    lk_hold *a = locking_hold(locking_lock(f->base, other, "a"));
    taker *t = multi_take(f, multi_of(f, client, "abc"), 300, NULL);

    locking_wait_queued(f->base, "a", 1);
    assert_status(lk_hold_release(a), LK_OK);
    assert_status(taker_join(t), LK_ETIMEDOUT);
    assert_in_range(t->took_ms, 300, 300 + wait_scaled_ms(300));
    multi_assert_free(f, "ac");
    assert_status(lk_hold_release(b), LK_OK);
    multi_assert_free(f, "b");
}

static void a_cancel_ends_it_and_gives_back_what_is_held(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    lk_hold *b = locking_hold(locking_lock(f->base, other, "b"));
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    taker *t;

    assert_status(lk_cancel_new(&options.cancel, client), LK_OK);
    t = multi_take(f, multi_of(f, client, "abc"), LK_FOREVER, &options);
    locking_wait_queued(f->base, "b", 1);
    lk_cancel_fire(options.cancel);
    assert_status(taker_join(t), LK_ECANCELED);
    multi_assert_free(f, "ac");
    locking_wait_queued(f->base, "b", 0);
    lk_cancel_free(options.cancel);
    assert_status(lk_hold_release(b), LK_OK);
}

/* ---- members of all sorts ---- */

static void all_sorts_of_members_are_held_together(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open_calm(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "l");
    lk_hold *none = NULL, *beside = NULL, *hold;

    assert_status(lk_multilock_add_fairlock(set,
                                            multi_fairlock(f, client, "f")),
                  LK_OK);
    assert_status(lk_multilock_add_read(set, multi_rwlock(f, client, "r")),
                  LK_OK);
    assert_status(lk_multilock_add_write(set, multi_rwlock(f, client, "w")),
                  LK_OK);
    hold = multi_hold(set);
    assert_status(lk_rwlock_acquire_read(multi_rwlock(f, other, "r"), 0, NULL,
                                         &beside),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write(multi_rwlock(f, other, "r"), 0, NULL,
                                          &none),
                  LK_EUPGRADE);
    assert_status(lk_rwlock_acquire_read(multi_rwlock(f, other, "w"), 0, NULL,
                                         &none),
                  LK_EBUSY);
    assert_status(lk_fairlock_acquire(multi_fairlock(f, other, "f"), 0, NULL,
                                      &none),
                  LK_EBUSY);
    assert_status(lk_hold_release(beside), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "lfrw");
}

static void a_name_that_is_added_twice_is_held_once(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_hold *hold = multi_hold(multi_of(f, client, "abab"));

    assert_int_equal(locking_stats(client).holding, 2);
    assert_int_equal(lk_multilock_fence(hold, 0), lk_multilock_fence(hold, 2));
    assert_int_equal(lk_multilock_fence(hold, 1), lk_multilock_fence(hold, 3));
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_write_goes_before_a_read_of_the_same_name(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_rwlock *other = multi_rwlock(f, locking_open_calm(f->base, NULL), "n");
    lk_rwlock *rwlock = multi_rwlock(f, client, "n");

    for (int write_first = 0; write_first < 2; write_first++) {
        lk_multilock *set = multi_empty(f);
        lk_hold *none = NULL, *hold;

        if (write_first)
            assert_status(lk_multilock_add_write(set, rwlock), LK_OK);
        assert_status(lk_multilock_add_read(set, rwlock), LK_OK);
        assert_status(lk_multilock_add_write(set, rwlock), LK_OK);
        hold = multi_hold(set);
        assert_status(lk_rwlock_acquire_read(other, 0, NULL, &none), LK_EBUSY);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

static void a_fair_lock_goes_before_a_lock_of_the_same_name(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "n");
    lk_hold *hold;

    assert_status(lk_multilock_add_fairlock(set,
                                            multi_fairlock(f, client, "n")),
                  LK_OK);
    hold = multi_hold(set);
    assert_int_equal(locking_stats(client).holding, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "n");
}

static void the_members_of_another_one_can_be_added(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "db");
    lk_hold *hold;

    assert_status(lk_multilock_add_all(set, multi_of(f, client, "cba")), LK_OK);
    hold = multi_hold(set);
    assert_int_equal(locking_stats(client).holding, 4);
    multi_assert_held(f, "abcd");
    for (size_t i = 0; i < 5; i++)
        assert_true(lk_multilock_fence(hold, i) > 0);
    assert_int_equal(lk_multilock_fence(hold, 1), lk_multilock_fence(hold, 3));
    assert_int_equal(lk_multilock_fence(hold, 5), 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void members_may_be_of_several_clients(void **state)
{
    multilocking *f = *state;
    lk_client *one = locking_open(f->base, NULL);
    lk_client *two = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, one, "ac");
    lk_hold *b = locking_hold(locking_lock(f->base, other, "b"));
    taker *t;

    assert_status(lk_multilock_add_all(set, multi_of(f, two, "bd")), LK_OK);
    t = multi_take(f, set, LK_FOREVER, NULL);
    locking_wait_queued(f->base, "b", 1);
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

static void the_thread_enters_again_what_it_holds(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_hold *b = locking_hold(locking_lock(f->base, client, "b"));
    lk_multilock *set = multi_of(f, client, "abc");
    lk_hold *first = multi_hold(set);
    lk_hold *second = multi_hold(set);

    assert_int_equal(lk_multilock_fence(first, 1), lk_hold_fence(b));
    assert_int_equal(lk_multilock_fence(first, 0),
                     lk_multilock_fence(second, 0));
    assert_status(lk_hold_release(b), LK_OK);
    assert_status(lk_hold_release(first), LK_OK);
    multi_assert_held(f, "abc");
    assert_status(lk_hold_release(second), LK_OK);
    multi_assert_free(f, "abc");
}

static void an_owner_acts_for_all_of_its_client(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
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

static void the_lease_is_the_shortest_of_all(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .lease_ms = LONG_MS};
    lk_multilock *set = multi_of(f, client, "a");
    lk_lock *lock = NULL;
    lk_hold *hold;

    assert_status(lk_lock_new(&lock, client, "b", &options), LK_OK);
    assert_status(lk_multilock_add_lock(set, lock), LK_OK);
    hold = multi_hold(set);
    lk_lock_free(lock); /* a hold outlives its handle */
    assert_in_range(lk_hold_remaining_ms(hold), 20000, 30000);
    assert_status(lk_hold_extend(hold, 2 * (uint64_t)LONG_MS), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), LONG_MS + 1, 2 * LONG_MS);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* What is held while c is waited for would have three fifths of its lease left,
   were it not to begin anew. */
static void a_fixed_lease_begins_with_the_last_member(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    unsigned lease_ms = wait_scaled_ms(1500);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *c = locking_hold(locking_lock(f->base, other, "c"));
    taker *t = multi_take(f, multi_of(f, client, "abc"), LK_FOREVER, &options);

    locking_wait_queued(f->base, "c", 1);
    locking_pass_time(lease_ms / 10 * 14);
    assert_status(lk_hold_release(c), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(lk_hold_remaining_ms(t->hold), lease_ms / 4 * 3, lease_ms);
    assert_int_equal(locking_stats(client).losses, 0);
    assert_status(taker_release(t), LK_OK);
}

static void a_hold_has_no_fence_of_its_own_and_is_not_exported(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_hold *single = locking_hold(locking_lock(f->base, client, "x"));
    lk_hold *hold = multi_hold(multi_of(f, client, "ab"));
    char text[LK_EXPORT_SIZE];

    assert_int_equal(lk_hold_fence(hold), 0);
    assert_int_equal(lk_multilock_fence(single, 0), 0);
    assert_int_equal(lk_multilock_fence(NULL, 0), 0);
    assert_words(lk_hold_export(hold, text, sizeof(text)), LK_ENOTSUP,
                 "exported");
    assert_words(lk_rwlock_downgrade(hold), LK_EINVAL, "read-write");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(single), LK_OK);
}

static lk_status work(lk_hold *hold, void *data)
{
    *(lk_status *)data = lk_hold_check(hold);
    return LK_EALREADY;
}

/* Redisson's turn is over when nobody comes; then it is who waited before. */
static void a_wait_goes_before_nobody_in_redissons_turn(void **state)
{
    multilocking *f = *state;
    standin *java =
        standin_new(STANDIN_LOCK, server_socket(f->base->server), "a");
    lk_client *client = locking_open(f->base, NULL);
    lk_client *other = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_client *third = locking_open(f->base, NULL);
    lk_hold *held = locking_hold(locking_lock(f->base, other, "a"));
    taker *first = locking_take(f->base, locking_lock(f->base, third, "a"),
                                LK_FOREVER, NULL);
    taker *t;

    locking_wait_queued(f->base, "a", 1);
    standin_subscribe(java);
    assert_status(lk_hold_release(held), LK_OK);
    t = multi_take(f, set, LK_FOREVER, NULL);
    assert_status(taker_join(first), LK_OK);
    assert_false(atomic_load(&t->done));
    assert_status(taker_release(first), LK_OK);
    assert_status(taker_release(t), LK_OK);
    standins_free();
}

static void a_function_runs_under_all_of_them(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_status inside = LK_EINVAL;

    assert_status(lk_multilock_run(set, 0, NULL, work, &inside), LK_EALREADY);
    assert_status(inside, LK_OK);
    multi_assert_free(f, "ab");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MULTI_TEST(all_are_held_and_all_are_released),
        MULTI_TEST(all_requests_leave_in_one_write),
        MULTI_TEST(one_member_is_enough),
        MULTI_TEST(a_try_gets_all_or_nothing),
        MULTI_TEST(what_is_not_free_is_waited_for_with_what_comes_before_it),
        MULTI_TEST(each_that_is_not_free_is_waited_for_in_turn),
        MULTI_TEST(all_members_have_one_time_limit),
        MULTI_TEST(a_cancel_ends_it_and_gives_back_what_is_held),
        MULTI_TEST(all_sorts_of_members_are_held_together),
        MULTI_TEST(a_name_that_is_added_twice_is_held_once),
        MULTI_TEST(a_write_goes_before_a_read_of_the_same_name),
        MULTI_TEST(a_fair_lock_goes_before_a_lock_of_the_same_name),
        MULTI_TEST(the_members_of_another_one_can_be_added),
        MULTI_TEST(members_may_be_of_several_clients),
        MULTI_TEST(the_thread_enters_again_what_it_holds),
        MULTI_TEST(an_owner_acts_for_all_of_its_client),
        MULTI_TEST(the_lease_is_the_shortest_of_all),
        MULTI_TEST(a_fixed_lease_begins_with_the_last_member),
        MULTI_TEST(a_hold_has_no_fence_of_its_own_and_is_not_exported),
        MULTI_TEST(a_wait_goes_before_nobody_in_redissons_turn),
        MULTI_TEST(a_function_runs_under_all_of_them),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
