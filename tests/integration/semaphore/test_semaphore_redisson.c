/* SPDX-License-Identifier: MIT */

/* Permits shared with Java services that use them as
   RPermitExpirableSemaphore. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/jpermits.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum { SOON_MS = 10000, LATE_MS = 1500 };

/* A client of a fleet of which it is known that Java is part. */
static lk_semaphore *sem_mixed(semaphores *f, uint64_t permits)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = LK_INTEROP_REDISSON};

    return sem_of(f, locking_open(f->base, &options), permits);
}

static void
assert_counts(lk_semaphore *semaphore, uint64_t permits, int64_t free)
{
    uint64_t is_permits = 0;
    int64_t is_free = 0;

    assert_status(lk_semaphore_count(semaphore, &is_permits, &is_free), LK_OK);
    assert_int_equal(is_permits, permits);
    assert_int_equal(is_free, free);
}

/* The id that Redisson's tools show for the first permit of a hold. */
static void id_of(semaphores *f, char hex[33])
{
    char *found =
        server_string(f->base->server, "EVAL %s 1 latchkey:{n}:h",
                      "local id = redis.call('HKEYS', KEYS[1])[1] return"
                      " (string.gsub(id, '.', function(byte) return"
                      " string.format('%02x', string.byte(byte)) end))");

    assert_non_null(found);
    assert_int_equal(strlen(found), 32);
    (void)snprintf(hex, 33, "%s", found);
    free(found);
}

/* ---- one number -------------------------------------------------------------- */

SEM_TEST(both_sides_count_the_same)
{
    lk_semaphore *semaphore = sem_new(f, 0);
    jpermits *java = jpermits_new(f->base->server);
    jgrant grant;
    lk_hold *hold;

    assert_int_equal(jpermits_total(java), 0);
    assert_true(jpermits_try_set(java, 5));
    assert_false(jpermits_try_set(java, 6));
    hold = sem_hold(semaphore, 2);
    assert_true(jpermits_try(java, 2, 30000, &grant));
    assert_false(jpermits_try(java, 2, 30000, &grant));
    sem_assert_busy(semaphore, 2);
    assert_int_equal(jpermits_available(java), 1);
    assert_int_equal(jpermits_acquired(java), 4);
    assert_int_equal(jpermits_total(java), 5);
    assert_counts(semaphore, 5, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(jpermits_available(java), 3);
    assert_int_equal(jpermits_release_all(java, &grant), 2);
    sem_assert_clean(f, 5);
    jpermits_free(java);
}

SEM_TEST(what_ours_set_java_finds_set)
{
    jpermits *java = jpermits_new(f->base->server);

    assert_status(lk_hold_release(sem_hold(sem_new(f, 3), 1)), LK_OK);
    assert_false(jpermits_try_set(java, 9));
    assert_int_equal(jpermits_total(java), 3);
    jpermits_free(java);
}

/* Up, down, equal, and below what is taken. */
SEM_TEST(both_sides_change_the_number)
{
    lk_semaphore *semaphore = sem_new(f, 2);
    jpermits *java = jpermits_new(f->base->server);
    lk_hold *hold = sem_hold(semaphore, 2);

    jpermits_set(java, 5);
    assert_counts(semaphore, 5, 3);
    jpermits_set(java, 5);
    assert_counts(semaphore, 5, 3);
    jpermits_set(java, 1);
    assert_counts(semaphore, 1, -1);
    assert_int_equal(jpermits_available(java), -1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_semaphore_resize(semaphore, 10), LK_OK);
    assert_int_equal(jpermits_total(java), 10);
    jpermits_add(java, 5);
    jpermits_add(java, -10);
    assert_counts(semaphore, 5, 3);
    jpermits_add(java, -10);
    assert_counts(semaphore, 0, -7);
    jpermits_add(java, 8);
    assert_counts(semaphore, 3, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 3);
    jpermits_free(java);
}

SEM_TEST(the_permits_end_with_the_semaphore)
{
    const unsigned ttl_ms = wait_lease_ms();
    lk_hold *hold;

    free(server_string(f->base->server, "SET n 2 PX %u", ttl_ms));
    hold = sem_hold(sem_new(f, 0), 1);
    locking_wait_integer(f->base, 0, "EXISTS n %s", "{n}:timeout");
    assert_true(wait_until(hold_is_lost, hold, 15000));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_int_equal(server_integer(f->base->server, "EXISTS n"), 0);
}

/* ---- each other's permits -------------------------------------------------------- */

SEM_TEST(java_sees_how_long_ours_last)
{
    jpermits *java = jpermits_new(f->base->server);
    lk_hold *hold = sem_hold_for(sem_new(f, 2), 1, 60000);
    char id[33];

    id_of(f, id);
    assert_in_range(jpermits_lease(java, id), 50000, 60000);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(jpermits_lease(java, id), JPERMITS_NONE);
    jpermits_free(java);
}

SEM_TEST(java_may_keep_a_permit_of_ours)
{
    lk_semaphore *semaphore = sem_new(f, 1);
    jpermits *java = jpermits_new(f->base->server);
    lk_hold *hold = sem_hold(semaphore, 1);
    char id[33];

    id_of(f, id);
    assert_true(jpermits_update(java, id, JPERMITS_FOREVER));
    assert_int_equal(jpermits_lease(java, id), JPERMITS_FOREVER);
    assert_status(lk_hold_extend(hold, 90000), LK_OK);
    assert_int_equal(jpermits_lease(java, id), JPERMITS_FOREVER);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 1);
    jpermits_free(java);
}

