/* SPDX-License-Identifier: MIT */

/*
 * The bare counter through the library: taking, giving back, waiting in order.
 * The scenarios that Redisson's own tests have are among them.
 */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/plain.h"
#include "support/wait.h"

static int64_t free_of(lk_plain_semaphore *semaphore)
{
    int64_t count = -999;

    assert_status(lk_plain_semaphore_count(semaphore, &count), LK_OK);
    return count;
}

/* ---- taking and giving back -------------------------------------------------- */

LOCKS_TEST(permits_are_taken_and_given_back)
{
    lk_plain_semaphore *semaphore = plain_with(f, 10);

    plain_take(semaphore, 10, 0);
    assert_int_equal(free_of(semaphore), 0);
    assert_status(lk_plain_semaphore_add(semaphore, 4), LK_OK);
    assert_int_equal(free_of(semaphore), 4);
    plain_give(semaphore, 10);
    assert_int_equal(free_of(semaphore), 14);
    plain_take(semaphore, 5, LK_FOREVER);
    assert_int_equal(free_of(semaphore), 9);
}

LOCKS_TEST(a_try_of_more_than_is_free_is_busy)
{
    lk_plain_semaphore *semaphore = plain_with(f, 2);

    assert_status(lk_plain_semaphore_acquire(semaphore, 3, 0, NULL), LK_EBUSY);
    assert_int_equal(free_of(semaphore), 2);
    plain_take(semaphore, 2, 0);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), LK_EBUSY);
}

/* Nobody owns a permit. */
LOCKS_TEST(anybody_may_give_back)
{
    lk_plain_semaphore *one = plain_with(f, 1);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);

    plain_take(one, 1, 0);
    plain_give(other, 1);
    plain_take(other, 1, 0);
    plain_give(one, 2);
    assert_int_equal(free_of(one), 2);
}

LOCKS_TEST(permits_are_not_reentered)
{
    lk_plain_semaphore *semaphore = plain_with(f, 1);

    plain_take(semaphore, 1, 0);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), LK_EBUSY);
}

LOCKS_TEST(permits_outlive_the_handle_and_the_client)
{
    lk_client *client = locking_open(f, NULL);
    lk_plain_semaphore *semaphore = NULL;

    (void)plain_with(f, 3);
    assert_status(lk_plain_semaphore_new(&semaphore, client, "n"), LK_OK);
    plain_take(semaphore, 2, 0);
    lk_plain_semaphore_free(semaphore);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_int_equal(plain_value(f), 1);
}

/* ---- setting, adding, draining -------------------------------------------------- */

LOCKS_TEST(the_first_to_set_sets)
{
    lk_plain_semaphore *semaphore = plain_with(f, 10);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);

    assert_status(lk_plain_semaphore_try_set(other, 15, 0), LK_EALREADY);
    assert_int_equal(free_of(other), 10);
    assert_status(lk_plain_semaphore_delete(other), LK_OK);
    assert_status(lk_plain_semaphore_try_set(semaphore, 15, 0), LK_OK);
    assert_int_equal(free_of(other), 15);
}

LOCKS_TEST(a_counter_ends_when_its_time_is_over)
{
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);
    int64_t count = 7;

    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 1000), LK_OK);
    assert_int_equal(free_of(semaphore), 1);
    assert_in_range(locking_pttl(f, "n"), 1, 1000);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    assert_status(lk_plain_semaphore_count(semaphore, &count), LK_EUNSET);
    assert_int_equal(count, 7);
}

/* Redisson makes such a counter with the first release. */
LOCKS_TEST(what_is_unset_has_to_be_set_first)
{
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);
    int64_t taken = 7;

    assert_status(lk_plain_semaphore_release(semaphore, 1), LK_EUNSET);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), LK_EUNSET);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL),
                  LK_EUNSET);
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_EUNSET);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_EUNSET);
    assert_int_equal(taken, 7);
    assert_false(locking_exists(f, "n"));
    assert_status(lk_plain_semaphore_add(semaphore, 2), LK_OK);
    plain_take(semaphore, 2, 0);
}

