/* SPDX-License-Identifier: MIT */

/*
 * plain_add, plain_set, plain_drain, plain_delete, plain_count: changing the
 * counter, each change once, and what Redisson sees of it.
 */

#include <stdio.h>

#include "support/check.h"
#include "support/plain_script.h"

/* ---- release ---- */

PLAIN_TEST(a_release_adds_to_the_counter)
{
    plain_set(f, "a:1", "1");
    assert_like(plain_release(f, "b:2", "3"), "1 0 0 0");
    assert_free(f, "4");
}

PLAIN_TEST(a_release_that_is_sent_again_adds_once)
{
    plain_set(f, "a:1", "1");
    plain_release(f, "b:2", "3");
    assert_like(plain_release(f, "b:2", "3"), "1 0 0 0");
    assert_free(f, "4");
    script_redis(f, "DEL n");
    assert_like(plain_release(f, "b:2", "3"), "1 0 0 0");
    assert_free(f, "nil");
}

PLAIN_TEST(a_release_of_an_unset_counter_is_refused)
{
    assert_like(plain_release(f, "a:1", "1"), "4");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

PLAIN_TEST(a_release_does_not_leave_the_range)
{
    plain_set(f, "a:1", "2147483646");
    assert_like(plain_release(f, "b:2", "2"), "3");
    assert_free(f, "2147483646");
    assert_like(plain_release(f, "b:2", "1"), "1 0 0 0");
    assert_free(f, "2147483647");
    assert_like(plain_release(f, "c:3", "1"), "3");
}

PLAIN_TEST(a_release_keeps_the_counters_time)
{
    plain_set_for(f, "a:1", "1", "60000");
    plain_release(f, "b:2", "1");
    assert_in_range(script_key_pttl(f, KEY_COUNTER), 50000, 60000);
}

/* Redisson's waiters count on the value; a number that is not above 0 would
   only make them fail. */
PLAIN_TEST(redisson_hears_what_is_free_after_a_release)
{
    plain_set(f, "a:1", "1");
    script_listen(f, f->channel);
    plain_release(f, "b:2", "3");
    assert_string_equal(script_heard(f), "redisson_sc:{n} 4\n");
    script_redis(f, "SET n -5");
    plain_release(f, "c:3", "3");
    plain_release(f, "d:4", "2");
    assert_string_equal(script_heard(f), "");
    plain_release(f, "e:5", "1");
    assert_string_equal(script_heard(f), "redisson_sc:{n} 1\n");
}

PLAIN_TEST(one_waiter_is_told_of_a_release)
{
    plain_hear(f, "b:2", "c:3", (char *)NULL);
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "2");
    plain_acquire(f, "c:3", "1");
    plain_release(f, "d:4", "1");
    assert_string_equal(script_heard(f), "");
    plain_release(f, "e:5", "1");
    assert_like(script_heard(f), "latchkey:in::b open 0 plain b:2 * n\n");
    assert_free(f, "2");
    assert_like(plain_queue(f), "b:2 c:3");
}

PLAIN_TEST(a_release_passes_the_dead)
{
    plain_hear(f, "c:3", (char *)NULL);
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "2");
    plain_acquire(f, "c:3", "1");
    plain_release(f, "d:4", "1");
    assert_like(script_heard(f), "latchkey:in::c open 0 plain c:3 * n\n");
    assert_like(plain_queue(f), "c:3");
}

/* ---- add ---- */

PLAIN_TEST(an_add_sets_an_unset_counter)
{
    assert_like(plain_add(f, "a:1", "4"), "1 0 0 0");
    assert_free(f, "4");
    assert_like(plain_add(f, "a:1", "4"), "1 0 0 0");
    assert_free(f, "4");
    assert_like(script_redis(f, "GET %s", f->keys[KEY_RECORD]), "2c *");
    assert_int_equal(script_key_pttl(f, KEY_COUNTER), -1);
}

PLAIN_TEST(an_add_of_less_takes_away)
{
    plain_set(f, "a:1", "2");
    assert_like(plain_add(f, "b:2", "-5"), "1 0 0 0");
    assert_free(f, "-3");
    assert_like(plain_add(f, "b:2", "-5"), "1 0 0 0");
    assert_free(f, "-3");
}

PLAIN_TEST(an_add_does_not_leave_the_range)
{
    plain_add(f, "a:1", "-2147483647");
    assert_like(plain_add(f, "b:2", "-1"), "3");
    assert_free(f, "-2147483647");
    assert_like(plain_add(f, "c:3", "2147483647"), "1 0 0 0");
    assert_like(plain_add(f, "d:4", "2147483647"), "1 0 0 0");
    assert_like(plain_add(f, "e:5", "1"), "3");
    assert_free(f, "2147483647");
}

