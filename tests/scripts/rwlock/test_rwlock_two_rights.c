/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock's scripts for a user who lacks two rights. What a script
 * wrote it may be unable to take back then; it leaves no writer beside another one
 * or beside another client's reader all the same, nor a writer among readers, whom
 * the next one to write would make a second writer.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"

/* Every command that a script of the read-write lock may call, first those that
   change something: of two that are denied one does. */
static const char *const commands[] = {"hdel", "del", "hset", "pexpire", "set",
                                       "zadd", "zrem",
                                       /* they change nothing */
                                       "publish", "pubsub", "exists", "get",
                                       "mget", "hexists", "hget", "hgetall",
                                       "hlen", "hmget", "hscan", "hkeys",
                                       "pttl", "time", "zcount", "zscore",
                                       "zmscore", "zrangebyscore",
                                       "zrevrangebyscore"};

static const char *const claims[] = {"r1:1", "r2:1", "u1:1", "u2:1",
                                     "w1:1", "w1:2", "w2:1"};

enum {
    COMMANDS = sizeof(commands) / sizeof(commands[0]),
    CHANGING = 7,
    CLAIMS = sizeof(claims) / sizeof(claims[0]),
    LONG_MS = 90000
};

typedef struct rights_scene {
    void (*begin)(script_fixture *f);
    void (*act)(script_fixture *f);
} rights_scene;

/* ---- what must be so ---- */

static bool lives(script_fixture *f, const char *claim)
{
    return script_number(f, "EXISTS %s", lua_rwlock_timeout(claim)) == 1;
}

/* Whether its hold as a writer ended with its own lease, beside a read that goes
   on. */
static bool has_lapsed(script_fixture *f, const char *claim)
{
    return script_number(f, "EXISTS " LUA_RWLOCK_RECORD) == 1 &&
           strcmp(rw_mark(f, "aside"), claim) == 0 && !lives(f, claim);
}

/* All claims of "u" are one client's in these tests. */
static bool same_client(const char *a, const char *b)
{
    return strncmp(a, b, a[0] == 'u' ? 1 : 2) == 0;
}

static void assert_no_reader(script_fixture *f, const char *writer,
                             const char *denied, const char *held)
{
    for (size_t i = 0; i < CLAIMS; i++) {
        if (!same_client(claims[i], writer) && lives(f, claims[i]) &&
            script_number(f, "HEXISTS n %s", claims[i]) == 1)
            fail_msg("without %s: %s reads beside a writer: %s", denied,
                     claims[i], held);
    }
}

static void assert_exclusive(script_fixture *f, const char *denied)
{
    char held[256];
    const char *writer = NULL;

    snprintf(held, sizeof(held), "%s", rw_held(f));
    if (strstr(held, ":write") == NULL)
        return;
    for (size_t i = 0; i < CLAIMS; i++) {
        if (script_number(f, "HEXISTS n %s:write", claims[i]) == 0 ||
            has_lapsed(f, claims[i]))
            continue;
        if (writer != NULL)
            fail_msg("without %s: two writers: %s", denied, held);
        writer = claims[i];
    }
    if (writer == NULL)
        return;
    if (strstr(held, " write") == NULL)
        fail_msg("without %s: a writer among readers: %s", denied, held);
    assert_no_reader(f, writer, denied, held);
}

static void deny_two(script_fixture *f, const rights_scene *scene, size_t first,
                     size_t second)
{
    char denied[64];

    snprintf(denied, sizeof(denied), "%s and %s", commands[first],
             commands[second]);
    scene->begin(f);
    script_deny(f, commands[first]);
    script_redis(f, "ACL SETUSER restricted -%s", commands[second]);
    scene->act(f);
    assert_exclusive(f, denied);
    script_start_over(f);
}

static void play(script_fixture *f, rights_scene scene)
{
    rw_hear(f, "r1:1", "r2:1", "w1:1", "w2:1", "u2:1", (char *)NULL);
    for (size_t i = 0; i < CHANGING; i++) {
        for (size_t j = i; j < COMMANDS; j++)
            deny_two(f, &scene, i, j);
    }
}

/* ---- how it begins ---- */

static void nobody(script_fixture *f)
{
    (void)f;
}

static void one_reads(script_fixture *f)
{
    rw_acquire(f, "r1:1", "r");
}

static void one_died_reading(script_fixture *f)
{
    rw_acquire(f, "r1:1", "r");
    rw_kill(f, "r1:1");
}

static void one_may_upgrade(script_fixture *f)
{
    rw_acquire(f, "u1:1", "u");
}

/* The base of it lives, and another one who read has died. */
static void one_may_upgrade_beside_a_dead_one(script_fixture *f)
{
    rw_acquire(f, "u1:1", "u");
    one_died_reading(f);
}

static void an_upgrade_waits(script_fixture *f)
{
    rw_acquire(f, "u1:1", "u");
    rw_acquire(f, "r1:1", "r");
    rw_acquire_on(f, "u2:1", "w", "u1:1");
}

static void one_writes_and_reads(script_fixture *f)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire_on(f, "w1:2", "r", "w1:1");
}

/* The writer's lease has a key of its own then. */
static void one_stands_aside(script_fixture *f)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire_as(f, "w1:2",
                  (lua_rwlock_ask){.mode = 'r',
                                   .writes = "w1:1",
                                   .lease = LONG_MS});
    assert_string_equal(rw_mark(f, "aside"), "w1:1");
}

