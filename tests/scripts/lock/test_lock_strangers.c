/* SPDX-License-Identifier: MIT */

/* A lock whose queue has what is no waiter for a lock. */

#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"
#include "support/strangers.h"

enum { CROWD = 70 }; /* more than are looked at in one call */

static void listen_to_all(script_fixture *f)
{
    lua_lock_hear(f, "b", "x", NULL);
}

static void assert_given_to_b(script_fixture *f, const char *stranger)
{
    if (strcmp(script_redis(f, "HKEYS n"), "b:1") != 0)
        fail_msg("%s: %s holds, %s", stranger, script_redis(f, "HKEYS n"),
                 f->answer_text);
    if (strangers_parked(f) != 1)
        fail_msg("%s: not parked", stranger);
}

SCRIPT_TEST(a_release_gives_to_a_waiter_for_the_lock)
{
    const char *stranger;
    bool is_there;

    listen_to_all(f);
    for (size_t i = 0;
         (stranger = stranger_put(f, i, 1, "lf", &is_there)) != NULL; i++) {
        if (is_there) {
            script_redis(f, "DEL n");
            lua_lock_acquire_with(f, "a:1", 'l', 't', 30000);
            lua_lock_acquire(f, "b:1");
            assert_like(lua_lock_release(f, "a:1", 0), "1 2 0 0");
            assert_given_to_b(f, stranger);
            assert_like(script_heard(f), "latchkey:in::b grant 0 lock b:1 *\n");
        }
        server_flush(f->server);
    }
}

SCRIPT_TEST(a_touch_gives_to_a_waiter_for_the_lock)
{
    const char *stranger;
    bool is_there;

    listen_to_all(f);
    for (size_t i = 0;
         (stranger = stranger_put(f, i, 1, "lf", &is_there)) != NULL; i++) {
        if (is_there) {
            lua_lock_acquire_with(f, "a:1", 'l', 't', 30000);
            lua_lock_acquire(f, "b:1");
            script_redis(f, "DEL n");
            lua_lock_touch(f, "b:1", NULL);
            assert_given_to_b(f, stranger);
            assert_string_equal(script_heard(f), "");
        }
        server_flush(f->server);
    }
}

/* Nor does it make room for somebody who is to be passed by. */
SCRIPT_TEST(a_fair_lock_waits_for_none_of_them_and_for_who_is_behind)
{
    bool is_there;

    listen_to_all(f);
    for (size_t i = 0; stranger_put(f, i, 1, "lf", &is_there) != NULL; i++) {
        if (is_there) {
            assert_like(lua_lock_acquire_with(f, "a:1", 'f', 't', 30000),
                        "1 *");
            lua_lock_acquire_with(f, "b:1", 'f', 'q', 30000);
            script_redis(f, "DEL n");
            assert_like(lua_lock_acquire_with(f, "c:1", 'l', 't', 30000),
                        "3 -1");
        }
        server_flush(f->server);
    }
}

SCRIPT_TEST(behind_a_crowd_of_them_a_waiter_gets_its_turn)
{
    listen_to_all(f);
    lua_lock_acquire(f, "a:1");
    strangers_crowd(f, 1, CROWD);
    lua_lock_acquire(f, "b:1");
    assert_like(lua_lock_release(f, "a:1", 0), "1 2 1 0");
    assert_like(lua_lock_touch(f, NULL, NULL), "2 * 0 0 0 () ()");
    assert_string_equal(script_redis(f, "HKEYS n"), "b:1");
    assert_int_equal(strangers_parked(f), CROWD);
}

CHECK_GROUP(script_start_server, script_stop_server)
