/* SPDX-License-Identifier: MIT */

/* `latchkey wait`: until nobody holds a name. */

#include <signal.h>
#include <string.h>

#include "support/check.h"
#include "support/tooling.h"

enum { SOON_MS = 10000 };

/* Somebody who has n until it is told to end. */
static tool *holder(const char *kind)
{
    tool *t =
        tool_start(&how, strcmp(kind, "-p2") == 0 ? "semaphore" : "lock", kind,
                   "n", "--", "sh", "-c", "echo held; exec sleep 100", NULL);

    tool_wait_out(t, "held\n", SOON_MS);
    return t;
}

static void let_go(tool *t)
{
    (void)kill(tool_pid(t), SIGTERM);
    assert_int_equal(tool_wait(t, SOON_MS), 128 + SIGTERM);
    tool_free(t);
}

TOOLING_TEST(a_name_that_nobody_holds_is_free_at_once)
{
    assert_tool(&how, 0, "", "", "wait", "n", NULL);
    assert_tool(&how, 0, "", "", "lock", "n", "true", NULL);
    assert_tool(&how, 0, "", "", "wait", "-n", "n", NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

/* Of every kind; and the one who waits holds nothing and stands in no queue. */
TOOLING_TEST(it_ends_when_the_holder_does)
{
    static const char *const kinds[] = {"--fair", "--shared", "--exclusive",
                                        "-p2"};

    for (size_t i = 0; i < 4; i++) {
        tool *held = holder(kinds[i]);
        tool *waiting = tool_start(&how, "wait", "n", NULL);

        tool_wait_err(waiting, "waiting for n: held by ", SOON_MS);
        assert_tool(&how, 0, "1 holding, 0 waiting", NULL, "who", "n", NULL);
        let_go(held);
        assert_int_equal(tool_wait(waiting, SOON_MS), 0);
        tool_free(waiting);
        server_flush(redis);
    }
}

TOOLING_TEST(the_limit_is_told_with_who_holds_it)
{
    tool *held = holder("-q");

    assert_tool(&how, 75, "", "latchkey wait: 'n' is not free: held by ",
                "wait", "-n", "n", NULL);
    assert_tool(&how, 75, "", "'n' is not free: held by ", "wait",
                tool_limit_of("-w", 300).text, "n", NULL);
    assert_tool(&how, 9, "", "", "wait", "-nq", "-E9", "n", NULL);
    let_go(held);
}

TOOLING_TEST(what_cannot_be_waited_for_is_said)
{
    const tool_how nowhere = {.url = "unix:/nonexistent/s?offline_ms=100ms"};

    assert_tool(&how, 0, NULL, NULL, "latch", "set", "n", "1", NULL);
    assert_tool(&how, 64, "", "'n' is a latch\n  `latchkey latch wait`", "wait",
                "n", NULL);
    assert_tool(&how, 64, "", "either -n or -w TIME", "wait", "-n", "-w1", "n",
                NULL);
    assert_tool(&nowhere, 69, "", "cannot be reached", "wait", "n", NULL);
}

/* An outage in between is waited out, and one at the end is not "still held". */
TOOLING_TEST(a_server_that_goes_away_is_waited_for)
{
    tool *held = holder("-q");
    tool *waiting = tool_start(&how, "wait", "n", NULL);
    tool *limited = tool_start(&how, "wait", "-w4", "n", NULL);

    tool_wait_err(waiting, "held by ", SOON_MS);
    tool_wait_err(limited, "held by ", SOON_MS);
    server_kill(redis);
    tool_wait_err(waiting, "the server cannot be reached; waiting", 30000);
    assert_int_equal(tool_wait(limited, 30000), 69);
    assert_true(server_restart(redis));
    assert_int_equal(tool_wait(waiting, 30000), 0);
    tool_free(held);
}

CHECK_GROUP(tooling_start, tooling_stop)
