/* SPDX-License-Identifier: MIT */

/* plain_acquire: taking permits and queueing for them, key by key. */

#include "support/check.h"
#include "support/plain_script.h"

/* ---- enough are free ---- */

PLAIN_TEST(permits_are_taken_from_the_counter)
{
    plain_set(f, "a:1", "5");
    assert_like(plain_acquire(f, "b:2", "2"), "1");
    assert_free(f, "3");
    assert_like(plain_try(f, "c:3", "3"), "1");
    assert_free(f, "0");
}

PLAIN_TEST(a_counter_of_redissons_is_taken_from)
{
    script_redis(f, "SET n 1");
    assert_like(plain_acquire(f, "a:1", "1"), "1");
    assert_free(f, "0");
    assert_like(script_redis(f, "GET %s", f->keys[KEY_RECORD]), "2c *");
}

PLAIN_TEST(taking_keeps_the_counters_time)
{
    plain_set_for(f, "a:1", "5", "60000");
    plain_acquire(f, "b:2", "2");
    assert_in_range(script_key_pttl(f, KEY_COUNTER), 50000, 60000);
}

/* Nothing but the counter is left for ever. */
PLAIN_TEST(what_stands_beside_the_counter_ends)
{
    plain_set(f, "a:1", "1");
    plain_acquire(f, "b:2", "1");
    plain_acquire(f, "c:3", "1");
    assert_in_range(script_key_pttl(f, KEY_RECORD), PLAIN_LIFE - 10000,
                    PLAIN_LIFE);
    assert_in_range(script_key_pttl(f, KEY_MEMO), 650000, 660000);
    assert_in_range(script_key_pttl(f, KEY_QUEUE), 650000, 660000);
    assert_like(script_redis(f, "DBSIZE"), "4");
}

/* One counter is to be told from the next for as long as a change may be sent
   again. */
PLAIN_TEST(the_record_lives_as_long_as_the_memo)
{
    plain_life(f, 60000);
    plain_set(f, "a:1", "1");
    assert_in_range(script_key_pttl(f, KEY_RECORD), 650000, 660000);
    script_redis(f, "PEXPIRE %s 1000", f->keys[KEY_RECORD]);
    plain_acquire(f, "b:2", "1");
    assert_in_range(script_key_pttl(f, KEY_RECORD), 650000, 660000);
}

/* As docs/plain_semaphore.md says. */
PLAIN_TEST(a_free_name_takes_little_memory)
{
    plain_set(f, "a:1", "1");
    assert_in_range(script_number(f, "MEMORY USAGE %s", f->keys[KEY_RECORD]), 1,
                    136);
}

PLAIN_TEST(nobody_is_told_that_permits_were_taken)
{
    plain_set(f, "a:1", "5");
    script_listen(f, f->channel);
    plain_acquire(f, "b:2", "2");
    assert_string_equal(script_heard(f), "");
}

/* ---- not enough are free ---- */

PLAIN_TEST(who_cannot_have_all_gets_none_and_queues)
{
    plain_set(f, "a:1", "1");
    assert_like(plain_acquire(f, "b:2", "2"), "2 -1 * 0");
    assert_free(f, "1");
    assert_like(plain_queue(f), "b:2");
    assert_like(script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]),
                "b:2 " PLAIN_NONCE " c 2 30000 - p ");
}

PLAIN_TEST(waiting_makes_the_name_a_counters)
{
    script_redis(f, "SET n 1");
    plain_acquire(f, "b:2", "2");
    assert_like(script_redis(f, "GET %s", f->keys[KEY_RECORD]), "2c *");
}

PLAIN_TEST(a_try_does_not_queue)
{
    plain_set(f, "a:1", "1");
    assert_like(plain_try(f, "b:2", "2"), "3 -1");
    assert_free(f, "1");
    assert_like(plain_queue(f), "");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_QUEUE]), "0");
}

