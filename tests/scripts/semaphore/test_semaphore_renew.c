/* SPDX-License-Identifier: MIT */

/* keep and renew: how long permits are kept. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

/* ---- confirm ---- */

PERMITS_TEST(a_confirm_gives_all_permits_their_lease)
{
    permits_set(f, 4);
    permits_acquire_with(f, "u1:1", 2, (permits_wish){.lease = 3000});
    assert_like(permits_keep(f, "u1:1", 0, 30000), "1 30000 0");
    assert_in_range(permits_left(f, "u1:1", 1), 29000, 30000);
    assert_in_range(permits_left(f, "u1:1", 2), 29000, 30000);
}

PERMITS_TEST(a_confirm_only_lengthens)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    assert_like(permits_keep(f, "u1:1", 0, 1000), "1 * 0");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_in_range(permits_left(f, "u1:1", 2), 29000, 30000);
}

/* Redisson's updateLeaseTime() on one of ours. */
PERMITS_TEST(a_permit_that_lasts_longer_is_left_alone)
{
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    script_redis(f, "EVAL %s 1 %s",
                 "redis.call('ZADD', KEYS[1], '922337203685477',"
                 " redis.call('ZRANGE', KEYS[1], 0, 0)[1])",
                 f->keys[PERMITS_ZSET]);
    permits_keep(f, "u1:1", 0, 30000);
    assert_like(permits_renew(f, "u1:1", 30000), "1 ()");
    assert_like(script_redis(f, "ZCOUNT %s 922337203685477 922337203685477",
                             f->keys[PERMITS_ZSET]),
                "1");
}

PERMITS_TEST(a_confirm_tells_whether_anybody_waits)
{
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    assert_like(permits_keep(f, "u1:1", 0, 30000), "1 * 0");
    script_listen(f, f->channel);
    assert_like(permits_keep(f, "u1:1", 0, 30000), "1 * 1");
    script_deafen(f, f->channel);
    permits_acquire(f, "u2:1", 1);
    assert_like(permits_keep(f, "u1:1", 0, 30000), "1 * 1");
}

PERMITS_TEST(a_confirm_of_what_is_not_held_changes_nothing)
{
    permits_set(f, 1);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 3000});
    assert_like(permits_keep(f, "u2:1", 5, 30000), "2 0");
    assert_like(permits_keep(f, "u1:1", 5, 30000), "2 3");
    assert_in_range(permits_left(f, "u1:1", 1), 2000, 3000);
    permits_sweep_one(f, "u1:1", 1);
    assert_like(permits_keep(f, "u1:1", 0, 30000), "2 0");
    assert_int_equal(permits_left(f, "u1:1", 1), 0);
}

PERMITS_TEST(a_confirm_does_not_shorten_the_record_of_a_long_lease)
{
    permits_set(f, 2);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 90000000});
    permits_acquire(f, "u2:1", 1);
    permits_keep(f, "u2:1", 0, 40000);
    assert_true(script_key_pttl(f, PERMITS_HOLDERS) > 90000000);
}

static int64_t recorded_fence(script_fixture *f)
{
    lk__record_text record;

    assert_true(permits_record(f, &record));
    return record.fence;
}

/* The next grant's fence is to be above all that somebody has. */
PERMITS_TEST(a_confirm_puts_back_a_record_that_was_lost)
{
    int64_t last;

    permits_set(f, 4);
    permits_acquire(f, "u1:1", 1);
    permits_put_fence(f, 4000000000000000);
    permits_acquire(f, "u2:1", 2);
    last = permits_fence(f, "u2:1");
    script_redis(f, "DEL %s", f->keys[PERMITS_RECORD]);
    assert_like(permits_keep(f, "u1:1", 0, 30000), "1 30000 0");
    assert_true(recorded_fence(f) == last);
    permits_acquire(f, "u3:1", 1);
    assert_true(script_item(f, 1) > last);
}

/* N is on record again as well: what is deleted then comes back. */
PERMITS_TEST(a_record_that_was_put_back_knows_the_number)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    script_redis(f, "DEL %s", f->keys[PERMITS_RECORD]);
    permits_keep(f, "u1:1", 0, 30000);
    script_redis(f, "DEL %s", f->keys[PERMITS_ZSET]);
    assert_like(permits_keep(f, "u1:1", 0, 30000), "1 * 0");
    assert_books(f, 2, 0);
}

