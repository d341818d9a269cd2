/* SPDX-License-Identifier: MIT */

/* Whom sentinels name, and how far that is believed. */

#include <string.h>

#include "base/deadline.h"
#include "server/naming.h"
#include "support/check.h"
#include "world/world.h"

#define MS UINT64_C(1000000)

enum { SENTINELS = 5, START_MS = 1000000 };

static lk__naming namings[SENTINELS];

static uint64_t at(uint64_t ms)
{
    return (START_MS + ms) * MS;
}

static int setup(NO_STATE)
{
    memset(namings, 0, sizeof(namings));
    return 0;
}

/* The sentinel answers at once. */
static void say(size_t i, const char *host, uint64_t ms)
{
    lk__naming_note(&namings[i], host, host[0] != '\0' ? 1 : 0, at(ms), at(ms));
}

static lk__majority judge(size_t count, uint64_t ms)
{
    return lk__naming_judge(namings, count, LK_FAILOVER_SAFE, NULL, at(ms));
}

static void assert_named(size_t count, uint64_t ms, const char *host)
{
    lk__majority majority = judge(count, ms);

    if (host == NULL)
        assert_null(majority.named);
    else if (majority.named == NULL)
        fail_msg("nobody is named");
    else
        assert_string_equal(majority.named->host, host);
}

#define NAMING_TEST(name) CHECK_TEST_OF(name, NO_STATE, setup, NULL)

NAMING_TEST(a_majority_has_to_name_it)
{
    assert_named(3, 0, NULL);
    say(0, "a", 0);
    assert_named(1, 0, "a");
    assert_named(2, 0, NULL);
    assert_named(3, 0, NULL);
    say(1, "b", 0);
    assert_named(3, 0, NULL);
    say(2, "a", 0);
    assert_named(3, 0, "a");
    say(0, "b", 1);
    assert_named(3, 1, "b");
}

NAMING_TEST(another_port_is_another_master)
{
    lk__naming_note(&namings[0], "a", 1, at(0), at(0));
    lk__naming_note(&namings[1], "a", 2, at(0), at(0));
    assert_named(2, 0, NULL);
}

NAMING_TEST(it_is_one_of_all_that_the_sentinels_know)
{
    say(0, "a", 0);
    say(1, "a", 0);
    namings[1].others = 2;
    assert_named(2, 0, "a");
    namings[1].others = 3;
    assert_named(2, 0, NULL);
    assert_int_equal(judge(2, 0).total, 4);
    assert_int_equal(judge(2, 0).needed, 3);
}

NAMING_TEST(nobody_is_no_master)
{
    say(0, "", 0);
    say(1, "", 0);
    assert_named(2, 0, NULL);
    assert_int_equal(judge(2, 0).heard, 2);
}

NAMING_TEST(who_was_not_heard_lately_names_nobody)
{
    say(0, "a", 0);
    say(1, "a", 100);
    assert_named(2, LK__BELIEF_MS - 1, "a");
    assert_named(2, LK__BELIEF_MS, NULL);
    assert_int_equal(judge(2, LK__BELIEF_MS).heard, 1);
}

/* The two that were asked last of three. */
NAMING_TEST(it_is_believed_from_when_a_majority_was_asked)
{
    say(0, "a", 10);
    say(1, "a", 30);
    say(2, "a", 20);
    assert_int_equal(judge(3, 40).until,
                     lk__deadline_ns(at(20), LK__BELIEF_MS));
    say(0, "a", 50);
    assert_int_equal(judge(3, 60).until,
                     lk__deadline_ns(at(30), LK__BELIEF_MS));
    say(1, "b", 70);
    say(2, "a", 80);
    assert_int_equal(judge(3, 90).until,
                     lk__deadline_ns(at(50), LK__BELIEF_MS));
}

/* A majority may have named the one before up to the second of three. */
NAMING_TEST(another_is_believed_up_to_then)
{
    say(0, "a", 10);
    say(1, "a", 30);
    say(2, "a", 20);
    assert_int_equal(judge(3, 40).from, at(20 + LK__BELIEF_MS));
    for (uint64_t ms = 1000; ms <= 5000; ms += 1000) {
        say(0, "a", ms);
        say(1, "a", ms);
        say(2, "a", ms);
    }
    assert_int_equal(judge(3, 5001).from, at(20 + LK__BELIEF_MS));
    say(0, "b", 5100);
    say(2, "b", 5200);
    assert_int_equal(judge(3, 5300).from, at(5200 + LK__BELIEF_MS));
}

