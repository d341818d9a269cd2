/* SPDX-License-Identifier: MIT */

/*
 * One name, Latchkey and Redisson: who keeps whom out, who wakes whom, and
 * what each finds in Redis. Redisson is played by a stand-in.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/standin.h"
#include "support/wait.h"

enum {
    SOON_MS = 5000,
    AT_ONCE_MS = 250 /* far less than the second between two looks */
};

static int teardown(void **state)
{
    standins_free();
    return locking_teardown(state);
}

static standin *redisson(locking *f, standin_kind kind)
{
    return standin_new(kind, server_socket(f->server), "n");
}

static lk_lock *ours(locking *f)
{
    return locking_lock(f, locking_open(f, NULL), "n");
}

/* A lock() of Redisson's, in a thread. */
typedef struct suitor {
    pthread_t thread;
    standin *standin;
    atomic_bool has_it;
} suitor;

static void *suitor_run(void *data)
{
    suitor *s = data;

    s->has_it = standin_lock(s->standin, SOON_MS);
    return NULL;
}

static bool has_a_listener(void *data)
{
    redisReply *reply =
        server_command(data, "PUBSUB NUMSUB redisson_lock__channel:{n}");
    bool has_one = reply->elements == 2 && reply->element[1]->integer == 1;

    freeReplyObject(reply);
    return has_one;
}

/* Begins, and listens. */
static void suitor_start(locking *f, suitor *s)
{
    s->standin = redisson(f, STANDIN_LOCK);
    s->has_it = false;
    assert_int_equal(pthread_create(&s->thread, NULL, suitor_run, s), 0);
    assert_true(wait_until(has_a_listener, f->server, SOON_MS));
}

static bool suitor_has_it(suitor *s)
{
    (void)pthread_join(s->thread, NULL);
    return s->has_it;
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, teardown)

/* ---- who keeps whom out ---- */

