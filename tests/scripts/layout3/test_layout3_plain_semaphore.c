/* SPDX-License-Identifier: MIT */

/* The plain semaphore of layout 3: nothing is handed over, and each change counts
   once. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counting3.h"

#define GEN "1764385200000" /* of what was set at 0 ms */

static const char *take(script_fixture *f, const char *member)
{
    return c3_run(f, "plain_semaphore/take", "Nqmx", c3_claim(member),
                  c3_member(member), "", NULL);
}

static const char *try_take(script_fixture *f, const char *member)
{
    return c3_run(f, "plain_semaphore/take", "Nqmx", c3_claim(member),
                  c3_member(member) + 67, "", NULL);
}

static const char *change(script_fixture *f, const char *op, const char *what,
                          const char *amount, const char *only)
{
    return c3_run(f, "plain_semaphore/change", "Nqmx", c3_claim(op), what,
                  amount, only, "0", C3_CHANNEL, "", NULL);
}

static const char *set(script_fixture *f, const char *amount)
{
    return change(f, "f1", "s", amount, "");
}

static const char *
back(script_fixture *f, const char *op, const char *amount, const char *gen)
{
    return change(f, op, "b", amount, gen);
}

static const char *touch(script_fixture *f, const char *member)
{
    return c3_run(f, "plain_semaphore/touch", "Nqmx", c3_client(member), "1000",
                  c3_member(member), NULL);
}

static const char *tell(script_fixture *f)
{
    return c3_run(f, "plain_semaphore/tell", "Nqx", "in:", NULL);
}

static const char *leave(script_fixture *f, const char *member)
{
    return c3_run(f, "plain_semaphore/leave", "Nqmx", c3_member(member), "1",
                  NULL);
}

static const char *count(script_fixture *f)
{
    return script_redis(f, "GET n");
}

/* a1 has the only permit; b1 and c1 wait and listen. */
static void two_wait(script_fixture *f)
{
    c3_hear(f, "bc");
    set(f, "1");
    take(f, "a1.1");
    take(f, "b1.1");
    take(f, "c1.1");
}

C3_TEST(permits_are_taken_if_they_are_free)
{
    assert_like(take(f, "a1.1"), "nil");
    assert_like(set(f, "3"), "1");
    assert_like(take(f, "a1.2"), GEN);
    assert_like(count(f), "1");
    assert_like(try_take(f, "b1.2"), "0");
    assert_like(take(f, "b1.2"), "-2");
    assert_like(take(f, "c1.1"), "-5"); /* one is free, but it stands behind */
    assert_like(try_take(f, "c2.1"), "-1");
    assert_like(c3_line(f), "b1.2 c1.1");
    assert_true(script_pttl(f, C3_MEMO) > 600000);
    assert_true(script_pttl(f, C3_LINE) > 2000000);
    assert_int_equal(script_pttl(f, C3_SIDE), -1);
}

C3_TEST(a_change_counts_once_however_often_it_is_asked)
{
    set(f, "3");
    assert_like(set(f, "5"), "1"); /* asked again */
    assert_like(change(f, "f2", "s", "5", ""), "0");
    take(f, "a1.2");
    assert_like(back(f, "a2", "2", GEN), "1");
    assert_like(back(f, "a2", "2", GEN), "1");
    assert_like(count(f), "3");
    assert_like(change(f, "f3", "a", "-2", "1"), "1");
    assert_like(change(f, "f3", "a", "-2", "1"), "1");
    assert_like(count(f), "1");
    assert_like(change(f, "f4", "d", "0", ""), "1");
    assert_like(change(f, "f4", "d", "0", ""), "1");
    assert_like(count(f), "0");
}

/* The note of the taking is gone after 11 minutes. */
C3_TEST(what_was_held_for_long_comes_back)
{
    set(f, "1");
    take(f, "a1.1");
    script_redis(f, "DEL %s", C3_MEMO);
    assert_like(back(f, "a2", "1", GEN), "1");
    assert_like(count(f), "1");
}

C3_TEST(permits_of_a_counter_that_was_deleted_do_not_come_back_to_the_next)
{
    set(f, "1");
    take(f, "a1.1");
    assert_like(change(f, "f2", "x", "0", ""), "1");
    assert_like(back(f, "a2", "1", GEN), "nil");
    assert_like(change(f, "f3", "s", "4", ""), "1");
    assert_like(back(f, "a3", "1", GEN), "nil");
    assert_like(count(f), "4");
    assert_like(take(f, "b1.1"), "1764385200002");
}

/* Others have set it, and nothing of ours is there. */
C3_TEST(the_first_taker_begins_a_generation)
{
    script_redis(f, "SET n 2");
    c3_at(7);
    assert_like(take(f, "a1.1"), "1764385200007");
    assert_like(back(f, "a2", "1", "1764385200007"), "1");
}

C3_TEST(waiters_of_a_counter_that_was_deleted_are_over)
{
    two_wait(f);
    change(f, "f2", "x", "0", "");
    assert_like(touch(f, "b1.1"), "0");
    assert_like(change(f, "f3", "x", "0", ""), "nil");
}

