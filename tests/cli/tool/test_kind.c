/* SPDX-License-Identifier: MIT */

/* A name that is in use as something else: the refusal says as what, and how to
   hold it. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/server.h"
#include "support/tool.h"

static server *redis;
static tool_how how;

static int start(void **state)
{
    (void)state;
    redis = server_start(NULL);
    if (redis == NULL)
        return -1;
    how = (tool_how){.url = server_url(redis)};
    return 0;
}

static int end(void **state)
{
    (void)state;
    tool_free_all();
    server_stop(redis);
    return 0;
}

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

static void a_semaphore_wants_sem(void **state)
{
    static const char said[] = "'s' is in use as a semaphore\n"
                               "  say --sem N, or use another name\n";

    (void)state;
    assert_tool(&how, 0, NULL, NULL, "sem", "-p", "2", "s", "true", NULL);
    assert_refused((const char *[]){"lock", "s", "true", NULL}, said);
    assert_refused((const char *[]){"lock", "-x", "s", "true", NULL}, said);
    assert_refused((const char *[]){"hold", "s", NULL}, said);
    assert_refused((const char *[]){"acquire", "s", "--lease", "5s", NULL},
                   said);
    assert_refused((const char *[]){"leader", "s", "true", NULL},
                   "as a semaphore\n  use another name\n");
}

static void a_plain_lock_and_a_read_write_lock_are_told_apart(void **state)
{
    (void)state;
    assert_tool(&how, 0, NULL, NULL, "acquire", "plain", "--lease", "1h", NULL);
    assert_refused((const char *[]){"lock", "-s", "plain", "true", NULL},
                   "'plain' is in use as a plain lock\n"
                   "  leave out -s, -x and --sem, or use another name\n");
    assert_tool(&how, 0, NULL, NULL, "acquire", "-s", "rw", "--lease", "1h",
                NULL);
    assert_refused((const char *[]){"lock", "rw", "true", NULL},
                   "'rw' is in use as a read-write lock\n"
                   "  say -s to read, -x to write, or use another name\n");
}

static void a_key_of_somebody_else_is_something_else(void **state)
{
    (void)state;
    assert_int_equal(server_integer(redis, "RPUSH list 1"), 1);
    assert_refused((const char *[]){"lock", "list", "true", NULL},
                   "'list' is something else at the server\n"
                   "  use another name\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_semaphore_wants_sem),
        cmocka_unit_test(a_plain_lock_and_a_read_write_lock_are_told_apart),
        cmocka_unit_test(a_key_of_somebody_else_is_something_else),
    };

    return cmocka_run_group_tests(tests, start, end);
}
