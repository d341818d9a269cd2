/* SPDX-License-Identifier: MIT */

/* Whose turn it is at the read-write lock: phases, waves, and preferences. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

enum { LOOKS = 16 }; /* waiters looked at in one call */

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* w1:1 holds; r1:1, w2:1, r2:1 and w3:1 wait, in this order, and can be reached. */
static void mixed_wait(script_fixture *f)
{
    rw_hear(f, "r1:1", "r2:1", "w2:1", "w3:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "w3:1", "w");
}

static void readers_wait(script_fixture *f, const char *prefix, int count)
{
    char claim[24];

    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "%s:%d", prefix, i);
        rw_acquire(f, claim, "r");
    }
}

/* ---- in turns ---- */

RW_TEST(after_a_writer_all_who_wait_to_read_come_in)
{
    mixed_wait(f);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 0");
    assert_held(f, "r1:1 r2:1 read");
    assert_waiting(f, "w: w2:1 w3:1");
    assert_like(script_heard(f),
                "latchkey:in::r1 grant 0 rwlock r1:1 * 3000 n\n"
                "latchkey:in::r2 grant 0 rwlock r2:1 * 3000 n\n");
}

RW_TEST(after_the_last_reader_one_writer_comes_in)
{
    mixed_wait(f);
    rw_release(f, "w1:1", NULL);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "r2:1 read");
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_held(f, "w2:1:write write");
    assert_waiting(f, "w: w3:1");
}

/* So a writer waits for one phase of readers at most. */
RW_TEST(who_came_after_the_phase_began_waits_for_the_next)
{
    mixed_wait(f);
    rw_hear(f, "r3:1", (char *)NULL);
    rw_release(f, "w1:1", NULL);
    assert_like(rw_acquire(f, "r3:1", "r"), "2 *");
    rw_release(f, "r1:1", NULL);
    rw_release(f, "r2:1", NULL);
    assert_held(f, "w2:1:write write");
    assert_waiting(f, "w: w3:1 r: r3:1");
}

/* And a reader waits for one writer at most. */
RW_TEST(readers_come_in_between_two_writers)
{
    mixed_wait(f);
    rw_hear(f, "r3:1", (char *)NULL);
    rw_release(f, "w1:1", NULL);
    rw_acquire(f, "r3:1", "r");
    rw_release(f, "r1:1", NULL);
    rw_release(f, "r2:1", NULL);
    rw_release(f, "w2:1", NULL);
    assert_held(f, "r3:1 read");
    rw_release(f, "r3:1", NULL);
    assert_held(f, "w3:1:write write");
}

RW_TEST(without_readers_the_next_writer_comes_in)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_held(f, "w2:1:write write");
}

/* A writer whose lease ran out ends its phase as one that left does. */
RW_TEST(after_a_dead_writer_those_who_wait_to_read_come_in)
{
    mixed_wait(f);
    script_expire(f);
    assert_like(rw_recheck(f, "w2:1"), "2 * ([1-9]*) ()");
    assert_held(f, "r1:1 r2:1 read");
}

RW_TEST(readers_that_are_in_let_others_in_while_no_writer_waits)
{
    rw_acquire(f, "w1:1", "w");
    rw_release(f, "w1:1", NULL);
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
    assert_like(rw_mark(f, "wave"), "0");
}

/* ---- waves ---- */