TEST(our_hold_keeps_redisson_out)
{
    lk_hold *hold = locking_hold(ours(f));
    standin *java = redisson(f, STANDIN_LOCK);

    assert_false(standin_try(java));
    assert_int_equal(standin_unlock(java), -1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(standin_try(java));
    assert_int_equal(standin_unlock(java), 1);
}

TEST(redissons_hold_keeps_us_out)
{
    lk_lock *lock = ours(f);
    standin *java = redisson(f, STANDIN_LOCK);
    lk_hold *hold = NULL;

    assert_true(standin_try(java));
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    assert_status(lk_lock_acquire(lock, wait_scaled_ms(300), NULL, &hold),
                  LK_ETIMEDOUT);
    assert_int_equal(standin_unlock(java), 1);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Redisson waits for as long as its acquire answers: the lease that is left. */
TEST(redisson_sees_the_lease_of_our_hold)
{
    lk_hold *hold = locking_hold_for(ours(f), 20000);
    standin *java = redisson(f, STANDIN_LOCK);

    assert_in_range(standin_acquire(java), 15000, 20000);
    assert_status(lk_hold_release(hold), LK_OK);
}

TEST(we_see_the_owner_and_the_lease_of_redissons_hold)
{
    lk_lock *lock = ours(f);
    standin *java = redisson(f, STANDIN_LOCK);
    lk_info *info = NULL;
    bool locked = false;

    standin_set_lease(java, 20000);
    assert_true(standin_try(java));
    assert_status(lk_lock_is_locked(lock, &locked), LK_OK);
    assert_true(locked);
    assert_status(lk_lock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0]->owner, standin_owner(java));
    assert_in_range(info->holders[0]->lease_ms, 15000, 20000);
    lk_info_free(info);
    assert_int_equal(standin_unlock(java), 1);
}

/* Its process is gone; its lease is all that there is. */
TEST(a_dead_hold_of_redissons_ends_with_its_lease)
{
    standin *java = redisson(f, STANDIN_LOCK);
    lk_lock *lock = ours(f);
    uint64_t begin = wait_now_ms();

    standin_set_lease(java, 600);
    assert_true(standin_try(java));
    standin_free(java);
    assert_status(taker_release(locking_take(f, lock, LK_FOREVER, NULL)),
                  LK_OK);
    assert_in_range(wait_now_ms() - begin, 600 - 2,
                    wait_allowed_ms(600 + wait_scaled_ms(AT_ONCE_MS)));
}

TEST(a_hold_of_ours_that_expires_goes_to_redisson)
{
    lk_hold *hold = locking_hold_for(ours(f), 600);
    standin *java = redisson(f, STANDIN_LOCK);

    assert_true(standin_lock(java, SOON_MS));
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_int_equal(standin_unlock(java), 1);
}

/* ---- who wakes whom ---- */

/* Its message is not for us, if there is one: the server tells our first in
   line that the key has changed. */
static void a_release_serves_our_waiter_at_once(locking *f, standin_kind kind,
                                                lk_lock *lock)
{
    standin *java = redisson(f, kind);
    taker *t;
    uint64_t since;

    assert_true(standin_try(java));
    t = locking_take(f, lock, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    since = wait_now_ms();
    assert_int_equal(standin_unlock(java), 1);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(taker_release(t), LK_OK);
}

TEST(redissons_release_serves_our_waiter_at_once)
{
    a_release_serves_our_waiter_at_once(f, STANDIN_LOCK, ours(f));
}

TEST(that_of_a_spin_lock_does_which_tells_nobody)
{
    a_release_serves_our_waiter_at_once(f, STANDIN_SPIN, ours(f));
}

TEST(that_of_a_fair_lock_does_which_tells_its_own)
{
    a_release_serves_our_waiter_at_once(f, STANDIN_FAIR, ours(f));
}

/* Then it looks every few milliseconds. */
TEST(it_does_where_the_server_may_not_tell)
{
    static const lk_client_options app = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                          .password = "secret"};
    lk_lock *lock;

    freeReplyObject(
        server_command(f->server,
                       "ACL SETUSER app on >secret ~* &* +@all -client "
                       "+client|setname +client|id +client|kill"));
    lock = locking_lock(f, locking_open(f, &app), "n");
    a_release_serves_our_waiter_at_once(f, STANDIN_LOCK, lock);
}

/* A look a second, the first in line and the others. */
TEST(waiting_for_redissons_hold_costs_next_to_nothing)
{
    standin *java = redisson(f, STANDIN_LOCK);
    lk_client *first = locking_open(f, NULL);
    lk_client *second = locking_open(f, NULL);
    taker *takers[2];

    assert_true(standin_try(java));
    takers[0] = locking_take(f, locking_lock(f, first, "n"), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    takers[1] = locking_take(f, locking_lock(f, second, "n"), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 2);
    locking_pass_time(500);
    assert_in_range(locking_stats(second).rechecks, 0, 3);
    assert_in_range(locking_stats(first).rechecks, 0, 3);
    assert_int_equal(standin_unlock(java), 1);
    assert_status(taker_release(takers[0]), LK_OK);
    assert_status(taker_release(takers[1]), LK_OK);
}

TEST(our_release_wakes_redissons_waiter)
{
    lk_hold *hold = locking_hold(ours(f));
    suitor s;

    suitor_start(f, &s);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(suitor_has_it(&s));
    assert_int_equal(standin_unlock(s.standin), 1);
}

/* One release, one message, and its text is Redisson's: 0. */
TEST(a_release_that_none_of_ours_waits_for_says_0_once)
{
    lk_hold *hold = locking_hold(ours(f));
    standin *java = redisson(f, STANDIN_LOCK);

    standin_subscribe(java);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(standin_hears(java, SOON_MS));
    assert_false(standin_hears(java, 50));
}

typedef struct race {
    taker *taker;
    suitor *suitor;
} race;

static bool is_won(void *data)
{
    const race *r = data;

    return r->taker->done || r->suitor->has_it;
}

static void redisson_has_it(suitor *s)
{
    assert_true(suitor_has_it(s));
    assert_int_equal(standin_unlock(s->standin), 1);
}

/* An open release: Redisson is told at once, and whoever comes first has it.
   The other one has it next. */
TEST(our_release_wakes_redisson_though_ours_wait)
{
    lk_hold *hold = locking_hold(ours(f));
    taker *t = locking_take(f, ours(f), LK_FOREVER, NULL);
    standin *listener;
    suitor s;
    race r = {t, &s};

    suitor_start(f, &s);
    listener = redisson(f, STANDIN_LOCK);
    standin_subscribe(listener);
    locking_wait_queued(f, "n", 1);
    assert_false(standin_hears(listener, 0));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(standin_hears(listener, SOON_MS));
    assert_true(wait_until(is_won, &r, SOON_MS));
    if (s.has_it) {
        redisson_has_it(&s);
        assert_status(taker_release(t), LK_OK);
    } else {
        assert_status(taker_release(t), LK_OK);
        redisson_has_it(&s);
    }
}

/* Nobody of Redisson's takes it, so it is ours. */
TEST(an_open_release_is_not_lost_on_our_waiter)
{
    lk_hold *hold = locking_hold(ours(f));
    taker *t = locking_take(f, ours(f), LK_FOREVER, NULL);
    standin *java = redisson(f, STANDIN_LOCK);
    uint64_t since;

    standin_subscribe(java);
    locking_wait_queued(f, "n", 1);
    since = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_true(standin_hears(java, SOON_MS));
    assert_status(taker_release(t), LK_OK);
}

/* ---- what is Redisson's alone ---- */

TEST(redissons_reentry_is_counted_by_redisson_alone)
{
    standin *java = redisson(f, STANDIN_LOCK);
    taker *t;

    assert_true(standin_try(java));
    t = locking_take(f, ours(f), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    assert_true(standin_try(java));
    locking_pass_time(50); /* looks of ours */
    assert_int_equal(server_integer(f->server, "HINCRBY n %s 0",
                                    standin_owner(java)),
                     2);
    assert_int_equal(server_integer(f->server, "HLEN n"), 1);
    assert_int_equal(standin_unlock(java), 0);
    locking_pass_time(50);
    assert_false(atomic_load(&t->done));
    assert_int_equal(standin_unlock(java), 1);
    assert_status(taker_release(t), LK_OK);
}

TEST(a_waiter_of_ours_does_not_lengthen_redissons_lease)
{
    standin *java = redisson(f, STANDIN_LOCK);
    taker *t;

    standin_set_lease(java, 20000);
    assert_true(standin_try(java));
    t = locking_take(f, ours(f), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    locking_pass_time(50);
    assert_in_range(locking_pttl(f, "n"), 15000, 20000 - 50);
    assert_int_equal(standin_unlock(java), 1);
    assert_status(taker_release(t), LK_OK);
}

TEST(redissons_watchdog_keeps_its_hold_while_ours_wait)
{
    standin *java = redisson(f, STANDIN_LOCK);
    taker *t;

    standin_set_watchdog(java, wait_lease_ms());
    assert_true(standin_try(java));
    t = locking_take(f, ours(f), LK_FOREVER, NULL);
    standin_keep(java, wait_lease_ms() * 5 / 4);
    assert_false(atomic_load(&t->done));
    assert_int_equal(standin_unlock(java), 1);
    assert_status(taker_release(t), LK_OK);
}

/* Its latches and its counters of other names are of no concern. */
TEST(what_redisson_leaves_behind_does_not_disturb)
{
    standin *java = redisson(f, STANDIN_LOCK);
    lk_lock *lock = ours(f);

    free(server_string(f->server,
                       "SET redisson_unlock_latch:{n}:00 1 PX 16000"));
    assert_true(standin_try(java));
    assert_int_equal(standin_unlock(java), 1);
    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    assert_true(locking_exists(f, "redisson_unlock_latch:{n}:00"));
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
    standin *java = redisson(f, STANDIN_LOCK);
    uint64_t since = wait_now_ms();

    assert_true(standin_force_unlock(java));
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
    standin *java = redisson(f, STANDIN_LOCK);

    assert_true(standin_force_unlock(java));
    assert_true(standin_try(java));
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_TAKEN);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_true(standin_renew(java));
    assert_int_equal(standin_unlock(java), 1);
}

/* Redisson tells nobody of ours: the waiter's look finds it within a second. */
TEST(redissons_force_serves_our_waiter)
{
    lk_hold *hold = locking_hold(ours(f));
    taker *t = locking_take(f, ours(f), LK_FOREVER, NULL);
    uint64_t since;

    locking_wait_queued(f, "n", 1);
    since = wait_now_ms();
    assert_true(standin_force_unlock(redisson(f, STANDIN_LOCK)));
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(AT_ONCE_MS)));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_release(t), LK_OK);
}

