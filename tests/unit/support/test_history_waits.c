/* SPDX-License-Identifier: MIT */

/* Waits that end too early, too late, out of turn, or never, are found. */

#include <latchkey/status.h>

#include "support/check.h"
#include "support/story.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const story turns[] = {
    STORY("a later one is served first", "overtaken", FAIRLOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 100), QUEUES(5, 2, 2),
          WANTS(6, 3, 3, 100), RELEASES(7, 1, 4, 1), GETS(9, 3, 3, 2, 500),
          RELEASES(10, 3, 5, 3), GETS(12, 2, 2, 3, 500)),
    STORY("a later one is served, and the other never", "overtaken", FAIRLOCK,
          100, TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 80), QUEUES(5, 2, 2),
          WANTS(6, 3, 3, 100), RELEASES(7, 1, 4, 1), GETS(9, 3, 3, 2, 500),
          MISSES(80, 2, 2, LK_ETIMEDOUT)),
    STORY("a later one is served before a short lease can have been over",
          "overtaken", FAIRLOCK, 100, TAKES(1, 1, 1, 100, 1, 500),
          WANTS_AS(3, 2, 2, 80, .lease_ms = 4), QUEUES(4, 2, 2),
          WANTS(5, 3, 3, 100), RELEASES(5, 1, 4, 1), GETS(6, 3, 3, 2, 500),
          MISSES(80, 2, 2, LK_ETIMEDOUT)),
    STORY("a later one is served, whose own lease is long", "overtaken",
          FAIRLOCK, 100, TAKES(1, 1, 1, 100, 1, 500),
          WANTS_AS(3, 2, 2, 80, .lease_ms = 5), QUEUES(4, 2, 2),
          WANTS(5, 3, 3, 100), RELEASES(6, 1, 4, 1), GETS(11, 3, 3, 2, 500),
          MISSES(80, 2, 2, LK_ETIMEDOUT)),
    STORY("a small request passes a large one", "overtaken", SEMAPHORE, 1000,
          TAKES_AS(1, 1, 1, 900, 1, 500, .count = 2),
          WANTS_AS(3, 2, 2, 900, .count = 2), QUEUES(5, 2, 2),
          WANTS_AS(6, 3, 3, 900, .count = 1),
          GETS_AS(9, 3, 3, 2, 800, .count = 1), RELEASES(448, 1, 4, 1),
          GETS_AS(450, 2, 2, 3, 900, .count = 2)),
    STORY("free, and had late", "free, and not granted", LOCK, 1000,
          WANTS(1, 1, 1, 900), GETS(500, 1, 1, 1, 900)),
    STORY("free, and never had", "free, and not granted", LOCK, 1000,
          WANTS(1, 1, 1, 500), MISSES(500, 1, 1, LK_ETIMEDOUT)),
    STORY("free, and wanted for as long as an answer takes",
          "free, and not granted", LOCK, 1000,
          WANTS_AS(1, 1, 1, 500, .lease_ms = 5),
          MISSES(500, 1, 1, LK_ETIMEDOUT)),
    STORY("free, and waited for at the end", "free, and not granted", FAIRLOCK,
          1000, WANTS(1, 1, 1, 0)),
    STORY("released, and had late", "free, and not granted", LOCK, 1000,
          TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 900),
          RELEASES(4, 1, 3, 1), GETS(450, 2, 2, 2, 900)),
    STORY("had late after a death", "free, and not granted", LOCK, 3000,
          TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 2900), DIES(5, 1),
          GETS(1500, 2, 2, 2, 1900)),
    STORY("had late after the extension that the dead one asked for",
          "free, and not granted", LOCK, 3000,
          TAKES_AS(1, 1, 1, 900, 1, 100, .lease_ms = 100), WANTS(3, 2, 2, 2900),
          BEGINS(4, 1, EXTEND, .operation = 3, .hold = 1, .lease_ms = 1000),
          DIES(5, 1), GETS(1500, 2, 2, 2, 1900)),
    STORY("had late after an answer that was lost", "free, and not granted",
          LOCK, 3000, WANTS(1, 1, 1, 900),
          ENDS(2, 1, ACQUIRE, UNKNOWN, .operation = 1), WANTS(3, 2, 2, 2900),
          GETS(1500, 2, 2, 2, 1900)),
    STORY("had late after a fault", "free, and not granted", LOCK, 3000,
          BEGINS(1, 0, FAULT, .key = 1), WANTS(2, 1, 1, 2900),
          ENDS(500, 0, FAULT, OK, .key = 1), GETS(1000, 1, 1, 1, 1900)),
    STORY("free, and refused", "refused, and nobody had it", LOCK, 1000,
          TAKES(1, 1, 1, 900, 1, 900), RELEASES(4, 1, 3, 1),
          WANTS(600, 2, 2, 0), MISSES(601, 2, 2, LK_EBUSY)),
    STORY("a call returns late", "returned late", LOCK, 1000,
          TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 50),
          MISSES(60, 2, 2, LK_ETIMEDOUT)),
    STORY("it returns late after having been stopped", "returned late", LOCK,
          1000, TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 50),
          BEGINS(20, 2, FAULT, .count = CHECKER_DEADLINES),
          ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
          MISSES(80, 2, 2, LK_ETIMEDOUT)),
    STORY("it returns late after having been stopped before it began to count",
          "returned late", LOCK, 1000, TAKES(1, 1, 1, 900, 1, 900),
          WANTS(3, 2, 2, 50), BEGINS(4, 2, FAULT, .count = CHECKER_DEADLINES),
          ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
          MISSES(125, 2, 2, LK_ETIMEDOUT)),
    STORY("a stop in the midst of it gives it no more time", "returned late",
          LOCK, 1000, TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 100),
          BEGINS(20, 2, FAULT, .count = CHECKER_DEADLINES),
          ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
          MISSES(110, 2, 2, LK_ETIMEDOUT)),
    STORY("another one's stop gives it no more time", "returned late", LOCK,
          1000, TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 100),
          BEGINS(4, 3, FAULT, .count = CHECKER_DEADLINES),
          ENDS(70, 3, FAULT, OK, .count = CHECKER_DEADLINES),
          MISSES(110, 2, 2, LK_ETIMEDOUT)),
    STORY("the server's fault is no excuse", "returned late", LOCK, 1000,
          BEGINS(1, 0, FAULT, .key = 1), WANTS(3, 2, 2, 50),
          MISSES(80, 2, 2, LK_ETIMEDOUT), ENDS(90, 0, FAULT, OK, .key = 1)),
    STORY("a call never returns", "never returned", LOCK, 1000,
          TAKES(1, 1, 1, 900, 1, 900),
          BEGINS(3, 1, EXTEND, .operation = 2, .hold = 1, .deadline = 50)),
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
    STORY("before the last count", "passed before it was open", LATCH, 100,
          ARMS(1, 1, 1, 2), TAKES_ONE(3, 1, 2), WANTS(5, 2, 3, 90),
          PASSES(6, 2, 3)),
    STORY("before the last count began", "passed before it was open", LATCH,
          100, ARMS(1, 1, 1, 1), WANTS(5, 2, 3, 90), PASSES(6, 2, 3),
          TAKES_ONE(7, 1, 2)),
    STORY("one that is not armed", "passed before it was open", LATCH, 100,
          WANTS(5, 2, 3, 90), PASSES(6, 2, 3)),
    STORY("one that was armed again", "passed before it was open", LATCH, 100,
          ARMS(1, 1, 1, 1), TAKES_ONE(3, 1, 2),
          BEGINS(5, 1, RESET, .operation = 3, .count = 1),
          ENDS(6, 1, RESET, OK, .operation = 3), WANTS(7, 2, 4, 90),
          PASSES(8, 2, 4)),
    STORY("one that was deleted", "passed before it was open", LATCH, 100,
          ARMS(1, 1, 1, 1), TAKES_ONE(3, 1, 2),
          BEGINS(5, 1, DELETE, .operation = 3),
          ENDS(6, 1, DELETE, OK, .operation = 3), WANTS(7, 2, 4, 90),
          PASSES(8, 2, 4)),
    STORY("a member that came twice", "passed before it was open", LATCH, 100,
          BEGINS(1, 1, ARRIVE, .operation = 1, .hold = 77, .count = 2),
          ENDS(2, 1, ARRIVE, OK, .operation = 1),
          BEGINS(3, 1, ARRIVE, .operation = 2, .hold = 77, .count = 2),
          ENDS(4, 1, ARRIVE, OK, .operation = 2), WANTS(7, 2, 4, 90),
          PASSES(8, 2, 4)),
    STORY("one count is two", "counted too often", LATCH, 100, ARMS(1, 1, 1, 5),
          TAKES_ONE(3, 1, 2), ASKS(5, 2, 3, 3)),
    STORY("what is not known counts once", "counted too often", LATCH, 100,
          ARMS(1, 1, 1, 5), BEGINS(3, 1, COUNT, .operation = 2, .count = 1),
          ENDS(4, 1, COUNT, UNKNOWN, .operation = 2), ASKS(5, 2, 3, 3)),
    STORY("one count is none", "count lost", LATCH, 100, ARMS(1, 1, 1, 5),
          TAKES_ONE(3, 1, 2), ASKS(5, 2, 3, 5)),
    STORY("a member is not counted", "count lost", LATCH, 100,
          BEGINS(1, 1, ARRIVE, .operation = 1, .hold = 77, .count = 2),
          ENDS(2, 1, ARRIVE, OK, .operation = 1), ASKS(5, 2, 3, 2)),
    STORY("armed while it is armed", "armed twice", LATCH, 100,
          ARMS(1, 1, 1, 5), ARMS(3, 2, 2, 5)),
    STORY("armed by two at once", "armed twice", LATCH, 100,
          BEGINS(1, 1, ARM, .operation = 1, .count = 5),
          BEGINS(2, 2, ARM, .operation = 2, .count = 5),
          ENDS(3, 1, ARM, OK, .operation = 1),
          ENDS(4, 2, ARM, OK, .operation = 2)),
    STORY("a count finds it unset", "latch forgotten", LATCH, 100,
          ARMS(1, 1, 1, 5), BEGINS(3, 1, COUNT, .operation = 2, .count = 1),
          ENDS(4, 1, COUNT, FAIL, .operation = 2, .status = LK_EUNSET)),
    STORY("a question finds it unset", "latch forgotten", LATCH, 100,
          ARMS(1, 1, 1, 5), BEGINS(3, 1, ASK, .operation = 2),
          ENDS(4, 1, ASK, FAIL, .operation = 2, .status = LK_EUNSET)),
    STORY("gone by itself", "gone, and nobody deleted it", LATCH, 100,
          ARMS(1, 1, 1, 5), WANTS(7, 2, 4, 90), MISSES(8, 2, 4, LK_EGONE)),
    STORY("a wait stays behind", "open, and not passed", LATCH, 1000,
          ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 800), TAKES_ONE(5, 1, 2),
          MISSES(800, 2, 4, LK_ETIMEDOUT)),
    STORY("a wait stays behind for ever", "open, and not passed", LATCH, 1000,
          ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 0), TAKES_ONE(5, 1, 2)),
    STORY("a wait stays behind, and it is armed again", "open, and not passed",
          LATCH, 1000, ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 0), TAKES_ONE(5, 1, 2),
          BEGINS(7, 1, RESET, .operation = 3, .count = 1),
          ENDS(8, 1, RESET, OK, .operation = 3)),
    STORY("a later wait does not pass", "open, and not passed", LATCH, 1000,
          ARMS(1, 1, 1, 1), TAKES_ONE(5, 1, 2), WANTS(7, 2, 4, 0)),
    STORY("a try does not pass", "open, and refused", LATCH, 1000,
          ARMS(1, 1, 1, 1), TAKES_ONE(5, 1, 2), WANTS(7, 2, 4, 0),
          MISSES(8, 2, 4, LK_EBUSY)),
};

