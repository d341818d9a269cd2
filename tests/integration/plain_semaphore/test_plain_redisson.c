/* SPDX-License-Identifier: MIT */

/* The bare counter beside Redisson's RSemaphore, which tells nobody of ours what it
   gives back. */

#include "support/check.h"
#include "support/plain.h"
#include "support/wait.h"

/* How long one of ours waits for its release(), in ms. */
static uint64_t wait_for_it(locking *f, lk_plain_semaphore *semaphore)
{
    taker *t = plain_queue_up(f, semaphore, 1, 1);
    uint64_t begin = wait_now_ms();

    server_integer(f->server, "EVAL %s 1 n",
                   "return redis.call('PUBLISH', 'redisson_sc:{n}',"
                   " redis.call('INCR', KEYS[1]))");
    assert_status(taker_join(t), LK_OK);
    return wait_now_ms() - begin;
}

/* It looks about once a second. */
LOCKS_TEST(a_java_release_is_seen_within_a_second)
{
    assert_in_range(wait_for_it(f, plain_with(f, 0)), 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(2000)));
}

LOCKS_TEST(in_a_mixed_fleet_it_is_seen_at_once)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = LK_INTEROP_REDISSON};
    lk_plain_semaphore *semaphore =
        locking_of(f, lk_plain_semaphore, locking_open(f, &options));
    uint64_t quickest = UINT64_MAX;

    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    for (int i = 0; i < 10; i++) {
        uint64_t took = wait_for_it(f, semaphore);

        quickest = took < quickest ? took : quickest;
    }
    assert_in_range(quickest, 0, wait_allowed_ms(wait_scaled_ms(200)));
}

CHECK_GROUP(locking_start_server, locking_stop_server)
