/* SPDX-License-Identifier: MIT */

/* What a script of the read-write lock looks at: no more than can change what it
   does. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

/* More than are let in by one call, and than one HSCAN tells. */
enum { MANY = 18, CROWD = 50 };

static void waits_to_read(script_fixture *f, unsigned count)
{
    char claim[16];

    for (unsigned i = 0; i < count; i++) {
        snprintf(claim, sizeof(claim), "q%02u:1", i);
        rw_acquire(f, claim, "r");
        rw_hear(f, claim, (char *)NULL);
    }
}

/* The writer is looked for, and those behind it are counted. */
RW_TEST(a_reader_that_leaves_does_not_look_at_who_is_kept_out)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_hear(f, "w1:1", (char *)NULL);
    waits_to_read(f, 3);
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_zrangebyscore:calls=1,*");
    assert_held(f, "r2:1 read");
    assert_waiting(f, "w: w1:1 r: q00:1 q01:1 q02:1");
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_held(f, "w1:1:write write");
}

/* So many wait that they come in by several calls; a writer is behind them. */
RW_TEST(those_of_the_phase_come_in_at_each_release)
{
    rw_acquire(f, "w1:1", "w");
    waits_to_read(f, MANY);
    rw_acquire(f, "w2:1", "w");
    rw_hear(f, "w2:1", (char *)NULL);
    assert_like(rw_release(f, "w1:1", NULL), "1 2 1 0");
    assert_waiting(f, "w: w2:1 r: q16:1 q17:1");
    assert_like(rw_release(f, "q00:1", NULL), "1 2 0 0");
    assert_waiting(f, "w: w2:1");
}

/* A reader that asks whether it still waits, but was let in meanwhile. */
RW_TEST(one_that_holds_already_asks_nothing_of_the_others)
{
    rw_hear(f, "r1:1", (char *)NULL);
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "w1:1", NULL);
    rw_acquire(f, "w2:1", "w");
    script_redis(f, "CONFIG RESETSTAT");
    rw_recheck(f, "r1:1");
    assert_null(
        strstr(script_redis(f, "INFO commandstats"), "cmdstat_zrangebyscore"));
    assert_held(f, "r1:1 read");
}

/* So many read that the server tells of a part of them at a time. */
RW_TEST(a_release_beside_many_needs_no_right_to_count_them)
{
    char claim[16];

    script_redis(f, "CONFIG SET hash-max-ziplist-entries 4");
    for (unsigned i = 0; i < CROWD; i++) {
        snprintf(claim, sizeof(claim), "r%02u:1", i);
        rw_acquire(f, claim, "r");
    }
    assert_like(rw_release(f, "r00:1", NULL), "1 2 0 0");
    script_deny(f, "hlen");
    assert_like(rw_release(f, "r01:1", NULL), "1 2 0 0");
    script_deny(f, NULL);
    assert_like(script_redis(f, "HEXISTS n r01:1"), "0");
    script_redis(f, "CONFIG SET hash-max-ziplist-entries 512");
}

CHECK_GROUP(script_start_server, script_stop_server)
