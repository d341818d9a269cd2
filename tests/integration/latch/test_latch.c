/* SPDX-License-Identifier: MIT */

/* The latch as its users know it: unset, armed, open. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/latching.h"
#include "support/wait.h"

enum { SHORT_MS = 60 };

/* ---- counting ---- */

LOCKS_TEST(a_latch_is_unset_at_first)
{
    lk_latch *latch = locking_new(f, lk_latch);
    uint64_t count;

    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
    assert_status(lk_latch_count_down(latch, 1), LK_EUNSET);
    assert_status(lk_latch_delete(latch), LK_EUNSET);
}

LOCKS_TEST(a_count_is_set_once)
{
    lk_latch *latch = locking_new(f, lk_latch);

    latching_arm(latch, 3);
    assert_status(lk_latch_try_set_count(latch, 5), LK_EALREADY);
    assert_int_equal(latching_count(latch), 3);
}

LOCKS_TEST(a_count_goes_down_to_zero_and_no_further)
{
    lk_latch *latch = locking_new(f, lk_latch);

    latching_arm(latch, 2);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), 1);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), 0);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), 0);
    assert_status(lk_latch_try_set_count(latch, 2), LK_EALREADY);
}

LOCKS_TEST(more_than_is_left_is_counted_to_zero)
{
    lk_latch *latch = locking_new(f, lk_latch);

    latching_arm(latch, 5);
    latching_down(latch, LK_LATCH_COUNT_MAX);
    assert_int_equal(latching_count(latch), 0);
}

LOCKS_TEST(the_largest_count_is_exact)
{
    lk_latch *latch = locking_new(f, lk_latch);

    latching_arm(latch, LK_LATCH_COUNT_MAX);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), LK_LATCH_COUNT_MAX - 1);
}

/* ---- waiting ---- */

LOCKS_TEST(a_wait_ends_when_the_latch_opens)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;

    latching_arm(latch, 1);
    w = locking_take(f, locking_new(f, lk_latch), LK_FOREVER, NULL);
    latching_wait_listed(f, 1);
    assert_false(taker_ends(w, SHORT_MS));
    latching_down(latch, 1);
    assert_status(taker_join(w), LK_OK);
    latching_wait_listed(f, 0);
}

/* By the message alone, which repeats what the wait was told: nobody looks. */
LOCKS_TEST(a_wait_ends_at_once)
{
    enum { ROUNDS = 20 };
    lk_latch *latch = locking_new(f, lk_latch);
    lk_latch *other = locking_new(f, lk_latch);
    unsigned fast = 0, unasked = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t opened_at, looks;
        taker *w;

        assert_status(lk_latch_reset(latch, 1), LK_OK);
        w = locking_take(f, other, LK_FOREVER, NULL);
        latching_wait_listed(f, 1);
        locking_wait_calm(f->clients[1]);
        looks = locking_stats(f->clients[1]).rechecks;
        opened_at = wait_now_ms();
        latching_down(latch, 1);
        assert_status(taker_join(w), LK_OK);
        fast += wait_now_ms() - opened_at < wait_limit_ms(200);
        locking_wait_calm(f->clients[1]);
        unasked += locking_stats(f->clients[1]).rechecks == looks;
    }
    assert_true(fast >= ROUNDS - 4);
    assert_true(unasked >= ROUNDS - 4);
}

/* A wait that joins others asks for itself, at once. */
LOCKS_TEST(a_wait_that_joins_others_looks_at_once)
{
    enum { ROUNDS = 12 };
    lk_latch *latch = locking_new(f, lk_latch);
    unsigned fast = 0;

    latching_arm(latch, 1);
    (void)locking_take(f, latch, LK_FOREVER, NULL);
    latching_wait_listed(f, 1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t looks, joined_at;

        locking_wait_looked(f->clients[0]);
        looks = locking_stats(f->clients[0]).rechecks;
        joined_at = wait_now_ms();
        (void)locking_take(f, latch, LK_FOREVER, NULL);
        locking_wait_looks(f->clients[0], looks);
        fast += wait_now_ms() - joined_at < wait_limit_ms(500);
    }
    assert_true(fast >= ROUNDS / 2);
}

LOCKS_TEST(a_wait_for_an_open_latch_passes)
{
    lk_latch *latch = locking_new(f, lk_latch);

    latching_arm(latch, 1);
    latching_down(latch, 1);
    assert_status(lk_latch_wait(latch, LK_FOREVER, NULL), LK_OK);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
    assert_status(lk_latch_wait(locking_new(f, lk_latch), 0, NULL), LK_OK);
}

