/* SPDX-License-Identifier: MIT */

/* lock_touch: many waiters of one client say that they live. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_lock_touch;

/* Where the tickets begin in an answer. */
enum { FIRST_TICKET = 4 };

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* Touches up to three claims; NULL: fewer. */
static const char *touch(script_fixture *f, const char *first,
                         const char *second, const char *third)
{
    return script_call(f, &lk__script_lock_touch, "", first, second, third,
                       NULL);
}

static long long ticket_of(script_fixture *f, const char *claim)
{
    return number(script_redis(f, "ZSCORE %s %s", f->keys[KEY_QUEUE], claim));
}

/* u:1 holds; u:2, v:1 and u:3 wait, in this order; all can be reached. */
static void three_wait(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:v:1");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "v:1");
    script_acquire(f, "u:3");
}

static void dead_ones_wait(script_fixture *f, int count)
{
    char claim[16];

    for (int i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "dead:%d", i);
        script_acquire(f, claim);
    }
}

/* ---- what is answered ---- */

static void each_waiter_is_told_its_ticket_in_the_order_asked(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    assert_like(touch(f, "u:3", "u:2", NULL), "* 0 0 0 * *");
    assert_in_range(script_item(f, 0), 29000, 30000);
    assert_true(script_item(f, FIRST_TICKET) == ticket_of(f, "u:3"));
    assert_true(script_item(f, FIRST_TICKET + 1) == ticket_of(f, "u:2"));
}

static void a_claim_that_does_not_wait_has_no_ticket(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    assert_like(touch(f, "u:1", "u:9", "u:2"), "* 0 0 0 0 0 *");
}

static void a_touch_never_queues(void **state)
{
    script_fixture *f = *state;

    assert_like(touch(f, "u:1", "u:2", NULL), "-2 0 0 0 0 0");
    assert_like(script_redis(f, "DBSIZE"), "0");
    script_acquire(f, "u:1");
    assert_like(touch(f, "u:2", "u:3", NULL), "* 0 0 0 0 0");
    assert_like(script_redis(f, "EXISTS %s %s %s", f->keys[KEY_QUEUE],
                             f->keys[KEY_TICKETS], f->keys[KEY_SKIPPED]),
                "0");
}

/* ---- a sign of life ---- */

static void a_touch_is_a_sign_of_life_of_each(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_age(f, "u:2", 5000);
    script_age(f, "v:1", 5000);
    script_age(f, "u:3", 5000);
    touch(f, "u:2", "u:3", NULL);
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    script_release(f, "u:2", NULL);
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]), "v:1");
}

static void a_touch_keeps_the_queue_for_a_minute(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "PEXPIRE %s 1000", f->keys[KEY_QUEUE]);
    script_redis(f, "PEXPIRE %s 1000", f->keys[KEY_TICKETS]);
    touch(f, "u:2", NULL, NULL);
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_QUEUE])),
                    59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_TICKETS])),
                    59000, 60000);
}

static void a_touch_keeps_all_that_was_asked_for(void **state)
{
    script_fixture *f = *state;
    char before[128];

    script_acquire(f, "u:1");
    script_acquire_with(f, "u:2", "777", "1", "in", " two  words ", "0");
    snprintf(before, sizeof(before), "%s",
             script_redis(f, "HGET %s u:2", f->keys[KEY_TICKETS]));
    touch(f, "u:2", NULL, NULL);
    assert_like(script_redis(f, "HGET %s u:2", f->keys[KEY_TICKETS]),
                "* x 1 777 * * in  two  words ");
    assert_true(number(before) == ticket_of(f, "u:2"));
    assert_like(script_redis(f, "HLEN %s", f->keys[KEY_TICKETS]), "3");
}

static void those_who_were_skipped_get_their_places_back(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_deafen(f, "in:u:2");
    script_deafen(f, "in:v:1");
    script_release(f, "u:1", NULL);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]),
                "u:2 v:1");
    script_acquire(f, "u:4");
    touch(f, "u:4", "u:2", NULL);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:4");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]), "v:1");
    touch(f, "v:1", NULL, NULL);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 v:1 u:4");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
}

/* Whoever lost the queue's key still has its ticket. */
static void places_are_found_again_when_the_queue_was_deleted(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "DEL %s", f->keys[KEY_QUEUE]);
    touch(f, "u:3", NULL, NULL);
    touch(f, "u:2", NULL, NULL);
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 u:3");
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_QUEUE])),
                    59000, 60000);
}

/* ---- a free lock ---- */

/* Its client asks for it by the claim, which gets the full lease. */
static void the_first_is_told_that_its_turn_has_come(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_expire(f);
    assert_like(touch(f, "u:3", "u:2", NULL), "30000 2 0 0 * *");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(script_heard(f), "");
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void a_free_lock_is_given_to_a_first_that_is_not_among_them(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_expire(f);
    assert_like(touch(f, "v:1", "u:3", NULL), "* 0 0 0 * *");
    assert_in_range(script_item(f, 0), 2000, 3000);
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_heard(f), "in:u:2 grant lock u:2 * * * 3000 n\n");
}

