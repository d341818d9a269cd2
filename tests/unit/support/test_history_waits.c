/* SPDX-License-Identifier: MIT */

/* Waits that end too early, too late, out of turn, or never, are found. */

#include <latchkey/status.h>

#include "support/check.h"
#include "support/story.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const story turns[] = {
    {"a later one is served first",
     "overtaken",
     HISTORY_FAIRLOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500), WANTS(3, 2, 2, 100),
      QUEUES(5, 2, 2), WANTS(6, 3, 3, 100), LEAVES(7, 1, 4, 1),
      HAS_LEFT(8, 1, 4), GETS(9, 3, 3, 2, 500), LEAVES(10, 3, 5, 3),
      HAS_LEFT(11, 3, 5), GETS(12, 2, 2, 3, 500)}},
    {"a later one is served, and the other never",
     "overtaken",
     HISTORY_FAIRLOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500), WANTS(3, 2, 2, 80),
      QUEUES(5, 2, 2), WANTS(6, 3, 3, 100), LEAVES(7, 1, 4, 1),
      HAS_LEFT(8, 1, 4), GETS(9, 3, 3, 2, 500),
      MISSES(80, 2, 2, LK_ETIMEDOUT)}},
    {"a later one is served before a short lease can have been over",
     "overtaken",
     HISTORY_FAIRLOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500),
      WANTS_AS(3, 2, 2, 80, .lease_ms = 4), QUEUES(4, 2, 2),
      WANTS(5, 3, 3, 100), LEAVES(5, 1, 4, 1), HAS_LEFT(6, 1, 4),
      GETS(6, 3, 3, 2, 500), MISSES(80, 2, 2, LK_ETIMEDOUT)}},
    {"a later one is served, whose own lease is long",
     "overtaken",
     HISTORY_FAIRLOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500),
      WANTS_AS(3, 2, 2, 80, .lease_ms = 5), QUEUES(4, 2, 2),
      WANTS(5, 3, 3, 100), LEAVES(6, 1, 4, 1), HAS_LEFT(7, 1, 4),
      GETS(11, 3, 3, 2, 500), MISSES(80, 2, 2, LK_ETIMEDOUT)}},
    {"a small request passes a large one",
     "overtaken",
     HISTORY_SEMAPHORE,
     1000,
     {WANTS_AS(1, 1, 1, 900, .count = 2), GETS_AS(2, 1, 1, 1, 500, .count = 2),
      WANTS_AS(3, 2, 2, 900, .count = 2), QUEUES(5, 2, 2),
      WANTS_AS(6, 3, 3, 900, .count = 1), GETS_AS(9, 3, 3, 2, 800, .count = 1),
      LEAVES(448, 1, 4, 1), HAS_LEFT(449, 1, 4),
      GETS_AS(450, 2, 2, 3, 900, .count = 2)}},
    {"free, and had late",
     "free, and not granted",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(500, 1, 1, 1, 900)}},
    {"free, and never had",
     "free, and not granted",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 500), MISSES(500, 1, 1, LK_ETIMEDOUT)}},
    {"free, and wanted for as long as an answer takes",
     "free, and not granted",
     HISTORY_LOCK,
     1000,
     {WANTS_AS(1, 1, 1, 500, .lease_ms = 5), MISSES(500, 1, 1, LK_ETIMEDOUT)}},
    {"free, and waited for at the end",
     "free, and not granted",
     HISTORY_FAIRLOCK,
     1000,
     {WANTS(1, 1, 1, 0)}},
    {"released, and had late",
     "free, and not granted",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 900),
      LEAVES(4, 1, 3, 1), HAS_LEFT(5, 1, 3), GETS(450, 2, 2, 2, 900)}},
    {"had late after a death",
     "free, and not granted",
     HISTORY_LOCK,
     3000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 2900),
      DIES(5, 1), GETS(1500, 2, 2, 2, 1900)}},
    {"had late after the extension that the dead one asked for",
     "free, and not granted",
     HISTORY_LOCK,
     3000,
     {WANTS_AS(1, 1, 1, 900, .lease_ms = 100),
      GETS_AS(2, 1, 1, 1, 100, .lease_ms = 100), WANTS(3, 2, 2, 2900),
      BEGINS(4, 1, EXTEND, .operation = 3, .hold = 1, .lease_ms = 1000),
      DIES(5, 1), GETS(1500, 2, 2, 2, 1900)}},
    {"had late after an answer that was lost",
     "free, and not granted",
     HISTORY_LOCK,
     3000,
     {WANTS(1, 1, 1, 900), ENDS(2, 1, ACQUIRE, UNKNOWN, .operation = 1),
      WANTS(3, 2, 2, 2900), GETS(1500, 2, 2, 2, 1900)}},
    {"had late after a fault",
     "free, and not granted",
     HISTORY_LOCK,
     3000,
     {BEGINS(1, 0, FAULT, .key = 1), WANTS(2, 1, 1, 2900),
      ENDS(500, 0, FAULT, OK, .key = 1), GETS(1000, 1, 1, 1, 1900)}},
    {"free, and refused",
     "refused, and nobody had it",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), LEAVES(4, 1, 3, 1),
      HAS_LEFT(5, 1, 3), WANTS(600, 2, 2, 0), MISSES(601, 2, 2, LK_EBUSY)}},
    {"a call returns late",
     "returned late",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 50),
      MISSES(60, 2, 2, LK_ETIMEDOUT)}},
    {"it returns late after having been stopped",
     "returned late",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 50),
      BEGINS(20, 2, FAULT, .count = CHECKER_DEADLINES),
      ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
      MISSES(80, 2, 2, LK_ETIMEDOUT)}},
    {"it returns late after having been stopped before it began to count",
     "returned late",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 50),
      BEGINS(4, 2, FAULT, .count = CHECKER_DEADLINES),
      ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
      MISSES(125, 2, 2, LK_ETIMEDOUT)}},
    {"a stop in the midst of it gives it no more time",
     "returned late",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 100),
      BEGINS(20, 2, FAULT, .count = CHECKER_DEADLINES),
      ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
      MISSES(110, 2, 2, LK_ETIMEDOUT)}},
    {"another one's stop gives it no more time",
     "returned late",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 100),
      BEGINS(4, 3, FAULT, .count = CHECKER_DEADLINES),
      ENDS(70, 3, FAULT, OK, .count = CHECKER_DEADLINES),
      MISSES(110, 2, 2, LK_ETIMEDOUT)}},
    {"the server's fault is no excuse",
     "returned late",
     HISTORY_LOCK,
     1000,
     {BEGINS(1, 0, FAULT, .key = 1), WANTS(3, 2, 2, 50),
      MISSES(80, 2, 2, LK_ETIMEDOUT), ENDS(90, 0, FAULT, OK, .key = 1)}},
    {"a call never returns",
     "never returned",
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900),
      BEGINS(3, 1, EXTEND, .operation = 2, .hold = 1, .deadline = 50)}},
};

