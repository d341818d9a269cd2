/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_STORY_H
#define LK_TESTS_SUPPORT_STORY_H

#include "check/check.h"

/*
 * Short histories for tests of the checker: a line for an event. One of them is
 * told amid valid ones, so that what is found in it is found in the midst of what
 * is as it should be.
 *
 * Times are milliseconds, of deadlines as well. The processes are 1 to 9. An
 * operation is the hold that it gets.
 */

enum { STORY_EVENTS = 16, STORY_MS = 1000000, STORY_UNNAMED = 987654 };

typedef struct story {
    const char *title;
    const char *found; /* the name of the violation; NULL: there is none */
    history_kind kind;
    uint64_t end; /* ms */
    history_event events[STORY_EVENTS];
} story;

#define STORY_EVENT(ms, who, what, how, ...)                                   \
    {                                                                          \
        .at = (ms), .process = (who), .call = HISTORY_##what,                  \
        .phase = HISTORY_##how, __VA_ARGS__                                    \
    }

/* A row of a table of stories: what it is, what is found (NULL: nothing), of which
   kind of primitive, when it ends, and its events. */
#define STORY(what, complaint, of, ms, ...)                                    \
    {                                                                          \
        what, complaint, HISTORY_##of, ms,                                     \
        {                                                                      \
            __VA_ARGS__                                                        \
        }                                                                      \
    }

/* Any call: it begins, and ends. */
#define BEGINS(ms, who, what, ...)                                             \
    STORY_EVENT(ms, who, what, INVOKE, __VA_ARGS__)
#define ENDS(ms, who, what, how, ...)                                          \
    STORY_EVENT(ms, who, what, how, __VA_ARGS__)

/* An acquire with a time limit, and what becomes of it. */
#define WANTS_AS(ms, who, op, due, ...)                                        \
    BEGINS(ms, who, ACQUIRE, .operation = (op), .deadline = (due), __VA_ARGS__)
#define WANTS(ms, who, op, due)                                                \
    BEGINS(ms, who, ACQUIRE, .operation = (op), .deadline = (due))
#define GETS_AS(ms, who, op, number, till, ...)                                \
    ENDS(ms, who, ACQUIRE, OK, .operation = (op), .hold = (op),                \
         .fence = (number), .deadline = (till), __VA_ARGS__)
#define GETS(ms, who, op, number, till)                                        \
    ENDS(ms, who, ACQUIRE, OK, .operation = (op), .hold = (op),                \
         .fence = (number), .deadline = (till))
/* The same, when it is there for the asking. */
#define TAKES_AS(ms, who, op, due, number, till, ...)                          \
    WANTS_AS(ms, who, op, due, __VA_ARGS__),                                   \
        GETS_AS((ms) + 1, who, op, number, till, __VA_ARGS__)
#define TAKES(ms, who, op, due, number, till)                                  \
    WANTS(ms, who, op, due), GETS((ms) + 1, who, op, number, till)
#define MISSES(ms, who, op, answer)                                            \
    ENDS(ms, who, ACQUIRE, FAIL, .operation = (op), .status = (answer))
#define QUEUES(ms, who, op)                                                    \
    STORY_EVENT(ms, who, QUEUED, EVENT, .operation = (op))

/* A hold's life. */
#define CHECKS(ms, who, of, till)                                              \
    STORY_EVENT(ms, who, CHECKED, EVENT, .hold = (of), .deadline = (till))
#define LOSES(ms, who, of) STORY_EVENT(ms, who, LOST, EVENT, .hold = (of))
#define DIES(ms, who)      STORY_EVENT(ms, who, DIED, EVENT, .owner = (who))
#define LEAVES(ms, who, op, of)                                                \
    BEGINS(ms, who, RELEASE, .operation = (op), .hold = (of))
#define HAS_LEFT(ms, who, op) ENDS(ms, who, RELEASE, OK, .operation = (op))
#define RELEASES(ms, who, op, of)                                              \
    LEAVES(ms, who, op, of), HAS_LEFT((ms) + 1, who, op)

/*
 * Tells each amid the valid ones, and fails the test unless just that was found
 * which it names. Leases that are not given are of a second, and the hold is
 * renewed; one of STORY_UNNAMED is none.
 */
void story_tell_all(const story *stories, size_t count, const story *valid,
                    size_t valid_count);

#endif /* LK_TESTS_SUPPORT_STORY_H */
