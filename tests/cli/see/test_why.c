/* SPDX-License-Identifier: MIT */

/* `latchkey why`: who waits for whom, and what is a deadlock. */

#include <stdlib.h>

#include "support/check.h"
#include "support/seeing.h"
#include "support/wait.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { LONG_MS = 10000 };

struct telling {
    seeing *f;
    long long clients;
};

/* So many clients of holders have told what they wait for. */
static bool is_told(const struct telling *telling)
{
    redisReply *reply =
        server_command(telling->f->server, "EVAL %s 0",
                       "local n = 0 for _, k in ipairs(redis.call('KEYS', "
                       "'latchkey:client:*')) do if string.find("
                       "redis.call('GET', k), '\\nw ') then n = n + 1 end end "
                       "return n");
    bool told = reply->type == REDIS_REPLY_INTEGER &&
                reply->integer == telling->clients;

    freeReplyObject(reply);
    return told;
}

static void wait_told(seeing *f, long long clients)
{
    struct telling telling = {f, clients};

    assert_soon(is_told(&telling), LONG_MS);
}

SEEING_TEST(a_chain_is_followed)
{
    seeing_start(f, (keeper_how){.holds = "c"});
    seeing_start(f, (keeper_how){.holds = "b", .waits = "c"});
    seeing_start(f, (keeper_how){.holds = "a", .waits = "b"});
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

SEEING_TEST(a_circle_is_called_a_deadlock)
{
    tool_how how = f->how;

    seeing_start(f, (keeper_how){.holds = "a", .waits = "b"});
    seeing_start(f, (keeper_how){.holds = "b", .waits = "a"});
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
SEEING_TEST(owners_of_one_process_are_told_apart)
{
    seeing_start(f, (keeper_how){.holds = "a", .waits = "b", .is_apart = 1});
    seeing_start(f, (keeper_how){.holds = "b", .waits = "a"});
    wait_told(f, 1);
    assert_tool(&f->how, 0, "who waits for a: lock", "", "why", "b", NULL);
    assert_tool(&f->how, 0, "\"deadlock\":false", "", "why", "b", "--json",
                "-d", "0", NULL);
}

/* Of two readers one goes on, though the other waits in a circle. */
SEEING_TEST(who_waits_for_one_that_goes_on_is_not_stuck)
{
    seeing_start(f, (keeper_how){.reads = "rw", .waits = "a"});
    seeing_start(f, (keeper_how){.holds = "a", .writes = "rw"});
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

SEEING_TEST(redissons_holder_is_the_end_of_what_is_known)
{
    server_integer(f->server, "HSET b " JAVA " 1");
    seeing_start(f, (keeper_how){.holds = "a", .waits = "b"});
    wait_told(f, 1);
    assert_tool(&f->how, 0, "by Redisson: what it waits for is not known", "",
                "why", "a", NULL);
    assert_tool(&f->how, 75, "", "nothing is known", "why", "nope", NULL);
    assert_tool(&f->how, 0, "b: lock, 1 holding, 1 waiting", "", "why", NULL);
}

/* Each of these names is held by two readers who both wait for the next one: from
   the first to the last there are more ways than can be told. */
SEEING_TEST(ways_that_part_and_meet_are_told_once)
{
    freeReplyObject(server_command(
        f->server, "EVAL %s 0",
        "for i = 0, 39 do"
        " local u = string.format('0123456789ab4def8123%012d', i)"
        " redis.call('HSET', 'r' .. i, 'mode', 'read', u .. ':1', 1, u .. ':2',"
        "   1)"
        " for j = 1, 2 do redis.call('SET', '{r' .. i .. '}:' .. u .. ':' .. j"
        "   .. ':rwlock_timeout:1', 1) end"
        " redis.call('SET', 'latchkey:client::' .. u,"
        "   'h\\n1\\nx\\nu\\nx\\nw 1,2 r' .. (i + 1)) end"));
    assert_tool(&f->how, 0, "  who waits for r1: rwlock, 2 holding", "", "why",
                "r0", NULL);
    assert_tool(&f->how, 0, "\n  who waits for r1: see above", "", "why", "r0",
                "--again=0", NULL);
}