#define ARMS(ms, who, op, size)                                                \
    BEGINS(ms, who, ARM, .operation = (op), .count = (size)),                  \
        ENDS((ms) + 1, who, ARM, OK, .operation = (op))
#define TAKES_ONE(ms, who, op)                                                 \
    BEGINS(ms, who, COUNT, .operation = (op), .count = 1),                     \
        ENDS((ms) + 1, who, COUNT, OK, .operation = (op))
#define PASSES(ms, who, op) ENDS(ms, who, ACQUIRE, OK, .operation = (op))
#define ASKS(ms, who, op, left)                                                \
    BEGINS(ms, who, ASK, .operation = (op)),                                   \
        ENDS((ms) + 1, who, ASK, OK, .operation = (op), .count = (left))

static const story latches[] = {
    {"before the last count",
     "passed before it was open",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 2), TAKES_ONE(3, 1, 2), WANTS(5, 2, 3, 90),
      PASSES(6, 2, 3)}},
    {"before the last count began",
     "passed before it was open",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 1), WANTS(5, 2, 3, 90), PASSES(6, 2, 3),
      TAKES_ONE(7, 1, 2)}},
    {"one that is not armed",
     "passed before it was open",
     HISTORY_LATCH,
     100,
     {WANTS(5, 2, 3, 90), PASSES(6, 2, 3)}},
    {"one that was armed anew",
     "passed before it was open",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 1), TAKES_ONE(3, 1, 2),
      BEGINS(5, 1, RESET, .operation = 3, .count = 1),
      ENDS(6, 1, RESET, OK, .operation = 3), WANTS(7, 2, 4, 90),
      PASSES(8, 2, 4)}},
    {"one that was deleted",
     "passed before it was open",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 1), TAKES_ONE(3, 1, 2),
      BEGINS(5, 1, DELETE, .operation = 3),
      ENDS(6, 1, DELETE, OK, .operation = 3), WANTS(7, 2, 4, 90),
      PASSES(8, 2, 4)}},
    {"a member that came twice",
     "passed before it was open",
     HISTORY_LATCH,
     100,
     {BEGINS(1, 1, ARRIVE, .operation = 1, .hold = 77, .count = 2),
      ENDS(2, 1, ARRIVE, OK, .operation = 1),
      BEGINS(3, 1, ARRIVE, .operation = 2, .hold = 77, .count = 2),
      ENDS(4, 1, ARRIVE, OK, .operation = 2), WANTS(7, 2, 4, 90),
      PASSES(8, 2, 4)}},
    {"one count is two",
     "counted too often",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 5), TAKES_ONE(3, 1, 2), ASKS(5, 2, 3, 3)}},
    {"what is not known counts once",
     "counted too often",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 5), BEGINS(3, 1, COUNT, .operation = 2, .count = 1),
      ENDS(4, 1, COUNT, UNKNOWN, .operation = 2), ASKS(5, 2, 3, 3)}},
    {"one count is none",
     "count lost",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 5), TAKES_ONE(3, 1, 2), ASKS(5, 2, 3, 5)}},
    {"a member is not counted",
     "count lost",
     HISTORY_LATCH,
     100,
     {BEGINS(1, 1, ARRIVE, .operation = 1, .hold = 77, .count = 2),
      ENDS(2, 1, ARRIVE, OK, .operation = 1), ASKS(5, 2, 3, 2)}},
    {"armed while it is armed",
     "armed twice",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 5), ARMS(3, 2, 2, 5)}},
    {"armed by two at once",
     "armed twice",
     HISTORY_LATCH,
     100,
     {BEGINS(1, 1, ARM, .operation = 1, .count = 5),
      BEGINS(2, 2, ARM, .operation = 2, .count = 5),
      ENDS(3, 1, ARM, OK, .operation = 1),
      ENDS(4, 2, ARM, OK, .operation = 2)}},
    {"a count finds it unset",
     "latch forgotten",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 5), BEGINS(3, 1, COUNT, .operation = 2, .count = 1),
      ENDS(4, 1, COUNT, FAIL, .operation = 2, .status = LK_EUNSET)}},
    {"a question finds it unset",
     "latch forgotten",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 5), BEGINS(3, 1, ASK, .operation = 2),
      ENDS(4, 1, ASK, FAIL, .operation = 2, .status = LK_EUNSET)}},
    {"gone by itself",
     "gone, and nobody deleted it",
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 5), WANTS(7, 2, 4, 90), MISSES(8, 2, 4, LK_EGONE)}},
    {"a wait stays behind",
     "open, and not passed",
     HISTORY_LATCH,
     1000,
     {ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 800), TAKES_ONE(5, 1, 2),
      MISSES(800, 2, 4, LK_ETIMEDOUT)}},
    {"a wait stays behind for ever",
     "open, and not passed",
     HISTORY_LATCH,
     1000,
     {ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 0), TAKES_ONE(5, 1, 2)}},
    {"a wait stays behind, and it is armed anew",
     "open, and not passed",
     HISTORY_LATCH,
     1000,
     {ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 0), TAKES_ONE(5, 1, 2),
      BEGINS(7, 1, RESET, .operation = 3, .count = 1),
      ENDS(8, 1, RESET, OK, .operation = 3)}},
    {"a later wait does not pass",
     "open, and not passed",
     HISTORY_LATCH,
     1000,
     {ARMS(1, 1, 1, 1), TAKES_ONE(5, 1, 2), WANTS(7, 2, 4, 0)}},
    {"a try does not pass",
     "open, and refused",
     HISTORY_LATCH,
     1000,
     {ARMS(1, 1, 1, 1), TAKES_ONE(5, 1, 2), WANTS(7, 2, 4, 0),
      MISSES(8, 2, 4, LK_EBUSY)}},
};

