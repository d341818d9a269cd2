/* SPDX-License-Identifier: MIT */

/*
 * The fences of the lock's grants. Each grant has a range of its own, for the
 * owners that its client passes the lock between: from `fence` up to `top`.
 */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"
#include "support/wait.h"

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

/* Takes the last grant's range off those that may still come. */
static void assert_beyond(script_fixture *f, long long *spent)
{
    assert_true(recorded(f, "fence") > *spent);
    assert_true(recorded(f, "top") >= recorded(f, "fence"));
    *spent = recorded(f, "top");
}

typedef struct moment {
    script_fixture *f;
    long long us;
} moment;

static bool is_past(void *data)
{
    const moment *m = data;

    return script_now_ms(m->f) * 1000 > m->us;
}

/* ---- the range of a grant ---- */

static void a_grant_has_sixty_four_fences(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    assert_true(script_item(f, 3) == script_item(f, 1) + 63);
    assert_true(recorded(f, "fence") == script_item(f, 1));
    assert_true(recorded(f, "top") == script_item(f, 3));
}

static void each_grant_has_fences_above_the_last_ones(void **state)
{
    script_fixture *f = *state;
    long long spent;

    script_acquire(f, "u:1");
    spent = script_item(f, 3);
    script_release(f, "u:1", NULL);
    script_acquire(f, "u:2");
    assert_true(script_item(f, 1) > spent);
}

static void a_fence_is_not_behind_the_clock(void **state)
{
    script_fixture *f = *state;
    long long before = script_now_ms(f) * 1000;

    script_acquire(f, "u:1");
    assert_true(script_item(f, 1) >= before);
}

/* What is ahead of the clock already is not driven further: one fence each. */
static void fences_grow_even_when_the_clock_goes_back(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "HSET %s fence 5 top " FAR, f->keys[KEY_STATE]);
    script_release(f, "u:1", NULL);
    assert_like(script_acquire(f, "u:2"),
                "1 8000000000000001 30000 8000000000000001");
    assert_like(script_redis(f, "HMGET %s fence top", f->keys[KEY_STATE]),
                "8000000000000001 8000000000000001");
}

static void a_grant_reserves_nothing_far_ahead_of_the_clock(void **state)
{
    script_fixture *f = *state;
    long long ahead;
    long long most;

    script_acquire(f, "u:1");
    script_release(f, "u:1", NULL);
    ahead = script_now_ms(f) * 1000 + 60000000;
    script_redis(f, "HSET %s top %lld", f->keys[KEY_STATE], ahead);
    script_acquire(f, "u:2");
    assert_true(script_item(f, 1) == ahead + 1);
    most = (script_now_ms(f) + 1) * 1000 + 100000;
    assert_true(script_item(f, 3) == ahead + 1 || script_item(f, 3) <= most);
}

static void a_record_without_a_top_ends_with_its_fence(void **state)
{
    script_fixture *f = *state;
    long long fence;

    script_acquire(f, "u:1");
    fence = script_item(f, 1);
    script_redis(f, "HDEL %s top", f->keys[KEY_STATE]);
    script_acquire(f, "u:1");
    assert_true(script_item(f, 1) == fence);
    assert_true(script_item(f, 3) == fence);
}

/* ---- who is told of it ---- */

static void a_holder_that_asks_again_is_told_its_range(void **state)
{
    script_fixture *f = *state;
    long long fence;
    long long top;

    script_acquire(f, "u:1");
    fence = script_item(f, 1);
    script_reserve(f, "u:1", NULL, "100");
    top = script_item(f, 3);
    assert_true(top > fence + 63);
    script_acquire(f, "u:1");
    assert_true(script_item(f, 1) == fence);
    assert_true(script_item(f, 3) == top);
    script_recheck(f, "u:1");
    assert_true(script_item(f, 1) == fence);
    assert_true(script_item(f, 4) == top);
}

static void a_waiter_that_takes_a_free_lock_is_told_its_range(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_expire(f);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
    assert_true(script_item(f, 4) == script_item(f, 1) + 63);
    assert_true(script_item(f, 4) == recorded(f, "top"));
}

static void a_grant_tells_the_new_owner_its_range(void **state)
{
    script_fixture *f = *state;
    char expected[128];

    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_release(f, "u:1", NULL);
    assert_true(recorded(f, "top") == recorded(f, "fence") + 63);
    snprintf(expected, sizeof(expected),
             "in:u:2 grant lock u:2 * %lld %lld 3000 n\n", recorded(f, "fence"),
             recorded(f, "top"));
    assert_like(script_heard(f), expected);
}

/* ---- ranges do not overlap ---- */

static void ranges_do_not_overlap_when_the_lock_is_handed_over(void **state)
{
    script_fixture *f = *state;
    long long spent = 0;

    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    assert_beyond(f, &spent);
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
    script_release(f, "u:1", NULL);
    assert_beyond(f, &spent);
    script_reserve(f, "u:2", NULL, "1000000");
    spent = script_item(f, 3);
    script_release(f, "u:2", NULL);
    assert_like(script_redis(f, "HKEYS n"), "u:3");
    assert_beyond(f, &spent);
}

static void ranges_do_not_overlap_when_a_lease_runs_out(void **state)
{
    script_fixture *f = *state;
    long long spent = 0;

    script_acquire(f, "u:1");
    assert_beyond(f, &spent);
    script_reserve(f, "u:1", NULL, "1000000");
    spent = script_item(f, 3);
    script_expire(f);
    script_acquire(f, "u:2");
    assert_beyond(f, &spent);
    script_expire(f);
    script_acquire(f, "u:3");
    assert_beyond(f, &spent);
}

