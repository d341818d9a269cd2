/* SPDX-License-Identifier: MIT */

/*
 * Every primitive where connections break, requests and replies are lost, and
 * the server stands still, restarts, forgets, is full or denies something: no
 * wait is forgotten, nothing is had twice, nothing is left behind, and whoever
 * loses a hold is told.
 */

#include "support/check.h"
#include "support/stand.h"
#include "support/wait.h"

/* The connections of a party, in the order in which it makes them. */
enum { COMMAND = 0, INBOX = 1 };

enum {
    HASTY_MS = 400,
    OUTAGE_MS = 300,
    PAUSE_MS = 1000,
    LIMIT_MS = 300,
    EXTENDED_MS = 20000
};

/* Somebody near has shut the name, and the other one waits. */
static party *shut_before(stand *s, party *waiter)
{
    party *holder = party_near(s, NULL);

    party_shut(holder);
    party_queue(waiter);
    return holder;
}

static lk_client_options hasty(void)
{
    return (lk_client_options){LK_CLIENT_OPTIONS_INIT,
                               .command_timeout_ms = wait_limit_ms(HASTY_MS)};
}

static lk_client_options watched(uint64_t lease_ms)
{
    return (lk_client_options){LK_CLIENT_OPTIONS_INIT, .watchdog_ms = lease_ms};
}

/* All of what is waited for: who waits for several names asks for the others. */
static bool is_handed_over(const kind *k)
{
    return k->is_queued && !k->is_joint;
}

/* ---- while somebody waits -------------------------------------------------------- */

static void a_wait_outlives_its_connections(stand *s)
{
    party *far = party_far(s, NULL);
    party *near = shut_before(s, far);

    stand_refuse(s, true);
    stand_reset(s);
    party_open(near); /* a hand-over meets nobody */
    stand_refuse(s, false);
    assert_status(party_ends(far), LK_OK);
    party_assert_in(far);
    party_release(far);
    stand_is_clean(s);
}

/* Of a fair kind it keeps its place. */
static void a_wait_outlives_its_connection_for_commands(stand *s)
{
    party *far = party_far(s, NULL);
    party *behind = party_near(s, NULL);
    party *near = shut_before(s, far);
    uint64_t connects = party_stats(far).connects;

    if (s->kind->is_fair)
        party_queue(behind);
    proxy_reset(s->proxies[0], COMMAND);
    party_connects(far, connects + 1);
    party_open(near);
    party_gets_in(far, wait_now_ms(), STAND_LOOK_MS);
    if (s->kind->is_fair) {
        assert_status(party_ends(behind), LK_OK);
        party_release(behind);
    }
    stand_is_clean(s);
}

static void a_hand_over_that_is_lost_is_found_by_the_next_look(stand *s)
{
    party *far = party_far(s, NULL);
    party *near = shut_before(s, far);

    proxy_swallow(s->proxies[0], INBOX, PROXY_REPLIES);
    party_open(near);
    party_gets_in(far, wait_now_ms(), STAND_LOOK_MS);
    stand_heal(s);
    stand_is_clean(s);
}

static void a_short_outage_is_ridden_out(stand *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = wait_limit_ms(STAND_MS)};
    party *far = party_far(s, &options);
    party *near = shut_before(s, far);

    stand_refuse(s, true);
    stand_reset(s);
    stand_pass_ms(OUTAGE_MS);
    assert_false(party_has_ended(far));
    stand_refuse(s, false);
    party_open(near);
    assert_status(party_ends(far), LK_OK);
    party_release(far);
    stand_is_clean(s);
}

/* And nothing of it stays at the server. */
static void a_long_outage_ends_a_wait(stand *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(HASTY_MS),
                                       .offline_ms = wait_limit_ms(OUTAGE_MS)};
    party *far = party_far(s, &options);
    party *near = party_near(s, NULL);
    lk_status status;

    party_shut(near);
    party_begin(far, (int64_t)STAND_MS * 10, NULL);
    party_waits(far);
    stand_refuse(s, true);
    stand_reset(s);
    status = party_ends(far);
    if (status != LK_EINDOUBT ||
        is_handed_over(s->kind)) /* it was just asking */
        assert_status(status, s->kind->servers == 1 ? LK_EOFFLINE : LK_EQUORUM);
    assert_null(far->hold);
    /* The next one gives the server the time of one command. */
    party_begin(far, (int64_t)STAND_MS * 10, NULL);
    assert_int_not_equal(party_ends(far), LK_OK);
    stand_refuse(s, false);
    party_open(near);
    stand_is_clean(s);
}