/* And so does an operator with Redisson's tools. */
SEM_TEST(what_java_releases_of_ours_is_lost)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_semaphore *semaphore = sem_of(f, locking_open(f->base, &options), 1);
    jpermits *java = jpermits_new(f->base->server);
    lk_hold *hold = sem_hold(semaphore, 1);
    char id[33];

    id_of(f, id);
    assert_true(jpermits_release(java, id));
    assert_false(jpermits_release(java, id));
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    sem_assert_books(f, 1, 1);
    jpermits_free(java);
}

SEM_TEST(a_list_is_released_whole_or_not_at_all)
{
    jpermits *java = jpermits_new(f->base->server);
    lk_hold *hold = sem_hold(sem_new(f, 8), 2);
    jgrant grant;
    jgrant wrong;

    assert_true(jpermits_try(java, 6, 30000, &grant));
    wrong = grant;
    (void)memset(wrong.ids[3], '0', 32);
    assert_int_equal(jpermits_release_all(java, &wrong), 0);
    sem_assert_books(f, 8, 0);
    assert_int_equal(jpermits_release_all(java, &grant), 6);
    assert_int_equal(jpermits_release_all(java, &grant), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 8);
    jpermits_free(java);
}

SEM_TEST(permits_without_an_end_are_left_alone)
{
    lk_semaphore *semaphore = sem_new(f, 2);
    jpermits *java = jpermits_new(f->base->server);
    jgrant grant;

    assert_status(lk_hold_release(sem_hold(semaphore, 2)), LK_OK);
    assert_true(jpermits_try(java, 1, JPERMITS_FOREVER, &grant));
    sem_assert_busy(semaphore, 2);
    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    assert_int_equal(jpermits_lease(java, grant.ids[0]), JPERMITS_FOREVER);
    assert_true(jpermits_release(java, grant.ids[0]));
    sem_assert_clean(f, 2);
    jpermits_free(java);
}

/* ---- the dead ---------------------------------------------------------------------- */

SEM_TEST(what_a_dead_java_thread_had_comes_back)
{
    lk_semaphore *semaphore = sem_calm(f, 2);
    jpermits *java = jpermits_new(f->base->server);
    const unsigned lease = wait_lease_ms();
    jgrant grant;
    uint64_t begin;
    taker *t;

    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    begin = wait_now_ms();
    assert_true(jpermits_try(java, 2, lease, &grant));
    t = sem_take(f, semaphore, 2, LK_FOREVER, NULL);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, lease - 20,
                    wait_allowed_ms(lease + wait_scaled_ms(500)));
    assert_false(jpermits_release(java, grant.ids[0]));
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 2);
    jpermits_free(java);
}

SEM_TEST(what_a_dead_program_of_ours_had_comes_back_to_java)
{
    jpermits *java = jpermits_new(f->base->server);
    lk_semaphore *semaphore = sem_new(f, 2);
    const unsigned lease = wait_lease_ms();
    lk_hold *hold = sem_hold_for(semaphore, 2, lease);
    char text[LK_EXPORT_SIZE];
    jgrant grant;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_true(
        jpermits_acquire(java, 2, 30000, lease + wait_scaled_ms(1000), &grant));
    assert_int_equal(jpermits_release_all(java, &grant), 2);
    sem_assert_books(f, 2, 2);
    jpermits_free(java);
}

/* ---- waiting for each other ----------------------------------------------------------- */

typedef struct jthread {
    pthread_t id;
    jpermits *java;
    int count;
    bool has;
    jgrant grant;
} jthread;

static void *jthread_run(void *data)
{
    jthread *t = data;

    t->has = jpermits_acquire(t->java, t->count, 30000, wait_scaled_ms(SOON_MS),
                              &t->grant);
    return NULL;
}

