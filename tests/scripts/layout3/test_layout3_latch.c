/* SPDX-License-Identifier: MIT */

/* The latch and the barrier of layout 3. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/counting3.h"

#define NEWS   "latchkey:{n}:n"
#define NONCE  "0123456789abcdef"
#define THEIRS "redisson_countdownlatch__channel__{n}"
#define HOUR   "3600000"

static const char *wait(script_fixture *f, const char *client)
{
    return c3_run(f, "latch/wait", "Nxa", client, "fedcba9876543210", "60000",
                  NULL);
}

static const char *arm_for(script_fixture *f, const char *op,
                           const char *count_, const char *how, const char *ttl)
{
    return c3_run(f, "latch/arm", "Nxa", op, count_, how, NONCE, ttl, THEIRS,
                  NULL);
}

static const char *arm(script_fixture *f, const char *op, const char *count_)
{
    return arm_for(f, op, count_, "t", "0");
}

static const char *down(script_fixture *f, const char *op, const char *by)
{
    return c3_run(f, "latch/down", "Nxam", c3_claim(op), by, "", HOUR, THEIRS,
                  NEWS, "o 0 ", NULL);
}

static const char *open_it(script_fixture *f)
{
    return c3_run(f, "latch/open", "Nxa", HOUR, THEIRS, NEWS, "o 0 ", NULL);
}

static const char *arrive(script_fixture *f, const char *member)
{
    return c3_run(f, "latch/arrive", "Nxa", member, "3", NONCE, "0", THEIRS,
                  NULL);
}

static const char *quit(script_fixture *f, const char *member)
{
    return c3_run(f, "latch/quit", "Nxa", member, NULL);
}

static const char *delete (script_fixture *f)
{
    return c3_run(f, "latch/delete", "Nxa", HOUR, THEIRS, NEWS, "c 0 n", NULL);
}

/* ---- a latch ---- */

C3_TEST(a_latch_is_unset_armed_and_open)
{
    assert_like(wait(f, ""), "0 0 0 - 0 0");
    assert_like(down(f, "a1", "1"), "-2");
    assert_like(script_redis(f, "DBSIZE"), "0");
    assert_like(arm(f, "first", "2"), "1");
    assert_like(wait(f, ""), "1 1 2 " NONCE " 0 0");
    assert_like(down(f, "a1", "1"), "1");
    assert_like(down(f, "a2", "5"), "0");
    assert_like(wait(f, ""), "2 1 0 " NONCE " 1 0");
    assert_like(down(f, "a3", "1"), "-1");
    assert_like(open_it(f), "1");
    assert_like(script_redis(f, "EXISTS n %s", C3_ARRIVED), "0");
    assert_true(script_pttl(f, C3_SIDE) > 3500000);
}

C3_TEST(all_who_wait_are_told_with_a_nonce)
{
    script_listen(f, THEIRS);
    script_listen(f, NEWS);
    arm(f, "first", "1");
    down(f, "a1", "1");
    open_it(f);
    down(f, "a1", "1");
    assert_like(c3_heard(f),
                THEIRS " 1\n" THEIRS " 0\n" NEWS " o 0 1 " NONCE " n\n");
}

C3_TEST(a_change_that_is_asked_again_counts_once)
{
    assert_like(arm(f, "first", "3"), "1");
    assert_like(down(f, "a1", "1"), "2");
    assert_like(down(f, "a1", "1"), "2");
    assert_like(arm(f, "first", "3"), "1");
    assert_like(arm(f, "second", "3"), "0");
    assert_like(script_redis(f, "GET n"), "2");
    assert_true(script_pttl(f, C3_MEMO) > 600000);
}

C3_TEST(without_a_ttl_an_armed_latch_has_no_end)
{
    wait(f, c3_client("a"));
    assert_true(script_pttl(f, C3_SIDE) > 50000);
    arm(f, "first", "1");
    wait(f, c3_client("a"));
    assert_int_equal(script_pttl(f, C3_SIDE), -1);
    assert_int_equal(script_pttl(f, "n"), -1);
    assert_int_equal(script_pttl(f, C3_ARRIVED), -1);
}

/* Its count, its side and its witness end together; then it is unset. */
C3_TEST(with_a_ttl_it_ends_so_long_after_its_last_change)
{
    arm_for(f, "first", "2", "t", "600000");
    script_redis(f, "EVAL %s 3 n %s %s",
                 "for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], 900) end",
                 C3_SIDE, C3_ARRIVED);
    down(f, "a1", "1");
    assert_true(script_pttl(f, "n") > 500000);
    assert_true(script_pttl(f, C3_SIDE) > 500000);
    assert_true(script_pttl(f, C3_ARRIVED) > 500000);
    script_redis(f, "DEL n %s", C3_ARRIVED);
    assert_like(wait(f, ""), "0 1 0 *");
    assert_like(open_it(f), "0");
}

C3_TEST(others_may_count_it_down)
{
    arm(f, "first", "1");
    script_redis(f, "DEL n");
    assert_like(wait(f, ""), "3 1 0 *");
    assert_like(open_it(f), "1");
    assert_like(wait(f, ""), "2 1 *");
}

C3_TEST(others_may_arm_it)
{
    script_redis(f, "SET n 2");
    assert_like(wait(f, ""), "1 1 2 fedcba9876543210 0 0");
    assert_like(wait(f, ""), "1 1 2 fedcba9876543210 0 0");
    assert_int_equal(script_pttl(f, C3_SIDE), -1);
    assert_like(down(f, "a1", "2"), "0");
    assert_like(wait(f, ""), "2 1 0 *");
    script_redis(f, "SET n 1");
    assert_like(wait(f, ""), "1 2 1 *");
}

