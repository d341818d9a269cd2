/* SPDX-License-Identifier: MIT */

/*
 * The semaphore's scripts for a user who lacks a right. A script that the
 * server stops half-way must not lose a permit or make one, nor leave a claim
 * that holds and waits, or a waiter that was taken out and not granted.
 */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

/* Every command that a script of the semaphore may call. */
static const char *const commands[] = {"get",
                                       "mget",
                                       "set",
                                       "incrby",
                                       "zadd",
                                       "zrem",
                                       "zcard",
                                       "zscore",
                                       "zrange",
                                       "zrangebyscore",
                                       "zremrangebyscore",
                                       "hget",
                                       "hset",
                                       "hdel",
                                       "hlen",
                                       "hmget",
                                       "zmscore",
                                       "zcount",
                                       "exists",
                                       "hkeys",
                                       "hscan",
                                       "hgetall",
                                       "pttl",
                                       "pexpire",
                                       "publish",
                                       "pubsub",
                                       "time",
                                       "del"};

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]), N = 4 };

/* u1:1 has 3 of 4; u2:1 and u3:1 wait for 2 and 1, and can be reached. */
static void two_wait(script_fixture *f)
{
    permits_set(f, N);
    permits_acquire(f, "u1:1", 3);
    permits_acquire(f, "u2:1", 2);
    permits_acquire(f, "u3:1", 1);
}

static void listen_to_all(script_fixture *f)
{
    script_listen(f, "latchkey:in::u1");
    script_listen(f, "latchkey:in::u2");
    script_listen(f, "latchkey:in::u3");
}

static bool waits(script_fixture *f, const char *claim)
{
    return permits_ticket(f, claim) != 0;
}

/* What must be so whenever a script has ended, whatever stopped it. */
static void assert_sound(script_fixture *f, const char *denied)
{
    static const int own[] = {PERMITS_RECORD, PERMITS_QUEUE, PERMITS_HOLDERS};
    static const char *const claims[] = {"u1:1", "u2:1", "u3:1"};
    long long total = script_number(f, "GET n") +
                      script_number(f, "ZCARD %s", f->keys[PERMITS_ZSET]);

    if (total != N)
        fail_msg("without %s: %lld permits", denied, total);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (script_pttl(f, f->keys[own[i]]) == -1)
            fail_msg("without %s: %s for ever", denied, f->keys[own[i]]);
    }
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        if (permits_left(f, claims[i], 1) > 0 && waits(f, claims[i]))
            fail_msg("without %s: %s holds and waits", denied, claims[i]);
    }
}

/* ---- acquire ---- */

PERMITS_TEST(an_acquire_without_a_right_leaves_nothing_behind)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        permits_set(f, N);
        script_deny(f, commands[i]);
        permits_acquire(f, "u1:1", 3);
        assert_sound(f, commands[i]);
        if (f->answer->type == REDIS_REPLY_ERROR)
            assert_books(f, N, N);
        else
            assert_books(f, N, 1);
        script_start_over(f);
    }
}

PERMITS_TEST(an_acquire_that_cannot_write_down_who_holds_is_undone)
{
    permits_set(f, N);
    script_deny(f, "hset");
    assert_like(permits_acquire(f, "u1:1", 3), cannot);
    assert_like(script_redis(f, "DBSIZE"), "1");
    script_deny(f, "pexpire");
    assert_like(permits_acquire(f, "u1:1", 3), cannot);
    assert_like(script_redis(f, "EXISTS %s %s", f->keys[PERMITS_ZSET],
                             f->keys[PERMITS_HOLDERS]),
                "0");
    assert_books(f, N, N);
}

PERMITS_TEST(an_acquire_that_makes_room_without_a_right_is_sound)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        permits_set(f, N);
        permits_acquire(f, "u1:1", 3);
        permits_expire(f, 1);
        script_deny(f, commands[i]);
        permits_acquire(f, "u2:1", 3);
        assert_sound(f, commands[i]);
        script_start_over(f);
    }
}

PERMITS_TEST(queueing_without_a_right_leaves_no_half_a_place)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        permits_set(f, N);
        permits_acquire(f, "u1:1", 3);
        script_deny(f, commands[i]);
        permits_acquire(f, "u2:1", 2);
        assert_sound(f, commands[i]);
        assert_books(f, N, 1);
        script_start_over(f);
    }
}

PERMITS_TEST(a_resize_without_a_right_is_done_or_not)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        permits_set(f, 3);
        permits_acquire(f, "u1:1", 3);
        permits_acquire(f, "u2:1", 1);
        script_deny(f, commands[i]);
        permits_resize(f, 4);
        if (script_number(f, "GET n") +
                script_number(f, "ZCARD %s", f->keys[PERMITS_ZSET]) ==
            N)
            assert_sound(f, commands[i]);
        else
            assert_books(f, 3, 0);
        script_start_over(f);
    }
}

