/* SPDX-License-Identifier: MIT */

/* The read-write lock's scripts beside Redisson's, on the same keys. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"
#include "support/rw_standin.h"

static rw_standin *java_new(script_fixture *f)
{
    return rw_standin_new(server_socket(f->server), f->name);
}

static int teardown(void **state)
{
    rw_standins_free();
    return script_teardown(state);
}

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static long long lease_of_hash(script_fixture *f)
{
    return number(script_redis(f, "PTTL n"));
}

/* ---- who keeps whom out ---- */

static void readers_of_both_sides_come_in_together(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
    assert_false(rw_standin_try(java_new(f), RW_STANDIN_WRITE));
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_like(rw_release(f, "r2:1", NULL), "1 2 0 0");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 1);
    assert_like(rw_try(f, "w1:1", "w"), "1 *");
}

static void a_writer_of_one_side_keeps_the_other_out(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire(f, "w1:1", "w");
    assert_in_range(rw_standin_acquire(java, RW_STANDIN_READ), 29000, 30000);
    assert_in_range(rw_standin_acquire(java, RW_STANDIN_WRITE), 29000, 30000);
    rw_release(f, "w1:1", NULL);
    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_like(rw_try(f, "r1:1", "r"), "3 *");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), 1);
    assert_like(rw_try(f, "r1:1", "r"), "1 *");
}

/* Their hash was ended by Redisson, which knows nothing of our grants. */
static void grants_that_stayed_behind_hide_no_java_reader(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_redis(f, "DEL n");
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_like(script_redis(f, "HLEN %s", LUA_RWLOCK_HOLDERS), "2");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * 1");
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 (*) ()");
}

/* With as many grants as readers, each is looked at. */
static void grants_of_others_are_no_grants_of_a_java_reader(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r1:1", "r");
    rw_acquire(f, "r2:1", "r");
    script_redis(f, "HDEL n r1:1");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * 0");
    assert_true(rw_standin_try(java_new(f), RW_STANDIN_READ));
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 (*) ()");
}

/* Its thread's own reads are Redisson's business, and keep ours out. */
static void the_reads_of_a_java_writer_outlive_its_write(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), 1);
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_like(rw_try(f, "r1:1", "r"), "1 *");
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 0);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "");
}

/* A hold of a thread of Redisson's may have been taken several times. */
static void a_java_reader_lives_by_any_of_its_holds(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);
    char first[160];

    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    snprintf(first, sizeof(first), "{n}:%s:rwlock_timeout:1",
             rw_standin_owner(java));
    script_redis(f, "DEL %s", first);
    first[strlen(first) - 1] = '2';
    script_redis(f, "DEL %s", first);
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    first[strlen(first) - 1] = '3';
    script_redis(f, "DEL %s", first);
    assert_like(rw_try(f, "w1:1", "w"), "1 *");
}

/* ---- what each side sees of the other's holds ---- */

static void a_hold_of_ours_has_redissons_lengths(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "w1:1", "w");
    assert_like(script_redis(f, "HLEN n"), "2");
    rw_acquire_on(f, "w2:1", "r", "w1:1");
    assert_like(script_redis(f, "HLEN n"), "3");
    rw_release(f, "w1:1", NULL);
    assert_like(script_redis(f, "HLEN n"), "2");
    assert_like(script_redis(f, "HVALS n"), "read 1");
}

/* Redisson computes the hash's TTL from the keys of all readers. */
static void a_java_reader_that_leaves_keeps_our_lease(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire_for(f, "r1:1", "r", 5000);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_in_range(lease_of_hash(f), 29000, 30000);
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 0);
    assert_in_range(lease_of_hash(f), 4000, 5000);
    assert_held(f, "r1:1 read");
}

static void a_reader_of_ours_that_leaves_keeps_javas_lease(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_standin_set_lease(java, 5000);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_in_range(lease_of_hash(f), 4000, 5000);
}

