/* SPDX-License-Identifier: MIT */

/* The read-write lock beside Redisson's on the same name: our waiters hear of what it
   gives back, and its own of what ours do. */

#include "support/check.h"
#include "support/redisson.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, AT_ONCE_MS = 300 };

static int teardown(void **state)
{
    redissons_free();
    return locking_teardown(state);
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, teardown)

/* A client of ours wants it, while Redisson has it. */
static void comes_in_at_once(locking *f, redisson_side side, kind_id mode)
{
    redisson *java = redisson_new(f->server, "n");
    taker *t;
    uint64_t begin;

    assert_true(redisson_try(java, side));
    t = rwlocking_queue_up(f, locking_calm(f, lk_rwlock), mode, 1);
    begin = wait_now_ms();
    assert_int_equal(redisson_unlock(java, side), 1);
    assert_status(taker_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(taker_release(t), LK_OK);
    locking_wait_clean(f, "n");
}

TEST(ours_come_in_soon_after_a_java_writer)
{
    comes_in_at_once(f, REDISSON_WRITE, KIND_READ);
}

TEST(a_writer_of_ours_comes_in_soon_after_java_readers)
{
    comes_in_at_once(f, REDISSON_READ, KIND_WRITE);
}

TEST(java_readers_are_told_of_a_downgrade_and_read_beside_it)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    redisson *java = redisson_new(f->server, "n");

    redisson_subscribe(java, REDISSON_READ);
    assert_false(redisson_try(java, REDISSON_READ));
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_int_equal(redisson_hears(java, SOON_MS), 1);
    assert_true(redisson_try(java, REDISSON_READ));
    assert_int_equal(redisson_unlock(java, REDISSON_READ), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(redisson_hears(java, SOON_MS), 0);
}

TEST(holds_of_java_are_told)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    redisson *java = redisson_new(f->server, "n");
    lk_info *info = NULL;

    assert_true(redisson_try(java, REDISSON_READ));
    assert_true(redisson_try(java, REDISSON_READ));
    assert_status(lk_rwlock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_string_equal(info->holders[0]->owner, redisson_owner(java));
    assert_string_equal(info->holders[0]->mode, "read");
    assert_int_equal(info->holders[0]->count, 2);
    assert_int_equal(info->holders[0]->fence, 0);
    lk_info_free(info);
    assert_status(lk_rwlock_force_release(lock), LK_OK);
    assert_int_equal(redisson_unlock(java, REDISSON_READ), -1);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
