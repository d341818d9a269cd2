/* SPDX-License-Identifier: MIT */

/* What shells are told of a word that is being typed. test_shells.c has the shells. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/scratch.h"
#include "support/tool.h"
#include "support/wait.h"

/* ---- from the tables ---------------------------------------------------- */

CHECK_TEST(commands_are_told_but_not_those_for_shells)
{
    assert_tool(NULL, 0, "\nconfig\tshow the settings in use", "", "__complete",
                "", NULL);
    assert_tool(NULL, 0,
                "why\tshow who waits for whom, and which can never go on\n", "",
                "__complete", "-q", "why", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "__", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "nothing", "", NULL);
}

CHECK_TEST(options_are_those_of_the_command_and_of_all)
{
    assert_tool(NULL, 0,
                "--quick\tsome seconds instead of half a minute\n"
                "--quiet\tonly errors, and that nothing is configured\n",
                "", "__complete", "demo", "--qui", NULL);
    assert_tool(NULL, 0, "--foreground\t", "", "__complete", "lock", "-", NULL);
    assert_tool(NULL, 0, "--url\t", "", "__complete", "lock", "-", NULL);
    assert_tool(NULL, 0, "--help\t", "", "__complete", "lock", "x", "--h",
                NULL);
}

CHECK_TEST(values_are_told_where_they_are_words)
{
    static const char words[] = "always\t\n";

    assert_tool(NULL, 0, words, "", "__complete", "--color", "al", NULL);
    assert_tool(NULL, 0, "--color=always\t\n", "", "__complete", "config",
                "--color=al", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "--url", "", NULL);
    assert_tool(NULL, 0, "config\t", "", "__complete", "help", "conf", NULL);
    assert_tool(NULL, 0, "stop\t\n", "", "__complete", "server", "sto", NULL);
}

CHECK_TEST(the_rest_is_left_to_the_shell)
{
    assert_tool(NULL, 0, ":commands\n", "", "__complete", "lock", "x", "",
                NULL);
    assert_tool(NULL, 0, ":commands\n", "", "__complete", "lock", "x", "--",
                "-", NULL);
    assert_tool(NULL, 0, ":files\n", "", "__complete", "lock", "-w", "2", "x",
                "make", "-", NULL);
    assert_tool(NULL, 0, ":commands\n", "", "__complete", "lock", "-nw2", "x",
                "ma", NULL);
}

/* ---- names -------------------------------------------------------------- */

/* What is asked for, and what it has to come to. A busy machine may take all
   of the 200 ms: then no names are told, and it is asked again. */
typedef struct question {
    const tool_how *how;
    const char *arguments[6];
    const char *expected; /* NULL: some lines */
    size_t lines;
    char actual[256];
} question;