/* Redisson's renewal cuts the hash's TTL; ours lengthens it again. */
static void a_java_renewal_does_not_end_a_longer_lease(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire_for(f, "r1:1", "r", 600000);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_true(rw_standin_renew(java, RW_STANDIN_READ));
    assert_in_range(lease_of_hash(f), 29000, 30000);
    assert_like(rw_confirm(f, "r1:1", NULL, 1), "1 * *");
    assert_in_range(lease_of_hash(f), 590000, 600000);
    assert_in_range(number(
                        script_redis(f, "PTTL %s", lua_rwlock_timeout("r1:1"))),
                    590000, 600000);
}

static void our_renewal_prolongs_no_dead_java_reader(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);
    char key[160];

    rw_standin_set_lease(java, 5000);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_acquire(f, "r1:1", "r");
    rw_renew(f, "r1:1", 60000);
    snprintf(key, sizeof(key), "{n}:%s:rwlock_timeout:1",
             rw_standin_owner(java));
    assert_in_range(number(script_redis(f, "PTTL %s", key)), 1, 5000);
}

static void a_dead_reader_of_ours_is_swept_by_the_last_of_java(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_kill(f, "r1:1");
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 1);
    assert_held(f, "");
}

static void a_dead_java_reader_is_swept_by_the_last_of_ours(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);
    char key[160];

    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_acquire(f, "r1:1", "r");
    snprintf(key, sizeof(key), "{n}:%s:rwlock_timeout:1",
             rw_standin_owner(java));
    script_redis(f, "DEL %s", key);
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "");
}

/* ---- messages ---- */

