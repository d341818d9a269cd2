/* SPDX-License-Identifier: MIT */

/* `latchkey why`: who waits for whom, and what is a deadlock. */

#include <stdlib.h>

#include "support/check.h"
#include "support/keeper.h"
#include "support/server.h"
#include "support/tool.h"
#include "support/wait.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { KEEPERS = 8, LONG_MS = 10000 };

typedef struct seeing {
    server *server;
    tool_how how;
    pid_t keepers[KEEPERS];
    size_t count;
    size_t told; /* by so many clients */
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

/* Waits until the client of the holder has told what it waits for. */
static bool is_told(void *data)
{
    const seeing *f = data;
    redisReply *reply =
        server_command(f->server, "EVAL %s 0",
                       "local n = 0 for _, k in ipairs(redis.call('KEYS', "
                       "'latchkey:client:*')) do if string.find("
                       "redis.call('GET', k), '\\nw ') then n = n + 1 end end "
                       "return n");
    bool told = reply->type == REDIS_REPLY_INTEGER &&
                reply->integer == (long long)f->told;

    freeReplyObject(reply);
    return told;
}

static void wait_told(seeing *f, size_t count)
{
    f->told = count;
    assert_true(wait_until(is_told, f, LONG_MS));
}

static void a_chain_is_followed(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.holds = "c"});
    start(f, (keeper_how){.holds = "b", .waits = "c"});
    start(f, (keeper_how){.holds = "a", .waits = "b"});
    wait_told(f, 2);
    assert_tool(&f->how, 0, "a: lock, 1 holding, 0 waiting\n  held by ", "",
                "why", "a", NULL);
    assert_tool(&f->how, 0, "\n  who waits for b: lock, 1 holding, 1 waiting",
                "", "why", "a", NULL);
    assert_tool(&f->how, 0, "\n    who waits for c: lock, 1 holding, 1 waiting",
                "", "why", "a", NULL);
    assert_tool(&f->how, 0, "\"deadlock\":false", "", "why", "a", "--json",
                NULL);
    assert_tool(&f->how, 0, "    waits for b\n    id ", "", "who", "a", NULL);
}

static void a_circle_is_called_a_deadlock(void **state)
{
    seeing *f = *state;
    tool_how how = f->how;

    start(f, (keeper_how){.holds = "a", .waits = "b"});
    start(f, (keeper_how){.holds = "b", .waits = "a"});
    wait_told(f, 2);
    assert_tool(&f->how, 0, "DEADLOCK: a, b: whoever holds these", "", "why",
                "a", NULL);
    assert_tool(&f->how, 0, "DEADLOCK: b, a: whoever holds these", "", "why",
                "-d", "0", "b", NULL);
    assert_tool(&f->how, 0, "\"deadlock\":true", "", "why", "--json", "-d", "0",
                NULL);
    assert_tool(&f->how, 0, "{\"name\":\"b\",\"deadlock\":true,", "", "why",
                "--json", "-d", "0", "b", NULL);
    how.has_terminal = true;
    assert_tool(&how, 0, "who waits for a: see above, the circle is closed",
                NULL, "why", "-d", "0", "a", NULL);
    assert_tool(&how, 0, "DEADLOCK: a, b", NULL, "why", "-d", "0", "a", NULL);
}

/* Another owner of the same process waits: the one that holds goes on. */
static void owners_of_one_process_are_told_apart(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.holds = "a", .waits = "b", .is_apart = 1});
    start(f, (keeper_how){.holds = "b", .waits = "a"});
    wait_told(f, 1);
    assert_tool(&f->how, 0, "who waits for a: lock", "", "why", "b", NULL);
    assert_tool(&f->how, 0, "\"deadlock\":false", "", "why", "b", "--json",
                "-d", "0", NULL);
}

/* Of two readers one goes on, though the other waits in a circle. */
static void who_waits_for_one_that_goes_on_is_not_stuck(void **state)
{
    seeing *f = *state;

    start(f, (keeper_how){.reads = "rw", .waits = "a"});
    start(f, (keeper_how){.holds = "a", .writes = "rw"});
    wait_told(f, 2);
    assert_tool(&f->how, 0, "DEADLOCK: rw, a", "", "why", "rw", "-d", "0",
                NULL);
    server_integer(f->server,
                   "HSET rw 21234567-89ab-cdef-0123-456789abcdef:1 1");
    freeReplyObject(
        server_command(f->server,
                       "SET {rw}:21234567-89ab-cdef-0123-456789abcdef:1:"
                       "rwlock_timeout:1 1"));
    assert_tool(&f->how, 0, "\"deadlock\":false", "", "why", "rw", "--json",
                NULL);
}

static void redissons_holder_is_the_end_of_what_is_known(void **state)
{
    seeing *f = *state;

    server_integer(f->server, "HSET b " JAVA " 1");
    start(f, (keeper_how){.holds = "a", .waits = "b"});
    wait_told(f, 1);
    assert_tool(&f->how, 0, "by Redisson: what it waits for is not known", "",
                "why", "a", NULL);
    assert_tool(&f->how, 75, "", "nothing is known", "why", "nope", NULL);
    assert_tool(&f->how, 0, "b: lock, 1 holding, 1 waiting", "", "why", NULL);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_chain_is_followed),
        TEST(a_circle_is_called_a_deadlock),
        TEST(owners_of_one_process_are_told_apart),
        TEST(who_waits_for_one_that_goes_on_is_not_stuck),
        TEST(redissons_holder_is_the_end_of_what_is_known),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
