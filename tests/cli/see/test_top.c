/* SPDX-License-Identifier: MIT */

/* `latchkey top`: on a terminal and without one. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/seeing.h"
#include "support/wait.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { LONG_MS = 10000 };

/* As from a loop that reads a file: no key can be read. */
SEEING_TEST(top_without_a_keyboard_is_one_look)
{
    static const char *const variables[] = {"tool=" LK_TOOL, NULL};
    const tool_how how = {.url = server_url(f->server),
                          .env = variables,
                          .program = "sh",
                          .has_terminal = true};
    tool *t;

    seeing_start(f, (keeper_how){.holds = "busy"});
    t = tool_start(&how, "-c", "$tool top </dev/null", NULL);
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    assert_non_null(strstr(tool_out(t), "busy"));
    assert_null(strstr(tool_out(t), "q quits"));
    tool_free(t);
}

SEEING_TEST(top_without_a_terminal_is_one_look)
{
    seeing_start(f, (keeper_how){.holds = "quiet"});
    /* Milliseconds are what is compared. */
    while (server_integer(f->server, "PTTL quiet") > 30000 - 5)
        continue;
    seeing_start(f, (keeper_how){.holds = "busy"});
    seeing_start(f, (keeper_how){.waits = "busy"});
    while (server_integer(f->server, SERVER_WAITERS("busy")) == 0)
        continue; /* the test's time limit ends it */
    assert_tool(&f->how, 0, "\nbusy   lock     1     1", "", "top", NULL);
    assert_tool(&f->how, 0, "\nbusy ", "", "top", "-n", "1", NULL);
    assert_tool(&f->how, 0, "{\"names\":[{\"name\":\"busy\"", "", "top",
                "--json", NULL);
    assert_tool(&f->how, 0, "{\"names\":[{\"name\":\"quiet\"", "", "top",
                "--json", "-s", "held", NULL);
    assert_tool(&f->how, 64, "", "100 ms at least", "top", "-d", "0", NULL);
}

SEEING_TEST(what_nobody_holds_comes_last)
{
    assert_int_equal(tool_code(&f->how, "latch", "set", "a", "5", NULL), 0);
    seeing_start(f, (keeper_how){.holds = "n"});
    assert_tool(&f->how, 0, "\nn ", "", "top", "-n", "1", NULL);
}

static tool *start_top(const seeing *f)
{
    tool_how how = f->how;
    static const char *const env[] = {"TERM=xterm", NULL};

    how.has_terminal = true;
    how.env = env;
    return tool_start(&how, "top", "-d", "100ms", NULL);
}

SEEING_TEST(top_on_a_terminal_is_drawn_again)
{
    tool *t = start_top(f);

    tool_wait_out(t, "\033[?1049h", LONG_MS);
    tool_wait_out(t, "0 names, 0 held, 0 waiting", LONG_MS);
    seeing_start(f, (keeper_how){.holds = "appears"});
    tool_wait_out(t, "1 names, 1 held, 0 waiting", LONG_MS);
    tool_wait_out(t, "appears  lock", LONG_MS);
    tool_wait_out(t, "\nsort: w waiters, ", LONG_MS);
    tool_type(t, "h");
    tool_wait_out(t, ", by held\033[K", LONG_MS);
    tool_type(t, "r");
    tool_wait_out(t, ", by rate\033[K", LONG_MS);
    tool_type(t, "q");
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    assert_non_null(strstr(tool_out(t), "\033[?25h\033[?1049l"));
    tool_free(t);
}

/* Of the second holder, and more than 0.0. */
static bool shows_a_rate(void *data)
{
    static const char after[] = "/s  11234567-89ab-cdef";
    const char *at = strstr(tool_out(data), after);

    while (at != NULL && strncmp(at - 3, "0.0", 3) == 0)
        at = strstr(at + 1, after);
    return at != NULL;
}

SEEING_TEST(top_counts_changes_of_hands)
{
    tool *t = start_top(f);

    server_integer(f->server, "HSET n " JAVA " 1");
    tool_wait_out(t, "0.0/s", LONG_MS);
    server_integer(f->server,
                   "HSET n 11234567-89ab-cdef-0123-456789abcdef:1 1");
    server_integer(f->server, "HDEL n " JAVA);
    tool_wait_out(t, "11234567-89ab-cdef", LONG_MS);
    /* One, over a growing time; a slow machine draws few of the steps. */
    assert_true(wait_until(shows_a_rate, t, LONG_MS));
    tool_type(t, "q");
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    tool_free(t);
}

SEEING_TEST(top_survives_an_outage)
{
    tool *t = start_top(f);

    tool_wait_out(t, "0 names", LONG_MS);
    server_kill(f->server);
    tool_wait_out(t, "what is shown is old", 2 * LONG_MS);
    assert_true(server_restart(f->server));
    server_integer(f->server, "HSET n " JAVA " 1");
    tool_wait_out(t, "1 names", 2 * LONG_MS);
    tool_type(t, "q");
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    tool_free(t);
}

SEEING_TEST(a_signal_ends_top_and_gives_the_terminal_back)
{
    tool *t = start_top(f);

    tool_wait_out(t, "0 names", LONG_MS);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_int_equal(tool_wait(t, LONG_MS), 128 + SIGTERM);
    assert_non_null(strstr(tool_out(t), "\033[?25h\033[?1049l"));
    tool_free(t);
}