static const story malformed[] = {
    STORY("a hold that is had twice", "hold twice", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 1, 2, 100),
          ENDS(4, 1, ACQUIRE, OK, .operation = 2, .hold = 1, .fence = 1)),
    STORY("a check of nothing", "no such hold", LOCK, 100, CHECKS(1, 1, 5, 0)),
    STORY("a release of nothing", "no such hold", LOCK, 100,
          RELEASES(1, 1, 1, 5)),
    STORY("a hold is released twice", "no such hold", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), RELEASES(3, 1, 2, 1),
          RELEASES(5, 1, 3, 1)),
    STORY("an answer to nothing", "an end without a beginning", LOCK, 100,
          GETS(2, 1, 1, 1, 500)),
    STORY("an answer to something else", "an end without a beginning", LOCK,
          100, WANTS(1, 1, 1, 100), HAS_LEFT(2, 1, 1), GETS(3, 1, 1, 1, 500)),
    STORY("a second answer", "an end without a beginning", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), MISSES(3, 1, 1, LK_ETIMEDOUT)),
    STORY("the same operation again", "a call that begins twice", LOCK, 100,
          WANTS(1, 1, 1, 100), TAKES(2, 1, 1, 100, 1, 500)),
    STORY("something that only calls can be", "no such event", LOCK, 100,
          STORY_EVENT(1, 1, ACQUIRE, EVENT, .operation = 1)),
    STORY("something of no phase", "no such phase", LOCK, 100,
          STORY_EVENT(1, 1, ACQUIRE, PHASES, .operation = 1)),
    STORY("somebody who is dead", "the dead act", LOCK, 100, DIES(1, 1),
          WANTS(2, 1, 1, 100)),
    STORY("nobody", "nobody acts", LOCK, 100, CHECKS(1, 0, 1, 0)),
    STORY("a downgrade of a read hold", "not a write hold", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, .mode = HISTORY_READ),
          BEGINS(3, 1, DOWNGRADE, .operation = 2, .hold = 1),
          ENDS(4, 1, DOWNGRADE, OK, .operation = 2)),
};