static const story malformed[] = {
    {"a hold that is had twice",
     "hold twice",
     HISTORY_LOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500), WANTS(3, 1, 2, 100),
      ENDS(4, 1, ACQUIRE, OK, .operation = 2, .hold = 1, .fence = 1)}},
    {"a check of nothing",
     "no such hold",
     HISTORY_LOCK,
     100,
     {CHECKS(1, 1, 5, 0)}},
    {"a release of nothing",
     "no such hold",
     HISTORY_LOCK,
     100,
     {LEAVES(1, 1, 1, 5), HAS_LEFT(2, 1, 1)}},
    {"a hold is released twice",
     "no such hold",
     HISTORY_LOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500), LEAVES(3, 1, 2, 1),
      HAS_LEFT(4, 1, 2), LEAVES(5, 1, 3, 1), HAS_LEFT(6, 1, 3)}},
    {"an answer to nothing",
     "an end without a beginning",
     HISTORY_LOCK,
     100,
     {GETS(2, 1, 1, 1, 500)}},
    {"an answer to something else",
     "an end without a beginning",
     HISTORY_LOCK,
     100,
     {WANTS(1, 1, 1, 100), HAS_LEFT(2, 1, 1), GETS(3, 1, 1, 1, 500)}},
    {"a second answer",
     "an end without a beginning",
     HISTORY_LOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500),
      MISSES(3, 1, 1, LK_ETIMEDOUT)}},
    {"the same operation again",
     "a call that begins twice",
     HISTORY_LOCK,
     100,
     {WANTS(1, 1, 1, 100), WANTS(2, 1, 1, 100), GETS(3, 1, 1, 1, 500)}},
    {"somebody who is dead",
     "the dead act",
     HISTORY_LOCK,
     100,
     {DIES(1, 1), WANTS(2, 1, 1, 100)}},
    {"nobody", "nobody acts", HISTORY_LOCK, 100, {CHECKS(1, 0, 1, 0)}},
    {"a downgrade of a read hold",
     "not a write hold",
     HISTORY_RWLOCK,
     100,
     {WANTS_AS(1, 1, 1, 100, .mode = HISTORY_READ),
      GETS_AS(2, 1, 1, 1, 500, .mode = HISTORY_READ),
      BEGINS(3, 1, DOWNGRADE, .operation = 2, .hold = 1),
      ENDS(4, 1, DOWNGRADE, OK, .operation = 2)}},
};

