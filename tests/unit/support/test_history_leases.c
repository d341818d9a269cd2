/* SPDX-License-Identifier: MIT */

/* A claim that is believed for longer than it may be is found. */

#include <latchkey/status.h>

#include "support/check.h"
#include "support/story.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define FIXED(lease) .lease_ms = (lease), .flags = HISTORY_WATCHED

/* An extension of hold 1, and one of which nobody knows whether it was made. */
#define EXTENDS(ms, who, op, lease)                                            \
    BEGINS(ms, who, EXTEND, .operation = (op), .hold = 1, .lease_ms = (lease))
#define IS_IN_DOUBT(ms, who, op)                                               \
    ENDS(ms, who, EXTEND, UNKNOWN, .operation = (op), .status = LK_EINDOUBT)

static const story too_long[] = {
    STORY("believed for longer than its lease", "lease too long", LOCK, 200,
          WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 110, .lease_ms = 100)),
    STORY("renewed for longer than its lease", "lease too long", LOCK, 200,
          TAKES(1, 1, 1, 100, 1, 900), CHECKS(50, 1, 1, 1100)),
    STORY("one with a lease of its own is renewed", "lease too long", LOCK, 200,
          WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 100, .lease_ms = 100),
          CHECKS(150, 1, 1, 0)),
    STORY("extended for longer than was asked for", "lease too long", LOCK, 200,
          WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 90, .lease_ms = 100),
          EXTENDS(50, 1, 2, 100),
          ENDS(51, 1, EXTEND, OK, .operation = 2, .lease_ms = 100,
               .deadline = 140),
          CHECKS(160, 1, 1, 0)),
    STORY("longer than an extension that nobody knows of was to last",
          "lease too long", REDLOCK, 200, WANTS(1, 1, 1, 100),
          GETS_AS(2, 1, 1, 0, 90, .lease_ms = 100), EXTENDS(50, 1, 2, 100),
          IS_IN_DOUBT(60, 1, 2), CHECKS(162, 1, 1, 0)),
    STORY("longer than an extension under way was to last", "lease too long",
          REDLOCK, 200, WANTS(1, 1, 1, 100),
          GETS_AS(2, 1, 1, 0, 90, .lease_ms = 100), EXTENDS(50, 1, 2, 100),
          CHECKS(55, 1, 1, 157)),
    STORY("renewed for longer than an extension that nobody knows of",
          "lease too long", REDLOCK, 4000, TAKES(1, 1, 1, 100, 0, 900),
          EXTENDS(50, 1, 2, 2000), IS_IN_DOUBT(60, 1, 2),
          CHECKS(100, 1, 1, 2102)),
    STORY("as long as an extension that had no effect", "lease too long", LOCK,
          200, WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 90, .lease_ms = 100),
          EXTENDS(50, 1, 2, 100),
          ENDS(60, 1, EXTEND, FAIL, .operation = 2, .status = LK_EOFFLINE),
          CHECKS(110, 1, 1, 0)),
    STORY("entered again for longer than the first was to last",
          "lease too long", LOCK, 2000, TAKES(1, 1, 1, 100, 1, 900),
          TAKES_AS(3, 1, 2, 100, 1, 900, .lease_ms = STORY_UNNAMED),
          CHECKS(50, 1, 2, 1100)),
    STORY(
        "entered again, ended by force, and renewed for longer than the first",
        "ended by force, and not told", LOCK, 2000, TAKES(1, 1, 1, 100, 1, 900),
        TAKES_AS(3, 1, 2, 100, 1, 900, .lease_ms = STORY_UNNAMED),
        BEGINS(5, 2, FORCE, .operation = 3),
        ENDS(6, 2, FORCE, OK, .operation = 3), CHECKS(1100, 1, 2, 0)),
    STORY("nobody is told when an extension that nobody knows of has ended",
          "loss not told", REDLOCK, 400, WANTS(1, 1, 1, 100),
          GETS_AS(2, 1, 1, 0, 90, FIXED(100)), EXTENDS(50, 1, 2, 100),
          IS_IN_DOUBT(60, 1, 2), LEAVES(180, 1, 3, 1),
          ENDS(181, 1, RELEASE, FAIL, .operation = 3, .status = LK_ELOST)),
};