static const story valid[] = {
    STORY("an arrival arms what was deleted while it was under way", NULL,
          LATCH, 100, ARMS(1, 1, 1, 2),
          BEGINS(2, 2, ARRIVE, .operation = 2, .hold = 77, .count = 1),
          BEGINS(3, 1, DELETE, .operation = 3),
          ENDS(4, 1, DELETE, OK, .operation = 3),
          BEGINS(5, 1, ACQUIRE, .operation = 4, .deadline = 90),
          ENDS(6, 2, ARRIVE, OK, .operation = 2), PASSES(7, 1, 4)),
    STORY("an arrival is of the generation that is armed while it is under way",
          NULL, LATCH, 100, ARMS(1, 1, 1, 1),
          BEGINS(2, 2, ARRIVE, .operation = 2, .hold = 77, .count = 1),
          BEGINS(3, 1, RESET, .operation = 3, .count = 1),
          ENDS(4, 1, RESET, OK, .operation = 3),
          BEGINS(5, 1, ACQUIRE, .operation = 4, .deadline = 90),
          ENDS(6, 2, ARRIVE, OK, .operation = 2), PASSES(7, 1, 4)),
    STORY("who came first is served first", NULL, FAIRLOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 100), QUEUES(5, 2, 2),
          WANTS(6, 3, 3, 100), RELEASES(7, 1, 4, 1), GETS(9, 2, 2, 2, 500),
          RELEASES(10, 2, 5, 2), GETS(12, 3, 3, 3, 500)),
    STORY("a waiter that asks for less time than an answer takes may have had "
          "its "
          "turn",
          NULL, FAIRLOCK, 100, TAKES(1, 1, 1, 100, 1, 500),
          WANTS_AS(3, 2, 2, 80, .lease_ms = 4), QUEUES(4, 2, 2),
          WANTS(5, 3, 3, 100), RELEASES(6, 1, 4, 1), GETS(11, 3, 3, 2, 500),
          MISSES(80, 2, 2, LK_ETIMEDOUT)),
    STORY("free, and wanted for less than an answer takes", NULL, LOCK, 1000,
          WANTS_AS(1, 1, 1, 500, .lease_ms = 4),
          MISSES(500, 1, 1, LK_ETIMEDOUT)),
    STORY("free, once the extension that the dead one asked for has ended",
          NULL, LOCK, 3000, TAKES_AS(1, 1, 1, 900, 1, 100, .lease_ms = 100),
          WANTS(3, 2, 2, 2900),
          BEGINS(4, 1, EXTEND, .operation = 3, .hold = 1, .lease_ms = 1500),
          DIES(5, 1), GETS(1500, 2, 2, 2, 1900)),
    STORY("free, once the extension that was asked for before a release has "
          "ended",
          NULL, LOCK, 3000, TAKES_AS(1, 1, 1, 900, 1, 100, .lease_ms = 100),
          WANTS(3, 2, 2, 2900),
          BEGINS(4, 1, EXTEND, .operation = 3, .hold = 1, .lease_ms = 1500),
          LEAVES(5, 1, 4, 1),
          ENDS(6, 1, EXTEND, UNKNOWN, .operation = 3, .status = LK_EINDOUBT),
          ENDS(7, 1, RELEASE, UNKNOWN, .operation = 4, .status = LK_EINDOUBT),
          GETS(1500, 2, 2, 2, 1900)),
    STORY("a call that began to count when its process went on", NULL, LOCK,
          1000, TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 50),
          BEGINS(4, 0, FAULT, .count = CHECKER_DEADLINES),
          ENDS(6, 0, FAULT, OK, .count = CHECKER_DEADLINES),
          BEGINS(8, 2, FAULT, .count = CHECKER_DEADLINES),
          BEGINS(9, 2, FAULT, .count = CHECKER_DEADLINES),
          ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
          ENDS(71, 2, FAULT, OK, .count = CHECKER_DEADLINES),
          MISSES(117, 2, 2, LK_ETIMEDOUT)),
    STORY("a waiter that was stopped may be passed", NULL, FAIRLOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 100), QUEUES(5, 2, 2),
          BEGINS(6, 2, FAULT, .count = CHECKER_DEADLINES), WANTS(6, 3, 3, 100),
          RELEASES(7, 1, 4, 1), GETS(9, 3, 3, 2, 500), RELEASES(10, 3, 5, 3),
          ENDS(12, 2, FAULT, OK, .count = CHECKER_DEADLINES),
          GETS(13, 2, 2, 3, 500)),
    STORY("a waiter that was stopped may be late", NULL, LOCK, 200,
          TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 50),
          BEGINS(4, 2, FAULT, .count = CHECKER_DEADLINES),
          ENDS(70, 2, FAULT, OK, .count = CHECKER_DEADLINES),
          MISSES(74, 2, 2, LK_ETIMEDOUT)),
    STORY("a lease that nobody gives back is waited for", NULL, LOCK, 3000,
          TAKES(1, 1, 1, 900, 1, 900), WANTS(3, 2, 2, 2900), DIES(5, 1),
          GETS(1300, 2, 2, 2, 1900)),
    STORY("a wait that began before it opened passes after it is armed again",
          NULL, LATCH, 200, ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 90),
          TAKES_ONE(5, 1, 2), BEGINS(7, 1, RESET, .operation = 3, .count = 1),
          ENDS(8, 1, RESET, OK, .operation = 3), PASSES(20, 2, 4)),
    STORY("a try that began before it opened may be refused", NULL, LATCH, 200,
          ARMS(1, 1, 1, 1), WANTS(3, 2, 4, 3), TAKES_ONE(4, 1, 2),
          MISSES(6, 2, 4, LK_EBUSY)),
    STORY("a reset that is not known of may come after another", NULL, LATCH,
          200, ARMS(1, 1, 1, 1),
          BEGINS(3, 1, RESET, .operation = 2, .count = 3),
          ENDS(4, 1, RESET, UNKNOWN, .operation = 2),
          BEGINS(5, 2, RESET, .operation = 3, .count = 1),
          ENDS(6, 2, RESET, OK, .operation = 3), TAKES_ONE(7, 2, 4),
          BEGINS(9, 2, ASK, .operation = 5),
          ENDS(10, 2, ASK, OK, .operation = 5, .count = 3)),
    STORY("what is not known may have opened it", NULL, LATCH, 200,
          ARMS(1, 1, 1, 1), BEGINS(3, 1, COUNT, .operation = 2, .count = 1),
          ENDS(4, 1, COUNT, UNKNOWN, .operation = 2), WANTS(5, 2, 4, 90),
          PASSES(20, 2, 4)),
    STORY("a count while it is being armed again may count for either", NULL,
          LATCH, 200, ARMS(1, 1, 1, 1),
          BEGINS(3, 1, RESET, .operation = 2, .count = 1), TAKES_ONE(4, 2, 3),
          ENDS(6, 1, RESET, OK, .operation = 2), WANTS(7, 2, 4, 90),
          PASSES(20, 2, 4)),
    STORY("of two changes at one time either may be the last", NULL, LATCH, 200,
          ARMS(1, 1, 1, 1), BEGINS(3, 1, RESET, .operation = 2, .count = 1),
          BEGINS(4, 2, DELETE, .operation = 3),
          ENDS(5, 2, DELETE, OK, .operation = 3),
          ENDS(6, 1, RESET, OK, .operation = 2), ARMS(7, 3, 4, 1)),
};

