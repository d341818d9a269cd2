/* SPDX-License-Identifier: MIT */

/*
 * Whatever stands still or cannot be reached, the command and its process
 * group are dead before the lease ends.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static unsigned lease_ms;
static char lease[32];

static int start(void **state)
{
    (void)state;
    redis = server_start(NULL);
    if (redis == NULL)
        return -1;
    how = (tool_how){.url = server_url(redis)};
    lease_ms = tool_lease_ms(&how) * 3 / 2;
    (void)snprintf(lease, sizeof(lease), "--lease=%ums", lease_ms);
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
    if (server_pid(redis) == 0)
        return server_restart(redis) ? 0 : -1;
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

/* Whoever holds it next looks whether two processes are still there. */
static tool *successor(pid_t a, pid_t b)
{
    char line[256];

    (void)snprintf(line, sizeof(line),
                   "for p in %d %d; do if read -r pid name state rest "
                   "</proc/$p/stat && [ $state != Z ]; then echo alive; fi; "
                   "done 2>&-; echo looked",
                   (int)a, (int)b);
    return tool_start(&how, "run", "n", "-c", line, NULL);
}

/* It renews nothing while it stands still, so the lease ends. */
static void a_tool_that_stands_still_does_not_hold_the_guardian_up(void **state)
{
    tool *t = tool_start(&how, "run", lease, "n", "-c", DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);
    tool *next;

    (void)state;
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
static void a_signal_to_the_tool_s_group_misses_the_guardian(void **state)
{
    const tool_how own = {.url = server_url(redis), .program = "setsid"};
    tool *t = tool_start(&own, LK_TOOL, "run", lease, "n", "-c", DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    tool *next;

    (void)state;
    assert_int_equal(kill(-tool_pid(t), SIGSTOP), 0);
    next = successor(child, child);
    assert_int_equal(tool_wait(next, lease_ms + SOON_MS), 0);
    assert_string_equal(tool_out(next), "looked\n");
    assert_int_equal(kill(-tool_pid(t), SIGKILL), 0);
}

static void a_guardian_that_stands_still_is_replaced(void **state)
{
    tool *t = tool_start(&how, "run", "-k100ms", "n", "-c", DEAF, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    pid_t first = guardian_of(t);

    (void)state;
    assert_int_equal(kill(first, SIGSTOP), 0);
    tool_wait_gone(first, SOON_MS);
    wait_replaced(t, first);
    assert_true(tool_runs(child));
    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
    assert_true(is_kept());
}

static void
a_server_that_is_gone_ends_the_command_before_the_lease(void **state)
{
    tool *t = tool_start(&how, "run", lease, "n", "-c", PROGRAM, NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    uint64_t ends = wait_now_ms() + lease_ms;

    (void)state;
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
    tool *t = tool_start(&how, "run", "n", "-c",
                         "echo child=$$; exec sleep 100", NULL);
    pid_t child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    tool *waiter = tool_start(&how, "run", "n", "echo", "ran", NULL);

    tool_wait_err(waiter, "waiting for n", SOON_MS);
    assert_int_equal(kill(guardian_of(waiter), number), 0);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(tool_wait(waiter, SOON_MS), 70);
    assert_string_equal(tool_out(waiter), "");
    tool_wait_err(waiter, "the guardian has died; the command was not run",
                  SOON_MS);
    assert_false(is_kept());
}

static void a_guardian_that_dies_while_it_waits_is_missed(void **state)
{
    (void)state;
    without_a_guardian_nothing_is_run(SIGKILL);
}

static void a_guardian_that_stops_while_it_waits_is_missed(void **state)
{
    (void)state;
    without_a_guardian_nothing_is_run(SIGSTOP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            a_tool_that_stands_still_does_not_hold_the_guardian_up, forget),
        cmocka_unit_test_teardown(
            a_signal_to_the_tool_s_group_misses_the_guardian, forget),
        cmocka_unit_test_teardown(a_guardian_that_stands_still_is_replaced,
                                  forget),
        cmocka_unit_test_teardown(a_guardian_that_dies_while_it_waits_is_missed,
                                  forget),
        cmocka_unit_test_teardown(
            a_guardian_that_stops_while_it_waits_is_missed, forget),
        cmocka_unit_test_teardown(
            a_server_that_is_gone_ends_the_command_before_the_lease, forget),
    };

    return cmocka_run_group_tests(tests, start, end);
}
