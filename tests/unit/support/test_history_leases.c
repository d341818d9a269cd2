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
    {"believed for longer than its lease",
     "lease too long",
     HISTORY_LOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 110, .lease_ms = 100)}},
    {"renewed for longer than its lease",
     "lease too long",
     HISTORY_LOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 900), CHECKS(50, 1, 1, 1100)}},
    {"one with a lease of its own is renewed",
     "lease too long",
     HISTORY_LOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 100, .lease_ms = 100),
      CHECKS(150, 1, 1, 0)}},
    {"extended for longer than was asked for",
     "lease too long",
     HISTORY_LOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 90, .lease_ms = 100),
      EXTENDS(50, 1, 2, 100),
      ENDS(51, 1, EXTEND, OK, .operation = 2, .lease_ms = 100, .deadline = 140),
      CHECKS(160, 1, 1, 0)}},
    {"longer than an extension that nobody knows of was to last",
     "lease too long",
     HISTORY_REDLOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, .lease_ms = 100),
      EXTENDS(50, 1, 2, 100), IS_IN_DOUBT(60, 1, 2), CHECKS(162, 1, 1, 0)}},
    {"longer than an extension under way was to last",
     "lease too long",
     HISTORY_REDLOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, .lease_ms = 100),
      EXTENDS(50, 1, 2, 100), CHECKS(55, 1, 1, 157)}},
    {"renewed for longer than an extension that nobody knows of",
     "lease too long",
     HISTORY_REDLOCK,
     4000,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 0, 900), EXTENDS(50, 1, 2, 2000),
      IS_IN_DOUBT(60, 1, 2), CHECKS(100, 1, 1, 2102)}},
    {"as long as an extension that had no effect",
     "lease too long",
     HISTORY_LOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 90, .lease_ms = 100),
      EXTENDS(50, 1, 2, 100),
      ENDS(60, 1, EXTEND, FAIL, .operation = 2, .status = LK_EOFFLINE),
      CHECKS(110, 1, 1, 0)}},
    {"entered again for longer than the first was to last",
     "lease too long",
     HISTORY_LOCK,
     2000,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 900),
      WANTS_AS(3, 1, 2, 100, .lease_ms = STORY_UNNAMED),
      GETS_AS(4, 1, 2, 1, 900, .lease_ms = STORY_UNNAMED),
      CHECKS(50, 1, 2, 1100)}},
    {"entered again, ended by force, and renewed for longer than the first",
     "ended by force, and not told",
     HISTORY_LOCK,
     2000,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 900),
      WANTS_AS(3, 1, 2, 100, .lease_ms = STORY_UNNAMED),
      GETS_AS(4, 1, 2, 1, 900, .lease_ms = STORY_UNNAMED),
      BEGINS(5, 2, FORCE, .operation = 3),
      ENDS(6, 2, FORCE, OK, .operation = 3), CHECKS(1100, 1, 2, 0)}},
    {"nobody is told when an extension that nobody knows of has ended",
     "loss not told",
     HISTORY_REDLOCK,
     400,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, FIXED(100)),
      EXTENDS(50, 1, 2, 100), IS_IN_DOUBT(60, 1, 2), LEAVES(180, 1, 3, 1),
      ENDS(181, 1, RELEASE, FAIL, .operation = 3, .status = LK_ELOST)}},
};

static const story valid[] = {
    {"whoever enters again, and has both handles last longer",
     NULL,
     HISTORY_LOCK,
     2000,
     {WANTS_AS(1, 1, 1, 100, .lease_ms = 100, .owner = 7),
      GETS_AS(2, 1, 1, 1, 90, .lease_ms = 100, .owner = 7,
              .flags = HISTORY_WATCHED),
      WANTS_AS(3, 1, 2, 100, .owner = 7),
      GETS_AS(4, 1, 2, 1, 90, .owner = 7, .flags = HISTORY_WATCHED),
      BEGINS(50, 1, EXTEND, .operation = 3, .hold = 2, .lease_ms = 800,
             .owner = 7),
      ENDS(51, 1, EXTEND, OK, .operation = 3, .lease_ms = 800, .deadline = 840,
           .owner = 7),
      LEAVES(700, 1, 4, 2), HAS_LEFT(701, 1, 4), LEAVES(702, 1, 5, 1),
      HAS_LEFT(703, 1, 5)}},
    {"entered again, ended by force, and believed for the lease of the first",
     NULL,
     HISTORY_LOCK,
     2000,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 1, 900),
      WANTS_AS(3, 1, 2, 100, .lease_ms = STORY_UNNAMED),
      GETS_AS(4, 1, 2, 1, 900, .lease_ms = STORY_UNNAMED),
      BEGINS(5, 2, FORCE, .operation = 3),
      ENDS(6, 2, FORCE, OK, .operation = 3), CHECKS(900, 1, 2, 0),
      LOSES(905, 1, 1), LOSES(905, 1, 2)}},
    {"imported, ended by force, and believed",
     NULL,
     HISTORY_LOCK,
     2000,
     {WANTS_AS(3, 1, 2, 100, .lease_ms = STORY_UNNAMED),
      GETS_AS(4, 1, 2, 1, 900, .lease_ms = STORY_UNNAMED),
      BEGINS(5, 2, FORCE, .operation = 3),
      ENDS(6, 2, FORCE, OK, .operation = 3), CHECKS(900, 1, 2, 0),
      LOSES(905, 1, 2)}},
    {"for as long as an extension that nobody knows of",
     NULL,
     HISTORY_REDLOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, FIXED(100)),
      EXTENDS(50, 1, 2, 100), IS_IN_DOUBT(60, 1, 2), CHECKS(120, 1, 1, 150),
      LOSES(150, 1, 1)}},
    {"for as long as an extension under way",
     NULL,
     HISTORY_REDLOCK,
     200,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, FIXED(100)),
      EXTENDS(50, 1, 2, 100), CHECKS(120, 1, 1, 150), LOSES(150, 1, 1),
      LEAVES(151, 1, 3, 1),
      ENDS(152, 1, RELEASE, FAIL, .operation = 3, .status = LK_ELOST)}},
    {"renewed for as long as an extension that nobody knows of",
     NULL,
     HISTORY_REDLOCK,
     4000,
     {WANTS(1, 1, 1, 100), GETS(2, 1, 1, 0, 900), EXTENDS(50, 1, 2, 2000),
      CHECKS(55, 1, 1, 2050), IS_IN_DOUBT(60, 1, 2), CHECKS(70, 1, 1, 2050)}},
    {"an extension that nobody knows of keeps nobody out",
     NULL,
     HISTORY_REDLOCK,
     2000,
     {WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 0, 90, .lease_ms = 100),
      EXTENDS(50, 1, 2, 900),
      ENDS(60, 1, EXTEND, UNKNOWN, .operation = 2, .status = LK_EINDOUBT,
           .deadline = 950),
      WANTS(95, 2, 3, 200), GETS(105, 2, 3, 0, 1000)}},
};

static void who_believes_for_too_long_is_found(void **state)
{
    (void)state;
    story_tell_all(too_long, COUNT(too_long));
}

static void what_is_allowed_is_not_complained_of(void **state)
{
    (void)state;
    story_tell_all(valid, COUNT(valid));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_believes_for_too_long_is_found),
        cmocka_unit_test(what_is_allowed_is_not_complained_of),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
