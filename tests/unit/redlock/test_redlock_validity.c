/* SPDX-License-Identifier: MIT */

/* The arithmetic of votes: by example, and by trial against a world in which
   every server's clock runs at a rate of its own. */

#include <latchkey/redlock.h>

#include "base/deadline.h"
#include "redlock/validity.h"
#include "support/check.h"

#define MS UINT64_C(1000000)

enum { TRIALS = 200000 };

static lk__tally_vote granted(const char *server, uint64_t until)
{
    lk__tally_vote vote = {.server = server, .until = until};

    return vote;
}

/* ---- by example ----------------------------------------------------------------- */

CHECK_TEST(most_is_more_than_half)
{
    assert_int_equal(lk__quorum(1), 1);
    assert_int_equal(lk__quorum(3), 2);
    assert_int_equal(lk__quorum(5), 3);
    assert_int_equal(lk__quorum(9), 5);
}

CHECK_TEST(it_lasts_as_long_as_most_votes_do)
{
    const lk__tally_vote votes[] = {granted("a", 50), granted("b", 10),
                                    granted("c", 40), granted("d", 30),
                                    granted("e", 20)};

    assert_int_equal(lk__tally_until(5, votes), 30);
    assert_int_equal(lk__tally_until(3, votes), 40);
    assert_int_equal(lk__tally_until(1, votes), 50);
}

CHECK_TEST(a_minority_is_nothing)
{
    const lk__tally_vote votes[] = {granted("a", 50), granted("b", 40),
                                    granted("c", 0), granted("d", 0),
                                    granted("e", 0)};

    assert_int_equal(lk__tally_until(5, votes), 0);
    assert_int_equal(lk__tally_until(3, votes), 40);
}

CHECK_TEST(a_server_counts_once_with_its_latest_time)
{
    const lk__tally_vote votes[] = {granted("a", 50), granted("a", 60),
                                    granted("a", 60)};
    const lk__tally_vote more[] = {granted("a", 50), granted("a", 60),
                                   granted("b", 70)};

    assert_int_equal(lk__tally_until(3, votes), 0);
    assert_int_equal(lk__tally_until(3, more), 60);
}

CHECK_TEST(an_unknown_server_counts_only_alone)
{
    const lk__tally_vote votes[] = {granted("", 50), granted("", 60),
                                    granted("b", 70)};

    assert_int_equal(lk__tally_until(1, votes), 50);
    assert_int_equal(lk__tally_until(3, votes), 0);
}

/* One letter for each vote: granted, busy, pending, slow, absent. */
static lk__tally judge(const char *votes)
{
    static const char *const names[] = {"0", "1", "2", "3", "4",
                                        "5", "6", "7", "8"};
    lk__tally_vote all[LK_REDLOCK_NODES_MAX] = {{0}};
    size_t count = 0;

    for (; votes[count] != '\0'; count++) {
        all[count].server = names[count];
        all[count].until = votes[count] == 'g' ? 100 : 0;
        all[count].is_busy = votes[count] == 'b';
        all[count].is_pending = votes[count] == 'p' || votes[count] == 's';
        all[count].is_slow = votes[count] == 's';
    }
    return lk__tally_judge(count, all);
}

CHECK_TEST(an_attempt_is_decided_as_soon_as_it_can_be)
{
    assert_int_equal(judge("g"), LK__TALLY_WON);
    assert_int_equal(judge("b"), LK__TALLY_BUSY);
    assert_int_equal(judge("a"), LK__TALLY_ABSENT);
    assert_int_equal(judge("p"), LK__TALLY_OPEN);
    assert_int_equal(judge("gggpp"), LK__TALLY_WON);
    assert_int_equal(judge("ggbbp"), LK__TALLY_OPEN);
    assert_int_equal(judge("ggbbb"), LK__TALLY_BUSY);
    assert_int_equal(judge("bbbpp"), LK__TALLY_BUSY);
    assert_int_equal(judge("aaapp"), LK__TALLY_ABSENT);
    assert_int_equal(judge("aabbp"), LK__TALLY_OPEN);
    assert_int_equal(judge("aabbg"), LK__TALLY_BUSY);
    assert_int_equal(judge("aabba"), LK__TALLY_ABSENT);
    assert_int_equal(judge("ppgga"), LK__TALLY_OPEN);
    assert_int_equal(judge("ggaaa"), LK__TALLY_ABSENT);
}

