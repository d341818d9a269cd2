/* SPDX-License-Identifier: MIT */
#ifndef LK_REDLOCK_VALIDITY_H
#define LK_REDLOCK_VALIDITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The arithmetic of votes. Pure, so that it can be proven by trial.
 *
 * A vote is a server's token and the time until which the server surely keeps
 * it, by the local clock: lk__deadline_ns() of a time before the request was
 * sent. The whole is valid while most servers keep theirs, that is until the
 * quorum-th largest of these times. Two holders would need two majorities, and
 * these have a server in common.
 */
typedef struct lk__tally_vote {
    const char *server; /* which process; "": unknown */
    uint64_t until;     /* 0: no vote */
    bool is_busy;       /* keeps somebody else's */
    bool is_pending;    /* may still answer */
    bool is_slow;       /* and has let others wait for long already */
} lk__tally_vote;

/* Most of count. */
size_t lk__quorum(size_t count);

/*
 * Until when most of count servers keep the token; 0: they do not. A server
 * counts once, with its latest time, however many votes name it; one that is
 * unknown counts only if there is one alone.
 */
uint64_t lk__tally_until(size_t count, const lk__tally_vote *votes);

typedef enum lk__tally {
    LK__TALLY_OPEN,  /* wait for those that are pending */
    LK__TALLY_WON,   /* most servers keep the token */
    LK__TALLY_BUSY,  /* others keep it from being won */
    LK__TALLY_ABSENT /* too few servers have a say */
} lk__tally;

/*
 * What an attempt has come to. A slow server is not waited for if those that
 * answered are enough to say that others keep it: else each of several that
 * split the votes would keep its part until the slow ones are given up.
 */
lk__tally lk__tally_judge(size_t count, const lk__tally_vote *votes);

#endif /* LK_REDLOCK_VALIDITY_H */