TEST(our_force_ends_redissons_hold_and_wakes_its_waiter)
{
    lk_lock *lock = ours(f);
    standin *java = redisson(f, STANDIN_LOCK);
    suitor s;

    assert_true(standin_try(java));
    suitor_start(f, &s);
    assert_status(lk_lock_force_release(lock), LK_OK);
    assert_true(suitor_has_it(&s));
    assert_false(standin_renew(java));
    assert_int_equal(standin_unlock(java), -1);
    assert_int_equal(standin_unlock(s.standin), 1);
    assert_status(lk_lock_force_release(lock), LK_ENOTHELD);
}

/* ---- the count of grants ---- */

TEST(our_fences_and_redissons_tokens_grow_as_one)
{
    lk_lock *lock = ours(f);
    standin *java = redisson(f, STANDIN_FENCED);
    uint64_t last = 0;

    for (int i = 0; i < 3; i++) {
        uint64_t token;
        lk_hold *hold;

        assert_true(standin_try(java));
        token = (uint64_t)standin_token(java);
        assert_true(token > last);
        assert_int_equal(standin_unlock(java), 1);
        hold = locking_hold(lock);
        assert_true(lk_hold_fence(hold) > token);
        last = lk_hold_fence(hold);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

/* The same for the fences that our threads pass on among themselves. */
TEST(a_token_is_above_every_fence_passed_on_locally)
{
    lk_lock *lock = ours(f);
    standin *java = redisson(f, STANDIN_FENCED);
    lk_hold *hold;
    taker *takers[4];
    uint64_t last = 0;

    assert_true(standin_try(java));
    assert_int_equal(standin_unlock(java), 1);
    hold = locking_hold(lock);
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
    assert_true(standin_try(java));
    assert_true((uint64_t)standin_token(java) > last);
    assert_int_equal(standin_unlock(java), 1);
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
    assert_true((uint64_t)standin_token(redisson(f, STANDIN_FENCED)) >= fence);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