LOCKS_TEST(more_can_be_taken_away_than_there_is)
{
    lk_plain_semaphore *semaphore = plain_with(f, 0);

    assert_status(lk_plain_semaphore_add(semaphore, -5), LK_OK);
    assert_int_equal(free_of(semaphore), -5);
    plain_give(semaphore, 10);
    assert_int_equal(free_of(semaphore), 5);
    plain_take(semaphore, 5, 0);
    assert_int_equal(free_of(semaphore), 0);
}

LOCKS_TEST(a_drain_takes_what_is_free)
{
    lk_plain_semaphore *semaphore = plain_with(f, 10);
    int64_t taken = 0;

    plain_take(semaphore, 3, 0);
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_OK);
    assert_int_equal(taken, 7);
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_OK);
    assert_int_equal(taken, 0);
    assert_status(lk_plain_semaphore_add(semaphore, -2), LK_OK);
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_OK);
    assert_int_equal(taken, -2);
    assert_int_equal(free_of(semaphore), 0);
}

/* ---- waiting ----------------------------------------------------------------- */

LOCKS_TEST(a_release_satisfies_who_waits)
{
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);
    uint64_t quickest = UINT64_MAX;

    for (int i = 0; i < 8; i++) {
        taker *t = plain_queue_up(f, other, 1, 1);
        uint64_t begin = wait_now_ms();

        plain_give(semaphore, 1);
        assert_status(taker_join(t), LK_OK);
        if (wait_now_ms() - begin < quickest)
            quickest = wait_now_ms() - begin;
    }
    /* Not by its own look, which comes about once a second. */
    assert_in_range(quickest, 0, wait_allowed_ms(wait_scaled_ms(200)));
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), LK_EBUSY);
    locking_wait_queued(f, "n", 0);
}

LOCKS_TEST(a_wait_needs_as_many_releases_as_it_takes)
{
    lk_plain_semaphore *semaphore = plain_with(f, 2);
    taker *t = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 4, 1);

    plain_give(semaphore, 1);
    assert_int_equal(free_of(semaphore), 3);
    assert_true(taker_waits(t));
    plain_give(semaphore, 1);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(free_of(semaphore), 0);
}

LOCKS_TEST(an_add_satisfies_who_waits)
{
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    taker *t = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 2, 1);

    assert_status(lk_plain_semaphore_add(semaphore, 1), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_int_equal(free_of(semaphore), 0);
}

LOCKS_TEST(a_wait_ends_with_its_time)
{
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    unsigned wait_ms = wait_scaled_ms(300);
    uint64_t begin = wait_now_ms();

    assert_status(lk_plain_semaphore_acquire(semaphore, 2, wait_ms, NULL),
                  LK_ETIMEDOUT);
    assert_in_range(wait_now_ms() - begin, wait_ms,
                    wait_allowed_ms(wait_ms + wait_scaled_ms(2000)));
    locking_wait_queued(f, "n", 0);
    assert_int_equal(free_of(semaphore), 1);
}

LOCKS_TEST(waiters_are_served_in_order)
{
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);
    taker *takers[8];

    for (int i = 0; i < 8; i++)
        takers[i] = plain_queue_up(f, i % 2 == 0 ? semaphore : other, 1, i + 1);
    for (int i = 0; i < 8; i++) {
        plain_give(other, 1);
        assert_status(taker_join(takers[i]), LK_OK);
        assert_int_equal(takers[i]->turn, i + 1);
    }
    assert_int_equal(free_of(semaphore), 0);
}

LOCKS_TEST(one_release_serves_several)
{
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    taker *takers[6];
    uint64_t begin;

    for (int i = 0; i < 6; i++)
        takers[i] =
            plain_queue_up(f,
                           i % 2 == 0 ? semaphore
                                      : locking_new(f, lk_plain_semaphore),
                           (uint64_t)i + 1, i + 1);
    begin = wait_now_ms();
    plain_give(semaphore, 15); /* 1 to 5 */
    for (int i = 0; i < 5; i++)
        assert_status(taker_join(takers[i]), LK_OK);
    /* Five looks would be as many seconds. */
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(2500)));
    assert_true(taker_waits(takers[5]));
    assert_int_equal(free_of(semaphore), 0);
    plain_give(semaphore, 6);
    assert_status(taker_join(takers[5]), LK_OK);
}

