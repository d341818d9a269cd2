/* SPDX-License-Identifier: MIT */

/*
 * How long a hold may be believed. The property is tried with random clocks:
 * whenever a hold is believed, the key is there.
 */

#include <latchkey/client.h>

#include <stdbool.h>

#include "base/deadline.h"
#include "base/names.h"
#include "support/check.h"
#include "world/world.h"

#define MS UINT64_C(1000000)

CHECK_TEST(the_drift_is_a_hundredth_and_2_ms)
{
    assert_int_equal(lk__drift_ns(30000), 300 * MS + 2 * MS);
    assert_int_equal(lk__drift_ns(1), 10000 + 2 * MS);
    assert_int_equal(lk__drift_ns(0), 2 * MS);
}

CHECK_TEST(the_deadline_counts_from_before_the_send)
{
    assert_int_equal(lk__deadline_ns(5 * MS, 30000),
                     5 * MS + (30000 - 302) * MS);
}

CHECK_TEST(a_lease_within_its_drift_is_never_valid)
{
    assert_int_equal(lk__deadline_ns(77, 0), 77);
    assert_int_equal(lk__deadline_ns(77, 1), 77);
    assert_int_equal(lk__deadline_ns(77, 2), 77);
    assert_int_equal(lk__deadline_ns(77, 3), 77 + MS - 30000);
}

CHECK_TEST(the_longest_lease_is_far_from_the_end_of_time)
{
    assert_true(lk__deadline_ns(0, LK__TIME_MAX_MS) < UINT64_MAX / 2);
}

CHECK_TEST(the_end_of_time_is_not_passed)
{
    assert_int_equal(lk__deadline_ns(UINT64_MAX - 10, 30000), LK__NEVER);
    assert_true(lk__deadline_ns(0, UINT64_MAX) > UINT64_MAX / 100 * 98);
    assert_true(lk__drift_ns(UINT64_MAX) > UINT64_MAX / 100);
}

CHECK_TEST(a_wait_ends_when_it_says)
{
    assert_int_equal(lk__wait_until_ns(7, 3), 7 + 3 * MS);
    assert_int_equal(lk__wait_until_ns(7, 0), 7);
    assert_int_equal(lk__wait_until_ns(7, LK_FOREVER), LK__NEVER);
    assert_int_equal(lk__wait_until_ns(7, INT64_MAX), LK__NEVER);
}

CHECK_TEST(what_remains_is_rounded_down)
{
    assert_int_equal(lk__remaining_ms(0, 3 * MS), 3);
    assert_int_equal(lk__remaining_ms(1, 3 * MS), 2);
    assert_int_equal(lk__remaining_ms(3 * MS, 3 * MS), 0);
    assert_int_equal(lk__remaining_ms(4 * MS, 3 * MS), 0);
}

/* ---- the property ------------------------------------------------------- */

static uint64_t random_state;

/* splitmix64 */
static uint64_t random_next(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t random_below(uint64_t limit)
{
    return random_next() % limit;
}

/* One acquisition. Local times in ns from the send. */
typedef struct attempt {
    uint64_t lease_ms;
    uint64_t executed; /* when the server ran it */
    uint64_t replied;
    int64_t rate_ppm;   /* how much faster the server's clock runs */
    uint64_t server_us; /* the server's clock at the send */
    uint64_t sent;      /* the local clock at the send */
} attempt;

/* The server's clock, in whole milliseconds, some time after the send. */
static uint64_t server_ms(const attempt *one, uint64_t after)
{
    /* Split, so that nothing overflows: after is below 2^44. */
    uint64_t rate = (uint64_t)(1000000 + one->rate_ppm);
    uint64_t elapsed =
        after / 1000 * rate / 1000 + after % 1000 * rate / 1000000; /* ns */

    return (one->server_us + elapsed / 1000) / 1000;
}

/* Draws an attempt: leases of 1 ms to 1 h, quick replies and late ones. */
static attempt attempt_draw(int64_t rate_ppm)
{
    attempt one = {.rate_ppm = rate_ppm};

    one.lease_ms = 1 + random_below(UINT64_C(1) << (1 + random_below(22)));
    one.executed = random_below(UINT64_C(1) << (1 + random_below(32)));
    one.replied =
        one.executed + random_below(UINT64_C(1) << (1 + random_below(32)));
    one.server_us = UINT64_C(1700000000000000) + random_below(1000000000);
    one.sent = random_below(UINT64_C(1) << 50);
    return one;
}

/*
 * Tells whether the hold is believed at a time when the key is gone. Redis
 * keeps a key while its clock, in ms, is not above the end. The key ends once,
 * so the last moment of belief is the one to look at.
 */
static bool is_believed_too_long(const attempt *one, bool *ret_believed)
{
    uint64_t deadline = lk__deadline_ns(one->sent, one->lease_ms);
    uint64_t end = server_ms(one, one->executed) + one->lease_ms;

    *ret_believed = one->sent + one->replied < deadline;
    return *ret_believed && server_ms(one, deadline - 1 - one->sent) > end;
}

enum { TRIALS = 2000000, SPAN_PPM = 9900 };

CHECK_TEST(the_key_is_there_whenever_the_hold_is_believed)
{
    size_t believed = 0;

    random_state = 1;
    for (size_t i = 0; i < TRIALS; i++) {
        attempt one =
            attempt_draw((int64_t)random_below(2 * SPAN_PPM + 1) - SPAN_PPM);
        bool is_believed;

        assert_false(is_believed_too_long(&one, &is_believed));
        believed += is_believed;
    }
    assert_true(believed > TRIALS / 4);
}

CHECK_TEST(a_server_at_the_limit_of_the_drift_is_not_too_fast)
{
    random_state = 2;
    for (size_t i = 0; i < TRIALS / 10; i++) {
        attempt one = attempt_draw(SPAN_PPM);
        bool is_believed;

        assert_false(is_believed_too_long(&one, &is_believed));
    }
}

/* The proof that the property can fail. */
CHECK_TEST(a_server_faster_than_the_drift_is_caught)
{
    size_t violations = 0;

    random_state = 3;
    for (size_t i = 0; i < TRIALS / 10; i++) {
        attempt one = attempt_draw(15000);
        bool is_believed;

        violations += is_believed_too_long(&one, &is_believed);
    }
    assert_true(violations > 0);
}
