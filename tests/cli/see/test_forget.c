/* SPDX-License-Identifier: MIT */

/* `latchkey forget`: what it removes, and what it says of a name in use. */

#include <string.h>

#include "support/check.h"
#include "support/seeing.h"
#include "support/wait.h"

SEEING_TEST(a_latchs_name_becomes_a_locks)
{
    assert_tool(&f->how, 0, NULL, NULL, "latch", "set", "n", "2", NULL);
    assert_tool(&f->how, 78, NULL, "use another name", "lock", "n", "--",
                "true", NULL);
    assert_tool(&f->how, 0, "", "latchkey forget: forgotten\n", "forget", "n",
                NULL);
    assert_tool(&f->how, 0, NULL, NULL, "lock", "n", "--", "true", NULL);
    assert_tool(&f->how, 0, "n: lock", NULL, "who", "n", NULL);
}

SEEING_TEST(a_name_that_is_held_is_shown_and_stays)
{
    seeing_start(f, (keeper_how){.holds = "n", .reason = "4.2"});
    assert_tool(&f->how, 75, "why   4.2", "holds it; its lease ends in",
                "forget", "n", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS n latchkey:{n}:r"), 2);
    assert_tool(&f->how, 75, "", "holds it", "--json", "forget", "n", NULL);
}

SEEING_TEST(a_semaphores_number_goes_with_it)
{
    assert_tool(&f->how, 0, NULL, NULL, "semaphore", "-p", "3", "s", "--",
                "true", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS s"), 1);
    assert_tool(&f->how, 0, "", "", "-q", "forget", "s", NULL);
    assert_int_equal(server_integer(f->server, "EXISTS s"), 0);
    assert_tool(&f->how, 0, NULL, NULL, "semaphore", "-p", "5", "s", "--",
                "true", NULL);
}

SEEING_TEST(a_name_that_nobody_knows_is_not_forgotten)
{
    assert_tool(&f->how, 75, "", "nothing is known under this name", "forget",
                "n", NULL);
    assert_tool(&f->how, 64, "", NULL, "forget", NULL);
    assert_tool(&f->how, 64, "", NULL, "forget", "a", "b", NULL);
}

/* A busy machine may take longer than the tool waits for names. */
static bool is_offered(void *data)
{
    tool *t = tool_start(data, "__complete", "forget", "na", NULL);
    bool is_good;

    assert_int_equal(tool_wait(t, 5000), 0);
    is_good = strcmp(tool_out(t), "name\tlock\n") == 0;
    tool_free(t);
    return is_good;
}

/* Names that nobody uses, which are not offered to other commands. */
SEEING_TEST(idle_names_complete)
{
    assert_tool(&f->how, 0, NULL, NULL, "lock", "name", "--", "true", NULL);
    assert_true(wait_until(is_offered, &f->how, 5000));
    assert_tool(&f->how, 0, "", "", "__complete", "break", "na", NULL);
}
