/* SPDX-License-Identifier: MIT */

/* A holder that may not hold is found. */

#include <latchkey/status.h>

#include "support/check.h"
#include "support/story.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define FIXED(lease)   .lease_ms = (lease), .flags = HISTORY_WATCHED
#define AS_WRITER      .mode = HISTORY_WRITER
#define AS_READER      .mode = HISTORY_READ
#define AS_UPGRADEABLE .mode = HISTORY_UPGRADEABLE
/* The server has lost what it had; holds may be two until then. */
#define FORGETS(ms, until)                                                     \
    BEGINS(ms, 0, FAULT, .key = 1, .count = CHECKER_EXCLUSION),                \
        ENDS((ms) + 1, 0, FAULT, OK, .key = 1, .count = CHECKER_EXCLUSION,     \
             .deadline = (until))
/* Process 1 reads, until force ends that. */
#define READER_IS_FORCED                                                       \
    TAKES_AS(1, 1, 1, 100, 1, 500, AS_READER),                                 \
        BEGINS(3, 3, FORCE, .operation = 9),                                   \
        ENDS(4, 3, FORCE, OK, .operation = 9)
/* Another owner of this process reads then, and one of process 2 writes. */
#define READS_AND_WRITER_COMES(process)                                        \
    WANTS_AS(6, process, 2, 100, AS_READER, .owner = 50),                      \
        GETS_AS(6, process, 2, 1, 500, AS_READER, .owner = 50),                \
        TAKES_AS(7, 2, 3, 100, 2, 500, AS_WRITER)

