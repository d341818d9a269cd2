/* SPDX-License-Identifier: MIT */

/*
 * The latch's scripts on a server that is out of memory, on names that hold
 * something else, and what they cost.
 */

#include <stdio.h>

#include "support/check.h"
#include "support/latch_script.h"

static const char full[] = "!*OOM command not allowed*";

/* ---- a full server ---- */

SCRIPT_TEST(a_full_server_refuses_to_arm)
{
    script_fill_memory(f, true);
    assert_like(latch_set(f, "op:1", "2"), full);
    assert_like(latch_reset(f, "op:2", "2"), full);
    assert_like(latch_arrive(f, "op:3", "2", "m1"), full);
    assert_like(script_redis(f, "DBSIZE"), "0");
}

SCRIPT_TEST(a_full_server_refuses_to_arm_anew)
{
    latch_set(f, "op:1", "3");
    script_fill_memory(f, true);
    assert_like(latch_reset(f, "op:2", "2"), full);
    assert_like(latch_count(f), "1 3");
    script_fill_memory(f, false);
    assert_like(latch_reset(f, "op:2", "2"), "1 0");
    assert_like(latch_count(f), "1 2");
}

SCRIPT_TEST(a_full_server_lets_members_arrive_and_count)
{
    latch_set(f, "op:1", "4");
    script_fill_memory(f, true);
    assert_like(latch_arrive(f, "op:2", "4", "m1"), "1 0");
    assert_like(latch_arrive(f, "op:3", "4", "m2"), "1 0");
    assert_like(latch_quit(f, "op:4", "m2"), "2");
    assert_like(latch_down(f, "op:5", "1"), "1 0");
    assert_like(latch_down(f, "op:5", "1"), "1 0");
    assert_like(latch_count(f), "1 2");
    assert_like(latch_down(f, "op:6", "2"), "1 0");
    assert_like(latch_count(f), "1 0");
}

SCRIPT_TEST(a_full_server_lets_redissons_be_counted)
{
    redisson_set(f, "2");
    script_fill_memory(f, true);
    assert_like(latch_down(f, "op:1", "1"), "1 0");
    assert_like(latch_down(f, "op:2", "1"), "1 0");
    assert_like(latch_count(f), "1 0");
}

SCRIPT_TEST(a_full_server_lets_a_latch_be_deleted)
{
    latch_set(f, "op:1", "4");
    script_fill_memory(f, true);
    assert_like(latch_delete(f, "op:2"), "1 0");
    assert_like(latch_count(f), "2");
}

SCRIPT_TEST(a_full_server_lets_everybody_wait)
{
    latch_set(f, "op:1", "1");
    script_fill_memory(f, true);
    assert_like(latch_wait(f, "u:1"), "2 -1 * 0 0");
    assert_like(latch_look(f, "u:1"), "2 -1 * 0 0");
    assert_like(latch_leave(f, "u:1"), "1 1");
    latch_down(f, "op:2", "1");
    assert_like(latch_look(f, "u:1"), "1 * * 0");
}

/* It notes whose latch it is, to tell later that it opened, and what they opened. */
SCRIPT_TEST(a_full_server_lets_everybody_wait_for_redissons)
{
    redisson_set(f, "1");
    script_fill_memory(f, true);
    assert_like(latch_wait(f, "u:1"), "2 -1 * " LATCH_NONCE " 0 0");
    assert_int_equal(latch_mark(f, "foreign"), 1);
    redisson_down(f);
    assert_like(latch_look(f, "u:1"), "2 -1 * - * 0");
    script_fill_memory(f, false);

    latch_set(f, "op:1", "1");
    redisson_down(f);
    script_fill_memory(f, true);
    assert_like(latch_wait(f, "u:2"), "1 * * 0");
    assert_like(latch_word(f, "phase"), "open");
}

/* ---- something else ---- */

typedef const char *(*question)(script_fixture *f);

static const char *ask_set(script_fixture *f)
{
    return latch_set(f, "op:1", "2");
}

static const char *ask_reset(script_fixture *f)
{
    return latch_reset(f, "op:1", "2");
}

static const char *ask_down(script_fixture *f)
{
    return latch_down(f, "op:1", "1");
}

static const char *ask_arrive(script_fixture *f)
{
    return latch_arrive(f, "op:1", "3", "m");
}

static const char *ask_quit(script_fixture *f)
{
    return latch_quit(f, "op:1", "m");
}

static const char *ask_delete(script_fixture *f)
{
    return latch_delete(f, "op:1");
}

static const char *ask_wait(script_fixture *f)
{
    return latch_wait(f, "u:1");
}

static const char *ask_look(script_fixture *f)
{
    return latch_look(f, "u:1");
}

static const question questions[] = {ask_set,    ask_reset, ask_down,
                                     ask_arrive, ask_quit,  ask_delete,
                                     ask_wait,   ask_look,  latch_count,
                                     latch_info};

