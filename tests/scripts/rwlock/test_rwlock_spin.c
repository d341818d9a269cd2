/* SPDX-License-Identifier: MIT */

/* A claim that spins at the read-write lock: no lane, a mark, and a turn. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

enum { LEFT_MS = 150 }; /* a free name is left to those who spin */

static const char *spin_on(script_fixture *f, const char *claim,
                           const char *mode, const char *base)
{
    return rw_acquire_as(f, claim,
                         (lua_rwlock_ask){.mode =
                                              mode[0] == 'w' ? 'x' : mode[0],
                                          .how = 's',
                                          .base = base});
}

static const char *mark(script_fixture *f)
{
    return script_redis(f, "GET %s", LUA_RWLOCK_SPIN);
}

/* ---- without a lane ---- */

RW_TEST(who_spins_takes_what_is_free)
{
    assert_like(rw_spin(f, "s1:1", "w"), "1 * 30000");
    assert_held(f, "s1:1:write write");
    assert_like(mark(f), "nil");
    rw_release(f, "s1:1", NULL);
    assert_like(rw_spin(f, "s2:1", "r"), "1 * 30000");
    assert_like(rw_spin(f, "s3:1", "u"), "1 * 30000");
    assert_held(f, "s2:1 s3:1 read");
}

RW_TEST(who_spins_and_is_sent_away_leaves_nothing_but_a_mark)
{
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_spin(f, "s1:1", "r"), "3 *");
    assert_like(mark(f), "1");
    assert_like(rw_spin(f, "s2:1", "w"), "3 *");
    assert_like(mark(f), "w");
    assert_like(rw_spin(f, "s1:1", "r"), "3 *");
    assert_like(mark(f), "w");
    assert_in_range(script_pttl(f, LUA_RWLOCK_SPIN), 1, 1000);
    assert_waiting(f, "");
    assert_like(script_redis(f, "EXISTS " LUA_RWLOCK_QUEUE), "0");
}

RW_TEST(said_again_it_is_the_same_hold)
{
    long long fence;

    rw_spin(f, "s1:1", "w");
    fence = script_item(f, 1);
    assert_like(rw_spin(f, "s1:1", "w"), "1 *");
    assert_true(script_item(f, 1) == fence);
}

/* ---- a writer that spins is not kept out by readers who come ---- */

RW_TEST(while_a_writer_spins_no_reader_joins)
{
    rw_acquire(f, "r1:1", "r");
    rw_spin(f, "s1:1", "w");
    assert_like(rw_spin(f, "s2:1", "r"), "3 *");
    assert_like(rw_spin(f, "s3:1", "u"), "3 *");
    assert_like(rw_try(f, "r2:1", "r"), "3 *");
    assert_like(rw_acquire(f, "r3:1", "r"), "2 *");
    assert_like(rw_acquire(f, "u1:1", "u"), "2 *");
    assert_held(f, "r1:1 read");
    rw_release(f, "r1:1", NULL);
    assert_like(rw_spin(f, "s1:1", "w"), "1 *");
    assert_like(mark(f), "1");
}