static void a_wait_ends_at_its_limit_in_a_black_hole(stand *s)
{
    const lk_client_options options = hasty();
    party *far = party_far(s, &options);
    party *near = party_near(s, NULL);

    party_shut(far); /* what is asked once for a handle has been asked */
    party_open(far);
    party_shut(near);
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_swallow(s->proxies[i], PROXY_ALL, PROXY_REQUESTS);
    party_begin(far, LIMIT_MS, NULL);
    assert_status(party_ends(far),
                  s->kind->is_joint ? LK_ETIMEDOUT : LK_EINDOUBT);
    assert_in_range(wait_now_ms() - far->began_at, LIMIT_MS,
                    wait_allowed_ms(LIMIT_MS + wait_scaled_ms(STAND_SLACK_MS)));
    stand_heal(s);
    party_open(near);
    stand_is_clean(s);
}

/* ---- replies that are lost after the request ran ------------------------------------- */

static void drop_the_next_replies(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_drop_replies(s->proxies[i], COMMAND, true);
}

static void an_acquire_whose_reply_is_lost_is_one(stand *s)
{
    party *far = party_far(s, NULL);
    party *near = party_near(s, NULL);

    if (s->kind->history == HISTORY_LATCH) {
        party_shut(near);
        party_open(near);
    }
    drop_the_next_replies(s);
    party_acquire(far);
    party_assert_in(far);
    if (s->kind->room == 1) {
        party_begin(near, 0, NULL);
        assert_status(party_ends(near), LK_EBUSY);
    }
    party_release(far);
    stand_is_clean(s);
}

static void a_try_whose_reply_is_lost_is_given_back(stand *s)
{
    const lk_client_options options = hasty();
    party *far = party_far(s, &options);

    party_shut(far); /* what is asked once for a handle has been asked */
    party_open(far);
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_drop_replies(s->proxies[i], PROXY_ALL, false);
    party_begin(far, 0, NULL);
    assert_status(party_ends(far),
                  s->kind->servers == 1 ? LK_EINDOUBT : LK_EQUORUM);
    assert_null(far->hold);
    stand_heal(s);
    stand_is_clean(s);
}

/* Said again, it takes nothing from who is in by then. */
static void a_release_whose_reply_is_lost_is_one(stand *s)
{
    party *far = party_far(s, NULL);
    party *near = party_near(s, NULL);
    uint64_t connects;

    party_shut(far);
    connects = party_stats(far).connects;
    party_queue(near);
    drop_the_next_replies(s);
    party_open(far);
    assert_status(party_ends(near), LK_OK);
    party_connects(far, connects + 1);
    party_assert_in(near);
    party_release(near);
    stand_is_clean(s);
}

static void a_release_in_an_outage_is_made_later(stand *s)
{
    const lk_client_options options = hasty();
    party *far = party_far(s, &options);
    party *near = party_near(s, NULL);
    lk_status status;

    party_acquire(far);
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_hold(s->proxies[i], PROXY_ALL, PROXY_REQUESTS);
    status = s->kind->release(far->handle, far->hold);
    far->hold = NULL;
    assert_status(status, LK_EPENDING);
    stand_heal(s);
    party_shut(near);
    party_open(near);
    stand_is_clean(s);
}

/* ---- holds ----------------------------------------------------------------------------- */

/* Of the connections that there are: requests run, and their replies are lost. */
static void drop_replies_once(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        for (int n = 0; n < proxy_accepted(s->proxies[i]); n++)
            proxy_drop_replies(s->proxies[i], n, true);
}