C3_TEST(the_first_is_told_and_takes_by_itself)
{
    two_wait(f);
    assert_like(touch(f, "b1.1"), "1");
    assert_like(back(f, "a2", "1", GEN), "2");
    assert_like(tell(f), "1");
    assert_like(c3_heard(f), "in:b ob1.1 0 n\n");
    assert_like(touch(f, "c1.1"), "1");
    assert_like(touch(f, "b1.1"), GEN);
    assert_like(touch(f, "b1.1"), GEN);
    assert_like(count(f), "0");
    assert_like(c3_line(f), "c1.1");
    assert_like(tell(f), "0");
}

C3_TEST(heads_that_nobody_hears_are_parked_and_come_back)
{
    two_wait(f);
    script_deafen(f, "in:*");
    script_redis(f, "LPUSH %s %s", C3_LINE, c3_member("d1.1"));
    back(f, "a2", "1", GEN);
    assert_like(tell(f), "1");
    assert_like(c3_parked(f), "d1.1");
    assert_like(touch(f, "d1.1"), "3");
    assert_like(c3_line(f), "d1.1 b1.1 c1.1");
}

/* It heard `o`, and does nothing. */
C3_TEST(a_head_that_is_frozen_is_parked)
{
    two_wait(f);
    back(f, "a2", "1", GEN);
    for (int s = 0; s <= 3; s++) {
        c3_at(s * 1000LL);
        assert_like(touch(f, "c1.1"), "2");
    }
    assert_like(c3_run(f, "semaphore/park", "NNqx", c3_client("c"), NULL), "1");
    assert_like(tell(f), "1");
    assert_like(touch(f, "c1.1"), GEN);
    assert_like(touch(f, "b1.1"), "3");
    assert_int_equal(script_pttl(f, C3_SIDE), -1);
}

C3_TEST(one_that_leaves_says_what_it_has)
{
    two_wait(f);
    assert_like(leave(f, "a1.1"), GEN);
    assert_like(leave(f, "b1.1"), "-1");
    assert_like(leave(f, "b1.1"), "0");
    back(f, "a2", "1", GEN);
    assert_like(leave(f, "c1.1"), "-2");
}

C3_TEST(redisson_is_told_of_what_is_free)
{
    script_listen(f, C3_CHANNEL);
    set(f, "2");
    take(f, "a1.1");
    back(f, "a2", "1", GEN);
    change(f, "f2", "a", "3", "");
    change(f, "f3", "a", "-1", "");
    assert_like(c3_heard(f),
                C3_CHANNEL " 2\n" C3_CHANNEL " 2\n" C3_CHANNEL " 5\n");
    assert_like(change(f, "f4", "a", "2147483647", ""), "!LKRANGE *");
}

C3_TEST(a_full_server_takes_no_new_waiters_and_takes_back)
{
    two_wait(f);
    script_fill_memory(f, true);
    assert_like(take(f, "d1.1"), "!OOM *");
    assert_like(change(f, "f2", "s", "1", ""), "0");
    assert_like(back(f, "a2", "1", GEN), "2");
    assert_like(tell(f), "1");
    assert_like(touch(f, "b1.1"), GEN);
    assert_like(leave(f, "c1.1"), "-1");
}

C3_TEST(old_notes_are_swept)
{
    set(f, "1");
    c3_at(600000);
    take(f, "a1.1");
    c3_at(660001);
    assert_like(c3_run(f, "semaphore/sweep", "m", NULL), "1");
    assert_like(C3_REDIS(f, "HKEYS %s", C3_MEMO), "a1");
}

/* ---- cuts ---- */

static const char *cut_take(script_fixture *f)
{
    return take(f, "d1.1");
}

static const char *cut_touch(script_fixture *f)
{
    return touch(f, "b1.1");
}

static const char *cut_back(script_fixture *f)
{
    return back(f, "a2", "1", GEN);
}

static const char *cut_drain(script_fixture *f)
{
    return change(f, "f9", "d", "0", "");
}

/* How many a claim has, as it is told; the free ones among them. */
static int had(script_fixture *f)
{
    static const char *const members[] = {"b1.1", "c1.1", "d1.1"};
    int sum = 0;

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        sum += strlen(touch(f, members[i])) > 10;
    return sum + c3_number(count(f));
}

/* Asked again until it is answered. */
static void check_cuts(script_fixture *f, void (*begin)(script_fixture *f),
                       const char *(*run)(script_fixture *f), int most)
{
    for (int cut = 1;; cut++) {
        bool was_cut;

        script_redis(f, "FLUSHALL");
        begin(f);
        c3_cut(cut);
        was_cut = strstr(run(f), "CUT") != NULL;
        c3_cut(0);
        if (had(f) > most)
            fail_msg("cut %d: %d of %d", cut, had(f), most);
        run(f);
        if (had(f) > most)
            fail_msg("cut %d: %d of %d", cut, had(f), most);
        if (!was_cut)
            break;
        if (strcmp(script_redis(f, "PTTL %s", C3_LINE), "-1") == 0)
            fail_msg("cut %d: a line without an end", cut);
    }
}

static void one_is_free(script_fixture *f)
{
    set(f, "1");
}

static void first_may_take(script_fixture *f)
{
    two_wait(f);
    back(f, "a2", "1", GEN);
}

C3_TEST(no_cut_doubles_permits)
{
    check_cuts(f, one_is_free, cut_take, 1);
    check_cuts(f, first_may_take, cut_touch, 1);
    check_cuts(f, two_wait, cut_back, 1);
    check_cuts(f, first_may_take, cut_drain, 1);
}

int test_layout3_plain_semaphore(void)
{
    return check_all(script_start_server, script_stop_server);
}