LOCKS_TEST(a_wait_has_a_limit)
{
    lk_latch *latch = locking_new(f, lk_latch);
    const unsigned limit = wait_scaled_ms(300);
    uint64_t begin;

    latching_arm(latch, 2);
    latching_down(latch, 1);
    begin = wait_now_ms();
    assert_status(lk_latch_wait(latch, limit, NULL), LK_ETIMEDOUT);
    assert_string_equal(lk_last_error(), "not open yet");
    assert_in_range(wait_now_ms() - begin, limit,
                    wait_allowed_ms(limit + wait_scaled_ms(400)));
    latching_wait_listed(f, 0);
    assert_int_equal(latching_count(latch), 1);
}

LOCKS_TEST(a_wait_of_no_time_looks_once)
{
    lk_latch *latch = locking_new(f, lk_latch);

    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
    assert_string_equal(lk_last_error(), "not open yet");
    latching_arm(latch, 1);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
    assert_string_equal(lk_last_error(), "not open yet");
    latching_wait_listed(f, 0);
}

LOCKS_TEST(a_wait_for_an_unset_latch_waits_for_its_arming)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w = locking_take(f, locking_new(f, lk_latch), LK_FOREVER, NULL);

    latching_wait_listed(f, 1);
    assert_false(taker_ends(w, SHORT_MS));
    latching_arm(latch, 1);
    assert_false(taker_ends(w, SHORT_MS));
    latching_down(latch, 1);
    assert_status(taker_join(w), LK_OK);
}

LOCKS_TEST(many_threads_of_many_clients_are_released)
{
    enum { CLIENTS = 4, THREADS = 16 };
    lk_latch *latch = locking_new(f, lk_latch);
    taker *waiters[CLIENTS * THREADS];

    latching_arm(latch, 5);
    for (int i = 0; i < CLIENTS; i++) {
        lk_latch *other = locking_new(f, lk_latch);

        for (int j = 0; j < THREADS; j++)
            waiters[i * THREADS + j] = locking_take(f, other, LK_FOREVER, NULL);
        locking_wait_waiting(f->clients[i + 1], THREADS);
    }
    for (int i = 0; i < 5; i++)
        latching_down(latch, 1);
    for (int i = 0; i < CLIENTS * THREADS; i++)
        assert_status(taker_join(waiters[i]), LK_OK);
}

/* However many of its threads wait, a client looks about once a second. */
LOCKS_TEST(waits_of_one_client_share_their_looks)
{
    enum { THREADS = 100 };
    lk_latch *latch = locking_new(f, lk_latch);
    taker *waiters[THREADS];
    uint64_t before, since, ms;

    latching_arm(latch, 1);
    for (int i = 0; i < THREADS; i++)
        waiters[i] = locking_take(f, latch, LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], THREADS);
    locking_wait_looked(f->clients[0]);
    before = locking_stats(f->clients[0]).rechecks;
    since = wait_now_ms();
    locking_wait_looks(f->clients[0], before + 1);
    ms = wait_now_ms() - since;
    assert_in_range(locking_stats(f->clients[0]).rechecks - before, 2,
                    2 + 2 * ms / 1000);
    latching_down(latch, 1);
    for (int i = 0; i < THREADS; i++)
        assert_status(taker_join(waiters[i]), LK_OK);
}

static uint64_t commands(lk_client *client)
{
    locking_wait_calm(client);
    return locking_stats(client).commands;
}

/* What the page says. */
LOCKS_TEST(a_wait_costs_few_requests)
{
    lk_latch *latch = locking_new(f, lk_latch);
    lk_client *client = locking_open(f, NULL);
    lk_latch *other = locking_of(f, lk_latch, client);
    uint64_t before;

    latching_arm(latch, 1);
    before = commands(client);
    assert_status(lk_latch_wait(other, 0, NULL), LK_EBUSY);
    assert_int_equal(commands(client) - before, 1);
    for (int i = 0; i < 3; i++) { /* the first one opens the inbox, too */
        uint64_t waits;
        taker *w;

        before = commands(client);
        w = locking_take(f, other, LK_FOREVER, NULL);
        latching_wait_listed(f, 1);
        waits = commands(client);
        latching_down(latch, 1);
        assert_status(taker_join(w), LK_OK);
        if (i > 0) {
            assert_in_range(waits - before, 3, 5);
            assert_int_equal(commands(client) - waits, 2);
        }
        before = commands(client);
        assert_status(lk_latch_reset(other, 1), LK_OK);
        assert_int_equal(commands(client) - before, 1);
    }
}

