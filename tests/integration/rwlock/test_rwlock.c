/* SPDX-License-Identifier: MIT */

/* The read-write lock: who comes in beside whom, and in which order. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { AT_ONCE_MS = 250 };

/* ---- together and alone ---- */

LOCKS_TEST(readers_of_several_clients_read_together)
{
    lk_hold *holds[3];

    for (size_t i = 0; i < 3; i++)
        holds[i] = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    assert_int_equal(rwlocking_holders(f), 3);
    assert_status(rwlocking_try(f, f->handles[0], KIND_WRITE), LK_EBUSY);
    for (size_t i = 0; i < 3; i++) {
        assert_status(lk_hold_check(holds[i]), LK_OK);
        assert_status(lk_hold_release(holds[i]), LK_OK);
    }
    assert_status(rwlocking_try(f, f->handles[0], KIND_WRITE), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_writer_is_alone)
{
    lk_rwlock *other = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);

    assert_status(rwlocking_try(f, other, KIND_READ), LK_EBUSY);
    assert_status(rwlocking_try(f, other, KIND_UPGRADEABLE), LK_EBUSY);
    assert_status(rwlocking_try(f, other, KIND_WRITE), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(rwlocking_try(f, other, KIND_READ), LK_OK);
    locking_wait_clean(f, "n");
}

/* The same between threads of one client, which share their connections. */
LOCKS_TEST(a_writer_is_alone_in_its_client_too)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);

    assert_status(rwlocking_try(f, lock, KIND_READ), LK_EBUSY);
    assert_status(rwlocking_try(f, lock, KIND_WRITE), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = rwlocking_hold(f, lock, KIND_READ);
    assert_status(rwlocking_try(f, lock, KIND_WRITE), LK_EBUSY);
    assert_status(rwlocking_try(f, lock, KIND_READ), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(fences_of_writers_grow_and_readers_share_the_last)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
    uint64_t first = lk_hold_fence(hold);

    assert_status(lk_hold_release(hold), LK_OK);
    hold = rwlocking_hold(f, lock, KIND_READ);
    assert_true(lk_hold_fence(hold) == first);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = rwlocking_hold(f, lock, KIND_WRITE);
    assert_true(lk_hold_fence(hold) > first);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- one remote hold for all readers of a client ---- */

/* As long as the server has lately said that nobody else waits. The second
   reader has it asked, and may be too late to share before it answers; on a
   machine that takes longer for all of them, others are. */
LOCKS_TEST(readers_of_one_client_share_one_remote_hold)
{
    enum { READERS = 16, LATELY_MS = 100 };
    lk_client *client = locking_open_calm(f, NULL);
    lk_rwlock *lock = locking_of(f, lk_rwlock, client);
    uint64_t joined, passes = locking_stats(client).passes;
    uint64_t began = wait_now_ms();
    lk_rwlock_state state_now;
    lk_hold *holds[READERS];

    for (size_t i = 0; i < READERS; i++) {
        holds[i] = rwlocking_hold(f, lock, KIND_READ);
        if (i == 1) /* what was asked before this is answered before this */
            assert_status(lk_rwlock_state_get(lock, &state_now), LK_OK);
    }
    joined = locking_stats(client).passes - passes;
    assert_true(joined >= READERS - 2 || wait_now_ms() - began >= LATELY_MS);
    assert_int_equal(rwlocking_holders(f), READERS - joined);
    for (size_t i = 0; i + 1 < READERS; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_check(holds[READERS - 1]), LK_OK);
    assert_status(lk_hold_release(holds[READERS - 1]), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(readers_that_wait_come_in_with_one_remote_hold)
{
    enum { READERS = 16 };
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    lk_client *client = locking_open_calm(f, NULL);
    lk_rwlock *lock = locking_of(f, lk_rwlock, client);
    taker *takers[READERS];

    for (size_t i = 0; i < READERS; i++)
        takers[i] = rwlocking_take(f, lock, KIND_READ, LK_FOREVER, NULL);
    locking_wait_waiting(client, READERS);
    rwlocking_wait_queued(f, KIND_READ, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    for (size_t i = 0; i < READERS; i++)
        assert_status(taker_join(takers[i]), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    for (size_t i = 0; i < READERS; i++)
        assert_status(taker_release(takers[i]), LK_OK);
    locking_wait_clean(f, "n");
}

/* Its lease is its own: it is not the watchdog's, which the others share. */
LOCKS_TEST(a_reader_with_a_fixed_lease_has_a_remote_hold_of_its_own)
{
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    lk_hold *shared = rwlocking_hold(f, lock, KIND_READ);
    lk_hold *own = rwlocking_hold_for(f, lock, KIND_READ, 60000);

    assert_int_equal(rwlocking_holders(f), 2);
    assert_in_range(lk_hold_remaining_ms(own), 50000, 60000);
    assert_in_range(lk_hold_remaining_ms(shared), 20000, 30000);
    assert_status(lk_hold_release(own), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_release(shared), LK_OK);
    locking_wait_clean(f, "n");
}

/* Else local readers that overlap would keep a remote writer out for ever. */
LOCKS_TEST(a_writer_that_waits_ends_the_sharing)
{
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    lk_hold *first = rwlocking_hold(f, lock, KIND_READ);
    taker *writer =
        rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_WRITE, 1);
    uint64_t begin = wait_now_ms();
    taker *late = NULL;

    /* What a question's answer allowed before ends within 150 ms. */
    while (late == NULL) {
        taker *t = rwlocking_take(f, lock, KIND_READ, 50, NULL);

        if (taker_join(t) == LK_OK)
            assert_status(taker_release(t), LK_OK);
        else
            late = t;
        assert_in_range(wait_now_ms() - begin, 0,
                        wait_allowed_ms(wait_scaled_ms(5000)));
        if (f->takers.count + 2 > TAKERS)
            fail_msg("readers come in and in");
    }
    assert_status(late->status, LK_ETIMEDOUT);
    assert_false(writer->done);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- turns ---- */

LOCKS_TEST(readers_and_writers_take_turns)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    taker *reader, *other_reader, *writer, *late_reader, *late_writer;

    writer = rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_WRITE, 1);
    reader = rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_READ, 1);
    late_writer =
        rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_WRITE, 2);
    other_reader =
        rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_READ, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(reader), LK_OK);
    assert_status(taker_join(other_reader), LK_OK);
    late_reader =
        rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_READ, 1);
    assert_false(writer->done);
    assert_status(taker_release(reader), LK_OK);
    assert_status(taker_release(other_reader), LK_OK);
    assert_status(taker_join(writer), LK_OK);
    assert_false(late_reader->done || late_writer->done);
    assert_status(taker_release(writer), LK_OK);
    assert_status(taker_join(late_reader), LK_OK);
    assert_false(late_writer->done);
    assert_status(taker_release(late_reader), LK_OK);
    assert_status(taker_release(late_writer), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(with_readers_first_they_come_in_past_waiting_writers)
{
    const lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                       .order = LK_RWLOCK_READERS_FIRST};
    lk_rwlock *locks[3];
    lk_hold *first, *second;
    taker *writer;

    for (size_t i = 0; i < 3; i++)
        locks[i] = rwlocking_named(f, locking_open(f, NULL), "n", &options);
    first = rwlocking_hold(f, locks[0], KIND_READ);
    writer = rwlocking_queue_up(f, locks[1], KIND_WRITE, 1);
    second = rwlocking_hold(f, locks[2], KIND_READ);
    assert_status(lk_hold_release(first), LK_OK);
    assert_false(writer->done);
    assert_status(lk_hold_release(second), LK_OK);
    assert_status(taker_release(writer), LK_OK);
}

LOCKS_TEST(with_writers_first_all_of_them_come_in_before_readers)
{
    const lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                       .order = LK_RWLOCK_WRITERS_FIRST};
    lk_rwlock *locks[4];
    taker *reader, *writers[2];
    lk_hold *hold;

    for (size_t i = 0; i < 4; i++)
        locks[i] = rwlocking_named(f, locking_open(f, NULL), "n", &options);
    hold = rwlocking_hold(f, locks[0], KIND_WRITE);
    reader = rwlocking_queue_up(f, locks[1], KIND_READ, 1);
    writers[0] = rwlocking_queue_up(f, locks[2], KIND_WRITE, 1);
    writers[1] = rwlocking_queue_up(f, locks[3], KIND_WRITE, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    for (size_t i = 0; i < 2; i++) {
        assert_status(taker_join(writers[i]), LK_OK);
        assert_false(reader->done);
        assert_status(taker_release(writers[i]), LK_OK);
    }
    assert_status(taker_release(reader), LK_OK);
    locking_wait_clean(f, "n");
}

/* Redisson: a writer's unlock wakes all; here each has its grant. */
LOCKS_TEST(many_readers_that_wait_come_in_at_once)
{
    enum { READERS = 20 };
    lk_rwlock *locks[10];
    taker *takers[READERS];
    lk_hold *hold;
    uint64_t begin;

    for (size_t i = 0; i < 10; i++)
        locks[i] = locking_new(f, lk_rwlock);
    hold = rwlocking_hold(f, locks[0], KIND_WRITE);
    for (size_t i = 0; i < READERS; i++)
        takers[i] =
            rwlocking_take(f, locks[i % 10], KIND_READ, LK_FOREVER, NULL);
    rwlocking_wait_queued(f, KIND_READ, 10);
    for (size_t i = 0; i < 10; i++)
        locking_wait_waiting(f->clients[i], 2);
    begin = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    for (size_t i = 0; i < READERS; i++)
        assert_status(taker_join(takers[i]), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    for (size_t i = 0; i < READERS; i++)
        assert_status(taker_release(takers[i]), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- leases ---- */

LOCKS_TEST(a_fixed_lease_ends_and_the_next_comes_in)
{
    lk_hold *hold =
        rwlocking_hold_for(f, locking_new(f, lk_rwlock), KIND_WRITE, 300);
    taker *readers[2];

    for (int i = 0; i < 2; i++)
        readers[i] =
            rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, i + 1);
    for (int i = 0; i < 2; i++)
        assert_status(taker_join(readers[i]), LK_OK);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    for (int i = 0; i < 2; i++)
        assert_status(taker_release(readers[i]), LK_OK);
    locking_wait_clean(f, "n");
}

/* It ends by its own lease, whatever others do to theirs in between. */
LOCKS_TEST(a_readers_lease_is_its_own)
{
    lk_hold *lasting =
        rwlocking_hold_for(f, locking_new(f, lk_rwlock), KIND_READ, 20000);
    lk_hold *brief =
        rwlocking_hold_for(f, locking_new(f, lk_rwlock), KIND_READ, 300);
    taker *writer;
    uint64_t begin = wait_now_ms();

    assert_status(lk_hold_extend(lasting, 60000), LK_OK);
    writer = rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_WRITE, 1);
    while (lk_hold_check(brief) == LK_OK)
        assert_in_range(wait_now_ms() - begin, 0,
                        wait_allowed_ms(wait_scaled_ms(5000)));
    assert_status(lk_hold_check(lasting), LK_OK);
    assert_int_equal(lk_hold_loss(brief), LK_LOSS_EXPIRED);
    assert_status(lk_hold_release(brief), LK_ELOST);
    assert_false(writer->done);
    assert_status(lk_hold_release(lasting), LK_OK);
    assert_status(taker_release(writer), LK_OK);
}

LOCKS_TEST(a_reader_that_is_long_dead_lets_a_writer_in)
{
    lk_hold *alive = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    lk_hold *dead =
        rwlocking_hold_for(f, locking_new(f, lk_rwlock), KIND_READ, 300);
    taker *writer =
        rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_WRITE, 1);

    assert_status(lk_hold_release(alive), LK_OK);
    assert_status(taker_join(writer), LK_OK);
    assert_in_range(writer->took_ms, 0, wait_allowed_ms(wait_scaled_ms(2000)));
    assert_status(lk_hold_release(dead), LK_ELOST);
    assert_status(taker_release(writer), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- who tells, and operators ---- */

LOCKS_TEST(the_state_is_told)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_rwlock_state told = LK_RWLOCK_WRITE;
    lk_hold *hold;

    assert_status(lk_rwlock_state_get(lock, &told), LK_OK);
    assert_int_equal(told, LK_RWLOCK_FREE);
    hold = rwlocking_hold(f, lock, KIND_READ);
    assert_status(lk_rwlock_state_get(lock, &told), LK_OK);
    assert_int_equal(told, LK_RWLOCK_READ);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = rwlocking_hold(f, lock, KIND_WRITE);
    assert_status(lk_rwlock_state_get(lock, &told), LK_OK);
    assert_int_equal(told, LK_RWLOCK_WRITE);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(holders_and_waiters_are_told)
{
    const lk_acquire_options reads = {LK_ACQUIRE_OPTIONS_INIT,
                                      .reason = "to look"};
    const lk_acquire_options writes = {LK_ACQUIRE_OPTIONS_INIT,
                                       .reason = "to change"};
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    taker *writer;

    assert_status(lk_rwlock_acquire_upgradeable(lock, 0, &reads, &hold), LK_OK);
    writer = rwlocking_take(f, locking_new(f, lk_rwlock), KIND_WRITE,
                            LK_FOREVER, &writes);
    rwlocking_wait_queued(f, KIND_WRITE, 1);
    assert_status(lk_rwlock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0]->mode, "upgradeable");
    assert_string_equal(info->holders[0]->reason, "to look");
    assert_true(info->holders[0]->pid == (uint64_t)getpid());
    assert_true(info->holders[0]->fence == lk_hold_fence(hold));
    assert_int_equal(info->waiter_count, 1);
    assert_int_equal(info->listed_count, 1);
    assert_string_equal(info->waiters[0]->mode, "write");
    assert_string_equal(info->waiters[0]->reason, "to change");
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(writer), LK_OK);
}

LOCKS_TEST(force_ends_all_readers_and_tells_them)
{
    lk_rwlock *chief = locking_new(f, lk_rwlock);
    lk_hold *holds[2];
    taker *writer;

    for (size_t i = 0; i < 2; i++)
        holds[i] = rwlocking_hold(f, locking_calm(f, lk_rwlock), KIND_READ);
    writer = rwlocking_queue_up(f, locking_new(f, lk_rwlock), KIND_WRITE, 1);
    assert_status(lk_rwlock_force_release(chief), LK_OK);
    assert_status(taker_join(writer), LK_OK);
    for (size_t i = 0; i < 2; i++) {
        uint64_t begin = wait_now_ms();

        while (lk_hold_check(holds[i]) == LK_OK)
            assert_in_range(wait_now_ms() - begin, 0,
                            wait_allowed_ms(wait_scaled_ms(5000)));
        assert_int_equal(lk_hold_loss(holds[i]), LK_LOSS_REVOKED);
        assert_status(lk_hold_release(holds[i]), LK_ELOST);
    }
    assert_status(taker_release(writer), LK_OK);
    assert_status(lk_rwlock_force_release(chief), LK_ENOTHELD);
}

LOCKS_TEST(a_name_of_another_kind_is_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_rwlock *lock = locking_of(f, lk_rwlock, client);
    lk_rwlock_state told;
    lk_hold *none = NULL;

    assert_status(lk_rwlock_acquire_read(lock, 0, NULL, &none), LK_ETYPE);
    assert_status(lk_rwlock_acquire_write(lock, LK_FOREVER, NULL, &none),
                  LK_ETYPE);
    assert_status(lk_rwlock_state_get(lock, &told), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, 0, NULL, &hold), LK_OK);
    assert_status(lk_lock_acquire(f->handles[0], 0, NULL, &none), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
