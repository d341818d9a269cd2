/* SPDX-License-Identifier: MIT */

/* The short roads of rwlock_acquire and rwlock_close where others hold: a read beside
   others, a place behind a writer, and the end of a read that lets nobody in. Whatever
   is tried goes down both roads, and leaves the same. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_roads.h"

/* What others hold and wait for; then u1:1 comes, or goes. */
typedef struct scene {
    const char *before; /* Lua; NULL: two read, and nobody waits */
    const char *writes; /* the claim of the same owner that writes */
    const char *denied;
    char mode; /* 0: it reads already, and goes */
    char how;
    char order;
    int64_t fence; /* of the release; 0: its own */
    int ms;        /* behind a full second; 0: 123 */
} scene;

#define GRANT "503 0123456789abcdef 0 r 1700000000000 30000 - p why"
#define OWN   "u1:1 0123456789abcdef r 1 30000 - p because"

/* u2:1 and u3:1 read for 20 s, u1:1 may for 30; u8:1 wrote before. */
#define READERS                                                                \
    "local call, r, q, h = redis.call, '" LUA_RWLOCK_RECORD                    \
    "', '" LUA_RWLOCK_QUEUE "', '" LUA_RWLOCK_HOLDERS "' "                     \
    "local function key(claim) return '{n}:' .. claim .. "                     \
    "':rwlock_timeout:1' end "                                                 \
    "local function record(text) call('SET', r, text .. ' 1700000000000 u8:1 " \
    "0123456789abcdef w 1 5000 - p why', 'PX', 3600000) end "                  \
    "local function reads(claim, ms) "                                         \
    "call('HSET', 'n', 'mode', 'read', claim, 1) "                             \
    "call('SET', key(claim), 1, 'PX', ms) call('HSET', h, claim, '" GRANT      \
    "') call('PEXPIRE', 'n', ms) end "                                         \
    "local function writes(claim) call('DEL', 'n') call('HSET', 'n', 'mode', " \
    "'write', claim .. ':write', 1) call('PEXPIRE', 'n', 20000) end "          \
    "local function waits(claim, mode, band, ago, text) call('ZADD', q, "      \
    "string.format('%.0f', band * 281474976710656 + 106250000007716 - "        \
    "(ago or 0)), text or claim .. ' 0123456789abcdef ' .. mode .. "           \
    "' 1 5000 - p why') call('PEXPIRE', q, 660000) end "                       \
    "record('2w 500 3 7 - - 5,0,-,-') reads('u2:1', 20000) "                   \
    "reads('u3:1', 20000) call('PEXPIRE', h, 3620000) "

static void play(script_fixture *f, const scene *t, bool is_long, char *seen)
{
    static char lua[RW_SEEN];
    const char *answer;

    seen[0] = '\0';
    f->stamp[0] = '\0';
    script_redis(f, "FLUSHALL");
    snprintf(lua, sizeof(lua), "%s%s %s", READERS,
             t->mode == 0 ? "reads('u1:1', 30000)" : "",
             t->before != NULL ? t->before : "");
    assert_like(script_redis(f, "EVAL %s 0", lua), "nil");
    rw_take_road(f, is_long, t->ms != 0 ? t->ms : 123);
    script_deny(f, t->denied);
    if (t->mode == 0)
        answer = lua_rwlock_release(f, "u1:1", t->fence != 0 ? t->fence : 503);
    else
        answer = lua_rwlock_acquire_with(f, "u1:1",
                                         (lua_rwlock_ask){.mode = t->mode,
                                                          .how = t->how,
                                                          .order = t->order,
                                                          .writes = t->writes});
    rw_note(f, seen, answer);
    script_deny(f, NULL);
}

static void play_both(script_fixture *f, scene t)
{
    static char quick[RW_SEEN], whole[RW_SEEN];

    play(f, &t, false, quick);
    play(f, &t, true, whole);
    if (strcmp(quick, whole) != 0)
        fail_msg("%s %c%c: %s\n--- %s", t.before != NULL ? t.before : "",
                 t.mode != 0 ? t.mode : '-', t.how != 0 ? t.how : '-', quick,
                 whole);
}