/* One that has given up is forgotten with its mark. */
RW_TEST(without_the_mark_readers_join)
{
    rw_acquire(f, "r1:1", "r");
    rw_spin(f, "s1:1", "w");
    script_redis(f, "DEL %s", LUA_RWLOCK_SPIN);
    assert_like(rw_spin(f, "s2:1", "r"), "1 *");
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

RW_TEST(in_our_turn_the_mark_keeps_nobody_out)
{
    rw_acquire(f, "r1:1", "r");
    rw_spin(f, "s1:1", "w");
    rw_turn(f, "o", 0, 400);
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

RW_TEST(in_their_turn_it_keeps_readers_out)
{
    rw_acquire(f, "r1:1", "r");
    rw_spin(f, "s1:1", "w");
    rw_turn(f, "t", 0, -1);
    assert_like(rw_acquire(f, "r2:1", "r"), "2 *");
}

RW_TEST(with_readers_first_the_mark_keeps_nobody_out)
{
    rw_set_order("1");
    rw_acquire(f, "r1:1", "r");
    rw_spin(f, "s1:1", "w");
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
    assert_like(rw_spin(f, "s2:1", "r"), "1 *");
}

/* Readers who waited when a writer left are one phase, whoever spins. */
RW_TEST(those_who_waited_come_in_together)
{
    rw_hear(f, "r1:1", "r2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_spin(f, "s1:1", "w");
    rw_turn(f, "o", 0, 400);
    rw_release(f, "w1:1", NULL);
    assert_held(f, "r1:1 r2:1 read");
}

/* ---- upgrades ---- */

RW_TEST(an_upgrade_that_spins_waits_for_the_readers)
{
    rw_spin(f, "s1:1", "u");
    rw_acquire(f, "r1:1", "r");
    assert_like(spin_on(f, "s2:1", "w", "s1:1"), "3 *");
    assert_like(mark(f), "w");
    assert_like(rw_acquire(f, "r2:1", "r"), "2 *");
    rw_release(f, "r1:1", NULL);
    assert_held(f, "s1:1 read");
    assert_like(spin_on(f, "s2:1", "w", "s1:1"), "1 *");
    assert_held(f, "s1:1 s2:1:write write");
}

RW_TEST(an_upgrade_that_waits_keeps_readers_who_spin_out)
{
    rw_hear(f, "w1:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    rw_spin(f, "s1:1", "r");
    rw_acquire_on(f, "w1:1", "w", "u1:1");
    assert_like(rw_spin(f, "s2:1", "r"), "3 *");
    rw_release(f, "s1:1", NULL);
    assert_held(f, "u1:1 w1:1:write write");
}

/* ---- turns with those who queue ---- */

/* w1:1 has released while w2:1 waited and s1:1 spun to write. */
static void left_open(script_fixture *f)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    rw_spin(f, "s1:1", "w");
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
}

RW_TEST(what_we_release_is_left_to_those_who_spin)
{
    left_open(f);
    assert_held(f, "");
    assert_like(script_heard(f), "latchkey:in::w2 open 0 rwlock w2:1 * n\n");
    assert_like(rw_recheck(f, "w2:1"), "2 -2 2 0 0 ([1-9]*) ()");
    assert_like(rw_acquire(f, "w3:1", "w"), "2 *");
    assert_like(rw_acquire(f, "r3:1", "r"), "2 *");
    assert_held(f, "");
    assert_like(rw_spin(f, "s2:1", "r"), "1 *");
    assert_int_equal(rw_side(f), 't');
    assert_true(rw_turn_length(f) >= 0);
}

/* A multilock tries all of its names before it waits for the first. */
RW_TEST(who_tries_and_will_wait_leaves_it_to_them)
{
    left_open(f);
    rw_leave(f, "w2:1", false);
    rw_turn(f, "t", 0, -1);
    assert_like(rw_acquire_as(f, "w3:1",
                              (lua_rwlock_ask){.mode = 'w', .how = 'y'}),
                "3 *");
    assert_held(f, "");
    assert_like(rw_try(f, "w3:1", "w"), "1 *");
}

RW_TEST(what_they_release_in_their_turn_is_handed_over)
{
    left_open(f);
    rw_spin(f, "s1:1", "w");
    assert_like(rw_release(f, "s1:1", NULL), "1 2 0 0");
    assert_held(f, "w2:1:write write");
    assert_int_equal(rw_side(f), 'o');
}

/* As long as they had it, and no longer than half a second. */
RW_TEST(our_turn_is_as_long_as_theirs)
{
    left_open(f);
    rw_spin(f, "s1:1", "w");
    rw_turn(f, "t", 310, 10);
    rw_release(f, "s1:1", NULL);
    assert_in_range(rw_turn_length(f), 300, 500);
    rw_spin(f, "s1:1", "w");
    rw_hear(f, "w3:1", (char *)NULL);
    rw_acquire(f, "w3:1", "w");
    rw_turn(f, "o", 0, 300); /* it is not over, however slow we are */
    rw_release(f, "w2:1", NULL);
    assert_held(f, "w3:1:write write");
}

RW_TEST(if_none_of_them_comes_the_first_waiter_has_it)
{
    left_open(f);
    rw_turn(f, "t", LEFT_MS, -1);
    assert_like(rw_recheck(f, "w2:1"), "2 * (0) (1 * * 0)");
    assert_int_equal(rw_turn_length(f), 500);
}

RW_TEST(readers_who_spin_join_for_a_while)
{
    left_open(f);
    rw_spin(f, "s1:1", "r");
    assert_like(rw_spin(f, "s2:1", "r"), "1 *");
    rw_turn(f, "t", LEFT_MS, 1);
    assert_like(rw_spin(f, "s3:1", "r"), "3 *");
    rw_release(f, "s1:1", NULL);
    assert_held(f, "s2:1 read");
    rw_release(f, "s2:1", NULL);
    assert_held(f, "w2:1:write write");
}

/* A client of ours that comes at once comes after those who spin. */
RW_TEST(without_a_waiter_of_ours_they_have_a_turn_too)
{
    rw_hear(f, "w1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_spin(f, "s1:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_int_equal(rw_side(f), 't');
    rw_turn(f, "t", 0, -1); /* a moment ago, whenever a script runs */
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 2");
    f->stamp[0] = '\0';
    assert_like(rw_spin(f, "s1:1", "w"), "1 *");
    rw_release(f, "s1:1", NULL);
    assert_held(f, "w1:1:write write");
}

RW_TEST(who_waits_and_is_dead_keeps_nobody_out)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w"); /* nobody listens */
    script_expire(f);
    assert_like(rw_spin(f, "s1:1", "w"), "1 *");
    assert_held(f, "s1:1:write write");
}

/* Nor does one that spins pass by one that lives, in no turn of its own. */
RW_TEST(who_waits_and_lives_is_not_passed_by_one_that_spins)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    script_expire(f);
    assert_like(rw_spin(f, "s1:1", "w"), "3 *");
    rw_recheck(f, "w2:1");
    assert_held(f, "w2:1:write write");
}

CHECK_GROUP(script_start_server, script_stop_server)
