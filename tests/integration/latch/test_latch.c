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

LATCHING_TEST(a_latch_is_unset_at_first)
{
    lk_latch *latch = latching_latch(f);
    uint64_t count;

    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
    assert_status(lk_latch_count_down(latch, 1), LK_EUNSET);
    assert_status(lk_latch_delete(latch), LK_EUNSET);
}

LATCHING_TEST(a_count_is_set_once)
{
    lk_latch *latch = latching_latch(f);

    latching_arm(latch, 3);
    assert_status(lk_latch_try_set_count(latch, 5), LK_EALREADY);
    assert_int_equal(latching_count(latch), 3);
}

LATCHING_TEST(a_count_goes_down_to_zero_and_no_further)
{
    lk_latch *latch = latching_latch(f);

    latching_arm(latch, 2);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), 1);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), 0);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), 0);
    assert_status(lk_latch_try_set_count(latch, 2), LK_EALREADY);
}

LATCHING_TEST(more_than_is_left_is_counted_to_zero)
{
    lk_latch *latch = latching_latch(f);

    latching_arm(latch, 5);
    latching_down(latch, LK_LATCH_COUNT_MAX);
    assert_int_equal(latching_count(latch), 0);
}

LATCHING_TEST(the_largest_count_is_exact)
{
    lk_latch *latch = latching_latch(f);

    latching_arm(latch, LK_LATCH_COUNT_MAX);
    latching_down(latch, 1);
    assert_int_equal(latching_count(latch), LK_LATCH_COUNT_MAX - 1);
}

/* ---- waiting ---- */

LATCHING_TEST(a_wait_ends_when_the_latch_opens)
{
    lk_latch *latch = latching_latch(f);
    waiter *w;

    latching_arm(latch, 1);
    w = latching_wait(f, latching_latch(f), LK_FOREVER, NULL);
    latching_wait_listed(f, 1);
    assert_false(waiter_has_ended(w, SHORT_MS));
    latching_down(latch, 1);
    assert_status(waiter_status(w), LK_OK);
    latching_wait_listed(f, 0);
}

/* By the message alone, which repeats what the wait was told: nobody looks. */
LATCHING_TEST(a_wait_ends_at_once)
{
    enum { ROUNDS = 20 };
    lk_latch *latch = latching_latch(f);
    lk_latch *other = latching_latch(f);
    unsigned fast = 0, unasked = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t opened_at, looks;
        waiter *w;

        assert_status(lk_latch_reset(latch, 1), LK_OK);
        w = latching_wait(f, other, LK_FOREVER, NULL);
        latching_wait_listed(f, 1);
        latching_wait_calm(latching_client(f, 1));
        looks = latching_stats(latching_client(f, 1)).rechecks;
        opened_at = wait_now_ms();
        latching_down(latch, 1);
        assert_status(waiter_status(w), LK_OK);
        fast += wait_now_ms() - opened_at < wait_scaled_ms(200);
        latching_wait_calm(latching_client(f, 1));
        unasked += latching_stats(latching_client(f, 1)).rechecks == looks;
    }
    assert_true(fast >= ROUNDS - 4);
    assert_true(unasked >= ROUNDS - 4);
}

/* A wait that joins others asks for itself, at once. */
LATCHING_TEST(a_wait_that_joins_others_looks_at_once)
{
    enum { ROUNDS = 12 };
    lk_latch *latch = latching_latch(f);
    unsigned fast = 0;

    latching_arm(latch, 1);
    (void)latching_wait(f, latch, LK_FOREVER, NULL);
    latching_wait_listed(f, 1);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t looks, joined_at;

        latching_wait_looked(latching_client(f, 0));
        looks = latching_stats(latching_client(f, 0)).rechecks;
        joined_at = wait_now_ms();
        (void)latching_wait(f, latch, LK_FOREVER, NULL);
        latching_wait_looks(latching_client(f, 0), looks);
        fast += wait_now_ms() - joined_at < 500;
    }
    assert_true(fast >= ROUNDS / 2);
}