PLAIN_TEST(a_counter_below_zero_has_none)
{
    script_redis(f, "SET n -3");
    assert_like(plain_try(f, "b:2", "1"), "3 -1");
    assert_like(plain_acquire(f, "b:2", "1"), "2 -1 * 0");
    assert_free(f, "-3");
}

PLAIN_TEST(an_unset_counter_is_not_waited_for)
{
    assert_like(plain_acquire(f, "a:1", "1"), "4");
    assert_like(plain_try(f, "a:1", "1"), "4");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

PLAIN_TEST(a_waiter_learns_when_the_counter_ends)
{
    plain_set_for(f, "a:1", "1", "60000");
    plain_acquire(f, "b:2", "2");
    assert_in_range(script_item(f, 1), 50000, 60000);
    plain_try(f, "c:3", "2");
    assert_in_range(script_item(f, 1), 50000, 60000);
}

/* ---- others wait ---- */

PLAIN_TEST(tickets_grow)
{
    long long first;

    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    first = script_item(f, 2);
    plain_acquire(f, "c:3", "1");
    assert_true(script_item(f, 2) > first);
    assert_like(plain_queue(f), "b:2 c:3");
}

/* A large request would starve if small ones passed it. */
PLAIN_TEST(nobody_passes_a_waiter_that_needs_more)
{
    plain_hear(f, "b:2", (char *)NULL);
    plain_set(f, "a:1", "3");
    plain_acquire(f, "b:2", "4");
    assert_like(plain_acquire(f, "c:3", "1"), "2 -1 * 0");
    assert_like(plain_try(f, "d:4", "1"), "3 -1");
    assert_free(f, "3");
    assert_string_equal(script_heard(f), "");
}

/* b:2 was told, and has not come yet. */
PLAIN_TEST(nobody_passes_a_waiter_whose_turn_it_is)
{
    plain_hear(f, "b:2", (char *)NULL);
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    plain_release(f, "c:3", "1");
    assert_like(plain_try(f, "d:4", "1"), "3 -1");
    assert_like(plain_acquire(f, "e:5", "1"), "2 -1 * 0");
    assert_like(plain_queue(f), "b:2 e:5");
    assert_free(f, "1");
}

PLAIN_TEST(a_dead_waiter_is_passed)
{
    plain_set(f, "a:1", "3");
    plain_acquire(f, "b:2", "4");
    assert_like(plain_acquire(f, "c:3", "1"), "1");
    assert_free(f, "2");
    assert_like(plain_queue(f), "");
    assert_like(plain_parked(f), "b:2");
    assert_int_equal(plain_ticket(f, "c:3"), 0);
}

PLAIN_TEST(a_waiter_that_was_not_heard_of_for_long_is_passed)
{
    plain_hear(f, "b:2", (char *)NULL);
    plain_set(f, "a:1", "3");
    plain_acquire(f, "b:2", "4");
    plain_age(f, "b:2", 3001);
    assert_like(plain_acquire(f, "c:3", "1"), "1");
}

PLAIN_TEST(a_try_passes_the_dead_and_leaves_them_in_the_queue)
{
    plain_set(f, "a:1", "3");
    plain_acquire(f, "b:2", "4");
    assert_like(plain_try(f, "c:3", "1"), "1");
    assert_free(f, "2");
    assert_like(plain_queue(f), "b:2");
}

PLAIN_TEST(a_try_behind_more_of_the_dead_than_it_looks_at_is_busy)
{
    plain_set(f, "a:1", "3");
    for (int i = 0; i < 64; i++)
        plain_put_dead(f, i);
    assert_like(plain_try(f, "c:3", "1"), "3 -1");
    plain_drop_dead(f, 0);
    assert_like(plain_try(f, "c:3", "1"), "1");
}

/* The next look, which is to be at once, goes on behind them. */
PLAIN_TEST(an_acquire_behind_more_of_the_dead_than_it_looks_at_looks_again)
{
    plain_set(f, "a:1", "3");
    for (int i = 0; i < 64; i++)
        plain_put_dead(f, i);
    assert_like(plain_acquire(f, "c:3", "1"), "2 0 * 0");
    assert_like(plain_queue(f), "c:3");
    assert_like(plain_recheck(f, "c:3"), "1 *");
}

/* ---- sending it again ---- */

PLAIN_TEST(what_was_taken_is_not_taken_again)
{
    plain_set(f, "a:1", "5");
    plain_acquire(f, "b:2", "2");
    assert_like(plain_acquire(f, "b:2", "2"), "1");
    assert_like(plain_try(f, "b:2", "2"), "1");
    assert_free(f, "3");
}

/* The answer that was lost is given, whatever the counter is by now. */
PLAIN_TEST(what_was_taken_stays_taken_when_the_counter_is_gone)
{
    plain_set(f, "a:1", "5");
    plain_acquire(f, "b:2", "2");
    script_redis(f, "DEL n");
    assert_like(plain_acquire(f, "b:2", "2"), "1");
    assert_free(f, "nil");
}

PLAIN_TEST(a_queued_claim_keeps_its_ticket_when_it_asks_again)
{
    long long ticket;

    plain_hear(f, "b:2", "c:3", (char *)NULL);
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    ticket = script_item(f, 2);
    plain_acquire(f, "c:3", "1");
    assert_like(plain_acquire(f, "b:2", "1"), "2 -1 * 0");
    assert_true(script_item(f, 2) == ticket);
    assert_like(plain_queue(f), "b:2 c:3");
}

PLAIN_TEST(a_queued_claim_that_asks_again_takes_in_its_turn)
{
    plain_hear(f, "b:2", "c:3", (char *)NULL);
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    plain_acquire(f, "c:3", "1");
    script_redis(f, "SET n 1");
    assert_like(plain_acquire(f, "c:3", "1"), "2 -1 * 0");
    assert_like(plain_acquire(f, "b:2", "1"), "1");
    assert_free(f, "0");
    assert_like(plain_queue(f), "c:3");
}

PLAIN_TEST(a_queued_claim_that_asks_again_hears_of_the_end)
{
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "1");
    script_redis(f, "DEL n");
    assert_like(plain_acquire(f, "b:2", "1"), "5");
    assert_like(plain_queue(f), "");
    assert_like(plain_acquire(f, "b:2", "1"), "4");
}