static const story valid[] = {
    STORY("whoever enters again, and has both handles last longer", NULL, LOCK,
          2000, WANTS_AS(1, 1, 1, 100, .lease_ms = 100, .owner = 7),
          GETS_AS(2, 1, 1, 1, 90, .lease_ms = 100, .owner = 7,
                  .flags = HISTORY_WATCHED),
          WANTS_AS(3, 1, 2, 100, .owner = 7),
          GETS_AS(4, 1, 2, 1, 90, .owner = 7, .flags = HISTORY_WATCHED),
          BEGINS(50, 1, EXTEND, .operation = 3, .hold = 2, .lease_ms = 800,
                 .owner = 7),
          ENDS(51, 1, EXTEND, OK, .operation = 3, .lease_ms = 800,
               .deadline = 840, .owner = 7),
          RELEASES(700, 1, 4, 2), RELEASES(702, 1, 5, 1)),
    STORY("entered again, ended by force, and believed for the lease of the "
          "first",
          NULL, LOCK, 2000, TAKES(1, 1, 1, 100, 1, 900),
          TAKES_AS(3, 1, 2, 100, 1, 900, .lease_ms = STORY_UNNAMED),
          BEGINS(5, 2, FORCE, .operation = 3),
          ENDS(6, 2, FORCE, OK, .operation = 3), CHECKS(900, 1, 2, 0),
          LOSES(905, 1, 1), LOSES(905, 1, 2)),
    STORY("imported, ended by force, and believed", NULL, LOCK, 2000,
          TAKES_AS(3, 1, 2, 100, 1, 900, .lease_ms = STORY_UNNAMED),
          BEGINS(5, 2, FORCE, .operation = 3),
          ENDS(6, 2, FORCE, OK, .operation = 3), CHECKS(900, 1, 2, 0),
          LOSES(905, 1, 2)),
    STORY("for as long as an extension that nobody knows of", NULL, REDLOCK,
          200, WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, FIXED(100)),
          EXTENDS(50, 1, 2, 100), IS_IN_DOUBT(60, 1, 2), CHECKS(120, 1, 1, 150),
          LOSES(150, 1, 1)),
    STORY("for as long as an extension under way", NULL, REDLOCK, 200,
          WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, FIXED(100)),
          EXTENDS(50, 1, 2, 100), CHECKS(120, 1, 1, 150), LOSES(150, 1, 1),
          LEAVES(151, 1, 3, 1),
          ENDS(152, 1, RELEASE, FAIL, .operation = 3, .status = LK_ELOST)),
    STORY("renewed for as long as an extension that nobody knows of", NULL,
          REDLOCK, 4000, TAKES(1, 1, 1, 100, 0, 900), EXTENDS(50, 1, 2, 2000),
          CHECKS(55, 1, 1, 2050), IS_IN_DOUBT(60, 1, 2),
          CHECKS(70, 1, 1, 2050)),
    STORY("an extension that nobody knows of keeps nobody out", NULL, REDLOCK,
          2000, WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, .lease_ms = 100),
          EXTENDS(50, 1, 2, 900),
          ENDS(60, 1, EXTEND, UNKNOWN, .operation = 2, .status = LK_EINDOUBT,
               .deadline = 950),
          WANTS(95, 2, 3, 200), GETS(105, 2, 3, 0, 1000)),
};

CHECK_TEST(who_believes_for_too_long_is_found)
{
    story_tell_all(too_long, COUNT(too_long), valid, COUNT(valid));
}

CHECK_TEST(what_is_allowed_is_not_complained_of)
{
    story_tell_all(valid, COUNT(valid), valid, COUNT(valid));
}

int test_history_leases(void)
{
    return check_all(NULL, NULL);
}
