/* SPDX-License-Identifier: MIT */

/* latch and barrier from a shell, and how their answers are written. */

#include <signal.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

/* On a server that evicts nothing they would stay for ever. */
TOOLING_TEST(what_the_tool_makes_ends_by_itself)
{
    assert_tool(&how, 0, "", "", "latch", "set", "l", "3", NULL);
    assert_in_range(server_integer(redis, "TTL l"), 604000, 604800);
    assert_tool(&how, 0, "", "", "latch", "down", "l", NULL);
    assert_in_range(server_integer(redis, "TTL l"), 604000, 604800);
    assert_tool(&how, 0, "", "", "latch", "set", "-t", "1h", "m", "3", NULL);
    assert_in_range(server_integer(redis, "TTL m"), 3000, 3600);
    assert_tool(&how, 0, "", "", "latch", "down", "m", NULL);
    assert_in_range(server_integer(redis, "TTL m"), 3000, 3600);
    assert_tool(&how, 0, "", "", "latch", "arrive", "-t", "1h", "a", "2", NULL);
    assert_in_range(server_integer(redis, "TTL a"), 3000, 3600);
}

TOOLING_TEST(a_barrier_that_nobody_is_at_is_away)
{
    assert_tool(&how, 75, "", NULL, "barrier", "-n2", "-w1", "b", NULL);
    assert_int_equal(server_integer(redis, "EXISTS b"), 0);
    assert_tool(&how, 0, "", NULL, "ls", "--no-header", NULL);
}

