/* SPDX-License-Identifier: MIT */

/* Commands that run under holds and wait for each other in a circle. */

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 15000, TOOLS = 3 };

static tool *tools[TOOLS];

static int forget(void **state)
{
    (void)memset(tools, 0, sizeof(tools));
    return tooling_teardown(state);
}

/* Holds one name and, once the latch is open, wants another one, if any. */
static tool *
go(size_t i, const char *holds, const char *wants, const char *options)
{
    char line[512];

    (void)snprintf(line, sizeof(line),
                   "echo held; " LK_TOOL " latch wait gate; exec " LK_TOOL
                   " lock %s %s -- echo had",
                   options, wants);
    tools[i] = tool_start(&how, "lock", holds, "--", "sh", "-c", line, NULL);
    tool_wait_out(tools[i], "held\n", SOON_MS);
    return tools[i];
}

static void open_gate(void)
{
    assert_tool(&how, 0, NULL, NULL, "latch", "set", "gate", "1", NULL);
    assert_tool(&how, 0, NULL, NULL, "latch", "down", "gate", NULL);
}

static size_t count(const char *text, const char *part)
{
    size_t found = 0;

    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        found++;
    }
    return found;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, forget)

/* Says it once, whatever looks come after it. */
TEST(two_that_wait_for_each_other_are_told_so_once)
{
    tool *one = go(0, "a", "b", ""), *two = go(1, "b", "a", "-q");

    open_gate();
    tool_wait_err(one, "a circle: you hold a and wait for b; ", SOON_MS);
    tool_wait_err(one, " holds b and waits for a\n  end one of these commands",
                  SOON_MS);
    tool_wait_err(two, "a circle: you hold b and wait for a; ", SOON_MS);
    assert_tool(&how, 0, "DEADLOCK: a, b", "", "why", "a", NULL);
    assert_tool(&how, 0, "    waits for b", "", "who", "a", NULL);
    assert_int_equal(count(tool_err(one), "a circle: "), 1);
    assert_int_equal(count(tool_err(two), "a circle: "), 1);
    (void)kill(tool_pid(two), SIGTERM);
    assert_int_equal(tool_wait(one, SOON_MS), 0);
    assert_non_null(strstr(tool_out(one), "had\n"));
    assert_int_equal(tool_wait(two, SOON_MS), 128 + SIGTERM);
}

TEST(three_in_a_circle_are_named_in_their_order)
{
    tool *one = go(0, "a", "b", "");

    go(1, "b", "c", "");
    go(2, "c", "a", "");
    open_gate();
    tool_wait_err(one, "a circle: you hold a and wait for b; ", SOON_MS);
    assert_non_null(strstr(tool_err(one), " holds b and waits for c; "));
    assert_non_null(strstr(tool_err(one), " holds c and waits for a\n"));
}

/* The one that is waited for goes on in the end, and then the other does. */
TEST(a_line_is_no_circle)
{
    tool *last = go(0, "a", "b", ""), *middle = go(1, "b", "c", "-w6");

    go(2, "c", "none", "");
    (void)kill(tool_pid(tools[2]), SIGSTOP); /* holds it for its lease */
    open_gate();
    assert_int_equal(tool_wait(middle, SOON_MS), 75);
    assert_int_equal(tool_wait(last, SOON_MS), 0);
    assert_null(strstr(tool_err(middle), "a circle"));
    assert_null(strstr(tool_err(last), "a circle"));
}

/* Whether a tool has told what it waits for, for the one it runs under. */
static bool is_told(void *data)
{
    redisReply *reply = server_command(redis, "KEYS latchkey:client:*:w");
    bool is = reply != NULL && reply->elements > 0;

    (void)data;
    freeReplyObject(reply);
    return is;
}

/* What it has told of itself lives on for three seconds, and no longer. */
TEST(one_that_was_killed_in_its_wait_makes_no_circle)
{
    static const char line[] =
        "echo held; " LK_TOOL " lock b true & echo pid=$!; wait; sleep 100";
    tool *holder = go(1, "b", "a", "-w7");
    tool *t = tool_start(&how, "lock", "a", "--", "sh", "-c", line, NULL);
    pid_t waiter = (pid_t)tool_wait_number(t, "pid", SOON_MS);

    tool_wait_err(t, "waiting for b", SOON_MS);
    assert_true(wait_until(is_told, NULL, SOON_MS));
    (void)kill(waiter, SIGKILL);
    open_gate();
    assert_int_equal(tool_wait(holder, SOON_MS), 75);
    assert_null(strstr(tool_err(holder), "a circle"));
}

CHECK_GROUP(tooling_start, tooling_stop)