/* Every script answers so, and no key is there but those that were. */
static void all_answer(script_fixture *f, const char *pattern)
{
    long long keys = script_number(f, "DBSIZE");

    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        assert_like(questions[i](f), pattern);
        assert_int_equal(script_number(f, "DBSIZE"), keys);
    }
}

SCRIPT_TEST(a_name_that_is_no_latch_is_refused)
{
    script_redis(f, "HSET n u:1 1");
    all_answer(f, "!LKTYPE *");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
}

SCRIPT_TEST(a_text_that_is_no_count_is_refused)
{
    static const char *const texts[] = {"x", "1x", "1.5", "1e3", "0x10", ""};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        script_redis(f, "SET n %s", texts[i]);
        all_answer(f, "!LKTYPE *");
    }
}

SCRIPT_TEST(another_layout_is_refused)
{
    script_redis(f, "SET " LATCH_RECORD " %s",
                 "3t 0 0 0 - - - 0 - - - 0 0 - - ");
    all_answer(f, "!LKLAYOUT *");
    script_redis(f, "SET " LATCH_RECORD " x");
    all_answer(f, "!LKLAYOUT *");
}

SCRIPT_TEST(a_name_of_another_primitive_is_refused)
{
    script_redis(f, "SET n 3");
    script_redis(f, "SET " LATCH_RECORD " %s",
                 "2c 0 0 0 - - - 0 - - - 0 0 - - ");
    all_answer(f, "!LKTYPE *");
    script_redis(f, "SET " LATCH_RECORD " %s",
                 "2p 0 0 0 - - - 0 - - - 0 0 - - ");
    all_answer(f, "!LKTYPE *");
}

/* What is left of one that is not there any more: its fences count alone. */
SCRIPT_TEST(what_another_primitive_left_is_no_obstacle)
{
    script_redis(f, "SET " LATCH_RECORD " %s",
                 "2l 77 63 0 - - - 0 - - - 0 0 - - ");
    assert_like(latch_set(f, "op:1", "2"), "1 0");
    assert_like(script_redis(f, "GET " LATCH_RECORD), "2t 77 63 *");
}

/* Nobody else has to write it. */
SCRIPT_TEST(a_record_that_is_no_string_is_replaced)
{
    script_redis(f, "RPUSH " LATCH_RECORD " x");
    assert_like(latch_set(f, "op:1", "2"), "1 0");
    assert_like(latch_word(f, "phase"), "armed");
}

SCRIPT_TEST(a_memo_of_another_type_stops_operations_before_they_begin)
{
    latch_set(f, "op:0", "3");
    script_redis(f, "DEL " LATCH_MEMO);
    script_redis(f, "SET " LATCH_MEMO " x");
    for (size_t i = 0; i < 6; i++)
        assert_like(questions[i](f), "!*WRONGTYPE*");
    assert_like(latch_count(f), "1 3");
}

SCRIPT_TEST(members_of_another_type_stop_an_arrival_before_it_begins)
{
    latch_set(f, "op:0", "3");
    script_redis(f, "SET " LATCH_ARRIVED " x");
    assert_like(ask_arrive(f), "!*WRONGTYPE*");
    assert_like(ask_quit(f), "!*WRONGTYPE*");
    assert_like(latch_count(f), "1 3");
    assert_like(ask_reset(f), "1 0");
    assert_like(latch_arrive(f, "op:2", "2", "m"), "1 0");
}

SCRIPT_TEST(a_list_of_another_type_does_not_stop_a_wait)
{
    latch_set(f, "op:0", "1");
    script_redis(f, "SET " LATCH_QUEUE " x");
    assert_like(ask_wait(f), "2 -1 * 0 0");
    assert_like(ask_look(f), "2 -1 * 0 0");
    assert_like(ask_down(f), "1 0");
    assert_like(latch_count(f), "1 0");
}

/* ---- cost ---- */

static long long cost_of_opening(script_fixture *f)
{
    latch_down(f, "op:2", "1");
    script_redis(f, "CONFIG RESETSTAT");
    latch_down(f, "op:3", "1");
    return script_commands_called(f);
}

/* A look clears away now and then, which costs a few more. */
SCRIPT_TEST(counting_down_costs_few_commands)
{
    latch_set(f, "op:1", "3");
    script_redis(f, "CONFIG RESETSTAT");
    latch_down(f, "op:2", "1");
    assert_int_equal(script_commands_called(f), 7);
    script_redis(f, "CONFIG RESETSTAT");
    latch_look(f, "u:1");
    assert_in_range(script_commands_called(f), 6, 13);
}

SCRIPT_TEST(opening_costs_the_same_with_many_waiters)
{
    char claim[16];
    long long alone;

    latch_set(f, "op:1", "2");
    alone = cost_of_opening(f);
    assert_int_equal(alone, 12); /* the end of each key is one */
    server_flush(f->server);
    latch_set(f, "op:1", "2");
    for (int i = 0; i < 300; i++) {
        snprintf(claim, sizeof(claim), "u:%d", i);
        latch_wait(f, claim);
    }
    assert_int_equal(cost_of_opening(f), alone);
}

CHECK_GROUP(script_start_server, script_stop_server)
