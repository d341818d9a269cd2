/* SPDX-License-Identifier: MIT */

/* The lock is lost while the command runs: what --on-lost asks for. */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tooling.h"

enum { SOON_MS = 10000 };

#define PROGRAM                                                                \
    "trap 'echo told; exit 9' TERM; echo child=$$; while :; do sleep 0.05; "   \
    "done"
#define DEAF "trap '' TERM; echo child=$$; while :; do sleep 0.05; done"

static lk_client *client;
static lk_lock *lock;

static int start(void **state)
{
    if (tooling_start(state) != 0)
        return -1;
    return lk_client_open(&client, server_url(redis), NULL) == LK_OK &&
                   lk_lock_new(&lock, client, "n", NULL) == LK_OK
               ? 0
               : -1;
}

static int end(void **state)
{
    lk_lock_free(lock);
    lk_client_free(client);
    return tooling_stop(state);
}

static int forget(void **state)
{
    int result = tooling_teardown(state);

    freeReplyObject(server_command(redis, "ACL SETUSER default +@all"));
    return result;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, forget)

TEST(an_operator_s_break_ends_the_command)
{
    tool *t = tool_start(&how, "lock", "n", "-c", PROGRAM, NULL);

    (void)tool_wait_number(t, "child", SOON_MS);
    assert_status(lk_lock_force_release(lock), LK_OK);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_non_null(strstr(tool_out(t), "told\n"));
    assert_non_null(strstr(tool_err(t), "latchkey lock: lock 'n' is lost: "));
    assert_non_null(strstr(tool_err(t), "; the command is ended\n"));
}

TEST(who_ignores_the_first_signal_gets_the_second)
{
    tool *t =
        tool_start(&how, "lock", "--kill-after", "0.1", "n", "-c", DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);

    assert_status(lk_lock_force_release(lock), LK_OK);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_false(tool_runs(child));
}

TEST(in_the_foreground_the_command_is_ended_as_well)
{
    tool *t = tool_start(&how, "lock", "--foreground", "-k0.1", "n", "-c", DEAF,
                         NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);

    assert_int_equal(getpgid(child), getpgid(tool_pid(t)));
    assert_status(lk_lock_force_release(lock), LK_OK);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_false(tool_runs(child));
}

TEST(in_the_foreground_it_is_ended_with_the_tool)
{
    tool *t = tool_start(&how, "lock", "--foreground", "-k0.1", "n", "-c", DEAF,
                         NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);

    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
}

TEST(kill_gives_no_time)
{
    tool *t =
        tool_start(&how, "lock", "--on-lost=kill", "n", "-c", PROGRAM, NULL);

    (void)tool_wait_number(t, "child", SOON_MS);
    assert_status(lk_lock_force_release(lock), LK_OK);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_null(strstr(tool_out(t), "told"));
}

TEST(warn_lets_the_command_go_on)
{
    tool *t =
        tool_start(&how, "lock", "--on-lost=warn", "n", "-c", PROGRAM, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);

    assert_status(lk_lock_force_release(lock), LK_OK);
    tool_wait_err(t, "; the command goes on\n", SOON_MS);
    assert_true(tool_runs(child));
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_non_null(strstr(tool_out(t), "told\n"));
}

TEST(warn_outlives_the_tool)
{
    tool *t =
        tool_start(&how, "lock", "--on-lost=warn", "n", "-c", PROGRAM, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);

    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 137);
    assert_true(tool_runs(child));
    assert_int_equal(kill(child, SIGTERM), 0);
    tool_wait_out(t, "told\n", SOON_MS);
}

TEST(a_command_of_one_s_own_is_run_instead)
{
    tool *t =
        tool_start(&how, "lock",
                   "--on-lost=run:echo lost $LATCHKEY_NAME $LATCHKEY_FENCE >&2",
                   "-k0.1", "n", "-c", DEAF "; echo $LATCHKEY_FENCE", NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    char *fence = server_record(redis, "n", SERVER_FENCE);
    char line[64];

    (void)snprintf(line, sizeof(line), "lost n %s\n", fence);
    free(fence);
    assert_status(lk_lock_force_release(lock), LK_OK);
    tool_wait_err(t, line, SOON_MS);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_false(tool_runs(child));
}

/* The next renewal tells. */
TEST(a_lock_that_is_deleted_is_lost)
{
    char lease[32];
    tool *t;

    (void)snprintf(lease, sizeof(lease), "--lease=%ums", tool_lease_ms(&how));
    t = tool_start(&how, "lock", lease, "n", "-c", PROGRAM, NULL);
    (void)tool_wait_number(t, "child", SOON_MS);
    server_flush(redis);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_non_null(
        strstr(tool_err(t), "is lost: the server does not know it any more"));
}

/* The command is not ended before, so the tool hears why. */
TEST(one_that_may_not_be_renewed_any_more_is_lost)
{
    char lease[32];
    pid_t pid;
    tool *t;

    (void)snprintf(lease, sizeof(lease), "--lease=%ums", tool_lease_ms(&how));
    t = tool_start(&how, "lock", "--on-lost=warn", lease, "n", "-c", PROGRAM,
                   NULL);
    pid = (pid_t)tool_wait_number(t, "child", SOON_MS);
    freeReplyObject(server_command(redis, "ACL SETUSER default -pexpire"));
    tool_wait_err(
        t,
        "is lost: an access rule of the server forbids to renew "
        "it; the command goes on\n  latchkey doctor names the right\n",
        SOON_MS);
    freeReplyObject(server_command(redis, "ACL SETUSER default +pexpire"));
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
}

/* The command is ended while the lease still runs. */
TEST(one_that_is_given_up_in_time_says_what_was_denied)
{
    char lease[32];
    tool *t;

    (void)snprintf(lease, sizeof(lease), "--lease=%ums", tool_lease_ms(&how));
    t = tool_start(&how, "lock", lease, "n", "-c", PROGRAM, NULL);
    (void)tool_wait_number(t, "child", SOON_MS);
    freeReplyObject(server_command(redis, "ACL SETUSER default -pexpire"));
    tool_wait_err(
        t,
        "is lost: an access rule of the server forbids to renew "
        "it; the command is ended\n  latchkey doctor names the right\n",
        SOON_MS);
    freeReplyObject(server_command(redis, "ACL SETUSER default +pexpire"));
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_non_null(strstr(tool_out(t), "told\n"));
}

TEST(a_lock_that_was_handed_over_is_held_for_the_whole_lease)
{
    tool *first = tool_start(&how, "lock", "n", "-c", PROGRAM, NULL);
    pid_t child = (pid_t)tool_wait_number(first, "child", SOON_MS);
    tool *second = tool_start(&how, "lock", "--lease", "20", "n", "-c",
                              "cat /proc/uptime; env; " PROGRAM, NULL);
    double now;

    tool_wait_err(second, "waiting for n", SOON_MS);
    assert_int_equal(kill(child, SIGTERM), 0);
    (void)tool_wait_number(second, "child", SOON_MS);
    now = strtod(tool_out(second), NULL);
    assert_true((double)tool_wait_number(second, "LATCHKEY_DEADLINE", SOON_MS) >
                (now + 10) * 1000);
    assert_string_equal(strchr(tool_err(second), '\n') + 1, "");
}

CHECK_GROUP(start, end)
