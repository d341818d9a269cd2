/* SPDX-License-Identifier: MIT */

/*
 * The lock's scripts where the server is full, or a key is not what it should
 * be. A full server refuses what is new; what is held can still be kept,
 * given up and handed over.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_lock_renew;

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* u:1 holds; u:2 and u:3 wait, and can be reached. */
static void two_wait(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_acquire(f, "u:3");
}

/* ---- a full server ---- */

static void a_full_server_refuses_an_acquire(void **state)
{
    script_fixture *f = *state;

    script_fill_memory(f, true);
    assert_like(script_acquire(f, "u:1"), "!OOM*");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

/*
 * Once a script did a write that a full server allows, the rest gets through:
 * so what is refused must come first.
 */
static void a_full_server_refuses_to_queue_a_claim(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "ZADD %s 1 gone", f->keys[KEY_SKIPPED]);
    script_fill_memory(f, true);
    assert_like(script_acquire(f, "u:2"), "!OOM*");
    assert_like(script_redis(f, "EXISTS %s %s", f->keys[KEY_QUEUE],
                             f->keys[KEY_TICKETS]),
                "0");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_SKIPPED]), "1");
}

static void a_full_server_lets_a_release_hand_over(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_redis(f, "SET %s 5", f->keys[KEY_TOKEN]);
    script_fill_memory(f, true);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_release(f, "u:2", NULL), "1 0 0");
    assert_like(script_release(f, "u:3", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

static void a_full_server_lets_a_release_be_open(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    f->interop = "1";
    script_fill_memory(f, true);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_true(number(script_redis(f, "HGET %s open", f->keys[KEY_STATE])) >
                0);
}

static void a_full_server_lets_dead_waiters_be_skipped(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_deafen(f, "in:u:2");
    script_fill_memory(f, true);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_SKIPPED]), "1");
}

