/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock beside Redisson's on the same name: its own scenarios,
 * with one side or both played by Latchkey.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>

#include "support/check.h"
#include "support/rw_standin.h"
#include "support/rwlocking.h"
#include "support/wait.h"

static rw_standin *java_new(rwlocking *f)
{
    return rw_standin_new(server_socket(f->base->server), "n");
}

static int teardown(void **state)
{
    rw_standins_free();
    return rwlocking_teardown(state);
}

static uint64_t since_ms(uint64_t begin)
{
    return wait_now_ms() - begin;
}

#define JAVA_TEST(name)                                                        \
    CHECK_TEST_OF(name, rwlocking *f, rwlocking_setup, teardown)

/* ---- who keeps whom out ---- */

JAVA_TEST(readers_of_both_sides_read_together_and_writers_wait)
{
    lk_rwlock *lock = rwlocking_calm(f);
    rw_standin *java = java_new(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_READ);
    taker *writer;

    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_false(rw_standin_try(java_new(f), RW_STANDIN_WRITE));
    assert_status(rwlocking_try(f, lock, RW_WRITE), LK_EBUSY);
    writer = rwlocking_queue_up(f, lock, RW_WRITE, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(writer->done);
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 1);
    assert_status(taker_join(writer), LK_OK);
    assert_false(rw_standin_try(java, RW_STANDIN_READ));
    assert_status(taker_release(writer), LK_OK);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 1);
    rwlocking_assert_clean(f);
}

JAVA_TEST(a_java_writer_keeps_all_of_ours_out)
{
    lk_rwlock *lock = rwlocking_new(f);
    rw_standin *java = java_new(f);

    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_status(rwlocking_try(f, lock, RW_READ), LK_EBUSY);
    assert_status(rwlocking_try(f, lock, RW_UPGRADEABLE), LK_EBUSY);
    assert_status(rwlocking_try(f, lock, RW_WRITE), LK_EBUSY);
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), 1);
    assert_status(rwlocking_try(f, lock, RW_WRITE), LK_OK);
    rwlocking_assert_clean(f);
}

/* The first of ours asks every few milliseconds while Java has it. */
JAVA_TEST(ours_come_in_soon_after_a_java_writer)
{
    rw_standin *java = java_new(f);
    taker *reader, *writer;
    uint64_t begin;

    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);
    begin = wait_now_ms();
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), 1);
    assert_status(taker_join(reader), LK_OK);
    assert_in_range(since_ms(begin), 0, wait_scaled_ms(300));
    assert_status(taker_release(reader), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    rwlocking_assert_clean(f);
}

JAVA_TEST(a_writer_of_ours_comes_in_soon_after_java_readers)
{
    rw_standin *java = java_new(f);
    taker *writer;
    uint64_t begin;

    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);
    begin = wait_now_ms();
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 1);
    assert_status(taker_join(writer), LK_OK);
    assert_in_range(since_ms(begin), 0, wait_scaled_ms(300));
    assert_status(taker_release(writer), LK_OK);
}

struct java_wait {
    rw_standin *java;
    rw_standin_side side;
    pthread_t thread;
    bool got;
    atomic_bool done;
    uint64_t done_at;
};

static void *java_run(void *data)
{
    struct java_wait *w = data;

    w->got = rw_standin_lock(w->java, w->side, wait_scaled_ms(8000));
    w->done_at = wait_now_ms();
    atomic_store(&w->done, true);
    return NULL;
}

/* Waits until it listens, as it does before it sleeps. */
static void java_wait_begin(rwlocking *f, struct java_wait *w)
{
    assert_int_equal(pthread_create(&w->thread, NULL, java_run, w), 0);
    locking_wait_integer(f->base, 1, "EVAL %s 0",
                         "return redis.call('PUBSUB', 'NUMSUB', "
                         "'redisson_rwlock:{n}')[2]");
}

static void java_wait_end(struct java_wait *w)
{
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    assert_true(w->got);
}

/* Not when the TTL ends that it saw, but when it is told. */
JAVA_TEST(java_readers_come_in_when_a_writer_of_ours_leaves)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);
    struct java_wait w = {.java = java_new(f), .side = RW_STANDIN_READ};
    uint64_t begin;

    java_wait_begin(f, &w);
    begin = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    java_wait_end(&w);
    assert_in_range(w.done_at - begin, 0, wait_scaled_ms(500));
    assert_int_equal(rw_standin_unlock(w.java, RW_STANDIN_READ), 1);
}

JAVA_TEST(java_readers_come_in_at_a_downgrade_of_ours)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);
    struct java_wait w = {.java = java_new(f), .side = RW_STANDIN_READ};
    uint64_t begin;

    java_wait_begin(f, &w);
    begin = wait_now_ms();
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    java_wait_end(&w);
    assert_in_range(w.done_at - begin, 0, wait_scaled_ms(500));
    assert_int_equal(rw_standin_unlock(w.java, RW_STANDIN_READ), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

JAVA_TEST(a_java_writer_comes_in_when_the_last_reader_leaves)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *first = rwlocking_hold_for(f, lock, RW_READ, 60000);
    lk_hold *second = rwlocking_hold_for(f, lock, RW_READ, 60000);
    struct java_wait w = {.java = java_new(f), .side = RW_STANDIN_WRITE};
    uint64_t begin;

    java_wait_begin(f, &w);
    assert_status(lk_hold_release(first), LK_OK);
    assert_false(w.done);
    begin = wait_now_ms();
    assert_status(lk_hold_release(second), LK_OK);
    java_wait_end(&w);
    assert_in_range(w.done_at - begin, 0, wait_scaled_ms(500));
    assert_int_equal(rw_standin_unlock(w.java, RW_STANDIN_WRITE), 1);
}

