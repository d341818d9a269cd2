/* SPDX-License-Identifier: MIT */

/* flight and leader from a shell. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"

enum { SOON_MS = 10000, MANY = 5 };

/* Waits for all, compares each output with the first's, and returns the code
   that all of them have. */
static int land_together(tool *tools[MANY])
{
    int code = tool_wait(tools[0], SOON_MS);

    for (size_t i = 1; i < MANY; i++) {
        assert_int_equal(tool_wait(tools[i], SOON_MS), code);
        assert_string_equal(tool_out(tools[i]), tool_out(tools[0]));
    }
    return code;
}

TOOLING_TEST(one_runs_it_and_all_print_it)
{
    tool *tools[MANY];

    for (size_t i = 0; i < MANY; i++)
        tools[i] = tool_start(&how, "flight", "--ttl=1m", "k", "-c",
                              "sleep 0.2; echo pid $$; printf 'a\\0b'", NULL);
    assert_int_equal(land_together(tools), 0);
    assert_memory_equal(tool_out(tools[0]), "pid ", 4);
    assert_memory_equal(strchr(tool_out(tools[0]), '\n') + 1, "a\0b", 4);
    assert_tool(&how, 0, tool_out(tools[0]), "", "flight", "k", "echo", "late",
                NULL);
}

TOOLING_TEST(who_fails_fails_for_all)
{
    tool *tools[MANY];
    size_t said = 0;

    for (size_t i = 0; i < MANY; i++)
        tools[i] =
            tool_start(&how, "flight", "--error-ttl=1m", "k", "-c",
                       "sleep 0.2; echo out; echo err >&2; exit 7", NULL);
    assert_int_equal(land_together(tools), 7);
    assert_string_equal(tool_out(tools[0]), "");
    for (size_t i = 0; i < MANY; i++)
        said += strcmp(tool_err(tools[i]), "err\n") == 0;
    assert_int_equal(said, 1);
}

TOOLING_TEST(a_command_that_cannot_fly_is_told)
{
    assert_tool(&how, 127, "", "no-such: No such file", "flight", "k1",
                "no-such", NULL);
    assert_tool(&how, 143, "", "", "flight", "k2", "-c", "kill -TERM $$", NULL);
    assert_tool(&how, 74, "", "it printed more than --max-size", "flight",
                "--max-size=3", "k3", "echo", "long", NULL);
    assert_tool(&how, 64, "", "which command?", "flight", "k4", NULL);
    assert_tool(&how, 0, "1000000\n", "", "lock", "n", "-c",
                LK_TOOL " flight k6 -c 'head -c 1000000 /dev/zero' | wc -c",
                NULL);
}

TOOLING_TEST(nothing_is_held_by_a_command_in_flight)
{
    tool *t = tool_start(&how, "flight", "k", "env", NULL);

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_non_null(strstr(tool_out(t), "LATCHKEY_NAME=k\n"));
    assert_null(strstr(tool_out(t), "LATCHKEY_FENCE"));
    assert_null(strstr(tool_out(t), "\n\n"));
}

TOOLING_TEST(who_will_not_wait_is_75)
{
    tool *t = tool_start(&how, "flight", "k", "-c",
                         "echo begun >&2; exec sleep 100", NULL);

    tool_wait_err(t, "begun\n", SOON_MS);
    assert_tool(&how, 75, "", "k: ", "flight", "-n", "k", "echo", "x", NULL);
    assert_tool(&how, 5, "", "k: ", "flight", "-w1", "-E5", "k", "echo", "x",
                NULL);
}

TOOLING_TEST(who_dies_is_taken_over_from)
{
    tool *first = tool_start(&how, "flight", "k", "-c",
                             "echo child=$$ >&2; exec sleep 100", NULL);
    tool *second;
    pid_t child;

    tool_wait_err(first, "child=", SOON_MS);
    tool_wait_err(first, "\n", SOON_MS);
    child = (pid_t)strtol(strchr(tool_err(first), '=') + 1, NULL, 10);
    second = tool_start(&how, "flight", "k", "echo", "second", NULL);
    assert_int_equal(kill(tool_pid(first), SIGKILL), 0);
    tool_wait_gone(child, SOON_MS);
    assert_int_equal(tool_wait(second, SOON_MS), 0);
    assert_string_equal(tool_out(second), "second\n");
}

