/* SPDX-License-Identifier: MIT */

/*
 * Holds that replicas must have before they are reported, and others: beside each
 * other, of every primitive, and as members of one multilock.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>

#include "support/check.h"
#include "support/replica.h"
#include "support/wait.h"

/* ---- beside each other ------------------------------------------------------------ */

REPLICA_TEST(who_needs_none_does_not_wait)
{
    lk_lock *lock = replica_lock(f, "n");
    lk_lock *other = locking_lock(f, f->clients[0], "other");
    call *c = locking_call(f);
    uint64_t began;

    server_freeze(replica_server());
    assert_status(lk_lock_acquire_async(lock, 0, &replica_one, call_on_acquire,
                                        c),
                  LK_OK);
    locking_wait_integer(f, 1, "EXISTS %s", "n");
    began = wait_now_ms();
    for (int i = 0; i < 20; i++)
        assert_status(lk_hold_release(replica_hold(other, NULL)), LK_OK);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(500)));
    server_thaw(replica_server());
    assert_status(call_wait(c, NULL), LK_OK);
    assert_status(replica_release(c), LK_OK);
}

/* Of a need that cannot be met the others do not feel much. */
REPLICA_TEST(who_needs_fewer_does_not_wait_for_more)
{
    const lk_acquire_options two = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 2,
                                    .replica_ms = 2000};
    lk_lock *lock = replica_lock(f, "n");
    lk_lock *other = locking_lock(f, f->clients[0], "other");
    call *c = locking_call(f);
    uint64_t began;

    assert_status(lk_lock_acquire_async(lock, 0, &two, call_on_acquire, c),
                  LK_OK);
    locking_wait_integer(f, 1, "EXISTS %s", "n");
    began = wait_now_ms();
    for (int i = 0; i < 3; i++)
        assert_status(lk_hold_release(replica_hold(other, &replica_one)),
                      LK_OK);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(1200)));
    assert_status(call_wait(c, NULL), LK_EREPLICAS);
}

REPLICA_TEST(many_needs_share_their_waits)
{
    enum { MANY = 60 };
    lk_client *client = locking_open(f, NULL);
    call *calls[MANY];
    char name[8];

    for (int i = 0; i < MANY; i++) {
        lk_lock *lock;

        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_status(lk_lock_new(&lock, client, name, NULL), LK_OK);
        calls[i] = locking_call(f);
        assert_status(lk_lock_acquire_async(lock, 0, &replica_one,
                                            call_on_acquire, calls[i]),
                      LK_OK);
        lk_lock_free(lock);
    }
    for (int i = 0; i < MANY; i++) {
        assert_status(call_wait(calls[i], NULL), LK_OK);
        assert_status(replica_release(calls[i]), LK_OK);
    }
}

/* ---- every primitive that holds ------------------------------------------------------ */

typedef struct subjects {
    lk_fairlock *fairlock;
    lk_rwlock *rwlock;
    lk_semaphore *semaphore;
    lk_siglock *siglock;
} subjects;

static lk_status acquire(const subjects *s, int which,
                         const lk_acquire_options *options, lk_hold **ret_hold)
{
    switch (which) {
    case 0:
        return lk_fairlock_acquire(s->fairlock, 0, options, ret_hold);
    case 1:
        return lk_rwlock_acquire_read(s->rwlock, 0, options, ret_hold);
    case 2:
        return lk_rwlock_acquire_write(s->rwlock, 0, options, ret_hold);
    case 3:
        return lk_semaphore_acquire(s->semaphore, 2, 0, options, ret_hold);
    default:
        return lk_siglock_acquire(s->siglock, 0, options, ret_hold);
    }
}

REPLICA_TEST(every_primitive_waits_for_replicas)
{
    const lk_semaphore_options permits = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 3};
    lk_client *client = locking_open(f, NULL);
    subjects s;
    lk_hold *hold = NULL;

    assert_status(lk_fairlock_new(&s.fairlock, client, "a", NULL), LK_OK);
    assert_status(lk_rwlock_new(&s.rwlock, client, "b", NULL), LK_OK);
    assert_status(lk_semaphore_new(&s.semaphore, client, "c", &permits), LK_OK);
    assert_status(lk_siglock_new(&s.siglock, client, "d", NULL), LK_OK);
    for (int i = 0; i < 5; i++) {
        assert_status(acquire(&s, i, &replica_one, &hold), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
    }
    server_freeze(replica_server());
    for (int i = 0; i < 5; i++)
        assert_status(acquire(&s, i, &replica_one_brief, &hold), LK_EREPLICAS);
    assert_int_equal(locking_stats(client).holding, 0);
    lk_fairlock_free(s.fairlock);
    lk_rwlock_free(s.rwlock);
    lk_semaphore_free(s.semaphore);
    lk_siglock_free(s.siglock);
}

/* The names a and b. */
static lk_multilock *set_of_two(locking *f, lk_client *client)
{
    lk_multilock *set = NULL;

    assert_status(lk_multilock_new(&set), LK_OK);
    assert_status(lk_multilock_add_lock(set, locking_lock(f, client, "a")),
                  LK_OK);
    assert_status(lk_multilock_add_lock(set, locking_lock(f, client, "b")),
                  LK_OK);
    return set;
}

static void wait_free(locking *f)
{
    locking_wait_integer(f, 0, "EXISTS %s", "a");
    locking_wait_integer(f, 0, "EXISTS %s", "b");
}

REPLICA_TEST(every_member_of_a_multilock_is_waited_for)
{
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = set_of_two(f, client);
    lk_hold *hold = NULL;

    assert_status(lk_multilock_acquire(set, 0, &replica_one, &hold), LK_OK);
    assert_true(replica_has("a"));
    assert_true(replica_has("b"));
    assert_status(lk_hold_release(hold), LK_OK);
    server_freeze(replica_server());
    assert_status(lk_multilock_acquire(set, 0, &replica_one_brief, &hold),
                  LK_EREPLICAS);
    wait_free(f);
    lk_multilock_free(set);
}

/* Its members' tries may take longer than one request. */
REPLICA_TEST(a_multilock_that_is_tried_waits_for_all_of_its_replicas)
{
    const uint64_t answer_ms = wait_limit_ms(500);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                  .replica_ms = answer_ms / 5 * 9};
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .command_timeout_ms = answer_ms};
    lk_client *client = locking_open(f, &brief);
    lk_multilock *set = set_of_two(f, client);
    lk_hold *none = NULL;

    replica_leave();
    assert_status(lk_multilock_acquire(set, 0, &options, &none), LK_EREPLICAS);
    assert_null(none);
    wait_free(f);
    lk_multilock_free(set);
}

/* Whatever its members still wait for, they are given back. */
REPLICA_TEST(a_multilock_out_of_time_leaves_nothing_behind)
{
    lk_acquire_options options = replica_one;
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = set_of_two(f, client);
    uint64_t began = wait_now_ms();
    lk_hold *none = NULL;

    options.replica_ms = wait_scaled_ms(60000);
    server_freeze(replica_server());
    assert_status(lk_multilock_acquire(set, wait_scaled_ms(300), &options,
                                       &none),
                  LK_ETIMEDOUT);
    assert_null(none);
    wait_free(f);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(30000)));
    server_thaw(replica_server());
    lk_multilock_free(set);
}

CHECK_GROUP(replica_start, replica_stop)
