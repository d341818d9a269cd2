/* SPDX-License-Identifier: MIT */

/* How long a command may run, how long its name is held at least, and who would
   wait for itself. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/guardian.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

/* ---- a limit ------------------------------------------------------------ */

TOOLING_TEST(a_command_that_takes_too_long_is_ended)
{
    assert_tool(&how, 124, "", "the command has run for 0.20 s and is ended",
                "lock", "--time-limit=0.2", "n", "sleep", "100", NULL);
    assert_tool(&how, 124, "", NULL, "lock", "-q", "--time-limit=0.2", "n",
                "-c", "trap 'exit 3' TERM; while :; do sleep 0.01; done", NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

/* SIGTERM that is ignored is followed by SIGKILL, for the whole group. */
TOOLING_TEST(who_ignores_that_is_killed_with_its_children)
{
    tool *t = tool_start(&how, "lock", "--time-limit=0.2", "-k0.2", "n", "-c",
                         "trap '' TERM; sleep 100 & echo pid=$!; while :; do "
                         "wait; done",
                         NULL);
    const pid_t pid = (pid_t)tool_wait_number(t, "pid", SOON_MS);

    assert_int_equal(tool_wait(t, SOON_MS), 124);
    tool_wait_gone(pid, SOON_MS);
    tool_free(t);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

TOOLING_TEST(who_ends_in_time_keeps_its_code)
{
    assert_tool(&how, 3, "", "", "lock", "--time-limit=100", "n", "-c",
                "exit 3", NULL);
    assert_tool(&how, 124, "\"outcome\":\"time-limit\",\"exit\":124", NULL,
                "lock", "--time-limit=0.1", "--status-fd=1", "n", "sleep",
                "100", NULL);
}

TOOLING_TEST(the_command_keeps_the_stream_that_the_status_goes_to)
{
    assert_tool(&how, 0, "from the command\n{", "", "lock", "--status-fd=1",
                "n", "-c", "echo from the command", NULL);
    assert_tool(&how, 0, "", "from the command\n{", "lock", "--status-fd=2",
                "n", "-c", "echo from the command >&2", NULL);
}

/* A time of several parts. */
TOOLING_TEST(a_minute_and_a_half_is_understood)
{
    static const char *const wrong[] = {"1m30", "30s1m", "1s1s", "m", "1.2.3"};

    assert_tool(&how, 0, "", "", "lock", "-w1m30s", "--time-limit=1h0.5m", "n",
                "true", NULL);
    assert_tool(&how, 0, "", "", "lock", "-w10sec", "n", "true", NULL);
    assert_tool(&how, 124, "", "has run for 0.25 s", "lock",
                "--time-limit=0s250ms", "n", "sleep", "100", NULL);
    for (size_t i = 0; i < 5; i++)
        assert_tool(&how, 64, "", "it has to be a time", "lock", "-w", wrong[i],
                    "n", "true", NULL);
}

/* As the tool shows times, on the command line, in the URL and in the
   configuration. */
TOOLING_TEST(a_time_is_understood_as_it_is_shown)
{
    static const char *const wrong[] = {":42",   "0:4",     "0:60", "0:0.5",
                                        "0:42s", "1:2:3:4", "1:-1"};
    char url[128];

    assert_tool(&how, 0, "", "", "lock", "-w0:42", "--lease=1:02:03", "n",
                "true", NULL);
    assert_tool(&how, 124, "", "has run for 1.00 s", "lock",
                "--time-limit=0:01", "n", "sleep", "100", NULL);
    (void)snprintf(url, sizeof(url), "%s?command_timeout_ms=0:02",
                   server_url(redis));
    assert_tool(&how, 0, "", "", "--url", url, "lock", "n", "true", NULL);
    (void)setenv("LATCHKEY_WAIT", "0:01", 1);
    assert_tool(&how, 0, "", "", "lock", "n", "true", NULL);
    (void)unsetenv("LATCHKEY_WAIT");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_tool(&how, 64, "", "it has to be a time", "lock", "-w", wrong[i],
                    "n", "true", NULL);
}

/* ---- at least ----------------------------------------------------------- */

/* A host's cron starts the job, which is short; NAME is kept. A hold that is lost
   before the tool has noted the job's end counts as lost under it. */
static tool *first_host(void)
{
    tool *t = tool_start(&how, "lock", "-nq", "-E0", "--at-least=100", "job",
                         "--", "sh", "-c", "echo pid=$$", NULL);

    (void)tool_wait_number(t, "pid", SOON_MS);
    guardian_wait_ended(t);
    return t;
}

/* The clocks of the others are late: the first one's job has ended. */
TOOLING_TEST(a_job_runs_once_per_tick_on_three_hosts)
{
    for (int tick = 0; tick < 2; tick++) {
        tool *first = first_host();

        for (int host = 0; host < 2; host++)
            assert_tool(&how, 0, "", "", "lock", "-nq", "-E0", "--at-least=100",
                        "job", "--", "echo", "ran", NULL);
        /* The period is over. */
        assert_int_equal(tool_code(&how, "break", "--yes", "--now", "job",
                                   NULL),
                         0);
        assert_int_equal(tool_wait(first, SOON_MS), 0);
        assert_int_equal(server_integer(redis, "EXISTS job"), 0);
        tool_free(first);
    }
}

/* The others are late, and the first one is told to end meanwhile. */
static void assert_is_kept(tool *first, int code, int lease_ms)
{
    assert_int_equal(tool_wait(first, SOON_MS), code);
    assert_tool(&how, 0, "", "", "lock", "-nq", "-E0", "--at-least=100", "job",
                "--", "echo", "ran", NULL);
    assert_in_range(server_integer(redis, "PTTL job"), lease_ms - 20000,
                    lease_ms);
    assert_tool(&how, 0, "kept for 1:40 at least", "", "who", "job", NULL);
    assert_int_equal(tool_code(&how, "break", "--yes", "--now", "job", NULL),
                     0);
    assert_int_equal(server_integer(redis, "EXISTS job"), 0);
    tool_free(first);
}

TOOLING_TEST(a_signal_behind_the_job_leaves_the_name_taken)
{
    tool *first = first_host();

    (void)kill(tool_pid(first), SIGTERM);
    assert_is_kept(first, 0, 100000);
}

TOOLING_TEST(a_signal_during_the_job_leaves_the_name_taken)
{
    tool *first = tool_start(&how, "lock", "--at-least=100", "job", "--", "sh",
                             "-c", "echo in; exec sleep 100", NULL);

    tool_wait_out(first, "in\n", SOON_MS);
    (void)kill(tool_pid(first), SIGTERM);
    tool_wait_err(first, "'job' stays taken for 1:3", SOON_MS);
    assert_is_kept(first, 128 + SIGTERM, 100000);
}

/* Its end is nearer than that of the lease. */
TOOLING_TEST(a_lease_is_not_made_shorter)
{
    tool *first =
        tool_start(&how, "lock", "--at-least=100", "--lease=300", "job", "--",
                   "sh", "-c", "echo in; exec sleep 100", NULL);

    tool_wait_out(first, "in\n", SOON_MS);
    (void)kill(tool_pid(first), SIGTERM);
    assert_is_kept(first, 128 + SIGTERM, 300000);
}

/* The command that is shown may have ended; why its name is held is said. */
TOOLING_TEST(it_is_said_that_a_name_is_kept)
{
    assert_tool(&how, 0, "kept for 0.20 s at least: nightly", "", "lock",
                "-ynightly", "--at-least=0.2", "job", "--", LK_TOOL, "who",
                "job", NULL);
    assert_tool(&how, 0, "\"reason\":\"kept for 0.20 s at least\"", "", "lock",
                "--at-least=0.2", "job", "--", LK_TOOL, "who", "--json", "job",
                NULL);
    assert_tool(&how, 0, "\"reason\":\"nightly\"", "", "lock", "-ynightly",
                "job", "--", LK_TOOL, "who", "--json", "job", NULL);
}

TOOLING_TEST(the_time_counts_from_the_begin_and_ends_by_itself)
{
    uint64_t began = wait_now_ms();

    assert_tool(&how, 7, "", "", "lock", "--at-least=0.4", "n", "-c", "exit 7",
                NULL);
    assert_true(wait_now_ms() - began >= 400);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
    assert_tool(&how, 127, "", NULL, "lock", "--at-least=1000", "n",
                "no-such-thing", NULL);
}

/* What was done is done: the exit code stays the command's. */
TOOLING_TEST(a_name_that_is_lost_afterwards_is_told_of)
{
    tool *t = first_host();
    tool *breaking;

    breaking = tool_start(&how, "break", "--yes", "job", NULL);
    assert_int_equal(tool_wait(breaking, SOON_MS), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_non_null(strstr(tool_err(t), "lost before --at-least was over: an "
                                        "operator has ended it"));
    tool_free(t);
    tool_free(breaking);
}

/* ---- nested ------------------------------------------------------------- */

TOOLING_TEST(who_would_wait_for_itself_is_told_so)
{
    static const char words[] =
        "this command runs under a latchkey that holds '";

    assert_tool(&how, 75, "", words, "lock", "n", LK_TOOL, "lock", "n", "true",
                NULL);
    assert_tool(&how, 75, "", words, "lock", "n", LK_TOOL, "lock", "-qE0", "n",
                "true", NULL);
    assert_tool(&how, 75, "", words, "lock", "n", LK_TOOL, "lock", "m", LK_TOOL,
                "lock", "-w100", "n", "true", NULL);
    assert_tool(&how, 75, "", words, "read", "r", LK_TOOL, "write", "r", "true",
                NULL);
    assert_tool(&how, 75, "", words, "semaphore", "-p1", "s", LK_TOOL,
                "semaphore", "s", "true", NULL);
    assert_tool(&how, 75, NULL, words, "lock", "n", LK_TOOL, "acquire", "-l1m",
                "n", NULL);
}

TOOLING_TEST(what_can_be_had_is_had)
{
    assert_tool(&how, 0, "", "", "lock", "n", LK_TOOL, "lock", "m", "true",
                NULL);
    assert_tool(&how, 0, "", "", "read", "r", LK_TOOL, "read", "r", "true",
                NULL);
    assert_tool(&how, 0, "", "", "semaphore", "-p2", "s", LK_TOOL, "semaphore",
                "s", "true", NULL);
}

/* Somebody else's hold is waited for, nested or not. */
TOOLING_TEST(another_ones_hold_is_waited_for)
{
    tool *other = tool_start(&how, "lock", "m", "--", "sh", "-c",
                             "echo held; exec sleep 100", NULL);
    tool *t;

    tool_wait_out(other, "held\n", SOON_MS);
    t = tool_start(&how, "lock", "n", LK_TOOL, "lock", "m", "true", NULL);
    tool_wait_err(t, "waiting for m: position 1 of 1, held by ", SOON_MS);
    (void)kill(tool_pid(other), SIGTERM);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    tool_free(t);
    tool_free(other);
}

/* ---- what is said beside the command line ------------------------------- */

/* The lease of "n", held by the words of a command line, in milliseconds. */
static long long lease_of(const tool_how *by, const char *option)
{
    tool *t = tool_start(by, "lock", option, "n", "-c",
                         "echo in; exec sleep 100", NULL);
    long long left;

    tool_wait_out(t, "in\n", SOON_MS);
    left = server_integer(redis, "PTTL n");
    tool_free(t);
    server_flush(redis);
    return left;
}

/* A lease of h hours, of which a moment has passed. */
static void assert_hours(long long h, long long ms)
{
    assert_in_range(ms, (h - 1) * 3600000 + 1, h * 3600000);
}

TOOLING_TEST(the_first_who_says_a_lease_counts)
{
    static char file[] = "/tmp/lk-times-XXXXXX";
    char config[64], url[512];
    const char *env[] = {config, "LATCHKEY_LEASE=6h", NULL};
    const char *only[] = {config, NULL};
    tool_how by = {.url = url, .env = env};
    int fd = mkstemp(file);

    assert_true(fd >= 0 && write(fd, "lease = 4h\n", 11) == 11);
    (void)close(fd);
    (void)snprintf(config, sizeof(config), "LATCHKEY_CONFIG=%s", file);
    (void)snprintf(url, sizeof(url), "%s?watchdog_ms=2h", server_url(redis));
    assert_hours(8, lease_of(&by, "-l8h"));
    assert_hours(6, lease_of(&by, "-q"));
    by.env = only;
    assert_hours(4, lease_of(&by, "-q"));
    by.env = NULL;
    assert_hours(2, lease_of(&by, "-q"));
    (void)unlink(file);
}

TOOLING_TEST(a_wait_that_is_set_ends_those_that_say_none)
{
    const char *env[] = {"LATCHKEY_WAIT=0.2", NULL};
    const tool_how brief = {.url = server_url(redis), .env = env};
    const char *const commands[] = {"lock", "hold", "acquire"};

    assert_int_equal(tool_code(&how, "acquire", "n", "-l1h", NULL), 0);
    for (size_t i = 0; i < 3; i++)
        assert_tool(&brief, 75, NULL, "lock 'n' is not obtained", commands[i],
                    "-l1m", "n", i == 0 ? "true" : NULL, NULL);
    assert_tool(&brief, 75, NULL, NULL, "lock", "-n", "n", "true", NULL);
}

TOOLING_TEST(a_setting_that_is_no_time_is_refused)
{
    const char *env[] = {"LATCHKEY_LEASE=soon", NULL};
    const tool_how how_long = {.url = server_url(redis), .env = env};

    assert_tool(&how_long, 78, "",
                "LATCHKEY_LEASE: the lease is 'soon'; it has to be a time",
                "lock", "n", "true", NULL);
    env[0] = "LATCHKEY_LEASE=100ms";
    assert_tool(&how_long, 78, NULL, "it has to be 1s to 24h", "hold", "n",
                NULL);
    env[0] = "LATCHKEY_WAIT=-1";
    assert_tool(&how_long, 78, "", "LATCHKEY_WAIT: the wait is '-1'", "lock",
                "n", "true", NULL);
    assert_int_equal(server_integer(redis, "DBSIZE"), 0);
}

CHECK_GROUP(tooling_start, tooling_stop)
