/* SPDX-License-Identifier: MIT */

/* What a fair lock costs in requests, as docs/fairlock.md says. */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/fairlocking.h"
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

FAIR_TEST(a_free_lock_costs_two_requests)
{
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_fairlock *lock = fair_lock(f, client);
    uint64_t before = commands_of(client);

    assert_status(lk_hold_release(fair_hold(lock)), LK_OK);
    assert_int_equal(commands_of(client), before + 2);
}

static void release_it(call *c)
{
    if (lk_hold_release_async(c->hold, NULL, NULL) == LK_OK)
        c->hold = NULL;
}

/* Each has it from the server: one request to queue, one to release. */
FAIR_TEST(a_hand_over_costs_two_requests_also_within_a_client)
{
    enum { WAITS = 200 };
    const uint64_t requests = 2 * (uint64_t)WAITS;
    lk_hold *hold = fair_hold(fair_lock_of_new_client(f));
    lk_client *client = locking_open_calm(f->base, NULL);
    uint64_t before = commands_of(client);
    call *calls = calls_new(WAITS);
    lk_client_stats after;

    for (int i = 0; i < WAITS; i++)
        calls[i].act = release_it;
    acquire_many(fair_lock(f, client), calls, WAITS);
    locking_wait_queued(f->base, "n", WAITS);
    locking_wait_calm(client);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_status(call_wait(&calls[i], NULL), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_null(calls[i].hold);
    fair_assert_clean(f);
    locking_wait_calm(client);
    after = locking_stats(client);
    assert_int_equal(after.passes, 0);
    assert_int_equal(after.grants, WAITS);
    assert_in_range(after.commands - after.rechecks, before + requests,
                    before + requests + 2);
    free(calls);
}

/* 128 waits a request, and each request about once in a second. */
FAIR_TEST(waits_of_a_client_share_their_looks)
{
    enum { WAITS = 300, BATCHES = 3, SECONDS = 3 };
    lk_hold *hold = fair_hold(fair_lock_of_new_client(f));
    lk_client *client = locking_open_calm(f->base, NULL);
    call *calls = calls_new(WAITS);
    uint64_t began, looks, ms;

    acquire_many(fair_lock(f, client), calls, WAITS);
    locking_wait_queued(f->base, "n", WAITS);
    began = wait_now_ms();
    looks = locking_stats(client).rechecks;
    locking_pass_time(SECONDS * 1000);
    looks = locking_stats(client).rechecks - looks;
    ms = fair_since_ms(began);
    /* Every 750 to 1000 ms; the first may have been due at once. */
    assert_in_range(looks, BATCHES * (SECONDS - 1), BATCHES * (ms / 750 + 1));
    assert_int_equal(server_integer(f->base->server, SERVER_WAITERS("n")),
                     WAITS);
    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_status(call_wait(&calls[i], NULL), LK_ECLOSED);
    locking_wait_queued(f->base, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    free(calls);
}

/* Each look proves anew from when on a grant can have been made: one that
   comes after a long wait is believed without a question. */
FAIR_TEST(a_grant_after_a_long_wait_is_believed_at_once)
{
    lk_hold *hold = fair_hold(fair_lock_of_new_client(f));
    lk_client *client = locking_open_calm(f->base, NULL);
    taker *t = fair_queue_up(f, fair_lock(f, client), 1);
    lk_client_stats stats;

    locking_pass_time(3500); /* longer than a grant lasts by itself */
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    stats = locking_stats(client);
    assert_int_equal(stats.grants, 1);
    assert_int_equal(stats.grants_late, 0);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
