/* SPDX-License-Identifier: MIT */

/*
 * The memory of changes, by which one that is sent again is not made again,
 * and what a change costs.
 */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/plain_script.h"

/* ---- the memory of changes ---- */

PLAIN_TEST(the_memory_lasts_longer_than_anybody_asks_again)
{
    plain_set(f, "u:1", "7");
    script_redis(f, "PEXPIRE %s 1000", f->keys[KEY_MEMO]);
    plain_release(f, "u:2", "1");
    assert_in_range(script_key_pttl(f, KEY_MEMO), 650000, 660000);
    script_redis(f, "PEXPIRE %s 1000", f->keys[KEY_MEMO]);
    plain_acquire(f, "u:3", "1");
    assert_in_range(script_key_pttl(f, KEY_MEMO), 650000, 660000);
}

PLAIN_TEST(what_is_settled_is_forgotten)
{
    plain_set(f, "u:1", "7");
    plain_release(f, "u:2", "1");
    plain_release(f, "v:2", "1");
    plain_release_with(f, "u:3", "1", "1 2");
    assert_like(script_redis(f, "HMGET %s u:1 u:2 v:2 u:3", f->keys[KEY_MEMO]),
                "nil nil * 1 0 * 1 0");
    assert_free(f, "10");
}

PLAIN_TEST(what_is_settled_is_forgotten_by_who_is_refused)
{
    plain_set(f, "u:1", "2147483647");
    assert_like(plain_release_with(f, "u:2", "1", "1"), "3");
    assert_like(script_redis(f, "HEXISTS %s u:1", f->keys[KEY_MEMO]), "0");
}

/* Nothing is settled that the text does not name in full. */
PLAIN_TEST(an_odd_text_forgets_nothing)
{
    plain_set(f, "u:1", "7");
    plain_release_with(f, "u:2", "1", "# x");
    plain_release_with(f, "odd", "1", "1");
    assert_like(script_redis(f, "HEXISTS %s u:1", f->keys[KEY_MEMO]), "1");
    assert_like(script_redis(f, "HEXISTS %s #", f->keys[KEY_MEMO]), "1");
}

PLAIN_TEST(changes_of_long_ago_are_forgotten)
{
    long long now = script_now_ms(f);

    plain_set(f, "u:1", "7");
    script_redis(f, "HSET %s v:1 %b", f->keys[KEY_MEMO], "1 1 0", (size_t)5);
    script_redis(f, "HSET %s v:2 %s", f->keys[KEY_MEMO], "junk");
    plain_release(f, "u:2", "1");
    assert_like(script_redis(f, "HEXISTS %s v:1", f->keys[KEY_MEMO]), "1");
    script_redis(f, "HSET %s # %b", f->keys[KEY_MEMO], "5 0", (size_t)3);
    plain_release(f, "u:3", "1");
    assert_like(script_redis(f, "HEXISTS %s v:1", f->keys[KEY_MEMO]), "0");
    assert_like(script_redis(f, "HEXISTS %s v:2", f->keys[KEY_MEMO]), "0");
    assert_like(script_redis(f, "HLEN %s", f->keys[KEY_MEMO]), "4");
    assert_in_range(script_number(f, "HGET %s #", f->keys[KEY_MEMO]),
                    now + 50000, now + 120000);
}

/* A client may ask for ten minutes. */
PLAIN_TEST(a_change_of_ten_minutes_ago_is_not_made_again)
{
    char words[48];

    plain_set(f, "u:1", "7");
    snprintf(words, sizeof(words), "%lld 1 0", script_now_ms(f) - 600000);
    script_redis(f, "HSET %s v:1 %b", f->keys[KEY_MEMO], words, strlen(words));
    script_redis(f, "HSET %s # %b", f->keys[KEY_MEMO], "5 0", (size_t)3);
    plain_release(f, "u:2", "1");
    assert_free(f, "8");
    plain_release(f, "v:1", "1");
    assert_free(f, "8");
}

/* A large memory is looked through by one change after the other. */
PLAIN_TEST(a_large_memory_is_looked_through_in_pieces)
{
    char op[24];

    plain_set(f, "u:1", "7");
    for (int i = 0; i < 2000; i++)
        script_redis(f, "HSET %s v:%d %b", f->keys[KEY_MEMO], i, "1 1 0",
                     (size_t)5);
    script_redis(f, "HSET %s # %b", f->keys[KEY_MEMO], "5 0", (size_t)3);
    plain_release(f, "u:2", "1");
    assert_in_range(script_number(f, "HLEN %s", f->keys[KEY_MEMO]), 1500, 2000);
    for (int i = 3; i < 200; i++) {
        snprintf(op, sizeof(op), "u:%d", i);
        plain_release(f, op, "1");
    }
    assert_like(script_redis(f, "HLEN %s", f->keys[KEY_MEMO]), "200");
}

/* ---- cost ---- */

PLAIN_TEST(a_counter_that_is_not_waited_for_costs_few_commands)
{
    plain_set(f, "u:1", "5");
    script_redis(f, "CONFIG RESETSTAT");
    plain_acquire_with(f, "u:2", 'q', "", "1", "1");
    assert_in_range(script_commands_called(f), 1, 13);
    script_redis(f, "CONFIG RESETSTAT");
    plain_release_with(f, "u:3", "1", "2");
    assert_in_range(script_commands_called(f), 1, 12);
}

PLAIN_TEST(a_release_costs_the_same_with_many_waiters)
{
    char claim[16];
    long long cost;

    plain_hear(f, "u:2", (char *)NULL);
    plain_set(f, "u:1", "0");
    plain_acquire(f, "u:2", "1");
    script_redis(f, "CONFIG RESETSTAT");
    plain_release(f, "u:3", "1");
    cost = script_commands_called(f);
    assert_in_range(cost, 1, 16);
    script_redis(f, "SET n 0");
    for (int i = 0; i < 200; i++) {
        snprintf(claim, sizeof(claim), "w:%d", i);
        plain_acquire(f, claim, "1");
    }
    script_redis(f, "CONFIG RESETSTAT");
    plain_release(f, "u:4", "1");
    assert_in_range(script_commands_called(f), 1, cost);
}

CHECK_GROUP(script_start_server, script_stop_server)