/* Waits until it listens, so that what is free afterwards it hears of. */
static void jthread_start(semaphores *f, jthread *t, int count)
{
    *t = (jthread){.java = jpermits_new(f->base->server), .count = count};
    assert_int_equal(pthread_create(&t->id, NULL, jthread_run, t), 0);
    locking_wait_integer(f->base, 1,
                         "EVAL return(redis.call('pubsub','numsub',KEYS[1])[2])"
                         " 1 %s",
                         "redisson_sc:{n}");
}

static void jthread_end(jthread *t)
{
    assert_int_equal(pthread_join(t->id, NULL), 0);
    assert_true(t->has);
    assert_int_equal(jpermits_release_all(t->java, &t->grant), t->count);
    jpermits_free(t->java);
}

SEM_TEST(a_java_thread_hears_of_every_permit)
{
    lk_semaphore *semaphore = sem_new(f, 2);
    lk_hold *first;
    lk_hold *second;
    jthread t;

    jthread_start(f, &t, 1); /* nothing is set yet */
    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    jthread_end(&t);
    first = sem_hold(semaphore, 1);
    second = sem_hold(semaphore, 1);
    jthread_start(f, &t, 2);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    jthread_end(&t);
    first = sem_hold(semaphore, 2);
    jthread_start(f, &t, 1);
    assert_status(lk_semaphore_resize(semaphore, 3), LK_OK);
    jthread_end(&t);
    assert_status(lk_hold_release(first), LK_OK);
    sem_assert_clean(f, 3);
}

/* Nobody tells it of Java's release: it looks about once a second. */
SEM_TEST(a_java_release_is_seen_within_a_second)
{
    lk_semaphore *semaphore = sem_calm(f, 1);
    jpermits *java = jpermits_new(f->base->server);
    jgrant grant;
    taker *t;
    uint64_t begin;

    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    assert_true(jpermits_try(java, 1, 60000, &grant));
    t = sem_queue_up(f, semaphore, 1, 1);
    begin = wait_now_ms();
    assert_true(jpermits_release(java, grant.ids[0]));
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(LATE_MS)));
    assert_status(taker_release(t), LK_OK);
    jpermits_free(java);
}

SEM_TEST(in_a_mixed_fleet_it_is_seen_at_once)
{
    lk_semaphore *semaphore = sem_mixed(f, 1);
    jpermits *java = jpermits_new(f->base->server);
    uint64_t quickest = UINT64_MAX;

    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    for (int i = 0; i < 10; i++) {
        jgrant grant;
        taker *t;
        uint64_t begin;

        assert_true(jpermits_try(java, 1, 60000, &grant));
        t = sem_queue_up(f, semaphore, 1, 1);
        begin = wait_now_ms();
        assert_true(jpermits_release(java, grant.ids[0]));
        assert_status(taker_join(t), LK_OK);
        if (wait_now_ms() - begin < quickest)
            quickest = wait_now_ms() - begin;
        assert_status(taker_release(t), LK_OK);
    }
    assert_in_range(quickest, 0, wait_scaled_ms(200));
    jpermits_free(java);
}

/* ---- clocks ------------------------------------------------------------------------------ */

/* It takes back what its own clock calls ended. */
SEM_TEST(a_java_host_whose_clock_is_ahead_cuts_nothing_short)
{
    lk_semaphore *semaphore = sem_mixed(f, 2);
    jpermits *java = jpermits_new(f->base->server);
    lk_hold *hold = sem_hold_for(semaphore, 2, 4000);
    jgrant grant;

    jpermits_set_skew(java, 8000);
    assert_false(jpermits_try(java, 1, 30000, &grant));
    assert_int_equal(jpermits_available(java), 0);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 2);
    jpermits_free(java);
}

SEM_TEST(a_java_host_whose_clock_is_behind_is_not_cut_short)
{
    lk_semaphore *semaphore = sem_mixed(f, 1);
    jpermits *java = jpermits_new(f->base->server);
    jgrant grant;

    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    jpermits_set_skew(java, -8000);
    assert_true(jpermits_try(java, 1, 5000, &grant));
    sem_assert_busy(semaphore, 1);
    assert_true(jpermits_release(java, grant.ids[0]));
    sem_assert_clean(f, 1);
    jpermits_free(java);
}

/* Ours all go by the server, and need no time for clocks. */
SEM_TEST(among_ours_a_lease_ends_in_time_in_a_mixed_fleet_too)
{
    const unsigned lease = wait_lease_ms();
    uint64_t begin = wait_now_ms();
    lk_hold *hold = sem_hold_for(sem_mixed(f, 1), 1, lease);
    taker *t = sem_take(f, sem_mixed(f, 1), 1, LK_FOREVER, NULL);

    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, lease - lease / 100 - 4,
                    wait_allowed_ms(lease + 1000 + wait_scaled_ms(500)));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 1);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
