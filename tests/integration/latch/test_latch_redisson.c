/* SPDX-License-Identifier: MIT */

/* The latch whose count Redisson's RCountDownLatch changes: our waiters hear of it. */

#include "support/check.h"
#include "support/latching.h"
#include "support/wait.h"

enum { SOON_MS = 500, SHORT_MS = 60 };

/* Its countDown(): the last one deletes the count, and tells its own. */
static void redisson_counts(locking *f)
{
    server_integer(f->server, "EVAL %s 1 n",
                   "if redis.call('DECR', KEYS[1]) > 0 then return 1 end"
                   " redis.call('DEL', KEYS[1])"
                   " return redis.call('PUBLISH',"
                   " 'redisson_countdownlatch__channel__{n}', '0')");
}

/* A thread of a client of its own waits, and has had its answer. */
static taker *waits(locking *f)
{
    taker *w = locking_take(f, locking_new(f, lk_latch), LK_FOREVER, NULL);

    latching_wait_listed(f, 1);
    locking_wait_calm(f->clients[1]);
    return w;
}

LOCKS_TEST(we_wait_for_what_redisson_counts_down)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;
    uint64_t opened_at;

    latching_arm(latch, 2);
    w = waits(f);
    redisson_counts(f);
    assert_false(taker_ends(w, SHORT_MS));
    assert_int_equal(latching_count(latch), 1);
    opened_at = wait_now_ms();
    redisson_counts(f);
    assert_status(taker_join(w), LK_OK);
    assert_in_range(wait_now_ms() - opened_at, 0, wait_limit_ms(SOON_MS));
    /* It was ours: it stays open. */
    assert_int_equal(latching_count(latch), 0);
    assert_status(lk_latch_try_set_count(latch, 2), LK_EALREADY);
}

/* The message did not come: an ordinary wait of Redisson's would hang. */
LOCKS_TEST(a_lost_message_of_redissons_costs_a_second)
{
    taker *w;
    uint64_t opened_at;

    latching_arm(locking_new(f, lk_latch), 1);
    w = waits(f);
    opened_at = wait_now_ms();
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_status(taker_join(w), LK_OK);
    assert_in_range(wait_now_ms() - opened_at, 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(500)));
}

/* The first of ours that looks tells the others. */
LOCKS_TEST(who_finds_it_open_tells_the_others)
{
    enum { CLIENTS = 6 };
    taker *waiters[CLIENTS];
    uint64_t first = UINT64_MAX, last = 0;

    latching_arm(locking_new(f, lk_latch), 1);
    for (int i = 0; i < CLIENTS; i++)
        waiters[i] =
            locking_take(f, locking_new(f, lk_latch), LK_FOREVER, NULL);
    latching_wait_listed(f, CLIENTS);
    for (size_t i = 0; i <= CLIENTS; i++)
        locking_wait_calm(f->clients[i]);
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    for (int i = 0; i < CLIENTS; i++) {
        uint64_t now;

        assert_status(taker_join(waiters[i]), LK_OK);
        now = wait_now_ms();
        first = now < first ? now : first;
        last = now > last ? now : last;
    }
    assert_in_range(last - first, 0, wait_limit_ms(200));
}

CHECK_GROUP(locking_start_server, locking_stop_server)
