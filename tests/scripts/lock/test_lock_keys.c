/* SPDX-License-Identifier: MIT */

/* What stands in Redis: which keys, of what shape, how large, for how long. */

#include <stdlib.h>

#include "base/names.h"
#include "support/check.h"
#include "support/lua_lock.h"

/* ---- what Redisson reads ---- */

SCRIPT_TEST(a_held_lock_is_redissons_hash_and_nothing_else)
{
    lua_lock_acquire(f, "0123-uuid:7");
    assert_like(script_redis(f, "TYPE n"), "hash");
    assert_like(script_redis(f, "HGETALL n"), "0123-uuid:7 1");
    assert_in_range(script_pttl(f, "n"), 20000, 30000);
    assert_like(script_redis(f, "DBSIZE"), "2");
    assert_like(script_redis(f, "EXISTS " LUA_LOCK_TOKEN), "0");
}

SCRIPT_TEST(after_a_hand_over_it_is_redissons_hash_again)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
    assert_like(script_redis(f, "HGETALL n"), "b:1 1");
}

SCRIPT_TEST(redissons_count_follows_where_it_is)
{
    script_redis(f, "SET " LUA_LOCK_TOKEN " 41");
    lua_lock_acquire(f, "a:1");
    lk__record_text record;

    assert_true(lua_lock_record(f, &record));
    assert_int_equal(script_number(f, "GET " LUA_LOCK_TOKEN),
                     record.fence + record.spare);
}

SCRIPT_TEST(a_fence_is_above_redissons_count)
{
    script_redis(f, "SET " LUA_LOCK_TOKEN " 9000000000000000");
    assert_like(lua_lock_acquire(f, "a:1"), "1 9000000000000001 30000 0");
}

/* ---- memory ---- */

/* The largest that a claim and a fence are; a name of eight bytes. */
SCRIPT_TEST(a_free_name_has_one_key_of_less_than_250_bytes)
{
    char key[] = "latchkey:{orders:1}:r";

    script_set_name(f, "orders:1");
    lua_lock_acquire_with(f, "01234567-89ab-cdef-0123-456789abcdef:1234567",
                          'l', 'q', 30000);
    assert_like(script_redis(f, "DEL orders:1"), "1");
    assert_like(script_redis(f, "KEYS *"), key);
    print_message("MEMORY USAGE of a free name: %s\n",
                  script_redis(f, "MEMORY USAGE %s", key));
    assert_in_range(script_number(f, "MEMORY USAGE %s", key), 1, 249);
}

SCRIPT_TEST(after_everybody_left_one_key_is_left_for_an_hour)
{
    lua_lock_hear(f, "b", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_release(f, "a:1", 0);
    lua_lock_release(f, "b:1", 0);
    assert_like(script_redis(f, "KEYS *"), LUA_LOCK_RECORD);
    assert_in_range(script_pttl(f, LUA_LOCK_RECORD), 3600000, 3630000);
}

SCRIPT_TEST(every_key_has_an_end)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_touch(f, "b:1", NULL);
    lua_lock_acquire_with(f, "c:1", 'l', 's', 1000);
    assert_like(script_redis(f, "DBSIZE"), "4");
    assert_true(script_pttl(f, "n") > 0);
    assert_true(script_pttl(f, LUA_LOCK_RECORD) > 0);
    assert_true(script_pttl(f, LUA_LOCK_QUEUE) > 0);
    assert_true(script_pttl(f, LUA_LOCK_SPIN) > 0);
}

/* ---- names ---- */

SCRIPT_TEST(the_keys_of_a_name_with_a_tag_are_its_own)
{
    char key[100];

    (void)f;
    lk__key_write(":r", "orders:1", key, sizeof(key));
    assert_string_equal(key, "latchkey:{orders:1}:r");
    lk__key_write(":r", "{orders:1}", key, sizeof(key));
    assert_string_equal(key, "latchkey::{orders:1}:r");
    lk__key_write(":r", "{orders}:1", key, sizeof(key));
    assert_string_equal(key, "latchkey::{orders}:1:r");
    lk__key_write("redisson_lock_token", "orders:1", key, sizeof(key));
    assert_string_equal(key, "redisson_lock_token:{orders:1}");
    lk__key_write("N", "orders:1", key, sizeof(key));
    assert_string_equal(key, "orders:1");
}

CHECK_GROUP(script_start_server, script_stop_server)