static const story valid[] = {
    {"an arrival arms what was deleted while it was under way",
     NULL,
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 2),
      BEGINS(2, 2, ARRIVE, .operation = 2, .hold = 77, .count = 1),
      BEGINS(3, 1, DELETE, .operation = 3),
      ENDS(4, 1, DELETE, OK, .operation = 3),
      BEGINS(5, 1, ACQUIRE, .operation = 4, .deadline = 90),
      ENDS(6, 2, ARRIVE, OK, .operation = 2), PASSES(7, 1, 4)}},
    {"an arrival is of the generation that is armed while it is under way",
     NULL,
     HISTORY_LATCH,
     100,
     {ARMS(1, 1, 1, 1),
      BEGINS(2, 2, ARRIVE, .operation = 2, .hold = 77, .count = 1),
      BEGINS(3, 1, RESET, .operation = 3, .count = 1),
      ENDS(4, 1, RESET, OK, .operation = 3),
      BEGINS(5, 1, ACQUIRE, .operation = 4, .deadline = 90),
      ENDS(6, 2, ARRIVE, OK, .operation = 2), PASSES(7, 1, 4)}},
    {"who came first is served first",
     NULL,
     HISTORY_FAIRLOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500), WANTS(3, 2, 2, 100),
      QUEUES(5, 2, 2), WANTS(6, 3, 3, 100), LEAVES(7, 1, 4, 1),
      HAS_LEFT(8, 1, 4), GETS(9, 2, 2, 2, 500), LEAVES(10, 2, 5, 2),
      HAS_LEFT(11, 2, 5), GETS(12, 3, 3, 3, 500)}},
    {"a waiter that asks for less time than an answer takes may have had its "
     "turn",
     NULL,
     HISTORY_FAIRLOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500),
      WANTS_AS(3, 2, 2, 80, .lease_ms = 4), QUEUES(4, 2, 2),
      WANTS(5, 3, 3, 100), LEAVES(6, 1, 4, 1), HAS_LEFT(7, 1, 4),
      GETS(11, 3, 3, 2, 500), MISSES(80, 2, 2, LK_ETIMEDOUT)}},
    {"free, and wanted for less than an answer takes",
     NULL,
     HISTORY_LOCK,
     1000,
     {WANTS_AS(1, 1, 1, 500, .lease_ms = 4), MISSES(500, 1, 1, LK_ETIMEDOUT)}},
    {"free, once the extension that the dead one asked for has ended",
     NULL,
     HISTORY_LOCK,
     3000,
     {WANTS_AS(1, 1, 1, 900, .lease_ms = 100),
      GETS_AS(2, 1, 1, 1, 100, .lease_ms = 100), WANTS(3, 2, 2, 2900),
      BEGINS(4, 1, EXTEND, .operation = 3, .hold = 1, .lease_ms = 1500),
      DIES(5, 1), GETS(1500, 2, 2, 2, 1900)}},
    {"free, once the extension that was asked for before a release has ended",
     NULL,
     HISTORY_LOCK,
     3000,
     {WANTS_AS(1, 1, 1, 900, .lease_ms = 100),
      GETS_AS(2, 1, 1, 1, 100, .lease_ms = 100), WANTS(3, 2, 2, 2900),
      BEGINS(4, 1, EXTEND, .operation = 3, .hold = 1, .lease_ms = 1500),
      LEAVES(5, 1, 4, 1),
      ENDS(6, 1, EXTEND, UNKNOWN, .operation = 3, .status = LK_EINDOUBT),
      ENDS(7, 1, RELEASE, UNKNOWN, .operation = 4, .status = LK_EINDOUBT),
      GETS(1500, 2, 2, 2, 1900)}},
    {"a call that began to count when its process went on",
     NULL,
     HISTORY_LOCK,
     1000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 50),
      BEGINS(4, 0, FAULT, .count = CHECKER_DEADLINES),
      ENDS(6, 0, FAULT, OK, .count = CHECKER_DEADLINES),
      BEGINS(8, 2, FAULT, .count = CHECKER_DEADLINES),
      BEGINS(9, 2, FAULT, .count = CHECKER_DEADLINES),
      ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
      ENDS(71, 2, FAULT, OK, .count = CHECKER_DEADLINES),
      MISSES(117, 2, 2, LK_ETIMEDOUT)}},
    {"a waiter that was stopped may be passed",
     NULL,
     HISTORY_FAIRLOCK,
     100,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 500), WANTS(3, 2, 2, 100),
      QUEUES(5, 2, 2), BEGINS(6, 2, FAULT, .count = CHECKER_DEADLINES),
      WANTS(6, 3, 3, 100), LEAVES(7, 1, 4, 1), HAS_LEFT(8, 1, 4),
      GETS(9, 3, 3, 2, 500), LEAVES(10, 3, 5, 3), HAS_LEFT(11, 3, 5),
      ENDS(12, 2, FAULT, OK, .count = CHECKER_DEADLINES),
      GETS(13, 2, 2, 3, 500)}},
    {"a waiter that was stopped may be late",
     NULL,
     HISTORY_LOCK,
     200,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 50),
      BEGINS(4, 2, FAULT, .count = CHECKER_DEADLINES),
      ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
      MISSES(74, 2, 2, LK_ETIMEDOUT)}},
    {"a lease that nobody gives back is waited for",
     NULL,
     HISTORY_LOCK,
     3000,
     {WANTS(1, 1, 1, 900), GETS(2, 1, 1, 1, 900), WANTS(3, 2, 2, 2900),
      DIES(5, 1), GETS(1300, 2, 2, 2, 1900)}},
    {"a wait that began before it opened passes after it is armed anew",
     NULL,
     HISTORY_LATCH,
     200,
     {ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 90), TAKES_ONE(5, 1, 2),
      BEGINS(7, 1, RESET, .operation = 3, .count = 1),
      ENDS(8, 1, RESET, OK, .operation = 3), PASSES(20, 2, 4)}},
    {"a try that began before it opened may be refused",
     NULL,
     HISTORY_LATCH,
     200,
     {ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 3), TAKES_ONE(4, 1, 2),
      MISSES(6, 2, 4, LK_EBUSY)}},
    {"a reset that is not known of may come after another",
     NULL,
     HISTORY_LATCH,
     200,
     {ARMS(1, 1, 1, 1), BEGINS(3, 1, RESET, .operation = 2, .count = 3),
      ENDS(4, 1, RESET, UNKNOWN, .operation = 2),
      BEGINS(5, 2, RESET, .operation = 3, .count = 1),
      ENDS(6, 2, RESET, OK, .operation = 3), TAKES_ONE(7, 2, 4),
      BEGINS(9, 2, ASK, .operation = 5),
      ENDS(10, 2, ASK, OK, .operation = 5, .count = 3)}},
    {"what is not known may have opened it",
     NULL,
     HISTORY_LATCH,
     200,
     {ARMS(1, 1, 1, 1), BEGINS(3, 1, COUNT, .operation = 2, .count = 1),
      ENDS(4, 1, COUNT, UNKNOWN, .operation = 2), WANTS(5, 2, 4, 90),
      PASSES(20, 2, 4)}},
    {"a count while it is being armed anew may count for either",
     NULL,
     HISTORY_LATCH,
     200,
     {ARMS(1, 1, 1, 1), BEGINS(3, 1, RESET, .operation = 2, .count = 1),
      TAKES_ONE(4, 2, 3), ENDS(6, 1, RESET, OK, .operation = 2),
      WANTS(7, 2, 4, 90), PASSES(20, 2, 4)}},
    {"of two changes at one time either may be the last",
     NULL,
     HISTORY_LATCH,
     200,
     {ARMS(1, 1, 1, 1), BEGINS(3, 1, RESET, .operation = 2, .count = 1),
      BEGINS(4, 2, DELETE, .operation = 3),
      ENDS(5, 2, DELETE, OK, .operation = 3),
      ENDS(6, 1, RESET, OK, .operation = 2), ARMS(7, 3, 4, 1)}},
};