/* The others of its client look again when that lease ends, should it not be
   given back. */
static void the_lease_that_the_next_will_have_is_told(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire_with(f, "u:2", "777", "1", "in:u:2", "", "0");
    script_acquire(f, "u:3");
    script_expire(f);
    assert_like(touch(f, "u:2", "u:3", NULL), "777 1 0 0 * *");
}

/* A touch proves life, also where the inbox is not there just now. */
static void one_behind_dead_ones_is_told_that_its_turn_has_come(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_deafen(f, "in:u:2");
    script_deafen(f, "in:v:1");
    script_deafen(f, "in:u:3");
    script_expire(f);
    assert_like(touch(f, "u:3", NULL, NULL), "30000 1 0 0 *");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_SKIPPED]),
                "u:2 v:1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:3");
    assert_like(script_recheck(f, "u:3"), "1 * 30000 * *");
}

static void behind_too_many_dead_ones_it_is_told_of_more(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    dead_ones_wait(f, 100);
    script_acquire(f, "u:2");
    script_expire(f);
    assert_like(touch(f, "u:2", NULL, NULL), "-2 0 1 0 *");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_SKIPPED]), "64");
    assert_like(touch(f, "u:2", NULL, NULL), "30000 1 0 0 *");
}

/* Nobody of the caller's waits any more: still the lock finds its next. */
static void who_waits_no_more_gives_a_free_lock_on(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_expire(f);
    assert_like(touch(f, "u:9", NULL, NULL), "* 0 0 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

static void who_waits_no_more_does_not_stand_for_the_others(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_deafen(f, "in:u:2");
    script_expire(f);
    assert_like(touch(f, "u:9", "u:3", "u:2"), "30000 3 0 0 0 * *");
}

static void a_waiter_whose_ticket_is_gone_is_dropped(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "HDEL %s u:2", f->keys[KEY_TICKETS]);
    script_expire(f);
    assert_like(touch(f, "v:1", NULL, NULL), "30000 1 0 0 *");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "v:1 u:3");
}

/* ---- a lock that others hold ---- */

static void the_first_is_told_to_contend_with_a_foreign_holder(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_expire(f);
    script_redis(f, "HSET n java:7 1");
    script_redis(f, "PEXPIRE n 20000");
    assert_like(touch(f, "u:3", "u:2", NULL), "* 2 0 0 * *");
    assert_like(touch(f, "v:1", "u:3", NULL), "* 0 0 0 * *");
    assert_like(script_redis(f, "HGETALL n"), "java:7 1");
}

/* ---- a server that refuses ---- */

static void a_full_server_lets_waiters_touch(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_age(f, "u:2", 5000);
    script_fill_memory(f, true);
    assert_like(touch(f, "u:2", "u:3", NULL), "* 0 0 0 * *");
    script_expire(f);
    assert_like(touch(f, "v:1", NULL, NULL), "* 0 0 0 *");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

static void a_touch_that_may_not_ask_who_lives_says_so(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_expire(f);
    script_deny(f, "pubsub");
    assert_like(touch(f, "u:3", NULL, NULL), "-2 0 0 1 *");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "u:2 v:1 u:3");
    assert_like(touch(f, "u:2", NULL, NULL), "30000 1 0 0 *");
}

/* Every command that the script may call. */
static const char *const commands[] = {"del",     "hdel",  "hget",
                                       "hgetall", "hmget", "hset",
                                       "pexpire", "pttl",  "publish",
                                       "pubsub",  "set",   "get",
                                       "time",    "zadd",  "zrange",
                                       "zrem"};

/* All wait as before, or the next has it; and no key stays for ever. */
static void assert_sound(script_fixture *f, const char *denied)
{
    static const int own[] = {KEY_LOCK, KEY_STATE, KEY_QUEUE, KEY_TICKETS,
                              KEY_SKIPPED};
    bool is_given = strcmp(script_redis(f, "HKEYS n"), "u:2") == 0;

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (number(script_redis(f, "PTTL %s", f->keys[own[i]])) == -1)
            fail_msg("without %s: %s for ever", denied, f->keys[own[i]]);
    }
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                is_given ? "v:1 u:3" : "u:2 v:1 u:3");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]),
                is_given ? "0" : "1");
    assert_like(script_redis(f, "HMGET %s v:1 u:3", f->keys[KEY_TICKETS]),
                "* in:v:1 * in:u:3 ");
}

