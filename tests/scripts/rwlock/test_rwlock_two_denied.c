/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock's scripts for a user who lacks two rights. What a script wrote
 * and may not take back may keep the name from others for a lease. It never lets a
 * writer in beside somebody.
 */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

/* Every command that takes part in letting somebody in, or in taking that back. */
static const char *const commands[] = {"del",    "exists",  "hdel",
                                       "hget",   "hgetall", "hlen",
                                       "hmget",  "hset",    "pexpire",
                                       "pttl",   "publish", "pubsub",
                                       "set",    "get",     "zadd",
                                       "zcount", "zrem",    "zscore",
                                       "hkeys",  "time",    "hscan",
                                       "mget",   "hexists", "zmscore"};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

typedef struct scene {
    const char *name;
    void (*begin)(script_fixture *f);
    void (*act)(script_fixture *f);
} scene;

/* ---- what was there before ---- */

static void nobody(script_fixture *f)
{
    (void)f;
}

static void dead_reader(script_fixture *f)
{
    rw_acquire(f, "r1:1", "r");
    rw_kill(f, "r1:1");
}

static void reader_before_a_writer(script_fixture *f)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
}

static void dead_reader_before_a_writer(script_fixture *f)
{
    reader_before_a_writer(f);
    rw_kill(f, "r1:1");
}

static void writer_before_all(script_fixture *f)
{
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r2:1", "r");
}

static void writer_beside_its_read(script_fixture *f)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "w1:2", "r", "w1:1");
    rw_acquire(f, "r1:1", "r");
}

static void upgrader(script_fixture *f)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
}

/* ---- what is done without the rights ---- */

static void write_comes(script_fixture *f)
{
    rw_acquire(f, "w1:1", "w");
}

static void write_looks(script_fixture *f)
{
    rw_recheck(f, "w1:1");
}

static void reader_goes(script_fixture *f)
{
    rw_release(f, "r1:1", NULL);
}

static void writer_goes(script_fixture *f)
{
    rw_release(f, "w2:1", NULL);
}

static void write_ends(script_fixture *f)
{
    rw_release(f, "w1:1", NULL);
}

static void write_becomes_a_read(script_fixture *f)
{
    rw_downgrade(f, "w1:1", NULL, 30000);
}

static const scene scenes[] = {
    {"a write", nobody, write_comes},
    {"a write behind a dead reader", dead_reader, write_comes},
    {"a look behind a dead reader", dead_reader_before_a_writer, write_looks},
    {"a read's release", reader_before_a_writer, reader_goes},
    {"a read's release before an upgrade", upgrader, reader_goes},
    {"a write's release", writer_before_all, writer_goes},
    {"a write's release beside its read", writer_beside_its_read, write_ends},
    {"a downgrade", writer_beside_its_read, write_becomes_a_read},
};

/* ---- what must be so ---- */

/* Whether its client is told that it holds. */
static bool holds(script_fixture *f, const char *claim)
{
    return strncmp(rw_confirm(f, claim, NULL, 30000), "1 ", 2) == 0;
}

static bool writes(script_fixture *f, const char *claim)
{
    return script_number(f, "HEXISTS n %s:write", claim) == 1 &&
           holds(f, claim);
}

/* No two that exclude each other are told so, once somebody new has come. */
static void
assert_exclusive(script_fixture *f, const scene *s, size_t first, size_t second)
{
    static const char *const writers[] = {"w1:1", "w2:1", "u2:1"};
    static const char *const readers[] = {"r1:1", "r2:1", "r3:1"};
    int writing = 0, reading = 0;

    rw_acquire(f, "r3:1", "r");
    for (size_t i = 0; i < 3; i++) {
        writing += writes(f, writers[i]) ? 1 : 0;
        reading += holds(f, readers[i]) ? 1 : 0;
    }
    if (writing > 1 || (writing == 1 && reading > 0))
        fail_msg("%s without %s and %s: %s", s->name, commands[first],
                 commands[second], rw_held(f));
}

static void deny_two(script_fixture *f, const scene *s, size_t i, size_t j)
{
    rw_hear(f, "r1:1", "r2:1", "w1:1", "w2:1", "u2:1", (char *)NULL);
    s->begin(f);
    script_deny(f, commands[i]);
    script_redis(f, "ACL SETUSER restricted -%s", commands[j]);
    s->act(f);
    script_deny(f, NULL);
    assert_exclusive(f, s, i, j);
    script_start_over(f);
}

RW_TEST(whoever_lacks_two_rights_lets_no_two_in)
{
    for (size_t s = 0; s < sizeof(scenes) / sizeof(scenes[0]); s++) {
        for (size_t i = 0; i < COMMANDS; i++) {
            for (size_t j = 0; j < i; j++)
                deny_two(f, &scenes[s], i, j);
        }
    }
}

int main(void)
{
    return check_all(script_start_server, script_stop_server);
}
