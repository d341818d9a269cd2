/* SPDX-License-Identifier: MIT */

/* Several names at once: all are held, or none is. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"

enum { SOON_MS = 15000 };

static tool *holder(const char *name)
{
    tool *t = tool_start(&how, "lock", name, "--", "sh", "-c",
                         "echo held; exec sleep 100", NULL);

    tool_wait_out(t, "held\n", SOON_MS);
    return t;
}

TOOLING_TEST(each_name_is_held_while_the_command_runs)
{
    assert_tool(&how, 0, "a b c|75 75 75|3\n", NULL, "lock", "a", "b", "c",
                "--", "sh", "-c",
                "for n in a b c; do " LK_TOOL " lock -n \"$n\" -- true; "
                "codes=\"$codes $?\"; done; set -- $LATCHKEY_FENCE; "
                "echo \"$LATCHKEY_NAME|${codes# }|$#\"",
                NULL);
    assert_tool(&how, 0, "", "", "lock", "-n", "c", "b", "a", "--", "true",
                NULL);
    assert_int_equal(server_integer(redis, "EXISTS a b c"), 0);
}

TOOLING_TEST(with_one_that_is_not_free_none_is_held)
{
    tool *t = holder("b");

    assert_tool(&how, 75, "",
                "latchkey lock: lock 'b' is not obtained: held by ", "lock",
                "-n", "a", "b", "c", "--", "true", NULL);
    assert_int_equal(server_integer(redis, "EXISTS a c"), 0);
    tool_free(t);
}

TOOLING_TEST(a_wait_says_which_name_is_waited_for)
{
    tool *t = holder("b");
    tool *waiter =
        tool_start(&how, "lock", "c", "b", "a", "--", "echo", "in", NULL);

    tool_wait_err(waiter, "waiting for b: ", SOON_MS);
    assert_int_equal(server_integer(redis, "EXISTS c"), 0);
    (void)kill(tool_pid(t), SIGTERM);
    tool_wait_out(waiter, "in\n", SOON_MS);
    assert_int_equal(tool_wait(waiter, SOON_MS), 0);
    tool_free(waiter);
    tool_free(t);
}

TOOLING_TEST(the_loss_of_one_ends_the_command)
{
    tool *t = tool_start(&how, "lock", "a", "b", "--", "sh", "-c",
                         "echo held; exec sleep 100", NULL);

    tool_wait_out(t, "held\n", SOON_MS);
    assert_tool(&how, 0, NULL, NULL, "break", "--yes", "b", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 74);
    assert_non_null(strstr(tool_err(t), "lock 'a b' is lost: "));
    tool_free(t);
}

TOOLING_TEST(readers_share_all_of_them)
{
    assert_tool(&how, 0, "in\n", "", "read", "r", "s", "--", LK_TOOL, "read",
                "-n", "s", "r", "--", "echo", "in", NULL);
    assert_tool(&how, 0, "75\n", NULL, "read", "r", "s", "--", "sh", "-c",
                LK_TOOL " write -n s t -- true; echo $?", NULL);
}

/* Each adds one to a number in a file, reading and writing it apart. */
TOOLING_TEST(opposite_orders_do_not_wait_for_each_other)
{
    enum { TOOLS = 6 };
    const tool_how shell = {.program = "sh", .url = how.url};
    static const char *const orders[2] = {"x y z", "z y x"};
    char path[] = "/tmp/lk-several-XXXXXX";
    const int fd = mkstemp(path);
    tool *tools[TOOLS];
    char line[512], whole[128];

    assert_int_equal(write(fd, "0\n", 2), 2);
    for (int i = 0; i < TOOLS; i++) {
        (void)snprintf(line, sizeof(line),
                       "for i in 1 2 3 4 5; do " LK_TOOL " -q lock %s -- sh -c "
                       "'read n <%s; echo $((n + 1)) >%s' || exit; done",
                       orders[i % 2], path, path);
        tools[i] = tool_start(&shell, "-c", line, NULL);
    }
    for (int i = 0; i < TOOLS; i++) {
        assert_int_equal(tool_wait(tools[i], SOON_MS), 0);
        tool_free(tools[i]);
    }
    (void)snprintf(whole, sizeof(whole), "%d\n", TOOLS * 5);
    assert_int_equal(pread(fd, line, sizeof(line) - 1, 0), strlen(whole));
    assert_memory_equal(line, whole, strlen(whole));
    (void)close(fd);
    (void)unlink(path);
}

/* What was one command before names could be several. */
TOOLING_TEST(a_program_is_no_name_but_the_first)
{
    assert_tool(&how, 64, "", "is 'sh' a name or a command? Names stand before",
                "lock", "n", "sh", "script", "--", "true", NULL);
    assert_tool(&how, 64, "", "is '" LK_TOOL "' a name or a command?", "lock",
                "n", LK_TOOL, "--", "true", NULL);
    assert_tool(&how, 0, "", "", "lock", "sh", "other", "--", "true", NULL);
    assert_tool(&how, 0, "a -- b\n", "", "semaphore", "-p2", "s", "echo", "a",
                "--", "b", NULL);
}

CHECK_GROUP(tooling_start, tooling_stop)