static void a_hold_outlives_broken_connections(stand *s)
{
    const uint64_t lease_ms = 2 * (uint64_t)wait_lease_ms();
    const lk_client_options options = watched(lease_ms);
    party *far = party_far(s, &options);

    party_acquire(far);
    for (int i = 0; i < 3; i++) {
        uint64_t connects = party_stats(far).connects;

        if (i == 1)
            drop_replies_once(s);
        else
            stand_reset(s);
        party_connects(far, connects + 1);
        stand_pass_ms(lease_ms / 2);
        party_assert_in(far);
    }
    assert_int_equal(party_stats(far).losses, 0);
    party_release(far);
    stand_is_clean(s);
}

/* The server has forgotten all of it: the holder is told, and the waiter gets in,
   under a fence that grows all the same. */
static void forgets(stand *s, void (*forget)(stand *s))
{
    const lk_client_options options = watched(3 * (uint64_t)wait_lease_ms());
    party *holder = party_near(s, &options);
    party *waiter = party_near(s, NULL);
    uint64_t fence;

    party_shut(holder);
    fence = lk_hold_fence(holder->hold);
    party_queue(waiter);
    forget(s);
    assert_status(party_ends(waiter), LK_OK);
    assert_true(wait_until(hold_is_lost, holder->hold, STAND_MS));
    if (lk_hold_loss(holder->hold) == LK_LOSS_STOPPED)
        assert_unreachable(LK_LOSS_STOPPED); /* where the machine has no time */
    else
        assert_in_range(lk_hold_loss(holder->hold), LK_LOSS_UNREACHABLE,
                        LK_LOSS_TAKEN);
    party_loses(holder);
    if (s->kind->is_fenced)
        assert_true(lk_hold_fence(waiter->hold) > fence);
    party_assert_in(waiter);
    party_release(waiter);
    stand_is_clean(s);
}

static void a_server_that_forgets_all_is_lived_through(stand *s)
{
    forgets(s, stand_flush);
}

static void a_restart_without_data_is_lived_through(stand *s)
{
    forgets(s, stand_restart);
}

typedef struct notice {
    _Atomic uint64_t at; /* 0: not yet */
} notice;

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    if (remaining_ms == 0)
        ((notice *)data)->at = wait_now_ms();
}

static bool is_told(void *data)
{
    return atomic_load(&((notice *)data)->at) != 0;
}

/* By the clock of the holder, while nobody answers. */
static void a_long_pause_of_the_server_is_a_loss_told_in_time(stand *s)
{
    static notice told;
    const uint64_t lease_ms = 2 * (uint64_t)wait_lease_ms();
    const lk_client_options options = watched(lease_ms);
    party *near = party_near(s, &options);
    uint64_t frozen_at;

    told.at = 0;
    party_acquire(near);
    assert_status(lk_hold_on_lost(near->hold, 0, on_lost, &told), LK_OK);
    stand_freeze(s);
    frozen_at = wait_now_ms();
    party_assert_in(near);
    assert_true(wait_until(is_told, &told, STAND_MS));
    assert_in_range(told.at - frozen_at, 0,
                    wait_allowed_ms(lease_ms + wait_scaled_ms(STAND_SLACK_MS)));
    assert_unreachable(lk_hold_loss(near->hold));
    stand_thaw(s);
    party_loses(near);
    stand_is_clean(s);
}

/* ---- the server -------------------------------------------------------------------------- */

static void a_short_pause_of_the_server_loses_nothing(stand *s)
{
    party *waiter = party_near(s, NULL);
    party *holder = shut_before(s, waiter);

    stand_freeze(s);
    stand_pass_ms(PAUSE_MS);
    party_assert_in(holder);
    assert_false(party_has_ended(waiter));
    stand_thaw(s);
    party_open(holder);
    assert_status(party_ends(waiter), LK_OK);
    party_release(waiter);
    assert_int_equal(party_stats(holder).losses, 0);
    stand_is_clean(s);
}