/* Neither the counter nor the record has another number then. */
PERMITS_TEST(a_number_that_is_denied_can_be_set_again)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        permits_set(f, 3);
        permits_acquire(f, "u1:1", 2);
        script_deny(f, commands[i]);
        permits_resize(f, 5);
        script_deny(f, NULL);
        if (f->answer->type == REDIS_REPLY_ERROR) {
            assert_books(f, 3, 1);
            assert_like(permits_resize(f, 5), "1 0 0");
        }
        assert_books(f, 5, 3);
        script_start_over(f);
    }
}

PERMITS_TEST(a_first_number_that_is_denied_can_be_set_again)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_deny(f, commands[i]);
        permits_acquire_of(f, "u1:1", 1, N, 's');
        script_deny(f, NULL);
        assert_like(permits_acquire_of(f, "u1:1", 1, N, 's'), "1 *");
        assert_books(f, N, N - 1);
        script_start_over(f);
    }
}

/* ---- handing over ---- */

PERMITS_TEST(a_release_without_a_right_keeps_the_queue)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        int64_t fence;

        two_wait(f);
        fence = permits_fence(f, "u1:1");
        script_deny(f, commands[i]);
        permits_release(f, "u1:1", fence);
        assert_sound(f, commands[i]);
        assert_true(waits(f, "u2:1") || permits_left(f, "u2:1", 2) > 0);
        assert_true(waits(f, "u3:1") || permits_left(f, "u3:1", 1) > 0);
        if (f->answer->type == REDIS_REPLY_ERROR)
            assert_books(f, N, 1);
        script_start_over(f);
    }
}

/* What is done at the end of a hand-over is no reason to say that it failed. */
PERMITS_TEST(a_release_that_may_not_count_the_queue_is_done)
{
    listen_to_all(f);
    two_wait(f);
    script_deny(f, "zcount");
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_string_equal(permits_waiting(f), "");
    assert_books(f, N, 1);
}

/* They end at once, instead: whoever may takes them back. */
PERMITS_TEST(what_cannot_be_paid_back_has_ended)
{
    int64_t fence;

    listen_to_all(f);
    permits_set(f, N);
    permits_acquire(f, "u1:1", 3);
    permits_acquire(f, "u2:1", 2);
    fence = permits_fence(f, "u1:1");
    script_deny(f, "incrby");
    assert_like(permits_release(f, "u1:1", fence), cannot);
    assert_books(f, N, 1);
    assert_true(permits_left(f, "u1:1", 1) <= 0);
    script_deny(f, NULL);
    assert_like(permits_look(f, "u2:1"), "2 * (0) (1 *");
    assert_books(f, N, 2);
}

/* The zset ends with the counter, also when what was in it could not go. */
PERMITS_TEST(the_last_permit_that_cannot_be_paid_back_still_ends)
{
    permits_set(f, 1);
    script_redis(f, "PEXPIRE n 60000");
    permits_acquire(f, "u0:1", 1);
    script_deny(f, "incrby");
    assert_like(permits_release(f, "u0:1", 0), cannot);
    script_deny(f, NULL);
    assert_true(script_pttl(f, f->keys[PERMITS_ZSET]) > 0);
    assert_books(f, 1, 0);
}

PERMITS_TEST(a_release_that_lacks_two_rights_loses_no_permit)
{
    static const char *const others[] = {"zadd", "time", "zrem", "hdel", "set"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        permits_set(f, 2);
        permits_acquire(f, "u0:1", 1);
        permits_acquire(f, "u1:1", 1);
        script_deny(f, "incrby");
        script_redis(f, "ACL SETUSER restricted -%s", others[i]);
        permits_release(f, "u0:1", 0);
        script_deny(f, NULL);
        assert_books(f, 2, 0);
        script_start_over(f);
    }
}

/* ---- two rights ---- */

static void acquire_one(script_fixture *f)
{
    permits_acquire(f, "u9:1", 1);
}

static void acquire_three(script_fixture *f)
{
    permits_acquire(f, "u9:1", 3);
}

static void release_three(script_fixture *f)
{
    permits_release(f, "u1:1", 0);
}

static void set_all(script_fixture *f)
{
    permits_set(f, N);
}

static void one_has_three(script_fixture *f)
{
    permits_set(f, N);
    permits_acquire(f, "u1:1", 3);
}

static void three_have_ended(script_fixture *f)
{
    one_has_three(f);
    permits_expire(f, 1);
}

/* What a script wrote and may not take back may cost a permit for a while. It makes
   none. */
static void deny_two(script_fixture *f, void (*begin)(script_fixture *f),
                     void (*act)(script_fixture *f), size_t first)
{
    for (size_t i = 0; i < first; i++) {
        long long total;

        begin(f);
        script_deny(f, commands[first]);
        script_redis(f, "ACL SETUSER restricted -%s", commands[i]);
        act(f);
        total = script_number(f, "GET n") +
                script_number(f, "ZCARD %s", f->keys[PERMITS_ZSET]);
        if (total > N)
            fail_msg("without %s and %s: %lld permits", commands[first],
                     commands[i], total);
        script_start_over(f);
    }
}