static void a_full_server_lets_a_free_lock_be_passed_on(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_expire(f);
    script_fill_memory(f, true);
    assert_like(script_pass(f), "0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

static void a_full_server_lets_a_waiter_look(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_age(f, "u:2", 5000);
    script_fill_memory(f, true);
    assert_like(script_recheck(f, "u:2"), "0 * * 0 0 0");
    script_expire(f);
    assert_like(script_recheck(f, "u:2"), "1 * 30000 * *");
}

static void a_full_server_lets_a_claim_end(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_fill_memory(f, true);
    assert_like(script_leave(f, "u:1", "60000"), "2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
    assert_like(script_leave(f, "u:3", "60000"), "1 0 0");
    assert_like(script_leave(f, "u:4", "60000"), "0 0 0");
    assert_like(script_redis(f, "ZCARD %s", f->keys[KEY_VOID]), "3");
}

static void a_full_server_lets_a_hold_be_kept(void **state)
{
    script_fixture *f = *state;
    const char *const keys[] = {"n", "latchkey:state:{n}"};
    char fence[24];
    const char *const args[] = {"u:1", fence, "80000", NULL};

    script_acquire(f, "u:1");
    snprintf(fence, sizeof(fence), "%lld", script_item(f, 1));
    script_redis(f, "HDEL %s kept", f->keys[KEY_STATE]);
    script_fill_memory(f, true);
    assert_like(script_confirm(f, "u:1", NULL, "60000"), "1 60000 0 *");
    assert_string_equal(script_run_keys(f, &lk__script_lock_renew, keys, 2,
                                        args),
                        "");
    assert_in_range(number(script_redis(f, "PTTL n")), 79000, 80000);
}

static void a_full_server_lets_force_through(void **state)
{
    script_fixture *f = *state;

    two_wait(f);
    script_fill_memory(f, true);
    assert_like(script_force(f), "1 0 0");
    assert_like(script_redis(f, "HGETALL n"), "u:2 1");
}

/* ---- keys that are not ours ---- */

static void assert_all_refuse(script_fixture *f, const char *error)
{
    assert_like(script_acquire(f, "u:1"), error);
    assert_like(script_recheck(f, "u:1"), error);
    assert_like(script_release(f, "u:1", "1"), error);
    assert_like(script_leave(f, "u:1", "60000"), error);
    assert_like(script_confirm(f, "u:1", "1", "30000"), error);
    assert_like(script_force(f), error);
    assert_like(script_pass(f), error);
    assert_like(script_info(f), error);
}

static void a_name_that_is_no_lock_is_refused(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET n 5");
    assert_all_refuse(f, "!LKTYPE*");
    assert_like(script_redis(f, "GET n"), "5");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* Redisson's RMap under the same name: it is no holder whose end could come. */
static void a_map_is_refused(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET n key value");
    assert_all_refuse(f, "!LKTYPE*");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n a:1 value");
    assert_all_refuse(f, "!LKTYPE*");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n key 1");
    assert_all_refuse(f, "!LKTYPE*");
    assert_like(script_redis(f, "HGETALL n"), "key 1");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

static void a_read_write_lock_is_refused(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET n mode read u:1 1");
    assert_all_refuse(f, "!LKTYPE*");
    assert_like(script_redis(f, "HGETALL n"), "mode read u:1 1");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* A later release may keep other things in the same keys. */
static void another_layout_is_refused(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET %s v 2", f->keys[KEY_STATE]);
    assert_all_refuse(f, "!LKLAYOUT*");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

static void a_state_that_is_no_hash_is_refused(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET %s x", f->keys[KEY_STATE]);
    assert_all_refuse(f, "!LKTYPE*");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* Types are looked at before the first write: nothing is done by halves. */
static void
a_queue_of_another_type_stops_a_release_before_it_begins(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "SET %s x", f->keys[KEY_QUEUE]);
    assert_like(script_release(f, "u:1", NULL), "!WRONGTYPE*");
    assert_like(script_leave(f, "u:1", "60000"), "!WRONGTYPE*");
    assert_like(script_force(f), "!WRONGTYPE*");
    assert_like(script_acquire(f, "u:2"), "!WRONGTYPE*");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_like(script_redis(f, "DBSIZE"), "3");
}

static void tickets_of_another_type_stop_a_script_before_it_begins(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_redis(f, "SET %s x", f->keys[KEY_TICKETS]);
    assert_like(script_release(f, "u:1", NULL), "!WRONGTYPE*");
    assert_like(script_leave(f, "u:2", "60000"), "!WRONGTYPE*");
    assert_like(script_recheck(f, "u:2"), "!WRONGTYPE*");
    assert_like(script_acquire(f, "u:3"), "!WRONGTYPE*");
    assert_like(script_redis(f, "HGETALL n"), "u:1 1");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]), "u:2");
}

static void a_token_that_is_no_counter_leaves_the_lock_free(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET %s a b", f->keys[KEY_TOKEN]);
    assert_like(script_acquire(f, "u:1"), "!WRONGTYPE*");
    assert_like(script_redis(f, "EXISTS n"), "0");
    script_redis(f, "SET %s word", f->keys[KEY_TOKEN]);
    assert_like(script_acquire(f, "u:1"), "!LKTYPE*");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

static void a_fair_queue_of_another_type_does_not_stop_a_release(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "SET %s x", f->keys[KEY_FAIRQ]);
    assert_like(script_release(f, "u:1", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- cost ---- */

/* How many commands the scripts called since the statistics were reset. */
static long long commands_called(script_fixture *f)
{
    const char *line = script_redis(f, "INFO commandstats");
    long long sum = 0;

    while ((line = strstr(line, "cmdstat_")) != NULL) {
        const char *calls = strstr(line, ":calls=");

        assert_non_null(calls);
        if (strncmp(line, "cmdstat_eval:", 13) != 0 &&
            strncmp(line, "cmdstat_config", 14) != 0)
            sum += number(calls + strlen(":calls="));
        line = calls;
    }
    return sum;
}

static void a_lock_that_nobody_else_wants_costs_few_commands(void **state)
{
    script_fixture *f = *state;
    char fence[24];

    script_acquire(f, "u:1");
    script_release(f, "u:1", NULL);
    script_redis(f, "CONFIG RESETSTAT");
    script_acquire(f, "u:2");
    assert_in_range(commands_called(f), 1, 8);
    snprintf(fence, sizeof(fence), "%lld", script_item(f, 1));
    script_redis(f, "CONFIG RESETSTAT");
    script_release(f, "u:2", fence);
    assert_in_range(commands_called(f), 1, 6);
}

/* A release costs the same however many wait. */
static void a_hand_over_costs_the_same_with_many_waiters(void **state)
{
    script_fixture *f = *state;
    char claim[16];
    char fence[24];
    long long cost;

    two_wait(f);
    snprintf(fence, sizeof(fence), "%s",
             script_redis(f, "HGET %s fence", f->keys[KEY_STATE]));
    script_redis(f, "CONFIG RESETSTAT");
    script_release(f, "u:1", fence);
    cost = commands_called(f);
    assert_in_range(cost, 1, 19);
    for (int i = 0; i < 200; i++) {
        snprintf(claim, sizeof(claim), "w:%d", i);
        script_acquire(f, claim);
    }
    script_recheck(f, "u:3"); /* it was seen lately, however slow we are */
    snprintf(fence, sizeof(fence), "%s",
             script_redis(f, "HGET %s fence", f->keys[KEY_STATE]));
    script_redis(f, "CONFIG RESETSTAT");
    script_release(f, "u:2", fence);
    assert_like(script_redis(f, "HGETALL n"), "u:3 1");
    assert_in_range(commands_called(f), 1, cost + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_full_server_refuses_an_acquire),
        SCRIPT_TEST(a_full_server_refuses_to_queue_a_claim),
        SCRIPT_TEST(a_full_server_lets_a_release_hand_over),
        SCRIPT_TEST(a_full_server_lets_a_release_be_open),
        SCRIPT_TEST(a_full_server_lets_dead_waiters_be_skipped),
        SCRIPT_TEST(a_full_server_lets_a_free_lock_be_passed_on),
        SCRIPT_TEST(a_full_server_lets_a_waiter_look),
        SCRIPT_TEST(a_full_server_lets_a_claim_end),
        SCRIPT_TEST(a_full_server_lets_a_hold_be_kept),
        SCRIPT_TEST(a_full_server_lets_force_through),
        SCRIPT_TEST(a_name_that_is_no_lock_is_refused),
        SCRIPT_TEST(a_map_is_refused),
        SCRIPT_TEST(a_read_write_lock_is_refused),
        SCRIPT_TEST(another_layout_is_refused),
        SCRIPT_TEST(a_state_that_is_no_hash_is_refused),
        SCRIPT_TEST(a_queue_of_another_type_stops_a_release_before_it_begins),
        SCRIPT_TEST(tickets_of_another_type_stop_a_script_before_it_begins),
        SCRIPT_TEST(a_token_that_is_no_counter_leaves_the_lock_free),
        SCRIPT_TEST(a_fair_queue_of_another_type_does_not_stop_a_release),
        SCRIPT_TEST(a_lock_that_nobody_else_wants_costs_few_commands),
        SCRIPT_TEST(a_hand_over_costs_the_same_with_many_waiters),
    };

    return cmocka_run_group_tests_name("lock_server", tests,
                                       script_start_server, script_stop_server);
}