static void scripts_that_are_forgotten_are_sent_again(stand *s)
{
    party *waiter = party_near(s, NULL);
    party *holder = party_near(s, NULL);

    stand_command(s, "SCRIPT FLUSH");
    party_shut(holder);
    stand_command(s, "SCRIPT FLUSH");
    party_queue(waiter);
    stand_command(s, "SCRIPT FLUSH");
    if (s->kind->has_hold)
        assert_status(lk_hold_extend(holder->hold, EXTENDED_MS), LK_OK);
    stand_command(s, "SCRIPT FLUSH");
    party_open(holder);
    assert_status(party_ends(waiter), LK_OK);
    stand_command(s, "SCRIPT FLUSH");
    party_release(waiter);
    stand_is_clean(s);
}

/* It keeps what it has: a hold, a place in line. */
static void a_full_server_lets_nobody_in_and_everybody_out(stand *s)
{
    party *waiter = party_near(s, NULL);
    party *holder = shut_before(s, waiter);
    party *third = party_near(s, NULL);

    stand_command(s, "CONFIG SET maxmemory 1");
    if (s->kind->has_hold)
        assert_status(lk_hold_extend(holder->hold, EXTENDED_MS), LK_OK);
    party_open(holder);
    assert_status(party_ends(waiter), LK_OK);
    party_assert_in(waiter);
    party_release(waiter);
    party_begin(third, 0, NULL);
    assert_status(party_ends(third), LK_ESERVERMEM);
    stand_command(s, "CONFIG SET maxmemory 0");
    stand_is_clean(s);
}

static void a_queue_that_is_deleted_is_joined_again(stand *s)
{
    party *waiter = party_near(s, NULL);
    party *holder = shut_before(s, waiter);

    (void)server_integer(s->servers[0], "EVAL %s 0",
                         "for _,key in ipairs(redis.call('KEYS','*:q')) do "
                         "redis.call('DEL',key) end return 0");
    party_open(holder);
    party_gets_in(waiter, wait_now_ms(), STAND_LOOK_MS);
    stand_is_clean(s);
}

static void where_nobody_may_publish_waiters_look(stand *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "mute",
                                       .password = "word"};
    party *holder, *waiter;

    stand_command(s, "ACL SETUSER mute reset on >word ~* &* +@all -publish "
                     "-spublish");
    holder = party_near(s, &options);
    waiter = party_near(s, NULL);
    party_shut(holder);
    party_queue(waiter);
    party_open(holder);
    party_gets_in(waiter, wait_now_ms(), STAND_LOOK_MS);
    stand_is_clean(s);
    stand_command(s, "ACL DELUSER mute");
}

int test_faults(void)
{
    const stand_test tests[] = {
        STAND_TEST(a_wait_outlives_its_connections, NULL),
        STAND_TEST(a_wait_outlives_its_connection_for_commands, NULL),
        STAND_TEST(a_hand_over_that_is_lost_is_found_by_the_next_look,
                   stand_is_queued),
        STAND_TEST(a_short_outage_is_ridden_out, NULL),
        STAND_TEST(a_long_outage_ends_a_wait, NULL),
        STAND_TEST(a_wait_ends_at_its_limit_in_a_black_hole, NULL),
        STAND_TEST(an_acquire_whose_reply_is_lost_is_one, NULL),
        STAND_TEST(a_try_whose_reply_is_lost_is_given_back, NULL),
        STAND_TEST(a_release_whose_reply_is_lost_is_one, NULL),
        STAND_TEST(a_release_in_an_outage_is_made_later, stand_is_held),
        STAND_TEST(a_hold_outlives_broken_connections, stand_is_held),
        STAND_TEST(a_server_that_forgets_all_is_lived_through, stand_is_held),
        STAND_TEST(a_restart_without_data_is_lived_through, stand_is_held),
        STAND_TEST(a_long_pause_of_the_server_is_a_loss_told_in_time,
                   stand_is_held),
        STAND_TEST(a_short_pause_of_the_server_loses_nothing, NULL),
        STAND_TEST(scripts_that_are_forgotten_are_sent_again, NULL),
        STAND_TEST(a_full_server_lets_nobody_in_and_everybody_out,
                   is_handed_over),
        STAND_TEST(a_queue_that_is_deleted_is_joined_again, stand_is_queued),
        STAND_TEST(where_nobody_may_publish_waiters_look, stand_is_queued),
    };

    return stand_run("faults", tests, sizeof(tests) / sizeof(tests[0]));
}
