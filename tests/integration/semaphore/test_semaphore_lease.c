/* SPDX-License-Identifier: MIT */

/* How long permits are held, how a holder learns that they are not, and that
   each is given back once. */

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/semaphores.h"
#include "support/wait.h"

/* LATE_MS: from the end of a lease until the test has seen it; scaled. */
enum { SOON_MS = 3000, LATE_MS = 500 };

/* A client whose holds are renewed. */
static lk_client *open_watchdog(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};

    return locking_open(f, &options);
}

/* Takes one of a claim's permits out, as Redisson's sweep or release does. */
static void lose_one(locking *f)
{
    assert_int_equal(server_integer(f->server, "EVAL %s 2 {n}:timeout n",
                                    "local one = redis.call('ZRANGE', KEYS[1],"
                                    " 0, 0)[1]"
                                    " redis.call('ZREM', KEYS[1], one)"
                                    " redis.call('INCR', KEYS[2]) return 1"),
                     1);
}

/* ---- leases ---- */

LOCKS_TEST(a_fixed_lease_ends_when_it_was_told_to)
{
    lk_semaphore *semaphore = sem_new(f, 2);
    uint64_t begin = wait_now_ms(), lease = wait_lease_ms();
    lk_hold *hold = sem_hold_for(semaphore, 2, lease);

    assert_in_range(lk_hold_remaining_ms(hold), 1, lease - lease / 100 - 2);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_in_range(wait_now_ms() - begin, lease - lease / 100 - 4,
                    wait_allowed_ms(lease + wait_limit_ms(LATE_MS)));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_EXPIRED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    sem_assert_clean(f, 2);
}

LOCKS_TEST(the_lease_of_the_semaphore_is_that_of_its_acquires)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 2, .lease_ms = 20000};
    lk_semaphore *semaphore = sem_with(f, locking_open(f, NULL), "n", &options);
    lk_hold *hold = sem_hold(semaphore, 1);

    assert_in_range(lk_hold_remaining_ms(hold), 1000, 19798);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = sem_hold_for(semaphore, 1, 60000);
    assert_in_range(lk_hold_remaining_ms(hold), 50000, 59398);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(permits_are_renewed_while_they_are_held)
{
    lk_semaphore *semaphore = sem_of(f, open_watchdog(f), 3);
    lk_hold *hold = sem_hold(semaphore, 3);
    uint64_t lease = wait_lease_ms();

    locking_pass_time((unsigned)lease * 2);
    assert_status(lk_hold_check(hold), LK_OK);
    sem_assert_books(f, 3, 0);
    sem_assert_busy(sem_new(f, 3), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 3);
}

/* A renewal by that key alone cannot tell it from the loss of all permits; the
   next one looks at the whole, and brings it back. */
LOCKS_TEST(permits_whose_zset_was_deleted_are_kept)
{
    lk_semaphore *semaphore = sem_of(f, open_watchdog(f), 3);
    lk_hold *hold = sem_hold(semaphore, 2);

    locking_pass_time((unsigned)wait_lease_ms()); /* the inbox stands */
    assert_int_equal(server_integer(f->server, "DEL {n}:timeout"), 1);
    locking_wait_integer(f, 2, "ZCARD %s", "{n}:timeout");
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 3);
}

/* As after Redisson's expire(): counter and permits go at the same time. */
static void both_end_in(locking *f, long long ms)
{
    server_integer(f->server, "PEXPIRE n %lld", ms);
    server_integer(f->server, "PEXPIRE {n}:timeout %lld", ms);
}

LOCKS_TEST(no_lease_is_believed_beyond_the_counters_end)
{
    lk_semaphore *semaphore = sem_of(f, open_watchdog(f), 2);
    lk_hold *hold = sem_hold(semaphore, 1);
    long long lease = (long long)wait_lease_ms(), left = 1;

    locking_pass_time((unsigned)lease); /* the inbox stands */
    both_end_in(f, 2 * lease);
    while (left > 0) {
        left = server_integer(f->server, "PTTL {n}:timeout");
        if (left > 0)
            assert_true((long long)lk_hold_remaining_ms(hold) <= left);
        locking_pass_time(5);
    }
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static lk_hold *hold_for(locking *f, int lease_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = (uint64_t)lease_ms};

    return sem_hold(sem_of(f, locking_open(f, &options), 2), 1);
}

