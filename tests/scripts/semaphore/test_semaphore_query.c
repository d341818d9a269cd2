/* SPDX-License-Identifier: MIT */

/* resize, close by force, and see: what operators do and see. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

/* u1:1 has 2 and u5:1 has 1 of 4; u2:1 waits for 2, and can be reached. */
static void one_waits(script_fixture *f)
{
    script_listen(f, "latchkey:in::u1");
    script_listen(f, "latchkey:in::u2");
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u5:1", 1);
    permits_acquire(f, "u2:1", 2);
}

/* ---- resize ---- */

PERMITS_TEST(more_permits_wake_a_waiter_at_once)
{
    one_waits(f);
    assert_like(permits_resize(f, 5), "1 0 0");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 * *");
    assert_books(f, 5, 0);
}

PERMITS_TEST(fewer_permits_take_nothing_from_who_holds)
{
    one_waits(f);
    assert_like(permits_resize(f, 2), "1 0 0");
    assert_books(f, 2, -1);
    assert_like(permits_keep(f, "u1:1", 0, 30000), "1 *");
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "");
    assert_like(permits_release(f, "u5:1", 0), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 * *");
}

PERMITS_TEST(who_waits_for_more_than_there_will_be_is_told_to_look)
{
    one_waits(f);
    script_listen(f, "latchkey:in::u3");
    permits_acquire(f, "u3:1", 3);
    permits_acquire(f, "u2:1", 2);
    assert_like(permits_resize(f, 2), "1 0 0");
    assert_like(script_heard(f),
                "latchkey:in::u3 open 0 semaphore u3:1 * * n\n");
    assert_like(permits_look(f, "u3:1"), "1 2");
    assert_like(permits_look(f, "u2:1"), "2 * (*) ()");
}

PERMITS_TEST(an_unset_semaphore_is_set_by_a_resize)
{
    script_listen(f, f->channel);
    assert_like(permits_resize(f, 3), "1 0 0");
    assert_string_equal(script_heard(f), "redisson_sc:{n} 3\n");
    assert_books(f, 3, 3);
    assert_like(script_redis(f, "GET %s", f->keys[PERMITS_RECORD]), "2p 0 *");
    assert_true(script_key_pttl(f, PERMITS_RECORD) > 0);
}

PERMITS_TEST(the_same_number_changes_and_tells_nothing)
{
    permits_set(f, 3);
    permits_acquire(f, "u1:1", 1);
    script_listen(f, f->channel);
    assert_like(permits_resize(f, 3), "1 0 0");
    assert_string_equal(script_heard(f), "");
    assert_books(f, 3, 2);
}

/* Redisson's setPermits() on an unset one with holders would overbook. */
PERMITS_TEST(a_number_set_anew_counts_who_holds)
{
    permits_set(f, 3);
    permits_acquire(f, "u1:1", 2);
    script_redis(f, "DEL n");
    permits_resize(f, 3);
    assert_books(f, 3, 1);
}

/* ---- force ---- */

PERMITS_TEST(a_holder_is_ended_by_its_claim)
{
    char expected[160];

    one_waits(f);
    snprintf(expected, sizeof(expected),
             "latchkey:in::u2 grant 0 semaphore u2:1 * * n\n"
             "latchkey:in::u1 revoked 0 semaphore u1:1 * %" PRId64 " n\n",
             permits_fence(f, "u1:1"));
    assert_like(permits_force(f, "u1:1"), "1 2 0 0");
    assert_like(script_heard(f), expected);
    assert_books(f, 4, 1);
    assert_like(permits_keep(f, "u1:1", 1, 30000), "2 0");
}

/* As Redisson's tools show them. */
PERMITS_TEST(a_holder_is_ended_by_any_of_its_permits)
{
    static const char *const permits[] = {"u1:1:1", "u1:1:2"};
    char hex[33];

    for (size_t i = 0; i < 2; i++) {
        one_waits(f);
        snprintf(hex, sizeof(hex), "%s",
                 script_redis(f, "EVAL %s 0 %s",
                              "return string.sub(redis.sha1hex(ARGV[1]), 1,"
                              " 32)",
                              permits[i]));
        assert_like(permits_force(f, hex), "1 2 0 0");
        assert_like(script_heard(f),
                    "latchkey:in::u2 grant *latchkey:in::u1 revoked *");
        assert_books(f, 4, 1);
        server_flush(f->server);
    }
}

PERMITS_TEST(a_permit_of_another_library_is_ended)
{
    permits_set(f, 2);
    permits_java_take(f, 'b', 30000);
    assert_like(permits_force(f, "BBBBBBBBbbbbbbbbbbbbbbbbbbbbbbbb"),
                "1 2 0 0");
    assert_books(f, 2, 2);
}

