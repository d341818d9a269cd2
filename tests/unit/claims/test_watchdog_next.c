/* SPDX-License-Identifier: MIT */

/* When a hold is looked after next. */

#include "claims/place.h"
#include "claims/watchdog.h"
#include "engine/client.h"
#include "support/check.h"

static const uint64_t second = UINT64_C(1000000000);

static const lk__kind plain = {.word = "plain"};
static const lk__kind tended = {.word = "tended", .tends = true};

/* In s from now. */
static double
next_of(const lk__kind *kind, uint64_t watchdog_ms, uint64_t fixed_ms)
{
    static lk_client client;
    lk__place place = {.client = &client, .kind = kind};
    lk__claim claim = {.place = &place};
    uint64_t now = 1000 * second, at;

    client.settings.watchdog_ms = watchdog_ms;
    claim.watchdog = fixed_ms == 0;
    claim.lease_ms = fixed_ms == 0 ? watchdog_ms : fixed_ms;
    at = lk__watchdog_next(&claim, now);
    return at == LK__NEVER ? -1 : (double)(at - now) / (double)second;
}

static void assert_about(double value, double expected)
{
    assert_true(value > expected * 0.99 && value <= expected);
}

CHECK_TEST(a_hold_is_renewed_when_a_third_of_its_lease_has_passed)
{
    assert_about(next_of(&plain, 30000, 0), 10);
    assert_about(next_of(&plain, 300000, 0), 100);
    assert_about(next_of(&tended, 6000, 0), 2);
}

CHECK_TEST(a_fixed_lease_is_not_looked_after_unless_its_kind_says_so)
{
    assert_true(next_of(&plain, 30000, 600000) < 0);
    assert_about(next_of(&tended, 6000, 600000), 2);
}

/* By then Redisson's renewal of another reader may have cut it to 30 s. */
CHECK_TEST(what_is_tended_is_looked_after_every_ten_seconds)
{
    assert_about(next_of(&tended, 300000, 600000), 10);
    assert_about(next_of(&tended, 300000, 0), 10);
}