static void java_is_woken_when_ours_leave(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_standin_subscribe(java);
    rw_acquire(f, "w1:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_int_equal(rw_standin_hears(java, 5000), 1);
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_int_equal(rw_standin_hears(java, 5000), 0);
    rw_acquire(f, "w1:1", "w");
    assert_like(f->answer_text, "1 *");
    assert_like(rw_downgrade(f, "w1:1", NULL, 30000), "1 *");
    assert_int_equal(rw_standin_hears(java, 5000), 1);
    assert_int_equal(rw_standin_hears(java, 1), -1);
}

/* ---- who contends ---- */

/* Redisson hands nothing over: the first of ours must try for itself. */
static void the_first_of_ours_contends_with_a_java_writer(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_hear(f, "r1:1", "w1:1", (char *)NULL);
    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 1");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 0");
    assert_like(rw_recheck(f, "r1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_like(rw_recheck(f, "w1:1"), "2 * 0 0 0 ([1-9]*) ()");
    rw_standin_unlock(java, RW_STANDIN_WRITE);
    assert_like(rw_recheck(f, "r1:1"), "2 * (0) (1 * * 0)");
}

static void the_first_writer_of_ours_contends_with_java_readers(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_hear(f, "w1:1", "w2:1", "r2:1", (char *)NULL);
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 0");
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_like(rw_acquire(f, "w2:1", "w"), "2 * * 0");
    script_at(f, 500);
    assert_like(rw_acquire(f, "r2:1", "r"), "2 * * 0");
    rw_standin_unlock(java, RW_STANDIN_READ);
    assert_like(rw_recheck(f, "w1:1"), "2 * 0 0 0 ([1-9]*) ()");
}

/* ---- readers of Redisson's keep our writer out ---- */

enum { PASS_MS = 0, LAST_PASS_MS = 499, BACK_MS = 500, LAST_BACK_MS = 999 };

/* They read, a phase of readers that has begun, and w1:1 waits for them. */
static rw_standin *java_reads(script_fixture *f)
{
    rw_standin *java = java_new(f);

    rw_hear(f, "w1:1", "r1:1", "r2:1", (char *)NULL);
    rw_acquire(f, "r0:1", "r");
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_release(f, "r0:1", NULL);
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 1");
    return java;
}

static void ours_pass_it_in_half_of_each_second(void **state)
{
    script_fixture *f = *state;

    java_reads(f);
    script_at(f, PASS_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "1 *");
    script_at(f, LAST_PASS_MS);
    assert_like(rw_try(f, "r2:1", "r"), "1 *");
    assert_waiting(f, "w: w1:1");
}

static void in_the_other_they_stand_behind_it(void **state)
{
    script_fixture *f = *state;

    java_reads(f);
    script_at(f, BACK_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
    script_at(f, LAST_BACK_MS);
    assert_like(rw_try(f, "r2:1", "r"), "3 *");
}

/* Its client looks at each change of the name. */
static void those_who_queued_come_in_when_it_looks(void **state)
{
    script_fixture *f = *state;

    java_reads(f);
    script_at(f, BACK_MS);
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_waiting(f, "w: w1:1 r: r1:1");
    script_at(f, PASS_MS);
    assert_like(rw_recheck(f, "w1:1"), "2 * 1 0 0 ([1-9]*) ()");
    assert_waiting(f, "w: w1:1");
}

static void none_pass_it_where_ours_alone_read(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_reads(f);

    script_at(f, PASS_MS);
    rw_acquire(f, "r1:1", "r");
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 0);
    assert_like(rw_acquire(f, "r2:1", "r"), "2 * * 0");
    assert_like(rw_release(f, "r1:1", NULL), "1 2 0 0");
    assert_held(f, "w1:1:write write");
}

static void none_pass_it_where_writers_go_first(void **state)
{
    script_fixture *f = *state;

    rw_set_order("2");
    java_reads(f);
    script_at(f, PASS_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
}

static void none_pass_an_upgrade(void **state)
{
    script_fixture *f = *state;

    rw_hear(f, "r1:1", "u2:1", (char *)NULL);
    rw_acquire(f, "u1:1", "u");
    assert_true(rw_standin_try(java_new(f), RW_STANDIN_READ));
    assert_like(rw_acquire_on(f, "u2:1", "w", "u1:1"), "2 *");
    script_at(f, PASS_MS);
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
}

/* ---- by force ---- */

static void what_java_deletes_is_lost(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    assert_false(rw_standin_force(java, RW_STANDIN_WRITE));
    assert_true(rw_standin_force(java, RW_STANDIN_READ));
    assert_like(rw_renew(f, "r1:1", 30000), "1 (1 0*)");
    assert_like(rw_release(f, "r1:1", NULL), "2 0");
    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_like(rw_renew(f, "r1:1", 30000), "1 (1 2*)");
}

static void what_we_force_java_finds_lost(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_like(lua_rwlock_force(f, ""), "1 2 0 0");
    assert_held(f, "");
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), -1);
    assert_false(rw_standin_renew(java, RW_STANDIN_WRITE));
}

#define JAVA_TEST(f) cmocka_unit_test_setup_teardown(f, rw_setup, teardown)

static void each_hold_of_a_java_reader_counts_for_the_hash(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_standin_set_lease(java, 5000);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_standin_set_lease(java, 20000);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_in_range(lease_of_hash(f), 19000, 20000);
}

static void of_readers_and_writers_the_first_by_ticket_contends(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_hear(f, "r1:1", "w1:1", (char *)NULL);
    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_like(rw_acquire(f, "w1:1", "w"), "2 * * 1");
    assert_like(rw_acquire(f, "r1:1", "r"), "2 * * 0");
}

/* Else all who come later would belong to the phase that it began. */
static void a_reader_of_ours_beside_javas_begins_a_phase(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire(f, "w1:1", "w");
    rw_release(f, "w1:1", NULL);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    rw_acquire(f, "r1:1", "r");
    assert_like(rw_mark(f, "wave"), "0");
}

/* The records are of readers of ours, who have gone. */
static void a_java_writer_after_readers_of_ours_keeps_ours_out(void **state)
{
    script_fixture *f = *state;
    rw_standin *java = java_new(f);

    rw_acquire(f, "r1:1", "r");
    rw_release(f, "r1:1", NULL);
    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_like(rw_try(f, "r2:1", "r"), "3 *");
    assert_like(rw_acquire(f, "r3:1", "r"), "2 *");
    assert_like(rw_try(f, "w1:1", "w"), "3 *");
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), 1);
}

