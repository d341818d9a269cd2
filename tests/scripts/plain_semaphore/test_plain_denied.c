/* SPDX-License-Identifier: MIT */

/*
 * The bare counter's scripts for a user who lacks a right. A script that the
 * server stops half-way must neither lose a permit nor make one, nor leave a
 * change that was made and is not remembered: it would be made again.
 */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/plain_script.h"

/* Every command that a script of the counter may call. */
static const char *const commands[] = {"del",           "exists",
                                       "get",           "hdel",
                                       "hmget",         "hscan",
                                       "hset",          "incrby",
                                       "mget",          "pexpire",
                                       "pttl",          "publish",
                                       "pubsub",        "set",
                                       "time",          "zadd",
                                       "zrangebyscore", "zrem",
                                       "zcount",        "zmscore",
                                       "zscore",        "zrevrangebyscore"};

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static long long value(script_fixture *f)
{
    return script_number(f, "GET n");
}

static bool is_noted(script_fixture *f, const char *who)
{
    return script_number(f, "HEXISTS %s %s", f->keys[KEY_MEMO], who) == 1;
}

static bool is_refused(const script_fixture *f)
{
    return f->answer->type == REDIS_REPLY_ERROR;
}

/* What must be so whenever a script has ended, whatever stopped it. */
static void assert_sound(script_fixture *f, const char *denied)
{
    static const int own[] = {KEY_RECORD, KEY_QUEUE, KEY_MEMO};

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (script_pttl(f, f->keys[own[i]]) == -1)
            fail_msg("without %s: %s for ever", denied, f->keys[own[i]]);
    }
}

/* ---- acquiring ---- */

PLAIN_TEST(what_is_taken_without_a_right_is_noted)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 5");
        script_deny(f, commands[i]);
        plain_acquire_with(f, "a:1", 'q', "", "2", "7 8");
        assert_sound(f, commands[i]);
        assert_int_equal(value(f), is_refused(f) ? 5 : 3);
        assert_int_equal(is_noted(f, "a:1"), !is_refused(f));
        script_start_over(f);
    }
}

PLAIN_TEST(an_acquire_that_cannot_note_is_undone)
{
    static const char *const needed[] = {"hset", "pexpire"};

    for (size_t i = 0; i < 2; i++) {
        script_redis(f, "SET n 5");
        script_deny(f, needed[i]);
        assert_like(plain_acquire(f, "a:1", "2"), cannot);
        assert_like(script_redis(f, "DBSIZE"), "1");
        assert_free(f, "5");
        script_start_over(f);
    }
}

/* Others made the state, and it needs no new TTL; the memory does. */
PLAIN_TEST(a_known_counter_is_not_taken_from_without_a_memory)
{
    plain_set(f, "a:1", "5");
    script_redis(f, "DEL %s", f->keys[KEY_MEMO]);
    script_deny(f, "pexpire");
    assert_like(plain_acquire(f, "b:2", "2"), cannot);
    assert_free(f, "5");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_MEMO]), "0");
}

PLAIN_TEST(queueing_without_a_right_leaves_no_half_a_place)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 1");
        script_deny(f, commands[i]);
        plain_acquire(f, "a:1", "2");
        assert_sound(f, commands[i]);
        assert_free(f, "1");
        assert_int_equal(plain_ticket(f, "a:1") != 0, !is_refused(f));
        script_start_over(f);
    }
}

/* It queues behind a dead one, and its turn has come at once. */
PLAIN_TEST(passing_the_dead_without_a_right_takes_or_does_not)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 2");
        plain_put_dead(f, 1);
        script_redis(f, "PEXPIRE %s 60000", f->keys[KEY_QUEUE]);
        script_deny(f, commands[i]);
        plain_acquire(f, "a:1", "2");
        assert_int_equal(value(f), is_noted(f, "a:1") ? 0 : 2);
        assert_false(is_refused(f) && is_noted(f, "a:1"));
        assert_sound(f, commands[i]);
        script_start_over(f);
    }
}

PLAIN_TEST(a_look_without_a_right_takes_or_keeps_the_place)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 0");
        plain_acquire(f, "a:1", "2");
        plain_acquire(f, "b:2", "2");
        script_redis(f, "SET n 2");
        script_deny(f, commands[i]);
        plain_recheck(f, "a:1");
        assert_sound(f, commands[i]);
        assert_int_equal(value(f), is_refused(f) ? 2 : 0);
        assert_int_equal(is_noted(f, "a:1"), !is_refused(f));
        assert_int_equal(plain_ticket(f, "a:1") != 0, is_refused(f));
        script_start_over(f);
    }
}

/* ---- changing ---- */