/* However many wait to read, one call has an end; then the caller goes on. */
RW_TEST(a_phase_is_let_in_in_waves)
{
    rw_hear(f, "r:0", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    readers_wait(f, "r", 2 * LOOKS + 3);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 1 0");
    assert_true(script_number(f, "HLEN n") == LOOKS + 1);
    assert_like(rw_pass(f), "2 * 0 1 0 () ()");
    assert_true(script_number(f, "HLEN n") == 2 * LOOKS + 1);
    assert_like(rw_pass(f), "2 * 0 0 0 () ()");
    assert_true(script_number(f, "HLEN n") == 2 * LOOKS + 4);
    assert_waiting(f, "");
}

/* The phase was fixed when it began, however long its waves take. */
RW_TEST(a_writer_that_comes_between_waves_waits_for_them)
{
    rw_hear(f, "r:0", (char *)NULL);
    rw_hear(f, "w2:1", "s1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    readers_wait(f, "r", LOOKS + 3);
    rw_release(f, "w1:1", NULL);
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "s1:1", "r");
    rw_pass(f);
    assert_true(script_number(f, "HLEN n") == LOOKS + 4);
    assert_waiting(f, "w: w2:1 r: s1:1");
}

/* Readers of the first wave may be gone before the second comes in. */
RW_TEST(a_phase_goes_on_though_its_first_wave_has_left)
{
    char claim[24];

    rw_hear(f, "r:0", (char *)NULL);
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    readers_wait(f, "r", LOOKS + 2);
    rw_acquire(f, "w2:1", "w");
    rw_release(f, "w1:1", NULL);
    for (int i = 0; i < LOOKS; i++) {
        snprintf(claim, sizeof(claim), "r:%d", i);
        rw_release(f, claim, NULL);
    }
    assert_held(f, "r:16 r:17 read");
    assert_waiting(f, "w: w2:1");
}

RW_TEST(the_dead_of_a_phase_are_skipped)
{
    rw_hear(f, "r:0", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    for (int i = 0; i < LOOKS; i++) {
        char claim[24];

        snprintf(claim, sizeof(claim), "dead%d:1", i);
        rw_acquire(f, claim, "r");
    }
    readers_wait(f, "r", 1);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 1 0");
    assert_held(f, "");
    assert_like(rw_pass(f), "2 * 0 0 0 () ()");
    assert_held(f, "r:0 read");
    assert_true(number(rw_parked(f)) == LOOKS);
}

/* ---- who waits in vain ---- */

RW_TEST(when_the_waiting_writer_leaves_readers_come_in)
{
    rw_hear(f, "r2:1", "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r2:1", "r");
    assert_waiting(f, "w: w1:1 r: r2:1");
    assert_like(rw_leave(f, "w1:1", false), "1 1 0 0");
    assert_held(f, "r1:1 r2:1 read");
    assert_like(script_heard(f), "latchkey:in::r2 grant 0 rwlock r2:1 *");
}

RW_TEST(when_the_waiting_writer_dies_readers_come_in)
{
    rw_hear(f, "r2:1", "r3:1", "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "r3:1", "r");
    script_deafen(f, "latchkey:in::w1");
    assert_like(rw_recheck(f, "r3:1"), "2 * (0) (1 * * 0)");
    assert_held(f, "r1:1 r2:1 r3:1 read");
    assert_like(script_heard(f), "latchkey:in::r2 grant 0 rwlock r2:1 *");
}

/* It looks again: its place is the one that it had. */
RW_TEST(a_skipped_writer_comes_back_to_its_place)
{
    rw_hear(f, "w2:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_pass(f);
    assert_waiting(f, "");
    rw_acquire(f, "w2:1", "w");
    assert_like(rw_recheck(f, "w1:1"), "2 * 0 0 0 ([1-9]*) ()");
    assert_waiting(f, "w: w1:1 w2:1");
}

/* ---- looking again ---- */

RW_TEST(a_look_finds_a_lost_grant)
{
    rw_hear(f, "r1:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "w1:1", NULL);
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) (1 * * 0)");
    assert_in_range(script_number(f, "PTTL %s", lua_rwlock_timeout("r1:1")),
                    1000, 3000);
    assert_in_range(script_pttl(f, "n"), 1000, 3000);

    rw_acquire(f, "w2:1", "w");
    rw_release(f, "r1:1", NULL);
    assert_like(rw_recheck(f, "w2:1"), "2 * (0) (1 * * 0)");
}

RW_TEST(a_look_of_who_does_not_wait_says_so)
{
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) ()");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) ()");
    assert_waiting(f, "");
}

/* The caller is alive whatever its inbox says; but it comes in only if it is
   its turn. */
RW_TEST(a_look_does_not_let_in_who_does_not_fit)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_recheck(f, "w1:1"), "2 * 0 0 0 ([1-9]*) ()");
    rw_acquire(f, "w2:1", "w");
    assert_like(rw_recheck(f, "w2:1"), "2 * 0 0 0 ([1-9]*) ()");
    assert_held(f, "r1:1 read");
}

