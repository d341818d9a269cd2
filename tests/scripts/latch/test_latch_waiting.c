/* SPDX-License-Identifier: MIT */

/* acquire, touch, close, see: what a waiter learns. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/latch_script.h"

/* The generation in the last answer of a wait or look. */
static long long told_gen(const script_fixture *f)
{
    return script_item(f, script_item(f, 0) == 1 ? 1 : 2);
}

/* What it says of the last generation that opened, and that is gone. */
static long long told_opened(const script_fixture *f)
{
    return script_item(f, script_item(f, 0) == 1 ? 2 : 4);
}

static long long told_gone(const script_fixture *f)
{
    return script_item(f, script_item(f, 0) == 1 ? 3 : 5);
}

/* ---- facts ---- */

SCRIPT_TEST(a_wait_on_an_armed_latch_learns_its_generation)
{
    latch_set(f, "op:1", "2");
    assert_like(latch_wait(f, "u:1"), "2 -1 * 0 0");
    assert_int_equal(told_gen(f), latch_mark(f, "gen"));
    assert_like(latch_look(f, "u:1"), "2 -1 * 0 0");
    assert_int_equal(told_gen(f), latch_mark(f, "gen"));
}

SCRIPT_TEST(a_wait_on_an_open_latch_passes)
{
    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    assert_like(latch_wait(f, "u:1"), "1 * * 0");
    assert_int_equal(told_gen(f), latch_mark(f, "gen"));
    assert_int_equal(told_opened(f), latch_mark(f, "gen"));
    assert_like(latch_look(f, "u:1"), "1 * * 0");
    assert_like(latch_try(f, "u:1"), "1 * * 0");
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "0");
}

/* Below all generations to come: so what opens next is what it waits for. */
SCRIPT_TEST(a_wait_on_an_unset_latch_learns_where_the_next_begins)
{
    long long place;

    assert_like(latch_wait(f, "u:1"), "2 -1 * 0 0");
    place = told_gen(f);
    assert_int_equal(place % 2, 1);
    assert_like(script_redis(f, "EXISTS n " LATCH_RECORD), "0");
    latch_set(f, "op:1", "1");
    assert_true(latch_mark(f, "gen") > place);
}

SCRIPT_TEST(the_place_before_the_next_is_behind_the_last)
{
    long long ahead = script_now_ms(f) * 1000 + 86400000000;

    latch_set(f, "op:1", "1");
    latch_delete(f, "op:2");
    latch_put(f, "gen", ahead);
    latch_put(f, "gone", ahead);
    latch_wait(f, "u:1");
    assert_int_equal(told_gen(f), ahead + 1);
    latch_set(f, "op:3", "1");
    assert_int_equal(latch_mark(f, "gen"), ahead + 2);
}

/* It opened and was armed again before the waiter looked. */
SCRIPT_TEST(a_look_learns_that_it_opened_before_it_was_reset)
{
    long long gen;

    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    gen = told_gen(f);
    latch_down(f, "op:2", "1");
    latch_reset(f, "op:3", "1");
    assert_like(latch_look(f, "u:1"), "2 -1 * * 0");
    assert_int_equal(told_opened(f), gen);
    assert_true(told_gen(f) > gen);
}

SCRIPT_TEST(a_look_learns_that_it_is_gone)
{
    long long gen;

    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    gen = told_gen(f);
    latch_delete(f, "op:2");
    assert_like(latch_look(f, "u:1"), "2 -1 * 0 *");
    assert_int_equal(told_gone(f), gen);
    assert_int_equal(told_gen(f) % 2, 1);
}

SCRIPT_TEST(a_look_learns_that_its_time_has_ended)
{
    long long gen;

    latch_set_for(f, "op:1", "1", "60000");
    assert_like(latch_wait(f, "u:1"), "2 * * * 0 0");
    assert_in_range(script_item(f, 1), 55000, 60001);
    gen = told_gen(f);
    latch_put(f, "till", script_now_ms(f));
    script_redis(f, "DEL n");
    assert_like(latch_look(f, "u:1"), "2 -1 * 0 *");
    assert_int_equal(told_gone(f), gen);
}

/* Everybody has heard that of the last generation when it opened. */
SCRIPT_TEST(a_wait_on_an_unset_latch_learns_no_nonce)
{
    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    assert_string_equal(f->answer->element[3]->str, LATCH_NONCE);
    latch_down(f, "op:2", "1");
    latch_delete(f, "op:3");
    assert_like(latch_wait(f, "u:2"), "2 -1 * - * *");
    assert_like(latch_look(f, "u:1"), "2 -1 * - * *");
}

SCRIPT_TEST(a_look_without_any_data_learns_that_nothing_is_known)
{
    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    server_flush(f->server);
    assert_like(latch_look(f, "u:1"), "2 -1 * 0 0");
    assert_int_equal(told_gen(f) % 2, 1);
}