/* ---- reset ---- */

LOCKS_TEST(a_reset_latch_is_armed_anew)
{
    lk_latch *latch = locking_new(f, lk_latch);

    latching_arm(latch, 1);
    latching_down(latch, 1);
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    assert_int_equal(latching_count(latch), 2);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
    latching_down(latch, 2);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
}

LOCKS_TEST(a_wait_goes_on_over_a_reset)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;

    latching_arm(latch, 1);
    w = locking_take(f, locking_new(f, lk_latch), LK_FOREVER, NULL);
    latching_wait_listed(f, 1);
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    latching_down(latch, 1);
    assert_false(taker_ends(w, SHORT_MS));
    latching_down(latch, 1);
    assert_status(taker_join(w), LK_OK);
}

/* It is reset as soon as it has opened, over and over. */
LOCKS_TEST(a_wait_that_the_latch_opened_for_ends_although_it_was_reset)
{
    enum { ROUNDS = 60, CLIENTS = 4 };
    lk_latch *latch = locking_new(f, lk_latch);
    lk_latch *others[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        others[i] = locking_new(f, lk_latch);
    latching_arm(latch, 1);
    for (int i = 0; i < ROUNDS; i++) {
        taker *waiters[CLIENTS];

        for (int j = 0; j < CLIENTS; j++)
            waiters[j] = locking_take(f, others[j], LK_FOREVER, NULL);
        latching_wait_listed(f, CLIENTS);
        for (int j = 0; j < CLIENTS; j++)
            locking_wait_calm(f->clients[j + 1]);
        latching_down(latch, 1);
        assert_status(lk_latch_reset(latch, 1), LK_OK);
        for (int j = 0; j < CLIENTS; j++)
            assert_status(taker_join(waiters[j]), LK_OK);
    }
}

/*
 * A wait that begins after the reset has no part in what opened before it,
 * although it shares its client's looks with one that has.
 */
LOCKS_TEST(a_wait_that_begins_after_a_reset_waits_for_the_next)
{
    enum { ROUNDS = 40 };
    lk_latch *latch = locking_new(f, lk_latch);
    lk_latch *other = locking_new(f, lk_latch);

    latching_arm(latch, 1);
    for (int i = 0; i < ROUNDS; i++) {
        taker *early = locking_take(f, other, LK_FOREVER, NULL);
        taker *late;
        lk_status status;

        latching_wait_listed(f, 1);
        locking_wait_calm(f->clients[1]);
        latching_down(latch, 1);
        assert_status(lk_latch_reset(latch, 1), LK_OK);
        late = locking_take(f, other, wait_scaled_ms(50), NULL);
        assert_status(taker_join(early), LK_OK);
        status = taker_join(late); /* in doubt: its time ended in between */
        assert_true(status == LK_ETIMEDOUT || status == LK_EINDOUBT);
    }
}

/* ---- delete ---- */

LOCKS_TEST(a_deleted_latch_is_unset)
{
    lk_latch *latch = locking_new(f, lk_latch);
    uint64_t count;

    latching_arm(latch, 1);
    assert_status(lk_latch_delete(latch), LK_OK);
    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
    assert_status(lk_latch_delete(latch), LK_EUNSET);
    latching_arm(latch, 1);
    latching_down(latch, 1);
    assert_status(lk_latch_delete(latch), LK_OK);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
}

LOCKS_TEST(a_delete_sends_its_waiters_away)
{
    enum { THREADS = 8 };
    lk_latch *latch = locking_new(f, lk_latch);
    lk_latch *other = locking_new(f, lk_latch);
    taker *waiters[THREADS];

    latching_arm(latch, 1);
    for (int i = 0; i < THREADS; i++)
        waiters[i] =
            locking_take(f, i % 2 == 0 ? latch : other, LK_FOREVER, NULL);
    locking_wait_waiting(f->clients[0], THREADS / 2);
    locking_wait_waiting(f->clients[1], THREADS / 2);
    locking_wait_looked(f->clients[0]);
    locking_wait_looked(f->clients[1]);
    assert_status(lk_latch_delete(latch), LK_OK);
    for (int i = 0; i < THREADS; i++)
        assert_status(taker_join(waiters[i]), LK_EGONE);
    latching_wait_listed(f, 0);
}

LOCKS_TEST(who_waits_for_the_arming_is_not_sent_away)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w = locking_take(f, locking_new(f, lk_latch), LK_FOREVER, NULL);

    latching_wait_listed(f, 1);
    assert_status(lk_latch_delete(latch), LK_EUNSET);
    assert_false(taker_ends(w, SHORT_MS));
    latching_arm(latch, 1);
    latching_down(latch, 1);
    assert_status(taker_join(w), LK_OK);
}