/* The end comes while it is believed already: from the next renewal on it is not. */
LOCKS_TEST(what_is_believed_ends_with_the_counter)
{
    const int lease = 4 * (int)wait_lease_ms();
    lk_hold *hold = hold_for(f, lease);
    long long left = lease;

    both_end_in(f, lease * 2 / 3);
    while (left > 0) {
        left = server_integer(f->server, "PTTL {n}:timeout");
        if (left > 0 && left < lease / 6)
            assert_true((long long)lk_hold_remaining_ms(hold) <= left);
        locking_pass_time(5);
    }
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* It is asked for again before each end, which somebody moves on. */
LOCKS_TEST(a_counter_that_lives_on_keeps_what_is_held)
{
    const int lease = 4 * (int)wait_lease_ms();
    lk_hold *hold = hold_for(f, lease);

    for (int i = 0; i < lease / 100; i++) {
        both_end_in(f, lease / 4);
        locking_pass_time(100);
        assert_status(lk_hold_check(hold), LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

/* A hand-over gives three seconds; what was asked for comes after it. */
LOCKS_TEST(permits_that_were_handed_over_are_kept_as_well)
{
    lk_hold *hold = sem_hold(sem_calm(f, 1), 1);
    taker *t = sem_queue_up(f, sem_calm(f, 1), 1, 1);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    locking_pass_time(4000);
    assert_status(lk_hold_check(t->hold), LK_OK);
    sem_assert_books(f, 1, 0);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(a_lease_is_extended_for_all_permits)
{
    lk_hold *hold = sem_hold_for(sem_new(f, 4), 3, 20000);

    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 50000, 60000);
    assert_in_range(
        server_integer(f->server, "ZCOUNT {n}:timeout (%lld +inf",
                       (long long)server_integer(
                           f->server, "EVAL %s 0",
                           "return redis.call('TIME')[1] * 1000 + 50000")),
        3, 3);
    assert_status(lk_hold_release(hold), LK_OK);
    sem_assert_clean(f, 4);
}

/* The lease begins between the two times; clients are open by then. */
LOCKS_TEST(a_waiter_has_what_ends_by_itself)
{
    lk_semaphore *first = sem_calm(f, 2), *second = sem_calm(f, 2);
    uint64_t begin = wait_now_ms(), lease = wait_lease_ms();
    lk_hold *hold = sem_hold_for(first, 2, lease);
    uint64_t granted = wait_now_ms();
    taker *t = sem_queue_up(f, second, 1, 1);
    uint64_t end;

    assert_status(taker_join(t), LK_OK);
    end = wait_now_ms();
    assert_in_range(end - begin, lease - lease / 100 - 4, UINT64_MAX);
    assert_in_range(end - granted, 0, lease + wait_limit_ms(LATE_MS));
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 2);
}

/* ---- losses ---- */

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    if (remaining_ms == 0)
        atomic_store((atomic_bool *)data, true);
}

LOCKS_TEST(a_loss_is_told_in_every_way)
{
    lk_hold *hold = sem_hold_for(sem_new(f, 1), 1, wait_lease_ms());
    struct pollfd p = {.fd = lk_hold_fd(hold), .events = POLLIN};
    atomic_bool told = false;

    assert_true(p.fd >= 0);
    assert_int_equal(poll(&p, 1, 0), 0);
    assert_status(lk_hold_on_lost(hold, 0, on_lost, &told), LK_OK);
    assert_soon(atomic_load(&told), SOON_MS);
    assert_int_equal(poll(&p, 1, (int)wait_limit_ms(1000)), 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* A permit of three is gone: what was agreed upon is not held any more. The others
   come back with their lease. */
static server *tidied; /* of is_tidied() */

/* A record whose permit is gone is come across sooner or later by those who
   have to wait. */
static bool is_tidied(void *data)
{
    lk_semaphore *semaphore = data;
    lk_hold *hold = sem_hold(semaphore, 3);
    lk_hold *none = NULL;
    lk_status status = lk_semaphore_acquire(semaphore, 1, 20, NULL, &none);

    assert_true(status == LK_ETIMEDOUT || status == LK_EINDOUBT);
    assert_status(lk_hold_release(hold), LK_OK);
    return server_integer(tidied, "HLEN latchkey:{n}:h") == 0;
}

LOCKS_TEST(a_hold_that_lost_one_permit_is_lost)
{
    lk_hold *hold = sem_hold(sem_of(f, open_watchdog(f), 3), 3);
    lk_semaphore *other;

    lose_one(f);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    other = sem_new(f, 3);
    assert_status(taker_release(sem_take(f, other, 3, LK_FOREVER, NULL)),
                  LK_OK);
    tidied = f->server;
    assert_true(wait_until(is_tidied, other, SOON_MS));
    sem_assert_clean(f, 3);
}

LOCKS_TEST(what_a_deleted_semaphore_gave_is_lost)
{
    lk_hold *hold = sem_hold(sem_of(f, open_watchdog(f), 3), 2);

    assert_int_equal(server_integer(f->server, "DEL n {n}:timeout"), 2);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
}

/* ---- once ---- */

LOCKS_TEST(a_hold_that_is_gone_gives_nothing_back)
{
    lk_semaphore *semaphore = sem_new(f, 2);
    lk_hold *hold = sem_hold(semaphore, 2);

    assert_status(lk_semaphore_force_release(semaphore, NULL), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    sem_assert_clean(f, 2);
}

LOCKS_TEST(what_others_took_since_is_not_given_back)
{
    lk_hold *lost = sem_hold_for(sem_new(f, 1), 1, 300);
    taker *t = sem_take(f, sem_calm(f, 1), 1, LK_FOREVER, NULL);

    assert_status(taker_join(t), LK_OK);
    assert_status(lk_hold_release(lost), LK_ELOST);
    sem_assert_books(f, 1, 0);
    assert_status(lk_hold_check(t->hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 1);
}

/* ---- passing on to another process ---- */

LOCKS_TEST(an_exported_hold_is_taken_over)
{
    lk_semaphore *there = sem_of(f, open_watchdog(f), 3);
    lk_semaphore *here = sem_of(f, open_watchdog(f), 3);
    lk_hold *hold = sem_hold(here, 2);
    uint64_t fence = lk_hold_fence(hold);
    char text[LK_EXPORT_SIZE];
    lk_hold *taken = NULL, *none = NULL;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_semaphore_import(there, text, NULL, &taken), LK_OK);
    assert_true(lk_hold_fence(taken) > fence);
    assert_status(lk_semaphore_import(here, text, NULL, &none), LK_ELOST);
    locking_pass_time(wait_lease_ms() * 2);
    assert_status(lk_hold_check(taken), LK_OK);
    sem_assert_books(f, 3, 1);
    assert_status(lk_hold_release(taken), LK_OK);
    sem_assert_clean(f, 3);
}

LOCKS_TEST(an_export_that_nobody_imports_ends_with_its_lease)
{
    lk_hold *hold = sem_hold(sem_of(f, open_watchdog(f), 3), 2);
    char text[LK_EXPORT_SIZE];
    lk_hold *none = NULL;
    taker *t;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    t = sem_take(f, sem_calm(f, 3), 3, LK_FOREVER, NULL);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_semaphore_import(sem_new(f, 3), text, NULL, &none),
                  LK_ELOST);
    assert_status(taker_release(t), LK_OK);
    sem_assert_clean(f, 3);
}

LOCKS_TEST(a_hold_of_another_name_is_not_taken_over)
{
    lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 1};
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = sem_hold(sem_of(f, client, 1), 1);
    lk_lock *lock = locking_lock(f, client, "n");
    char text[LK_EXPORT_SIZE];
    lk_hold *none = NULL;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_semaphore_import(sem_with(f, client, "m", &options), text,
                                      NULL, &none),
                  LK_EMISMATCH);
    assert_status(lk_lock_import(lock, text, NULL, &none), LK_EMISMATCH);
    assert_null(none);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