/* Of a read beside others, and of a place behind a writer. */
static const char *const befores[] = {
    NULL,
    "call('DEL', key('u2:1'))",
    "call('DEL', key('u2:1'), key('u3:1'))",
    "reads('u2:1', 40000)",
    "call('HSET', 'n', 'u3:1', 2)",
    "call('PERSIST', 'n')",
    "call('DEL', h)",
    "call('HDEL', h, 'u2:1')",
    "call('PEXPIRE', h, 9000000)",
    "call('DEL', r)",
    "call('PEXPIRE', r, 9000000)",
    "call('SET', r, 'nonsense')",
    "record('2l 500 3 7 - - 5,0,-,-')",
    "record('2w 0 0 7 - - 5,0,-,-')",
    "record('2w 500 3 7 - - -1,0,-,-')",
    "record('2w 500 3 7 v o,1699999999999,500,0,0 5,0,u2:1,-')",
    "record('2w 500 3 7 - t,1699999999999,-1,0,0 5,0,-,-')",
    ("call('SET', '" LUA_RWLOCK_SPIN "', 'w', 'PX', 1000)"),
    ("call('SET', '" LUA_RWLOCK_SPIN "', '1', 'PX', 1000)"),
    "reads('u1:1', 25000)",
    "reads('u1:1', 25000) call('DEL', h)",
    "call('HSET', 'n', 'u1:1', 1)",
    "call('HSET', 'n', 'u1:1:write', 1)",
    "call('HSET', 'n', 'mode', 'odd')",
    "call('DEL', 'n') call('SET', 'n', 1)",
    "waits('q1:1', 'w', 1)",
    "waits('q1:1', 'x', 0)",
    "waits('q1:1', 'r', 3)",
    "for i = 10, 60 do reads('c' .. i .. ':1', 20000) end",
    "writes('u8:1')",
    "writes('u8:1') waits('q1:1', 'w', 1) waits('q2:1', 'r', 3)",
    "writes('u8:1') waits('q2:1', 'r', 3, 20000000)",
    "writes('u8:1') waits('q2:1', 'r', 3, -70000)",
    "writes('u8:1') waits('q2:1', 'w', 1, -70000)",
    ("writes('u8:1') waits('', 'r', 3, 9, '" OWN "')"),
    ("writes('u8:1') waits('', 'r', 8, 9, '" OWN "')"),
    ("writes('u8:1') waits('', 'r', 9, 9, '" OWN "')"),
    "writes('u8:1') record('2l 500 3 7 - - 5,0,-,-')",
    "writes('u8:1') record('2w 500 3 999999999999999 - - 5,0,-,-')",
    "writes('u8:1') record('2w 500 3 106250000009716 - - 5,0,-,-')",
    "writes('u8:1') record('2w 500 3 7 - t,1699999999999,-1,0,0 5,0,-,-')",
    "writes('u8:1') record('2w 500 3 7 - - 5,0,-,u8:1')",
    ("writes('u8:1') record('2w 500 3 7 - - 5,0,-,u8:1') "
     "call('SET', key('u8:1'), 1, 'PX', 20000)"),
    "writes('u7:1')",
    "writes('u7:1') waits('q1:1', 'w', 1)",
    "writes('u1:1')",
    "writes('u8:1') call('HSET', 'n', 'u1:1:write', 1)",
    "writes('u8:1') reads('u1:1', 9000) call('HSET', 'n', 'mode', 'write')",
};

static void come_as_all_do(script_fixture *f, const char *before)
{
    static const scene ways[] = {
        {.mode = 'r'},
        {.mode = 'r', .order = '1'},
        {.mode = 'r', .order = '2'},
        {.mode = 'r', .how = 't'},
        {.mode = 'r', .how = 'y'},
        {.mode = 'r', .writes = "u8:1"},
        {.mode = 'w'},
        {.mode = 'w', .how = 't'},
    };

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        scene t = ways[i];

        t.before = before;
        play_both(f, t);
    }
}

RW_TEST(whoever_is_there_both_roads_come_in_or_queue)
{
    lua_rwlock_hear(f, "q1", "q2", (char *)NULL);
    for (size_t i = 0; i < sizeof(befores) / sizeof(befores[0]); i++)
        come_as_all_do(f, befores[i]);
    /* A writer of Redisson's listens. */
    script_listen(f, LUA_RWLOCK_CHANNEL);
    come_as_all_do(f, NULL);
    come_as_all_do(f, "call('HDEL', h, 'u2:1')");
}

#define WRITER "waits('q1:1', 'w', 1) waits('q2:1', 'r', 3) "

