/* SPDX-License-Identifier: MIT */

/* A server that is not there, at the start and while it is waited. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/tooling.h"

enum { SOON_MS = 20000 };

#define NOWHERE "unix:/nonexistent/s?offline_ms=300ms"

CHECK_TEST(a_short_wait_for_no_server_is_69)
{
    static const char *const lines[][8] =
        {{"lock", "-w1", "-E0", "n", "true"},
         {"lock", "-nE0", "n", "true"},
         {"leader", "-w1", "n", "true"},
         {"semaphore", "-w1", "-p1", "n", "true"},
         {"acquire", "-w1", "-l1m", "n"},
         {"flight", "-w1", "n", "true"},
         {"latch", "wait", "-w1", "n"},
         {"barrier", "-n2", "-w1", "n"}};
    const tool_how nowhere = {.url = NOWHERE};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        tool *t = tool_start_list(&nowhere, lines[i]);

        assert_int_equal(tool_wait(t, SOON_MS), 69);
        assert_non_null(strstr(tool_err(t), "n: unix:///nonexistent/s"));
        assert_non_null(
            strstr(tool_err(t), " cannot be reached: there is no such socket"));
        assert_non_null(strstr(tool_err(t), "the URL comes from LATCHKEY_URL"));
        assert_null(strstr(tool_err(t), "local:"));
        tool_free(t);
    }
}

CHECK_TEST(a_host_without_address_and_a_password_are_told_apart)
{
    const tool_how unknown = {.url = "redis://u:s3cret@nosuch.invalid"};
    tool *t = tool_start(&unknown, "lock", "-w0.2", "n", "true", NULL);

    assert_int_equal(tool_wait(t, SOON_MS), 69);
    assert_non_null(strstr(tool_err(t), "redis://u:***@nosuch.invalid:6379/0"));
}

/* For as long as it takes; one that has a limit for no longer than the URL says. */
TOOLING_TEST(who_waits_outlives_an_outage)
{
    char url[200];
    const tool_how short_of_patience = {.url = url};
    static const char *const kinds[] = {"lock", "leader", "write"};
    tool *waiters[3];
    tool *t;

    (void)snprintf(url, sizeof(url), "%s?offline_ms=5s", server_url(redis));
    for (size_t i = 0; i < 3; i++) {
        t = tool_start(&how, kinds[i], "-l1m", kinds[i], "-c",
                       "echo here=1; exec sleep 100", NULL);
        (void)tool_wait_number(t, "here", SOON_MS);
        waiters[i] = tool_start(&how, kinds[i], kinds[i], "echo", "ran", NULL);
        tool_wait_err(waiters[i], "held by", SOON_MS);
    }
    t = tool_start(&short_of_patience, "lock", "-w1m", "lock", "true", NULL);
    tool_wait_err(t, "held by", SOON_MS);
    server_kill(redis);
    for (size_t i = 0; i < 3; i++) {
        tool_wait_err(waiters[i], "the server cannot be reached: ", SOON_MS);
        tool_wait_err(waiters[i], "; waiting for it", SOON_MS);
    }
    assert_int_equal(tool_wait(t, SOON_MS), 69);
    assert_true(server_restart(redis));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(tool_wait(waiters[i], SOON_MS), 0);
}

TOOLING_TEST(a_wait_with_a_limit_ends_in_an_outage)
{
    tool *t;

    assert_int_equal(tool_code(&how, "acquire", "n", "-l1m", NULL), 0);
    t = tool_start(&how, "lock", "-w3", "n", "true", NULL);
    tool_wait_err(t, "held by", SOON_MS);
    server_kill(redis);
    assert_int_equal(tool_wait(t, SOON_MS), 69);
    assert_non_null(strstr(tool_err(t), " cannot be reached: "));
}

TOOLING_TEST(who_holds_it_is_told_to_whom_it_is_refused)
{
    tool *t = tool_start(&how, "lock", "--why", "deploy 4.2", "n", "-c",
                         "echo here=1; exec sleep 100", NULL);
    char words[64];

    (void)tool_wait_number(t, "here", SOON_MS);
    (void)snprintf(words, sizeof(words), ":%ld (sh", (long)tool_pid(t));
    assert_tool(&how, 75, "", "lock 'n' is not obtained: held by ", "lock",
                "-n", "n", "true", NULL);
    assert_tool(&how, 75, "", words, "lock", "-n", "n", "true", NULL);
    assert_tool(&how, 75, "", ": deploy 4.2) for ", "acquire", "-n", "n",
                "-l1m", NULL);
    assert_tool(&how, 75, "", "latchkey lock: waiting for n: ", "lock", "-w2",
                "n", "true", NULL);
}

TOOLING_TEST(codes_of_scripts_are_not_shown)
{
    tool *t;

    assert_true(server_integer(redis, "LPUSH n x") == 1);
    t = tool_start(&how, "lock", "n", "true", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 78);
    assert_null(strstr(tool_err(t), "LKTYPE"));
    assert_non_null(
        strstr(tool_err(t), "latchkey lock: 'n' is something else"));
}

TOOLING_TEST(a_name_is_cut_and_an_empty_one_is_not_shown)
{
    char name[601];
    tool *t;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    t = tool_start(&how, "lock", name, "true", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 64);
    assert_true(strstr(tool_err(t), "xxx~: the name has to have 1 to") ||
                strstr(tool_err(t), "xxx…: the name has to have 1 to"));
    assert_null(strstr(tool_err(t), name));
    t = tool_start(&how, "lock", "", "true", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 64);
    assert_non_null(strstr(tool_err(t), "latchkey lock: the name has to"));
}

TOOLING_TEST(a_semaphore_says_how_many_it_has)
{
    assert_tool(&how, 78, "", "the first one says how many permits there are",
                "semaphore", "s", "true", NULL);
    assert_tool(&how, 0, "", "", "semaphore", "-p2", "s", "true", NULL);
    assert_tool(&how, 78, "",
                "latchkey semaphore: semaphore 's' has 2 permits, not 3\n  use",
                "semaphore", "-p3", "s", "true", NULL);
    assert_tool(&how, 78, "",
                "latchkey semaphore: semaphore 's' has 2 permits, not 3\n",
                "semaphore", "--count=3", "s", "true", NULL);
}

TOOLING_TEST(a_latch_that_is_closed_says_so)
{
    assert_int_equal(tool_code(&how, "latch", "set", "l", "3", NULL), 0);
    assert_tool(&how, 75, "",
                "latchkey latch: 'l' is not open yet: 3 awaited\n", "latch",
                "wait", "-n", "l", NULL);
    assert_tool(&how, 75, "", "latchkey latch: 'l' is not open yet: 3 awaited",
                "latch", "wait", tool_limit_of("-w", 200).text, "l", NULL);
    assert_tool(&how, 75, "",
                "latchkey barrier: barrier 'b': 1 of 2 came in time", "barrier",
                "-n2", tool_limit_of("-w", 200).text, "b", NULL);
}

CHECK_GROUP(tooling_start, tooling_stop)
