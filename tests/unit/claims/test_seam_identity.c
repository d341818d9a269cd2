/* SPDX-License-Identifier: MIT */

/*
 * What is said of another is not taken for oneself, on a virtual clock:
 * another's fence, another process, another term; and what may still run
 * somewhere is kept from doing harm.
 */

#include <latchkey/leader.h>

#include <errno.h>
#include <stdio.h>

#include "claims/node.h"
#include "engine/client.h"
#include "support/check.h"
#include "support/playing.h"

enum { TOMBSTONE_MS = 600000 };

/* ---- revocations ------------------------------------------------------------ */

static void revoke(played *p, const char *nonce, uint64_t fence)
{
    char text[160];

    (void)snprintf(text, sizeof(text), "revoked 0 lock %s %s %llu n", p->owner,
                   nonce, (unsigned long long)fence);
    played_publish(p, text);
    played_run_ms(p, 5);
}

CALM_TEST(a_revocation_of_another_fence_or_wait_does_not_end_a_hold)
{
    lk_hold *hold = NULL;
    uint64_t fence;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    fence = lk_hold_fence(hold);
    revoke(p, p->nonce, fence - 1);
    revoke(p, p->nonce, fence + 1);
    revoke(p, p->nonce, 0);
    revoke(p, "0123456789abcdef", fence);
    assert_status(lk_hold_check(hold), LK_OK);
    revoke(p, p->nonce, fence);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- connections that may still carry something ----------------------------- */

CALM_TEST(the_connection_before_is_killed_where_it_was)
{
    assert_int_equal(p->kills, 0);
    fake_break(fake_world_link(p->world, 0));
    played_run_ms(p, 100);
    assert_int_equal(p->kills, 1);
    assert_int_equal(p->killed_id, 1); /* the first connection of all */
}

/* There the number is that of somebody else's connection. */
CALM_TEST(in_another_process_no_connection_is_killed)
{
    lk_hold *hold = NULL;

    (void)snprintf(p->run_id, sizeof(p->run_id), "ghijkl");
    played_break(p);
    played_run_ms(p, 1000);
    assert_int_equal(p->kills, 0);
    assert_status(lk_lock_acquire(p->lock, 1000, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Two that do not say which they are may be two. */
CALM_TEST(in_a_process_without_a_name_no_connection_is_killed)
{
    lk_hold *hold = NULL;

    p->run_id[0] = '\0';
    played_break(p);
    played_run_ms(p, 1000);
    played_break(p);
    played_run_ms(p, 1000);
    assert_int_equal(p->kills, 0);
    assert_status(lk_lock_acquire(p->lock, 1000, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Its clock was set forward: it says that it is a thousand seconds old. */
CALM_TEST(a_process_is_no_older_than_the_end_of_the_one_before)
{
    const lk__greeting *greeting = &p->client->node->command_greeting;
    int64_t seen;

    played_run_ms(p, 5000);
    seen = (int64_t)lk__client_now(p->client);
    (void)snprintf(p->run_id, sizeof(p->run_id),
                   "ghijkl\r\nuptime_in_seconds:1000");
    played_break(p);
    played_run_ms(p, 1000);
    assert_string_equal(greeting->run_id, "ghijkl");
    assert_true(greeting->born_at + 4000 * INT64_C(1000000) > seen);
    assert_true(greeting->born_at <= seen);

    /* Nor is it after one more break of the connection to it. */
    played_run_ms(p, 5000);
    played_break(p);
    played_run_ms(p, 1000);
    assert_true(greeting->born_at <= seen);
    assert_true(greeting->born_at + 4000 * INT64_C(1000000) > seen);
}

/* This machine has been up for less long than the server. */
CALM_TEST(a_process_may_be_older_than_the_local_clock)
{
    const lk__greeting *greeting = &p->client->node->command_greeting;
    const int64_t age = INT64_C(100000000) * 1000000000; /* three years */
    char run_id[16];

    (void)snprintf(run_id, sizeof(run_id), "%.15s", greeting->run_id);
    (void)snprintf(p->run_id, sizeof(p->run_id),
                   "%s\r\nuptime_in_seconds:100000001", run_id);
    played_break(p);
    played_run_ms(p, 1000);
    assert_string_equal(greeting->run_id, run_id);
    assert_true(greeting->born_at < 0);
    assert_in_range((int64_t)lk__client_now(p->client) - age -
                        greeting->born_at,
                    0, 1000000000);
}

/* Its clock was set back. */
CALM_TEST(an_age_below_zero_is_none)
{
    const lk__greeting *greeting = &p->client->node->command_greeting;
    const int64_t before = (int64_t)lk__client_now(p->client);
    char run_id[16];

    (void)snprintf(run_id, sizeof(run_id), "%.15s", greeting->run_id);
    (void)snprintf(p->run_id, sizeof(p->run_id),
                   "%s\r\nuptime_in_seconds:-100000", run_id);
    played_break(p);
    played_run_ms(p, 1000);
    assert_true(greeting->born_at >= before);
}

/* Connections cannot be killed here, and the client knows it. */
static void deny_kill(played *p)
{
    p->kill_answer = "-NOPERM this user has no permissions to run the 'client|"
                     "kill' command\r\n";
    fake_break(fake_world_link(p->world, 0));
    played_run_ms(p, 100);
    assert_int_equal(p->kills, 1);
}

/* Gives a wait up whose acquire is under way, over so slow an answer. */
static void give_up_under_way(played *p, uint64_t reply_ms)
{
    lk_hold *hold = NULL;

    p->is_held = true;
    played_ways(p, 1, reply_ms);
    assert_status(lk_lock_acquire(p->lock, 100, NULL, &hold), LK_EINDOUBT);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1);
    played_run_ms(p, 1);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
}

CALM_TEST(what_is_given_up_under_way_leaves_a_tombstone)
{
    deny_kill(p);
    give_up_under_way(p, 500);
    assert_int_equal(p->tombstone_ms, TOMBSTONE_MS);
}

CALM_TEST(where_the_connection_is_killed_no_tombstone_is_left)
{
    give_up_under_way(p, 500);
    assert_int_equal(p->tombstone_ms, 0);
}

CALM_TEST(what_is_given_up_after_its_answer_leaves_no_tombstone)
{
    lk_hold *hold = NULL;

    deny_kill(p);
    p->is_held = true;
    assert_status(lk_lock_acquire(p->lock, 100, NULL, &hold), LK_ETIMEDOUT);
    played_run_ms(p, 1);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
    assert_int_equal(p->tombstone_ms, 0);
}

/* ---- terms ------------------------------------------------------------------ */

CALM_TEST(a_look_that_tells_no_other_term_is_no_news)
{
    static const char *const no_terms[] = {
        "*3\r\n:1\r\n:30000\r\n$2\r\n8x\r\n",
        "*3\r\n:1\r\n:30000\r\n:-1\r\n",
        "*2\r\n:1\r\n:30000\r\n",
    };
    lk_leader *leader = NULL;
    lk_info *info = NULL;

    assert_status(lk_leader_new(&leader, p->client, "n", NULL), LK_OK);
    p->term = 7;
    assert_status(lk_leader_observe(leader, 7, 3000, NULL, &info),
                  LK_ETIMEDOUT);
    assert_in_range(p->counts[PLAYED_OBSERVE], 2, 10);
    assert_int_equal(p->counts[PLAYED_INFO], 0);
    for (size_t i = 0; i < sizeof(no_terms) / sizeof(no_terms[0]); i++) {
        assert_status(lk_client_wait_ready(p->client, 3000), LK_OK);
        p->answers[PLAYED_OBSERVE] = no_terms[i];
        assert_status(lk_leader_observe(leader, 7, 3000, NULL, &info),
                      LK_EPROTO);
    }
    p->answers[PLAYED_OBSERVE] = NULL;
    p->term = 8;
    assert_status(lk_client_wait_ready(p->client, 3000), LK_OK);
    assert_status(lk_leader_observe(leader, 7, 3000, NULL, &info), LK_OK);
    assert_int_equal(p->counts[PLAYED_INFO], 1);
    lk_info_free(info);
    lk_leader_free(leader);
}
