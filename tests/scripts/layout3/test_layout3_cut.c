/* SPDX-License-Identifier: MIT */

/* Each script of layout 3's lock in each of its worlds, cut off behind each of its
   writes; see support/cut.h. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/cut.h"

/* ---- worlds ---- */

static void a_free_name(script_fixture *f)
{
    script_redis(f, "SET %s 1764385100000000 PX 900000", L3_FENCE);
}

static void a_new_name(script_fixture *f)
{
    (void)f;
}

static void one_holds(script_fixture *f)
{
    l3_acquire_first(f, "a1");
}

static void one_waits(script_fixture *f)
{
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
}

static void two_wait(script_fixture *f)
{
    one_waits(f);
    l3_acquire(f, "c1");
}

static void without_a_counter(script_fixture *f)
{
    two_wait(f);
    script_redis(f, "DEL %s", L3_FENCE);
}

/* e is heard by nobody. */
static void the_first_is_dead(script_fixture *f)
{
    one_holds(f);
    l3_acquire(f, "e1");
    l3_acquire(f, "e2");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
}

static void all_are_dead(script_fixture *f)
{
    one_holds(f);
    l3_acquire(f, "e1");
    l3_acquire(f, "e2");
}

/* Its lease ended, and c's hold came behind it. */
static void another_holds(script_fixture *f)
{
    script_redis(f, "SET %s 1764385100000000 PX 900000", L3_FENCE);
    l3_acquire(f, "c1");
    l3_acquire(f, "b1");
}

static void listeners_in_their_slice(script_fixture *f)
{
    l3_at(l3_slice(0, true));
    one_holds(f);
    script_listen(f, L3_CHANNEL);
}

