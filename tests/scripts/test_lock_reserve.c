/* SPDX-License-Identifier: MIT */

/* lock_confirm reserves more fences for a hold, and what keeps it from it. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

/* Beyond what the server's clock will say in this century. */
#define FAR "8000000000000000"

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static long long recorded(script_fixture *f, const char *field)
{
    return number(script_redis(f, "HGET %s %s", f->keys[KEY_STATE], field));
}

static long long token(script_fixture *f)
{
    return number(script_redis(f, "GET %s", f->keys[KEY_TOKEN]));
}

/* ---- reserving more ---- */

static void a_holder_gets_more_fences(void **state)
{
    script_fixture *f = *state;
    long long fence;
    long long top;

    script_acquire(f, "u:1");
    fence = script_item(f, 1);
    top = script_item(f, 3);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "1 * 0 *");
    assert_true(script_item(f, 3) == top + 50);
    assert_true(recorded(f, "top") == top + 50);
    assert_true(recorded(f, "fence") == fence);
    script_reserve(f, "u:1", NULL, "1");
    assert_true(script_item(f, 3) == top + 51);
}

static void to_reserve_none_changes_nothing(void **state)
{
    script_fixture *f = *state;
    char before[512];
    long long top;

    f->interop = "1";
    script_acquire(f, "u:1");
    top = script_item(f, 3);
    snprintf(before, sizeof(before), "%s",
             script_redis(f, "HGETALL %s", f->keys[KEY_STATE]));
    script_redis(f, "SET %s 5", f->keys[KEY_TOKEN]);
    assert_like(script_reserve(f, "u:1", NULL, "0"), "1 * 1 *");
    assert_true(script_item(f, 3) == top);
    assert_string_equal(script_redis(f, "HGETALL %s", f->keys[KEY_STATE]),
                        before);
    assert_true(token(f) == 5);
}

static void fences_are_reserved_to_the_holder_alone(void **state)
{
    script_fixture *f = *state;
    long long top;

    script_acquire(f, "u:1");
    top = script_item(f, 3);
    assert_like(script_reserve(f, "u:1", "5", "50"), "0 3");
    assert_like(script_reserve(f, "u:2", NULL, "50"), "0 2");
    assert_true(recorded(f, "top") == top);
    script_expire(f);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "0 0");
    assert_true(recorded(f, "top") == top);
}

/* Another's range may be on record, or none: only its own fence is sure. */
static void nothing_is_reserved_to_a_hold_without_a_record(void **state)
{
    script_fixture *f = *state;
    long long top;

    script_acquire(f, "u:1");
    script_release(f, "u:1", NULL);
    script_acquire(f, "u:2");
    top = script_item(f, 3);
    script_redis(f, "DEL n");
    script_redis(f, "HSET n u:1 1");
    script_redis(f, "PEXPIRE n 60000");
    assert_like(script_reserve(f, "u:1", "77", "50"), "1 * 0 77");
    assert_true(recorded(f, "top") == top);
    script_redis(f, "DEL %s", f->keys[KEY_STATE]);
    assert_like(script_reserve(f, "u:1", "77", "50"), "1 * 0 77");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_STATE]), "0");
}

static void no_fence_is_reserved_far_ahead_of_the_clock(void **state)
{
    script_fixture *f = *state;
    long long least;
    long long most;

    script_acquire(f, "u:1");
    least = script_now_ms(f) * 1000 + 100000;
    script_reserve(f, "u:1", NULL, "1000000");
    most = (script_now_ms(f) + 1) * 1000 + 100000;
    assert_true(script_item(f, 3) >= least);
    assert_true(script_item(f, 3) <= most);
    assert_true(recorded(f, "top") == script_item(f, 3));
}

/* The clock went back: what was promised is not taken back. */
static void a_range_is_never_made_smaller(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "HSET %s top " FAR, f->keys[KEY_STATE]);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "1 * 0 " FAR);
    assert_like(script_redis(f, "HGET %s top", f->keys[KEY_STATE]), FAR);
}

