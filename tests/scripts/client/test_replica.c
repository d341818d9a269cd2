/* SPDX-License-Identifier: MIT */

/*
 * A replica is not looked at: what it says is old. A script that only reads
 * runs there like anywhere else, so each of them has to refuse by itself; see
 * lua/shared/master.lua.
 */

#include <string.h>

#include "cell_table.h"
#include "support/check.h"
#include "support/latch_script.h"
#include "support/lua_lock.h"
#include "support/lua_rwlock.h"
#include "support/plain_script.h"
#include "support/script.h"
#include "support/table.h"

SCRIPT_TEST(one_of_a_lock_does)
{
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(lua_lock_see(f), "!READONLY *");
    assert_like(lua_lock_term(f), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(lua_lock_see(f), "1 0*");
    assert_like(lua_lock_term(f), "1 *");
}

SCRIPT_TEST(so_does_one_of_a_read_write_lock)
{
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(lua_rwlock_see(f), "!READONLY *");
    assert_like(lua_rwlock_state(f), "!READONLY *");
    assert_like(lua_rwlock_forget(f), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(lua_rwlock_see(f), "1 0*");
    assert_like(lua_rwlock_state(f), "1 0");
    assert_like(lua_rwlock_forget(f), "1");
}

SCRIPT_TEST(so_does_one_of_a_plain_semaphore)
{
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(plain_count(f), "!READONLY *");
    assert_like(plain_info(f), "!READONLY *");
    assert_like(plain_forget(f), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(plain_count(f), "2");
    assert_like(plain_info(f), "3 0 *");
    assert_like(plain_forget(f), "1");
}

SCRIPT_TEST(so_does_one_of_a_latch)
{
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(latch_info(f), "!READONLY *");
    assert_like(latch_count(f), "!READONLY *");
    assert_like(latch_look(f, "u:1"), "!READONLY *");
    assert_like(latch_try(f, "u:1"), "!READONLY *");
    assert_like(latch_forget(f), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(latch_info(f), "3 0 *");
    assert_like(latch_count(f), "2");
    assert_like(latch_forget(f), "1");
    assert_like(latch_look(f, "u:1"), "2 *");
    assert_like(latch_try(f, "u:1"), "3 *");
}

/* Also one that would find nothing to change, and one that was made. */
SCRIPT_TEST(so_does_a_change_of_a_latch)
{
    latch_arrive(f, "op:1", "2", "m1");
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(latch_arrive(f, "op:1", "2", "m1"), "!READONLY *");
    assert_like(latch_arrive(f, "op:2", "2", "m1"), "!READONLY *");
    assert_like(latch_arrive(f, "op:3", "3", "m2"), "!READONLY *");
    assert_like(latch_set(f, "op:4", "3"), "!READONLY *");
    assert_like(latch_reset(f, "op:5", "3"), "!READONLY *");
    assert_like(latch_down(f, "op:6", "1"), "!READONLY *");
    assert_like(latch_quit(f, "op:7", "m2"), "!READONLY *");
    assert_like(latch_leave(f, "u:1"), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    latch_delete(f, "op:8");
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(latch_down(f, "op:9", "1"), "!READONLY *");
    assert_like(latch_delete(f, "op:10"), "!READONLY *");
    assert_like(latch_quit(f, "op:11", "m1"), "!READONLY *");
    assert_like(latch_arrive(f, "op:12", "2", "m1"), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(latch_count(f), "2");
}

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static const char *cell_read_it(script_fixture *f)
{
    return table_run(f, &lk__cell_read, lk__cell_keys, LK__CELL_READ_WHOLE,
                     NULL);
}

static const char *
cell_write_it(script_fixture *f, const char *op, const char *expected)
{
    const lk__cell_write_args args = {.op = text_of(op),
                                      .expected = text_of(expected),
                                      .settled = text_of(""),
                                      .field = text_of(""),
                                      .value = text_of("value")};

    return table_run(f, &lk__cell_write, lk__cell_keys, LK__CELL_WRITE_WHOLE,
                     &args);
}

static const char *
cell_delete_it(script_fixture *f, const char *op, const char *expected)
{
    const lk__cell_delete_args args = {.op = text_of(op),
                                       .expected = text_of(expected),
                                       .settled = text_of("")};

    return table_run(f, &lk__cell_delete, lk__cell_keys, LK__CELL_DELETE_WHOLE,
                     &args);
}

/* Whatever the answer would be, also to what was made. */
SCRIPT_TEST(so_does_one_of_a_cell)
{
    cell_write_it(f, "u:1", "");
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(cell_read_it(f), "!READONLY *");
    assert_like(cell_write_it(f, "u:1", ""), "!READONLY *");
    assert_like(cell_write_it(f, "u:2", "77"), "!READONLY *");
    assert_like(cell_write_it(f, "u:2", ""), "!READONLY *");
    assert_like(cell_delete_it(f, "u:2", "77"), "!READONLY *");
    assert_like(cell_delete_it(f, "u:2", ""), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(cell_delete_it(f, "u:2", ""), "1 *");
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(cell_read_it(f), "!READONLY *");
    assert_like(cell_delete_it(f, "u:3", ""), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
}

CHECK_GROUP(script_start_server, script_stop_server)
