/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CHAIN_H
#define LK_TESTS_SUPPORT_CHAIN_H

#include <latchkey/lock.h>

#include <stdatomic.h>
#include <stdbool.h>

/*
 * A crowd in one client that wants one lock again and again, in callbacks
 * alone, and the book in which it writes down what it was granted.
 */

enum { GRANTS_MAX = 200000, CHAIN_LANES = 16 };

/* The fences of all grants of a name, in the order of the grants: whoever
   writes holds the lock. */
typedef struct ledger {
    atomic_int count;
    uint64_t fences[GRANTS_MAX];
    int writers[GRANTS_MAX]; /* the chain's number */
} ledger;

ledger *ledger_new(void);
void ledger_free(ledger *l);

/* By the holder. */
void ledger_write(ledger *l, const lk_hold *hold, int writer);

/* Whether each fence is larger than the one before. */
bool ledger_grows(const ledger *l);

/* How often the lock went from one writer to another. */
int ledger_changes(const ledger *l);

typedef struct chain chain;

/* A wait that begins again when its hold has been released. */
typedef struct chain_lane {
    chain *chain;
    lk_hold *hold;
} chain_lane;

/* Waits of one client on one lock, so many at a time, until so many grants are
   had or it is told to stop. */
struct chain {
    int number; /* set by the test, as the next one */
    bool works; /* each holds it for a trip to the server */
    lk_lock *lock;
    ledger *ledger;
    int left; /* grants to come; only in callbacks */
    atomic_bool stopping;
    atomic_int failed, granted;
    atomic_int ended; /* lanes */
    chain_lane lanes[CHAIN_LANES];
};

void chain_start(chain *c, lk_lock *lock, ledger *l, int grants);

/* Waits for so many more grants, 60 s at most (scaled). */
void chain_wait_granted(chain *c, int more);

/* Lets it come to an end. */
void chain_stop(chain *c);

/* Waits for the end, as long as above; nothing may have failed. */
void chain_wait(chain *c);

#endif /* LK_TESTS_SUPPORT_CHAIN_H */