static const story exclusion[] = {
    STORY("a second owner", "two owners", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 2, 500)),
    STORY("a second owner, where checks alone prove it", "two owners", LOCK,
          100, TAKES(1, 1, 1, 100, 1, 0), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 2, 0), CHECKS(20, 1, 1, 0), CHECKS(30, 2, 2, 0)),
    STORY("the same, and the second is checked first", "two owners", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 0), WANTS(3, 2, 2, 100), GETS(10, 2, 2, 2, 0),
          CHECKS(20, 2, 2, 0), CHECKS(30, 1, 1, 0)),
    STORY("the same, and one has gone when the other is checked",
          "two owners, seen later", LOCK, 100, TAKES(1, 1, 1, 100, 1, 0),
          WANTS(3, 2, 2, 100), GETS(10, 2, 2, 2, 0), CHECKS(20, 2, 2, 0),
          RELEASES(21, 2, 3, 2), CHECKS(30, 1, 1, 0)),
    STORY("one that nothing proves to have been there yet", NULL, LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 0), WANTS(3, 2, 2, 100), CHECKS(9, 1, 1, 0),
          GETS(10, 2, 2, 2, 0), CHECKS(20, 2, 2, 0)),
    STORY("too many permits, where checks alone prove it", "too many permits",
          SEMAPHORE, 100, TAKES_AS(1, 1, 1, 100, 1, 0, .count = 2),
          WANTS_AS(3, 2, 2, 100, .count = 2),
          GETS_AS(10, 2, 2, 2, 0, .count = 2), CHECKS(20, 1, 1, 0),
          CHECKS(30, 2, 2, 0)),
    STORY("a second owner of a fair lock", "two owners", FAIRLOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 2, 500)),
    STORY("a second owner of a redlock", "two owners", REDLOCK, 100,
          TAKES(1, 1, 1, 100, 0, 500), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 0, 500)),
    STORY("a second leader", "two owners", LEADER, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 2, 500)),
    STORY("two threads of a process", "two owners", LOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, .owner = 11),
          WANTS_AS(3, 1, 2, 100, .owner = 12),
          GETS_AS(10, 1, 2, 2, 500, .owner = 12)),
    STORY("two writers", "two owners", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_WRITER),
          WANTS_AS(3, 2, 2, 100, AS_WRITER),
          GETS_AS(10, 2, 2, 2, 500, AS_WRITER)),
    STORY("a reader beside a writer", "two owners", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_WRITER),
          WANTS_AS(3, 2, 2, 100, AS_READER),
          GETS_AS(10, 2, 2, 1, 500, AS_READER)),
    STORY("a writer beside a reader", "two owners", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_READER),
          WANTS_AS(3, 2, 2, 100, AS_WRITER),
          GETS_AS(10, 2, 2, 2, 500, AS_WRITER)),
    STORY("two upgradeable readers", "two owners", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_UPGRADEABLE),
          WANTS_AS(3, 2, 2, 100, AS_UPGRADEABLE),
          GETS_AS(10, 2, 2, 1, 500, AS_UPGRADEABLE)),
    STORY("an upgrade beside a reader", "two owners", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_UPGRADEABLE),
          TAKES_AS(3, 2, 2, 100, 1, 500, AS_READER),
          WANTS_AS(5, 1, 3, 100, AS_WRITER),
          GETS_AS(10, 1, 3, 2, 500, AS_WRITER)),
    STORY("a writer beside what was downgraded", "two owners", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_WRITER),
          BEGINS(3, 1, DOWNGRADE, .operation = 2, .hold = 1),
          ENDS(4, 1, DOWNGRADE, OK, .operation = 2),
          WANTS_AS(5, 2, 3, 100, AS_WRITER),
          GETS_AS(10, 2, 3, 2, 500, AS_WRITER)),
    STORY("a reader beside what was not downgraded", "two owners", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_WRITER),
          BEGINS(3, 1, DOWNGRADE, .operation = 2, .hold = 1),
          ENDS(4, 1, DOWNGRADE, FAIL, .operation = 2, .status = LK_EOFFLINE),
          WANTS_AS(5, 2, 3, 100, AS_READER),
          GETS_AS(10, 2, 3, 1, 500, AS_READER)),
    STORY("a reader of a client that has heard of force", "two owners", RWLOCK,
          100, READER_IS_FORCED, LOSES(5, 1, 1), READS_AND_WRITER_COMES(1)),
    STORY("a reader of a client that had nothing before force", "two owners",
          RWLOCK, 100, READER_IS_FORCED, READS_AND_WRITER_COMES(4)),
    STORY("before the lease of the dead ends", "two owners", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), DIES(3, 1), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 2, 500)),
    STORY("before the lease of the stopped ends", "two owners", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500),
          BEGINS(3, 1, FAULT, .count = CHECKER_DEADLINES), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 2, 500)),
    STORY("before the release begins", "two owners", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 500), WANTS(3, 2, 2, 100),
          GETS(10, 2, 2, 2, 500), RELEASES(11, 1, 3, 1)),
    STORY("a check tells of it", "two owners, seen later", LOCK, 200,
          TAKES(1, 1, 1, 100, 1, 50), WANTS(3, 2, 2, 100),
          GETS(90, 2, 2, 2, 500), CHECKS(150, 1, 1, 0)),
    STORY("a check tells of one that has left", "two owners, seen later", LOCK,
          200, TAKES(1, 1, 1, 100, 1, 50), WANTS(3, 2, 2, 100),
          GETS(90, 2, 2, 2, 500), RELEASES(95, 2, 3, 2),
          CHECKS(150, 1, 1, 160)),
    STORY("a release tells of it", "released beside another", LOCK, 200,
          TAKES(1, 1, 1, 100, 1, 50), WANTS(3, 2, 2, 100),
          GETS(90, 2, 2, 2, 500), RELEASES(120, 1, 3, 1)),
    STORY("beside an exported hold's import", "two owners", LOCK, 200,
          TAKES(1, 1, 1, 100, 1, 500),
          BEGINS(3, 1, EXPORT, .operation = 2, .hold = 1),
          ENDS(4, 1, EXPORT, OK, .operation = 2), TAKES(5, 2, 3, 100, 2, 500),
          TAKES(7, 3, 4, 100, 3, 500)),
    STORY("those that came after the server forgot", "two owners", LOCK, 2000,
          FORGETS(1, 50), TAKES(60, 1, 1, 100, 1, 500),
          TAKES(62, 2, 2, 100, 2, 500)),
};