TOOLING_TEST(a_leader_s_command_runs_while_it_leads)
{
    tool *first = tool_start(&how, "leader", "--value", "here:1", "e", "-c",
                             "echo term=$LATCHKEY_FENCE; read x; "
                             "exec sleep 100",
                             NULL);
    long term = tool_wait_number(first, "term", SOON_MS);
    tool *second;

    assert_tool(&how, 75, "", "lead 'e' is not obtained", "leader", "-n", "e",
                "true", NULL);
    second = tool_start(&how, "leader", "e", "-c", "echo term=$LATCHKEY_FENCE",
                        NULL);
    tool_wait_err(second, ": here:1) for ", SOON_MS);
    assert_int_equal(kill(tool_pid(first), SIGTERM), 0);
    assert_int_equal(tool_wait(first, SOON_MS), 143);
    assert_true(tool_wait_number(second, "term", SOON_MS) > term);
    assert_int_equal(tool_wait(second, SOON_MS), 0);
}

/* The name is of the group first: rights to names that begin with the key's prefix
   are none to it. What is to be said is said once. */
TOOLING_TEST(rights_to_a_prefix_need_a_group_of_it)
{
    tool_how limited = how;
    char url[256], rights[4096];
    const char *told;
    tool *t = tool_start(&how, "doctor", "--acl", "--for", "flight", "--prefix",
                         "orders:", NULL);

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    (void)snprintf(rights, sizeof(rights), "ACL SETUSER orders on >p %s",
                   tool_out(t));
    rights[strcspn(rights, "\n")] = '\0';
    tool_free(t);
    freeReplyObject(server_command(redis, rights));
    (void)snprintf(url, sizeof(url), "%s?user=orders&password=p",
                   server_url(redis));
    limited.url = url;
    t = tool_start(&limited, "flight", "orders:k", "echo", "x", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 77);
    told = strstr(tool_err(t), "; ACL LOG ");
    assert_non_null(told);
    assert_null(strstr(told + 4, "ACL LOG"));
    assert_non_null(strstr(told, "looked for as latchkey:KEY"));
    assert_tool(&limited, 0, "x\n", "", "flight", "--group", "orders", "k",
                "echo", "x", NULL);
    assert_int_equal(server_integer(redis, "ACL DELUSER orders"), 1);
}

/* The most memory that it ever had, in KiB. */
static long most_memory(const tool *t)
{
    char line[256];
    long most = 0;
    FILE *file;

    (void)snprintf(line, sizeof(line), "/proc/%d/status", (int)tool_pid(t));
    file = fopen(line, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0)
            most = strtol(line + 6, NULL, 10);
    }
    (void)fclose(file);
    assert_true(most > 0);
    return most;
}

TOOLING_TEST(what_is_too_much_is_not_kept)
{
    tool *t = tool_start(&how, "flight", "k", "-c",
                         "head -c 400000000 /dev/zero; echo all >&2; "
                         "exec sleep 100",
                         NULL);

    tool_wait_err(t, "all\n", SOON_MS);
    assert_true(most_memory(t) < 300000);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 143);
}

/* As of a daemon that ignores SIGCHLD, and starts it by a shell or not. */
TOOLING_TEST(how_it_ended_is_known_where_ends_are_ignored)
{
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    tool *flown = tool_start(&how, "flight", "k", "-c", "exit 7", NULL);
    tool *run = tool_start(&how, "lock", "n", "-c", "exit 7", NULL);

    (void)signal(SIGCHLD, before);
    assert_int_equal(tool_wait(flown, SOON_MS), 7);
    assert_int_equal(tool_wait(run, SOON_MS), 7);
}

CHECK_GROUP(tooling_start, tooling_stop)