CHECK_TEST(a_slow_server_does_not_put_off_a_refusal)
{
    assert_int_equal(judge("ggbss"), LK__TALLY_BUSY);
    assert_int_equal(judge("gbbss"), LK__TALLY_BUSY);
    assert_int_equal(judge("ggbps"), LK__TALLY_OPEN);
    assert_int_equal(judge("ggbsp"), LK__TALLY_OPEN);
    assert_int_equal(judge("ggass"), LK__TALLY_OPEN);
    assert_int_equal(judge("ggsss"), LK__TALLY_OPEN);
    assert_int_equal(judge("gggss"), LK__TALLY_WON);
    assert_int_equal(judge("s"), LK__TALLY_OPEN);
    assert_int_equal(judge("aaass"), LK__TALLY_ABSENT);
}

/* ---- by trial --------------------------------------------------------------------- */

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % limit;
}

/* A server of which the clock runs at rate/10000 of ours, with a phase. */
typedef struct clock_of {
    uint64_t rate, phase;
} clock_of;

/* The whole milliseconds that it reads when ours says ns. */
static uint64_t reads_ms(const clock_of *clock, uint64_t ns)
{
    return (clock->phase + ns / 10000 * clock->rate) / MS;
}

/*
 * One attempt: requests leave after begun_at, run at the servers some time
 * later, and the answers come later still. Whether, at the very end of what
 * the client believes, most servers keep the key.
 */
static bool is_kept_until_the_end(uint64_t *seed, size_t count, uint64_t slow,
                                  uint64_t fast)
{
    static const char *const names[] = {"0", "1", "2", "3", "4",
                                        "5", "6", "7", "8"};
    uint64_t begun_at = below(seed, 1000000 * MS);
    uint64_t lease_ms = 10 + below(seed, 60000);
    lk__tally_vote votes[LK_REDLOCK_NODES_MAX] = {{0}};
    uint64_t ends_ms[LK_REDLOCK_NODES_MAX] = {0};
    clock_of clocks[LK_REDLOCK_NODES_MAX];
    size_t kept = 0;
    uint64_t until;

    for (size_t i = 0; i < count; i++) {
        uint64_t runs_at = begun_at + below(seed, 20 * MS);

        clocks[i].rate = slow + below(seed, fast - slow + 1);
        clocks[i].phase = below(seed, 1000000 * MS);
        votes[i].server = names[i];
        if (below(seed, 5) == 0)
            continue;
        votes[i].until = lk__deadline_ns(begun_at, lease_ms);
        ends_ms[i] = reads_ms(&clocks[i], runs_at) + lease_ms;
    }
    until = lk__tally_until(count, votes);
    if (until <= begun_at)
        return true;
    /* A key is gone once the server's clock reads more than its end. */
    for (size_t i = 0; i < count; i++)
        kept +=
            ends_ms[i] != 0 && reads_ms(&clocks[i], until - 1) <= ends_ms[i];
    return kept >= lk__quorum(count);
}

static size_t failures(uint64_t slow, uint64_t fast)
{
    uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
    size_t failed = 0;

    for (int i = 0; i < TRIALS; i++)
        failed +=
            !is_kept_until_the_end(&seed, 1 + 2 * (size_t)(i % 5), slow, fast);
    return failed;
}

CHECK_TEST(most_servers_keep_what_is_believed)
{
    assert_int_equal(failures(9900, 10100), 0);
}

/* Else the trial above would prove nothing. */
CHECK_TEST(with_clocks_beyond_the_drift_they_do_not)
{
    assert_true(failures(10202, 10202) > 0);
}