/* What others brought out of the range may be brought back. */
PLAIN_TEST(an_add_leads_back_into_the_range)
{
    script_redis(f, "SET n 3000000000");
    assert_like(plain_add(f, "a:1", "1"), "3");
    assert_like(plain_add(f, "b:2", "-1"), "1 0 0 0");
    assert_free(f, "2999999999");
    script_redis(f, "SET n -3000000000");
    assert_like(plain_add(f, "c:3", "-1"), "3");
    assert_like(plain_add(f, "d:4", "1"), "1 0 0 0");
}

/* Redisson's own addPermits() drops it. */
PLAIN_TEST(an_add_keeps_the_counters_time)
{
    plain_set_for(f, "a:1", "1", "60000");
    plain_add(f, "b:2", "1");
    assert_in_range(script_key_pttl(f, KEY_COUNTER), 50000, 60000);
}

/* ---- set ---- */

PLAIN_TEST(an_unset_counter_is_set)
{
    script_listen(f, f->channel);
    assert_like(plain_set(f, "a:1", "10"), "1 0 0 0");
    assert_free(f, "10");
    assert_int_equal(script_key_pttl(f, KEY_COUNTER), -1);
    assert_string_equal(script_heard(f), "redisson_sc:{n} 10\n");
}

PLAIN_TEST(a_counter_is_set_for_a_time)
{
    plain_set_for(f, "a:1", "10", "60000");
    assert_in_range(script_key_pttl(f, KEY_COUNTER), 50000, 60000);
}

PLAIN_TEST(a_set_counter_stays_as_it_is)
{
    plain_set(f, "a:1", "10");
    assert_like(plain_set_for(f, "b:2", "15", "60000"), "2");
    assert_free(f, "10");
    assert_int_equal(script_key_pttl(f, KEY_COUNTER), -1);
    script_redis(f, "SET n 0");
    assert_like(plain_set(f, "c:3", "15"), "2");
}

PLAIN_TEST(a_set_that_is_sent_again_sets_once)
{
    plain_set(f, "a:1", "10");
    plain_acquire(f, "b:2", "4");
    assert_like(plain_set(f, "a:1", "10"), "1 0 0 0");
    assert_free(f, "6");
    plain_delete(f, "c:3");
    assert_like(plain_set(f, "a:1", "10"), "1 0 0 0");
    assert_free(f, "nil");
}

