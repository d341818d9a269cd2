/* SPDX-License-Identifier: MIT */

/*
 * The latch's scripts for a user who lacks a right. Whatever stops an
 * operation half-way, it has either counted, once, or it has not, and can be
 * sent again when the right is there.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/latch_script.h"
#include "support/wait.h"

/* Every command that a script of the latch may call. */
static const char *const commands[] =
    {"decrby",  "del",           "exists",  "get",
     "hdel",    "hmget",         "hscan",   "hset",
     "mget",    "persist",       "pexpire", "pexpireat",
     "pttl",    "publish",       "pubsub",  "set",
     "time",    "zadd",          "zcard",   "zcount",
     "zmscore", "zrangebyscore", "zrem",    "zremrangebyscore",
     "zscore"};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]), TEXT = 256 };

static void start_over(script_fixture *f)
{
    script_deny(f, NULL);
    server_flush(f->server);
}

/* ---- what a latch may be before ---- */

static void is_unset(script_fixture *f)
{
    latch_set(f, "before:1", "1");
    latch_delete(f, "before:2");
}

static void was_never_used(script_fixture *f)
{
    (void)f;
}

static void is_armed(script_fixture *f)
{
    latch_set(f, "before:1", "3");
    latch_arrive(f, "before:2", "3", "m1");
}

static void is_armed_for_a_time(script_fixture *f)
{
    latch_set_for(f, "before:1", "3", "60000");
    latch_arrive(f, "before:2", "3", "m1");
}

static void is_almost_open(script_fixture *f)
{
    latch_set(f, "before:1", "2");
    latch_arrive(f, "before:2", "2", "m1");
}

static void is_almost_open_for_a_time(script_fixture *f)
{
    latch_set_for(f, "before:1", "2", "60000");
    latch_arrive(f, "before:2", "2", "m1");
}

static void is_open(script_fixture *f)
{
    latch_set(f, "before:1", "1");
    latch_down(f, "before:2", "1");
}

static void is_redissons(script_fixture *f)
{
    redisson_set(f, "2");
}

static void was_opened_by_redisson(script_fixture *f)
{
    latch_set(f, "before:1", "1");
    redisson_down(f);
}

static void (*const states[])(script_fixture *f) = {was_never_used,
                                                    is_unset,
                                                    is_armed,
                                                    is_armed_for_a_time,
                                                    is_almost_open,
                                                    is_almost_open_for_a_time,
                                                    is_open,
                                                    is_redissons,
                                                    was_opened_by_redisson};

enum { STATES = sizeof(states) / sizeof(states[0]) };

/* ---- operations, each as "op" ---- */

static const char *set(script_fixture *f)
{
    return latch_set(f, "op", "4");
}

static const char *set_for(script_fixture *f)
{
    return latch_set_for(f, "op", "4", "60000");
}

static const char *reset(script_fixture *f)
{
    return latch_reset(f, "op", "4");
}

static const char *reset_for(script_fixture *f)
{
    return latch_reset_for(f, "op", "4", "60000");
}

static const char *down(script_fixture *f)
{
    return latch_down(f, "op", "1");
}

static const char *down_for(script_fixture *f)
{
    return latch_down_for(f, "op", "1", "60000");
}

static const char *arrive(script_fixture *f)
{
    return latch_arrive(f, "op", latch_mark(f, "size") == 2 ? "2" : "3", "m2");
}

static const char *arrive_for(script_fixture *f)
{
    return latch_arrive_for(f, "op", latch_mark(f, "size") == 2 ? "2" : "3",
                            "m2", "60000");
}

static const char *arrive_alone(script_fixture *f)
{
    return latch_arrive(f, "op", "1", "m2");
}

static const char *quit(script_fixture *f)
{
    return latch_quit(f, "op", "m1");
}

static const char *drop(script_fixture *f)
{
    return latch_delete(f, "op");
}

