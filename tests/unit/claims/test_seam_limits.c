/* SPDX-License-Identifier: MIT */

/*
 * Calls that ask the server more than one thing: all of it is within the time
 * of the call, to the millisecond.
 */

#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

static void fall_silent(void *data)
{
    ((played *)data)->is_mute = true;
}

/* The connection is lost, and ready again after 700 ms; from 750 ms on nothing
   is answered any more. */
static uint64_t be_ready_late(played *p)
{
    p->world->path->open_ns = 100 * FAKE_MS;
    played_break(p);
    played_run_ms(p, 2);
    played_ways(p, 150, 150);
    assert_status(lk_client_wait_ready(p->client, 0), LK_ETIMEDOUT);
    fake_world_at(p->world, fake_world_now(p->world) + 750 * FAKE_MS,
                  fall_silent, p);
    return played_now_ms(p);
}

static void assert_took(const played *p, uint64_t began, uint64_t ms)
{
    assert_int_equal(played_now_ms(p) - began, ms);
}

PLAYED_TEST(a_list_takes_its_time_once)
{
    uint64_t began = be_ready_late(p);
    lk_listing *listing = NULL;

    assert_status(lk_list(p->client, 1200, NULL, &listing), LK_ETIMEDOUT);
    assert_took(p, began, 1200);
}

PLAYED_TEST(a_health_check_takes_its_time_once)
{
    uint64_t began = be_ready_late(p);
    lk_health *health = NULL;

    assert_status(lk_health_check(p->client, 1200, &health), LK_ETIMEDOUT);
    assert_took(p, began, 1200);
}

/* What the name is takes 1.4 s of the two; the question for its holder is not
   answered. */
PLAYED_TEST(who_takes_its_time_once)
{
    uint64_t began = played_now_ms(p);
    lk_info *info = NULL;
    lk_kind kind;

    played_ways(p, 700, 700);
    p->answers[PLAYED_INFO] = played_silence;
    assert_true(lk_who(p->client, "n", &kind, &info) != LK_OK);
    assert_took(p, began, 2000);
}

static void on_who(lk_status status, lk_kind kind, lk_info *info, void *data)
{
    (void)kind;
    call_on_info(status, info, data);
}

PLAYED_TEST(who_without_waiting_takes_its_time_once)
{
    static call c;

    c = (call){0};
    played_ways(p, 700, 700);
    p->answers[PLAYED_INFO] = played_silence;
    assert_status(lk_who_async(p->client, "n", on_who, &c), LK_OK);
    played_run_ms(p, 1999);
    assert_int_equal(c.ends, 0);
    played_run_ms(p, 2);
    assert_int_equal(c.ends, 1);
    assert_true(c.status != LK_OK);
}

/* ---- what operators do ------------------------------------------------------ */

static lk_status do_break(lk_client *client)
{
    return lk_break(client, "n", "somebody:1");
}

static lk_status do_revoke(lk_client *client)
{
    int64_t left_ms;

    return lk_revoke(client, "n", "somebody:1", &left_ms);
}

static lk_status do_forget(lk_client *client)
{
    return lk_forget(client, "n");
}

/* What the name is takes 1.4 s of the two; the rest is not answered. */
static void be_half_silent(played *p)
{
    played_ways(p, 700, 700);
    p->answers[PLAYED_FORCE] = played_silence;
    p->answers[PLAYED_REVOKE] = played_silence;
    p->answers[PLAYED_FORGET] = played_silence;
}

static void
assert_in_doubt_in_time(played *p, lk_status (*act)(lk_client *client))
{
    uint64_t began = played_now_ms(p);

    be_half_silent(p);
    assert_status(act(p->client), LK_EINDOUBT);
    assert_took(p, began, 2000);
}

PLAYED_TEST(a_break_takes_its_time_once)
{
    assert_in_doubt_in_time(p, do_break);
}

PLAYED_TEST(a_revocation_takes_its_time_once)
{
    assert_in_doubt_in_time(p, do_revoke);
}

PLAYED_TEST(forgetting_takes_its_time_once)
{
    assert_in_doubt_in_time(p, do_forget);
}

static void on_revoked(lk_status status, int64_t left_ms, void *data)
{
    (void)left_ms;
    call_on_done(status, data);
}

PLAYED_TEST(operators_without_waiting_take_their_time_once)
{
    static call calls[3];

    be_half_silent(p);
    assert_status(lk_break_async(p->client, "n", "somebody:1", call_on_done,
                                 &calls[0]),
                  LK_OK);
    assert_status(lk_revoke_async(p->client, "n", "somebody:1", on_revoked,
                                  &calls[1]),
                  LK_OK);
    assert_status(lk_forget_async(p->client, "n", call_on_done, &calls[2]),
                  LK_OK);
    played_run_ms(p, 1999);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(calls[i].ends, 0);
    played_run_ms(p, 2);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(calls[i].ends, 1);
        assert_status(calls[i].status, LK_EINDOUBT);
    }
}

/* ---- a leader -------------------------------------------------------------- */

static lk_leader *a_leader(played *p)
{
    lk_leader *leader = NULL;

    assert_status(lk_leader_new(&leader, p->client, "n", NULL), LK_OK);
    p->term = 8;
    p->answers[PLAYED_INFO] = played_silence;
    played_ways(p, 100, 100);
    return leader;
}

/* The observer knows after 200 ms that the term is another; whose is not answered. */
PLAYED_TEST(an_observer_takes_its_time_once)
{
    lk_leader *leader = a_leader(p);
    uint64_t began = played_now_ms(p);
    lk_info *info = NULL;

    assert_status(lk_leader_observe(leader, 7, 250, NULL, &info), LK_ETIMEDOUT);
    assert_took(p, began, 250);
    lk_leader_free(leader);
}

PLAYED_TEST(an_observer_without_waiting_takes_its_time_once)
{
    static call c;
    lk_leader *leader = a_leader(p);

    c = (call){0};
    assert_status(lk_leader_observe_async(leader, 7, 250, NULL, call_on_info,
                                          &c),
                  LK_OK);
    played_run_ms(p, 249);
    assert_int_equal(c.ends, 0);
    played_run_ms(p, 2);
    assert_int_equal(c.ends, 1);
    assert_status(c.status, LK_ETIMEDOUT);
    lk_leader_free(leader);
}
