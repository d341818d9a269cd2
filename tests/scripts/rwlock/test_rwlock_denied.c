/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock's scripts for a user who lacks a right. A script that the
 * server stops half-way must leave no hold without an end, no writer beside
 * others, no claim that holds and waits, and no waiter that was taken out and
 * not let in.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

/* Every command that a script of the read-write lock may call. */
static const char *const commands[] = {"del",     "exists",  "hdel",
                                       "hexists", "hget",    "hgetall",
                                       "hlen",    "hmget",   "hscan",
                                       "hset",    "mget",    "pexpire",
                                       "pttl",    "publish", "pubsub",
                                       "set",     "get",     "time",
                                       "zadd",    "zcount",  "zrangebyscore",
                                       "zrem",    "zscore",  "zrevrangebyscore",
                                       "hkeys",   "zmscore"};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

static bool is_failed(const script_fixture *f)
{
    return f->answer->type == REDIS_REPLY_ERROR;
}

/* ---- what must be so whenever a script has ended --------------------------- */

static void assert_ends(script_fixture *f, const char *denied)
{
    char keys[4096];
    char *rest = NULL;

    snprintf(keys, sizeof(keys), "%s", script_redis(f, "KEYS *"));
    for (char *key = strtok_r(keys, " ", &rest); key != NULL;
         key = strtok_r(NULL, " ", &rest)) {
        if (script_pttl(f, key) == -1)
            fail_msg("without %s: %s for ever", denied, key);
    }
}

static bool holds(script_fixture *f, const char *claim)
{
    char writer[80];

    snprintf(writer, sizeof(writer), "%s:write", claim);
    return script_number(f, "HEXISTS n %s", writer) == 1 ||
           (script_number(f, "HEXISTS n %s", claim) == 1 &&
            script_number(f, "EXISTS %s", lua_rwlock_timeout(claim)) == 1);
}

static void
assert_waiter(script_fixture *f, const char *claim, const char *denied)
{
    if (holds(f, claim))
        fail_msg("without %s: %s holds and waits", denied, claim);
}

static void assert_waiters(script_fixture *f, const char *denied)
{
    char claims[4096];
    char *rest = NULL;

    snprintf(claims, sizeof(claims), "%s", rw_waiting(f));
    for (char *claim = strtok_r(claims, " ", &rest); claim != NULL;
         claim = strtok_r(NULL, " ", &rest)) {
        if (claim[1] != ':') /* "w:" and the like are the bands */
            assert_waiter(f, claim, denied);
    }
}

/* A writer is alone but for reads of its own client, "u", in these tests. */
static void assert_exclusive(script_fixture *f, const char *denied)
{
    const char *held = rw_held(f);
    const char *writer = strstr(held, ":write");

    if (writer == NULL)
        return;
    if (strstr(writer + 1, ":write ") != NULL)
        fail_msg("without %s: two writers: %s", denied, held);
    if (strstr(held, " write") == NULL)
        fail_msg("without %s: a writer among readers: %s", denied, held);
    if (held[0] == 'r' || strstr(held, " r1") != NULL ||
        strstr(held, " r2") != NULL)
        fail_msg("without %s: a reader beside a writer: %s", denied, held);
}

static void assert_sound(script_fixture *f, const char *denied)
{
    assert_ends(f, denied);
    assert_waiters(f, denied);
    assert_exclusive(f, denied);
}

/* ---- coming in ---- */

RW_TEST(an_acquire_without_a_right_leaves_nothing_behind)
{
    static const char *const modes[] = {"r", "u", "w"};

    for (int i = 0; i < 3 * COMMANDS; i++) {
        script_deny(f, commands[i / 3]);
        rw_acquire(f, "u1:1", modes[i % 3]);
        assert_sound(f, commands[i / 3]);
        if (is_failed(f))
            assert_like(script_redis(f, "EXISTS n %s",
                                     lua_rwlock_timeout("u1:1")),
                        "0");
        else
            assert_true(holds(f, "u1:1"));
        script_start_over(f);
    }
}

RW_TEST(an_acquire_that_cannot_set_a_lease_is_undone)
{
    script_deny(f, "pexpire");
    assert_like(rw_acquire(f, "r1:1", "r"), cannot);
    assert_like(rw_acquire(f, "w1:1", "w"), cannot);
    assert_like(script_redis(f, "DBSIZE"), "0");
    script_redis(f, "ACL SETUSER restricted -del");
    assert_like(rw_acquire(f, "r1:1", "r"), cannot);
    assert_like(rw_acquire(f, "w1:1", "w"), cannot);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

RW_TEST(joining_without_a_right_harms_no_other_reader)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        rw_acquire(f, "r1:1", "r");
        script_deny(f, commands[i]);
        rw_acquire(f, "r2:1", "r");
        assert_sound(f, commands[i]);
        assert_true(holds(f, "r1:1"));
        if (is_failed(f)) {
            assert_false(holds(f, "r2:1"));
            assert_like(script_redis(f, "EXISTS %s",
                                     lua_rwlock_timeout("r2:1")),
                        "0");
            assert_like(script_redis(f, "HEXISTS %s r2:1", LUA_RWLOCK_HOLDERS),
                        "0");
        }
        script_start_over(f);
    }
}

