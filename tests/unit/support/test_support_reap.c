/* SPDX-License-Identifier: MIT */

/* What runs each test: no process outlives one, however it ends. */

#include <signal.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tool.h"

enum { SOON_MS = 20000 };

/* No time for what is left, whatever this test's own factor is. */
static const char *const no_grace[] = {"LK_TEST_SLOW=0", NULL};
static const tool_how how = {.program = LK_PROGRAM_DIR "/lk_reap",
                             .env = no_grace};

/* An orphan in a session of its own, and then what ends the test. */
#define ORPHAN "setsid sleep 1000 & echo pid=$!\n"

static void the_exit_code_is_the_tests(NO_STATE)
{
    assert_tool(&how, 3, "", "", "sh", "-c", "exit 3", NULL);
    assert_tool(&how, 128 + SIGKILL, "", "ended by a signal", "sh", "-c",
                "kill -9 $$", NULL);
}

static void an_orphan_fails_the_test_and_is_killed(NO_STATE)
{
    tool *t = tool_start(&how, "sh", "-c", ORPHAN "exit 0", NULL);
    pid_t orphan = (pid_t)tool_wait_number(t, "pid", SOON_MS);

    assert_int_equal(tool_wait(t, SOON_MS), 98);
    assert_non_null(strstr(tool_err(t), "outlived its test"));
    assert_non_null(strstr(tool_err(t), "sleep 1000"));
    assert_false(tool_runs(orphan));
}

static void an_orphan_of_a_killed_test_is_killed(NO_STATE)
{
    tool *t = tool_start(&how, "sh", "-c", ORPHAN "kill -9 $$", NULL);
    pid_t orphan = (pid_t)tool_wait_number(t, "pid", SOON_MS);

    assert_int_equal(tool_wait(t, SOON_MS), 98);
    assert_false(tool_runs(orphan));
}

static void told_to_end_it_leaves_nothing(NO_STATE)
{
    tool *t = tool_start(&how, "sh", "-c", ORPHAN "exec sleep 1000", NULL);
    pid_t orphan = (pid_t)tool_wait_number(t, "pid", SOON_MS);

    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGTERM);
    assert_false(tool_runs(orphan));
}

int test_support_reap(void)
{
    const struct CMUnitTest tests[] =
        {cmocka_unit_test(the_exit_code_is_the_tests),
         cmocka_unit_test(an_orphan_fails_the_test_and_is_killed),
         cmocka_unit_test(an_orphan_of_a_killed_test_is_killed),
         cmocka_unit_test(told_to_end_it_leaves_nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
