/* SPDX-License-Identifier: MIT */

/* The fair lock without waiting: crowds of waits, and the twins of its calls. */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/fairlocking.h"
#include "support/wait.h"

/* ---- crowds ---- */

enum { CLIENTS = 10, ROUNDS = 10, TOGETHER = 5 };
enum { CROWD = CLIENTS * ROUNDS * TOGETHER };

typedef struct crowd crowd;

/* One wait; number: in the order in which they were begun. */
typedef struct member {
    crowd *crowd;
    int number;
} member;

struct crowd {
    member members[CROWD];
    int order[CROWD]; /* of the grants; whoever writes holds the lock */
    uint64_t fences[CROWD];
    atomic_int granted, failed;
};

static void on_member(lk_status status, lk_hold *hold, void *data)
{
    const member *m = data;
    crowd *c = m->crowd;
    int turn = atomic_load(&c->granted);

    if (status != LK_OK) {
        (void)atomic_fetch_add(&c->failed, 1);
        return;
    }
    c->order[turn] = m->number;
    c->fences[turn] = lk_hold_fence(hold);
    (void)atomic_fetch_add(&c->granted, 1);
    if (lk_hold_release_async(hold, NULL, NULL) != LK_OK)
        (void)atomic_fetch_add(&c->failed, 1);
}

/* The order of one client's waits is that of its calls; between clients it is
   the server's, so one waits until the server has the other's. */
static void crowd_queue(fairlocking *f, crowd *c, lk_fairlock *locks[CLIENTS])
{
    int number = 0;

    while (number < CROWD) {
        lk_fairlock *lock = locks[number / TOGETHER % CLIENTS];

        for (int i = 0; i < TOGETHER; i++) {
            c->members[number] = (member){c, number};
            assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, NULL,
                                                    on_member,
                                                    &c->members[number]),
                          LK_OK);
            number++;
        }
        locking_wait_queued(f->base, "n", number);
    }
}

FAIR_TEST(hundreds_of_waits_are_granted_in_order)
{
    lk_hold *hold = fair_hold(fair_lock_of_new_client(f));
    lk_fairlock *locks[CLIENTS];
    crowd *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    for (int i = 0; i < CLIENTS; i++)
        locks[i] = fair_lock_of_new_client(f);
    crowd_queue(f, c, locks);
    assert_status(lk_hold_release(hold), LK_OK);
    call_wait_count(&c->granted, CROWD, NULL);
    assert_int_equal(c->failed, 0);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(c->order[i], i);
        assert_true(i == 0 || c->fences[i] > c->fences[i - 1]);
    }
    fair_assert_clean(f);
    free(c);
}

FAIR_TEST(hundreds_of_waits_end_with_one_token)
{
    enum { WAITS = 400 };
    lk_hold *hold = fair_hold(fair_lock_of_new_client(f));
    lk_fairlock *lock = fair_lock_of_new_client(f);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call *calls = calloc(WAITS, sizeof(*calls));

    assert_non_null(calls);
    assert_status(lk_cancel_new(&options.cancel, f->base->clients[1]), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, &options,
                                                call_on_acquire, &calls[i]),
                      LK_OK);
    locking_wait_queued(f->base, "n", WAITS);
    lk_cancel_fire(options.cancel);
    for (int i = 0; i < WAITS; i++)
        assert_status(call_wait(&calls[i], NULL), LK_ECANCELED);
    locking_wait_queued(f->base, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
    fair_assert_clean(f);
    lk_cancel_free(options.cancel);
    free(calls);
}

/* ---- one wait ---- */

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

static lk_client *open_mode(fairlocking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return locking_open(f->base, &options);
}

FAIR_TEST(a_callback_brings_the_hold)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_fairlock *lock = fair_lock(f, client);
        call first = {0}, second = {0}, end = {0};

        assert_status(lk_fairlock_acquire_async(lock, 0, NULL, call_on_acquire,
                                                &first),
                      LK_OK);
        assert_status(call_wait(&first, client), LK_OK);
        assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, NULL,
                                                call_on_acquire, &second),
                      LK_OK);
        locking_wait_queued(f->base, "n", 1);
        assert_status(lk_hold_release_async(first.hold, call_on_done, &end),
                      LK_OK);
        assert_status(call_wait(&end, client), LK_OK);
        assert_status(call_wait(&second, client), LK_OK);
        assert_status(lk_hold_release(second.hold), LK_OK);
    }
    fair_assert_clean(f);
}

