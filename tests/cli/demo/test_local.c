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
#include "support/paths.h"
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

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, start, end)

TEST(without_any_configuration_it_is_started_and_said)
{
    assert_tool(&how, 75, "not running\n", "", "server", NULL);
    assert_tool(&how, 0, "hi\n",
                "latchkey lock: no server is configured: using a private one, "
                "for this user on this machine only: unix:/tmp/lk-local-",
                "lock", "n", "echo", "hi", NULL);
    assert_true(server_process() > 0);
    assert_tool(&how, 0, "hi\n", "no server is configured", "lock", "-nq", "n",
                "echo", "hi", NULL);
}

TEST(who_asks_for_it_is_told_once)
{
    assert_tool(&how, 0, "hi\n", "started a private server", "-u",
                "local:", "lock", "n", "echo", "hi", NULL);
    assert_tool(&how, 0, "hi\n", "", "-u", "local:", "lock", "n", "echo", "hi",
                NULL);
}

TEST(many_at_once_share_one)
{
    tool *tools[8];
    long pid;

    for (size_t i = 0; i < 8; i++)
        tools[i] = tool_start(
            &how, "-qulocal:", "lock", "n", "-c",
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

TEST(it_can_be_stopped_and_comes_again)
{
    long pid;

    assert_tool(&how, 0, "running: process ", "", "server", "start", NULL);
    pid = server_process();
    assert_tool(&how, 0, "", "", "server", "stop", NULL);
    assert_false(tool_runs((pid_t)pid));
    assert_tool(&how, 75, "", "no private server runs here", "server", "stop",
                NULL);
    assert_tool(&how, 0, "hi\n", NULL, "lock", "n", "echo", "hi", NULL);
    assert_true(server_process() > 0);
}

/* Its socket is still there, and nobody listens: the last of its threads has
   ended as well. */
TEST(one_that_was_killed_is_started_again)
{
    long pid;

    assert_tool(&how, 0, NULL, "", "server", "start", NULL);
    pid = server_process();
    assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
    assert_soon(server_process() == 0, SOON_MS);
    assert_tool(&how, 0, "hi\n", NULL, "lock", "n", "echo", "hi", NULL);
    assert_true(server_process() != pid);
}

TEST(it_outlives_the_session_that_started_it)
{
    long pid;

    assert_tool(&how, 0, "running", "", "server", "start", NULL);
    pid = server_process();
    assert_int_equal(getsid((pid_t)pid) == getsid(0), 0);
    assert_true(getpgid((pid_t)pid) != getpgrp());
}

TEST(it_is_never_in_the_place_of_another)
{
    tool_how away = how;

    away.url = "unix:/nonexistent/s?offline_ms=100ms";
    assert_tool(&away, 69, "", "start Redis with", "lock", "n", "echo", "hi",
                NULL);
    assert_tool(&how, 75, "not running\n", "", "server", NULL);
}

TEST(looking_does_not_start_it)
{
    assert_tool(&how, 0, "/redis.sock", "", "config", "url", NULL);
    assert_tool(&how, 0, "url = local:\n    from default", "", "config",
                "--explain", NULL);
    assert_tool(&how, 75, "{\"running\":false,", "", "server", "--json", NULL);
    assert_tool(&how, 75, ",\"pid\":null}", "", "server", "--json", NULL);
}

TEST(a_directory_that_others_may_enter_is_refused)
{
    static const char words[] = "is not a directory of yours alone";
    tool *t = tool_start(&how, "config", "url", NULL);
    char path[160];

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    (void)snprintf(path, sizeof(path), "%s", tool_out(t) + strlen("unix://"));
    *strrchr(path, '/') = '\0';
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0750), 0);
    assert_tool(&how, 78, "", words, "lock", "n", "echo", "hi", NULL);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_tool(&how, 78, "", words, "lock", "n", "echo", "hi", NULL);
}

TEST(without_the_program_it_says_what_to_install)
{
    env[1] = "LATCHKEY_SERVER_PROGRAM=/nonexistent/redis";
    assert_tool(&how, 69, "",
                "no private server: /nonexistent/redis: No such file", "lock",
                "n", "echo", "hi", NULL);
    env[1] = program;
}

/* As Debian's redis-tools has it: the program acts as a server if it is called by
   a server's name. */
TEST(under_another_name_its_program_is_found)
{
    char path[128];
    const char *old = getenv("PATH");
    char *kept = strdup(old != NULL ? old : "/bin");
    int code;

    assert_non_null(kept);
    env[1] = NULL;
    (void)snprintf(path, sizeof(path), "%s/bin", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)setenv("PATH", path, 1);
    (void)snprintf(path, sizeof(path), "%s/bin/redis-check-rdb", folder);
    assert_int_equal(symlink(REDIS_SERVER, path), 0);
    code = tool_code(&how, "server", "start", NULL);
    (void)setenv("PATH", kept, 1);
    free(kept);
    env[1] = program;
    assert_int_equal(code, 0);
    assert_true(server_process() > 0);
}
