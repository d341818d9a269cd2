/* SPDX-License-Identifier: MIT */

/*
 * One name, Latchkey and Redisson: who keeps whom out, who hears of what, and what
 * each finds in Redis. The calls of Redisson's are support/redisson.h; real clients
 * of it contend in ./dev interop.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/redisson.h"
#include "support/wait.h"

enum {
    SOON_MS = 5000,
    AT_ONCE_MS = 250 /* far less than the second between two looks */
};

static int teardown(void **state)
{
    redissons_free();
    return locking_teardown(state);
}

static redisson *java_new(locking *f)
{
    return redisson_new(f->server, "n");
}

static lk_lock *ours(locking *f)
{
    return locking_new(f, lk_lock);
}

static bool java_tries(redisson *java)
{
    return redisson_try(java, REDISSON_LOCK);
}

static void java_unlocks(redisson *java)
{
    assert_int_equal(redisson_unlock(java, REDISSON_LOCK), 1);
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, teardown)

/* ---- who keeps whom out ---- */

/* Redisson waits for as long as its acquire answers: the lease that is left. */
TEST(our_hold_keeps_redisson_out_and_tells_its_lease)
{
    lk_hold *hold = locking_hold_for(ours(f), 20000);
    redisson *java = java_new(f);

    assert_in_range(redisson_acquire(java, REDISSON_LOCK), 15000, 20000);
    assert_int_equal(redisson_unlock(java, REDISSON_LOCK), -1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(java_tries(java));
    java_unlocks(java);
}

TEST(redissons_hold_keeps_us_out)
{
    lk_lock *lock = ours(f);
    redisson *java = java_new(f);
    lk_hold *hold = NULL;

    assert_true(java_tries(java));
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    assert_status(lk_lock_acquire(lock, wait_scaled_ms(300), NULL, &hold),
                  LK_ETIMEDOUT);
    java_unlocks(java);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

TEST(we_see_the_owner_and_the_lease_of_redissons_hold)
{
    lk_lock *lock = ours(f);
    redisson *java = java_new(f);
    lk_info *info = NULL;
    bool locked = false;

    redisson_set_lease(java, 20000);
    assert_true(java_tries(java));
    assert_status(lk_lock_is_locked(lock, &locked), LK_OK);
    assert_true(locked);
    assert_status(lk_lock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0]->owner, redisson_owner(java));
    assert_in_range(info->holders[0]->lease_ms, 15000, 20000);
    lk_info_free(info);
}

/* Its process is gone; its lease is all that there is. */
TEST(a_dead_hold_of_redissons_ends_with_its_lease)
{
    redisson *java = java_new(f);
    lk_lock *lock = ours(f);
    uint64_t begin = wait_now_ms();

    redisson_set_lease(java, 600);
    assert_true(java_tries(java));
    assert_status(taker_release(locking_take(f, lock, LK_FOREVER, NULL)),
                  LK_OK);
    assert_in_range(wait_now_ms() - begin, 600 - 2,
                    wait_allowed_ms(600 + wait_scaled_ms(AT_ONCE_MS)));
}

/* ---- who hears of what ---- */

/* Its message is not for us, if there is one: the server tells our first in
   line that the key has changed. */
static void a_release_serves_our_waiter_at_once(locking *f, lk_lock *lock)
{
    redisson *java = java_new(f);
    taker *t;
    uint64_t since;

    redisson_set_lease(java, 60000);
    assert_true(java_tries(java));
    t = locking_take(f, lock, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    locking_pass_time(50); /* looks of ours */
    assert_in_range(locking_pttl(f, "n"), 30000, 60000 - 50);
    since = wait_now_ms();
    java_unlocks(java);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(taker_release(t), LK_OK);
}

TEST(redissons_release_serves_our_waiter_at_once)
{
    a_release_serves_our_waiter_at_once(f, ours(f));
}

/* Then it looks every few milliseconds. */
TEST(it_does_where_the_server_may_not_tell)
{
    static const lk_client_options app = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                          .password = "secret"};

    freeReplyObject(
        server_command(f->server,
                       "ACL SETUSER app on >secret ~* &* +@all -client "
                       "+client|setname +client|id +client|kill"));
    a_release_serves_our_waiter_at_once(f,
                                        locking_lock(f, locking_open(f, &app),
                                                     "n"));
}

/* A look a second, the first in line and the others. */
TEST(waiting_for_redissons_hold_costs_next_to_nothing)
{
    redisson *java = java_new(f);
    lk_client *first = locking_open(f, NULL);
    lk_client *second = locking_open(f, NULL);
    taker *takers[2];

    assert_true(java_tries(java));
    takers[0] = locking_take(f, locking_lock(f, first, "n"), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    takers[1] = locking_take(f, locking_lock(f, second, "n"), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 2);
    locking_pass_time(500);
    assert_in_range(locking_stats(second).rechecks, 0, 3);
    assert_in_range(locking_stats(first).rechecks, 0, 3);
    java_unlocks(java);
    assert_status(taker_release(takers[0]), LK_OK);
    assert_status(taker_release(takers[1]), LK_OK);
}

/* One release, one message, and its text is Redisson's: 0. */
TEST(a_release_that_none_of_ours_waits_for_says_0_once)
{
    lk_hold *hold = locking_hold(ours(f));
    redisson *java = java_new(f);

    redisson_subscribe(java, REDISSON_LOCK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(redisson_hears(java, SOON_MS), 0);
    assert_int_equal(redisson_hears(java, 50), -1);
}

/* An open release: Redisson is told. Nobody of Redisson's takes it, so it is ours. */
TEST(an_open_release_is_not_lost_on_our_waiter)
{
    lk_hold *hold = locking_hold(ours(f));
    taker *t = locking_take(f, ours(f), LK_FOREVER, NULL);
    redisson *java = java_new(f);
    uint64_t since;

    redisson_subscribe(java, REDISSON_LOCK);
    locking_wait_queued(f, "n", 1);
    since = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_int_equal(redisson_hears(java, SOON_MS), 0);
    assert_status(taker_release(t), LK_OK);
}

/* ---- by force ---- */

/* It is next renewed after a third of its lease: the inbox, at whose coming all
   holds are renewed, stands. */
static lk_hold *watched_hold(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};

    return locking_hold(locking_lock(f, locking_open_calm(f, &options), "n"));
}

TEST(redissons_force_is_told_to_our_holder_when_it_renews)
{
    lk_hold *hold = watched_hold(f);
    redisson *java = java_new(f);
    uint64_t since = wait_now_ms();

    assert_true(redisson_force(java, REDISSON_LOCK));
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_lease_ms() / 3 +
                                    wait_scaled_ms(AT_ONCE_MS)));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

TEST(our_holder_is_told_that_redisson_took_it)
{
    lk_hold *hold = watched_hold(f);
    redisson *java = java_new(f);

    assert_true(redisson_force(java, REDISSON_LOCK));
    assert_true(java_tries(java));
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_TAKEN);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_true(redisson_renew(java, REDISSON_LOCK));
    java_unlocks(java);
}