/* ---- a writer of Redisson's that waits ---- */

/* It listens to its channel. */
static void it_keeps_new_readers_of_ours_out(void **state)
{
    script_fixture *f = *state;

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
static void the_name_is_open_to_it_when_the_readers_have_gone(void **state)
{
    script_fixture *f = *state;

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

static void not_in_our_turn(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    rw_turn(f, "o", 0, 400);
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

/* They would not stand back, and it would wait for them all the same. */
static void nor_beside_readers_of_redissons(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "r1:1", "r");
    script_redis(f, "HSET n java:1 1");
    script_redis(f, "SET {n}:java:1:rwlock_timeout:1 1 PX 30000");
    script_listen(f, f->channel);
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

static void nor_where_readers_go_first(void **state)
{
    script_fixture *f = *state;

    rw_set_order("1");
    rw_acquire(f, "r1:1", "r");
    script_listen(f, f->channel);
    assert_like(rw_acquire(f, "r2:1", "r"), "1 *");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        JAVA_TEST(readers_of_both_sides_come_in_together),
        JAVA_TEST(a_writer_of_one_side_keeps_the_other_out),
        JAVA_TEST(a_java_writer_after_readers_of_ours_keeps_ours_out),
        JAVA_TEST(a_reader_of_ours_beside_javas_begins_a_phase),
        JAVA_TEST(grants_that_stayed_behind_hide_no_java_reader),
        JAVA_TEST(grants_of_others_are_no_grants_of_a_java_reader),
        JAVA_TEST(the_reads_of_a_java_writer_outlive_its_write),
        JAVA_TEST(a_java_reader_lives_by_any_of_its_holds),
        JAVA_TEST(a_hold_of_ours_has_redissons_lengths),
        JAVA_TEST(a_java_reader_that_leaves_keeps_our_lease),
        JAVA_TEST(a_reader_of_ours_that_leaves_keeps_javas_lease),
        JAVA_TEST(each_hold_of_a_java_reader_counts_for_the_hash),
        JAVA_TEST(a_java_renewal_does_not_end_a_longer_lease),
        JAVA_TEST(our_renewal_prolongs_no_dead_java_reader),
        JAVA_TEST(a_dead_reader_of_ours_is_swept_by_the_last_of_java),
        JAVA_TEST(a_dead_java_reader_is_swept_by_the_last_of_ours),
        JAVA_TEST(java_is_woken_when_ours_leave),
        JAVA_TEST(the_first_of_ours_contends_with_a_java_writer),
        JAVA_TEST(of_readers_and_writers_the_first_by_ticket_contends),
        JAVA_TEST(the_first_writer_of_ours_contends_with_java_readers),
        JAVA_TEST(ours_pass_it_in_half_of_each_second),
        JAVA_TEST(in_the_other_they_stand_behind_it),
        JAVA_TEST(those_who_queued_come_in_when_it_looks),
        JAVA_TEST(none_pass_it_where_ours_alone_read),
        JAVA_TEST(none_pass_it_where_writers_go_first),
        JAVA_TEST(none_pass_an_upgrade),
        JAVA_TEST(what_java_deletes_is_lost),
        JAVA_TEST(what_we_force_java_finds_lost),
        RW_TEST(it_keeps_new_readers_of_ours_out),
        RW_TEST(the_name_is_open_to_it_when_the_readers_have_gone),
        RW_TEST(not_in_our_turn),
        RW_TEST(nor_beside_readers_of_redissons),
        RW_TEST(nor_where_readers_go_first),
    };

    return cmocka_run_group_tests_name("rwlock_redisson", tests,
                                       script_start_server, script_stop_server);
}