NAMING_TEST(an_answer_counts_from_when_it_came)
{
    lk__naming_note(&namings[0], "a", 1, at(0), at(70));
    assert_int_equal(judge(1, 80).until, lk__deadline_ns(at(0), LK__BELIEF_MS));
    assert_int_equal(judge(1, 80).from, at(70 + LK__BELIEF_MS));
}

/* It may have named another meanwhile. */
NAMING_TEST(after_a_gap_it_begins_anew)
{
    say(0, "a", 0);
    say(0, "a", LK__BELIEF_MS);
    assert_int_equal(judge(1, LK__BELIEF_MS).from, at(LK__BELIEF_MS));
    say(0, "a", 2 * LK__BELIEF_MS + 1);
    assert_int_equal(judge(1, 2 * LK__BELIEF_MS + 1).from,
                     at(3 * LK__BELIEF_MS + 1));
}

NAMING_TEST(a_sentinel_that_has_named_it_for_long_is_believed)
{
    say(0, "a", 0);
    lk__naming_aged(&namings[0], at(10), 500);
    assert_int_equal(namings[0].since, at(10) - 500 * MS);
    lk__naming_aged(&namings[0], at(20), 15);
    assert_int_equal(namings[0].since, at(10) - 500 * MS);
    lk__naming_aged(&namings[0], at(20), UINT64_MAX / MS);
    assert_int_equal(namings[0].since, 0);
}

/* Two clients, three sentinels that change one after the other: whatever each
   client asks and when, the one that has changed gives nothing before the other
   has ceased to believe. */
/* The lowest bit of a number says which of two times, and is taken off. */
static uint64_t one_of(unsigned *bits, uint64_t first, uint64_t second)
{
    uint64_t ms = (*bits & 1) != 0 ? second : first;

    *bits >>= 1;
    return ms;
}

static void assert_apart(const lk__naming *old, const lk__naming *new)
{
    for (uint64_t ms = 0; ms < 6000; ms += 100) {
        lk__majority a =
            lk__naming_judge(old, 3, LK_FAILOVER_SAFE, NULL, at(ms));
        lk__majority b =
            lk__naming_judge(new, 3, LK_FAILOVER_SAFE, NULL, at(ms));

        if (a.named != NULL && b.named != NULL && a.named->host[0] == 'a' &&
            b.named->host[0] == 'b')
            assert_true(a.until <= b.from);
    }
}

NAMING_TEST(two_clients_never_believe_two_masters)
{
    for (unsigned trial = 0; trial < 1U << 12; trial++) {
        lk__naming old[3] = {0}, new[3] = {0};
        unsigned bits = trial;

        for (unsigned i = 0; i < 3; i++) {
            uint64_t change = one_of(&bits, 1000, 1700);
            uint64_t first = one_of(&bits, 500, 1400);
            uint64_t second = one_of(&bits, 1050, 1850);
            uint64_t trip = one_of(&bits, 0, 400);

            lk__naming_note(&old[i], first + trip < change ? "a" : "b", 1,
                            at(first), at(first + trip));
            lk__naming_note(&new[i], second < change ? "a" : "b", 1, at(second),
                            at(second + trip));
        }
        assert_apart(old, new);
    }
}

NAMING_TEST(where_speed_matters_most_votes_do)
{
    const lk__naming followed = {.host = "b", .port = 1};
    lk__majority majority;

    say(0, "a", 0);
    majority = lk__naming_judge(namings, 3, LK_FAILOVER_FAST, NULL, at(1));
    assert_string_equal(majority.named->host, "a");
    assert_true(majority.until == LK__NEVER);
    assert_int_equal(majority.from, 0);
    say(1, "b", 0);
    majority = lk__naming_judge(namings, 3, LK_FAILOVER_FAST, &followed, at(1));
    assert_string_equal(majority.named->host, "b");
    say(2, "a", 0);
    majority = lk__naming_judge(namings, 3, LK_FAILOVER_FAST, &followed, at(1));
    assert_string_equal(majority.named->host, "a");
}
