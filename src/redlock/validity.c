/* SPDX-License-Identifier: MIT */

/* Votes; see validity.h. */

#include "redlock/validity.h"

#include <latchkey/redlock.h>

#include <string.h>

size_t lk__quorum(size_t count)
{
    return count / 2 + 1;
}

static bool is_same_server(const lk__tally_vote *a, const lk__tally_vote *b)
{
    return strcmp(a->server, b->server) == 0;
}

/* Whether a later vote stands for the same server, at least as long. */
static bool is_repeated(size_t count, const lk__tally_vote *votes, size_t i)
{
    for (size_t j = 0; j < count; j++) {
        bool better = votes[j].until > votes[i].until ||
                      (j > i && votes[j].until == votes[i].until);

        if (j != i && votes[j].until != 0 && better &&
            is_same_server(&votes[i], &votes[j]))
            return true;
    }
    return false;
}

/* Sorts the times of those that count, the largest first; how many. */
static size_t times_of(size_t count, const lk__tally_vote *votes,
                       uint64_t times[LK_REDLOCK_NODES_MAX])
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        size_t at = found;

        if (votes[i].until == 0 || is_repeated(count, votes, i) ||
            (count > 1 && votes[i].server[0] == '\0'))
            continue;
        while (at > 0 && times[at - 1] < votes[i].until) {
            times[at] = times[at - 1];
            at--;
        }
        times[at] = votes[i].until;
        found++;
    }
    return found;
}

uint64_t lk__tally_until(size_t count, const lk__tally_vote *votes)
{
    uint64_t times[LK_REDLOCK_NODES_MAX];
    size_t found = times_of(count, votes, times);

    return found < lk__quorum(count) ? 0 : times[lk__quorum(count) - 1];
}

lk__tally lk__tally_judge(size_t count, const lk__tally_vote *votes)
{
    uint64_t times[LK_REDLOCK_NODES_MAX];
    size_t granted = times_of(count, votes, times);
    size_t quorum = lk__quorum(count);
    size_t busy = 0, pending = 0, slow = 0;

    for (size_t i = 0; i < count; i++) {
        busy += votes[i].is_busy;
        pending += votes[i].is_pending;
        slow += votes[i].is_pending && votes[i].is_slow;
    }
    if (granted >= quorum)
        return LK__TALLY_WON;
    if (granted + busy >= quorum && granted + pending - slow < quorum)
        return LK__TALLY_BUSY;
    return granted + busy + pending < quorum ? LK__TALLY_ABSENT
                                             : LK__TALLY_OPEN;
}
