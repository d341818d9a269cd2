/* SPDX-License-Identifier: MIT */

/* What a fair lock costs in requests, as docs/fairlock.md says. */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

/* Of a client that sends nothing else just now. */
static uint64_t commands_of(lk_client *client)
{
    locking_wait_calm(client);
    return locking_stats(client).commands;
}

static call *calls_new(int count)
{
    call *calls = calloc((size_t)count, sizeof(*calls));

    assert_non_null(calls);
    return calls;
}

static void acquire_many(lk_fairlock *lock, call *calls, int count)
{
    for (int i = 0; i < count; i++)
        assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, NULL,
                                                call_on_acquire, &calls[i]),
                      LK_OK);
}

LOCKS_TEST(a_free_lock_costs_two_requests)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_fairlock *lock = locking_of(f, lk_fairlock, client);
    uint64_t before = commands_of(client);

    assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    assert_int_equal(commands_of(client), before + 2);
}

static void release_it(call *c)
{
    if (lk_hold_release_async(c->hold, NULL, NULL) == LK_OK)
        c->hold = NULL;
}

/* Each has it from the server: one request to queue, one to release. */
LOCKS_TEST(a_hand_over_costs_two_requests_also_within_a_client)
{
    enum { WAITS = 200 };
    const uint64_t requests = 2 * (uint64_t)WAITS;
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_client *client = locking_open_calm(f, NULL);
    uint64_t before = commands_of(client);
    call *calls = calls_new(WAITS);
    lk_client_stats after;

    for (int i = 0; i < WAITS; i++)
        calls[i].act = release_it;
    acquire_many(locking_of(f, lk_fairlock, client), calls, WAITS);
    locking_wait_queued(f, "n", WAITS);
    locking_wait_calm(client);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_status(call_wait(&calls[i], NULL), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_null(calls[i].hold);
    locking_wait_clean(f, "n");
    locking_wait_calm(client);
    after = locking_stats(client);
    assert_int_equal(after.passes, 0);
    assert_int_equal(after.grants, WAITS);
    assert_in_range(after.commands - after.rechecks, before + requests,
                    before + requests + 2);
    free(calls);
}

/* 128 waits a request, and each request about once in a second. */
LOCKS_TEST(waits_of_a_client_share_their_looks)
{
    enum { WAITS = 300, BATCHES = 3, SECONDS = 3 };
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_client *client = locking_open_calm(f, NULL);
    call *calls = calls_new(WAITS);
    uint64_t began, looks, ms;

    acquire_many(locking_of(f, lk_fairlock, client), calls, WAITS);
    locking_wait_queued(f, "n", WAITS);
    began = wait_now_ms();
    looks = locking_stats(client).rechecks;
    locking_pass_time(SECONDS * 1000);
    looks = locking_stats(client).rechecks - looks;
    ms = wait_now_ms() - began;
    /* Every 750 to 1000 ms; the first may have been due at once. */
    assert_in_range(looks, BATCHES * (SECONDS - 1), BATCHES * (ms / 750 + 1));
    assert_int_equal(server_integer(f->server, SERVER_WAITERS("n")), WAITS);
    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_status(call_wait(&calls[i], NULL), LK_ECLOSED);
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    free(calls);
}

/* Each look proves again from when on a grant can have been made: one that
   comes after a long wait is believed without a question. */
LOCKS_TEST(a_grant_after_a_long_wait_is_believed_at_once)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_client *client = locking_open_calm(f, NULL);
    taker *t = locking_queue_up(f, locking_of(f, lk_fairlock, client), 1);
    lk_client_stats stats;

    locking_pass_time(3500); /* longer than a grant lasts by itself */
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    stats = locking_stats(client);
    assert_int_equal(stats.grants, 1);
    assert_int_equal(stats.grants_late, 0);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
