/* SPDX-License-Identifier: MIT */

/* One permit that nobody else wants: the short way of close, which does what the
   long one does, and an acquire. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

enum { N = 4 };

/* Four permits, of which u0:1 has one: from now on the short way is open. */
static void begin(script_fixture *f)
{
    permits_set(f, N);
    permits_acquire(f, "u0:1", 1);
}

static bool was_called(script_fixture *f, const char *command)
{
    char line[64];

    snprintf(line, sizeof(line), "cmdstat_%s:", command);
    return strstr(script_redis(f, "INFO commandstats"), line) != NULL;
}

/* Else the other tests here would be of the long way. */
PERMITS_TEST(the_short_way_is_gone)
{
    int64_t fence;

    begin(f);
    assert_like(permits_acquire(f, "u1:1", 1), "1 * 30000");
    fence = script_item(f, 1);
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(permits_release(f, "u1:1", fence), "1 2 0 0");
    assert_true(was_called(f, "exists"));
    assert_false(was_called(f, "zcard"));
    assert_books(f, N, N - 1);
}

/* ---- acquire ----------------------------------------------------------------- */

PERMITS_TEST(the_fence_is_the_largest_so_far)
{
    lk__record_text record;

    begin(f);
    permits_acquire(f, "u1:1", 1);
    assert_true(permits_record(f, &record));
    assert_true(record.fence == script_item(f, 1));
    permits_put_fence(f, 8000000000000000);
    assert_like(permits_acquire(f, "u2:1", 1), "1 8000000000000001 30000");
    assert_true(permits_fence(f, "u2:1") == 8000000000000001LL);
}

PERMITS_TEST(an_acquire_sent_again_changes_nothing)
{
    long long fence;

    begin(f);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 5000});
    fence = script_item(f, 1);
    assert_like(permits_acquire(f, "u1:1", 1), "1 *");
    assert_true(script_item(f, 1) == fence);
    assert_in_range(script_item(f, 2), 4000, 5000);
    assert_in_range(permits_left(f, "u1:1", 1), 4000, 5000);
    assert_books(f, N, N - 2);
}

PERMITS_TEST(what_is_known_of_the_holder_outlives_its_lease)
{
    begin(f);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 10000000});
    assert_true(script_key_pttl(f, PERMITS_HOLDERS) > 10000000);
    permits_acquire_with(f, "u2:1", 1, (permits_wish){.lease = 1000});
    assert_true(script_key_pttl(f, PERMITS_HOLDERS) > 10000000);
}

PERMITS_TEST(the_record_outlives_the_lease)
{
    begin(f);
    script_redis(f, "PEXPIRE %s 1000", f->keys[PERMITS_RECORD]);
    assert_like(permits_acquire(f, "u1:1", 1), "1 *");
    assert_true(script_key_pttl(f, PERMITS_RECORD) > PERMITS_LIFE_MS);
}

PERMITS_TEST(the_permit_ends_with_the_counter)
{
    begin(f);
    script_redis(f, "PEXPIRE n 5000");
    assert_like(permits_acquire(f, "u1:1", 1), "1 *");
    assert_in_range(script_key_pttl(f, PERMITS_ZSET), 4000, 5000);
}

/* Its holder is told no lease that the permit does not outlast. */
PERMITS_TEST(no_lease_is_told_beyond_the_end_of_the_counter)
{
    begin(f);
    script_redis(f, "PEXPIRE n 5000");
    permits_acquire(f, "u1:1", 1);
    assert_in_range(f->answer->element[2]->integer, 1, 5000);
    permits_acquire(f, "u2:1", 2);
    assert_in_range(f->answer->element[2]->integer, 1, 5000);
    permits_keep(f, "u1:1", permits_fence(f, "u1:1"), 30000);
    assert_int_equal(f->answer->element[0]->integer, 1);
    assert_in_range(f->answer->element[1]->integer, 1, 5000);
}

PERMITS_TEST(a_turn_of_the_others_ends)
{
    long long length = 0;
    char turn[64];

    begin(f);
    snprintf(turn, sizeof(turn), "t,%lld,-1,0,0", script_now_ms(f) - 400);
    permits_put_turn(f, turn);
    assert_like(permits_acquire(f, "u1:1", 1), "1 *");
    assert_int_equal(permits_turn(f, NULL, &length), 'o');
    assert_true(length > 0);
}

PERMITS_TEST(an_acquire_without_a_right_is_sound)
{
    static const char *const commands[] = {"exists", "mget",   "hget", "pttl",
                                           "time",   "zadd",   "set",  "incrby",
                                           "hset",   "pexpire"};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        begin(f);
        script_deny(f, commands[i]);
        permits_acquire(f, "u1:1", 1);
        if (f->answer->type == REDIS_REPLY_ERROR) {
            assert_books(f, N, N - 1);
            assert_like(script_redis(f, "HLEN %s", f->keys[PERMITS_HOLDERS]),
                        "1");
        } else {
            assert_books(f, N, N - 2);
        }
        script_deny(f, NULL);
        server_flush(f->server);
    }
}

PERMITS_TEST(a_full_server_refuses_it)
{
    begin(f);
    script_fill_memory(f, true);
    assert_like(permits_acquire(f, "u1:1", 1), "!OOM*");
    assert_books(f, N, N - 1);
}

/* ---- release ----------------------------------------------------------------- */

PERMITS_TEST(another_fence_changes_nothing)
{
    begin(f);
    assert_like(permits_release(f, "u0:1", 5), "2 3");
    assert_books(f, N, N - 1);
}

PERMITS_TEST(redisson_is_not_told_of_less_than_one)
{
    begin(f);
    permits_acquire(f, "u1:1", 1);
    permits_resize(f, 1);
    script_listen(f, f->channel);
    assert_like(permits_release(f, "u1:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "");
    assert_books(f, 1, 0);
    assert_like(permits_release(f, "u0:1", 0), "1 2 0 0");
    assert_string_equal(script_heard(f), "redisson_sc:{n} 1\n");
}

PERMITS_TEST(a_release_that_may_not_publish_says_so)
{
    begin(f);
    script_deny(f, "publish");
    assert_like(permits_release(f, "u0:1", 0), "1 2 0 1");
    assert_books(f, N, N);
}

/* It has ended, instead, and whoever may takes it back. */
PERMITS_TEST(a_permit_that_cannot_be_paid_back_is_not_lost)
{
    int64_t fence;

    begin(f);
    fence = permits_fence(f, "u0:1");
    script_deny(f, "incrby");
    assert_like(permits_release(f, "u0:1", fence), "!DENIED *");
    assert_books(f, N, N - 1);
    script_deny(f, NULL);
    assert_like(permits_count(f), "1 4 4");
}

PERMITS_TEST(a_full_server_lets_a_release_through)
{
    begin(f);
    script_fill_memory(f, true);
    assert_like(permits_release(f, "u0:1", 0), "1 2 0 0");
    assert_books(f, N, N);
}

CHECK_GROUP(script_start_server, script_stop_server)
