/* SPDX-License-Identifier: MIT */

/* What a script of the read-write lock looks at: no more than can change what it
   does. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

enum { MANY = 18 }; /* more than are let in by one call */

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
static void a_reader_that_leaves_does_not_look_at_who_is_kept_out(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_hear(f, "w1:1", (char *)NULL);
    waits_to_read(f, 3);
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_like(script_redis(f, "INFO commandstats"),
                "*cmdstat_zrangebyscore:calls=2,*");
    assert_held(f, "r2:1 read");
    assert_waiting(f, "w: w1:1 r: q00:1 q01:1 q02:1");
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_held(f, "w1:1:write write");
}

/* So many wait that they come in by several calls; a writer is behind them. */
static void those_of_the_phase_come_in_at_each_release(void **state)
{
    script_fixture *f = *state;

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
static void one_that_holds_already_asks_nothing_of_the_others(void **state)
{
    script_fixture *f = *state;

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        RW_TEST(a_reader_that_leaves_does_not_look_at_who_is_kept_out),
        RW_TEST(those_of_the_phase_come_in_at_each_release),
        RW_TEST(one_that_holds_already_asks_nothing_of_the_others),
    };

    return cmocka_run_group_tests_name("rwlock_looks", tests,
                                       script_start_server, script_stop_server);
}