static size_t lines(const char *text)
{
    size_t count = 0;

    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

static bool is_answered(void *data)
{
    question *q = data;
    tool *t = tool_start_list(q->how, q->arguments);
    bool is_good;

    assert_int_equal(tool_wait(t, 5000), 0);
    is_good = q->expected != NULL ? strcmp(tool_out(t), q->expected) == 0
                                  : lines(tool_out(t)) == q->lines;
    (void)snprintf(q->actual, sizeof(q->actual), "%.255s", tool_out(t));
    tool_free(t);
    return is_good;
}

static void
assert_names(const tool_how *how, const char *begun, const char *expected)
{
    question q = {.how = how,
                  .arguments = {"__complete", "lock", "-n", begun, NULL},
                  .expected = expected};

    if (!wait_until(is_answered, &q, 5000))
        fail_msg("'%s' becomes '%s'", begun, q.actual);
}

/* What the running test holds. */
static lk_hold *held[4];
static size_t held_count;

static void hold(locking *f, lk_client *client, const char *name)
{
    assert_true(held_count < sizeof(held) / sizeof(held[0]));
    held[held_count++] = locking_hold(locking_lock(f, client, name));
}

static int names_end(void **state)
{
    while (held_count > 0)
        (void)lk_hold_release(held[--held_count]);
    return locking_teardown(state);
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, names_end)

TEST(names_are_the_server_s)
{
    const tool_how how = {.url = server_url(f->server)};
    lk_client *client = locking_open(f, NULL);
    question q = {.how = &how,
                  .arguments = {"__complete", "barrier", "or", NULL},
                  .expected = "or:gate\tlatch\n"};

    hold(f, client, "orders:1");
    hold(f, client, "others");
    hold(f, client, "evil\033[2J");
    assert_names(&how, "or", "orders:1\tlock\n");
    assert_names(&how, "oth", "others\tlock\n");
    assert_names(&how, "e", "");
    assert_tool(&how, 0, "", "", "__complete", "latch", "wait", "or", NULL);
    assert_tool(&how, 0, NULL, "", "latch", "set", "or:gate", "2", NULL);
    assert_true(wait_until(is_answered, &q, 5000));
    assert_names(&how, "*", "");
}

/* It would be one: `--on-lost=run:LINE` runs a line. */
TEST(a_name_like_an_option_is_told_behind_a_double_dash)
{
    const tool_how how = {.url = server_url(f->server)};
    question q = {.how = &how,
                  .arguments = {"__complete", "who", "--", "", NULL},
                  .expected = "--on-lost=run:id\tlock\n"};

    hold(f, locking_open(f, NULL), "--on-lost=run:id");
    assert_true(wait_until(is_answered, &q, 5000));
    assert_tool(&how, 0, "", "", "__complete", "who", "", NULL);
}

TEST(the_server_may_be_named_in_the_line)
{
    const tool_how how = {.url = "unix:/nowhere"};
    question q = {.how = &how,
                  .arguments = {"__complete", "-u", server_url(f->server),
                                "lock", "or", NULL},
                  .expected = "orders:1\tlock\n"};

    hold(f, locking_open(f, NULL), "orders:1");
    if (!wait_until(is_answered, &q, 5000))
        fail_msg("%s", q.actual);
}

CHECK_TEST(a_private_server_is_asked_but_not_started)
{
    scratch *home = scratch_new();
    char variable[96];
    const char *const env[] = {variable, NULL};
    const tool_how how = {.env = env};
    question q = {.how = &how,
                  .arguments = {"__complete", "lock", "or", NULL},
                  .expected = "orders\tlock\n"};
    tool *t;

    assert_non_null(home);
    (void)snprintf(variable, sizeof(variable), "LATCHKEY_SERVER_DIRECTORY=%s",
                   scratch_path(home));
    assert_tool(&how, 0, "", "", "__complete", "lock", "or", NULL);
    assert_tool(&how, 0, "", "", "__complete", "-u", "local:", "lock", "",
                NULL);
    assert_tool(&how, 75, NULL, NULL, "server", "status", NULL);
    t = tool_start(&how, "lock", "orders", "--", "sh", "-c",
                   "echo begun; sleep 60", NULL);
    tool_wait_out(t, "begun", 10000);
    assert_true(wait_until(is_answered, &q, 5000));
    tool_free(t);
    assert_tool(&how, 0, NULL, NULL, "server", "stop", NULL);
    scratch_free(home);
}

TEST(of_many_names_there_are_some)
{
    static const char make[] =
        "for i = 1, 3000 do redis.call('HSET', 'name' .. i, "
        "'01234567-89ab-cdef-0123-456789abcdef:1', 1) end return 1";
    const tool_how how = {.url = server_url(f->server)};
    question q = {.how = &how,
                  .arguments = {"__complete", "lock", "nam", NULL},
                  .lines = 200};

    assert_int_equal(server_integer(f->server, "EVAL %s 0", make), 1);
    assert_true(wait_until(is_answered, &q, 5000));
}

/* ---- time --------------------------------------------------------------- */

/* What a busy machine adds to the 200 ms is not the tool's. */
static void assert_prompt(const tool_how *how)
{
    const uint64_t began = wait_now_ms();

    assert_tool(how, 0, "", "", "__complete", "lock", "or", NULL);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(450)));
}

TEST(it_does_not_wait_for_a_server)
{
    const tool_how frozen = {.url = server_url(f->server)};
    const tool_how refusing = {.url = "redis://127.0.0.1:1"};
    const tool_how far = {.url = "redis://192.0.2.1"};
    const tool_how nowhere = {.url = "unix:/nowhere"};

    server_freeze(f->server);
    assert_prompt(&frozen);
    server_thaw(f->server);
    assert_prompt(&refusing);
    assert_prompt(&far);
    assert_prompt(&nowhere);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