RW_TEST(queueing_without_a_right_leaves_no_half_a_place)
{
    static const char *const modes[] = {"r", "u", "w"};

    for (int i = 0; i < 3 * COMMANDS; i++) {
        rw_acquire(f, "w1:1", "w");
        script_deny(f, commands[i / 3]);
        rw_acquire(f, "u1:1", modes[i % 3]);
        assert_sound(f, commands[i / 3]);
        assert_held(f, "w1:1:write write");
        if (is_failed(f))
            assert_waiting(f, "");
        script_start_over(f);
    }
}

/* The order is noted then, too, and without an end it would stay. */
RW_TEST(queueing_with_an_order_leaves_nothing_without_an_end)
{
    rw_set_order("2");
    for (size_t i = 0; i < COMMANDS; i++) {
        script_redis(f, "HSET n mode write java:1:write 1");
        script_redis(f, "PEXPIRE n 30000");
        script_deny(f, commands[i]);
        rw_acquire(f, "u1:1", "r");
        assert_sound(f, commands[i]);
        script_start_over(f);
    }
}

RW_TEST(an_upgrade_without_a_right_keeps_its_base)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        rw_acquire(f, "u1:1", "u");
        script_deny(f, commands[i]);
        rw_acquire_on(f, "u2:1", "w", "u1:1");
        assert_sound(f, commands[i]);
        assert_true(holds(f, "u1:1"));
        if (is_failed(f))
            assert_held(f, "u1:1 read");
        script_start_over(f);
    }
}

/* ---- going out ---- */

/* w1:1 holds; r1:1, w2:1 and r2:1 wait, and can be reached. */
static void some_wait(script_fixture *f)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r2:1", "r");
}

static void listen_to_all(script_fixture *f)
{
    rw_hear(f, "r1:1", "r2:1", "w1:1", "w2:1", "u2:1", (char *)NULL);
}

/* Each of them still waits or has come in. */
static void assert_nobody_is_lost(script_fixture *f, const char *denied)
{
    static const char *const claims[] = {"r1:1", "w2:1", "r2:1"};

    for (size_t i = 0; i < 3; i++) {
        const char *waiting = rw_waiting(f);

        if (strstr(waiting, claims[i]) == NULL && !holds(f, claims[i]))
            fail_msg("without %s: %s is lost", denied, claims[i]);
    }
}

RW_TEST(a_release_without_a_right_loses_nobody)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        some_wait(f);
        script_deny(f, commands[i]);
        rw_release(f, "w1:1", NULL);
        assert_sound(f, commands[i]);
        assert_nobody_is_lost(f, commands[i]);
        if (is_failed(f))
            assert_held(f, "w1:1:write write");
        else
            assert_false(holds(f, "w1:1"));
        script_start_over(f);
    }
}

RW_TEST(a_readers_release_without_a_right_loses_nobody)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        rw_acquire(f, "u1:1", "u");
        rw_acquire(f, "r1:1", "r");
        rw_acquire_on(f, "u2:1", "w", "u1:1");
        script_deny(f, commands[i]);
        rw_release(f, "r1:1", NULL);
        assert_sound(f, commands[i]);
        assert_true(holds(f, "u1:1"));
        assert_true(strstr(rw_waiting(f), "u2:1") != NULL || holds(f, "u2:1"));
        if (is_failed(f))
            assert_true(holds(f, "r1:1"));
        script_start_over(f);
    }
}

RW_TEST(a_release_that_nobody_waits_for_is_done_or_is_not)
{
    static const char *const modes[] = {"r", "w"};

    for (int i = 0; i < 2 * COMMANDS; i++) {
        rw_acquire(f, "u1:1", modes[i % 2]);
        script_deny(f, commands[i / 2]);
        rw_release(f, "u1:1", NULL);
        assert_sound(f, commands[i / 2]);
        assert_true(holds(f, "u1:1") == is_failed(f));
        script_start_over(f);
    }
}

/* The writer's own read stays. Where the writer does, it writes. */
RW_TEST(a_writers_release_beside_its_own_read_is_done_or_is_not)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        rw_acquire(f, "w1:1", "w");
        rw_acquire_on(f, "w1:2", "r", "w1:1");
        script_deny(f, commands[i]);
        rw_release(f, "w1:1", NULL);
        assert_sound(f, commands[i]);
        assert_true(holds(f, "w1:1") == is_failed(f));
        assert_true(holds(f, "w1:2"));
        script_start_over(f);
    }
}

RW_TEST(a_release_that_may_not_publish_hands_on_unheard)
{
    listen_to_all(f);
    some_wait(f);
    script_deny(f, "publish");
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 1");
    assert_held(f, "r1:1 r2:1 read");
    script_deny(f, NULL);
    assert_string_equal(script_heard(f), "");
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) (1 * * 0)");
}

