/* SPDX-License-Identifier: MIT */

/* Permits that Redisson's RPermitExpirableSemaphore takes and gives back: our waiters
   see it, whose script alone does not say so. */

#include <stdlib.h>

#include "support/check.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum { SOON_MS = 15000, LATE_MS = 1500 };

static lk_semaphore *sem_mixed(locking *f, uint64_t permits)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = LK_INTEROP_REDISSON};

    return sem_of(f, locking_open(f, &options), permits);
}

/* Its tryAcquire() of one that is free, for a minute, and its release(). */
static void redisson_takes(locking *f)
{
    assert_int_equal(server_integer(f->server, "EVAL %s 2 n {n}:timeout",
                                    "local t = redis.call('TIME')"
                                    " redis.call('ZADD', KEYS[2],"
                                    " t[1] * 1000 + 60000, 'a permit of java')"
                                    " return redis.call('DECR', KEYS[1])"),
                     0);
}

static void redisson_gives(locking *f)
{
    assert_int_equal(server_integer(f->server, "EVAL %s 2 n {n}:timeout",
                                    "redis.call('INCR', KEYS[1])"
                                    " redis.call('PUBLISH', 'redisson_sc:{n}',"
                                    " 1) return redis.call('ZREM', KEYS[2],"
                                    " 'a permit of java')"),
                     1);
}

/* How long one of ours waits for its release, in ms. */
static uint64_t wait_for_it(locking *f, lk_semaphore *semaphore)
{
    taker *t;
    uint64_t begin, took;

    redisson_takes(f);
    t = sem_queue_up(f, semaphore, 1, 1);
    begin = wait_now_ms();
    redisson_gives(f);
    assert_status(taker_join(t), LK_OK);
    took = wait_now_ms() - begin;
    assert_status(taker_release(t), LK_OK);
    return took;
}

/* Nobody tells it of Java's release: it looks about once a second. */
LOCKS_TEST(a_java_release_is_seen_within_a_second)
{
    lk_semaphore *semaphore = sem_calm(f, 1);

    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    assert_in_range(wait_for_it(f, semaphore), 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(LATE_MS)));
}

LOCKS_TEST(in_a_mixed_fleet_it_is_seen_at_once)
{
    lk_semaphore *semaphore = sem_mixed(f, 1);
    uint64_t quickest = UINT64_MAX;

    assert_status(lk_hold_release(sem_hold(semaphore, 1)), LK_OK);
    for (int i = 0; i < 10; i++) {
        uint64_t took = wait_for_it(f, semaphore);

        quickest = took < quickest ? took : quickest;
    }
    assert_in_range(quickest, 0, wait_allowed_ms(wait_scaled_ms(200)));
}

/* Ours all go by the server, and need no time for clocks. */
LOCKS_TEST(among_ours_a_lease_ends_in_time_in_a_mixed_fleet_too)
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

LOCKS_TEST(the_permits_end_with_the_semaphore)
{
    const unsigned ttl_ms = wait_lease_ms();
    lk_hold *hold;

    free(server_string(f->server, "SET n 2 PX %u", ttl_ms));
    hold = sem_hold(sem_new(f, 0), 1);
    locking_wait_integer(f, 0, "EXISTS n %s", "{n}:timeout");
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