/* Of the end of a read beside others. */
static const char *const ends[] = {
    NULL,
    "reads('u3:1', 30000)",
    "reads('u2:1', 25000) call('PEXPIRE', 'n', 30000)",
    "call('DEL', key('u2:1'))",
    "call('DEL', key('u3:1'))",
    "call('DEL', key('u2:1'), key('u3:1'))",
    "call('PERSIST', key('u3:1'))",
    "call('DEL', key('u1:1'))",
    "call('HDEL', 'n', 'u1:1')",
    "call('HSET', 'n', 'u1:1', 2)",
    "call('HSET', 'n', 'u2:1', 2) "
    "call('SET', '{n}:u2:1:rwlock_timeout:2', 1, 'PX', 25000)",
    "call('HSET', 'n', 'u7:1:write', 1)",
    "call('HSET', 'n', 'u1:1:write', 1)",
    "call('HSET', 'n', 'mode', 'odd')",
    "call('HSET', 'n', 'mode', 'write')",
    "call('DEL', h)",
    "call('HDEL', h, 'u1:1')",
    "call('HDEL', h, 'u2:1')",
    "call('DEL', r)",
    "call('SET', r, 'nonsense')",
    "record('2w 500 3 7 - - -')",
    ("call('SET', '" LUA_RWLOCK_SPIN "', 'w', 'PX', 1000)"),
    "for i = 10, 60 do reads('c' .. i .. ':1', 20000) end",
    "waits('q1:1', 'w', 1)",
    "waits('q3:1', 'w', 1)",
    "waits('q1:1', 'w', 1, 200000)",
    "waits('q1:1', 'w', 1, 200000) call('ZADD', q, -1700000000000, 'q1')",
    "waits('q1:1', 'w', 1, -200000)",
    "waits('q1:1', 'r', 1)",
    "waits('q1:1', 'w', 0)",
    "waits('q1:1', 'x', 0)",
    "waits('q1', 'w', 1)",
    "waits('', '', 1, 0, 'nonsense')",
    "waits('', '', 1, 0, 'q1:1 0123456789abcdef w 1 5000000000000 - p why')",
    "waits('q2:1', 'r', 3)",
    WRITER,
    WRITER "call('HDEL', 'n', 'u2:1', 'u3:1')",
    WRITER "call('HDEL', h, 'u2:1')",
    WRITER "call('DEL', key('u2:1'))",
    WRITER "record('2w 500 3 7 - - 106250000007716,0,-,-')",
    WRITER "record('2w 500 3 7 - - -1,0,-,-')",
    WRITER "record('2w 500 3 7 - - 5,1,-,-')",
    WRITER "record('2w 500 3 7 - - 106250000007716,2,-,-')",
    WRITER "waits('q2:1', 'u', 2, 9) record('2w 500 3 7 - - 5,0,u1:1,-')",
    WRITER "call('SET', '" LUA_RWLOCK_SPIN "', '1', 'PX', 1000)",
};

static void go_at_all_times(script_fixture *f, const char *before)
{
    play_both(f, (scene){.before = before});
    play_both(f, (scene){.before = before, .ms = 700});
    play_both(f, (scene){.before = before, .fence = 77});
}

RW_TEST(whoever_is_there_both_roads_let_out_the_same)
{
    lua_rwlock_hear(f, "q1", "q2", (char *)NULL);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        go_at_all_times(f, ends[i]);
    script_listen(f, LUA_RWLOCK_CHANNEL);
    go_at_all_times(f, NULL);
    go_at_all_times(f, WRITER);
}

RW_TEST(whatever_is_denied_beside_others_both_roads_do_the_same)
{
    static const char *const commands[] = {"hset", "pexpire", "del",    "set",
                                           "hdel", "zadd",    "pubsub", "mget"};

    lua_rwlock_hear(f, "q1", "q2", (char *)NULL);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        play_both(f, (scene){.mode = 'r', .denied = commands[i]});
        play_both(f, (scene){.denied = commands[i]});
        play_both(f, (scene){.before = WRITER, .denied = commands[i]});
        play_both(f, (scene){.before = "writes('u8:1')",
                             .mode = 'r',
                             .denied = commands[i]});
    }
}

RW_TEST(the_short_road_is_gone_beside_others)
{
    rw_acquire(f, "u1:1", "w");
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(rw_acquire(f, "u2:1", "r"), "2 * 0");
    assert_like(rw_acquire(f, "u3:1", "w"), "2 * 0");
    assert_false(rw_was_called(f, "zscore"));
    script_redis(f, "FLUSHALL");
    rw_acquire(f, "u1:1", "r");
    assert_like(rw_acquire(f, "u2:1", "r"), "1 * 30000");
    assert_like(rw_acquire(f, "u3:1", "r"), "1 * 30000");
    assert_false(rw_was_called(f, "zscore"));
    assert_like(rw_release(f, "u2:1", NULL), "1 2 0 0");
    rw_hear(f, "u4:1", (char *)NULL);
    rw_acquire(f, "u4:1", "w");
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(rw_release(f, "u3:1", NULL), "1 2 0 0");
    assert_false(rw_was_called(f, "hscan"));
    assert_held(f, "u1:1 read");
}

/* What a script reads at once has a bound. */
RW_TEST(the_short_road_does_not_read_a_crowd)
{
    char claim[16];

    for (unsigned i = 0; i < 40; i++) {
        snprintf(claim, sizeof(claim), "c%02u:1", i);
        rw_acquire(f, claim, "r");
    }
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(rw_acquire(f, "u1:1", "r"), "1 * 30000");
    assert_false(rw_was_called(f, "hgetall"));
}

CHECK_GROUP(script_start_server, script_stop_server)