/* Redisson tells nobody of ours: the waiter's look finds it within a second. */
TEST(redissons_force_serves_our_waiter)
{
    lk_hold *hold = locking_hold(ours(f));
    taker *t = locking_take(f, ours(f), LK_FOREVER, NULL);
    uint64_t since;

    locking_wait_queued(f, "n", 1);
    since = wait_now_ms();
    assert_true(redisson_force(java_new(f), REDISSON_LOCK));
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(AT_ONCE_MS)));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_release(t), LK_OK);
}

TEST(our_force_ends_redissons_hold)
{
    lk_lock *lock = ours(f);
    redisson *java = java_new(f);

    assert_true(java_tries(java));
    redisson_subscribe(java, REDISSON_LOCK);
    assert_status(lk_lock_force_release(lock), LK_OK);
    assert_int_equal(redisson_hears(java, SOON_MS), 0);
    assert_false(redisson_renew(java, REDISSON_LOCK));
    assert_int_equal(redisson_unlock(java, REDISSON_LOCK), -1);
    assert_status(lk_lock_force_release(lock), LK_ENOTHELD);
}

/* ---- the count of grants ---- */

/* Also of those that our threads pass on among themselves. */
TEST(a_token_is_above_every_fence_passed_on_locally)
{
    lk_lock *lock = ours(f);
    redisson *java = java_new(f);
    lk_hold *hold;
    taker *takers[4];
    uint64_t last;

    assert_true(redisson_try(java, REDISSON_FENCED));
    last = (uint64_t)redisson_token(java);
    java_unlocks(java);
    hold = locking_hold(lock);
    assert_true(lk_hold_fence(hold) > last);
    for (unsigned i = 0; i < 4; i++) {
        takers[i] = locking_take(f, lock, LK_FOREVER, NULL);
        locking_wait_waiting(f->clients[0], i + 1);
    }
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < 4; i++) {
        assert_status(taker_join(takers[i]), LK_OK);
        if (lk_hold_fence(takers[i]->hold) > last)
            last = lk_hold_fence(takers[i]->hold);
        assert_status(taker_release(takers[i]), LK_OK);
    }
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    assert_true(redisson_try(java, REDISSON_FENCED));
    assert_true((uint64_t)redisson_token(java) > last);
    java_unlocks(java);
}

TEST(a_count_of_grants_is_made_only_where_redisson_is_said_to_be)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = LK_INTEROP_REDISSON};
    lk_lock *told = locking_lock(f, locking_open(f, &options), "n");
    lk_hold *hold;
    uint64_t fence;

    assert_status(lk_hold_release(locking_hold(ours(f))), LK_OK);
    assert_false(locking_exists(f, "redisson_lock_token:{n}"));
    hold = locking_hold(told);
    fence = lk_hold_fence(hold);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true((uint64_t)redisson_token(java_new(f)) >= fence);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