static const story permits[] = {
    STORY("one permit too many", "too many permits", SEMAPHORE, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, .count = 2),
          WANTS_AS(3, 2, 2, 100, .count = 2),
          GETS_AS(10, 2, 2, 2, 500, .count = 2)),
    STORY("more than there are", "too many permits", SEMAPHORE, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, .count = 4)),
    STORY("more than are left of them", "too many permits", SEMAPHORE, 100,
          BEGINS(1, 1, RESIZE, .operation = 1, .count = 1),
          ENDS(2, 1, RESIZE, OK, .operation = 1),
          TAKES_AS(3, 1, 2, 100, 1, 500, .count = 1),
          TAKES_AS(5, 2, 3, 100, 2, 500, .count = 1)),
    STORY("a check tells of it", "too many permits, seen later", SEMAPHORE, 200,
          TAKES_AS(1, 1, 1, 100, 1, 50, .count = 2),
          WANTS_AS(3, 2, 2, 100, .count = 2),
          GETS_AS(90, 2, 2, 2, 500, .count = 2), CHECKS(150, 1, 1, 0)),
    STORY("two compute at once", "two owners, seen later", FLIGHT, 100,
          TAKES(1, 1, 1, 100, 1, 0), TAKES(3, 2, 2, 100, 2, 0),
          CHECKS(5, 1, 1, 0), RELEASES(5, 1, 3, 1), CHECKS(8, 2, 2, 0),
          RELEASES(8, 2, 4, 2)),
    STORY("more taken than given", "too many permits", PLAIN, 100,
          TAKES_AS(1, 1, 1, 100, 0, 0, .count = 3),
          BEGINS(3, 1, GIVE, .operation = 2, .count = 1),
          ENDS(4, 1, GIVE, OK, .operation = 2),
          TAKES_AS(5, 2, 3, 100, 0, 0, .count = 2)),
    STORY("what is said to be free is held", "free, and held", SEMAPHORE, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, .count = 2),
          BEGINS(3, 2, ASK, .operation = 2),
          ENDS(4, 2, ASK, OK, .operation = 2, .count = 2)),
    STORY("one does not come back", "permits do not add up", SEMAPHORE, 100,
          TAKES_AS(1, 1, 1, 100, 1, 500, .count = 2), RELEASES(3, 1, 2, 1),
          BEGINS(50, 2, ASK, .operation = 3),
          ENDS(51, 2, ASK, OK, .operation = 3, .count = 2)),
    STORY("one of a plain semaphore does not", "permits do not add up", PLAIN,
          100, TAKES_AS(1, 1, 1, 100, 0, 0, .count = 2),
          BEGINS(50, 2, ASK, .operation = 3),
          ENDS(51, 2, ASK, OK, .operation = 3, .count = 0)),
};

static const story fences[] = {
    STORY("a flight gives what is older than somebody had", "an older value",
          FLIGHT, 100, TAKES(1, 1, 1, 100, 1, 0), CHECKS(3, 1, 1, 0),
          RELEASES(3, 1, 2, 1), TAKES(5, 2, 3, 100, 2, 0), CHECKS(7, 2, 3, 0),
          RELEASES(7, 2, 4, 3), BEGINS(9, 1, ASK, .operation = 5),
          ENDS(10, 1, ASK, OK, .operation = 5, .fence = 2),
          BEGINS(11, 1, ASK, .operation = 6),
          ENDS(12, 1, ASK, OK, .operation = 6, .fence = 1)),
    STORY("and what nobody computed", "a value of no run", FLIGHT, 100,
          TAKES(1, 1, 1, 100, 1, 0), CHECKS(3, 1, 1, 0), RELEASES(3, 1, 2, 1),
          BEGINS(9, 1, ASK, .operation = 5),
          ENDS(10, 1, ASK, OK, .operation = 5, .fence = 2)),
    STORY("none", "no fence", LOCK, 100, TAKES(1, 1, 1, 100, 0, 500)),
    STORY("the same one twice", "fence given twice", LOCK, 100,
          TAKES(1, 1, 1, 100, 7, 500), RELEASES(3, 1, 2, 1),
          TAKES(5, 2, 3, 100, 7, 500)),
    STORY("the same one for two holds of permits", "fence given twice",
          SEMAPHORE, 100, TAKES_AS(1, 1, 1, 100, 7, 500, .count = 1),
          TAKES_AS(3, 2, 2, 100, 7, 500, .count = 1)),
    STORY("a smaller one", "fence went back", LOCK, 100,
          TAKES(1, 1, 1, 100, 7, 500), RELEASES(3, 1, 2, 1),
          TAKES(5, 2, 3, 100, 6, 500)),
    STORY("a smaller one of a writer", "fence went back", RWLOCK, 100,
          TAKES_AS(1, 1, 1, 100, 7, 500, AS_WRITER), RELEASES(3, 1, 2, 1),
          TAKES_AS(5, 2, 3, 100, 6, 500, AS_WRITER)),
    STORY("a smaller one after the server forgot", "fence went back", LOCK,
          2000, TAKES(1, 1, 1, 100, 300007, 500), FORGETS(3, 1500),
          TAKES(5, 2, 3, 100, 200006, 500)),
    STORY("a smaller one of somebody who waited meanwhile",
          "fence below that of an earlier hold", LOCK, 100, WANTS(1, 1, 1, 100),
          WANTS(1, 2, 3, 100), GETS(2, 1, 1, 7, 500), RELEASES(3, 1, 2, 1),
          GETS(6, 2, 3, 6, 500)),
    STORY("another one for an owner that enters again",
          "another fence on re-entry", LOCK, 100, TAKES(1, 1, 1, 100, 7, 500),
          TAKES(5, 1, 3, 100, 8, 500)),
    STORY("a late write", "late write accepted", LOCK, 100,
          BEGINS(1, 1, WRITE, .operation = 1, .fence = 8),
          ENDS(2, 1, WRITE, OK, .operation = 1),
          BEGINS(3, 2, WRITE, .operation = 2, .fence = 7),
          ENDS(4, 2, WRITE, OK, .operation = 2)),
};