static void waits_that_end_wrongly_are_found(void **state)
{
    (void)state;
    story_tell_all(turns, COUNT(turns));
}

static void latches_that_open_wrongly_are_found(void **state)
{
    (void)state;
    story_tell_all(latches, COUNT(latches));
}

static void what_is_no_history_is_found(void **state)
{
    (void)state;
    story_tell_all(malformed, COUNT(malformed));
}

static void what_is_allowed_is_not_complained_of(void **state)
{
    (void)state;
    story_tell_all(valid, COUNT(valid));
}

static checker *new_checker(void)
{
    const checker_options options = {.rules = CHECKER_ALL};
    checker *c = checker_new(&options);

    assert_non_null(c);
    return c;
}

static void time_that_goes_back_is_found(void **state)
{
    const history_event second =
        STORY_EVENT(2, 1, QUEUED, EVENT, .operation = 1);
    const history_event first =
        STORY_EVENT(1, 1, QUEUED, EVENT, .operation = 1);
    checker *c = new_checker();
    size_t listed;
    uint64_t total;

    (void)state;
    assert_true(checker_feed(c, &second));
    assert_true(checker_feed(c, &first));
    assert_string_equal(checker_violations(c, &listed, &total)[0].name,
                        "time goes back");
    assert_int_equal(total, 1);
    checker_free(c);
}

static void what_is_left_behind_is_found(void **state)
{
    checker *c = new_checker();
    size_t listed;
    uint64_t total;

    (void)state;
    checker_left(c, "latchkey:{n}:r");
    assert_string_equal(checker_violations(c, &listed, &total)[0].name,
                        "left behind");
    assert_int_equal(total, 1);
    checker_free(c);
}

static void all_are_counted_and_the_first_are_listed(void **state)
{
    checker *c = new_checker();
    size_t listed;
    uint64_t total;

    (void)state;
    for (int i = 0; i < 2 * CHECKER_LISTED; i++)
        checker_left(c, "n");
    (void)checker_violations(c, &listed, &total);
    assert_int_equal(listed, CHECKER_LISTED);
    assert_int_equal(total, 2 * CHECKER_LISTED);
    checker_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_that_end_wrongly_are_found),
        cmocka_unit_test(latches_that_open_wrongly_are_found),
        cmocka_unit_test(what_is_no_history_is_found),
        cmocka_unit_test(what_is_allowed_is_not_complained_of),
        cmocka_unit_test(time_that_goes_back_is_found),
        cmocka_unit_test(what_is_left_behind_is_found),
        cmocka_unit_test(all_are_counted_and_the_first_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
