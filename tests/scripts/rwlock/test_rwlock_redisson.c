/* SPDX-License-Identifier: MIT */

/* The read-write lock's scripts beside Redisson's, on the same keys. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/redisson.h"
#include "support/rw_script.h"

static redisson *java_new(script_fixture *f)
{
    return redisson_new(f->server, f->name);
}

static int teardown(void **state)
{
    redissons_free();
    return script_teardown(state);
}

#define JAVA_TEST(name)                                                        \
    CHECK_TEST_OF(name, script_fixture *f, rw_setup, teardown)

/* ---- who keeps whom out ---- */

JAVA_TEST(readers_of_both_sides_come_in_together)
{
    redisson *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    assert_true(redisson_try(java, REDISSON_READ));
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
    assert_false(redisson_try(java_new(f), REDISSON_WRITE));
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_int_equal(redisson_unlock(java, REDISSON_READ), 1);
    assert_like(rw_try(f, "w1:1", "w"), "1 *");
}

JAVA_TEST(a_writer_of_one_side_keeps_the_other_out)
{
    redisson *java = java_new(f);

    rw_acquire(f, "w1:1", "w");
    assert_in_range(redisson_acquire(java, REDISSON_READ), 29000, 30000);
    assert_in_range(redisson_acquire(java, REDISSON_WRITE), 29000, 30000);
    rw_release(f, "w1:1", NULL);
    assert_true(redisson_try(java, REDISSON_WRITE));
    assert_like(rw_try(f, "r1:1", "r"), "3 *");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_int_equal(redisson_unlock(java, REDISSON_WRITE), 1);
    assert_like(rw_try(f, "r1:1", "r"), "1 *");
}

/* Their hash was ended by Redisson, which knows nothing of our grants. */
JAVA_TEST(grants_that_stayed_behind_hide_no_java_reader)
{
    redisson *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_redis(f, "DEL n");
    assert_true(redisson_try(java, REDISSON_READ));
    assert_like(script_redis(f, "HLEN %s", LUA_RWLOCK_HOLDERS), "2");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * 1");
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 (*) ()");
}

/* With as many grants as readers, each is looked at. */
JAVA_TEST(grants_of_others_are_no_grants_of_a_java_reader)
{
    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_redis(f, "HDEL n r1:1");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * 0");
    assert_true(redisson_try(java_new(f), REDISSON_READ));
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 (*) ()");
}

/* Its thread's own reads are Redisson's business, and keep ours out. */
JAVA_TEST(the_reads_of_a_java_writer_outlive_its_write)
{
    redisson *java = java_new(f);

    assert_true(redisson_try(java, REDISSON_WRITE));
    assert_true(redisson_try(java, REDISSON_READ));
    assert_int_equal(redisson_unlock(java, REDISSON_WRITE), 1);
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_like(rw_try(f, "r1:1", "r"), "1 *");
    assert_int_equal(redisson_unlock(java, REDISSON_READ), 0);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "");
}

/* A hold of a thread of Redisson's may have been taken several times. */
JAVA_TEST(a_java_reader_lives_by_any_of_its_holds)
{
    redisson *java = java_new(f);
    char first[160];

    assert_true(redisson_try(java, REDISSON_READ));
    assert_true(redisson_try(java, REDISSON_READ));
    assert_true(redisson_try(java, REDISSON_READ));
    snprintf(first, sizeof(first), "{n}:%s:rwlock_timeout:1",
             redisson_owner(java));
    script_redis(f, "DEL %s", first);
    first[strlen(first) - 1] = '2';
    script_redis(f, "DEL %s", first);
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    first[strlen(first) - 1] = '3';
    script_redis(f, "DEL %s", first);
    assert_like(rw_try(f, "w1:1", "w"), "1 *");
}

/* ---- what each side sees of the other's holds ---- */

