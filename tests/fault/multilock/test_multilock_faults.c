/* SPDX-License-Identifier: MIT */

/* The multilock where the network or the server fails. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

static void a_cut_during_the_wait_is_got_over(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = multi_open_far(f);
    lk_client *other = locking_open(f->base, NULL);
    lk_hold *b = locking_hold(locking_lock(f->base, other, "b"));
    taker *t = multi_take(f, multi_of(f, client, "abc"), LK_FOREVER, NULL);

    locking_wait_queued(f->base, "b", 1);
    proxy_reset(p, PROXY_ALL);
    locking_wait_connects(client, 4);
    locking_wait_queued(f->base, "b", 1);
    multi_assert_held(f, "a");
    assert_status(lk_hold_release(b), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_hold_check(t->hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abc");
}

/* The tries were done, and nobody was told. */
static void lost_answers_to_the_tries_leave_nothing(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = multi_open_far(f);
    lk_multilock *set = multi_of(f, client, "abc");
    lk_hold *hold = NULL;

    proxy_drop_replies(p, 0, true);
    assert_status(lk_multilock_acquire(set, LK_FOREVER, NULL, &hold), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    multi_assert_free(f, "abc");
}

static void lost_answers_to_a_single_try_leave_nothing(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = multi_open_far(f);
    lk_multilock *set = multi_of(f, client, "abc");
    lk_hold *hold = NULL;
    lk_status status;

    proxy_hold(p, 0, PROXY_REPLIES);
    status = lk_multilock_acquire(set, 0, NULL, &hold);
    assert_true(status == LK_EINDOUBT || status == LK_EBUSY ||
                status == LK_EOFFLINE);
    assert_null(hold);
    proxy_heal(p);
    multi_assert_free(f, "abc");
}

static void an_answer_to_the_release_that_is_lost_is_doubt(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = multi_open_far(f);
    lk_hold *hold = multi_hold(multi_of(f, client, "ab"));

    proxy_hold(p, 0, PROXY_REPLIES);
    assert_status(lk_hold_release(hold), LK_EINDOUBT);
    proxy_heal(p);
    multi_assert_free(f, "ab");
}

static void
an_extension_that_is_not_answered_leaves_the_old_deadline(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = multi_open_far(f);
    lk_hold *hold = multi_hold(multi_of(f, client, "ab"));
    uint64_t remaining_ms;

    proxy_hold(p, 0, PROXY_REPLIES);
    assert_words(lk_hold_extend(hold, 600000), LK_EINDOUBT, "0 of 2 members");
    remaining_ms = lk_hold_remaining_ms(hold);
    assert_in_range(remaining_ms, 1, 30000);
    assert_status(lk_hold_check(hold), LK_OK);
    proxy_heal(p);
    assert_status(lk_hold_extend(hold, 600000), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 60000, 600000);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void an_extension_tells_how_many_members_it_reached(void **state)
{
    multilocking *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_hold *hold = multi_hold(multi_of(f, client, "abc"));

    assert_int_equal(server_integer(f->base->server, "DEL b"), 1);
    assert_words(lk_hold_extend(hold, 60000), LK_ELOST, "2 of 3 members");
    assert_status(lk_hold_check(hold), LK_ELOST);
    multi_assert_free(f, "abc"); /* the others were released */
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- the end of a client --------------------------------------------------- */

/* A thread that frees a client dispatches no more: the call ends within the free, though
   another client's try has no answer yet. */
static void a_free_ends_a_call_whose_tries_are_under_way(void **state)
{
    multilocking *f = *state;
    const lk_client_options dispatch = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};

    for (int lead_is_far = 0; lead_is_far < 2; lead_is_far++) {
        proxy *p = locking_proxy(f->base);
        lk_client *far = multi_open_far(f);
        lk_client *lead =
            lead_is_far ? locking_open_url(f->base, proxy_url(p), &dispatch)
                        : locking_open_calm(f->base, &dispatch);
        lk_multilock *set = multi_of(f, lead, "a");
        call c = {0};

        assert_status(lk_client_wait_ready(lead, wait_scaled_ms(SOON_MS)),
                      LK_OK);
        assert_status(lk_multilock_add_all(set, multi_of(f, far, "b")), LK_OK);
        proxy_hold(p, PROXY_ALL, PROXY_REPLIES);
        assert_status(lk_multilock_acquire_async(set, LK_FOREVER, NULL,
                                                 call_on_acquire, &c),
                      LK_OK);
        multi_assert_held(f, "ab");
        if (!lead_is_far)
            locking_wait_calm(lead);
        locking_free_client(f->base, lead);
        assert_int_equal(c.ends, 1);
        assert_status(c.status, LK_ECLOSED);
        proxy_heal(p);
        multi_assert_free(f, "b");
        locking_free_client(f->base, far);
    }
}

/* ---- the server -------------------------------------------------------------- */

static void a_flush_loses_all(void **state)
{
    multilocking *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           3 * (uint64_t)wait_lease_ms()};
    lk_client *client = locking_open_calm(f->base, &options);
    lk_hold *hold = multi_hold(multi_of(f, client, "ab"));

    server_flush(f->base->server);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* What was held before the restart is gone: the wait is told of that before its
   end, or its hold right after, or by its release. */
static void a_restart_loses_what_is_held_and_is_waited_out(void **state)
{
    multilocking *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           3 * (uint64_t)wait_lease_ms(),
                                       .offline_ms = wait_scaled_ms(10000)};
    lk_client *client = locking_open_calm(f->base, &options);
    lk_client *other = locking_open_calm(f->base, &options);
    lk_hold *b = locking_hold(locking_lock(f->base, other, "b"));
    lk_hold *de = multi_hold(multi_of(f, client, "de"));
    lk_status released;
    taker *t = multi_take(f, multi_of(f, client, "abc"), LK_FOREVER, NULL);

    locking_wait_queued(f->base, "b", 1);
    assert_true(server_restart(f->base->server));
    assert_status(taker_join(t), LK_OK);
    assert_true(wait_until(hold_is_lost, de, SOON_MS));
    assert_status(lk_hold_release(de), LK_ELOST);
    released = taker_release(t);
    assert_true(released == LK_OK || released == LK_ELOST);
    assert_status(lk_hold_release(b), LK_ELOST);
    multi_assert_free(f, "abcde");
}

static void an_outage_ends_the_wait_and_leaves_nothing(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = wait_scaled_ms(200)};
    lk_client *client = locking_open_url(f->base, proxy_url(p), &options);
    lk_client *other = locking_open(f->base, NULL);
    lk_hold *b = locking_hold(locking_lock(f->base, other, "b"));
    taker *t = multi_take(f, multi_of(f, client, "abc"), LK_FOREVER, NULL);

    locking_wait_queued(f->base, "b", 1);
    proxy_refuse(p, true);
    proxy_reset(p, PROXY_ALL);
    assert_status(taker_join(t), LK_EOFFLINE);
    proxy_heal(p);
    multi_assert_free(f, "ac");
    locking_wait_queued(f->base, "b", 0);
    assert_status(lk_hold_release(b), LK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MULTI_TEST(a_cut_during_the_wait_is_got_over),
        MULTI_TEST(lost_answers_to_the_tries_leave_nothing),
        MULTI_TEST(lost_answers_to_a_single_try_leave_nothing),
        MULTI_TEST(an_answer_to_the_release_that_is_lost_is_doubt),
        MULTI_TEST(an_extension_that_is_not_answered_leaves_the_old_deadline),
        MULTI_TEST(an_extension_tells_how_many_members_it_reached),
        MULTI_TEST(a_free_ends_a_call_whose_tries_are_under_way),
        MULTI_TEST(a_flush_loses_all),
        MULTI_TEST(a_restart_loses_what_is_held_and_is_waited_out),
        MULTI_TEST(an_outage_ends_the_wait_and_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