/* ---- time to live ---- */

LOCKS_TEST(a_latch_ends_when_its_time_does)
{
    lk_client *client = locking_open(f, NULL);
    lk_latch *latch = latching_latch_for(f, client, 400);
    taker *w;
    uint64_t begin = wait_now_ms();
    uint64_t count;

    latching_arm(latch, 1);
    w = locking_take(f, latch, LK_FOREVER, NULL);
    assert_status(taker_join(w), LK_EGONE);
    assert_in_range(wait_now_ms() - begin, 399,
                    wait_allowed_ms(400 + wait_scaled_ms(1200)));
    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
}

LOCKS_TEST(an_open_latch_ends_when_its_time_does)
{
    lk_client *client = locking_open(f, NULL);
    lk_latch *latch = latching_latch_for(f, client, wait_lease_ms());
    taker *w;

    assert_status(lk_latch_arrive(latch, 1, "m"), LK_OK);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
    assert_soon(lk_latch_wait(latch, 0, NULL) == LK_EBUSY, LATCHING_MS);
    locking_wait_integer(f, 0, "EXISTS latchkey:{n}:a", "");
    w = locking_take(f, latch, LK_FOREVER, NULL);
    assert_false(taker_ends(w, SHORT_MS));
    assert_status(lk_latch_arrive(latch, 1, "m"), LK_OK);
    assert_status(taker_join(w), LK_OK);
}

LOCKS_TEST(a_handle_without_a_time_keeps_that_of_the_latch)
{
    lk_client *client = locking_open(f, NULL);

    latching_arm(latching_latch_for(f, client, 60000), 3);
    latching_down(locking_of(f, lk_latch, client), 1);
    assert_in_range(server_integer(f->server, "PTTL n"), 50000, 60000);
    latching_down(latching_latch_for(f, client, 90000), 1);
    assert_in_range(server_integer(f->server, "PTTL n"), 80000, 90000);
}

/* ---- who ---- */

LOCKS_TEST(info_tells_who_arrived_and_who_waits)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "the others"};
    lk_latch *latch = locking_new(f, lk_latch);
    lk_info *info;
    taker *w;

    assert_status(lk_latch_arrive(latch, 3, "web-2"), LK_OK);
    assert_status(lk_latch_arrive(latch, 3, "web-1"), LK_OK);
    w = locking_take(f, locking_new(f, lk_latch), LK_FOREVER, &options);
    latching_wait_listed(f, 1);
    assert_status(lk_latch_info(latch, &info), LK_OK);
    assert_int_equal(info->holder_count, 2);
    assert_string_equal(info->holders[0]->owner, "web-2");
    assert_string_equal(info->holders[1]->owner, "web-1");
    assert_int_equal(info->holders[1]->lease_ms, -1);
    assert_int_equal(info->waiter_count, 1);
    assert_int_equal(info->listed_count, 1);
    assert_string_equal(info->waiters[0]->reason, "the others");
    assert_int_equal(info->waiters[0]->pid, getpid());
    assert_memory_equal(info->waiters[0]->owner, lk_client_id(f->clients[1]),
                        32);
    lk_info_free(info);
    assert_status(lk_latch_arrive(latch, 3, "web-3"), LK_OK);
    assert_status(taker_join(w), LK_OK);
    assert_status(lk_latch_info(latch, &info), LK_OK);
    assert_int_equal(info->holder_count, 3);
    assert_int_equal(info->waiter_count, 0);
    lk_info_free(info);
}

LOCKS_TEST(a_latch_leaves_no_key_without_an_end_when_it_is_deleted)
{
    lk_latch *latch = locking_new(f, lk_latch);
    redisReply *keys;

    assert_status(lk_latch_arrive(latch, 2, "a"), LK_OK);
    assert_status(lk_latch_wait(latch, wait_scaled_ms(100), NULL),
                  LK_ETIMEDOUT);
    assert_status(lk_latch_arrive(latch, 2, "b"), LK_OK);
    assert_status(lk_latch_delete(latch), LK_OK);
    keys = server_command(f->server, "KEYS *");
    for (size_t i = 0; i < keys->elements; i++)
        assert_true(
            server_integer(f->server, "PTTL %s", keys->element[i]->str) > 0);
    freeReplyObject(keys);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