static void ranges_do_not_overlap_when_a_lock_is_forced(void **state)
{
    script_fixture *f = *state;
    long long spent = 0;

    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    assert_beyond(f, &spent);
    script_reserve(f, "u:1", NULL, "1000000");
    spent = script_item(f, 3);
    script_acquire(f, "u:2");
    script_force(f);
    assert_like(script_redis(f, "HKEYS n"), "u:2");
    assert_beyond(f, &spent);
}

/* No range is so far ahead that the clock would not soon have passed it. */
static void ranges_do_not_overlap_once_a_lost_record_is_old(void **state)
{
    script_fixture *f = *state;
    moment end = {.f = f};
    long long spent = 0;

    script_acquire(f, "u:1");
    assert_beyond(f, &spent);
    script_reserve(f, "u:1", NULL, "1000000");
    spent = script_item(f, 3);
    script_redis(f, "DEL n %s", f->keys[KEY_STATE]);
    end.us = spent;
    assert_true(wait_until(is_past, &end, 5000));
    script_acquire(f, "u:2");
    assert_beyond(f, &spent);
}

/* With its counter nothing is lost at all. */
static void ranges_do_not_overlap_when_redissons_token_is_left(void **state)
{
    script_fixture *f = *state;
    long long spent = 0;

    f->interop = "1";
    script_acquire(f, "u:1");
    assert_beyond(f, &spent);
    script_reserve(f, "u:1", NULL, "1000000");
    spent = script_item(f, 3);
    script_redis(f, "DEL n %s", f->keys[KEY_STATE]);
    script_acquire(f, "u:2");
    assert_beyond(f, &spent);
}

static void ranges_do_not_overlap_with_redissons_fences(void **state)
{
    script_fixture *f = *state;
    long long spent = 0;
    long long theirs;

    f->interop = "1";
    script_acquire(f, "u:1");
    assert_beyond(f, &spent);
    script_reserve(f, "u:1", NULL, "1000000");
    spent = script_item(f, 3);
    script_release(f, "u:1", NULL);
    theirs = number(script_redis(f, "INCR %s", f->keys[KEY_TOKEN]));
    assert_true(theirs > spent);
    script_acquire(f, "u:2");
    assert_true(script_item(f, 1) > theirs);
    assert_beyond(f, &spent);
}

/* ---- Redisson's token ---- */

/* One immortal key for every name ever locked would be a leak. */
static void no_token_is_made_where_there_is_none(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_reserve(f, "u:1", NULL, "50");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_TOKEN]), "0");
}

static void a_grant_is_above_a_token_that_exists(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET %s " FAR, f->keys[KEY_TOKEN]);
    assert_like(script_acquire(f, "u:1"),
                "1 8000000000000001 30000 8000000000000001");
    assert_like(script_redis(f, "GET %s", f->keys[KEY_TOKEN]),
                "8000000000000001");
}

static void a_token_that_exists_is_set_to_the_top(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET %s 5 PX 90000", f->keys[KEY_TOKEN]);
    script_acquire(f, "u:1");
    assert_true(token(f) == script_item(f, 3));
    script_reserve(f, "u:1", NULL, "50");
    assert_true(token(f) == script_item(f, 3));
    assert_true(token(f) == recorded(f, "top"));
    assert_true(number(script_redis(f, "PTTL %s", f->keys[KEY_TOKEN])) > 0);
}

static void a_token_is_made_for_redisson(void **state)
{
    script_fixture *f = *state;

    f->interop = "1";
    script_acquire(f, "u:1");
    assert_true(token(f) == script_item(f, 3));
    script_redis(f, "DEL %s", f->keys[KEY_TOKEN]);
    script_reserve(f, "u:1", NULL, "50");
    assert_true(token(f) == script_item(f, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_grant_has_sixty_four_fences),
        SCRIPT_TEST(each_grant_has_fences_above_the_last_ones),
        SCRIPT_TEST(a_fence_is_not_behind_the_clock),
        SCRIPT_TEST(fences_grow_even_when_the_clock_goes_back),
        SCRIPT_TEST(a_grant_reserves_nothing_far_ahead_of_the_clock),
        SCRIPT_TEST(a_record_without_a_top_ends_with_its_fence),
        SCRIPT_TEST(a_holder_that_asks_again_is_told_its_range),
        SCRIPT_TEST(a_waiter_that_takes_a_free_lock_is_told_its_range),
        SCRIPT_TEST(a_grant_tells_the_new_owner_its_range),
        SCRIPT_TEST(ranges_do_not_overlap_when_the_lock_is_handed_over),
        SCRIPT_TEST(ranges_do_not_overlap_when_a_lease_runs_out),
        SCRIPT_TEST(ranges_do_not_overlap_when_a_lock_is_forced),
        SCRIPT_TEST(ranges_do_not_overlap_once_a_lost_record_is_old),
        SCRIPT_TEST(ranges_do_not_overlap_when_redissons_token_is_left),
        SCRIPT_TEST(ranges_do_not_overlap_with_redissons_fences),
        SCRIPT_TEST(no_token_is_made_where_there_is_none),
        SCRIPT_TEST(a_grant_is_above_a_token_that_exists),
        SCRIPT_TEST(a_token_that_exists_is_set_to_the_top),
        SCRIPT_TEST(a_token_is_made_for_redisson),
    };

    return cmocka_run_group_tests_name("lock_fences", tests,
                                       script_start_server, script_stop_server);
}
