/* SPDX-License-Identifier: MIT */

/*
 * plain_recheck, plain_touch: waiting for permits, and one's turn.
 */

#include "support/check.h"
#include "support/plain_script.h"
#include "support/wait.h"

/* Nothing is free; u:2 waits for 2, u:3 and u:4 for 1 each; all can be
   reached. */
static void three_wait(script_fixture *f)
{
    plain_hear(f, "u:2", "u:3", "u:4", (char *)NULL);
    plain_set(f, "u:1", "0");
    plain_acquire(f, "u:2", "2");
    plain_acquire(f, "u:3", "1");
    plain_acquire(f, "u:4", "1");
}

/* ---- recheck ---- */

static void a_waiter_takes_in_its_turn(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "SET n 2");
    assert_like(plain_recheck(f, "u:2"), "1 0 0 * 0");
    assert_free(f, "0");
    assert_like(plain_queue(f), "u:3 u:4");
    assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[KEY_TICKETS]), "0");
}

static void a_waiter_that_took_is_told_so_again(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "SET n 2");
    plain_recheck(f, "u:2");
    assert_like(plain_recheck(f, "u:2"), "1 0 0 0 0");
    assert_like(plain_acquire(f, "u:2", "2"), "1 0 0 0");
    assert_free(f, "0");
}

static void a_waiter_that_needs_more_waits_on(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "u:2"), "0 -1 * 0 0 0");
    assert_free(f, "1");
}

static void a_waiter_does_not_pass_those_before_it(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "u:3"), "0 -1 * 0 0 0");
    script_redis(f, "SET n 2");
    assert_like(plain_recheck(f, "u:4"), "0 -1 * 0 0 0");
    assert_free(f, "2");
}

/* One release may be enough for several: each that takes tells the next. */
static void who_takes_tells_the_next(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    plain_release(f, "u:5", "4");
    assert_like(script_heard(f), "in:u:2 open plain u:2 * n\n");
    plain_recheck(f, "u:2");
    assert_like(script_heard(f), "in:u:3 open plain u:3 * n\n");
    plain_recheck(f, "u:3");
    assert_like(script_heard(f), "in:u:4 open plain u:4 * n\n");
    assert_like(plain_recheck(f, "u:4"), "1 0 0 * 0");
    assert_free(f, "0");
    assert_string_equal(script_heard(f), "");
}

/* A message that was lost is made up for by whoever looks. */
static void who_looks_in_vain_tells_the_one_whose_turn_it_is(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "SET n 2");
    plain_recheck(f, "u:4");
    assert_like(script_heard(f), "in:u:2 open plain u:2 * n\n");
}

static void the_ticket_of_who_takes_is_the_one_it_had(void **state)
{
    script_fixture *f = *state;
    long long ticket;

    plain_set(f, "u:1", "0");
    plain_acquire(f, "u:2", "1");
    ticket = script_item(f, 2);
    script_redis(f, "SET n 1");
    plain_recheck(f, "u:2");
    assert_true(script_item(f, 3) == ticket);
}

/* It asks, so it lives, whatever its inbox says. */
static void a_waiter_that_cannot_be_reached_takes_in_its_turn(void **state)
{
    script_fixture *f = *state;

    plain_set(f, "u:1", "0");
    plain_acquire(f, "u:2", "1");
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "u:2"), "1 0 0 * 0");
}

static void a_waiter_that_was_passed_comes_back_to_its_place(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_age(f, "u:2", 3001);
    plain_release(f, "u:5", "1");
    assert_like(plain_queue(f), "u:3 u:4");
    assert_like(plain_recheck(f, "u:2"), "0 -1 * 0 0 0");
    assert_like(plain_queue(f), "u:2 u:3 u:4");
    assert_like(script_redis(f, "EXISTS %s", f->keys[KEY_SKIPPED]), "0");
    assert_like(plain_recheck(f, "u:3"), "0 -1 * 0 0 0");
}

static void a_stranger_is_not_queued_by_a_look(void **state)
{
    script_fixture *f = *state;

    plain_set(f, "u:1", "1");
    assert_like(plain_recheck(f, "u:2"), "3");
    assert_like(plain_queue(f), "");
    assert_free(f, "1");
}