PERMITS_TEST(whoever_lacks_two_rights_makes_no_permit)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        deny_two(f, set_all, acquire_one, i);
        deny_two(f, set_all, acquire_three, i);
        deny_two(f, three_have_ended, acquire_one, i);
        deny_two(f, three_have_ended, acquire_three, i);
        deny_two(f, one_has_three, release_three, i);
        deny_two(f, two_wait, release_three, i);
    }
}

/* A user may have a right for some of the keys; servers before 7.0 know no such
   rights. */
PERMITS_TEST(whoever_may_not_take_out_of_the_queue_gives_back_once)
{
    redisReply *reply =
        server_command(f->server, "ACL SETUSER some reset (+zrem ~*:timeout)");
    bool knows = reply->type == REDIS_REPLY_STATUS;
    int64_t fence;

    freeReplyObject(reply);
    if (!knows)
        skip();
    listen_to_all(f);
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    permits_acquire(f, "u2:1", 1);
    fence = permits_fence(f, "u1:1");
    script_deny(f, "zrem");
    script_redis(f, "ACL SETUSER restricted (+zrem ~*:timeout)");
    permits_release(f, "u1:1", fence);
    script_deny(f, NULL);
    assert_books(f, 1, 1);
    assert_true(waits(f, "u2:1"));
}

/* Denied is neither "nobody listens" nor "somebody does". */
PERMITS_TEST(a_release_that_may_not_publish_hands_over_all_the_same)
{
    listen_to_all(f);
    two_wait(f);
    script_deny(f, "publish");
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 1");
    assert_string_equal(permits_waiting(f), "");
    assert_books(f, N, 1);
    script_deny(f, NULL);
    assert_string_equal(script_heard(f), "");
    assert_like(permits_look(f, "u2:1"), "2 * 0 0 0 (0) (1 * *)");
}

PERMITS_TEST(a_release_that_may_not_ask_leaves_the_room_open)
{
    listen_to_all(f);
    two_wait(f);
    script_deny(f, "pubsub");
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 1");
    assert_like(permits_waiting(f), "u2:1 u3:1");
    assert_books(f, N, N);
    assert_like(script_heard(f),
                "latchkey:in::u2 open 0 semaphore u2:1 * * n\n");
}

/* Without word of the living, each takes it at its own turn, in order. */
PERMITS_TEST(waiters_that_may_not_ask_still_get_their_permits)
{
    listen_to_all(f);
    two_wait(f);
    script_deny(f, "pubsub");
    permits_release(f, "u1:1", 0);
    assert_like(permits_look(f, "u3:1"), "2 -1 0 0 1 (1*) ()");
    assert_like(permits_look(f, "u2:1"), "2 * (0) (1 * 30000)");
    assert_like(permits_look(f, "u3:1"), "2 * (0) (1 * 30000)");
}

PERMITS_TEST(a_recheck_without_a_right_keeps_the_place)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        two_wait(f);
        permits_expire(f, 1);
        script_deny(f, commands[i]);
        permits_look(f, "u2:1");
        assert_sound(f, commands[i]);
        /* What is free is the first's, or it is told why not. */
        assert_true((f->answer->type == REDIS_REPLY_ERROR) == waits(f, "u2:1"));
        script_start_over(f);
    }
}

PERMITS_TEST(leaving_without_a_right_leaves_all_sound)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        two_wait(f);
        script_deny(f, commands[i]);
        permits_leave(f, "u1:1", true);
        assert_sound(f, commands[i]);
        permits_leave(f, "u2:1", true);
        assert_sound(f, commands[i]);
        script_start_over(f);
    }
}

PERMITS_TEST(force_without_a_right_leaves_all_sound)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        two_wait(f);
        script_deny(f, commands[i]);
        permits_force(f, "");
        assert_sound(f, commands[i]);
        script_start_over(f);
    }
}

/* ---- keeping ---- */

PERMITS_TEST(a_renewal_that_is_denied_says_so)
{
    static const char *const needed[] = {"zmscore", "zrem", "zadd"};
    static const char *const whole[] = {"hget", "zmscore", "pexpire", "zadd"};
    int64_t fence;

    permits_set(f, N);
    permits_acquire(f, "u1:1", 3);
    fence = script_item(f, 1);
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        script_deny(f, needed[i]);
        assert_like(permits_renew(f, "u1:1", 60000), cannot);
        assert_sound(f, needed[i]);
    }
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        script_deny(f, whole[i]);
        assert_like(permits_keep(f, "u1:1", fence, 60000), cannot);
        assert_sound(f, whole[i]);
    }
}

/* When it cannot be told whether somebody waits, somebody may. */
PERMITS_TEST(a_confirm_that_may_not_ask_says_that_somebody_waits)
{
    permits_set(f, N);
    permits_acquire(f, "u1:1", 1);
    script_deny(f, "pubsub");
    assert_like(permits_keep(f, "u1:1", 0, 60000), "1 60000 1");
}

CHECK_GROUP(script_start_server, script_stop_server)
