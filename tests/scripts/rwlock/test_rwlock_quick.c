/* SPDX-License-Identifier: MIT */

/* The short roads of rwlock_acquire and rwlock_close: a free name, and the end of
   the only hold. Whatever is tried goes down both roads, and leaves the same. */

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_roads.h"

/* What is there before; and what is tried. */
typedef struct trial {
    const char *record; /* NULL: none */
    char mode;
    char how;
    char order;
    const char *denied; /* a command; NULL: none */
    int64_t fence;      /* of the release; 0: its own */
    const char *spoils; /* a command between the two; NULL: none */
} trial;

static void try_on(script_fixture *f, const trial *t, bool is_long, char *seen)
{
    int64_t fence;

    seen[0] = '\0';
    script_redis(f, "FLUSHALL");
    f->stamp[0] = '\0';
    if (t->record != NULL)
        script_redis(f, "SET " LUA_RWLOCK_RECORD " %s PX 3600000", t->record);
    script_redis(f, "HSET " LUA_RWLOCK_HOLDERS " u9:1 stale");
    /* So that a field of this one is a reader that lives. */
    script_redis(f, "SET {n}:u2:1:rwlock_timeout:1 1 PX 30000");
    rw_take_road(f, is_long, 123);
    script_deny(f, t->denied);
    rw_note(f, seen,
            lua_rwlock_acquire_with(f, "u1:1",
                                    (lua_rwlock_ask){.mode = t->mode,
                                                     .how = t->how,
                                                     .order = t->order}));
    script_deny(f, NULL);
    if (f->answer->type != REDIS_REPLY_ARRAY || script_item(f, 0) != 1)
        return;
    fence = t->fence != 0 ? t->fence : script_item(f, 1);
    if (t->spoils != NULL)
        script_redis(f, t->spoils);
    script_deny(f, t->denied);
    rw_note(f, seen, lua_rwlock_release(f, "u1:1", fence));
    script_deny(f, NULL);
}

static void compare(script_fixture *f, trial t)
{
    static const char modes[] = "rw";
    static char quick[RW_SEEN], whole[RW_SEEN];

    for (size_t i = 0; modes[i] != '\0'; i++) {
        t.mode = modes[i];
        for (t.order = '0'; t.order <= '2'; t.order++) {
            try_on(f, &t, false, quick);
            try_on(f, &t, true, whole);
            assert_string_equal(quick, whole);
        }
    }
}

#define MEMBER "u8:1 0123456789abcdef w 1 5000 - p why"

static const char *const records[] = {
    NULL,
    "2w 500 0 7 - - -1,0,-,- 1700000000000 " MEMBER,
    "2w 500 3 7 v - 44,2,u9:1,u8:1 1700000000000 " MEMBER,
    "2w 0 0 0 - - -1,1,-,- 0 - - - 0 0 - - ",
    "2w 500 0 7 - - - 1700000000000 " MEMBER,
    "2w 1800000000000000 9 7 - - 5,0,-,u1:1 1700000000000 " MEMBER,
    "2w 9007199254740991 0 7 - - 5,0,-,- 1700000000000 " MEMBER,
    "2w 500 0 7 - o,1699999999999,500,0,0 5,0,-,- 1700000000000 " MEMBER,
    "2w 500 0 7 - t,1699999999999,-1,0,0 5,0,-,- 1700000000000 " MEMBER,
    "2l 500 63 7 - - - 1700000000000 " MEMBER,
    "1w 500 0 7 - - - 1700000000000 " MEMBER,
    "nonsense",
};

enum { RECORDS = sizeof(records) / sizeof(records[0]) };

RW_TEST(whatever_the_record_says_both_roads_do_the_same)
{
    script_listen(f, LUA_RWLOCK_CHANNEL);
    for (size_t i = 0; i < RECORDS; i++) {
        compare(f, (trial){.record = records[i]});
        compare(f, (trial){.record = records[i], .how = 't'});
        compare(f, (trial){.record = records[i], .how = 'y'});
        compare(f, (trial){.record = records[i], .fence = 77});
    }
}

RW_TEST(whatever_is_denied_both_roads_do_the_same)
{
    static const char *const commands[] = {"hset", "pexpire", "del",
                                           "set",  "hdel",    "publish"};

    script_listen(f, LUA_RWLOCK_CHANNEL);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        compare(f, (trial){.denied = commands[i]});
        compare(f, (trial){.denied = commands[i], .record = records[2]});
    }
}

RW_TEST(whatever_changed_meanwhile_both_roads_do_the_same)
{
    static const char *const spoils[] = {
        "DEL " LUA_RWLOCK_HOLDERS,
        "DEL {n}:u1:1:rwlock_timeout:1",
        "DEL n",
        "DEL " LUA_RWLOCK_RECORD,
        "HSET n u2:1 1",
        "HSET n mode write",
        "HSET n u1:1:write 1",
        "HSET n u1:1 2",
        "SET " LUA_RWLOCK_SPIN " 1 PX 1000",
        "ZADD " LUA_RWLOCK_QUEUE " 1 u5:1",
        "SET " LUA_RWLOCK_RECORD " nonsense",
        "SET " LUA_RWLOCK_RECORD " 1w",
    };

    script_listen(f, LUA_RWLOCK_CHANNEL);
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++)
        compare(f, (trial){.spoils = spoils[i]});
}

/* Else the others here would be of the long road alone. */
RW_TEST(the_short_road_is_gone)
{
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(rw_acquire(f, "u1:1", "w"), "1 * 30000");
    assert_false(rw_was_called(f, "zscore"));
    assert_like(rw_release(f, "u1:1", NULL), "1 2 0 0");
    assert_false(rw_was_called(f, "hscan"));
    assert_like(rw_acquire(f, "u1:1", "r"), "1 * 30000");
    assert_false(rw_was_called(f, "zscore"));
    assert_like(rw_release(f, "u1:1", NULL), "1 2 0 0");
    assert_false(rw_was_called(f, "hscan"));
}

RW_TEST(a_full_server_refuses_the_short_road)
{
    script_fill_memory(f, true);
    assert_like(rw_acquire(f, "u1:1", "r"), "*OOM*");
    assert_like(rw_acquire(f, "u1:1", "w"), "*OOM*");
    assert_like(script_redis(f, "EXISTS n " LUA_RWLOCK_RECORD), "0");
    script_fill_memory(f, false);
    assert_like(rw_acquire(f, "u1:1", "r"), "1 *");
    script_fill_memory(f, true);
    assert_like(rw_release(f, "u1:1", NULL), "1 2 0 0");
    script_fill_memory(f, false);
}

CHECK_GROUP(script_start_server, script_stop_server)
