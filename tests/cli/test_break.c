/* SPDX-License-Identifier: MIT */

/* `latchkey break`: what it shows, asks and ends. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/keeper.h"
#include "support/server.h"
#include "support/tool.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { KEEPERS = 8, LONG_MS = 10000 };

typedef struct seeing {
    server *server;
    tool_how how;
    pid_t keepers[KEEPERS];
    size_t count;
} seeing;

static int setup(void **state)
{
    seeing *f = calloc(1, sizeof(*f));

    *state = f;
    assert_non_null(f);
    f->server = server_start(NULL);
    assert_non_null(f->server);
    f->how.url = server_url(f->server);
    return 0;
}

static int teardown(void **state)
{
    seeing *f = *state;

    for (size_t i = 0; i < f->count; i++)
        keeper_kill(f->keepers[i]);
    server_stop(f->server);
    free(f);
    return 0;
}

static pid_t start(seeing *f, keeper_how how)
{
    how.url = server_url(f->server);
    assert_true(f->count < KEEPERS);
    f->keepers[f->count] = keeper_start(&how);
    return f->keepers[f->count++];
}

/* The id of the first holder of "deploy". */
static const char *owner_of(seeing *f)
{
    static char owner[80];
    char *field;
    redisReply *reply = server_command(f->server, "HKEYS deploy");

    assert_int_equal(reply->elements, 1);
    field = reply->element[0]->str;
    (void)snprintf(owner, sizeof(owner), "%s", field);
    freeReplyObject(reply);
    return owner;
}

static void a_hold_is_ended_and_its_holder_told(void **state)
{
    seeing *f = *state;
    pid_t keeper = start(f, (keeper_how){.holds = "deploy", .reason = "4.2"});

    assert_tool(&f->how, 0, "deploy: lock, 1 holding", "the holder is told",
                "break", "--yes", "deploy", NULL);
    assert_int_equal(keeper_join(keeper), 0); /* told of a forced end */
    f->count = 0;
    assert_tool(&f->how, 75, NULL, "nobody holds deploy", "break", "--yes",
                "deploy", NULL);
}

static void the_next_in_line_gets_it(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.holds = "deploy"});
    start(f, (keeper_how){.waits = "deploy", .reason = "next"});
    while (server_integer(f->server, "ZCARD latchkey:queue:{deploy}") == 0)
        continue; /* the test's time limit ends it */
    assert_tool(&f->how, 0, NULL, NULL, "break", "-y", "deploy", NULL);
    assert_tool(&f->how, 0, "why   next", NULL, "who", "deploy", NULL);
}

static void nothing_is_ended_without_a_yes(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.holds = "deploy"});
    assert_tool(&f->how, 64, "deploy: lock", "no terminal to ask on", "break",
                "deploy", NULL);
    assert_tool(&f->how, 0, "deploy: lock", "nothing was changed", "break",
                "--dry-run", "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
}

/* Asks on the terminal, and takes the answer. */
static int answer(seeing *f, const char *text)
{
    tool_how how = f->how;
    tool *t;
    int code;

    how.has_terminal = true;
    t = tool_start(&how, "break", "deploy", NULL);
    tool_wait_out(t, "End it?", LONG_MS);
    tool_type(t, text);
    code = tool_wait(t, LONG_MS);
    tool_free(t);
    return code;
}

static void on_a_terminal_it_asks(void **state)
{
    seeing *f = *state;
    pid_t keeper = start(f, (keeper_how){.holds = "deploy"});

    assert_int_equal(answer(f, "n\n"), 75);
    assert_int_equal(answer(f, "\n"), 75);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
    assert_int_equal(answer(f, "y\n"), 0);
    assert_int_equal(keeper_join(keeper), 0);
    f->count = 0;
}

static void only_the_owner_that_is_named_is_ended(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.holds = "deploy"});
    assert_tool(&f->how, 75, NULL, "does not hold deploy; nothing was changed",
                "break", "-y", "--if-owner", JAVA, "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 1);
    assert_tool(&f->how, 0, NULL, NULL, "break", "-y", "--if-owner",
                owner_of(f), "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 0);
}

static void of_several_holders_one_has_to_be_named(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.reads = "rw"});
    start(f, (keeper_how){.reads = "rw"});
    assert_tool(&f->how, 64, NULL, "2 hold rw: say which with --if-owner ID",
                "break", "-y", "rw", NULL);
    assert_int_equal(server_integer(f->server, "HLEN rw"), 3);
    assert_tool(&f->how, 0, NULL, NULL, "break", "-y", "--all", "rw", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS rw"), 0);
    assert_tool(&f->how, 64, NULL, "contradict each other", "break", "--all",
                "--if-owner", "x", "rw", NULL);
}

static void redissons_hold_is_ended_and_said_to_be_so(void **state)
{
    seeing *f = *state;

    server_integer(f->server, "HSET deploy " JAVA " 1");
    assert_tool(&f->how, 0, "by Redisson", "Redisson does not tell its holder",
                "break", "-y", "deploy", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS deploy"), 0);
}

static void what_nobody_holds_cannot_be_broken(void **state)
{
    seeing *f = *state;

    assert_tool(&f->how, 75, "", "nothing is known under this name", "break",
                "-y", "nope", NULL);
    assert_tool(&f->how, 64, "", NULL, "break", NULL);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_hold_is_ended_and_its_holder_told),
        TEST(the_next_in_line_gets_it),
        TEST(nothing_is_ended_without_a_yes),
        TEST(on_a_terminal_it_asks),
        TEST(only_the_owner_that_is_named_is_ended),
        TEST(of_several_holders_one_has_to_be_named),
        TEST(redissons_hold_is_ended_and_said_to_be_so),
        TEST(what_nobody_holds_cannot_be_broken),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
