/* SPDX-License-Identifier: MIT */

/* A name that is in use as something else: the refusal says as what, and how to
   hold it. */

#include <string.h>

#include "support/check.h"
#include "support/tooling.h"

/* Whether `COMMAND n` and more are refused so; nothing of the protocol is said. */
static void assert_refused(const char *const *arguments, const char *wanted)
{
    tool *t = tool_start_list(&how, arguments);

    assert_int_equal(tool_wait(t, 10000), 78);
    if (strstr(tool_err(t), wanted) == NULL)
        fail_msg("'%s' is not in: %s", wanted, tool_err(t));
    assert_null(strstr(tool_err(t), "LKTYPE"));
    tool_free(t);
}

CHECK_TEST(a_semaphore_wants_sem)
{
    static const char said[] =
        "'s' is in use as a semaphore\n"
        "  that is `latchkey semaphore`, or -p N of hold "
        "and acquire, or use another name; `latchkey "
        "forget` frees this one once nobody uses it\n";

    assert_tool(&how, 0, NULL, NULL, "semaphore", "-p", "2", "s", "true", NULL);
    assert_refused((const char *[]){"lock", "s", "true", NULL}, said);
    assert_refused((const char *[]){"lock", "-x", "s", "true", NULL}, said);
    assert_refused((const char *[]){"hold", "s", NULL}, said);
    assert_refused((const char *[]){"acquire", "s", "--lease", "5s", NULL},
                   said);
    assert_refused((const char *[]){"leader", "s", "true", NULL},
                   "as a semaphore\n  that is for `latchkey semaphore`, or use "
                   "another name; ");
}

/* Nobody is told to leave out what was not written. */
CHECK_TEST(a_command_of_one_kind_names_the_other_command)
{
    static const char said[] = "'l' is in use as a plain lock\n"
                               "  that is for `latchkey lock`, or use another "
                               "name; `latchkey forget` frees";

    assert_tool(&how, 0, NULL, NULL, "acquire", "l", "--lease", "1h", NULL);
    assert_refused((const char *[]){"semaphore", "l", "true", NULL}, said);
    assert_refused((const char *[]){"semaphore", "-p", "2", "l", "true", NULL},
                   said);
    assert_refused((const char *[]){"semaphore", "--resize", "2", "l", NULL},
                   said);
    assert_refused((const char *[]){"read", "l", "true", NULL}, said);
    assert_refused((const char *[]){"latch", "set", "l", "2", NULL}, said);
    assert_refused((const char *[]){"hold", "-p2", "l", NULL},
                   "  leave out -p, or use another name; ");
    assert_tool(&how, 0, NULL, NULL, "latch", "set", "d", "2", NULL);
    assert_refused((const char *[]){"lock", "d", "true", NULL},
                   "'d' is in use as a latch\n  use another name; ");
    assert_refused((const char *[]){"semaphore", "d", "true", NULL},
                   "  that is for `latchkey latch`, or use another name; ");
}

CHECK_TEST(a_plain_lock_and_a_read_write_lock_are_told_apart)
{
    assert_tool(&how, 0, NULL, NULL, "acquire", "plain", "--lease", "1h", NULL);
    assert_refused((const char *[]){"lock", "-s", "plain", "true", NULL},
                   "'plain' is in use as a plain lock\n"
                   "  leave out -s, or use another name; ");
    assert_tool(&how, 0, NULL, NULL, "acquire", "-s", "rw", "--lease", "1h",
                NULL);
    assert_refused((const char *[]){"lock", "rw", "true", NULL},
                   "'rw' is in use as a read-write lock\n"
                   "  say -s to read, -x to write, or use another name; ");
}

CHECK_TEST(a_key_of_somebody_else_is_something_else)
{
    assert_int_equal(server_integer(redis, "RPUSH list 1"), 1);
    assert_refused((const char *[]){"lock", "list", "true", NULL},
                   "'list' is something else at the server\n"
                   "  use another name\n");
}

CHECK_GROUP(tooling_start, tooling_stop)