/* Whoever comes later waits behind it, however little it needs. */
LOCKS_TEST(a_large_request_is_not_starved_by_small_ones)
{
    lk_plain_semaphore *semaphore = plain_with(f, 3);
    taker *large = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 4, 1);
    taker *small = plain_queue_up(f, semaphore, 1, 2);

    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), LK_EBUSY);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, wait_scaled_ms(300),
                                             NULL),
                  LK_ETIMEDOUT);
    assert_true(taker_waits(large));
    plain_give(semaphore, 1);
    assert_status(taker_join(large), LK_OK);
    assert_true(taker_waits(small));
    plain_give(semaphore, 1);
    assert_status(taker_join(small), LK_OK);
}

/* One whose client nobody hears, before all that live. */
static void put_dead(locking *f, int round, int number)
{
    char member[96];

    snprintf(member, sizeof(member),
             "d%d:%d 0123456789abcdef c 1 30000 - p dead", round, number);
    assert_int_equal(server_integer(f->server, "ZADD latchkey:{n}:q %lld %s",
                                    SERVER_BAND + number, member),
                     1);
}

/* One call looks at 64 waiters; the rest is looked at at once all the same. By
   their own looks alone few would be as quick. */
LOCKS_TEST(more_of_the_dead_than_one_call_looks_at_cost_nothing)
{
    enum { TIMES = 9 };
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);
    int quick = 0;

    for (int i = 0; i < TIMES; i++) {
        taker *t = plain_queue_up(f, other, 1, 1);
        uint64_t begin;

        for (int dead = 1; dead <= 200; dead++)
            put_dead(f, i, dead);
        begin = wait_now_ms();
        plain_give(semaphore, 1);
        assert_status(taker_join(t), LK_OK);
        quick += wait_now_ms() - begin <= wait_limit_ms(250);
        (void)server_integer(f->server, "DEL latchkey:{n}:q");
    }
    assert_in_range(quick, TIMES / 2 + 1, TIMES);
}

LOCKS_TEST(who_waits_behind_one_that_gives_up_is_served)
{
    lk_plain_semaphore *semaphore = plain_with(f, 3);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);
    taker *large = plain_begin(f, semaphore, 4, 700, NULL);
    taker *small;

    locking_wait_queued(f, "n", 1);
    small = plain_queue_up(f, other, 3, 2);
    assert_status(taker_join(large), LK_ETIMEDOUT);
    assert_status(taker_join(small), LK_OK);
    assert_in_range(small->took_ms, 0,
                    wait_allowed_ms(700 + wait_scaled_ms(2000)));
    assert_int_equal(free_of(semaphore), 0);
}

LOCKS_TEST(many_threads_of_one_client_wait_in_order)
{
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    taker *takers[40];

    for (int i = 0; i < 40; i++)
        takers[i] = plain_queue_up(f, semaphore, 1, i + 1);
    plain_give(semaphore, 40);
    for (int i = 0; i < 40; i++)
        assert_status(taker_join(takers[i]), LK_OK);
    assert_int_equal(free_of(semaphore), 0);
    locking_wait_queued(f, "n", 0);
}

/* ---- the end of the counter ---------------------------------------------------- */

LOCKS_TEST(waiters_of_a_deleted_counter_end)
{
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    taker *takers[3];
    uint64_t begin;

    takers[0] = plain_queue_up(f, semaphore, 2, 1);
    takers[1] = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 1, 2);
    takers[2] = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 1, 3);
    begin = wait_now_ms();
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    for (int i = 0; i < 3; i++)
        assert_status(taker_join(takers[i]), LK_EGONE);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(2000)));
    locking_wait_queued(f, "n", 0);
}