static void a_waiter_hears_that_the_counter_is_gone(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "DEL n");
    assert_like(plain_recheck(f, "u:3"), "7");
    assert_like(plain_queue(f), "u:2 u:4");
    assert_like(plain_recheck(f, "u:3"), "3");
    assert_like(script_redis(f, "HEXISTS %s u:3", f->keys[KEY_TICKETS]), "0");
}

static void a_waiter_learns_when_the_counter_ends(void **state)
{
    script_fixture *f = *state;

    plain_set_for(f, "u:1", "0", "60000");
    plain_acquire(f, "u:2", "1");
    plain_recheck(f, "u:2");
    assert_in_range(script_item(f, 1), 50000, 60000);
}

static void a_look_behind_many_dead_asks_to_be_repeated(void **state)
{
    script_fixture *f = *state;

    plain_set(f, "u:1", "0");
    for (int i = 0; i < 70; i++)
        script_redis(f, "ZADD %s %d d:%d", f->keys[KEY_QUEUE], i + 1, i);
    plain_acquire(f, "u:2", "1");
    script_redis(f, "SET n 1");
    assert_like(plain_recheck(f, "u:2"), "0 -1 * 0 1 0");
    assert_like(plain_recheck(f, "u:2"), "1 0 0 * 0");
}

/* The waiter had its place before the server was full. */
static void a_full_server_lets_a_waiter_take(void **state)
{
    script_fixture *f = *state;

    plain_set(f, "u:1", "0");
    plain_acquire(f, "u:2", "1");
    script_redis(f, "SET n 1");
    script_fill_memory(f, true);
    assert_like(plain_recheck(f, "u:2"), "1 0 0 * 0");
    assert_free(f, "0");
}

/* ---- touch ---- */

static void a_touch_says_whose_turn_it_is(void **state)
{
    script_fixture *f = *state;
    long long tickets[2];

    three_wait(f);
    plain_touch(f, "u:3", "u:2");
    tickets[0] = script_item(f, 4);
    tickets[1] = script_item(f, 5);
    assert_true(tickets[0] > tickets[1]);
    script_redis(f, "SET n 2");
    assert_like(plain_touch(f, "u:3", "u:2"), "-1 2 0 0 * *");
    assert_free(f, "2");
    assert_string_equal(script_heard(f), "");
}

static void a_touch_tells_another_clients_waiter(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "SET n 2");
    assert_like(plain_touch(f, "u:3", "u:4"), "-1 0 0 0 * *");
    assert_like(script_heard(f), "in:u:2 open plain u:2 * n\n");
}

static void a_touch_says_that_nobodys_turn_has_come(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "SET n 1");
    assert_like(plain_touch(f, "u:2", "u:3"), "-1 0 0 0 * *");
    assert_string_equal(script_heard(f), "");
}

static void a_touch_passes_the_dead(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_age(f, "u:2", 3001);
    script_redis(f, "SET n 1");
    assert_like(plain_touch(f, "u:4", NULL), "-1 0 0 0 *");
    assert_like(script_heard(f), "in:u:3 open plain u:3 * n\n");
    assert_like(plain_queue(f), "u:3 u:4");
}

static void a_touch_keeps_waiters_alive(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_age(f, "u:2", 3001);
    plain_touch(f, "u:2", NULL);
    script_redis(f, "SET n 2");
    plain_touch(f, "u:4", NULL);
    assert_like(plain_queue(f), "u:2 u:3 u:4");
}

static void a_touch_does_not_queue(void **state)
{
    script_fixture *f = *state;

    plain_set(f, "u:1", "1");
    assert_like(plain_touch(f, "u:2", NULL), "-1 0 0 0 0");
    assert_like(plain_queue(f), "");
}

/* Ticket 0 has each of them look, and hear it. */
static void a_touch_shows_that_the_counter_is_gone(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    script_redis(f, "DEL n");
    assert_like(plain_touch(f, "u:2", "u:3"), "-1 0 0 0 0 0");
    assert_like(plain_recheck(f, "u:2"), "7");
    assert_like(plain_recheck(f, "u:3"), "7");
}

