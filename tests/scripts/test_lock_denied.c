/* SPDX-License-Identifier: MIT */

/*
 * The lock's scripts for a user who lacks a right. A script that the server
 * stops half-way must not leave an immortal lock, a claim that holds and
 * waits, or a waiter that was taken out and not granted.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_lock_renew;

/* Every command that a script of the lock may call. */
static const char *const commands[] =
    {"del",           "exists", "get",
     "hdel",          "hget",   "hgetall",
     "hmget",         "hset",   "lindex",
     "pexpire",       "pttl",   "publish",
     "pubsub",        "set",    "time",
     "zadd",          "zcard",  "zrange",
     "zrangebyscore", "zrem",   "zremrangebyscore",
     "zscore"};

/* What a script is told that lacks a right. */
static const char cannot[] = "!*The user executing the script can't *";

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* u:1 holds; u:2 and u:3 wait, and can be reached. */
static void two_wait(script_fixture *f)
{
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
}

static void start_over(script_fixture *f)
{
    script_deny(f, NULL);
    server_flush(f->server);
}

static void listen_to_all(script_fixture *f)
{
    script_listen(f, "in:u:1");
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
}

/* What must be so whenever a script has ended, whatever stopped it. */
static void assert_sound(script_fixture *f, const char *denied)
{
    static const int own[] = {KEY_LOCK,    KEY_STATE, KEY_QUEUE,
                              KEY_TICKETS, KEY_VOID,  KEY_SKIPPED};
    char holder[64];

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (number(script_redis(f, "PTTL %s", f->keys[own[i]])) != -1)
            continue;
        fail_msg("without %s: %s for ever", denied, f->keys[own[i]]);
    }
    assert_in_range(number(script_redis(f, "HLEN n")), 0, 1);
    snprintf(holder, sizeof(holder), "%s", script_redis(f, "HKEYS n"));
    if (strcmp(script_redis(f, "ZSCORE %s %s", f->keys[KEY_QUEUE], holder),
               "nil") != 0)
        fail_msg("without %s: %s holds and waits", denied, holder);
}

/* ---- acquire ---- */

static void an_acquire_without_a_right_leaves_nothing_behind(void **state)
{
    script_fixture *f = *state;

    for (size_t i = 0; i < COMMANDS; i++) {
        script_deny(f, commands[i]);
        script_acquire_with(f, "u:1", "30000", "1", "in:u:1", "", "1");
        assert_sound(f, commands[i]);
        if (f->answer->type == REDIS_REPLY_ERROR)
            assert_like(script_redis(f, "EXISTS n"), "0");
        else
            assert_like(script_redis(f, "HKEYS n"), "u:1");
        start_over(f);
    }
}

static void an_acquire_that_cannot_set_the_lease_is_undone(void **state)
{
    script_fixture *f = *state;

    script_deny(f, "pexpire");
    assert_like(script_acquire(f, "u:1"), cannot);
    assert_like(script_redis(f, "DBSIZE"), "0");
}

static void an_acquire_is_undone_even_without_the_right_to_delete(void **state)
{
    script_fixture *f = *state;

    script_deny(f, "pexpire");
    script_redis(f, "ACL SETUSER restricted -del");
    assert_like(script_acquire(f, "u:1"), cannot);
    assert_like(script_redis(f, "DBSIZE"), "0");
}

static void an_acquire_that_cannot_keep_redissons_token_is_undone(void **state)
{
    script_fixture *f = *state;

    f->interop = "1";
    script_deny(f, "set");
    assert_like(script_acquire(f, "u:1"), cannot);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

static void queueing_without_a_right_leaves_no_half_a_place(void **state)
{
    script_fixture *f = *state;

    for (size_t i = 0; i < COMMANDS; i++) {
        script_acquire(f, "u:1");
        script_deny(f, commands[i]);
        script_acquire(f, "u:2");
        assert_sound(f, commands[i]);
        assert_like(script_redis(f, "HKEYS n"), "u:1");
        assert_true(
            number(script_redis(f, "ZCARD %s", f->keys[KEY_QUEUE])) ==
            number(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS])));
        start_over(f);
    }
}

/* ---- handing over ---- */

/* Either the next has it and waits no more, or it is free and all wait. */
static void assert_handed_over_or_open(script_fixture *f, const char *denied)
{
    assert_sound(f, denied);
    if (strcmp(script_redis(f, "HKEYS n"), "u:2") == 0) {
        assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                    "u:3");
        return;
    }
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "1");
}

static void a_release_without_a_right_keeps_the_queue(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        two_wait(f);
        script_deny(f, commands[i]);
        script_release(f, "u:1", NULL);
        if (f->answer->type != REDIS_REPLY_ERROR)
            assert_handed_over_or_open(f, commands[i]);
        else
            assert_like(script_redis(f, "HKEYS n"), "u:1");
        start_over(f);
    }
}

