/* SPDX-License-Identifier: MIT */

/*
 * Whoever dies, the command and its process group are dead
 * while the server still keeps the lock for them, and nobody else has it.
 */

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "support/check.h"
#include "support/guardian.h"
#include "support/tooling.h"

enum { SOON_MS = 10000 };

static char lease[32];

static int start(void **state)
{
    if (tooling_start(state) != 0)
        return -1;
    (void)snprintf(lease, sizeof(lease), "--lease=%ums",
                   2 * tool_lease_ms(&how));
    return 0;
}

/* A kill by name is for the tool: the guardian then ends what it has left. */
TOOLING_TEST(the_guardian_does_not_go_by_the_tools_name)
{
    const tool_how pgrep = {.program = "pgrep"};
    char pid[16];
    tool *t =
        tool_start(&how, "lock", "n", "-c", "echo in; exec sleep 100", NULL);

    tool_wait_out(t, "in\n", SOON_MS);
    (void)guardian_of(t);
    (void)snprintf(pid, sizeof(pid), "%d", (int)tool_pid(t));
    assert_tool(&pgrep, 1, "", "", "-P", pid, "-f", "latchkey lock", NULL);
    assert_tool(&pgrep, 1, "", "", "-P", pid, "^latchkey", NULL);
    tool_free(t);
}

TOOLING_TEST(a_tool_that_is_killed_takes_the_command_with_it)
{
    tool *t = tool_start(&how, "lock", "n", "-c", GUARDIAN_TELLS, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t guardian = guardian_of(t);

    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 137);
    tool_wait_out(t, "told\n", SOON_MS);
    tool_wait_gone(child, SOON_MS);
    assert_true(guardian_is_kept());
    tool_wait_gone(guardian, SOON_MS);
}

TOOLING_TEST(a_grandchild_that_ignores_everything_is_killed_in_time)
{
    tool *t =
        tool_start(&how, "lock", "-k100ms", "n", "-c", GUARDIAN_DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);

    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
    tool_wait_gone(grand, SOON_MS);
    assert_true(guardian_is_kept());
}

TOOLING_TEST(a_guardian_that_is_killed_is_replaced)
{
    tool *t =
        tool_start(&how, "lock", "-k100ms", "n", "-c", GUARDIAN_DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t first = guardian_of(t);

    assert_int_equal(kill(first, SIGKILL), 0);
    tool_wait_gone(first, SOON_MS);
    guardian_wait_replaced(t, first);
    assert_true(tool_runs(child));
    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
    assert_true(guardian_is_kept());
}

TOOLING_TEST(what_the_command_leaves_behind_is_ended_with_it)
{
    tool *t = tool_start(&how, "lock", lease, "--kill-after=50ms", "n", "-c",
                         "sh -c 'trap \"\" TERM; echo grand=$$; "
                         "while :; do sleep 1; done' & "
                         "sh -c 'echo quick=$$; exec sleep 100' & "
                         "sleep 0.2; exit 3",
                         NULL);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);
    pid_t quick = (pid_t)tool_wait_number(t, "quick", SOON_MS);

    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_false(tool_runs(grand));
    assert_false(tool_runs(quick));
    assert_false(guardian_is_kept());
}

TOOLING_TEST(what_has_left_the_group_is_left_alone)
{
    tool *t = tool_start(&how, "lock", lease, "n", "-c",
                         "setsid sh -c 'echo daemon=$$; exec sleep 100' & "
                         "sleep 0.2; exit 3",
                         NULL);
    pid_t daemon = (pid_t)tool_wait_number(t, "daemon", SOON_MS);

    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_true(tool_runs(daemon));
    assert_int_equal(kill(daemon, SIGKILL), 0);
}

/* Without a descriptor there is no way to another one. */
TOOLING_TEST(a_guardian_that_cannot_be_replaced_is_told_of)
{
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};
    tool *t = tool_start(&how, "lock", "n", "-c", GUARDIAN_DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);
    pid_t guardian = guardian_of(t);

    assert_int_equal(prlimit(tool_pid(t), RLIMIT_NOFILE, &none, NULL), 0);
    assert_int_equal(kill(guardian, SIGKILL), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 137);
    tool_wait_err(t, "no other guardian can be started", SOON_MS);
    assert_false(tool_runs(child));
    assert_false(tool_runs(grand));
}

/* A `sleep` dies in the group; its parent has left it and never asks. */
TOOLING_TEST(the_dead_of_a_daemon_keep_nothing)
{
    tool *t = tool_start(&how, "lock", lease, "--kill-after=50ms", "n", "-c",
                         "sh -c 'sleep 0.1 & exec setsid sh -c \"echo "
                         "daemon=\\$\\$; exec sleep 100\"' & sleep 0.3; exit 3",
                         NULL);
    pid_t daemon = (pid_t)tool_wait_number(t, "daemon", SOON_MS);

    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_false(guardian_is_kept());
    assert_true(tool_runs(daemon));
    assert_int_equal(kill(daemon, SIGKILL), 0);
}

CHECK_GROUP(start, tooling_stop)