static void the_marker_in_their_slice(script_fixture *f)
{
    l3_at(l3_slice(0, true));
    two_wait(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
}

static void the_marker_in_ours(script_fixture *f)
{
    l3_at(l3_slice(0, false));
    two_wait(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
}

static void the_marker_alone(script_fixture *f)
{
    l3_at(l3_slice(0, false));
    one_holds(f);
    script_redis(f, "RPUSH %s others", L3_LINE);
    script_redis(f, "PEXPIRE %s 90000", L3_LINE);
}

static void park(script_fixture *f, const char *claim)
{
    char note[80];

    snprintf(note, sizeof(note), "p%s", l3_member(claim));
    script_redis(f, "LREM %s 0 %s", L3_LINE, note + 1);
    script_redis(f, "HSET %s %s %s", L3_SIDE, note, l3_member("c1"));
    script_redis(f, "PEXPIRE %s 90000", L3_SIDE);
}

static void one_is_parked(script_fixture *f)
{
    two_wait(f);
    park(f, "b1");
}

static void all_are_parked(script_fixture *f)
{
    one_waits(f);
    park(f, "b1");
}

/* As a cut hand-over leaves it. */
static void two_stand_in_n(script_fixture *f)
{
    two_wait(f);
    script_redis(f, "LPOP %s", L3_LINE);
    script_redis(f, "PEXPIRE n 3000");
    script_redis(f, "HSET n %s 1", l3_claim("b1"));
}

static void one_holds_and_is_parked(script_fixture *f)
{
    script_redis(f, "SET %s 1764385100000000 PX 900000", L3_FENCE);
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    park(f, "b1");
}

static void the_holder_has_no_end(script_fixture *f)
{
    two_wait(f);
    script_redis(f, "PERSIST n");
    script_redis(f, "PERSIST %s", L3_LINE);
}

static void redisson_holds(script_fixture *f)
{
    script_redis(f, "HSET n " L3_JAVA " 1");
    script_redis(f, "PEXPIRE n 3000");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
}

static void redisson_listens(script_fixture *f)
{
    two_wait(f);
    script_listen(f, L3_CHANNEL);
}

static void lapsed(script_fixture *f)
{
    two_wait(f);
    script_redis(f, "DEL n");
}

static void lapsed_before_the_dead(script_fixture *f)
{
    the_first_is_dead(f);
    script_redis(f, "DEL n");
}

static void lapsed_before_dead_ones_alone(script_fixture *f)
{
    all_are_dead(f);
    script_redis(f, "DEL n");
}

static void lapsed_in_their_slice(script_fixture *f)
{
    l3_at(l3_slice(0, true));
    lapsed(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
}

/* d stands before b and c and is silent. */
static void lapsed_before_the_frozen(script_fixture *f)
{
    one_holds(f);
    l3_acquire(f, "d1");
    l3_acquire(f, "d2");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    for (int ms = 0; ms <= 2400; ms += 1200) {
        l3_at(ms);
        l3_touch(f, "b1");
        l3_touch(f, "c1");
    }
    script_redis(f, "DEL n");
    l3_at(2500);
}

static void a_turn_in_vain(script_fixture *f)
{
    lapsed(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
    script_redis(f, "HSET %s open 1764385199500", L3_SIDE);
    script_redis(f, "PEXPIRE %s 90000", L3_SIDE);
}

static void a_turn_that_was_used(script_fixture *f)
{
    l3_at(l3_slice(0, false));
    a_turn_in_vain(f);
    script_redis(f, "HSET %s met 1764385199700", L3_SIDE);
}

static void a_turn_that_lasts(script_fixture *f)
{
    l3_at(5);
    lapsed(f);
    script_redis(f, "LPUSH %s others", L3_LINE);
    script_redis(f, "HSET %s open 1764385200000", L3_SIDE);
    script_redis(f, "PEXPIRE %s 90000", L3_SIDE);
}

static void nobody_uses_it(script_fixture *f)
{
    one_holds(f);
    l3_keep(f, "a1", "90000");
    l3_close(f, "a1");
    script_redis(f, "RPUSH %s others", L3_LINE);
    script_redis(f, "PEXPIRE %s 90000", L3_LINE);
}

/* ---- scripts ---- */

#define RUN(name, call)                                                        \
    static const char *name(script_fixture *f)                                 \
    {                                                                          \
        return call;                                                           \
    }

RUN(acquire_a, l3_run(f, "acquire", "Nqr", l3_member("a1"), "3000", NULL))
RUN(acquire_first_a,
    l3_run(f, "acquire", "Nqr", l3_member("a1"), "3000", "l", NULL))
RUN(acquire_b, l3_acquire(f, "b1"))
RUN(acquire_d, l3_acquire(f, "d1"))
RUN(close_a, l3_close(f, "a1"))
RUN(leave_b, l3_leave(f, "b1"))
RUN(touch_b, l3_touch(f, "b1"))
RUN(next_b, l3_next(f, "b1"))
RUN(park_c, l3_park(f, "c1"))
RUN(give, l3_give(f))
RUN(next_try_d, l3_next_try(f, "d1"))
RUN(keep_a, l3_keep(f, "a1", "90000"))
RUN(renew_a, l3_run(f, "renew", "N", "90000", "", l3_claim("a1"), NULL))
RUN(lift_b, l3_run(f, "lift", "r", NULL))
RUN(import_a, l3_import(f, "a1", "d1"))
RUN(revoke_a, l3_run(f, "revoke", "N", l3_claim("a1"), "in:", NULL))
RUN(force_a, l3_run(f, "force", "Nq", l3_claim("a1"), "in:", L3_CHANNEL, NULL))
RUN(forget_it, l3_run(f, "forget", "Nqrx", L3_CHANNEL, L3_FAIR, NULL))

/* ---- the table ---- */

static const cut_row rows[] = {
    /* title, world, script, actor, after, live, holder, may_last */
    {"acquire", a_free_name, acquire_a, "a1", CUT_OVER, "b1", NULL, false},
    {"acquire, lost counter", a_new_name, acquire_a, "a1", CUT_OVER, "b1", NULL,
     false},
    {"acquire, first", a_new_name, acquire_first_a, "a1", CUT_OVER, "b1", NULL,
     false},
    {"acquire, waits", one_holds, acquire_b, "b1", CUT_OVER, "a1 c1", "a1",
     false},
    {"acquire, in line", two_wait, acquire_d, "d1", CUT_OVER, "a1 b1 c1", "a1",
     false},
    {"close", one_holds, close_a, "a1", CUT_OVER, "b1", NULL, true},
    {"close, gives", two_wait, close_a, "a1", CUT_OVER, "b1 c1", NULL, true},
    {"close, gives all", one_waits, close_a, "a1", CUT_OVER, "b1", NULL, true},
    {"close, lost counter", without_a_counter, close_a, "a1", CUT_OVER, "b1 c1",
     NULL, true},
    {"close, dead first", the_first_is_dead, close_a, "a1", CUT_OVER, "b1 c1",
     NULL, true},
    {"close, all dead", all_are_dead, close_a, "a1", CUT_OVER, "b1", NULL,
     true},
    {"close, late", another_holds, close_a, "a1", CUT_OVER, "b1 c1", "c1",
     false},
    {"close, opens", listeners_in_their_slice, close_a, "a1", CUT_OVER, "b1",
     NULL, true},
    {"close, their turn", the_marker_in_their_slice, close_a, "a1", CUT_OVER,
     "b1 c1", NULL, true},
    {"close, our turn", the_marker_in_ours, close_a, "a1", CUT_OVER, "b1 c1",
     NULL, true},
    {"close, marker alone", the_marker_alone, close_a, "a1", CUT_OVER, "b1",
     NULL, true},
    {"leave", two_wait, leave_b, "b1", CUT_OVER, "a1 c1", "a1", false},
    {"leave, parked", one_is_parked, leave_b, "b1", CUT_OVER, "a1 c1", "a1",
     false},
    {"leave, beside", two_stand_in_n, leave_b, "b1", CUT_OVER, "c1", NULL,
     true},
    {"leave, holds", one_holds_and_is_parked, leave_b, "b1", CUT_OVER, "c1",
     NULL, true},
    {"touch", two_wait, touch_b, "b1", CUT_ON, "a1 c1", "a1", false},
    {"touch, parked", one_is_parked, touch_b, "b1", CUT_ON, "a1 c1", "a1",
     false},
    {"touch, none else", all_are_parked, touch_b, "b1", CUT_ON, "a1", "a1",
     false},
    {"touch, beside", two_stand_in_n, touch_b, "b1", CUT_ON, "c1", NULL, true},
    {"touch, holds", one_holds_and_is_parked, touch_b, "b1", CUT_ON, "c1", "b1",
     true},
    {"touch, no end", the_holder_has_no_end, touch_b, "b1", CUT_ON, "a1 c1",
     "a1", false},
    {"touch, stranger", redisson_holds, touch_b, "b1", CUT_ON, "c1", NULL,
     false},
    {"touch, marker", redisson_listens, touch_b, "b1", CUT_ON, "a1 c1", "a1",
     false},
    {"give", lapsed, give, "b1", CUT_ON, "c1", NULL, false},
    {"give, dead first", lapsed_before_the_dead, give, "c1", CUT_ON, "b1", NULL,
     false},
    {"give, all dead", lapsed_before_dead_ones_alone, give, "b1", CUT_ON, "c1",
     NULL, false},
    {"give, their turn", lapsed_in_their_slice, give, "b1", CUT_ON, "c1", NULL,
     false},
    {"give, our turn", a_turn_that_was_used, give, "b1", CUT_ON, "c1", NULL,
     false},
    {"give, late", another_holds, give, "b1", CUT_ON, "c1", "c1", false},
    {"park", lapsed_before_the_frozen, park_c, "c1", CUT_ON, "b1 d1 d2", NULL,
     false},
    {"next, in vain", a_turn_in_vain, next_b, "b1", CUT_ON, "c1", NULL, false},
    {"next, used turn", a_turn_that_was_used, next_b, "b1", CUT_ON, "c1", NULL,
     false},
    {"next, a try", a_turn_that_lasts, next_try_d, "d1", CUT_OVER, "b1 c1",
     NULL, false},
    {"next, no end", the_holder_has_no_end, next_b, "b1", CUT_ON, "a1 c1", "a1",
     false},
    {"next, stranger", redisson_holds, next_b, "b1", CUT_ON, "c1", NULL, false},
    {"keep", two_wait, keep_a, "a1", CUT_ON, "b1 c1", NULL, true},
    {"renew", two_wait, renew_a, "a1", CUT_ON, "b1 c1", NULL, true},
    {"lift", two_wait, lift_b, "b1", CUT_ON, "a1 c1", "a1", false},
    {"import", two_wait, import_a, "d1", CUT_OVER, "a1 b1 c1", NULL, true},
    {"revoke", two_wait, revoke_a, "a1", CUT_ON, "b1 c1", NULL, true},
    {"force", two_wait, force_a, "a1", CUT_OVER, "b1 c1", NULL, true},
    {"forget", nobody_uses_it, forget_it, "b1", CUT_ON, "c1", NULL, false},
};

L3_TEST(no_script_that_is_cut_makes_two_believe_or_leaves_what_does_not_heal)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cut_check(f, &rows[i]);
}

CHECK_GROUP(script_start_server, script_stop_server)