static void one_lapsed(script_fixture *f)
{
    one_stands_aside(f);
    rw_kill(f, "w1:1");
}

static void some_wait(script_fixture *f)
{
    rw_acquire(f, "w1:1", "w");
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
    rw_acquire(f, "r2:1", "r");
}

static void some_wait_for_two(script_fixture *f)
{
    one_writes_and_reads(f);
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
}

static void some_wait_for_the_dead(script_fixture *f)
{
    some_wait(f);
    script_expire(f);
}

static void a_writer_waits(script_fixture *f)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "w2:1", "w");
}

static void a_writer_waits_for_the_dead(script_fixture *f)
{
    a_writer_waits(f);
    rw_kill(f, "r1:1");
}

/* ---- what is done then ---- */

static void read_one(script_fixture *f)
{
    rw_acquire(f, "r2:1", "r");
}

static void write_one(script_fixture *f)
{
    rw_acquire(f, "w2:1", "w");
}

static void try_to_write(script_fixture *f)
{
    rw_try(f, "w2:1", "w");
}

static void spin_to_write(script_fixture *f)
{
    rw_spin(f, "w2:1", "w");
}

static void read_beside_the_write(script_fixture *f)
{
    rw_acquire_on(f, "w1:2", "r", "w1:1");
}

static void upgrade(script_fixture *f)
{
    rw_acquire_on(f, "u2:1", "w", "u1:1");
}

static void look_to_read(script_fixture *f)
{
    rw_recheck(f, "r1:1");
}

static void look_to_write(script_fixture *f)
{
    rw_recheck(f, "w2:1");
}

static void end_the_read(script_fixture *f)
{
    rw_release(f, "r1:1", NULL);
}

static void end_the_write(script_fixture *f)
{
    rw_release(f, "w1:1", NULL);
}

static void end_the_write_alone(script_fixture *f)
{
    lua_rwlock_release_alone(f, "w1:1");
}

static void end_the_read_of_the_writer(script_fixture *f)
{
    rw_release(f, "w1:2", NULL);
}

static void leave(script_fixture *f)
{
    rw_leave(f, "w1:1", true);
}

static void read_instead(script_fixture *f)
{
    rw_downgrade(f, "w1:1", NULL, 30000);
}

/* Where it failed the writer still writes, as it was told nothing else. */
static void read_instead_or_write(script_fixture *f)
{
    read_instead(f);
    if (f->answer->type == REDIS_REPLY_ERROR)
        assert_false(has_lapsed(f, "w1:1"));
}

static void end_all(script_fixture *f)
{
    lua_rwlock_force(f, "");
}

static void end_one(script_fixture *f)
{
    lua_rwlock_force(f, "w1:1");
}

static void take_over(script_fixture *f)
{
    lua_rwlock_import(f, "w1:1", strtoll(rw_fence(f, "w1:1"), NULL, 10),
                      "w2:1");
}

#define SCENE(name, begin, act)                                                \
    RW_TEST(name)                                                              \
    {                                                                          \
        play(f, (rights_scene){begin, act});                                   \
    }

SCENE(writing_what_is_free, nobody, write_one)
SCENE(reading_what_is_free, nobody, read_one)
SCENE(reading_beside_others, one_reads, read_one)
SCENE(writing_where_one_reads, one_reads, write_one)
SCENE(writing_behind_the_dead, one_died_reading, write_one)
SCENE(trying_to_write_behind_the_dead, one_died_reading, try_to_write)
SCENE(spinning_to_write_behind_the_dead, one_died_reading, spin_to_write)
SCENE(reading_behind_the_dead, one_died_reading, read_one)
SCENE(an_upgrade, one_may_upgrade, upgrade)
SCENE(an_upgrade_beside_the_dead, one_may_upgrade_beside_a_dead_one, upgrade)
SCENE(a_release_for_an_upgrade, an_upgrade_waits, end_the_read)
SCENE(a_read_beside_the_own_write, some_wait, read_beside_the_write)
SCENE(a_look_of_a_reader, some_wait_for_the_dead, look_to_read)
SCENE(a_look_of_a_writer, some_wait_for_the_dead, look_to_write)
SCENE(a_look_of_a_writer_behind_readers, a_writer_waits_for_the_dead,
      look_to_write)
SCENE(a_readers_release, a_writer_waits, end_the_read)
SCENE(a_writers_release, some_wait, end_the_write)
SCENE(a_writers_release_alone, some_wait, end_the_write_alone)
SCENE(a_writers_release_beside_its_read, one_writes_and_reads, end_the_write)
SCENE(a_writers_release_alone_beside_its_read, one_writes_and_reads,
      end_the_write_alone)
SCENE(a_writers_release_to_readers, some_wait_for_two, end_the_write)
SCENE(a_writer_that_leaves, some_wait, leave)
SCENE(a_release_of_one_that_stands_aside, one_stands_aside, end_the_write)
SCENE(a_downgrade, some_wait, read_instead)
SCENE(a_downgrade_of_one_that_stands_aside, one_stands_aside,
      read_instead_or_write)
SCENE(reading_behind_one_that_lapsed, one_lapsed, read_one)
SCENE(writing_behind_one_that_lapsed, one_lapsed, write_one)
SCENE(a_release_beside_one_that_lapsed, one_lapsed, end_the_read_of_the_writer)
SCENE(the_end_of_all, some_wait_for_two, end_all)
SCENE(the_end_of_one, some_wait_for_two, end_one)
SCENE(an_import, some_wait, take_over)

CHECK_GROUP(script_start_server, script_stop_server)