JAVA_TEST(a_hold_of_ours_has_redissons_lengths)
{
    rw_acquire(f, "w1:1", "w");
    assert_like(script_redis(f, "HLEN n"), "2");
    rw_acquire_on(f, "w2:1", "r", "w1:1");
    assert_like(script_redis(f, "HLEN n"), "3");
    rw_release(f, "w1:1", NULL);
    assert_like(script_redis(f, "HLEN n"), "2");
    assert_like(script_redis(f, "HVALS n"), "read 1");
}

/* Redisson computes the hash's TTL from the keys of all readers. */
JAVA_TEST(a_java_reader_that_leaves_keeps_our_lease)
{
    redisson *java = java_new(f);

    rw_acquire_for(f, "r1:1", "r", 5000);
    assert_true(redisson_try(java, REDISSON_READ));
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_int_equal(redisson_unlock(java, REDISSON_READ), 0);
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
    assert_held(f, "r1:1 read");
}

JAVA_TEST(a_reader_of_ours_that_leaves_keeps_javas_lease)
{
    redisson *java = java_new(f);

    redisson_set_lease(java, 5000);
    assert_true(redisson_try(java, REDISSON_READ));
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
}

/* Redisson's renewal cuts the hash's TTL; ours lengthens it again. */
JAVA_TEST(a_java_renewal_does_not_end_a_longer_lease)
{
    redisson *java = java_new(f);

    rw_acquire_for(f, "r1:1", "r", 600000);
    assert_true(redisson_try(java, REDISSON_READ));
    assert_true(redisson_renew(java, REDISSON_READ));
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_like(rw_confirm(f, "r1:1", NULL, 1), "1 * *");
    assert_in_range(script_pttl(f, "n"), 590000, 600000);
    assert_in_range(script_number(f, "PTTL %s", lua_rwlock_timeout("r1:1")),
                    590000, 600000);
}

JAVA_TEST(our_renewal_prolongs_no_dead_java_reader)
{
    redisson *java = java_new(f);
    char key[160];

    redisson_set_lease(java, 5000);
    assert_true(redisson_try(java, REDISSON_READ));
    rw_acquire(f, "r1:1", "r");
    rw_renew(f, "r1:1", 60000);
    snprintf(key, sizeof(key), "{n}:%s:rwlock_timeout:1", redisson_owner(java));
    assert_in_range(script_pttl(f, key), 1, 5000);
}

JAVA_TEST(a_dead_reader_of_ours_is_swept_by_the_last_of_java)
{
    redisson *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    assert_true(redisson_try(java, REDISSON_READ));
    rw_kill(f, "r1:1");
    assert_int_equal(redisson_unlock(java, REDISSON_READ), 1);
    assert_held(f, "");
}

JAVA_TEST(a_dead_java_reader_is_swept_by_the_last_of_ours)
{
    redisson *java = java_new(f);
    char key[160];

    assert_true(redisson_try(java, REDISSON_READ));
    rw_acquire(f, "r1:1", "r");
    snprintf(key, sizeof(key), "{n}:%s:rwlock_timeout:1", redisson_owner(java));
    script_redis(f, "DEL %s", key);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "");
}

/* ---- messages ---- */