FAIR_TEST(a_wait_ends_by_its_time)
{
    lk_hold *hold = fair_hold(fair_lock_of_new_client(f));

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        uint64_t begin = wait_now_ms();
        call c = {0};

        assert_status(lk_fairlock_acquire_async(fair_lock(f, client), 150, NULL,
                                                call_on_acquire, &c),
                      LK_OK);
        assert_status(call_wait(&c, client), LK_ETIMEDOUT);
        assert_in_range(fair_since_ms(begin), 150, 150 + wait_scaled_ms(300));
        assert_null(c.hold);
    }
    locking_wait_queued(f->base, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- owners ---- */

FAIR_TEST(an_owner_that_is_named_enters_again)
{
    lk_client *client = locking_open(f->base, NULL);
    lk_fairlock *lock = fair_lock(f, client);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call first = {0}, again = {0}, other = {0};

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    assert_status(lk_fairlock_acquire_async(lock, 0, &options, call_on_acquire,
                                            &first),
                  LK_OK);
    assert_status(call_wait(&first, NULL), LK_OK);
    assert_status(lk_fairlock_acquire_async(lock, 0, &options, call_on_acquire,
                                            &again),
                  LK_OK);
    assert_status(call_wait(&again, NULL), LK_OK);
    assert_true(lk_hold_fence(first.hold) == lk_hold_fence(again.hold));
    assert_status(lk_fairlock_acquire_async(lock, 0, NULL, call_on_acquire,
                                            &other),
                  LK_OK);
    assert_status(call_wait(&other, NULL), LK_EBUSY);
    assert_status(lk_hold_release(first.hold), LK_OK);
    assert_status(lk_hold_release(again.hold), LK_OK);
    fair_assert_clean(f);
    lk_owner_free(options.owner);
}

/* Each wait has a ticket, whoever it is for. */
FAIR_TEST(two_waits_of_one_owner_have_it_one_after_the_other)
{
    lk_hold *hold = fair_hold(fair_lock_of_new_client(f));
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_fairlock *lock = fair_lock(f, client);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call first = {0}, second = {0};

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, &options,
                                            call_on_acquire, &first),
                  LK_OK);
    assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, &options,
                                            call_on_acquire, &second),
                  LK_OK);
    locking_wait_queued(f->base, "n", 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&first, NULL), LK_OK);
    assert_int_equal(second.ends, 0);
    assert_status(lk_hold_release(first.hold), LK_OK);
    assert_status(call_wait(&second, NULL), LK_OK);
    assert_status(lk_hold_release(second.hold), LK_OK);
    lk_owner_free(options.owner);
}

/* ---- the twins ---- */

FAIR_TEST(the_twins_answer_as_the_calls_do)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_fairlock *lock = fair_lock(f, client);
        call locked = {0}, info = {0}, force = {0}, again = {0};
        lk_hold *hold = fair_hold(lock);

        assert_status(lk_fairlock_is_locked_async(lock, call_on_locked,
                                                  &locked),
                      LK_OK);
        assert_status(call_wait(&locked, client), LK_OK);
        assert_true(locked.locked);
        assert_status(lk_fairlock_info_async(lock, call_on_info, &info), LK_OK);
        assert_status(call_wait(&info, client), LK_OK);
        assert_int_equal(info.info->holder_count, 1);
        lk_info_free(info.info);
        assert_status(lk_fairlock_force_release_async(lock, call_on_done,
                                                      &force),
                      LK_OK);
        assert_status(call_wait(&force, client), LK_OK);
        assert_status(lk_fairlock_force_release_async(lock, call_on_done,
                                                      &again),
                      LK_OK);
        assert_status(call_wait(&again, client), LK_ENOTHELD);
        assert_status(lk_hold_release(hold), LK_ELOST);
    }
}

/* ---- within a callback ---- */

/* What blocking calls answer there; it fails no test by itself. */
typedef struct blocking {
    lk_fairlock *lock;
    lk_status acquire, force;
} blocking;

static void block(call *c)
{
    blocking *b = c->data;
    lk_hold *none = NULL;

    b->acquire = lk_fairlock_acquire(b->lock, 0, NULL, &none);
    b->force = lk_fairlock_force_release(b->lock);
}

FAIR_TEST(a_callback_may_not_block)
{
    blocking b = {.lock = fair_lock_of_new_client(f)};
    call c = {.act = block, .data = &b};

    assert_status(lk_fairlock_acquire_async(b.lock, 0, NULL, call_on_acquire,
                                            &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(b.acquire, LK_ECALLBACK);
    assert_status(b.force, LK_ECALLBACK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
