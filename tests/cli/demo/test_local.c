/* SPDX-License-Identifier: MIT */

/* The private server: started by whoever needs it, one for all, and never in the
   place of another. */

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/tool.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

static char folder[64];
static char directory[96];
static char program[256];
static const char *env[4];
static tool_how how;

static int start(NO_STATE)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/lk-local-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    (void)snprintf(directory, sizeof(directory), "LATCHKEY_SERVER_DIRECTORY=%s",
                   folder);
    (void)snprintf(program, sizeof(program), "LATCHKEY_SERVER_PROGRAM=%s",
                   REDIS_SERVER);
    env[0] = directory;
    env[1] = program;
    how = (tool_how){.env = env};
    return 0;
}

static int end(NO_STATE)
{
    (void)tool_code(&how, "server", "stop", NULL);
    tool_free_all();
    (void)tool_code(&(tool_how){.program = "rm"}, "-r", folder, NULL);
    return 0;
}

static long server_process(void)
{
    tool *t = tool_start(&how, "server", NULL);
    const char *at;
    long pid = 0;

    (void)tool_wait(t, SOON_MS);
    at = strstr(tool_out(t), "process ");
    if (at != NULL)
        pid = strtol(at + strlen("process "), NULL, 10);
    tool_free(t);
    return pid;
}

static void without_any_configuration_it_is_started_and_said(NO_STATE)
{
    assert_tool(&how, 75, "not running\n", "", "server", NULL);
    assert_tool(&how, 0, "hi\n",
                "latchkey run: no server is configured: using a private one, "
                "for this user on this machine only: unix:/tmp/lk-local-",
                "run", "n", "echo", "hi", NULL);
    assert_true(server_process() > 0);
    assert_tool(&how, 0, "hi\n", "no server is configured", "run", "-nq", "n",
                "echo", "hi", NULL);
}

static void who_asks_for_it_is_told_once(NO_STATE)
{
    assert_tool(&how, 0, "hi\n", "started a private server", "-u",
                "local:", "run", "n", "echo", "hi", NULL);
    assert_tool(&how, 0, "hi\n", "", "-u", "local:", "run", "n", "echo", "hi",
                NULL);
}

static void many_at_once_share_one(NO_STATE)
{
    tool *tools[8];
    long pid;

    for (size_t i = 0; i < 8; i++)
        tools[i] = tool_start(
            &how, "-qulocal:", "run", "n", "-c",
            "mkdir \"$LATCHKEY_SERVER_DIRECTORY/alone\" && "
            "sleep 0.02 && rmdir \"$LATCHKEY_SERVER_DIRECTORY/alone\"",
            NULL);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(tool_wait(tools[i], SOON_MS), 0);
        assert_string_equal(tool_err(tools[i]), "");
        tool_free(tools[i]);
    }
    pid = server_process();
    assert_true(pid > 0);
}

static void it_can_be_stopped_and_comes_again(NO_STATE)
{
    long pid;

    assert_tool(&how, 0, "running: process ", "", "server", "start", NULL);
    pid = server_process();
    assert_tool(&how, 0, "", "", "server", "stop", NULL);
    assert_false(tool_runs((pid_t)pid));
    assert_tool(&how, 75, "", "no private server runs here", "server", "stop",
                NULL);
    assert_tool(&how, 0, "hi\n", NULL, "run", "n", "echo", "hi", NULL);
    assert_true(server_process() > 0);
}

static bool is_deaf(void *data)
{
    (void)data;
    return server_process() == 0;
}

/* Its socket is still there, and nobody listens: the last of its threads has
   ended as well. */
static void one_that_was_killed_is_started_again(NO_STATE)
{
    long pid;

    assert_tool(&how, 0, NULL, "", "server", "start", NULL);
    pid = server_process();
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    assert_true(wait_until(is_deaf, NULL, SOON_MS));
    assert_tool(&how, 0, "hi\n", NULL, "run", "n", "echo", "hi", NULL);
    assert_true(server_process() != pid);
}

static void it_outlives_the_session_that_started_it(NO_STATE)
{
    long pid;

    assert_tool(&how, 0, "running", "", "server", "start", NULL);
    pid = server_process();
    assert_int_equal(getsid((pid_t)pid) == getsid(0), 0);
    assert_true(getpgid((pid_t)pid) != getpgrp());
}

static void it_is_never_in_the_place_of_another(NO_STATE)
{
    tool_how away = how;

    away.url = "unix:/nonexistent/s?offline_ms=100ms";
    assert_tool(&away, 69, "", "start Redis with", "run", "n", "echo", "hi",
                NULL);
    assert_tool(&how, 75, "not running\n", "", "server", NULL);
}

static void looking_does_not_start_it(NO_STATE)
{
    assert_tool(&how, 0, "/redis.sock", "", "url", NULL);
    assert_tool(&how, 0, "url = local:\n    from default", "", "config",
                "--explain", NULL);
    assert_tool(&how, 75, "{\"running\":false,", "", "server", "--json", NULL);
    assert_tool(&how, 75, ",\"pid\":null}", "", "server", "--json", NULL);
}

static void a_directory_that_others_may_enter_is_refused(NO_STATE)
{
    static const char words[] = "is not a directory of yours alone";
    tool *t = tool_start(&how, "url", NULL);
    char path[160];

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    (void)snprintf(path, sizeof(path), "%s", tool_out(t) + strlen("unix://"));
    *strrchr(path, '/') = '\0';
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0750), 0);
    assert_tool(&how, 78, "", words, "run", "n", "echo", "hi", NULL);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_tool(&how, 78, "", words, "run", "n", "echo", "hi", NULL);
}

static void without_the_program_it_says_what_to_install(NO_STATE)
{
    env[1] = "LATCHKEY_SERVER_PROGRAM=/nonexistent/redis";
    assert_tool(&how, 69, "",
                "no private server: /nonexistent/redis: No such file", "run",
                "n", "echo", "hi", NULL);
    env[1] = program;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_any_configuration_it_is_started_and_said),
        TEST(who_asks_for_it_is_told_once),
        TEST(many_at_once_share_one),
        TEST(it_can_be_stopped_and_comes_again),
        TEST(one_that_was_killed_is_started_again),
        TEST(it_outlives_the_session_that_started_it),
        TEST(it_is_never_in_the_place_of_another),
        TEST(looking_does_not_start_it),
        TEST(a_directory_that_others_may_enter_is_refused),
        TEST(without_the_program_it_says_what_to_install),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