SCRIPT_TEST(one_try_is_not_listed)
{
    assert_like(latch_try(f, "u:1"), "3 -1");
    latch_set_for(f, "op:1", "1", "60000");
    assert_like(latch_try(f, "u:1"), "3 *");
    assert_in_range(script_item(f, 1), 55000, 60001);
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "0");
}

/* ---- the list ---- */

SCRIPT_TEST(who_waits_is_listed)
{
    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    latch_wait(f, "u:2");
    assert_like(latch_info(f),
                "3 2 () (u:1 1 0 * because \"\" u:2 1 0 * because \"\")");
    assert_in_range(latch_pttl(f, LATCH_QUEUE), 600000, 660000);
}

SCRIPT_TEST(who_arrived_is_listed_in_order)
{
    latch_arrive(f, "op:1", "3", "z");
    latch_arrive(f, "op:2", "3", "a");
    assert_like(latch_info(f),
                "3 0 (z 1 0 * -1 \"\" \"\" a 1 0 * -1 \"\" \"\") ()");
    latch_arrive(f, "op:3", "3", "b");
    assert_like(latch_info(f), "3 0 (z * a * b 1 0 * -1 \"\" \"\") ()");
    latch_delete(f, "op:4");
    assert_like(latch_info(f), "3 0 () ()");
}

/* Where they could not be removed with it. */
SCRIPT_TEST(nobody_has_arrived_at_an_unset_latch)
{
    latch_arrive(f, "op:1", "3", "m1");
    script_redis(f, "COPY " LATCH_ARRIVED " kept");
    latch_delete(f, "op:2");
    script_redis(f, "RENAME kept " LATCH_ARRIVED);
    assert_like(latch_info(f), "3 0 () ()");
}

SCRIPT_TEST(at_most_64_of_each_are_listed)
{
    char name[16];

    for (int i = 0; i < 70; i++) {
        snprintf(name, sizeof(name), "u:%d", i);
        latch_arrive(f, name, "100", name);
        latch_wait(f, name);
    }
    latch_info(f);
    assert_int_equal(script_item(f, 1), 70);
    assert_int_equal(f->answer->element[2]->elements, 64 * 7);
    assert_int_equal(f->answer->element[3]->elements, 64 * 6);
}

static const char *score_of(script_fixture *f, const char *member)
{
    return script_redis(f, "ZSCORE " LATCH_QUEUE " %s", member);
}

/* How long it waits is not forgotten by looking. */
SCRIPT_TEST(a_look_keeps_the_entry)
{
    char entry[64];

    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    latch_age(f, "u:1", 9000);
    snprintf(entry, sizeof(entry), "%s", score_of(f, latch_member("u:1")));
    latch_look(f, "u:1");
    assert_like(score_of(f, latch_member("u:1")), entry);
    assert_in_range(-strtoll(score_of(f, "u"), NULL, 10),
                    script_now_ms(f) - 5000, script_now_ms(f));
    latch_info(f);
    assert_in_range(f->answer->element[3]->element[3]->integer, 9000, 20000);
}

SCRIPT_TEST(a_waiter_whose_entry_was_lost_is_listed_again)
{
    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    script_redis(f, "DEL " LATCH_QUEUE);
    latch_look(f, "u:1");
    assert_like(latch_info(f), "3 1 () (u:1 1 0 * because \"\")");
}

SCRIPT_TEST(who_was_not_seen_for_thirteen_seconds_does_not_wait)
{
    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    latch_look(f, "u:1");
    latch_wait(f, "v:1");
    latch_age(f, "u:1", 13001);
    assert_like(latch_info(f), "3 1 () (v:1 1 0 * because \"\")");
}

/* Now and then a look clears away what is of no use. */
SCRIPT_TEST(who_was_not_seen_for_long_is_off_the_list)
{
    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    latch_wait(f, "v:1");
    latch_age(f, "u:1", 14000);
    for (int i = 0;
         i < 1000 && strcmp(score_of(f, latch_member("u:1")), "nil") != 0; i++)
        latch_look(f, "v:1");
    assert_like(score_of(f, latch_member("u:1")), "nil");
    assert_like(latch_info(f), "3 1 () (v:1 1 0 * because \"\")");
}

SCRIPT_TEST(who_leaves_is_off_the_list)
{
    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    assert_like(latch_leave(f, "u:1"), "1 1");
    assert_like(latch_leave(f, "u:1"), "1 0");
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "0");
    assert_like(latch_count(f), "1 2");
}

SCRIPT_TEST(a_delete_empties_the_list)
{
    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    latch_delete(f, "op:2");
    assert_like(script_redis(f, "EXISTS " LATCH_QUEUE), "0");
}

SCRIPT_TEST(a_reset_keeps_the_list)
{
    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    latch_reset(f, "op:2", "1");
    assert_like(latch_info(f), "3 1 () (u:1 1 0 * because \"\")");
}

CHECK_GROUP(script_start_server, script_stop_server)