LATCHING_TEST(a_wait_for_an_open_latch_passes)
{
    lk_latch *latch = latching_latch(f);

    latching_arm(latch, 1);
    latching_down(latch, 1);
    assert_status(lk_latch_wait(latch, LK_FOREVER, NULL), LK_OK);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
    assert_status(lk_latch_wait(latching_latch(f), 0, NULL), LK_OK);
}

LATCHING_TEST(a_wait_has_a_limit)
{
    lk_latch *latch = latching_latch(f);
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

LATCHING_TEST(a_wait_of_no_time_looks_once)
{
    lk_latch *latch = latching_latch(f);

    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
    assert_string_equal(lk_last_error(), "not open yet");
    latching_arm(latch, 1);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
    assert_string_equal(lk_last_error(), "not open yet");
    latching_wait_listed(f, 0);
}

LATCHING_TEST(a_wait_for_an_unset_latch_waits_for_its_arming)
{
    lk_latch *latch = latching_latch(f);
    waiter *w = latching_wait(f, latching_latch(f), LK_FOREVER, NULL);

    latching_wait_listed(f, 1);
    assert_false(waiter_has_ended(w, SHORT_MS));
    latching_arm(latch, 1);
    assert_false(waiter_has_ended(w, SHORT_MS));
    latching_down(latch, 1);
    assert_status(waiter_status(w), LK_OK);
}

LATCHING_TEST(many_threads_of_many_clients_are_released)
{
    enum { CLIENTS = 4, THREADS = 16 };
    lk_latch *latch = latching_latch(f);
    waiter *waiters[CLIENTS * THREADS];

    latching_arm(latch, 5);
    for (int i = 0; i < CLIENTS; i++) {
        lk_latch *other = latching_latch(f);

        for (int j = 0; j < THREADS; j++)
            waiters[i * THREADS + j] =
                latching_wait(f, other, LK_FOREVER, NULL);
        latching_wait_waiting(latching_client(f, (size_t)i + 1), THREADS);
    }
    for (int i = 0; i < 5; i++)
        latching_down(latch, 1);
    for (int i = 0; i < CLIENTS * THREADS; i++)
        assert_status(waiter_status(waiters[i]), LK_OK);
}

/* However many of its threads wait, a client looks about once a second. */
LATCHING_TEST(waits_of_one_client_share_their_looks)
{
    enum { THREADS = 100 };
    lk_latch *latch = latching_latch(f);
    waiter *waiters[THREADS];
    uint64_t before, since, ms;

    latching_arm(latch, 1);
    for (int i = 0; i < THREADS; i++)
        waiters[i] = latching_wait(f, latch, LK_FOREVER, NULL);
    latching_wait_waiting(latching_client(f, 0), THREADS);
    latching_wait_looked(latching_client(f, 0));
    before = latching_stats(latching_client(f, 0)).rechecks;
    since = wait_now_ms();
    latching_wait_looks(latching_client(f, 0), before + 1);
    ms = wait_now_ms() - since;
    assert_in_range(latching_stats(latching_client(f, 0)).rechecks - before, 2,
                    2 + 2 * ms / 1000);
    latching_down(latch, 1);
    for (int i = 0; i < THREADS; i++)
        assert_status(waiter_status(waiters[i]), LK_OK);
}

static uint64_t commands(lk_client *client)
{
    latching_wait_calm(client);
    return latching_stats(client).commands;
}

/* What the page says. */
LATCHING_TEST(a_wait_costs_few_requests)
{
    lk_latch *latch = latching_latch(f);
    lk_client *client = latching_open(f, NULL);
    lk_latch *other = latching_latch_for(f, client, 0);
    uint64_t before;

    latching_arm(latch, 1);
    before = commands(client);
    assert_status(lk_latch_wait(other, 0, NULL), LK_EBUSY);
    assert_int_equal(commands(client) - before, 1);
    for (int i = 0; i < 3; i++) { /* the first one opens the inbox, too */
        uint64_t waits;
        waiter *w;

        before = commands(client);
        w = latching_wait(f, other, LK_FOREVER, NULL);
        latching_wait_listed(f, 1);
        waits = commands(client);
        latching_down(latch, 1);
        assert_status(waiter_status(w), LK_OK);
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

LATCHING_TEST(a_reset_latch_is_armed_anew)
{
    lk_latch *latch = latching_latch(f);

    latching_arm(latch, 1);
    latching_down(latch, 1);
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    assert_int_equal(latching_count(latch), 2);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_EBUSY);
    latching_down(latch, 2);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
}

LATCHING_TEST(a_wait_goes_on_over_a_reset)
{
    lk_latch *latch = latching_latch(f);
    waiter *w;

    latching_arm(latch, 1);
    w = latching_wait(f, latching_latch(f), LK_FOREVER, NULL);
    latching_wait_listed(f, 1);
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    latching_down(latch, 1);
    assert_false(waiter_has_ended(w, SHORT_MS));
    latching_down(latch, 1);
    assert_status(waiter_status(w), LK_OK);
}

/* It is reset as soon as it has opened, over and over. */
LATCHING_TEST(a_wait_that_the_latch_opened_for_ends_although_it_was_reset)
{
    enum { ROUNDS = 60, CLIENTS = 4 };
    lk_latch *latch = latching_latch(f);
    lk_latch *others[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        others[i] = latching_latch(f);
    latching_arm(latch, 1);
    for (int i = 0; i < ROUNDS; i++) {
        waiter *waiters[CLIENTS];

        for (int j = 0; j < CLIENTS; j++)
            waiters[j] = latching_wait(f, others[j], LK_FOREVER, NULL);
        latching_wait_listed(f, CLIENTS);
        for (int j = 0; j < CLIENTS; j++)
            latching_wait_calm(latching_client(f, (size_t)j + 1));
        latching_down(latch, 1);
        assert_status(lk_latch_reset(latch, 1), LK_OK);
        for (int j = 0; j < CLIENTS; j++)
            assert_status(waiter_status(waiters[j]), LK_OK);
    }
}

/*
 * A wait that begins after the reset has no part in what opened before it,
 * although it shares its client's looks with one that has.
 */
LATCHING_TEST(a_wait_that_begins_after_a_reset_waits_for_the_next)
{
    enum { ROUNDS = 40 };
    lk_latch *latch = latching_latch(f);
    lk_latch *other = latching_latch(f);

    latching_arm(latch, 1);
    for (int i = 0; i < ROUNDS; i++) {
        waiter *early = latching_wait(f, other, LK_FOREVER, NULL);
        waiter *late;
        lk_status status;

        latching_wait_listed(f, 1);
        latching_wait_calm(latching_client(f, 1));
        latching_down(latch, 1);
        assert_status(lk_latch_reset(latch, 1), LK_OK);
        late = latching_wait(f, other, wait_scaled_ms(50), NULL);
        assert_status(waiter_status(early), LK_OK);
        status = waiter_status(late); /* in doubt: its time ended in between */
        assert_true(status == LK_ETIMEDOUT || status == LK_EINDOUBT);
    }
}

/* ---- delete ---- */

LATCHING_TEST(a_deleted_latch_is_unset)
{
    lk_latch *latch = latching_latch(f);
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

LATCHING_TEST(a_delete_sends_its_waiters_away)
{
    enum { THREADS = 8 };
    lk_latch *latch = latching_latch(f);
    lk_latch *other = latching_latch(f);
    waiter *waiters[THREADS];

    latching_arm(latch, 1);
    for (int i = 0; i < THREADS; i++)
        waiters[i] =
            latching_wait(f, i % 2 == 0 ? latch : other, LK_FOREVER, NULL);
    latching_wait_waiting(latching_client(f, 0), THREADS / 2);
    latching_wait_waiting(latching_client(f, 1), THREADS / 2);
    latching_wait_looked(latching_client(f, 0));
    latching_wait_looked(latching_client(f, 1));
    assert_status(lk_latch_delete(latch), LK_OK);
    for (int i = 0; i < THREADS; i++)
        assert_status(waiter_status(waiters[i]), LK_EGONE);
    latching_wait_listed(f, 0);
}

LATCHING_TEST(who_waits_for_the_arming_is_not_sent_away)
{
    lk_latch *latch = latching_latch(f);
    waiter *w = latching_wait(f, latching_latch(f), LK_FOREVER, NULL);

    latching_wait_listed(f, 1);
    assert_status(lk_latch_delete(latch), LK_EUNSET);
    assert_false(waiter_has_ended(w, SHORT_MS));
    latching_arm(latch, 1);
    latching_down(latch, 1);
    assert_status(waiter_status(w), LK_OK);
}

/* ---- time to live ---- */

LATCHING_TEST(a_latch_ends_when_its_time_does)
{
    lk_client *client = latching_open(f, NULL);
    lk_latch *latch = latching_latch_for(f, client, 400);
    waiter *w;
    uint64_t begin = wait_now_ms();
    uint64_t count;

    latching_arm(latch, 1);
    w = latching_wait(f, latch, LK_FOREVER, NULL);
    assert_status(waiter_status(w), LK_EGONE);
    assert_in_range(wait_now_ms() - begin, 399,
                    wait_allowed_ms(400 + wait_scaled_ms(1200)));
    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
    assert_int_equal(server_integer(f->server, "EXISTS n"), 0);
}

static bool is_closed(void *data)
{
    return lk_latch_wait(data, 0, NULL) == LK_EBUSY;
}

LATCHING_TEST(an_open_latch_ends_when_its_time_does)
{
    lk_client *client = latching_open(f, NULL);
    lk_latch *latch = latching_latch_for(f, client, wait_lease_ms());
    waiter *w;

    assert_status(lk_latch_arrive(latch, 1, "m"), LK_OK);
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
    assert_true(wait_until(is_closed, latch, LATCHING_MS));
    latching_wait_integer(f, "EXISTS latchkey:{n}:a", 0);
    w = latching_wait(f, latch, LK_FOREVER, NULL);
    assert_false(waiter_has_ended(w, SHORT_MS));
    assert_status(lk_latch_arrive(latch, 1, "m"), LK_OK);
    assert_status(waiter_status(w), LK_OK);
}

LATCHING_TEST(a_handle_without_a_time_keeps_that_of_the_latch)
{
    lk_client *client = latching_open(f, NULL);

    latching_arm(latching_latch_for(f, client, 60000), 3);
    latching_down(latching_latch_for(f, client, 0), 1);
    assert_in_range(server_integer(f->server, "PTTL n"), 50000, 60000);
    latching_down(latching_latch_for(f, client, 90000), 1);
    assert_in_range(server_integer(f->server, "PTTL n"), 80000, 90000);
}

/* ---- who ---- */

LATCHING_TEST(info_tells_who_arrived_and_who_waits)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "the others"};
    lk_latch *latch = latching_latch(f);
    lk_info *info;
    waiter *w;

    assert_status(lk_latch_arrive(latch, 3, "web-2"), LK_OK);
    assert_status(lk_latch_arrive(latch, 3, "web-1"), LK_OK);
    w = latching_wait(f, latching_latch(f), LK_FOREVER, &options);
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
    assert_memory_equal(info->waiters[0]->owner,
                        lk_client_id(latching_client(f, 1)), 36);
    lk_info_free(info);
    assert_status(lk_latch_arrive(latch, 3, "web-3"), LK_OK);
    assert_status(waiter_status(w), LK_OK);
    assert_status(lk_latch_info(latch, &info), LK_OK);
    assert_int_equal(info->holder_count, 3);
    assert_int_equal(info->waiter_count, 0);
    lk_info_free(info);
}

LATCHING_TEST(a_latch_leaves_no_key_without_an_end_when_it_is_deleted)
{
    lk_latch *latch = latching_latch(f);
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

int main(void)
{
    return check_all(latching_start_server, latching_stop_server);
}
