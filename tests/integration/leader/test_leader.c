/* SPDX-License-Identifier: MIT */

/* Elections: to campaign and to resign, and to know who leads. */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/leading.h"
#include "support/wait.h"

/* Nobody leads: no key of the lock, as all others see it. */
static void assert_nobody_leads(locking *f, lk_leader *leader)
{
    lk_info *info = NULL;

    assert_status(lk_leader_get(leader, &info), LK_OK);
    assert_int_equal(info->holder_count, 0);
    assert_true(lk_leader_term(info) == 0);
    lk_info_free(info);
    assert_false(locking_exists(f, "n"));
}

/* ---- to lead ---- */

LOCKS_TEST(one_leads_at_a_time_and_terms_grow)
{
    lk_leader *a = leading_as(f, "a"), *b = leading_as(f, "b");
    lk_hold *hold = locking_hold(a), *none = NULL;
    uint64_t term = lk_hold_fence(hold);
    call *next;
    lk_status status;

    assert_status(lk_leader_campaign(b, 0, NULL, &none), LK_EBUSY);
    status = lk_leader_campaign(b, 50, NULL, &none);
    assert_true(status == LK_ETIMEDOUT || status == LK_EINDOUBT);
    next = locking_begin(f, b, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    assert_status(lk_leader_resign(a, hold), LK_OK);
    assert_status(call_wait(next, NULL), LK_OK);
    assert_true(lk_hold_fence(next->hold) > term);
    assert_status(lk_hold_check(next->hold), LK_OK);
    assert_status(lk_leader_resign(b, locking_granted(next)), LK_OK);
    assert_nobody_leads(f, a);
}

LOCKS_TEST(candidates_follow_in_the_order_in_which_they_came)
{
    enum { CANDIDATES = 5 };
    lk_leader *leader = leading_new(f, NULL);
    lk_hold *hold = locking_hold(leader);
    call *candidates[CANDIDATES];
    lk_leader *leaders[CANDIDATES];

    for (size_t i = 0; i < CANDIDATES; i++) {
        leaders[i] = leading_new(f, NULL);
        candidates[i] = locking_begin(f, leaders[i], LK_FOREVER, NULL);
        locking_wait_queued(f, "n", (long long)i + 1);
    }
    for (size_t i = 0; i < CANDIDATES; i++) {
        assert_status(lk_leader_resign(i == 0 ? leader : leaders[i - 1], hold),
                      LK_OK);
        assert_status(call_wait(candidates[i], NULL), LK_OK);
        hold = locking_granted(candidates[i]);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(the_lease_is_the_options_and_is_renewed)
{
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT,
                                       .lease_ms = wait_lease_ms()};
    lk_leader *leader = leading_new(f, &options);
    lk_hold *hold = locking_hold(leader);
    uint64_t end = wait_now_ms() + options.lease_ms * 3 / 2;

    assert_in_range(locking_pttl(f, "n"), 1, (long long)options.lease_ms);
    while (wait_now_ms() < end) {
        assert_status(lk_hold_check(hold), LK_OK);
        locking_pass_time(20);
    }
    assert_status(lk_leader_resign(leader, hold), LK_OK);
}

LOCKS_TEST(a_fixed_lease_is_a_term_that_ends)
{
    static tells t;
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT,
                                       .lost = tells_loss, .lost_data = &t};
    const lk_acquire_options term = {LK_ACQUIRE_OPTIONS_INIT,
                                     .lease_ms = wait_limit_ms(300)};
    lk_leader *leader = leading_new(f, &options);
    lk_hold *hold = NULL;

    assert_status(lk_leader_campaign(leader, 0, &term, &hold), LK_OK);
    tells_wait(&t, 2);
    assert_in_range(t.told[0].remaining_ms, 0,
                    term.lease_ms / 3); /* not of 30 s */
    assert_status(t.told[1].status, LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_EXPIRED);
    assert_status(lk_leader_resign(leader, hold), LK_ELOST);
}

LOCKS_TEST(who_leads_and_campaigns_again_is_in_the_same_term)
{
    lk_leader *leader = leading_new(f, NULL);
    lk_hold *first = locking_hold(leader), *second = locking_hold(leader);

    assert_true(lk_hold_fence(first) == lk_hold_fence(second));
    assert_status(lk_leader_resign(leader, first), LK_OK);
    assert_status(lk_hold_check(second), LK_OK);
    assert_status(lk_leader_resign(leader, second), LK_OK);
    assert_nobody_leads(f, leader);
}

LOCKS_TEST(an_election_is_the_fair_lock_of_its_name)
{
    lk_client *client = locking_open(f, NULL);
    lk_leader *leader = leading_in(f, client, NULL);
    lk_hold *hold = locking_hold(leader), *none = NULL;
    lk_fairlock *fair = NULL;

    assert_status(lk_fairlock_new(&fair, client, "n", NULL), LK_OK);
    assert_status(lk_fairlock_force_release(fair), LK_OK);
    lk_fairlock_free(fair);
    assert_status(lk_leader_resign(leader, hold), LK_ELOST);
    assert_status(lk_lock_acquire(locking_lock(f, client, "n"), 0, NULL, &none),
                  LK_OK);
    assert_status(lk_hold_release(none), LK_OK);
}

/* ---- to know who leads ---- */

LOCKS_TEST(everybody_sees_the_leader_its_value_and_who_waits)
{
    lk_leader *a = leading_as(f, "10.0.0.1:4711"), *b = leading_as(f, "b");
    lk_leader *observer = leading_new(f, NULL);
    call *next;
    lk_hold *hold;
    lk_info *info = NULL;

    assert_nobody_leads(f, observer);
    hold = locking_hold(a);
    next = locking_begin(f, b, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    assert_status(lk_leader_get(observer, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_true(lk_leader_term(info) == lk_hold_fence(hold));
    assert_string_equal(info->holders[0]->reason, "10.0.0.1:4711");
    assert_int_equal(info->waiter_count, 1);
    assert_string_equal(info->waiters[0]->reason, "b");
    lk_info_free(info);
    assert_status(lk_leader_resign(a, hold), LK_OK);
    assert_status(call_wait(next, NULL), LK_OK);
    locking_serve(next);
}

LOCKS_TEST(a_reason_stands_in_for_the_value)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "other"};
    lk_leader *leader = leading_as(f, "value");
    lk_hold *hold = NULL;
    lk_info *info = NULL;

    assert_status(lk_leader_campaign(leader, 0, &options, &hold), LK_OK);
    assert_status(lk_leader_get(leader, &info), LK_OK);
    assert_string_equal(info->holders[0]->reason, "other");
    lk_info_free(info);
    assert_status(lk_leader_resign(leader, hold), LK_OK);
}

LOCKS_TEST(an_observer_waits_until_the_term_is_another)
{
    lk_leader *leader = leading_as(f, "a"), *observer = leading_new(f, NULL);
    lk_info *info = NULL;
    lk_hold *hold;
    uint64_t term;

    assert_status(lk_leader_observe(observer, 0, 0, NULL, &info), LK_EBUSY);
    assert_status(lk_leader_observe(observer, 0, 100, NULL, &info),
                  LK_ETIMEDOUT);
    assert_null(info);
    hold = locking_hold(leader);
    term = lk_hold_fence(hold);
    assert_status(lk_leader_observe(observer, 0, LK_FOREVER, NULL, &info),
                  LK_OK);
    assert_true(lk_leader_term(info) == term);
    lk_info_free(info);
    info = NULL;
    assert_status(lk_leader_observe(observer, term, 100, NULL, &info),
                  LK_ETIMEDOUT);
    assert_status(lk_leader_observe(observer, term - 1, 0, NULL, &info), LK_OK);
    lk_info_free(info);
    assert_status(lk_leader_resign(leader, hold), LK_OK);
    assert_status(lk_leader_observe(observer, term, 5000, NULL, &info), LK_OK);
    assert_true(lk_leader_term(info) == 0);
    lk_info_free(info);
    locking_wait_integer(f, 0, "EXISTS %s", "latchkey:{n}:q");
}

/* Of one that the server does not answer it takes nothing: it is not in doubt. */
LOCKS_TEST(an_observer_that_gets_no_answer_ends_in_time)
{
    lk_leader *observer = leading_new(f, NULL);
    lk_info *info = NULL;
    lk_status status;

    server_freeze(f->server);
    status = lk_leader_observe(observer, 0, 200, NULL, &info);
    server_thaw(f->server);
    assert_status(status, LK_ETIMEDOUT);
    assert_null(info);
}

/* ---- without waiting ---- */

struct seen {
    atomic_bool done;
    lk_status status;
    uint64_t term;
};

static void on_seen(lk_status status, lk_info *info, void *data)
{
    struct seen *s = data;

    s->status = status;
    s->term = lk_leader_term(info);
    lk_info_free(info);
    atomic_store(&s->done, true);
}

static bool is_seen(void *data)
{
    return atomic_load(&((struct seen *)data)->done);
}

LOCKS_TEST(observing_ends_once_in_each_way)
{
    lk_client *client = locking_open(f, NULL);
    lk_leader *observer = leading_in(f, client, NULL);
    lk_leader *leader = leading_new(f, NULL);
    lk_cancel *cancel = NULL;
    static struct seen seen[6];
    lk_hold *hold;

    assert_status(lk_cancel_new(&cancel, client), LK_OK);
    assert_status(lk_leader_observe_async(observer, 0, LK_FOREVER, NULL,
                                          on_seen, &seen[0]),
                  LK_OK);
    assert_status(lk_leader_observe_async(observer, 0, LK_FOREVER, cancel,
                                          on_seen, &seen[1]),
                  LK_OK);
    assert_status(lk_leader_observe_async(observer, 0, 50, NULL, on_seen,
                                          &seen[2]),
                  LK_OK);
    assert_status(lk_leader_observe_async(observer, 0, 0, NULL, on_seen,
                                          &seen[3]),
                  LK_OK);
    lk_cancel_fire(cancel);
    for (size_t i = 1; i < 4; i++)
        assert_true(wait_until(is_seen, &seen[i], 5000));
    assert_status(seen[1].status, LK_ECANCELED);
    assert_status(seen[2].status, LK_ETIMEDOUT);
    assert_status(seen[3].status, LK_EBUSY);
    assert_false(is_seen(&seen[0]));
    hold = locking_hold(leader);
    assert_true(wait_until(is_seen, &seen[0], 5000));
    assert_status(seen[0].status, LK_OK);
    assert_true(seen[0].term == lk_hold_fence(hold));

    assert_status(lk_leader_observe_async(observer, seen[0].term, LK_FOREVER,
                                          NULL, on_seen, &seen[4]),
                  LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_true(wait_until(is_seen, &seen[4], 5000));
    assert_status(seen[4].status, LK_ECLOSED);
    lk_cancel_free(cancel);
    assert_status(lk_leader_resign(leader, hold), LK_OK);
}

static void on_resigned(lk_status status, void *data)
{
    struct seen *s = data;

    s->status = status;
    atomic_store(&s->done, true);
}

LOCKS_TEST(resigning_without_waiting_is_told_to_all)
{
    static tells t;
    lk_leader *leader = leading_new(f, NULL);
    lk_leader_watch *watch = NULL;
    lk_hold *hold = locking_hold(leader);
    static struct seen seen;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_new(f, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    assert_status(lk_leader_resign_async(leader, hold, on_resigned, &seen),
                  LK_OK);
    assert_true(wait_until(is_seen, &seen, 5000));
    assert_status(seen.status, LK_OK);
    tells_wait(&t, 2);
    assert_true(t.told[1].term == 0);
    hold = locking_hold(leader);
    tells_wait(&t, 3);
    assert_status(lk_leader_resign_async(leader, hold, NULL, NULL), LK_OK);
    tells_wait(&t, 4);
    lk_leader_watch_free(watch);
}

/* The handle may go first. */
LOCKS_TEST(what_is_under_way_outlives_the_handle)
{
    lk_client *client = locking_open(f, NULL);
    lk_leader *leader = NULL, *other = leading_new(f, NULL);
    lk_hold *hold = locking_hold(other);
    static struct seen seen;
    call *next;

    assert_status(lk_leader_new(&leader, client, "n", NULL), LK_OK);
    assert_status(lk_leader_observe_async(leader, lk_hold_fence(hold),
                                          LK_FOREVER, NULL, on_seen, &seen),
                  LK_OK);
    next = locking_begin(f, leader, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    lk_leader_free(leader);
    assert_status(lk_leader_resign(other, hold), LK_OK);
    assert_status(call_wait(next, NULL), LK_OK);
    assert_true(wait_until(is_seen, &seen, 5000));
    assert_status(seen.status, LK_OK);
    locking_serve(next);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
