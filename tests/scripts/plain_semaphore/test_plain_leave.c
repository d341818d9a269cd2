/* SPDX-License-Identifier: MIT */

/*
 * plain_leave, plain_pass, plain_info: giving up and giving back, going on
 * with telling, and who waits.
 */

#include "support/check.h"
#include "support/plain_script.h"

/* ---- leaving ---- */

PLAIN_TEST(a_waiter_that_leaves_waits_no_more)
{
    plain_three_wait(f);
    assert_like(plain_leave(f, "c:3", "0"), "1 1 0 0");
    assert_like(plain_queue(f), "b:2 d:4");
    assert_like(plain_leave(f, "c:3", "0"), "1 0 0 0");
    assert_like(plain_recheck(f, "c:3"), "3 -1 0 0 0 0 (0)");
}

PLAIN_TEST(what_was_taken_is_given_back_once)
{
    plain_set(f, "a:1", "5");
    plain_acquire(f, "b:2", "2");
    assert_like(plain_leave(f, "b:2", "0"), "1 2 0 0");
    assert_free(f, "5");
    assert_like(plain_leave(f, "b:2", "0"), "1 0 0 0");
    assert_free(f, "5");
}

PLAIN_TEST(what_is_given_back_goes_to_the_next)
{
    plain_hear(f, "c:3", (char *)NULL);
    plain_set(f, "a:1", "2");
    plain_acquire(f, "b:2", "2");
    plain_acquire(f, "c:3", "1");
    script_listen(f, f->channel);
    plain_leave(f, "b:2", "0");
    assert_like(script_heard(f),
                "redisson_sc:{n} 2\nlatchkey:in::c open 0 plain c:3 * n\n");
}

PLAIN_TEST(the_next_is_told_when_the_first_leaves)
{
    plain_three_wait(f);
    script_redis(f, "SET n 1");
    plain_leave(f, "b:2", "0");
    assert_like(script_heard(f), "latchkey:in::c open 0 plain c:3 * n\n");
}

/* What came from another counter under this name was deleted with it. */
PLAIN_TEST(nothing_is_given_back_to_another_counter)
{
    plain_set(f, "a:1", "5");
    plain_acquire(f, "b:2", "2");
    plain_delete(f, "c:3");
    plain_set(f, "d:4", "1");
    assert_like(plain_leave(f, "b:2", "0"), "1 2 0 0");
    assert_free(f, "1");
}

PLAIN_TEST(nothing_is_given_back_to_an_unset_counter)
{
    plain_set(f, "a:1", "5");
    plain_acquire(f, "b:2", "2");
    script_redis(f, "DEL n");
    assert_like(plain_leave(f, "b:2", "0"), "1 2 0 0");
    assert_free(f, "nil");
}

PLAIN_TEST(a_claim_that_is_given_up_stays_void_for_eleven_minutes)
{
    plain_set(f, "a:1", "1");
    plain_leave(f, "b:2", "60000");
    assert_like(plain_void(f), "b:2");
    assert_in_range(script_key_pttl(f, KEY_QUEUE), 650000, 660000);
    plain_leave(f, "c:3", "0");
    assert_like(plain_void(f), "b:2");
}

PLAIN_TEST(a_full_server_lets_leave)
{
    plain_set(f, "a:1", "2");
    plain_acquire(f, "b:2", "2");
    plain_acquire(f, "c:3", "1");
    script_fill_memory(f, true);
    assert_like(plain_leave(f, "c:3", "60000"), "1 1 0 0");
    assert_like(plain_leave(f, "b:2", "60000"), "1 2 0 0");
    assert_free(f, "2");
}

/* ---- pass and info ---- */

PLAIN_TEST(passing_goes_on_where_a_call_stopped)
{
    plain_hear(f, "b:2", (char *)NULL);
    plain_set(f, "a:1", "0");
    for (int i = 0; i < 70; i++)
        plain_put_dead(f, i);
    plain_acquire(f, "b:2", "1");
    assert_like(plain_release(f, "c:3", "1"), "1 0 1 0");
    assert_string_equal(script_heard(f), "");
    assert_like(plain_pass(f), "3 -1 0 0 0 0 ()");
    assert_like(script_heard(f), "latchkey:in::b open 0 plain b:2 * n\n");
    assert_like(plain_queue(f), "b:2");
}

PLAIN_TEST(passing_without_a_waiter_does_nothing)
{
    assert_like(plain_pass(f), "3 -1 0 0 0 0 ()");
    plain_set(f, "a:1", "5");
    assert_like(plain_pass(f), "3 -1 0 0 0 0 ()");
    assert_free(f, "5");
}

PLAIN_TEST(info_tells_who_waits)
{
    plain_set(f, "a:1", "0");
    plain_acquire_with(f, "b:2", 'q', "a b", "1", "");
    plain_acquire_with(f, "c:3", 'q', "", "2", "");
    assert_like(plain_info(f), "3 2 () (b:2 1 * * a b c c:3 2 * * \"\" c)");
    assert_like(script_redis(f, "DBSIZE"), "4");
    plain_age(f, "b:2", 14000);
    assert_like(plain_info(f), "3 1 () (c:3 2 * * \"\" c)");
}

PLAIN_TEST(info_of_nothing_is_empty)
{
    assert_like(plain_info(f), "3 0 () ()");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

CHECK_GROUP(script_start_server, script_stop_server)