TOOLING_TEST(it_opens_when_all_has_happened)
{
    tool *t;

    assert_tool(&how, 0, "", "", "latch", "set", "l", "3", NULL);
    assert_tool(&how, 75, "", "l: ", "latch", "set", "l", "3", NULL);
    t = tool_start(&how, "latch", "wait", "l", NULL);
    assert_tool(&how, 0, "", "", "latch", "down", "l", NULL);
    assert_tool(&how, 0, "2\n", "", "latch", "count", "l", NULL);
    assert_tool(&how, 75, "", "not open yet", "latch", "wait", "-n", "l", NULL);
    assert_tool(&how, 75, "", "not open yet", "latch", "wait", "-w1", "l",
                NULL);
    assert_tool(&how, 0, "", "", "latch", "down", "l", "2", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_tool(&how, 0, "", "", "latch", "wait", "l", NULL);
    assert_tool(&how, 0, "{\"name\":\"l\",\"count\":0}\n", "", "latch", "count",
                "l", "--json", NULL);
}

TOOLING_TEST(it_can_be_reset_and_deleted)
{
    assert_tool(&how, 0, "", "", "latch", "reset", "l", "1", NULL);
    assert_tool(&how, 0, "1\n", "", "latch", "count", "l", NULL);
    assert_tool(&how, 0, "", "", "latch", "delete", "l", NULL);
    assert_tool(&how, 75, "", "latch 'l' is not set yet", "latch", "count", "l",
                NULL);
}

TOOLING_TEST(any_name_is_good_json)
{
    static const char name[] = "a\"\\\x01\n\xc3\xa9\xff\xed\xa0\x80\xc0\xaf";

    assert_tool(&how, 0, "", "", "latch", "set", name, "3", NULL);
    assert_tool(&how, 0,
                "{\"name\":\"a\\\"\\\\\\u0001\\n\xc3\xa9\\ufffd\\ufffd\\ufffd"
                "\\ufffd\\ufffd\\ufffd\",\"count\":3}\n",
                "", "latch", "count", name, "--json", NULL);
}

static bool is_coloured(const char *const *env, const char *option)
{
    const tool_how more = {.url = server_url(redis), .env = env};
    tool *t = tool_start(&more, "ls", option, NULL);
    bool is_coloured_so;

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    is_coloured_so = strstr(tool_out(t), "\033[") != NULL;
    tool_free(t);
    return is_coloured_so;
}

TOOLING_TEST(colours_go_to_who_wants_them)
{
    static const char *const none[] = {NULL};
    static const char *const force[] = {"CLICOLOR_FORCE=1", NULL};
    static const char *const both[] = {"CLICOLOR_FORCE=1", "NO_COLOR=1", NULL};

    assert_int_equal(tool_code(&how, "acquire", "n", "-l1m", NULL), 0);
    assert_false(is_coloured(none, NULL));
    assert_true(is_coloured(none, "--color=always"));
    assert_true(is_coloured(both, "--color=always"));
    assert_true(is_coloured(force, NULL));
    assert_false(is_coloured(force, "--color=never"));
    assert_false(is_coloured(both, NULL));
}

/* The number of standard output is not that of a connection then. */
TOOLING_TEST(a_stream_that_is_closed_stays_so)
{
    const tool_how shell = {.url = server_url(redis), .program = "sh"};

    assert_tool(&how, 0, "", "", "latch", "set", "l", "3", NULL);
    assert_tool(&shell, 74, "", "standard output: Bad file descriptor", "-c",
                LK_TOOL " latch count l <&- >&-", NULL);
}

TOOLING_TEST(a_wrong_line_is_64)
{
    assert_tool(&how, 64, "", "'open' is none of set|down", "latch", "open",
                "l", NULL);
    assert_tool(&how, 64, "", "; did you mean 'wait'?", "latch", "await", "l",
                NULL);
    assert_tool(&how, 64, "", "; did you mean 'down'?", "latch", "countDown",
                "l", NULL);
    assert_tool(&how, 64, "", "how many?", "latch", "set", "l", NULL);
    assert_tool(&how, 64, "", "'x' is not a number", "latch", "down", "l", "x",
                NULL);
    assert_tool(&how, 64, "", "l: ", "latch", "set", "l", "0", NULL);
    assert_tool(&how, 64, "", "how many are to meet?", "barrier", "b", NULL);
}

/* data: how many "b" still awaits, in digits. */
static bool are_awaited(const char *count)
{
    tool *t = tool_start(&how, "latch", "count", "b", NULL);
    bool are = tool_wait(t, SOON_MS) == 0 &&
               strncmp(tool_out(t), count, strlen(count)) == 0;

    tool_free(t);
    return are;
}

TOOLING_TEST(nobody_passes_a_barrier_before_all_are_there)
{
    char two[] = "2";
    tool *first = tool_start(&how, "barrier", "b", "-n3", NULL);
    tool *second;

    assert_soon(are_awaited(two), SOON_MS);
    assert_tool(&how, 75, "",
                "latchkey barrier: barrier 'b': 2 of 3 came in "
                "time\n  start it again ",
                "barrier", "b", "-n3", "-w1", NULL);
    second = tool_start(&how, "barrier", "b", "-n3", NULL);
    assert_tool(&how, 75, "", NULL, "latch", "wait", "-n", "b", NULL);
    assert_tool(&how, 0, "", "", "barrier", "b", "-n3", NULL);
    assert_int_equal(tool_wait(first, SOON_MS), 0);
    assert_int_equal(tool_wait(second, SOON_MS), 0);
}

TOOLING_TEST(who_is_told_to_end_takes_the_arrival_back)
{
    char one[] = "1";
    tool *first = tool_start(&how, "barrier", "b", "-n2", NULL);

    assert_soon(are_awaited(one), SOON_MS);
    assert_int_equal(kill(tool_pid(first), SIGTERM), 0);
    assert_int_equal(tool_wait(first, SOON_MS), 143);
    assert_tool(&how, 75, "", "latch: latch 'b' is not set yet", "latch",
                "count", "b", NULL);
}

TOOLING_TEST(a_member_counts_once)
{
    assert_tool(&how, 0, "", "", "latch", "arrive", "m", "2", "--as", "me",
                NULL);
    assert_tool(&how, 0, "", "", "latch", "arrive", "m", "2", "--as", "me",
                NULL);
    assert_tool(&how, 0, "1\n", "", "latch", "count", "m", NULL);
    assert_tool(&how, 0, "", "", "latch", "arrive", "m", "2", NULL);
    assert_tool(&how, 0, "0\n", "", "latch", "count", "m", NULL);
    assert_tool(&how, 78, "", "use the settings that the others use", "latch",
                "arrive", "m", "3", NULL);
}

/* With the first look and at each change. */
TOOLING_TEST(whoever_waits_says_for_how_many)
{
    tool *t;

    assert_tool(&how, 0, "", "", "latch", "set", "l", "3", NULL);
    t = tool_start(&how, "latch", "wait", "l", NULL);
    tool_wait_err(t, "latchkey latch: waiting for l: 3 awaited\n", SOON_MS);
    assert_tool(&how, 0, "", "", "latch", "down", "l", NULL);
    tool_wait_err(t, "waiting for l: 2 awaited\n", SOON_MS);
    assert_tool(&how, 0, "", "", "latch", "down", "l", "2", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    t = tool_start(&how, "barrier", "b", "-n3", NULL);
    tool_wait_err(t, "waiting for b: 1 of 3 are here, 2 missing\n", SOON_MS);
    (void)tool_start(&how, "barrier", "b", "-n3", NULL);
    tool_wait_err(t, "waiting for b: 2 of 3 are here, 1 missing\n", SOON_MS);
    assert_tool(&how, 0, "", NULL, "barrier", "b", "-n3", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
}

TOOLING_TEST(a_quiet_wait_says_nothing)
{
    tool *loud = tool_start(&how, "barrier", "b", "-n3", NULL);
    tool *quiet = tool_start(&how, "barrier", "-q", "b", "-n3", NULL);

    tool_wait_err(loud, "2 of 3 are here", SOON_MS);
    assert_int_equal(tool_code(&how, "barrier", "b", "-n3", NULL), 0);
    assert_int_equal(tool_wait(quiet, SOON_MS), 0);
    assert_string_equal(tool_err(quiet), "");
}

TOOLING_TEST(a_command_is_run_once_all_are_there)
{
    tool *first = tool_start(&how, "barrier", "b", "--count", "2", "--", "sh",
                             "-c", "echo in; kill -TERM $$", NULL);

    tool_wait_err(first, "waiting for", SOON_MS);
    assert_string_equal(tool_out(first), "");
    assert_tool(&how, 3, "x\n", "", "barrier", "-q", "b", "--count", "2", "--",
                "sh", "-c", "echo x; exit 3", NULL);
    assert_int_equal(tool_wait(first, SOON_MS), 128 + SIGTERM);
    assert_string_equal(tool_out(first), "in\n");
    tool_free(first);
    assert_tool(&how, 127, "", "no-such-thing: No such file", "barrier", "c",
                "-n1", "--", "no-such-thing", NULL);
    assert_tool(&how, 75, "", NULL, "barrier", "d", "-n2", "-w0.2", "--",
                "echo", "ran", NULL);
}

CHECK_GROUP(tooling_start, tooling_stop)