/* ---- renew ---- */

PERMITS_TEST(a_renewal_lengthens_and_names_nobody)
{
    permits_set(f, 4);
    permits_acquire_with(f, "u1:1", 3, (permits_wish){.lease = 3000});
    assert_like(permits_renew(f, "u1:1", 60000), "1 ()");
    assert_in_range(permits_left(f, "u1:1", 1), 59000, 60000);
    assert_in_range(permits_left(f, "u1:1", 3), 59000, 60000);
    assert_like(permits_renew(f, "u1:1", 1000), "1 ()");
    assert_in_range(permits_left(f, "u1:1", 3), 59000, 60000);
    assert_books(f, 4, 1);
}

/* What is known of the holder must not end before it. */
PERMITS_TEST(what_is_known_of_the_holder_is_kept)
{
    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    permits_keep(f, "u1:1", 0, 9000000);
    assert_true(script_key_pttl(f, PERMITS_HOLDERS) > 9000000);
    assert_true(script_key_pttl(f, PERMITS_RECORD) > 9000000);
}

PERMITS_TEST(the_lost_are_named)
{
    permits_set(f, 4);
    permits_acquire(f, "u1:1", 2);
    assert_like(permits_renew(f, "u2:1", 30000), "1 (1 5)");
    permits_sweep_one(f, "u1:1", 2);
    assert_like(permits_renew(f, "u1:1", 30000), "1 (1 5)");
    assert_in_range(permits_left(f, "u1:1", 1), 29000, 30000);
    assert_books(f, 4, 3);
}

PERMITS_TEST(many_names_are_renewed_at_once)
{
    const char *const keys[] = {"n:{n}:timeout", "m{n}:timeout", "{n}:timeout"};
    const char *const args[] = {"30000",  "0",      "1 u9:1",
                                "1 u2:1", "1 u1:1", NULL};

    permits_set(f, 1);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 3000});
    script_set_name(f, "m{n}");
    permits_set(f, 1);
    permits_acquire_with(f, "u2:1", 1, (permits_wish){.lease = 3000});
    assert_like(script_run_keys(f, &lk__semaphore_renew_script, keys, 3, args),
                "1 (1 5)");
    assert_in_range(permits_left(f, "u2:1", 1), 29000, 30000);
    script_set_name(f, "n");
    assert_in_range(permits_left(f, "u1:1", 1), 29000, 30000);
}

/* Asked as a whole it is told what is left. */
PERMITS_TEST(a_renewal_does_not_tell_a_lease_beyond_the_counters_end)
{
    permits_set(f, 2);
    script_redis(f, "PEXPIRE n 60000");
    permits_acquire(f, "u1:1", 2);
    assert_like(permits_renew(f, "u1:1", 30000), "1 ()");
    assert_like(permits_renew(f, "u1:1", 90000), "1 (1 5)");
    permits_keep(f, "u1:1", 0, 90000);
    assert_in_range(script_item(f, 1), 50000, 60000);
}

/* Whoever looks next puts it back. */
PERMITS_TEST(a_zset_that_ends_alone_cuts_no_lease)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    script_redis(f, "PEXPIRE {n}:timeout 60000");
    assert_like(permits_renew(f, "u1:1", 90000), "1 (1 5)");
    assert_like(permits_keep(f, "u1:1", 0, 90000), "1 90000 *");
}

PERMITS_TEST(one_name_of_another_type_keeps_no_other_from_being_renewed)
{
    const char *const keys[] = {"text:{n}", "{n}:timeout"};
    const char *const args[] = {"30000", "0", "1 u1:1", "1 u1:1", NULL};

    permits_set(f, 1);
    script_redis(f, "SET text:{n} x");
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 3000});
    assert_like(script_run_keys(f, &lk__semaphore_renew_script, keys, 2, args),
                "1 (1 5)");
    assert_in_range(permits_left(f, "u1:1", 1), 29000, 30000);
}

PERMITS_TEST(a_hold_that_ended_and_was_not_taken_back_is_renewed)
{
    permits_set(f, 2);
    permits_acquire(f, "u1:1", 2);
    permits_expire(f, 5);
    assert_like(permits_renew(f, "u1:1", 30000), "1 ()");
    assert_in_range(permits_left(f, "u1:1", 2), 29000, 30000);
}

CHECK_GROUP(script_start_server, script_stop_server)