RW_TEST(a_touch_lets_in_whoever_fits)
{
    rw_hear(f, "w2:1", "r2:1", "r3:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "r3:1", "r");
    assert_like(rw_recheck(f, "r2:1"), "2 * 0 0 0 ([1-9]*) ()");
    assert_like(rw_recheck(f, "nobody:1"), "2 * 0 0 0 (0) ()");
    rw_kill(f, "r1:1");
    assert_like(rw_recheck(f, "r2:1"), "2 * 0 0 0 ([1-9]*) ()");
    assert_held(f, "w2:1:write write");
    assert_like(script_heard(f), "latchkey:in::w2 grant 0 rwlock w2:1 *");
}

RW_TEST(a_touch_finds_readers_their_turn)
{
    rw_hear(f, "r1:1", "r2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_expire(f);
    assert_like(rw_recheck(f, "r2:1"), "2 * 0 0 0 (0) (1 * * 0)");
    assert_held(f, "r1:1 r2:1 read");
}

/* ---- readers first ---- */

RW_TEST(with_readers_first_no_writer_keeps_them_out)
{
    rw_set_order("1");
    rw_hear(f, "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
    assert_held(f, "r1:1 r2:1 read");
    rw_release(f, "r1:1", NULL);
    rw_release(f, "r2:1", NULL);
    assert_held(f, "w1:1:write write");
}

RW_TEST(with_readers_first_they_come_in_whoever_waited_longer)
{
    rw_set_order("1");
    rw_hear(f, "r1:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "w1:1", NULL);
    assert_held(f, "r1:1 read");
}

/* ---- writers first ---- */

RW_TEST(with_writers_first_all_of_them_come_in_before_readers)
{
    rw_set_order("2");
    mixed_wait(f);
    rw_release(f, "w1:1", NULL);
    assert_held(f, "w2:1:write write");
    rw_release(f, "w2:1", NULL);
    assert_held(f, "w3:1:write write");
    rw_release(f, "w3:1", NULL);
    assert_held(f, "r1:1 r2:1 read");
}

/* It is known from the first who queues, though none of ours came in yet. */
RW_TEST(the_order_is_kept_at_the_server)
{
    rw_set_order("2");
    script_redis(f, "HSET n mode write java:1:write 1");
    rw_hear(f, "r1:1", "w1:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_mark(f, "order"), "2");
    assert_true(script_pttl(f, LUA_RWLOCK_RECORD) > 0);
    script_redis(f, "DEL n");
    rw_recheck(f, "r1:1");
    assert_held(f, "w1:1:write write");
}

/* ---- upgradeable readers ---- */

RW_TEST(upgradeable_readers_take_turns_with_writers)
{
    rw_hear(f, "u1:1", "u2:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "u2:1", "u");
    rw_release(f, "w1:1", NULL);
    assert_held(f, "u1:1 read");
    assert_waiting(f, "w: w2:1 u: u2:1");
    rw_release(f, "u1:1", NULL);
    assert_held(f, "w2:1:write write");
    rw_release(f, "w2:1", NULL);
    assert_held(f, "u2:1 read");
}

RW_TEST(the_next_upgradeable_reader_follows_the_last)
{
    rw_hear(f, "u2:1", "u3:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "u2:1", "u");
    rw_acquire(f, "u3:1", "u");
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
    rw_release(f, "u1:1", NULL);
    assert_held(f, "r1:1 r2:1 u2:1 read");
    assert_waiting(f, "u: u3:1");
    assert_like(rw_mark(f, "upgrader"), "u2:1");
}

RW_TEST(with_writers_first_upgradeable_readers_wait_for_them)
{
    rw_set_order("2");
    rw_hear(f, "u1:1", "w2:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "w2:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_held(f, "w2:1:write write");
    rw_release(f, "w2:1", NULL);
    assert_held(f, "u1:1 read");
}

RW_TEST(an_order_that_a_grant_brings_is_kept)
{
    rw_set_order("1");
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_mark(f, "order"), "1");
    rw_release(f, "r1:1", NULL);
    rw_set_order("2");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_mark(f, "order"), "2");
}

/* It lives, whatever its inbox says; and it is not its turn. */
RW_TEST(a_touch_of_the_deaf_has_them_wait_on)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    assert_like(rw_recheck(f, "w1:1"), "2 * 0 0 0 ([1-9]*) ()");
    assert_waiting(f, "w: w1:1");
}

CHECK_GROUP(script_start_server, script_stop_server)
