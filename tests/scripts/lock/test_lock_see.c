/* SPDX-License-Identifier: MIT */

/* see: who holds and who waits. */

#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

static void it_tells_holder_and_waiters_in_order(void **state)
{
    script_fixture *f = *state;

    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    assert_like(lua_lock_see(f), "1 2 (a:1 1 * * * because l) "
                                 "(b:1 1 * * because l c:1 1 * * because l)");
}

static void lists_are_read_by_their_names(void **state)
{
    script_fixture *f = *state;
    lk__lock_see_answer answer;
    lk__lock_see_seen_waiters waiter;

    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
    lua_lock_see(f);
    assert_int_equal(lk__answer_read(&lk__lock_see_answers, f->answer, &answer),
                     LK_OK);
    assert_int_equal(answer.kind, LK__LOCK_SEE_SEEN);
    assert_int_equal(lk__list_count(&answer.seen.waiters), 2);
    lk__list_get(&answer.seen.waiters, 1, &waiter);
    assert_int_equal(waiter.claim.size, 3);
    assert_memory_equal(waiter.claim.bytes, "c:1", 3);
    assert_int_equal(waiter.need, 1);
}

static void a_stranger_has_no_fence(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET n java:7 2");
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_lock_see(f), "1 0 (java:7 2 0 0 * \"\" \"\") ()");
    /* Nor where the record tells of one of ours. */
    script_redis(f, "DEL n");
    lua_lock_acquire(f, "a:1");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n java:7 2");
    script_redis(f, "PEXPIRE n 5000");
    assert_like(lua_lock_see(f), "1 0 (java:7 2 0 0 * \"\" \"\") ()");
}

static void a_free_name_has_nobody(void **state)
{
    script_fixture *f = *state;

    assert_like(lua_lock_see(f), "1 0 () ()");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

static void no_nonce_is_told(void **state)
{
    script_fixture *f = *state;

    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    assert_null(strstr(lua_lock_see(f), LUA_LOCK_NONCE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(it_tells_holder_and_waiters_in_order),
        SCRIPT_TEST(lists_are_read_by_their_names),
        SCRIPT_TEST(a_stranger_has_no_fence),
        SCRIPT_TEST(a_free_name_has_nobody),
        SCRIPT_TEST(no_nonce_is_told),
    };

    return cmocka_run_group_tests(tests, script_start_server,
                                  script_stop_server);
}