/* Denied is neither "nobody listens" nor "somebody does". */
RW_TEST(a_release_that_may_not_ask_leaves_the_name_open)
{
    listen_to_all(f);
    some_wait(f);
    script_deny(f, "pubsub");
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 1");
    assert_held(f, "");
    assert_waiting(f, "w: w2:1 r: r1:1 r2:1");
    assert_like(script_heard(f), "latchkey:in::r1 open 0 rwlock r1:1 * n\n");
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) (1 * * 0)");
    assert_like(rw_recheck(f, "r2:1"), "2 * (0) (1 * * 0)");
    assert_like(rw_recheck(f, "w2:1"), "2 * ([1-9]*) ()");
    rw_release(f, "r1:1", NULL);
    rw_release(f, "r2:1", NULL);
    assert_like(rw_recheck(f, "w2:1"), "2 * (0) (1 * * 0)");
}

RW_TEST(leaving_without_a_right_loses_nobody)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        some_wait(f);
        script_deny(f, commands[i]);
        rw_leave(f, "w1:1", true);
        assert_sound(f, commands[i]);
        assert_nobody_is_lost(f, commands[i]);
        rw_leave(f, "u9:1", false);
        assert_sound(f, commands[i]);
        assert_nobody_is_lost(f, commands[i]);
        script_start_over(f);
    }
}

RW_TEST(a_look_without_a_right_keeps_the_place)
{
    static const char *const claims[] = {"r1:1", "w2:1"};

    for (int i = 0; i < 2 * COMMANDS; i++) {
        some_wait(f);
        script_expire(f);
        script_deny(f, commands[i / 2]);
        rw_recheck(f, claims[i % 2]);
        assert_sound(f, commands[i / 2]);
        if (is_failed(f))
            assert_true(strstr(rw_waiting(f), claims[i % 2]) != NULL);
        else if (i % 2 == 0 && strstr(rw_waiting(f), claims[0]) != NULL)
            fail_msg("without %s: the first waits, and is told nothing: %s",
                     commands[i / 2], f->answer_text);
        script_start_over(f);
    }
}

RW_TEST(a_downgrade_without_a_right_keeps_the_writer_or_reads)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        some_wait(f);
        script_deny(f, commands[i]);
        rw_downgrade(f, "w1:1", NULL, 30000);
        assert_sound(f, commands[i]);
        assert_nobody_is_lost(f, commands[i]);
        assert_true(holds(f, "w1:1"));
        if (is_failed(f))
            assert_held(f, "w1:1:write write");
        if (is_failed(f) && strcmp(commands[i], "del") != 0)
            assert_like(script_redis(f, "EXISTS %s",
                                     lua_rwlock_timeout("w1:1")),
                        "0");
        script_start_over(f);
    }
}

RW_TEST(force_without_a_right_loses_nobody)
{
    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        some_wait(f);
        script_deny(f, commands[i]);
        lua_rwlock_force(f, "");
        assert_sound(f, commands[i]);
        assert_nobody_is_lost(f, commands[i]);
        script_start_over(f);
    }
}

/* ---- keeping ---- */

RW_TEST(a_renewal_that_is_denied_says_so)
{
    char fence[32];

    rw_acquire(f, "r1:1", "r");
    snprintf(fence, sizeof(fence), "%s", rw_fence(f, "r1:1"));
    script_deny(f, "pexpire");
    assert_like(rw_renew(f, "r1:1", 60000), cannot);
    assert_like(rw_confirm(f, "r1:1", fence, 60000), cannot);
    script_deny(f, "hmget");
    assert_like(rw_renew(f, "r1:1", 60000), cannot);
}

RW_TEST(a_confirm_that_may_not_ask_says_that_somebody_waits)
{
    rw_acquire(f, "r1:1", "r");
    script_deny(f, "pubsub");
    assert_like(rw_confirm(f, "r1:1", NULL, 60000), "1 60000 1 1");
}

/* Whoever were asked to go on would find out no more than this one. */
RW_TEST(a_release_that_may_not_ask_leaves_no_more_to_hand_over)
{
    char claim[16];

    rw_acquire(f, "w1:1", "w");
    for (int i = 0; i < 20; i++) {
        snprintf(claim, sizeof(claim), "r%d:1", i);
        rw_acquire(f, claim, "r");
    }
    script_deny(f, "pubsub");
    assert_like(rw_release(f, "w1:1", NULL), "1 2 0 1");
    assert_like(rw_pass(f), "2 -2 0 0 1 () ()");
}

/* The living cannot be told from the dead, so nobody is taken for dead. */
RW_TEST(without_the_right_to_look_no_reader_is_passed_by)
{
    rw_acquire(f, "r1:1", "r");
    rw_kill(f, "r1:1");
    script_deny(f, "mget");
    assert_like(rw_try(f, "w1:1", "w"), cannot);
    assert_held(f, "r1:1 read");
    assert_like(lua_rwlock_state(f), cannot);
}

CHECK_GROUP(script_start_server, script_stop_server)
