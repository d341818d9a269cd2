/* SPDX-License-Identifier: MIT */

/* Signals to the tool reach the command, and what they do to a wait. */

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

TOOLING_TEST(every_signal_that_can_be_caught_is_forwarded)
{
    static const struct {
        int number;
        const char *word;
    } signals[] = {
        {SIGHUP, "HUP"},   {SIGINT, "INT"},     {SIGQUIT, "QUIT"},
        {SIGTERM, "TERM"}, {SIGUSR1, "USR1"},   {SIGUSR2, "USR2"},
        {SIGALRM, "ALRM"}, {SIGWINCH, "WINCH"}, {SIGURG, "URG"},
    };
    tool *t = tool_start(&how, "lock", "n", "-c",
                         "for s in HUP INT QUIT TERM USR1 USR2 ALRM WINCH URG; "
                         "do trap \"echo got $s\" $s; done; "
                         "trap 'exit 4' CONT; echo child=$$; "
                         "while :; do sleep 0.02; done",
                         NULL);
    char line[32];

    (void)tool_wait_number(t, "child", SOON_MS);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        assert_int_equal(kill(tool_pid(t), signals[i].number), 0);
        (void)snprintf(line, sizeof(line), "got %s\n", signals[i].word);
        tool_wait_out(t, line, SOON_MS);
    }
    assert_int_equal(kill(tool_pid(t), SIGCONT), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 4);
}

TOOLING_TEST(a_signal_that_ends_the_command_is_its_code)
{
    tool *t = tool_start(&how, "lock", "n", "-c",
                         "echo child=$$; exec sleep 100", NULL);

    (void)tool_wait_number(t, "child", SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 143);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

TOOLING_TEST(the_whole_group_gets_it)
{
    tool *t = tool_start(&how, "lock", "n", "-c",
                         "sh -c 'echo grand=$$; exec sleep 100'; exit 0", NULL);
    pid_t grand = (pid_t)tool_wait_number(t, "grand", SOON_MS);

    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 143);
    assert_false(tool_runs(grand));
}

TOOLING_TEST(in_the_foreground_only_the_command_gets_it)
{
    tool *t =
        tool_start(&how, "lock", "--foreground", "n", "-c",
                   "trap 'exit 6' TERM; echo child=$$; ps -o pgid= -p $$; "
                   "while :; do sleep 0.02; done",
                   NULL);
    char group[32];

    (void)tool_wait_number(t, "child", SOON_MS);
    (void)snprintf(group, sizeof(group), "%d\n", (int)getpgid(tool_pid(t)));
    tool_wait_out(t, group, SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 6);
}

TOOLING_TEST(nohup_is_respected)
{
    const tool_how shell = {.url = server_url(redis), .program = "nohup"};
    tool *holder = tool_start(&how, "lock", "n", "-c",
                              "echo child=$$; exec sleep 100", NULL);
    pid_t first = (pid_t)tool_wait_number(holder, "child", SOON_MS);
    tool *t = tool_start(&shell, LK_TOOL, "lock", "n", "-c",
                         "echo child=$$; exec sleep 0.3", NULL);

    tool_wait_err(t, "waiting for n", SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGHUP), 0);
    assert_int_equal(kill(first, SIGTERM), 0);
    (void)tool_wait_number(t, "child", SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGHUP), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
}

TOOLING_TEST(who_waits_leaves_the_queue_when_told_to_end)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    tool *holder = tool_start(&how, "lock", "n", "-c",
                              "echo child=$$; exec sleep 100", NULL);

    (void)tool_wait_number(holder, "child", SOON_MS);
    for (size_t i = 0; i < 3; i++) {
        tool *t = tool_start(&how, "lock", "n", "echo", "ran", NULL);

        tool_wait_err(t, "waiting for n", SOON_MS);
        assert_soon(server_integer(redis, SERVER_WAITERS("n")) == 1, SOON_MS);
        assert_int_equal(kill(tool_pid(t), numbers[i]), 0);
        assert_int_equal(tool_wait(t, SOON_MS), 128 + numbers[i]);
        assert_soon(server_integer(redis, SERVER_WAITERS("n")) == 0, SOON_MS);
        assert_string_equal(tool_out(t), "");
        tool_free(t);
    }
}

typedef struct watch {
    uint64_t until_ms;
    bool is_kept;
} watch;

static bool is_over(watch *w)
{
    w->is_kept = w->is_kept && server_integer(redis, "EXISTS n") == 1;
    return !w->is_kept || wait_now_ms() >= w->until_ms;
}

/* Somebody wants it to stand still: the lock is kept for longer than its
   lease. With a short --kill-after the guardian waits for a renewal that is late. */
TOOLING_TEST(a_command_that_is_stopped_keeps_its_lock)
{
    const unsigned lease_ms = 2 * tool_lease_ms(&how);
    watch w = {.is_kept = true};
    char lease[32];
    tool *t;
    pid_t child;

    (void)snprintf(lease, sizeof(lease), "--lease=%ums", lease_ms);
    t = tool_start(&how, "lock", lease, "-k100ms", "n", "-c",
                   "echo child=$$; exec sleep 100", NULL);
    child = (pid_t)tool_wait_number(t, "child", SOON_MS);
    assert_int_equal(kill(child, SIGSTOP), 0);
    w.until_ms = wait_now_ms() + lease_ms * 5 / 4;
    assert_soon(is_over(&w), 2 * lease_ms);
    assert_true(w.is_kept);
    assert_true(tool_runs(child));
    assert_int_equal(kill(tool_pid(t), SIGCONT), 0);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 143);
}

CHECK_GROUP(tooling_start, tooling_stop)