static const char *(*const operations[])(script_fixture *f) =
    {set,    set_for,    reset,        reset_for, down, down_for,
     arrive, arrive_for, arrive_alone, quit,      drop};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

/* ---- what must be so ---- */

/* The latch as a user sees it: its count, whether that has an end, and who has
   arrived. */
static void describe(script_fixture *f, char *text)
{
    bool ends = latch_pttl(f, "n") >= 0;
    size_t used;

    used = (size_t)snprintf(text, TEXT, "%s; ", latch_count(f));
    used += (size_t)snprintf(text + used, TEXT - used, "%s; ",
                             ends ? "ends" : "stays");
    latch_info(f);
    for (size_t i = 0; i < f->answer->element[0]->elements; i += 7)
        used += (size_t)snprintf(text + used, TEXT - used, "%s ",
                                 f->answer->element[0]->element[i]->str);
}

/* Nothing but an armed or open latch itself is without an end. */
static void assert_ends(script_fixture *f, const char *denied)
{
    static const char *const others[] = {LATCH_MEMO, LATCH_QUEUE};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (latch_pttl(f, others[i]) == -1)
            fail_msg("without %s: %s for ever", denied, others[i]);
    }
    if (strcmp(latch_count(f), "2") == 0 && latch_pttl(f, LATCH_RECORD) == -1)
        fail_msg("without %s: the record of nothing for ever", denied);
}

/* Runs one operation without one right, or without two. */
static void try_without(script_fixture *f, size_t before, size_t operation,
                        const char *denied, const char *also)
{
    char was[TEXT], complete[TEXT], is[TEXT];
    bool refused;

    states[before](f);
    operations[operation](f);
    describe(f, complete);
    start_over(f);

    states[before](f);
    describe(f, was);
    script_deny(f, denied);
    if (also != NULL)
        script_redis(f, "ACL SETUSER restricted -%s", also);
    operations[operation](f);
    refused = f->answer->type == REDIS_REPLY_ERROR;
    script_deny(f, NULL);
    describe(f, is);
    if (strcmp(is, refused ? was : complete) != 0)
        fail_msg("state %zu, operation %zu without %s, %s: was %s, is %s, %s",
                 before, operation, denied, also != NULL ? also : "", was, is,
                 f->answer_text);
    if (also ==
        NULL) /* with no right to delete or to set an end a record stays */
        assert_ends(f, denied);

    operations[operation](f);
    describe(f, is);
    if (strcmp(is, complete) != 0)
        fail_msg("state %zu, operation %zu again after %s, %s: %s, wanted %s",
                 before, operation, denied, also != NULL ? also : "", is,
                 complete);
    assert_ends(f, denied);
    start_over(f);
}

SCRIPT_TEST(an_operation_without_a_right_has_run_or_it_has_not)
{
    for (size_t i = 0; i < STATES; i++) {
        for (size_t j = 0; j < OPERATIONS; j++) {
            for (size_t k = 0; k < COMMANDS; k++)
                try_without(f, i, j, commands[k], NULL);
        }
    }
}

/* What undoes one command may be denied with another. */
SCRIPT_TEST(an_operation_without_two_rights_has_run_or_it_has_not)
{
    static const char *const writes[] =
        {"decrby",          "del",  "hset", "persist",   "set",
         "pexpire",         "zadd", "zrem", "pexpireat", "publish",
         "zremrangebyscore"};
    /* Under Valgrind one in seven: what is looked at is the server. */
    size_t step = wait_scale() >= 10 ? 7 : 1;

    for (size_t i = 0; i < (size_t)STATES * OPERATIONS; i += step) {
        for (size_t j = 1; j < sizeof(writes) / sizeof(writes[0]); j++) {
            for (size_t k = 0; k < j; k++)
                try_without(f, i / OPERATIONS, i % OPERATIONS, writes[j],
                            writes[k]);
        }
    }
}