/* ---- turns ---- */

struct loop {
    lk_rwlock *lock;
    rw_mode mode;
    pthread_t thread;
    atomic_bool *stop;
    atomic_int rounds, failures;
};

static void *loop_run(void *data)
{
    struct loop *loop = data;

    while (!atomic_load(loop->stop)) {
        lk_hold *hold = NULL;

        if (rwlocking_acquire(loop->lock, loop->mode, LK_FOREVER, NULL,
                              &hold) != LK_OK ||
            lk_hold_release(hold) != LK_OK)
            (void)atomic_fetch_add(&loop->failures, 1);
        (void)atomic_fetch_add(&loop->rounds, 1);
    }
    return NULL;
}

static bool has_run(void *data)
{
    return atomic_load((atomic_int *)data) >= 5;
}

/* Ours would hand it over among themselves for ever. */
JAVA_TEST(a_java_writer_has_its_turn_among_ours)
{
    enum { LOOPS = 4, TURNS = 5 };
    rw_standin *java = java_new(f);
    static atomic_bool stop; /* a failed test leaves the threads running */
    static struct loop loops[LOOPS];

    for (int i = 0; i < LOOPS; i++) {
        loops[i] = (struct loop){.lock = rwlocking_calm(f),
                                 .mode = i % 2 == 0 ? RW_WRITE : RW_READ,
                                 .stop = &stop};
        assert_int_equal(pthread_create(&loops[i].thread, NULL, loop_run,
                                        &loops[i]),
                         0);
    }
    for (int i = 0; i < LOOPS; i++)
        assert_true(wait_until(has_run, &loops[i].rounds, 10000));
    for (int i = 0; i < TURNS; i++) {
        bool got =
            rw_standin_lock(java, RW_STANDIN_WRITE, wait_scaled_ms(10000));

        if (got)
            (void)rw_standin_unlock(java, RW_STANDIN_WRITE);
        else
            print_error("a Java writer waits in vain\n");
        if (!got)
            break;
        if (i + 1 == TURNS)
            stop = true;
    }
    assert_true(atomic_exchange(&stop, true));
    for (int i = 0; i < LOOPS; i++) {
        assert_int_equal(pthread_join(loops[i].thread, NULL), 0);
        assert_int_equal(loops[i].failures, 0);
    }
    rwlocking_assert_clean(f);
}

/* ---- leases ---- */

/* Redisson's renewal sets the hash's TTL flat; ours looks after its own. */
JAVA_TEST(a_longer_lease_of_ours_outlives_javas_renewals)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = 1500};
    lk_rwlock *lock = rwlocking_lock(f, locking_open(f->base, &options));
    lk_hold *hold = rwlocking_hold_for(f, lock, RW_READ, 60000);
    rw_standin *java = java_new(f);
    uint64_t begin;

    rw_standin_set_lease(java, 5000);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_true(rw_standin_renew(java, RW_STANDIN_READ));
    begin = wait_now_ms();
    while (locking_pttl(f->base, "n") <= 5000) {
        assert_in_range(since_ms(begin), 0, wait_scaled_ms(4000));
        locking_pass_time(10);
    }
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 30000, 60000);
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), 0);
    assert_in_range(locking_pttl(f->base, "n"), 30000, 60000);
    assert_status(lk_hold_release(hold), LK_OK);
}

JAVA_TEST(a_dead_java_reader_keeps_ours_out_only_for_its_lease)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_READ);
    rw_standin *java = java_new(f);
    taker *writer;

    rw_standin_set_lease(java, 500);
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(writer), LK_OK);
    assert_in_range(writer->took_ms, 0, wait_scaled_ms(2000));
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), -1);
    assert_status(taker_release(writer), LK_OK);
}

/* ---- by force ---- */

JAVA_TEST(what_java_ends_by_force_is_lost)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = 1500};
    lk_rwlock *lock = rwlocking_lock(f, locking_open(f->base, &options));
    lk_hold *hold = rwlocking_hold(f, lock, RW_READ);
    uint64_t begin = wait_now_ms();

    assert_true(rw_standin_force(java_new(f), RW_STANDIN_READ));
    while (lk_hold_check(hold) == LK_OK) {
        assert_in_range(since_ms(begin), 0, wait_scaled_ms(5000));
        locking_pass_time(5);
    }
    assert_status(lk_hold_release(hold), LK_ELOST);
}

JAVA_TEST(what_we_end_by_force_java_does_not_have)
{
    rw_standin *java = java_new(f);

    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_status(lk_rwlock_force_release(rwlocking_new(f)), LK_OK);
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_READ), -1);
    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_status(lk_rwlock_force_release(f->locks[0]), LK_OK);
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), -1);
}

JAVA_TEST(holds_of_java_are_told)
{
    lk_rwlock *lock = rwlocking_new(f);
    rw_standin *java = java_new(f);
    lk_info *info = NULL;
    lk_rwlock_state told;

    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_true(rw_standin_try(java, RW_STANDIN_READ));
    assert_status(lk_rwlock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0]->owner, rw_standin_owner(java));
    assert_string_equal(info->holders[0]->mode, "read");
    assert_int_equal(info->holders[0]->count, 2);
    assert_int_equal(info->holders[0]->fence, 0);
    lk_info_free(info);
    (void)rw_standin_unlock(java, RW_STANDIN_READ);
    (void)rw_standin_unlock(java, RW_STANDIN_READ);
    assert_true(rw_standin_try(java, RW_STANDIN_WRITE));
    assert_status(lk_rwlock_state_get(lock, &told), LK_OK);
    assert_int_equal(told, LK_RWLOCK_WRITE);
    assert_int_equal(rw_standin_unlock(java, RW_STANDIN_WRITE), 1);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