static void a_touch_without_a_right_costs_nobody_the_place(void **state)
{
    script_fixture *f = *state;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        three_wait(f);
        script_expire(f);
        script_deny(f, commands[i]);
        touch(f, "v:1", "u:3", NULL);
        assert_sound(f, commands[i]);
        touch(f, "u:2", NULL, NULL);
        assert_sound(f, commands[i]);
        script_deny(f, NULL);
        server_flush(f->server);
    }
}

static void keys_of_another_type_are_refused(void **state)
{
    static const int keys[] = {KEY_LOCK, KEY_STATE, KEY_QUEUE, KEY_TICKETS};
    script_fixture *f = *state;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        three_wait(f);
        script_redis(f, "SET %s text", f->keys[keys[i]]);
        assert_like(touch(f, "u:2", "u:3", NULL), "!*");
        assert_like(script_redis(f, "GET %s", f->keys[keys[i]]), "text");
        server_flush(f->server);
    }
}

static void a_layout_of_another_release_is_refused(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "HSET %s v 2", f->keys[KEY_STATE]);
    assert_like(touch(f, "u:2", NULL, NULL), "!LKLAYOUT *");
}

/* ---- how much it costs ---- */

enum { MANY = 500 };

/* The numbers of claims of one client, with script_call()'s arguments first. */
static void touch_many(script_fixture *f, char claims[MANY][16], size_t count)
{
    const char *args[MANY + 4] = {"", f->channel, f->interop};

    for (size_t i = 0; i < count; i++)
        args[3 + i] = claims[i];
    script_run(f, &lk__script_lock_touch, args);
}

static long long calls_of(script_fixture *f, const char *command)
{
    char pattern[64];
    const char *stats = script_redis(f, "INFO commandstats");
    const char *at;

    snprintf(pattern, sizeof(pattern), "cmdstat_%s:calls=", command);
    at = strstr(stats, pattern);
    return at == NULL ? 0 : number(at + strlen(pattern));
}

/* However many waiters it is for, a touch is a handful of commands. */
static void hundreds_of_waiters_are_touched_by_a_few_commands(void **state)
{
    static const char *const called[] = {"hmget", "hset", "zadd", "zrem",
                                         "pexpire"};
    script_fixture *f = *state;
    char claims[MANY][16];

    script_acquire(f, "u:1");
    for (int i = 0; i < MANY; i++) {
        snprintf(claims[i], sizeof(claims[i]), "w:%d", i);
        script_acquire_with(f, claims[i], "30000", "1", "in:w", "", "0");
    }
    script_redis(f, "CONFIG RESETSTAT");
    touch_many(f, claims, MANY);
    for (int i = 0; i < MANY; i++)
        assert_true(script_item(f, FIRST_TICKET + (size_t)i) ==
                    ticket_of(f, claims[i]));
    for (size_t i = 0; i < sizeof(called) / sizeof(called[0]); i++)
        assert_in_range(calls_of(f, called[i]), 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(each_waiter_is_told_its_ticket_in_the_order_asked),
        SCRIPT_TEST(a_claim_that_does_not_wait_has_no_ticket),
        SCRIPT_TEST(a_touch_never_queues),
        SCRIPT_TEST(a_touch_is_a_sign_of_life_of_each),
        SCRIPT_TEST(a_touch_keeps_the_queue_for_a_minute),
        SCRIPT_TEST(a_touch_keeps_all_that_was_asked_for),
        SCRIPT_TEST(those_who_were_skipped_get_their_places_back),
        SCRIPT_TEST(places_are_found_again_when_the_queue_was_deleted),
        SCRIPT_TEST(the_first_is_told_that_its_turn_has_come),
        SCRIPT_TEST(a_free_lock_is_given_to_a_first_that_is_not_among_them),
        SCRIPT_TEST(the_lease_that_the_next_will_have_is_told),
        SCRIPT_TEST(one_behind_dead_ones_is_told_that_its_turn_has_come),
        SCRIPT_TEST(behind_too_many_dead_ones_it_is_told_of_more),
        SCRIPT_TEST(who_waits_no_more_gives_a_free_lock_on),
        SCRIPT_TEST(who_waits_no_more_does_not_stand_for_the_others),
        SCRIPT_TEST(a_waiter_whose_ticket_is_gone_is_dropped),
        SCRIPT_TEST(the_first_is_told_to_contend_with_a_foreign_holder),
        SCRIPT_TEST(a_full_server_lets_waiters_touch),
        SCRIPT_TEST(a_touch_that_may_not_ask_who_lives_says_so),
        SCRIPT_TEST(a_touch_without_a_right_costs_nobody_the_place),
        SCRIPT_TEST(keys_of_another_type_are_refused),
        SCRIPT_TEST(a_layout_of_another_release_is_refused),
        SCRIPT_TEST(hundreds_of_waiters_are_touched_by_a_few_commands),
    };

    return cmocka_run_group_tests_name("lock_touch", tests, script_start_server,
                                       script_stop_server);
}