/* ---- beside Redisson's clients ---- */

/* These tell nobody of ours what they give back. */
static void the_next_tries_for_itself_while_redisson_is_there(void **state)
{
    script_fixture *f = *state;

    plain_set(f, "u:1", "0");
    script_listen(f, f->channel);
    assert_like(plain_acquire(f, "u:2", "1"), "0 -1 * 1");
    assert_like(plain_acquire(f, "u:3", "1"), "0 -1 * 0");
    assert_like(plain_recheck(f, "u:2"), "0 -1 * 1 0 0");
    assert_like(plain_recheck(f, "u:3"), "0 -1 * 0 0 0");
    assert_like(plain_touch(f, "u:3", "u:2"), "-1 2 0 0 * *");
    assert_like(plain_touch(f, "u:3", NULL), "-1 0 0 0 *");
    script_deafen(f, f->channel);
    assert_like(plain_recheck(f, "u:2"), "0 -1 * 0 0 0");
}

static void the_next_tries_for_itself_where_redisson_is_said_to_be(void **state)
{
    script_fixture *f = *state;

    f->interop = "1";
    plain_set(f, "u:1", "0");
    assert_like(plain_acquire(f, "u:2", "1"), "0 -1 * 1");
    assert_like(plain_recheck(f, "u:2"), "0 -1 * 1 0 0");
}

/* ---- who was there when the counter was deleted ---- */

static void who_waited_for_a_deleted_counter_hears_it(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    assert_like(plain_delete(f, "u:5"), "1 0 0");
    assert_like(script_heard(f), "in:u:2 open plain u:2 * n\n"
                                 "in:u:3 open plain u:3 * n\n"
                                 "in:u:4 open plain u:4 * n\n");
    assert_like(plain_recheck(f, "u:3"), "7");
    assert_like(plain_recheck(f, "u:2"), "7");
    assert_like(plain_acquire(f, "u:4", "1"), "7");
}

static void a_counter_that_is_set_anew_has_no_old_waiters(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    plain_delete(f, "u:5");
    plain_set(f, "u:6", "9");
    assert_like(plain_touch(f, "u:2", "u:3"), "-1 0 0 0 0 0");
    assert_like(plain_acquire(f, "u:7", "9"), "1 0 0 0");
    assert_like(plain_recheck(f, "u:2"), "7");
    assert_like(plain_acquire(f, "u:4", "1"), "7");
    assert_like(plain_recheck(f, "u:3"), "7");
    assert_free(f, "0");
}

static void a_counter_that_is_set_anew_has_new_waiters(void **state)
{
    script_fixture *f = *state;

    three_wait(f);
    plain_delete(f, "u:5");
    plain_set(f, "u:6", "0");
    plain_hear(f, "u:7", (char *)NULL);
    plain_acquire(f, "u:7", "1");
    assert_true(script_item(f, 2) > 0);
    script_heard(f);
    plain_release(f, "u:8", "1");
    assert_like(script_heard(f), "in:u:7 open plain u:7 * n\n");
    assert_like(plain_recheck(f, "u:7"), "1 0 0 * 0");
}

/* The mark of the gone may be ahead of the server's clock. */
static void a_new_ticket_is_above_those_that_are_gone(void **state)
{
    script_fixture *f = *state;

    plain_set(f, "u:1", "0");
    script_redis(f, "HSET %s gone 5000000000000000", f->keys[KEY_STATE]);
    assert_like(plain_acquire(f, "u:2", "1"), "0 -1 5000000000000001 0");
    assert_like(plain_recheck(f, "u:2"), "0 -1 5000000000000001 0 0 0");
}

/* ---- beside Redisson's that wait ---- */

enum { SLICES_MS = 5000 }; /* far more than any two slices */