CHECK_TEST(waits_that_end_wrongly_are_found)
{
    story_tell_all(turns, COUNT(turns), valid, COUNT(valid));
}

CHECK_TEST(latches_that_open_wrongly_are_found)
{
    story_tell_all(latches, COUNT(latches), valid, COUNT(valid));
}

CHECK_TEST(what_is_no_history_is_found)
{
    story_tell_all(malformed, COUNT(malformed), valid, COUNT(valid));
}

CHECK_TEST(what_is_allowed_is_not_complained_of)
{
    story_tell_all(valid, COUNT(valid), valid, COUNT(valid));
}

static checker *new_checker(void)
{
    const checker_options options = {.rules = CHECKER_ALL};
    checker *c = checker_new(&options);

    assert_non_null(c);
    return c;
}

CHECK_TEST(time_that_goes_back_is_found)
{
    const history_event second =
        STORY_EVENT(2, 1, QUEUED, EVENT, .operation = 1);
    const history_event first =
        STORY_EVENT(1, 1, QUEUED, EVENT, .operation = 1);
    checker *c = new_checker();
    size_t listed;
    uint64_t total;

    assert_true(checker_feed(c, &second));
    assert_true(checker_feed(c, &first));
    assert_string_equal(checker_violations(c, &listed, &total)[0].name,
                        "time goes back");
    assert_int_equal(total, 1);
    checker_free(c);
}

CHECK_TEST(what_is_left_behind_is_found)
{
    checker *c = new_checker();
    size_t listed;
    uint64_t total;

    checker_left(c, "latchkey:{n}:r");
    assert_string_equal(checker_violations(c, &listed, &total)[0].name,
                        "left behind");
    assert_int_equal(total, 1);
    checker_free(c);
}

CHECK_TEST(all_are_counted_and_the_first_are_listed)
{
    checker *c = new_checker();
    size_t listed;
    uint64_t total;

    for (int i = 0; i < 2 * CHECKER_LISTED; i++)
        checker_left(c, "n");
    (void)checker_violations(c, &listed, &total);
    assert_int_equal(listed, CHECKER_LISTED);
    assert_int_equal(total, 2 * CHECKER_LISTED);
    checker_free(c);
}

int test_history_waits(void)
{
    return check_all(NULL, NULL);
}
