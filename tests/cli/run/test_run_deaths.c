/* SPDX-License-Identifier: MIT */

/*
 * Whoever dies, the command and its process group are dead
 * while the server still keeps the lock for them, and nobody else has it.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/check.h"
#include "support/server.h"
#include "support/tool.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

/* Says who it is, and ends by SIGTERM only with the time to say so. */
#define PROGRAM                                                                \
    "trap 'echo told; exit 9' TERM; echo tool=$PPID; echo child=$$; "          \
    "while :; do sleep 0.05; done"

/* It and a grandchild that nothing but SIGKILL ends. */
#define DEAF                                                                   \
    "trap '' TERM INT HUP; "                                                   \
    "sh -c 'trap \"\" TERM INT HUP; echo grand=$$; while :; do sleep 1; "      \
    "done' & echo child=$$; while :; do sleep 0.05; done"

static server *redis;
static tool_how how;
static char lease[32];

static int start(void **state)
{
    (void)state;
    redis = server_start(NULL);
    if (redis == NULL)
        return -1;
    how = (tool_how){.url = server_url(redis)};
    (void)snprintf(lease, sizeof(lease), "--lease=%ums",
                   2 * tool_lease_ms(&how));
    return 0;
}

static int end(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

static int forget(void **state)
{
    (void)state;
    tool_free_all();
    server_flush(redis);
    return 0;
}

static bool is_kept(void)
{
    return server_integer(redis, "EXISTS n") == 1;
}

/* A process whose parent is pid and whose name begins like that; 0: none. */
static pid_t child_of(pid_t pid, const char *name)
{
    char command[128];
    char text[64] = "";
    FILE *from;

    (void)snprintf(command, sizeof(command), "pgrep -P %d '^%s'", (int)pid,
                   name);
    from = popen(command, "re"); /* NOLINT(cert-env33-c): of the test's own */
    assert_non_null(from);
    (void)!fgets(text, sizeof(text), from);
    (void)pclose(from);
    return (pid_t)strtol(text, NULL, 10);
}

static pid_t guardian_of(const tool *t)
{
    pid_t guardian = child_of(tool_pid(t), "lk-guardian");

    assert_true(guardian > 0);
    return guardian;
}

/* A kill by name is for the tool: the guardian then ends what it has left. */
static void the_guardian_does_not_go_by_the_tools_name(void **state)
{
    const tool_how pgrep = {.program = "pgrep"};
    char pid[16];
    tool *t =
        tool_start(&how, "lock", "n", "-c", "echo in; exec sleep 100", NULL);

    (void)state;
    tool_wait_out(t, "in\n", SOON_MS);
    (void)guardian_of(t);
    (void)snprintf(pid, sizeof(pid), "%d", (int)tool_pid(t));
    assert_tool(&pgrep, 1, "", "", "-P", pid, "-f", "latchkey lock", NULL);
    assert_tool(&pgrep, 1, "", "", "-P", pid, "^latchkey", NULL);
    tool_free(t);
}

typedef struct change {
    const tool *tool;
    pid_t first;
} change;

static bool is_replaced(void *data)
{
    const change *c = data;
    pid_t now = child_of(tool_pid(c->tool), "lk-guardian");

    return now != 0 && now != c->first;
}

/* Waits until another one than first guards. */
static void wait_replaced(const tool *t, pid_t first)
{
    change c = {t, first};

    assert_true(wait_until(is_replaced, &c, SOON_MS));
}

static void a_tool_that_is_killed_takes_the_command_with_it(void **state)
{
    tool *t = tool_start(&how, "run", "n", "-c", PROGRAM, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t guardian = guardian_of(t);

    (void)state;
    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 137);
    tool_wait_out(t, "told\n", SOON_MS);
    tool_wait_gone(child, SOON_MS);
    assert_true(is_kept());
    tool_wait_gone(guardian, SOON_MS);
}

static void a_grandchild_that_ignores_everything_is_killed_in_time(void **state)
{
    tool *t = tool_start(&how, "run", "-k100ms", "n", "-c", DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);

    (void)state;
    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
    tool_wait_gone(grand, SOON_MS);
    assert_true(is_kept());
}

static void a_guardian_that_is_killed_is_replaced(void **state)
{
    tool *t = tool_start(&how, "run", "-k100ms", "n", "-c", DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t first = guardian_of(t);

    (void)state;
    assert_int_equal(kill(first, SIGKILL), 0);
    tool_wait_gone(first, SOON_MS);
    wait_replaced(t, first);
    assert_true(tool_runs(child));
    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
    assert_true(is_kept());
}

static void what_the_command_leaves_behind_is_ended_with_it(void **state)
{
    tool *t = tool_start(&how, "run", lease, "--kill-after=50ms", "n", "-c",
                         "sh -c 'trap \"\" TERM; echo grand=$$; "
                         "while :; do sleep 1; done' & "
                         "sh -c 'echo quick=$$; exec sleep 100' & "
                         "sleep 0.2; exit 3",
                         NULL);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);
    pid_t quick = (pid_t)tool_wait_number(t, "quick", SOON_MS);

    (void)state;
    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_false(tool_runs(grand));
    assert_false(tool_runs(quick));
    assert_false(is_kept());
}

static void what_has_left_the_group_is_left_alone(void **state)
{
    tool *t = tool_start(&how, "run", lease, "n", "-c",
                         "setsid sh -c 'echo daemon=$$; exec sleep 100' & "
                         "sleep 0.2; exit 3",
                         NULL);
    pid_t daemon = (pid_t)tool_wait_number(t, "daemon", SOON_MS);

    (void)state;
    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_true(tool_runs(daemon));
    assert_int_equal(kill(daemon, SIGKILL), 0);
}

/* Without a descriptor there is no way to another one. */
static void a_guardian_that_cannot_be_replaced_is_told_of(void **state)
{
    const struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};
    tool *t = tool_start(&how, "run", "n", "-c", DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);
    pid_t guardian = guardian_of(t);

    (void)state;
    assert_int_equal(prlimit(tool_pid(t), RLIMIT_NOFILE, &none, NULL), 0);
    assert_int_equal(kill(guardian, SIGKILL), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 137);
    tool_wait_err(t, "no other guardian can be started", SOON_MS);
    assert_false(tool_runs(child));
    assert_false(tool_runs(grand));
}