/* In every other slice of time; what it answers in both. */
static void while_redissons_listen_every_other_slice_is_theirs(void **state)
{
    script_fixture *f = *state;
    uint64_t end = wait_now_ms() + wait_scaled_ms(SLICES_MS);
    bool was_left = false, was_taken = false;

    plain_hear(f, "u:2", (char *)NULL);
    script_listen(f, f->channel);
    plain_set(f, "u:1", "0");
    while (!(was_left && was_taken) && wait_now_ms() < end) {
        const char *answer;

        plain_acquire(f, "u:2", "1");
        script_redis(f, "SET n 1");
        answer = plain_recheck(f, "u:2");
        if (answer[0] == '0') {
            assert_int_equal(script_item(f, 3), 2);
            assert_in_range(script_item(f, 1), 1, 20);
            was_left = true;
            plain_leave(f, "u:2", "0");
        } else {
            was_taken = true;
        }
        script_redis(f, "DEL %s", f->keys[KEY_MEMO]);
        script_redis(f, "SET n 0");
    }
    assert_true(was_left && was_taken);
}

static void who_comes_then_queues_and_who_tries_takes(void **state)
{
    script_fixture *f = *state;
    uint64_t end = wait_now_ms() + wait_scaled_ms(SLICES_MS);
    bool was_left = false;

    script_listen(f, f->channel);
    plain_set(f, "u:1", "1");
    while (!was_left && wait_now_ms() < end) {
        assert_like(plain_try(f, "u:3", "1"), "1 *");
        script_redis(f, "SET n 1");
        was_left = plain_acquire(f, "u:2", "1")[0] == '0';
        plain_leave(f, "u:2", "0");
        script_redis(f, "DEL %s", f->keys[KEY_MEMO]);
        script_redis(f, "SET n 1");
    }
    assert_true(was_left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN_TEST(a_waiter_takes_in_its_turn),
        PLAIN_TEST(a_waiter_that_took_is_told_so_again),
        PLAIN_TEST(a_waiter_that_needs_more_waits_on),
        PLAIN_TEST(a_waiter_does_not_pass_those_before_it),
        PLAIN_TEST(who_takes_tells_the_next),
        PLAIN_TEST(who_looks_in_vain_tells_the_one_whose_turn_it_is),
        PLAIN_TEST(the_ticket_of_who_takes_is_the_one_it_had),
        PLAIN_TEST(a_waiter_that_cannot_be_reached_takes_in_its_turn),
        PLAIN_TEST(a_waiter_that_was_passed_comes_back_to_its_place),
        PLAIN_TEST(a_stranger_is_not_queued_by_a_look),
        PLAIN_TEST(a_waiter_hears_that_the_counter_is_gone),
        PLAIN_TEST(a_waiter_learns_when_the_counter_ends),
        PLAIN_TEST(a_look_behind_many_dead_asks_to_be_repeated),
        PLAIN_TEST(a_full_server_lets_a_waiter_take),
        PLAIN_TEST(a_touch_says_whose_turn_it_is),
        PLAIN_TEST(a_touch_tells_another_clients_waiter),
        PLAIN_TEST(a_touch_says_that_nobodys_turn_has_come),
        PLAIN_TEST(a_touch_passes_the_dead),
        PLAIN_TEST(a_touch_keeps_waiters_alive),
        PLAIN_TEST(a_touch_does_not_queue),
        PLAIN_TEST(a_touch_shows_that_the_counter_is_gone),
        PLAIN_TEST(the_next_tries_for_itself_while_redisson_is_there),
        PLAIN_TEST(the_next_tries_for_itself_where_redisson_is_said_to_be),
        PLAIN_TEST(who_waited_for_a_deleted_counter_hears_it),
        PLAIN_TEST(a_counter_that_is_set_anew_has_no_old_waiters),
        PLAIN_TEST(a_counter_that_is_set_anew_has_new_waiters),
        PLAIN_TEST(a_new_ticket_is_above_those_that_are_gone),
        PLAIN_TEST(while_redissons_listen_every_other_slice_is_theirs),
        PLAIN_TEST(who_comes_then_queues_and_who_tries_takes),
    };

    return cmocka_run_group_tests_name("plain_wait", tests, script_start_server,
                                       script_stop_server);
}
