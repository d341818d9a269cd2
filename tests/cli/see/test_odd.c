/* SPDX-License-Identifier: MIT */

/* Names that others wrote as no client does, beside one that is as it should be: no
   look at a server stops at them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/odd.h"
#include "support/seeing.h"
#include "support/wait.h"

enum { LONG_MS = 20000 };

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("%s\nis not in\n%.8000s", part, text);
}

/* One holds it and one waits for it. */
static int odd_setup(void **state)
{
    seeing *f;

    (void)seeing_setup(state);
    f = *state;
    odd_put(f->server);
    seeing_start(f, (keeper_how){.holds = "good", .reason = "deploy 4.2"});
    seeing_start(f, (keeper_how){.waits = "good"});
    assert_soon(server_integer(f->server, SERVER_WAITERS("good")) == 1,
                LONG_MS);
    return 0;
}

/* A line that begins so, or NULL. */
static const char *line_with(const char *text, const char *begin)
{
    const char *at = text;

    while ((at = strstr(at, begin)) != NULL && at != text && at[-1] != '\n')
        at++;
    return at;
}

static void assert_told(const odd *one, const char *at, const char *before)
{
    if (at == NULL || !odd_is_told(one, at + strlen(before)))
        fail_msg("%s%s: %s", before, one->reason, at != NULL ? at : "");
}

#define ODD_TEST(name)                                                         \
    CHECK_TEST_OF(name, seeing *f, odd_setup, seeing_teardown)

ODD_TEST(why_tells_of_each_what_is_odd_about_it)
{
    tool *text = tool_start(&f->how, "why", NULL);
    tool *json = tool_start(&f->how, "why", "--json", NULL);
    char line[256];

    assert_int_equal(tool_wait(text, LONG_MS), 0);
    assert_int_equal(tool_wait(json, LONG_MS), 0);
    assert_string_equal(tool_err(text), "");
    assert_has(tool_out(text), "good: lock, 1 holding, 1 waiting\n  held by ");
    assert_has(tool_out(json), "{\"name\":\"good\",\"kind\":\"lock\",");
    for (const odd *one = odd_names; one->name != NULL; one++) {
        (void)snprintf(line, sizeof(line), "%s: cannot be read: ", one->name);
        assert_told(one, line_with(tool_out(text), line), line);
        (void)snprintf(line, sizeof(line), "{\"name\":\"%s\",\"reason\":\"",
                       one->name);
        assert_told(one, strstr(tool_out(json), line), line);
    }
}

/* A caller that asks about that name alone is told by the exit code. */
ODD_TEST(a_name_that_was_asked_about_fails)
{
    assert_tool(&f->how, 64, "", "open{: the name has a '{' with no '}'", "why",
                "open{", NULL);
    assert_tool(&f->how, 78, "",
                "lock 'layout': the name is in use by a release", "why",
                "layout", NULL);
    assert_tool(&f->how, 78, "", "queue-text: one of its keys is of another",
                "who", "queue-text", NULL);
}

ODD_TEST(tables_and_sums_have_all)
{
    assert_tool(&f->how, 0, "\ngood ", "", "ls", NULL);
    assert_tool(&f->how, 0, "  cannot be read: one of its keys is of another",
                "", "ls", "permits-*", NULL);
    assert_tool(&f->how, 0, "\"unread\":\"one of its keys is of another type\"",
                "", "ls", "--json", "permits-*", NULL);
    assert_tool(&f->how, 0, "\"name\":\"good\",\"kind\":\"lock\"", "", "ls",
                "--json", NULL);
    assert_tool(&f->how, 0, "\ngood ", "", "top", "--sort", "held", NULL);
    assert_tool(&f->how, 0, "\"name\":\"good\"", "", "top", "--json", "--sort",
                "held", NULL);
    assert_tool(&f->how, 0, "\"names\":", "", "metrics", "--json", NULL);
    assert_tool(&f->how, 0, "\nlatchkey_name_waiters{name=\"good\"} 1\nlatch",
                "", "metrics", "--names", NULL);
}

ODD_TEST(what_is_asked_about_one_name_is_told)
{
    server_integer(f->server, "SADD latchkey:{good}:e x");
    server_integer(f->server, "SADD latchkey:{layout}:e x");
    assert_tool(&f->how, 0, "good: lock, 1 holding, 1 waiting\n  held", "",
                "who", "good", NULL);
    assert_tool(&f->how, 0, "good: lock, 1 holding, 1 waiting\n  held", "",
                "why", "good", NULL);
    assert_tool(&f->how, 0, " holds ", "", "watch", "-n", "1", "good", NULL);
    assert_tool(&f->how, 0, NULL, NULL, "break", "--dry-run", "good", NULL);
    assert_tool(&f->how, 0, "", "nothing was broken", "log", NULL);
    assert_tool(&f->how, 0, "\nok      rights", "", "doctor", "--name", "good",
                NULL);
}

/* A user who may not read some names is told of the others. */
ODD_TEST(rights_that_are_missing_are_told_by_the_exit_code)
{
    tool_how how = f->how;
    char url[256];

    free(server_string(f->server,
                       "ACL SETUSER one on >p +@all &* ~latchkey:* ~*good*"));
    (void)snprintf(url, sizeof(url), "%s?user=one&password=p", f->how.url);
    how.url = url;
    assert_tool(&how, 77, "good: lock, 1 holding, 1 waiting\n  held by ",
                "this user may not read some of the names", "why", NULL);
    assert_tool(&how, 77, "hash: cannot be read: NOPERM ", NULL, "why", NULL);
}