/* Its owners are served without a new grant, which would be refused. */
static void a_full_server_lets_fences_be_reserved(void **state)
{
    script_fixture *f = *state;
    long long top;

    f->interop = "1";
    script_acquire(f, "u:1");
    top = script_item(f, 3);
    script_fill_memory(f, true);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "1 * 1 *");
    assert_true(script_item(f, 3) == top + 50);
    assert_true(recorded(f, "top") == top + 50);
}

static void to_reserve_fences_does_not_move_the_end_of_the_lease(void **state)
{
    script_fixture *f = *state;
    long long end;

    script_acquire(f, "u:1");
    assert_like(script_redis(f, "PEXPIRE n 20000"), "1");
    end = number(script_redis(f, "PEXPIRETIME n"));
    script_reserve(f, "u:1", NULL, "50");
    /* But for the moment between two commands of the script. */
    assert_in_range(number(script_redis(f, "PEXPIRETIME n")), end, end + 1000);
}

/* ---- Redisson's token ---- */

/* Those between are Redisson's; a range has no holes. */
static void nothing_is_reserved_where_redisson_counted_on(void **state)
{
    script_fixture *f = *state;
    long long top;

    f->interop = "1";
    script_acquire(f, "u:1");
    top = script_item(f, 3);
    script_redis(f, "INCR %s", f->keys[KEY_TOKEN]);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "1 * 1 *");
    assert_true(script_item(f, 3) == top);
    assert_true(recorded(f, "top") == top);
    assert_true(token(f) == top + 1);
}

static void a_token_that_is_no_counter_reserves_nothing(void **state)
{
    script_fixture *f = *state;
    long long top;

    script_acquire(f, "u:1");
    top = script_item(f, 3);
    script_redis(f, "SET %s word", f->keys[KEY_TOKEN]);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "1 * 0 *");
    assert_true(script_item(f, 3) == top);
    script_redis(f, "DEL %s", f->keys[KEY_TOKEN]);
    script_redis(f, "HSET %s a b", f->keys[KEY_TOKEN]);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "1 * 0 *");
    assert_true(script_item(f, 3) == top);
    assert_true(recorded(f, "top") == top);
}

/* ---- without a right ---- */

/* Asks for more without the right to a command that only this needs. */
static void assert_none_without(script_fixture *f, const char *command)
{
    long long top = recorded(f, "top");

    script_deny(f, command);
    assert_like(script_reserve(f, "u:1", NULL, "50"), "1 * 1 *");
    assert_true(script_item(f, 3) == top);
    assert_true(recorded(f, "top") == top);
    assert_true(token(f) >= top);
    script_deny(f, NULL);
}

static void what_the_server_denies_is_not_reserved(void **state)
{
    script_fixture *f = *state;

    f->interop = "1";
    script_acquire(f, "u:1");
    assert_none_without(f, "get");
    assert_none_without(f, "set");
    assert_none_without(f, "pexpire");
    assert_none_without(f, "hset");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_holder_gets_more_fences),
        SCRIPT_TEST(to_reserve_none_changes_nothing),
        SCRIPT_TEST(fences_are_reserved_to_the_holder_alone),
        SCRIPT_TEST(nothing_is_reserved_to_a_hold_without_a_record),
        SCRIPT_TEST(no_fence_is_reserved_far_ahead_of_the_clock),
        SCRIPT_TEST(a_range_is_never_made_smaller),
        SCRIPT_TEST(a_full_server_lets_fences_be_reserved),
        SCRIPT_TEST(to_reserve_fences_does_not_move_the_end_of_the_lease),
        SCRIPT_TEST(nothing_is_reserved_where_redisson_counted_on),
        SCRIPT_TEST(a_token_that_is_no_counter_reserves_nothing),
        SCRIPT_TEST(what_the_server_denies_is_not_reserved),
    };

    return cmocka_run_group_tests_name("lock_reserve", tests,
                                       script_start_server, script_stop_server);
}