/* Denied is neither "nobody listens" nor "somebody does". */
static void a_release_that_may_not_publish_leaves_the_lock_open(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    two_wait(f);
    script_deny(f, "publish");
    assert_like(script_release(f, "u:1", NULL), "1 0 1");
    assert_like(script_redis(f, "EXISTS n %s", f->keys[KEY_SKIPPED]), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
    script_deny(f, NULL);
    assert_string_equal(script_heard(f), "");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void a_release_that_may_not_ask_leaves_the_lock_open(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    two_wait(f);
    script_deny(f, "pubsub");
    assert_like(script_release(f, "u:1", NULL), "1 0 1");
    assert_like(script_redis(f, "EXISTS n %s", f->keys[KEY_SKIPPED]), "0");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
    assert_like(script_heard(f), "in:u:2 open lock u:2 * n\n");
}

static void an_open_release_that_may_not_ask_keeps_the_queue(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    two_wait(f);
    f->interop = "1";
    script_deny(f, "pubsub");
    assert_like(script_release(f, "u:1", NULL), "1 0 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
}

static void
a_release_without_the_right_to_set_a_lease_grants_nothing(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    two_wait(f);
    script_deny(f, "pexpire");
    assert_like(script_release(f, "u:1", NULL), "1 0 1");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(script_heard(f), "in:u:2 open lock u:2 * n\n");
}

static void a_release_that_nobody_waits_for_works_without_publish(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_deny(f, "publish");
    assert_like(script_release(f, "u:1", NULL), "1 0 1");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

static void a_release_that_may_not_delete_is_refused_whole(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    two_wait(f);
    script_deny(f, "del");
    assert_like(script_release(f, "u:1", NULL), cannot);
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_QUEUE]), "2");
}

/* ---- waiting without the right to ask ---- */

/* Without word of who lives, each takes it at its own turn, in order. */
static void waiters_that_may_not_ask_still_get_the_lock(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deny(f, "pubsub");
    script_release(f, "u:1", NULL);
    assert_like(script_recheck(f, "u:3"), "0 -2 * 0 0 1");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void a_recheck_without_a_right_keeps_the_place(void **state)
{
    script_fixture *f = *state;

    for (size_t i = 0; i < COMMANDS; i++) {
        two_wait(f);
        script_expire(f);
        script_deny(f, commands[i]);
        script_recheck(f, "u:2");
        assert_sound(f, commands[i]);
        if (f->answer->type == REDIS_REPLY_ERROR)
            assert_like(script_redis(f, "ZRANGE %s 0 0", f->keys[KEY_QUEUE]),
                        "u:2");
        else
            assert_like(script_redis(f, "HKEYS n"), "u:2");
        start_over(f);
    }
}

static void leaving_without_a_right_leaves_all_sound(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    for (size_t i = 0; i < COMMANDS; i++) {
        two_wait(f);
        script_deny(f, commands[i]);
        script_leave(f, "u:1", "60000");
        assert_sound(f, commands[i]);
        script_leave(f, "u:2", "60000");
        assert_sound(f, commands[i]);
        start_over(f);
    }
}

/* ---- keeping ---- */

static void a_renewal_that_is_denied_says_so(void **state)
{
    script_fixture *f = *state;
    const char *const keys[] = {"n", "latchkey:state:{n}"};
    char fence[24];
    const char *const args[] = {"u:1", fence, "60000", NULL};

    script_acquire(f, "u:1");
    snprintf(fence, sizeof(fence), "%lld", script_item(f, 1));
    script_deny(f, "pexpire");
    assert_like(script_run_keys(f, &lk__script_lock_renew, keys, 2, args),
                cannot);
    assert_like(script_confirm(f, "u:1", NULL, "60000"), cannot);
    script_deny(f, "hget");
    assert_like(script_run_keys(f, &lk__script_lock_renew, keys, 2, args),
                cannot);
}

/* When it cannot be told whether somebody waits, somebody may. */
static void a_confirm_that_may_not_ask_says_that_somebody_waits(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_deny(f, "pubsub");
    assert_like(script_confirm(f, "u:1", NULL, "60000"), "1 60000 1 *");
}

static void force_without_the_right_to_publish_still_frees(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deny(f, "publish");
    assert_like(script_force(f), "1 0 1");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(an_acquire_without_a_right_leaves_nothing_behind),
        SCRIPT_TEST(an_acquire_that_cannot_set_the_lease_is_undone),
        SCRIPT_TEST(an_acquire_is_undone_even_without_the_right_to_delete),
        SCRIPT_TEST(an_acquire_that_cannot_keep_redissons_token_is_undone),
        SCRIPT_TEST(queueing_without_a_right_leaves_no_half_a_place),
        SCRIPT_TEST(a_release_without_a_right_keeps_the_queue),
        SCRIPT_TEST(a_release_that_may_not_publish_leaves_the_lock_open),
        SCRIPT_TEST(a_release_that_may_not_ask_leaves_the_lock_open),
        SCRIPT_TEST(an_open_release_that_may_not_ask_keeps_the_queue),
        SCRIPT_TEST(a_release_without_the_right_to_set_a_lease_grants_nothing),
        SCRIPT_TEST(a_release_that_nobody_waits_for_works_without_publish),
        SCRIPT_TEST(a_release_that_may_not_delete_is_refused_whole),
        SCRIPT_TEST(waiters_that_may_not_ask_still_get_the_lock),
        SCRIPT_TEST(a_recheck_without_a_right_keeps_the_place),
        SCRIPT_TEST(leaving_without_a_right_leaves_all_sound),
        SCRIPT_TEST(a_renewal_that_is_denied_says_so),
        SCRIPT_TEST(a_confirm_that_may_not_ask_says_that_somebody_waits),
        SCRIPT_TEST(force_without_the_right_to_publish_still_frees),
    };

    return cmocka_run_group_tests_name("lock_denied", tests,
                                       script_start_server, script_stop_server);
}