PLAIN_TEST(what_is_settled_is_forgotten)
{
    plain_set(f, "u:1", "5");
    plain_acquire(f, "u:2", "1");
    plain_acquire(f, "v:2", "1");
    plain_acquire_with(f, "u:3", 'q', "", "1", "1 2");
    assert_like(script_redis(f, "HMGET %s u:1 u:2 v:2 u:3", f->keys[KEY_MEMO]),
                "nil nil * 1 0 * 1 0");
    assert_free(f, "2");
}

/* Whatever the answer is. */
PLAIN_TEST(what_is_settled_is_forgotten_by_who_waits_or_is_refused)
{
    plain_set(f, "u:1", "1");
    plain_acquire(f, "u:2", "1");
    plain_acquire_with(f, "u:3", 't', "", "1", "1");
    assert_like(script_redis(f, "HEXISTS %s u:1", f->keys[KEY_MEMO]), "0");
    plain_acquire_with(f, "u:4", 'q', "", "1", "2");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_MEMO]), "0");
    plain_delete(f, "u:5");
    plain_acquire_with(f, "u:6", 'q', "", "1", "5");
    assert_like(script_redis(f, "HEXISTS %s u:5", f->keys[KEY_MEMO]), "0");
}

/* ---- refusing ---- */

PLAIN_TEST(a_claim_that_was_given_up_is_refused)
{
    plain_set(f, "a:1", "5");
    plain_leave(f, "b:2", "60000");
    assert_like(plain_acquire(f, "b:2", "1"), "!LKVOID*");
    assert_like(plain_try(f, "b:2", "1"), "!LKVOID*");
    assert_free(f, "5");
    script_redis(f, "DEL %s", f->keys[KEY_QUEUE]);
    assert_like(plain_acquire(f, "b:2", "1"), "1");
}