static const story losses[] = {
    STORY("a check says OK after the loss", "back from its loss", LOCK, 100,
          TAKES(1, 1, 1, 100, 1, 50), LOSES(50, 1, 1), CHECKS(60, 1, 1, 0)),
    STORY("nobody is told", "loss not told", LOCK, 200, WANTS(1, 1, 1, 100),
          GETS_AS(2, 1, 1, 1, 90, FIXED(100)), LEAVES(150, 1, 2, 1),
          ENDS(151, 1, RELEASE, FAIL, .operation = 2, .status = LK_ELOST)),
    STORY("nobody is ever told", "loss not told", LOCK, 200,
          WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 90, FIXED(100))),
    STORY("nobody is told after having been stopped", "loss not told", LOCK,
          200, WANTS(1, 1, 1, 100), GETS_AS(2, 1, 1, 1, 90, FIXED(100)),
          BEGINS(3, 1, FAULT, .count = CHECKER_DEADLINES),
          ENDS(140, 1, FAULT, OK, .count = CHECKER_DEADLINES),
          LEAVES(150, 1, 2, 1),
          ENDS(151, 1, RELEASE, FAIL, .operation = 2, .status = LK_ELOST)),
    STORY("told late", "loss told late", LOCK, 200, WANTS(1, 1, 1, 100),
          GETS_AS(2, 1, 1, 1, 90, FIXED(100)), LOSES(120, 1, 1)),
    STORY("told late, by the library's own clock", "loss told late", LOCK, 200,
          TAKES(1, 1, 1, 100, 1, 90),
          STORY_EVENT(120, 1, LOST, EVENT, .hold = 1, .deadline = 90)),
    STORY("told twice", "loss told twice", LOCK, 200,
          TAKES(1, 1, 1, 100, 1, 90), LOSES(90, 1, 1), LOSES(91, 1, 1)),
    STORY("two are renewed after the server forgot", "silent loss", LOCK, 2000,
          TAKES(1, 1, 1, 100, 1, 900), FORGETS(3, 1900),
          TAKES(5, 2, 2, 100, 2, 900), CHECKS(1100, 1, 1, 0),
          CHECKS(1101, 2, 2, 0)),
    STORY("one is renewed after it was ended by force",
          "ended by force, and not told", LOCK, 2000,
          TAKES(1, 1, 1, 100, 1, 900), BEGINS(5, 2, FORCE, .operation = 2),
          ENDS(6, 2, FORCE, OK, .operation = 2), CHECKS(1100, 1, 1, 0)),
};