/* It is the generation that it was, without an end, and so are its members. */
SCRIPT_TEST(an_opening_that_fails_is_taken_back)
{
    long long gen;

    latch_set(f, "op:1", "3");
    latch_arrive(f, "op:2", "3", "m1");
    gen = latch_mark(f, "gen");
    script_deny(f, "del");
    assert_like(latch_down(f, "op:3", "2"), "!DENIED *");
    script_deny(f, NULL);
    assert_int_equal(latch_mark(f, "gen"), gen);
    assert_string_equal(latch_word(f, "phase"), "armed");
    assert_int_equal(latch_pttl(f, LATCH_RECORD), -1);
    assert_int_equal(latch_pttl(f, LATCH_ARRIVED), -1);
    assert_like(latch_down(f, "op:3", "2"), "1 0");
    assert_like(latch_count(f), "1 0");
}

/* Not even where what was undone cannot be written again. */
SCRIPT_TEST(a_delete_that_fails_opens_nothing)
{
    latch_set(f, "op:1", "3");
    script_deny(f, "hset");
    script_redis(f, "ACL SETUSER restricted -set");
    assert_like(latch_delete(f, "op:2"), "!*");
    script_deny(f, NULL);
    assert_like(latch_count(f), "1 3");
}

/* ---- waits ---- */

static void wait_without(script_fixture *f, size_t before, const char *denied)
{
    char was[TEXT], is[TEXT];

    states[before](f);
    describe(f, was);
    script_deny(f, denied);
    latch_wait(f, "u:1");
    latch_look(f, "u:1");
    latch_look(f, "u:2");
    latch_leave(f, "u:1");
    script_deny(f, NULL);
    describe(f, is);
    if (strcmp(is, was) != 0)
        fail_msg("state %zu without %s: was %s, is %s", before, denied, was,
                 is);
    assert_ends(f, denied);
    start_over(f);
}

SCRIPT_TEST(a_wait_without_a_right_changes_nothing)
{
    for (size_t i = 0; i < STATES; i++) {
        for (size_t k = 0; k < COMMANDS; k++)
            wait_without(f, i, commands[k]);
    }
}

SCRIPT_TEST(a_wait_that_cannot_be_listed_waits)
{
    static const char *const lists[] = {"zadd", "hset",    "hdel",
                                        "zrem", "pexpire", "zrangebyscore"};

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        latch_set(f, "op:1", "2");
        script_deny(f, lists[i]);
        assert_like(latch_wait(f, "u:1"), "2 -1 * 0 0");
        assert_like(latch_look(f, "u:1"), "2 -1 * 0 0");
        start_over(f);
    }
}

/* ---- publishing ---- */

SCRIPT_TEST(who_may_not_publish_counts_and_says_so)
{
    latch_set(f, "op:1", "1");
    script_deny(f, "publish");
    assert_like(latch_down(f, "op:2", "1"), "1 1");
    assert_like(latch_count(f), "1 0");
    assert_like(latch_reset(f, "op:3", "1"), "1 1");
    assert_like(latch_delete(f, "op:4"), "1 1");
    assert_like(latch_set(f, "op:5", "1"), "1 1");
    assert_like(latch_arrive(f, "op:6", "1", "m"), "1 1");
}

SCRIPT_TEST(who_may_not_tell_redisson_tells_its_own)
{
    redisReply *reply;

    latch_set(f, "op:1", "1");
    script_listen(f, LATCH_NEWS);
    assert_like(script_redis(f, "ACL SETUSER restricted reset on >x ~* "
                                "resetchannels &latchkey:* +@all"),
                "OK");
    reply = redisCommand(f->runner, "AUTH restricted x");
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    assert_like(latch_down(f, "op:2", "1"), "1 1");
    assert_like(script_heard(f),
                LATCH_NEWS " opened 0 latch * " LATCH_NONCE " n\n");
}

CHECK_GROUP(script_start_server, script_stop_server)