C3_TEST(a_reset_begins_a_generation)
{
    arm(f, "first", "2");
    assert_like(arm_for(f, "second", "5", "r", "0"), "1");
    assert_like(wait(f, ""), "1 2 5 *");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", C3_ARRIVED), "w2");
}

C3_TEST(a_latch_that_is_deleted_is_unset)
{
    assert_like(delete (f), "0");
    arm(f, "first", "2");
    assert_like(delete (f), "1");
    assert_like(wait(f, ""), "0 1 0 " NONCE " 0 1");
    assert_like(script_redis(f, "EXISTS n %s", C3_ARRIVED), "0");
    arm(f, "second", "1");
    assert_like(wait(f, ""), "1 2 1 " NONCE " 0 1");
}

/* ---- a barrier ---- */

C3_TEST(a_barrier_opens_when_all_are_here)
{
    assert_like(arrive(f, "x"), "2");
    assert_like(arrive(f, "x"), "2");
    assert_like(arrive(f, "y"), "1");
    assert_like(quit(f, "y"), "1");
    assert_like(quit(f, "y"), "1");
    assert_like(script_redis(f, "GET n"), "2");
    assert_like(arrive(f, "y"), "1");
    assert_like(arrive(f, "z"), "0");
    assert_like(quit(f, "z"), "0");
    open_it(f);
    assert_like(quit(f, "z"), "-1");
    assert_like(arrive(f, "w"), "-1");
}

/* Nor is what was counted down otherwise taken back. */
C3_TEST(a_member_that_says_so_again_raises_no_count)
{
    arrive(f, "x");
    down(f, "a1", "1");
    assert_like(arrive(f, "x"), "1");
    assert_like(script_redis(f, "GET n"), "1");
}

C3_TEST(a_barrier_is_for_one_number)
{
    arm(f, "first", "2");
    assert_like(arrive(f, "x"), "-3");
    delete (f);
    script_redis(f, "SET n 3"); /* Redisson's */
    assert_like(arrive(f, "x"), "2");
    assert_like(wait(f, ""), "1 2 2 *");
}

C3_TEST(the_last_that_leaves_takes_its_barrier_along)
{
    arrive(f, "x");
    assert_like(quit(f, "x"), "1");
    assert_like(wait(f, ""), "0 *");
    arrive(f, "x");
    wait(f, c3_client("a"));
    assert_like(quit(f, "x"), "1");
    assert_like(wait(f, ""), "1 2 3 *");
}

/* ---- cuts ---- */

static void was_open(script_fixture *f)
{
    arm(f, "before", "1");
    down(f, "b1", "1");
}

/* Asks until it is answered, with a cut behind each write in turn. */
static void check_cuts(script_fixture *f, void (*begin)(script_fixture *f),
                       const char *(*run)(script_fixture *f), const char *state)
{
    bool was_cut = true;

    for (int cut = 1; was_cut; cut++) {
        script_redis(f, "FLUSHALL");
        begin(f);
        c3_cut(cut);
        was_cut = strstr(run(f), "CUT") != NULL;
        c3_cut(0);
        if (state[0] == '1' && begin != was_open && wait(f, "")[0] >= '2')
            fail_msg("cut %d: open too soon", cut);
        run(f);
        if (strncmp(wait(f, ""), state, strlen(state)) != 0)
            fail_msg("cut %d: %s, not %s", cut, wait(f, ""), state);
    }
}

static void nothing(script_fixture *f)
{
    wait(f, c3_client("a"));
}

/* A down that was cut: open for everybody. */
static void at_none(script_fixture *f)
{
    arm(f, "before", "1");
    c3_cut(4);
    down(f, "b1", "1");
    c3_cut(0);
    assert_like(wait(f, ""), "3 1 0 *");
    assert_like(down(f, "b2", "1"), "-3");
    assert_like(down(f, "b1", "1"), "0");
}

static void two_are_here(script_fixture *f)
{
    arrive(f, "x");
    arrive(f, "y");
}

static const char *cut_reset(script_fixture *f)
{
    return arm_for(f, "second", "3", "r", "0");
}

static void armed(script_fixture *f)
{
    arm(f, "before", "1");
}

/* Behind its note and before the count it is lost: the next one counts. */
static const char *cut_down(script_fixture *f)
{
    const char *told = down(f, "b1", "1");

    if (strchr(told, '!') == NULL && wait(f, "")[0] == '1')
        down(f, "b2", "1");
    if (wait(f, "")[0] == '3')
        open_it(f);
    return told;
}

static const char *cut_arrive(script_fixture *f)
{
    return arrive(f, "z");
}

static const char *cut_quit(script_fixture *f)
{
    return quit(f, "y");
}

C3_TEST(no_cut_opens_a_latch_too_soon)
{
    check_cuts(f, nothing, cut_reset, "1");
    check_cuts(f, nothing, cut_arrive, "1");
    check_cuts(f, two_are_here, cut_quit, "1");
    check_cuts(f, at_none, open_it, "2");
    check_cuts(f, armed, cut_down, "2");
    check_cuts(f, two_are_here, cut_arrive, "3");
}

C3_TEST(a_reset_that_is_cut_leaves_an_open_latch_open_or_armed)
{
    check_cuts(f, was_open, cut_reset, "1 2 3");
}

int test_layout3_latch(void)
{
    return check_all(script_start_server, script_stop_server);
}