/* A `sleep` dies in the group; its parent has left it and never asks. */
static void the_dead_of_a_daemon_keep_nothing(void **state)
{
    tool *t = tool_start(&how, "run", lease, "--kill-after=50ms", "n", "-c",
                         "sh -c 'sleep 0.1 & exec setsid sh -c \"echo "
                         "daemon=\\$\\$; exec sleep 100\"' & sleep 0.3; exit 3",
                         NULL);
    pid_t daemon = (pid_t)tool_wait_number(t, "daemon", SOON_MS);

    (void)state;
    assert_int_equal(tool_wait(t, SOON_MS), 3);
    assert_false(is_kept());
    assert_true(tool_runs(daemon));
    assert_int_equal(kill(daemon, SIGKILL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            a_tool_that_is_killed_takes_the_command_with_it, forget),
        cmocka_unit_test_teardown(
            a_grandchild_that_ignores_everything_is_killed_in_time, forget),
        cmocka_unit_test_teardown(the_guardian_does_not_go_by_the_tools_name,
                                  forget),
        cmocka_unit_test_teardown(a_guardian_that_is_killed_is_replaced,
                                  forget),
        cmocka_unit_test_teardown(
            what_the_command_leaves_behind_is_ended_with_it, forget),
        cmocka_unit_test_teardown(a_guardian_that_cannot_be_replaced_is_told_of,
                                  forget),
        cmocka_unit_test_teardown(the_dead_of_a_daemon_keep_nothing, forget),
        cmocka_unit_test_teardown(what_has_left_the_group_is_left_alone,
                                  forget),
    };

    return cmocka_run_group_tests(tests, start, end);
}
