/* SPDX-License-Identifier: MIT */

/*
 * Whatever stands still or cannot be reached, the command and its process
 * group are dead before the lease ends.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/guardian.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

static unsigned lease_ms;
static char lease[32];

static int start(void **state)
{
    if (tooling_start(state) != 0)
        return -1;
    lease_ms = tool_lease_ms(&how) * 3 / 2;
    (void)snprintf(lease, sizeof(lease), "--lease=%ums", lease_ms);
    return 0;
}

/* Whoever holds it next looks whether two processes are still there. */
static tool *successor(pid_t a, pid_t b)
{
    char line[256];

    (void)snprintf(line, sizeof(line),
                   "for p in %d %d; do if read -r pid name state rest "
                   "</proc/$p/stat && [ $state != Z ]; then echo alive; fi; "
                   "done 2>&-; echo looked",
                   (int)a, (int)b);
    return tool_start(&how, "lock", "n", "-c", line, NULL);
}

/* It renews nothing while it stands still, so the lease ends. */
TOOLING_TEST(a_tool_that_stands_still_does_not_hold_the_guardian_up)
{
    tool *t = tool_start(&how, "lock", lease, "n", "-c", GUARDIAN_DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);
    tool *next;

    assert_int_equal(kill(tool_pid(t), SIGSTOP), 0);
    next = successor(child, grand);
    assert_int_equal(tool_wait(next, lease_ms + SOON_MS), 0);
    assert_string_equal(tool_out(next), "looked\n");
    assert_int_equal(kill(tool_pid(t), SIGCONT), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    tool_wait_err(t, "lock 'n' is lost: the tool itself stood still for ",
                  SOON_MS);
    tool_wait_err(t,
                  " and did not renew it; the command is ended\n"
                  "  a longer --lease outlasts that\n",
                  SOON_MS);
}

/* The same signal to the whole group of the tool: the guardian is elsewhere. */
TOOLING_TEST(a_signal_to_the_tool_s_group_misses_the_guardian)
{
    const tool_how own = {.url = server_url(redis), .program = "setsid"};
    tool *t = tool_start(&own, LK_TOOL, "lock", lease, "n", "-c", GUARDIAN_DEAF,
                         NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    tool *next;

    assert_int_equal(kill(-tool_pid(t), SIGSTOP), 0);
    next = successor(child, child);
    assert_int_equal(tool_wait(next, lease_ms + SOON_MS), 0);
    assert_string_equal(tool_out(next), "looked\n");
    assert_int_equal(kill(-tool_pid(t), SIGKILL), 0);
}

TOOLING_TEST(a_guardian_that_stands_still_is_replaced)
{
    tool *t =
        tool_start(&how, "lock", "-k100ms", "n", "-c", GUARDIAN_DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t first = guardian_of(t);

    assert_int_equal(kill(first, SIGSTOP), 0);
    tool_wait_gone(first, SOON_MS);
    guardian_wait_replaced(t, first);
    assert_true(tool_runs(child));
    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
    assert_true(guardian_is_kept());
}

TOOLING_TEST(a_server_that_is_gone_ends_the_command_before_the_lease)
{
    tool *t = tool_start(&how, "lock", lease, "n", "-c", GUARDIAN_TELLS, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    uint64_t ends = wait_now_ms() + lease_ms;

    server_kill(redis);
    tool_wait_out(t, "told\n", lease_ms + SOON_MS);
    tool_wait_gone(child, SOON_MS);
    assert_true(wait_now_ms() < ends);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_non_null(strstr(tool_err(t), "lock 'n' is lost"));
    assert_non_null(strstr(tool_err(t), "the command is ended"));
}

/* Nothing is run that no guardian knows. */
static void without_a_guardian_nothing_is_run(int number)
{
    tool *t = tool_start(&how, "lock", "n", "-c",
                         "echo child=$$; exec sleep 100", NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    tool *waiter = tool_start(&how, "lock", "n", "echo", "ran", NULL);

    tool_wait_err(waiter, "waiting for n", SOON_MS);
    assert_int_equal(kill(guardian_of(waiter), number), 0);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(tool_wait(waiter, SOON_MS), 70);
    assert_string_equal(tool_out(waiter), "");
    tool_wait_err(waiter, "the guardian has died; the command was not run",
                  SOON_MS);
    assert_false(guardian_is_kept());
}

TOOLING_TEST(a_guardian_that_dies_while_it_waits_is_missed)
{
    without_a_guardian_nothing_is_run(SIGKILL);
}

TOOLING_TEST(a_guardian_that_stops_while_it_waits_is_missed)
{
    without_a_guardian_nothing_is_run(SIGSTOP);
}

CHECK_GROUP(start, tooling_stop)