JAVA_TEST(java_is_woken_when_ours_leave)
{
    redisson *java = java_new(f);

    redisson_subscribe(java, REDISSON_READ);
    rw_acquire(f, "w1:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_int_equal(redisson_hears(java, 5000), 1);
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_int_equal(redisson_hears(java, 5000), 0);
    rw_acquire(f, "w1:1", "w");
    assert_like(f->answer_text, "1 *");
    assert_like(rw_downgrade(f, "w1:1", NULL, 30000), "1 *");
    assert_int_equal(redisson_hears(java, 5000), 1);
    assert_int_equal(redisson_hears(java, 1), -1);
}

/* ---- who contends ---- */

/* Redisson hands nothing over: the first of ours must try for itself. */
JAVA_TEST(the_first_of_ours_contends_with_a_java_writer)
{
    redisson *java = java_new(f);

    rw_hear(f, "r1:1", "w1:1", (char *)NULL);
    assert_true(redisson_try(java, REDISSON_WRITE));
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 1");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 0");
    assert_like(rw_recheck(f, "r1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_like(rw_recheck(f, "w1:1"), "2 * 0 0 0 ([1-9]*) ()");
    redisson_unlock(java, REDISSON_WRITE);
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) (1 * * 0)");
}

JAVA_TEST(the_first_writer_of_ours_contends_with_java_readers)
{
    redisson *java = java_new(f);

    rw_hear(f, "w1:1", "w2:1", "r2:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 0");
    assert_true(redisson_try(java, REDISSON_READ));
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_like(rw_acquire(f, "w2:1", "w"), "2 * * 0");
    script_at(f, 500);
    assert_like(rw_acquire(f, "r2:1", "r"), "2 * * 0");
    redisson_unlock(java, REDISSON_READ);
    assert_like(rw_recheck(f, "w1:1"), "2 * 0 0 0 ([1-9]*) ()");
}

/* ---- readers of Redisson's keep our writer out ---- */

enum { PASS_MS = 0, LAST_PASS_MS = 499, BACK_MS = 500, LAST_BACK_MS = 999 };

/* They read, a phase of readers that has begun, and w1:1 waits for them. */
static redisson *java_reads(script_fixture *f)
{
    redisson *java = java_new(f);

    rw_hear(f, "w1:1", "r1:1", "r2:1", (char *)NULL);
    rw_acquire(f, "r0:1", "r");
    assert_true(redisson_try(java, REDISSON_READ));
    rw_release(f, "r0:1", NULL);
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 1");
    return java;
}

JAVA_TEST(ours_pass_it_in_half_of_each_second)
{
    java_reads(f);
    script_at(f, PASS_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "1 *");
    script_at(f, LAST_PASS_MS);
    assert_like(rw_try(f, "r2:1", "r"), "1 *");
    assert_waiting(f, "w: w1:1");
}

JAVA_TEST(in_the_other_they_stand_behind_it)
{
    java_reads(f);
    script_at(f, BACK_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
    script_at(f, LAST_BACK_MS);
    assert_like(rw_try(f, "r2:1", "r"), "3 *");
}

/* Its client looks at each change of the name. */
JAVA_TEST(those_who_queued_come_in_when_it_looks)
{
    java_reads(f);
    script_at(f, BACK_MS);
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_waiting(f, "w: w1:1 r: r1:1");
    script_at(f, PASS_MS);
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_waiting(f, "w: w1:1");
}

JAVA_TEST(none_pass_it_where_ours_alone_read)
{
    redisson *java = java_reads(f);

    script_at(f, PASS_MS);
    rw_acquire(f, "r1:1", "r");
    assert_int_equal(redisson_unlock(java, REDISSON_READ), 0);
    assert_like(rw_acquire(f, "r2:1", "r"), "2 * * 0");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "w1:1:write write");
}

JAVA_TEST(none_pass_it_where_writers_go_first)
{
    rw_set_order("2");
    java_reads(f);
    script_at(f, PASS_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
}

JAVA_TEST(none_pass_an_upgrade)
{
    rw_hear(f, "r1:1", "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    assert_true(redisson_try(java_new(f), REDISSON_READ));
    assert_like(rw_acquire_on(f, "u2:1", "w", "u1:1"), "2 *");
    script_at(f, PASS_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
}

/* ---- by force ---- */

JAVA_TEST(what_java_deletes_is_lost)
{
    redisson *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    assert_false(redisson_force(java, REDISSON_WRITE));
    assert_true(redisson_force(java, REDISSON_READ));
    assert_like(rw_renew(f, "r1:1", 30000), "1 (1 0*)");
    assert_like(rw_release(f, "r1:1", NULL), "2 0");
    assert_true(redisson_try(java, REDISSON_WRITE));
    assert_like(rw_renew(f, "r1:1", 30000), "1 (1 2*)");
}

JAVA_TEST(what_we_force_java_finds_lost)
{
    redisson *java = java_new(f);

    assert_true(redisson_try(java, REDISSON_WRITE));
    assert_like(lua_rwlock_force(f, ""), "1 2 0 0");
    assert_held(f, "");
    assert_int_equal(redisson_unlock(java, REDISSON_WRITE), -1);
    assert_false(redisson_renew(java, REDISSON_WRITE));
}

JAVA_TEST(each_hold_of_a_java_reader_counts_for_the_hash)
{
    redisson *java = java_new(f);

    redisson_set_lease(java, 5000);
    assert_true(redisson_try(java, REDISSON_READ));
    redisson_set_lease(java, 20000);
    assert_true(redisson_try(java, REDISSON_READ));
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_in_range(script_pttl(f, "n"), 19000, 20000);
}

JAVA_TEST(of_readers_and_writers_the_first_by_ticket_contends)
{
    redisson *java = java_new(f);

    rw_hear(f, "r1:1", "w1:1", (char *)NULL);
    assert_true(redisson_try(java, REDISSON_WRITE));
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 1");
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
}

/* Else all who come later would belong to the phase that it began. */
JAVA_TEST(a_reader_of_ours_beside_javas_begins_a_phase)
{
    redisson *java = java_new(f);

    rw_acquire(f, "w1:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_true(redisson_try(java, REDISSON_READ));
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_mark(f, "wave"), "0");
}

/* The records are of readers of ours, who have gone. */
JAVA_TEST(a_java_writer_after_readers_of_ours_keeps_ours_out)
{
    redisson *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_true(redisson_try(java, REDISSON_WRITE));
    assert_like(rw_try(f, "r2:1", "r"), "3 *");
    assert_like(rw_acquire(f, "r3:1", "r"), "2 *");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_int_equal(redisson_unlock(java, REDISSON_WRITE), 1);
}

/* ---- a writer of Redisson's that waits ---- */

/* It listens to its channel. */
RW_TEST(it_keeps_new_readers_of_ours_out)
{
    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_try(f, "r2:1", "r"), "3 *");
    assert_like(rw_try(f, "u2:1", "u"), "3 *");
    assert_like(rw_acquire(f, "r3:1", "r"), "2 *");
    assert_like(rw_recheck(f, "r3:1"), "2 * ([1-9]*) ()");
    script_deafen(f, f->channel);
    assert_like(rw_recheck(f, "r3:1"), "2 * (0) (1 * * 0)");
}

/* The name is its when they have gone; then the first of ours tries. */
RW_TEST(the_name_is_open_to_it_when_the_readers_have_gone)
{
    rw_hear(f, "r2:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    rw_acquire(f, "r2:1", "r");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "");
    assert_like(script_heard(f), "latchkey:in::r2 open 0 rwlock r2:1 * n\n"
                                 "redisson_rwlock:{n} 0\n");
    assert_like(rw_acquire(f, "r3:1", "r"), "2 *");
    rw_turn(f, "t", 150, -1);
    assert_like(rw_recheck(f, "r2:1"), "2 * (0) (1 * * 0)");
}

RW_TEST(not_in_our_turn)
{
    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    rw_turn(f, "o", 0, 400);
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

/* They would not stand back, and it would wait for them all the same. */
RW_TEST(nor_beside_readers_of_redissons)
{
    rw_acquire(f, "r1:1", "r");
    script_redis(f, "HSET n java:1 1");
    script_redis(f, "SET {n}:java:1:rwlock_timeout:1 1 PX 30000");
    script_listen(f, f->channel);
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

RW_TEST(nor_where_readers_go_first)
{
    rw_set_order("1");
    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

CHECK_GROUP(script_start_server, script_stop_server)