static const story valid[] = {
    STORY("a fence that was ahead of the clock when the server forgot it", NULL,
          LOCK, 2000, TAKES(1, 1, 1, 100, 300007, 500), FORGETS(3, 1500),
          TAKES(5, 2, 3, 100, 200008, 500)),
    STORY("one after the other", NULL, LOCK, 200, TAKES(1, 1, 1, 100, 1, 500),
          LEAVES(3, 1, 2, 1), TAKES(3, 2, 3, 100, 2, 500), HAS_LEFT(5, 1, 2)),
    STORY("after the lease of the dead", NULL, LOCK, 200,
          TAKES(1, 1, 1, 100, 1, 50), DIES(3, 1), WANTS(3, 2, 2, 100),
          GETS(51, 2, 2, 2, 500)),
    STORY("a smaller one, passed on within its client, after the server forgot",
          NULL, LOCK, 2000, WANTS(1, 1, 1, 100), FORGETS(3, 1500),
          TAKES(5, 2, 2, 100, 9, 500), WANTS_AS(10, 1, 3, 100, .owner = 50),
          MISSES(12, 1, 1, LK_EBUSY), GETS_AS(13, 1, 3, 7, 14, .owner = 50)),
    STORY(
        "a smaller one, passed on within its client, before it hears of force",
        NULL, LOCK, 2000, WANTS(1, 1, 1, 100),
        BEGINS(3, 3, FORCE, .operation = 9), TAKES(5, 2, 2, 100, 9, 500),
        WANTS_AS(10, 1, 3, 100, .owner = 50), MISSES(12, 1, 1, LK_EBUSY),
        GETS_AS(13, 1, 3, 7, 14, .owner = 50),
        ENDS(14, 3, FORCE, OK, .operation = 9)),
    STORY("a smaller one, passed on to one that asks after force, before it is "
          "heard",
          NULL, LOCK, 2000, TAKES(1, 1, 1, 100, 1, 900),
          BEGINS(3, 3, FORCE, .operation = 9),
          ENDS(4, 3, FORCE, OK, .operation = 9), TAKES(5, 2, 2, 100, 9, 500),
          WANTS_AS(10, 1, 3, 100, .owner = 50), LEAVES(12, 1, 4, 1),
          GETS_AS(12, 1, 3, 7, 500, .owner = 50), HAS_LEFT(13, 1, 4)),
    STORY("whoever enters again", NULL, LOCK, 200, TAKES(1, 1, 1, 100, 1, 500),
          TAKES(3, 1, 2, 100, 1, 500)),
    STORY("readers, one of them upgradeable", NULL, RWLOCK, 200,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_READER),
          TAKES_AS(3, 2, 2, 100, 1, 500, AS_UPGRADEABLE)),
    STORY("a reader beside what was downgraded", NULL, RWLOCK, 200,
          TAKES_AS(1, 1, 1, 100, 1, 500, AS_WRITER),
          BEGINS(3, 1, DOWNGRADE, .operation = 2, .hold = 1),
          TAKES_AS(3, 2, 3, 100, 1, 500, AS_READER),
          ENDS(5, 1, DOWNGRADE, OK, .operation = 2)),
    STORY("two while the server may have forgotten", NULL, LOCK, 2000,
          TAKES(1, 1, 1, 100, 1, 900), FORGETS(3, 1900),
          TAKES(5, 2, 2, 100, 2, 900), LOSES(300, 1, 1)),
    STORY("one after force", NULL, LOCK, 2000, TAKES(1, 1, 1, 100, 1, 900),
          WANTS(3, 2, 2, 100), BEGINS(5, 3, FORCE, .operation = 3),
          GETS(6, 2, 2, 2, 900), ENDS(7, 3, FORCE, OK, .operation = 3),
          LOSES(8, 1, 1)),
    STORY(
        "a reader that shares, in its client, what that does not know to have "
        "been ended by force",
        NULL, RWLOCK, 2000, READER_IS_FORCED, READS_AND_WRITER_COMES(1),
        LOSES(9, 1, 1), LOSES(9, 1, 2)),
    STORY("what is not known claims nothing", NULL, LOCK, 2000,
          WANTS(1, 1, 1, 100), ENDS(2, 1, ACQUIRE, UNKNOWN, .operation = 1),
          WANTS(3, 2, 2, 100), GETS(6, 2, 2, 2, 900)),
    STORY("permits of two sizes, while they become fewer", NULL, SEMAPHORE, 200,
          TAKES_AS(1, 1, 1, 100, 1, 500, .count = 3),
          BEGINS(3, 2, RESIZE, .operation = 2, .count = 1),
          ENDS(4, 2, RESIZE, OK, .operation = 2), RELEASES(5, 1, 3, 1),
          TAKES_AS(7, 1, 4, 100, 2, 500, .count = 1)),
};

CHECK_TEST(who_may_not_hold_is_found)
{
    story_tell_all(exclusion, COUNT(exclusion), valid, COUNT(valid));
}

CHECK_TEST(permits_that_do_not_add_up_are_found)
{
    story_tell_all(permits, COUNT(permits), valid, COUNT(valid));
}

CHECK_TEST(fences_that_do_not_grow_are_found)
{
    story_tell_all(fences, COUNT(fences), valid, COUNT(valid));
}

CHECK_TEST(losses_that_are_not_told_are_found)
{
    story_tell_all(losses, COUNT(losses), valid, COUNT(valid));
}

CHECK_TEST(what_is_allowed_is_not_complained_of)
{
    story_tell_all(valid, COUNT(valid), valid, COUNT(valid));
}

int test_history_holds(void)
{
    return check_all(NULL, NULL);
}
