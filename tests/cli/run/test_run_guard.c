/* SPDX-License-Identifier: MIT */

/*
 * The guardian by itself, for what a tool does that stands still between
 * obtaining and running: it cannot be made to from outside.
 */

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/run/guard.h"
#include "support/check.h"

/* A process in a group of its own, which says with 42 that it was let in. */
static pid_t stand_at(const int gate[2])
{
    pid_t pid = fork();
    char go;

    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)close(gate[1]);
        _exit(read(gate[0], &go, 1) == 1 ? 42 : 1);
    }
    assert_true(pid > 0);
    (void)setpgid(pid, pid);
    return pid;
}

/* How one ends whose lease has so much left when the guardian gets to know
   it, in milliseconds. */
static int end_at_gate(run_policy policy, int64_t left_ms)
{
    run_env env;
    run_plan plan = {.policy = policy, .command = "true", .env = &env};
    run_guard guard;
    int gate[2];
    int status;
    pid_t pid;

    run_plan_times(&plan, 30000, 1000);
    assert_true(run_env_make(&env, "n"));
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    assert_true(run_guard_open(&guard));
    assert_true(run_guard_start(&guard, &plan, gate[1]));
    pid = stand_at(gate);
    (void)close(gate[0]);
    (void)close(gate[1]);
    assert_true(run_guard_hold(&guard, cli_now_ns() + left_ms * CLI_NS_PER_MS,
                               "1", "owner"));
    assert_true(run_guard_child(&guard, pid, true));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    run_guard_end(&guard);
    run_env_done(&env);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

CHECK_TEST(who_comes_in_time_is_let_in)
{
    assert_int_equal(end_at_gate(RUN_TERM, 30000), 42);
}

CHECK_TEST(who_comes_too_late_is_killed_at_the_gate)
{
    assert_int_equal(end_at_gate(RUN_TERM, -1), -SIGKILL);
    assert_int_equal(end_at_gate(RUN_TERM, 500), -SIGKILL);
    assert_int_equal(end_at_gate(RUN_KILL, -1), -SIGKILL);
    assert_int_equal(end_at_gate(RUN_COMMAND, -1), -SIGKILL);
}

CHECK_TEST(who_is_only_warned_is_let_in)
{
    assert_int_equal(end_at_gate(RUN_WARN, -1), 42);
}

/* The tool that replaces a guardian may be killed at that very moment. */
CHECK_TEST(what_is_said_before_its_start_is_known)
{
    run_env env;
    run_plan plan = {.policy = RUN_KILL, .env = &env};
    run_guard guard;
    int gate[2];
    int status;
    pid_t pid;

    run_plan_times(&plan, 30000, 1000);
    assert_true(run_env_make(&env, "n"));
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    pid = stand_at(gate);
    assert_true(run_guard_open(&guard));
    assert_true(run_guard_hold(&guard, cli_now_ns() + 30000 * CLI_NS_PER_MS,
                               "1", "owner"));
    assert_true(run_guard_child(&guard, pid, true));
    assert_true(run_guard_start(&guard, &plan, -1));
    (void)close(guard.socket);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(waitpid(guard.pid, &status, 0), guard.pid);
    (void)close(gate[0]);
    (void)close(gate[1]);
    run_env_done(&env);
}

/* How much of a lease of 30 s is left when the command is ended, in
   milliseconds. */
static int64_t notice_ms(run_policy policy)
{
    run_plan plan = {.policy = policy};

    run_plan_times(&plan, 30000, 5000);
    return plan.notice_ns / CLI_NS_PER_MS;
}

CHECK_TEST(only_what_is_asked_to_end_is_given_time_for_it)
{
    assert_int_equal(notice_ms(RUN_TERM), 6000);
    assert_int_equal(notice_ms(RUN_COMMAND), 6000);
    assert_int_equal(notice_ms(RUN_KILL), 1000);
}
