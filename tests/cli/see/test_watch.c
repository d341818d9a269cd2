/* SPDX-License-Identifier: MIT */

/* `latchkey watch`: what it tells as it happens. */

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/keeper.h"
#include "support/server.h"
#include "support/tool.h"

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

static void events_come_as_they_happen(void **state)
{
    seeing *f = *state;
    tool *t;

    start(f, (keeper_how){.holds = "n", .reason = "first"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    tool_wait_out(t, " holds    ", LONG_MS);
    tool_wait_out(t, ", first\n", LONG_MS);
    start(f, (keeper_how){.waits = "n", .reason = "second"});
    tool_wait_out(t, " waits    ", LONG_MS);
    tool_wait_out(t, ", position 1, second\n", LONG_MS);
    keeper_kill(f->keepers[1]);
    assert_tool(&f->how, 0, NULL, NULL, "break", "-qy", "n", NULL);
    tool_wait_out(t, " ended    ", LONG_MS);
    f->count = 0;
    start(f, (keeper_how){.holds = "n", .reason = "third"});
    tool_wait_out(t, " granted  ", LONG_MS);
    tool_wait_out(t, ", third\n", LONG_MS);
    tool_free(t);
}

static void a_hold_that_is_revoked_is_told(void **state)
{
    seeing *f = *state;
    tool *t, *breaking;

    assert_int_equal(tool_code(&f->how, "acquire", "-l1h", "n", NULL), 0);
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    tool_wait_out(t, " holds    ", LONG_MS);
    breaking = tool_start(&f->how, "break", "-qy", "n", NULL);
    tool_wait_out(t, " revoked  ", LONG_MS);
    tool_free(breaking);
    assert_int_equal(tool_code(&f->how, "break", "-qy", "--now", "n", NULL), 0);
    tool_wait_out(t, " ended    ", LONG_MS);
    assert_null(strstr(strstr(tool_out(t), " revoked  ") + 1, " revoked  "));
    tool_free(t);
}

static void a_waiter_that_goes_is_told(void **state)
{
    seeing *f = *state;
    tool *t;

    start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    start(f, (keeper_how){.waits = "n", .reason = "patient"});
    tool_wait_out(t, " waits    ", LONG_MS);
    server_integer(f->server, "DEL latchkey:{n}:q");
    tool_wait_out(t, " left     ", LONG_MS);
    tool_free(t);
}

/* It may have been granted it and have finished: nobody can tell. */
static void a_waiter_that_may_have_finished_is_gone(void **state)
{
    seeing *f = *state;
    tool *t;

    start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    start(f, (keeper_how){.waits = "n"});
    tool_wait_out(t, " waits    ", LONG_MS);
    server_integer(f->server, "DEL n latchkey:{n}:q");
    tool_wait_out(t, " ended    ", LONG_MS);
    tool_wait_out(t, " gone     ", LONG_MS);
    assert_null(strstr(tool_out(t), " left     "));
    tool_free(t);
}

static void a_server_that_goes_and_comes_is_told(void **state)
{
    seeing *f = *state;
    tool *t;

    start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    tool_wait_out(t, " holds    ", LONG_MS);
    server_kill(f->server);
    tool_wait_out(t, " away ", 3 * LONG_MS);
    assert_true(server_restart(f->server));
    tool_wait_out(t, " back ", LONG_MS);
    tool_free(t);
}

static void watching_ends_by_count_and_by_time(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.holds = "n"});
    assert_tool(&f->how, 0, " holds    ", "", "watch", "-n", "1", "n", NULL);
    assert_tool(&f->how, 0, "", "nobody holds o now", "watch", "--for", "0.1",
                "o", NULL);
    assert_tool(&f->how, 64, "", "50 ms at least", "watch", "-d", "1ms", "n",
                NULL);
    assert_tool(&f->how, 64, "", NULL, "watch", "{", NULL);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(events_come_as_they_happen),
        TEST(a_hold_that_is_revoked_is_told),
        TEST(a_waiter_that_goes_is_told),
        TEST(a_waiter_that_may_have_finished_is_gone),
        TEST(a_server_that_goes_and_comes_is_told),
        TEST(watching_ends_by_count_and_by_time),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
