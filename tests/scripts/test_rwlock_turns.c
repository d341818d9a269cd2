/* SPDX-License-Identifier: MIT */

/* Whose turn it is at the read-write lock: phases, waves, and preferences. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

enum { LOOKS = 64 }; /* waiters looked at in one call */

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* w:1 holds; r:1, w:2, r:2 and w:3 wait, in this order, and can be reached. */
static void mixed_wait(script_fixture *f)
{
    rw_hear(f, "r:1", "r:2", "w:2", "w:3", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:2", "w");
    rw_acquire(f, "r:2", "r");
    rw_acquire(f, "w:3", "w");
}

static void readers_wait(script_fixture *f, const char *prefix, int count)
{
    char claim[24];

    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "%s:%d", prefix, i);
        rw_acquire_with(f, claim, "r", "30000", "1", "in", "", "0", "");
    }
}

/* ---- in turns ---- */

static void after_a_writer_all_who_wait_to_read_come_in(void **state)
{
    script_fixture *f = *state;

    mixed_wait(f);
    assert_like(rw_release(f, "w:1", NULL), "1 0 0");
    assert_held(f, "r:1 r:2 read");
    assert_waiting(f, "w: w:2 w:3");
    assert_like(script_heard(f), "in:r:1 grant rwlock r:1 * 3000 n\n"
                                 "in:r:2 grant rwlock r:2 * 3000 n\n");
}

static void after_the_last_reader_one_writer_comes_in(void **state)
{
    script_fixture *f = *state;

    mixed_wait(f);
    rw_release(f, "w:1", NULL);
    assert_like(rw_release(f, "r:1", NULL), "1 0 0");
    assert_held(f, "r:2 read");
    assert_like(rw_release(f, "r:2", NULL), "1 0 0");
    assert_held(f, "w:2:write write");
    assert_waiting(f, "w: w:3");
}

/* So a writer waits for one phase of readers at the most. */
static void who_came_after_the_phase_began_waits_for_the_next(void **state)
{
    script_fixture *f = *state;

    mixed_wait(f);
    rw_hear(f, "r:3", (char *)NULL);
    rw_release(f, "w:1", NULL);
    assert_like(rw_acquire(f, "r:3", "r"), "0 *");
    rw_release(f, "r:1", NULL);
    rw_release(f, "r:2", NULL);
    assert_held(f, "w:2:write write");
    assert_waiting(f, "w: w:3 r: r:3");
}

/* And a reader waits for one writer at the most. */
static void readers_come_in_between_two_writers(void **state)
{
    script_fixture *f = *state;

    mixed_wait(f);
    rw_hear(f, "r:3", (char *)NULL);
    rw_release(f, "w:1", NULL);
    rw_acquire(f, "r:3", "r");
    rw_release(f, "r:1", NULL);
    rw_release(f, "r:2", NULL);
    rw_release(f, "w:2", NULL);
    assert_held(f, "r:3 read");
    rw_release(f, "r:3", NULL);
    assert_held(f, "w:3:write write");
}

static void without_readers_the_next_writer_comes_in(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    rw_release(f, "w:1", NULL);
    assert_held(f, "w:2:write write");
}

/* A writer whose lease ran out ends its phase as one that left does. */
static void after_a_dead_writer_those_who_wait_to_read_come_in(void **state)
{
    script_fixture *f = *state;

    mixed_wait(f);
    script_expire(f);
    assert_like(rw_recheck(f, "w:2"), "0 *");
    assert_held(f, "r:1 r:2 read");
}

static void
readers_that_are_in_let_others_in_while_no_writer_waits(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "w:1", "w");
    rw_release(f, "w:1", NULL);
    rw_acquire(f, "r:1", "r");
    assert_like(rw_acquire(f, "r:2", "r"), "1 *");
    assert_like(script_redis(f, "HGET %s wave", f->keys[KEY_STATE]), "0");
}

/* ---- waves ---- */