LOCKS_TEST(waiters_end_although_the_counter_is_set_anew)
{
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    taker *takers[2];

    takers[0] = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 2, 1);
    takers[1] = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 1, 2);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    assert_status(lk_plain_semaphore_try_set(semaphore, 9, 0), LK_OK);
    assert_status(taker_join(takers[0]), LK_EGONE);
    assert_status(taker_join(takers[1]), LK_EGONE);
    assert_int_equal(free_of(semaphore), 9);
}

LOCKS_TEST(waiters_end_with_the_counters_time)
{
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);
    taker *t;

    assert_status(lk_plain_semaphore_try_set(semaphore, 1, 1500), LK_OK);
    t = plain_begin(f, locking_new(f, lk_plain_semaphore), 2, LK_FOREVER, NULL);
    assert_status(taker_join(t), LK_EGONE);
    assert_in_range(t->took_ms, 0,
                    wait_allowed_ms(1500 + wait_scaled_ms(2000)));
}

/* Nobody tells: about once a second each waiter looks. */
LOCKS_TEST(waiters_end_when_others_delete_the_counter)
{
    taker *t;
    uint64_t begin;

    (void)plain_with(f, 1);
    t = plain_queue_up(f, locking_new(f, lk_plain_semaphore), 2, 1);
    begin = wait_now_ms();
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_status(taker_join(t), LK_EGONE);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(4000)));
}

/* ---- exclusion ------------------------------------------------------------------- */

typedef struct crowd {
    lk_plain_semaphore *semaphore;
    atomic_int *inside, *most, *failed;
    int rounds;
} crowd;

static void *crowd_run(void *data)
{
    crowd *c = data;

    for (int i = 0; i < c->rounds; i++) {
        int now;

        if (lk_plain_semaphore_acquire(c->semaphore, 1, LK_FOREVER, NULL) !=
            LK_OK) {
            atomic_fetch_add(c->failed, 1);
            continue;
        }
        now = atomic_fetch_add(c->inside, 1) + 1;
        if (now > atomic_load(c->most))
            atomic_store(c->most, now);
        atomic_fetch_sub(c->inside, 1);
        if (lk_plain_semaphore_release(c->semaphore, 1) != LK_OK)
            atomic_fetch_add(c->failed, 1);
    }
    return NULL;
}

LOCKS_TEST(no_more_are_inside_than_there_are_permits)
{
    atomic_int inside = 0, most = 0, failed = 0;
    crowd crowds[15];
    pthread_t threads[15];

    for (int i = 0; i < 15; i++) {
        lk_plain_semaphore *semaphore = i == 0 ? plain_with(f, 2)
                                        : i % 4 == 0
                                            ? locking_new(f, lk_plain_semaphore)
                                            : crowds[i - 1].semaphore;

        crowds[i] = (crowd){semaphore, &inside, &most, &failed, 40};
    }
    for (int i = 0; i < 15; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run,
                                        &crowds[i]),
                         0);
    for (int i = 0; i < 15; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(failed, 0);
    assert_in_range(most, 1, 2);
    assert_int_equal(free_of(crowds[0].semaphore), 2);
    locking_wait_queued(f, "n", 0);
}

/* A large number is no different from a small one. */
LOCKS_TEST(all_that_there_can_be_are_taken_and_given_back)
{
    lk_plain_semaphore *semaphore =
        plain_with(f, (uint64_t)LK_PLAIN_SEMAPHORE_MAX);
    lk_plain_semaphore *other = locking_new(f, lk_plain_semaphore);
    taker *one, *all;

    plain_take(semaphore, (uint64_t)LK_PLAIN_SEMAPHORE_MAX, 0);
    all = plain_queue_up(f, other, (uint64_t)LK_PLAIN_SEMAPHORE_MAX, 1);
    one = plain_queue_up(f, semaphore, 1, 2);
    plain_give(semaphore, (uint64_t)LK_PLAIN_SEMAPHORE_MAX);
    assert_status(taker_join(all), LK_OK);
    assert_int_equal(free_of(semaphore), 0);
    plain_give(other, (uint64_t)LK_PLAIN_SEMAPHORE_MAX);
    assert_status(taker_join(one), LK_OK);
    plain_give(semaphore, 1);
    assert_true(free_of(semaphore) == LK_PLAIN_SEMAPHORE_MAX);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