PLAIN_TEST(a_release_without_a_right_is_done_and_noted_or_not)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 1");
        plain_acquire(f, "a:1", "2");
        script_deny(f, commands[i]);
        plain_release(f, "b:2", "3");
        assert_sound(f, commands[i]);
        assert_int_equal(value(f), is_refused(f) ? 1 : 4);
        assert_int_equal(is_noted(f, "b:2"), !is_refused(f));
        script_start_over(f);
    }
}

PLAIN_TEST(a_first_add_without_a_right_is_done_and_noted_or_not)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_deny(f, commands[i]);
        plain_add(f, "b:2", "3");
        assert_sound(f, commands[i]);
        if (is_refused(f))
            assert_free(f, "nil");
        else
            assert_free(f, "3");
        assert_int_equal(is_noted(f, "b:2"), !is_refused(f));
        script_start_over(f);
    }
}

PLAIN_TEST(a_set_without_a_right_is_done_and_noted_or_not)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_deny(f, commands[i]);
        plain_set_for(f, "b:2", "3", "60000");
        assert_sound(f, commands[i]);
        if (is_refused(f))
            assert_free(f, "nil");
        else
            assert_free(f, "3");
        assert_int_equal(is_noted(f, "b:2"), !is_refused(f));
        script_start_over(f);
    }
}

PLAIN_TEST(a_drain_without_a_right_is_done_and_noted_or_not)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 4");
        script_deny(f, commands[i]);
        plain_drain(f, "b:2");
        assert_sound(f, commands[i]);
        assert_int_equal(value(f), is_refused(f) ? 4 : 0);
        assert_int_equal(is_noted(f, "b:2"), !is_refused(f));
        script_start_over(f);
    }
}

PLAIN_TEST(a_delete_without_a_right_is_done_and_noted_or_not)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 1");
        plain_acquire(f, "a:1", "2");
        script_deny(f, commands[i]);
        plain_delete(f, "b:2");
        assert_sound(f, commands[i]);
        if (is_refused(f))
            assert_free(f, "1");
        else
            assert_free(f, "nil");
        assert_int_equal(is_noted(f, "b:2"), !is_refused(f));
        if (is_refused(f)) {
            script_deny(f, NULL);
            assert_like(plain_recheck(f, "a:1"), "3 * (*)");
        }
        script_start_over(f);
    }
}

/* ---- giving up ---- */

PLAIN_TEST(leaving_without_a_right_gives_back_once)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "SET n 5");
        plain_acquire(f, "a:1", "2");
        script_deny(f, commands[i]);
        plain_leave(f, "a:1", "60000");
        assert_sound(f, commands[i]);
        assert_int_equal(value(f), is_refused(f) ? 3 : 5);
        script_deny(f, NULL);
        plain_leave(f, "a:1", "60000");
        assert_free(f, "5");
        script_start_over(f);
    }
}

/* ---- telling ---- */

PLAIN_TEST(a_release_that_may_not_publish_says_so)
{
    plain_hear(f, "a:1", (char *)NULL);
    script_redis(f, "SET n 0");
    plain_acquire(f, "a:1", "1");
    script_deny(f, "publish");
    assert_like(plain_release(f, "b:2", "1"), "1 0 0 1");
    assert_free(f, "1");
    assert_like(plain_queue(f), "a:1");
    assert_like(plain_recheck(f, "a:1"), "1 *");
}

/* Denied is neither "nobody listens" nor "somebody does". */
PLAIN_TEST(a_release_that_may_not_ask_tells_the_first)
{
    plain_hear(f, "a:1", (char *)NULL);
    script_redis(f, "SET n 0");
    plain_acquire(f, "a:1", "1");
    script_deny(f, "pubsub");
    assert_like(plain_release(f, "b:2", "1"), "1 0 0 1");
    assert_like(plain_parked(f), "");
    assert_like(script_heard(f), "latchkey:in::a open 0 plain a:1 * n\n");
    assert_like(plain_try(f, "c:3", "1"), "3 -1");
    assert_like(plain_recheck(f, "a:1"), "1 *");
}

/* What tells one counter from the next is not lost. */
PLAIN_TEST(a_forget_that_may_not_write_forgets_nothing)
{
    long long gone;

    plain_set(f, "s:1", "1");
    plain_delete(f, "s:2");
    gone = plain_gone(f);
    assert_true(gone > 0);
    script_deny(f, "set");
    assert_like(plain_forget(f), "!DENIED *");
    script_deny(f, NULL);
    assert_int_equal(plain_gone(f), gone);
    assert_like(plain_forget(f), "2");
    assert_int_equal(plain_gone(f), gone);
}

CHECK_GROUP(script_start_server, script_stop_server)