/* However many wait to read, one call has an end; then the caller goes on. */
static void a_phase_is_let_in_in_waves(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in");
    rw_acquire(f, "w:1", "w");
    readers_wait(f, "r", 2 * LOOKS + 3);
    assert_like(rw_release(f, "w:1", NULL), "1 1 0");
    assert_true(number(script_redis(f, "HLEN n")) == LOOKS + 1);
    assert_like(rw_pass(f), "1 0");
    assert_true(number(script_redis(f, "HLEN n")) == 2 * LOOKS + 1);
    assert_like(rw_pass(f), "0 0");
    assert_true(number(script_redis(f, "HLEN n")) == 2 * LOOKS + 4);
    assert_waiting(f, "");
}

/* The phase was fixed when it began, however long its waves take. */
static void a_writer_that_comes_between_waves_waits_for_them(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in");
    rw_hear(f, "w:2", "s:1", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    readers_wait(f, "r", LOOKS + 3);
    rw_release(f, "w:1", NULL);
    rw_acquire(f, "w:2", "w");
    rw_acquire(f, "s:1", "r");
    rw_pass(f);
    assert_true(number(script_redis(f, "HLEN n")) == LOOKS + 4);
    assert_waiting(f, "w: w:2 r: s:1");
}

/* Those of the first wave may be gone before the second comes in. */
static void a_phase_goes_on_though_its_first_wave_has_left(void **state)
{
    script_fixture *f = *state;
    char claim[24];

    script_listen(f, "in");
    rw_hear(f, "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    readers_wait(f, "r", LOOKS + 2);
    rw_acquire(f, "w:2", "w");
    rw_release(f, "w:1", NULL);
    for (int i = 0; i < LOOKS; i++) {
        snprintf(claim, sizeof(claim), "r:%d", i);
        rw_release(f, claim, NULL);
    }
    assert_held(f, "r:64 r:65 read");
    assert_waiting(f, "w: w:2");
}

static void the_dead_of_a_phase_are_skipped(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in");
    rw_acquire(f, "w:1", "w");
    for (int i = 0; i < LOOKS; i++) {
        char claim[24];

        snprintf(claim, sizeof(claim), "dead:%d", i);
        rw_acquire(f, claim, "r");
    }
    readers_wait(f, "r", 1);
    assert_like(rw_release(f, "w:1", NULL), "1 1 0");
    assert_held(f, "");
    assert_like(rw_pass(f), "0 0");
    assert_held(f, "r:0 read");
    assert_true(number(script_redis(f, "ZCARD %s", f->keys[KEY_SKIPPED])) ==
                LOOKS);
}

/* ---- who waits in vain ---- */

static void when_the_waiting_writer_leaves_readers_come_in(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:2", "w:1", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:2", "r");
    assert_waiting(f, "w: w:1 r: r:2");
    assert_like(rw_leave(f, "w:1", "0"), "1 0 0");
    assert_held(f, "r:1 r:2 read");
    assert_like(script_heard(f), "in:r:2 grant rwlock r:2 *");
}

static void when_the_waiting_writer_dies_readers_come_in(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:2", "r:3", "w:1", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:2", "r");
    rw_acquire(f, "r:3", "r");
    script_deafen(f, "in:w:1");
    assert_like(rw_recheck(f, "r:3"), "1 * 30000 *");
    assert_held(f, "r:1 r:2 r:3 read");
    assert_like(script_heard(f), "in:r:2 grant rwlock r:2 *");
}

/* It looks again: its place is the one that it had. */
static void a_skipped_writer_comes_back_to_its_place(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    ticket = script_item(f, 2);
    rw_acquire(f, "r:2", "r");
    assert_waiting(f, "");
    assert_like(rw_recheck(f, "w:1"), "0 * * 0 0 0");
    assert_true(script_item(f, 2) == ticket);
    assert_waiting(f, "w: w:1");
}

/* ---- looking again ---- */