PLAIN_TEST(a_full_server_refuses_to_take_and_to_queue)
{
    plain_set(f, "a:1", "1");
    script_fill_memory(f, true);
    assert_like(plain_acquire(f, "b:2", "1"), "!OOM*");
    assert_like(plain_acquire(f, "b:2", "2"), "!OOM*");
    assert_free(f, "1");
    assert_like(plain_queue(f), "");
}

PLAIN_TEST(leased_permits_are_not_touched)
{
    script_redis(f, "SET n 5");
    script_redis(f, "ZADD %s 1 0123456789abcdef", f->keys[KEY_LEASES]);
    assert_like(plain_acquire(f, "a:1", "1"), "!LKTYPE*leased*");
    script_redis(f, "DEL %s", f->keys[KEY_LEASES]);
    plain_put_record(f, 'p');
    assert_like(plain_acquire(f, "a:1", "1"), "!LKTYPE*another*");
    assert_free(f, "5");
}

/* What another primitive left behind says nothing once the name is unset. */
PLAIN_TEST(a_name_that_was_leased_once_may_be_a_counter)
{
    plain_put_record(f, 'p');
    assert_like(plain_acquire(f, "a:1", "1"), "4");
    assert_like(plain_set(f, "b:2", "1"), "1 0 0 0");
    assert_like(plain_acquire(f, "a:1", "1"), "1");
    assert_like(script_redis(f, "GET %s", f->keys[KEY_RECORD]), "2c *");
}

/* An open latch has no key of Redisson's. */
PLAIN_TEST(a_latch_is_not_touched)
{
    plain_put_record(f, 't');
    assert_like(plain_set(f, "a:1", "1"), "!LKTYPE*another*");
    assert_like(plain_acquire(f, "a:1", "1"), "!LKTYPE*another*");
}

PLAIN_TEST(a_key_of_another_type_is_not_touched)
{
    script_redis(f, "HSET n a:1 1");
    assert_like(plain_acquire(f, "a:1", "1"), "!LKTYPE*");
    script_redis(f, "DEL n");
    script_redis(f, "SET n five");
    assert_like(plain_acquire(f, "a:1", "1"), "!LKTYPE*");
    script_redis(f, "SET n 1000000000000000");
    assert_like(plain_acquire(f, "a:1", "1"), "!LKTYPE*");
    script_redis(f, "SET n 1.5");
    assert_like(plain_acquire(f, "a:1", "1"), "!LKTYPE*");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

PLAIN_TEST(another_layout_is_not_touched)
{
    script_redis(f, "SET n 5");
    script_redis(f, "SET %s %s", f->keys[KEY_RECORD], "3c 0 0");
    assert_like(plain_acquire(f, "a:1", "1"), "!LKLAYOUT*");
    assert_free(f, "5");
}

/* Whatever the side keys are, nothing is taken that is not noted. */
PLAIN_TEST(a_side_key_of_another_type_keeps_the_permits)
{
    static const int side[] = {KEY_RECORD, KEY_QUEUE, KEY_MEMO};

    for (size_t i = 0; i < sizeof(side) / sizeof(side[0]); i++) {
        server_flush(f->server);
        script_redis(f, "SET n 5");
        script_redis(f, "SET %s x", f->keys[side[i]]);
        assert_like(plain_acquire(f, "a:1", "1"), "!*");
        assert_free(f, "5");
        assert_like(script_redis(f, "DBSIZE"), "2");
    }
}

PLAIN_TEST(odd_names_work)
{
    static const char *const names[] = {"a{b}c", "sp ace", "\"'\\", "%d"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        script_set_name(f, names[i]);
        assert_like(plain_set(f, "a:1", "1"), "1 0 0 0");
        assert_like(plain_acquire(f, "b:2", "1"), "1");
        assert_like(plain_acquire(f, "c:3", "1"), "2 -1 * 0");
    }
}

CHECK_GROUP(script_start_server, script_stop_server)