PERMITS_TEST(everybody_is_ended)
{
    one_waits(f);
    permits_java_take(f, 'b', 30000);
    assert_like(permits_force(f, ""), "1 2 0 0");
    assert_like(script_heard(f),
                "latchkey:in::u2 grant 0 semaphore u2:1 * *"
                "latchkey:in::u1 revoked 0 semaphore u1:1 * *");
    assert_books(f, 4, 2);
    assert_like(script_redis(f, "HLEN %s", f->keys[PERMITS_HOLDERS]), "2");
}

PERMITS_TEST(who_has_nothing_any_more_is_not_told_of_its_end)
{
    script_listen(f, "latchkey:in::u1");
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u5:1", 1);
    permits_sweep_one(f, "u1:1", 1);
    assert_like(permits_force(f, ""), "1 2 0 0");
    assert_string_equal(script_heard(f), "");
}

PERMITS_TEST(nobody_can_be_ended_who_does_not_hold)
{
    permits_set(f, 2);
    assert_like(permits_force(f, ""), "2 0");
    permits_acquire(f, "u1:1", 1);
    assert_like(permits_force(f, "u2:1"), "2 0");
    assert_like(permits_force(f, "cccccccccccccccccccccccccccccccc"), "2 0");
    assert_like(permits_force(f, "no such"), "2 0");
    assert_books(f, 2, 1);
}

/* ---- count ---- */

PERMITS_TEST(the_number_and_what_is_free_are_told)
{
    assert_like(permits_count(f), "2");
    one_waits(f);
    assert_like(permits_count(f), "1 4 1");
    permits_resize(f, 2);
    assert_like(permits_count(f), "1 2 -1");
}

PERMITS_TEST(what_has_ended_counts_as_free)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_expire(f, 1);
    permits_acquire(f, "u5:1", 1);
    assert_like(permits_count(f), "1 4 3");
    assert_books(f, 4, 1);
}

/* ---- info ---- */

PERMITS_TEST(an_unused_semaphore_has_nobody)
{
    assert_like(permits_info(f), "3 0 () ()");
    permits_set(f, 4);
    assert_like(permits_info(f), "3 0 () ()");
}

PERMITS_TEST(holders_and_waiters_are_told)
{
    char expected[160];

    permits_set(f, 4);
    permits_acquire_with(f, "u1:1", 3, (permits_wish){.reason = "work"});
    permits_java_take(f, 'b', 90000);
    permits_acquire_with(f, "u2:1", 2, (permits_wish){.reason = "more work"});
    snprintf(expected, sizeof(expected),
             "3 1 (u1:1 3 %" PRId64 " * [23]???? work p "
             "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 1 0 0 [89]???? \"\" p) (u2:1 2 "
             "1* * more work p)",
             permits_fence(f, "u1:1"));
    assert_like(permits_info(f), expected);
    assert_int_equal(f->answer->element[2]->elements, 2 * 7);
    permits_age(f, "u2:1", 14000);
    assert_like(permits_info(f), "3 0 (*) ()");
}

PERMITS_TEST(what_has_no_end_is_told_so)
{
    permits_set(f, 4);
    permits_java_take(f, 'b', 30000);
    script_redis(f, "EVAL %s 1 %s",
                 "redis.call('ZADD', KEYS[1], '922337203685477',"
                 " redis.call('ZRANGE', KEYS[1], 0, 0)[1])",
                 f->keys[PERMITS_ZSET]);
    assert_like(permits_info(f),
                "3 0 (bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb 1 0 0 -1 \"\" p) ()");
}

PERMITS_TEST(what_has_ended_is_not_told)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 3);
    permits_expire(f, 1);
    assert_like(permits_info(f), "3 0 () ()");
}

PERMITS_TEST(no_more_than_sixty_four_of_each_are_told)
{
    char claim[16];

    permits_set(f, 100);
    for (int i = 0; i < 100; i++) {
        snprintf(claim, sizeof(claim), "u%d:1", i);
        permits_acquire(f, claim, 1);
    }
    for (int i = 100; i < 200; i++) {
        snprintf(claim, sizeof(claim), "u%d:1", i);
        permits_acquire(f, claim, 1);
    }
    permits_info(f);
    assert_int_equal(f->answer->element[2]->elements, 64 * 7);
    assert_int_equal(f->answer->element[1]->integer, 100);
    assert_int_equal(f->answer->element[3]->elements, 64 * 6);
}

PERMITS_TEST(looking_changes_nothing)
{
    one_waits(f);
    permits_expire(f, 1);
    script_redis(f, "CONFIG RESETSTAT");
    permits_info(f);
    permits_count(f);
    assert_null(strstr(script_redis(f, "INFO commandstats"), "zrem"));
    assert_books(f, 4, 1);
}

CHECK_GROUP(script_start_server, script_stop_server)