static void a_look_finds_a_lost_grant(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    rw_hear(f, "r:1", "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    ticket = script_item(f, 2);
    rw_release(f, "w:1", NULL);
    assert_like(rw_recheck(f, "r:1"), "1 * 30000 * *");
    assert_true(script_item(f, 3) == ticket);
    assert_in_range(number(script_redis(f, "PTTL %s", rw_timeout(f, "r:1"))),
                    29000, 30000);
    assert_in_range(number(script_redis(f, "PTTL n")), 29000, 30000);

    rw_acquire(f, "w:2", "w");
    ticket = script_item(f, 2);
    rw_release(f, "r:1", NULL);
    assert_like(rw_recheck(f, "w:2"), "1 * 30000 * *");
    assert_true(script_item(f, 3) == ticket);
}

static void a_look_of_who_does_not_wait_says_so(void **state)
{
    script_fixture *f = *state;

    assert_like(rw_recheck(f, "r:1"), "3");
    rw_acquire(f, "w:1", "w");
    assert_like(rw_recheck(f, "r:1"), "3");
    assert_waiting(f, "");
}

/* The caller is alive whatever its inbox says; but it comes in only if it is
   its turn. */
static void a_look_does_not_let_in_who_does_not_fit(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    assert_like(rw_recheck(f, "w:1"), "0 * * 0 0 0");
    rw_acquire(f, "w:2", "w");
    assert_like(rw_recheck(f, "w:2"), "0 * * 0 0 0");
    assert_held(f, "r:1 read");
}

static void a_touch_says_who_of_them_is_to_look(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "w:2", "r:2", "r:3", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:2", "w");
    rw_acquire(f, "r:2", "r");
    rw_acquire(f, "r:3", "r");
    assert_like(rw_touch(f, "r:2", "nobody:1"), "* 0 0 0 * 0");
    assert_true(script_item(f, 4) > 0);
    rw_kill(f, "r:1");
    assert_like(rw_touch(f, "r:2", "w:2"), "* 2 0 0 * *");
    assert_held(f, "r:1 read");
    assert_like(rw_touch(f, "r:2", "r:3"), "* 0 0 0 * *");
    assert_held(f, "w:2:write write");
    assert_like(script_heard(f), "in:w:2 grant rwlock w:2 *");
}

static void a_touch_finds_readers_their_turn(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r:1", "r:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "r:2", "r");
    script_expire(f);
    assert_like(rw_touch(f, "r:2", "r:1"), "-2 2 0 0 * *");
    assert_like(rw_touch(f, "r:2", NULL), "* 0 0 0 *");
    assert_held(f, "r:1 r:2 read");
}

/* ---- readers first ---- */

