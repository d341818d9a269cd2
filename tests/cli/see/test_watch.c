/* SPDX-License-Identifier: MIT */

/* `latchkey watch`: what it tells as it happens. */

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/seeing.h"

enum { LONG_MS = 10000 };

SEEING_TEST(events_come_as_they_happen)
{
    tool *t;

    seeing_start(f, (keeper_how){.holds = "n", .reason = "first"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    tool_wait_out(t, " holds    ", LONG_MS);
    tool_wait_out(t, ", first\n", LONG_MS);
    seeing_start(f, (keeper_how){.waits = "n", .reason = "second"});
    tool_wait_out(t, " waits    ", LONG_MS);
    tool_wait_out(t, ", position 1, second\n", LONG_MS);
    keeper_kill(f->keepers[1]);
    assert_tool(&f->how, 0, NULL, NULL, "break", "-qy", "n", NULL);
    tool_wait_out(t, " ended    ", LONG_MS);
    f->count = 0;
    seeing_start(f, (keeper_how){.holds = "n", .reason = "third"});
    tool_wait_out(t, " granted  ", LONG_MS);
    tool_wait_out(t, ", third\n", LONG_MS);
    tool_free(t);
}

SEEING_TEST(a_hold_that_is_revoked_is_told)
{
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

SEEING_TEST(a_waiter_that_goes_is_told)
{
    tool *t;

    seeing_start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    seeing_start(f, (keeper_how){.waits = "n", .reason = "patient"});
    tool_wait_out(t, " waits    ", LONG_MS);
    server_integer(f->server, "DEL latchkey:{n}:q");
    tool_wait_out(t, " left     ", LONG_MS);
    tool_free(t);
}

/* It may have been granted it and have finished: nobody can tell. */
SEEING_TEST(a_waiter_that_may_have_finished_is_gone)
{
    tool *t;

    seeing_start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    seeing_start(f, (keeper_how){.waits = "n"});
    tool_wait_out(t, " waits    ", LONG_MS);
    server_integer(f->server, "DEL n latchkey:{n}:q");
    tool_wait_out(t, " ended    ", LONG_MS);
    tool_wait_out(t, " gone     ", LONG_MS);
    assert_null(strstr(tool_out(t), " left     "));
    tool_free(t);
}

SEEING_TEST(a_server_that_goes_and_comes_is_told)
{
    tool *t;

    seeing_start(f, (keeper_how){.holds = "n"});
    t = tool_start(&f->how, "watch", "-d", "50ms", "n", NULL);
    tool_wait_out(t, " holds    ", LONG_MS);
    server_kill(f->server);
    tool_wait_out(t, " away ", 3 * LONG_MS);
    assert_true(server_restart(f->server));
    tool_wait_out(t, " back ", LONG_MS);
    tool_free(t);
}

SEEING_TEST(watching_ends_by_count_and_by_time)
{
    seeing_start(f, (keeper_how){.holds = "n"});
    assert_tool(&f->how, 0, " holds    ", "", "watch", "-n", "1", "n", NULL);
    assert_tool(&f->how, 0, "", "nobody holds o now", "watch", "--for", "0.1",
                "o", NULL);
    assert_tool(&f->how, 64, "", "50 ms at least", "watch", "-d", "1ms", "n",
                NULL);
    assert_tool(&f->how, 64, "", NULL, "watch", "{", NULL);
}