PLAIN_TEST(a_full_server_refuses_to_set)
{
    script_fill_memory(f, true);
    assert_like(plain_set(f, "a:1", "10"), "!OOM*");
    assert_like(plain_add(f, "a:1", "10"), "!OOM*");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

/* ---- drain ---- */

PLAIN_TEST(a_drain_takes_what_is_free)
{
    plain_set(f, "a:1", "10");
    plain_acquire(f, "b:2", "3");
    script_listen(f, f->channel);
    assert_like(plain_drain(f, "c:3"), "1 7 0 0");
    assert_free(f, "0");
    assert_like(plain_drain(f, "d:4"), "1 0 0 0");
    assert_string_equal(script_heard(f), "");
}

PLAIN_TEST(a_drain_that_is_sent_again_answers_the_same)
{
    plain_set(f, "a:1", "7");
    plain_drain(f, "b:2");
    plain_release(f, "c:3", "2");
    assert_like(plain_drain(f, "b:2"), "1 7 0 0");
    assert_free(f, "2");
}

PLAIN_TEST(a_drain_of_what_is_owed_says_so)
{
    plain_add(f, "a:1", "-4");
    assert_like(plain_drain(f, "b:2"), "1 -4 0 0");
    assert_free(f, "0");
}

PLAIN_TEST(a_drain_of_an_unset_counter_is_refused)
{
    assert_like(plain_drain(f, "a:1"), "4");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

/* Redisson's own drainPermits() drops it. */
PLAIN_TEST(a_drain_keeps_the_counters_time)
{
    plain_set_for(f, "a:1", "7", "60000");
    plain_drain(f, "b:2");
    assert_in_range(script_key_pttl(f, KEY_COUNTER), 50000, 60000);
}

/* ---- delete and count ---- */

PLAIN_TEST(a_deleted_counter_is_unset)
{
    plain_set(f, "a:1", "7");
    script_listen(f, f->channel);
    assert_like(plain_delete(f, "b:2"), "1 0 0 0");
    assert_free(f, "nil");
    assert_like(plain_delete(f, "c:3"), "4");
    assert_string_equal(script_heard(f), "");
}

PLAIN_TEST(a_delete_that_is_sent_again_deletes_once)
{
    plain_set(f, "a:1", "7");
    plain_delete(f, "b:2");
    plain_set(f, "c:3", "8");
    assert_like(plain_delete(f, "b:2"), "1 0 0 0");
    assert_free(f, "8");
}

PLAIN_TEST(a_delete_with_many_waiters_asks_to_be_gone_on_with)
{
    char claim[24];

    plain_set(f, "a:1", "0");
    for (int i = 0; i < 70; i++) {
        snprintf(claim, sizeof(claim), "w:%d", i);
        plain_hear(f, claim, (char *)NULL);
        plain_acquire(f, claim, "1");
    }
    assert_like(plain_delete(f, "b:2"), "1 0 1 0");
    assert_like(plain_pass(f), "3 -1 0 0 0 0 ()");
    assert_like(script_heard(f), "*latchkey:in::w open 0 plain w:69 * n\n");
    assert_like(plain_recheck(f, "w:69"), "2");
}

PLAIN_TEST(a_count_tells_what_is_free)
{
    assert_like(plain_count(f), "2");
    plain_set(f, "a:1", "7");
    assert_like(plain_count(f), "1 7");
    script_redis(f, "SET n -7");
    assert_like(plain_count(f), "1 -7");
    script_redis(f, "DEL n");
    script_redis(f, "RPUSH n x");
    assert_like(plain_count(f), "!LKTYPE*");
}

/* ---- refusing ---- */

PLAIN_TEST(a_full_server_lets_change)
{
    plain_set(f, "a:1", "7");
    script_fill_memory(f, true);
    assert_like(plain_release(f, "b:2", "1"), "1 0 0 0");
    assert_like(plain_add(f, "c:3", "-2"), "1 0 0 0");
    assert_free(f, "6");
    assert_like(plain_drain(f, "d:4"), "1 6 0 0");
    assert_like(plain_delete(f, "e:5"), "1 0 0 0");
}

static void assert_nothing_is_changed(script_fixture *f, const char *why)
{
    assert_like(plain_release(f, "a:1", "1"), why);
    assert_like(plain_add(f, "a:1", "1"), why);
    assert_like(plain_set(f, "a:1", "1"), why);
    assert_like(plain_drain(f, "a:1"), why);
    assert_like(plain_delete(f, "a:1"), why);
    assert_like(plain_leave(f, "a:1", "0"), why);
    assert_like(plain_recheck(f, "a:1"), why);
    assert_like(plain_touch(f, "a:1", NULL), why);
    assert_like(plain_pass(f), why);
    assert_like(plain_count(f), why);
    assert_like(plain_info(f), why);
}

PLAIN_TEST(leased_permits_are_not_touched)
{
    script_redis(f, "SET n 5");
    script_redis(f, "ZADD %s 1 0123456789abcdef", f->keys[KEY_LEASES]);
    assert_nothing_is_changed(f, "!LKTYPE*leased*");
    assert_free(f, "5");
    assert_like(script_redis(f, "DBSIZE"), "2");
}

PLAIN_TEST(a_key_of_another_type_is_not_touched)
{
    script_redis(f, "HSET n a:1 1");
    assert_nothing_is_changed(f, "!LKTYPE*");
    assert_like(script_redis(f, "DBSIZE"), "1");
    script_redis(f, "DEL n");
    script_redis(f, "SET n 5");
    script_redis(f, "SET %s x", f->keys[KEY_RECORD]);
    assert_nothing_is_changed(f, "!LKLAYOUT*");
    assert_like(script_redis(f, "DBSIZE"), "2");
}

/* Whatever the side keys are, nothing changes that is not noted. */
PLAIN_TEST(a_side_key_of_another_type_keeps_the_counter)
{
    static const int side[] = {KEY_QUEUE, KEY_MEMO};

    for (size_t i = 0; i < sizeof(side) / sizeof(side[0]); i++) {
        server_flush(f->server);
        script_redis(f, "SET n 5");
        script_redis(f, "SET %s x", f->keys[side[i]]);
        assert_like(plain_release(f, "a:1", "1"), "!*");
        assert_like(plain_delete(f, "b:2"), "!*");
        assert_free(f, "5");
        assert_like(script_redis(f, "DBSIZE"), "2");
    }
}

CHECK_GROUP(script_start_server, script_stop_server)