static void with_readers_first_no_writer_keeps_them_out(void **state)
{
    script_fixture *f = *state;

    rw_set_order("1");
    rw_hear(f, "w:1", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    assert_like(rw_acquire(f, "r:2", "r"), "1 *");
    assert_held(f, "r:1 r:2 read");
    rw_release(f, "r:1", NULL);
    rw_release(f, "r:2", NULL);
    assert_held(f, "w:1:write write");
}

static void with_readers_first_they_come_in_whoever_waited_longer(void **state)
{
    script_fixture *f = *state;

    rw_set_order("1");
    rw_hear(f, "r:1", "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "w:2", "w");
    rw_acquire(f, "r:1", "r");
    rw_release(f, "w:1", NULL);
    assert_held(f, "r:1 read");
}

/* ---- writers first ---- */

static void with_writers_first_all_of_them_come_in_before_readers(void **state)
{
    script_fixture *f = *state;

    rw_set_order("2");
    mixed_wait(f);
    rw_release(f, "w:1", NULL);
    assert_held(f, "w:2:write write");
    rw_release(f, "w:2", NULL);
    assert_held(f, "w:3:write write");
    rw_release(f, "w:3", NULL);
    assert_held(f, "r:1 r:2 read");
}

/* It is known from the first who queues, though none of ours came in yet. */
static void the_order_is_kept_at_the_server(void **state)
{
    script_fixture *f = *state;

    rw_set_order("2");
    script_redis(f, "HSET n mode write java:1:write 1");
    rw_hear(f, "r:1", "w:1", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    assert_like(script_redis(f, "HGET %s order", f->keys[KEY_STATE]), "2");
    assert_true(number(script_redis(f, "PTTL %s", f->keys[KEY_STATE])) > 0);
    script_redis(f, "DEL n");
    rw_recheck(f, "r:1");
    assert_held(f, "w:1:write write");
}

/* ---- upgradeable readers ---- */

static void upgradeable_readers_take_turns_with_writers(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "u:1", "u:2", "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "u:1", "u");
    rw_acquire(f, "w:2", "w");
    rw_acquire(f, "u:2", "u");
    rw_release(f, "w:1", NULL);
    assert_held(f, "u:1 read");
    assert_waiting(f, "w: w:2 u: u:2");
    rw_release(f, "u:1", NULL);
    assert_held(f, "w:2:write write");
    rw_release(f, "w:2", NULL);
    assert_held(f, "u:2 read");
}

static void the_next_upgradeable_reader_follows_the_last(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "u:2", "u:3", (char *)NULL);
    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "u:1", "u");
    rw_acquire(f, "u:2", "u");
    rw_acquire(f, "u:3", "u");
    assert_like(rw_acquire(f, "r:2", "r"), "1 *");
    rw_release(f, "u:1", NULL);
    assert_held(f, "r:1 r:2 u:2 read");
    assert_waiting(f, "u: u:3");
    assert_like(script_redis(f, "HGET %s upgrader", f->keys[KEY_STATE]), "u:2");
}

static void with_writers_first_upgradeable_readers_wait_for_them(void **state)
{
    script_fixture *f = *state;

    rw_set_order("2");
    rw_hear(f, "u:1", "w:2", (char *)NULL);
    rw_acquire(f, "w:1", "w");
    rw_acquire(f, "u:1", "u");
    rw_acquire(f, "w:2", "w");
    rw_release(f, "w:1", NULL);
    assert_held(f, "w:2:write write");
    rw_release(f, "w:2", NULL);
    assert_held(f, "u:1 read");
}

static void an_order_that_a_grant_brings_is_kept(void **state)
{
    script_fixture *f = *state;

    rw_set_order("1");
    rw_acquire(f, "r:1", "r");
    assert_like(script_redis(f, "HGET %s order", f->keys[KEY_STATE]), "1");
    rw_release(f, "r:1", NULL);
    rw_set_order("2");
    rw_acquire(f, "w:1", "w");
    assert_like(script_redis(f, "HGET %s order", f->keys[KEY_STATE]), "2");
}

/* It lives, whatever its inbox says; and it is not its turn. */
static void a_touch_of_the_deaf_has_them_wait_on(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r:1", "r");
    rw_acquire(f, "w:1", "w");
    assert_like(rw_touch(f, "w:1", NULL), "* 0 0 0 *");
    assert_waiting(f, "w: w:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RW_TEST(after_a_writer_all_who_wait_to_read_come_in),
        RW_TEST(after_the_last_reader_one_writer_comes_in),
        RW_TEST(who_came_after_the_phase_began_waits_for_the_next),
        RW_TEST(readers_come_in_between_two_writers),
        RW_TEST(without_readers_the_next_writer_comes_in),
        RW_TEST(after_a_dead_writer_those_who_wait_to_read_come_in),
        RW_TEST(readers_that_are_in_let_others_in_while_no_writer_waits),
        RW_TEST(a_phase_is_let_in_in_waves),
        RW_TEST(a_writer_that_comes_between_waves_waits_for_them),
        RW_TEST(a_phase_goes_on_though_its_first_wave_has_left),
        RW_TEST(the_dead_of_a_phase_are_skipped),
        RW_TEST(when_the_waiting_writer_leaves_readers_come_in),
        RW_TEST(when_the_waiting_writer_dies_readers_come_in),
        RW_TEST(a_skipped_writer_comes_back_to_its_place),
        RW_TEST(a_look_finds_a_lost_grant),
        RW_TEST(a_look_of_who_does_not_wait_says_so),
        RW_TEST(a_look_does_not_let_in_who_does_not_fit),
        RW_TEST(a_touch_says_who_of_them_is_to_look),
        RW_TEST(a_touch_finds_readers_their_turn),
        RW_TEST(a_touch_of_the_deaf_has_them_wait_on),
        RW_TEST(with_readers_first_no_writer_keeps_them_out),
        RW_TEST(with_readers_first_they_come_in_whoever_waited_longer),
        RW_TEST(with_writers_first_all_of_them_come_in_before_readers),
        RW_TEST(with_writers_first_upgradeable_readers_wait_for_them),
        RW_TEST(the_order_is_kept_at_the_server),
        RW_TEST(an_order_that_a_grant_brings_is_kept),
        RW_TEST(upgradeable_readers_take_turns_with_writers),
        RW_TEST(the_next_upgradeable_reader_follows_the_last),
    };

    return cmocka_run_group_tests_name("rwlock_turns", tests,
                                       script_start_server, script_stop_server);
}
