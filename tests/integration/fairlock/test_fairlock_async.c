/* SPDX-License-Identifier: MIT */

/* The fair lock without waiting: crowds of waits, and the twins of its calls. */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
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
static void crowd_queue(locking *f, crowd *c, lk_fairlock *locks[CLIENTS])
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
        locking_wait_queued(f, "n", number);
    }
}

LOCKS_TEST(hundreds_of_waits_are_granted_in_order)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_fairlock *locks[CLIENTS];
    crowd *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    for (int i = 0; i < CLIENTS; i++)
        locks[i] = locking_new(f, lk_fairlock);
    crowd_queue(f, c, locks);
    assert_status(lk_hold_release(hold), LK_OK);
    call_wait_count(&c->granted, CROWD, NULL);
    assert_int_equal(c->failed, 0);
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(c->order[i], i);
        assert_true(i == 0 || c->fences[i] > c->fences[i - 1]);
    }
    locking_wait_clean(f, "n");
    free(c);
}

/* ---- one wait ---- */

/* ---- owners ---- */

/* Each wait has a ticket, whoever it is for. */
LOCKS_TEST(two_waits_of_one_owner_have_it_one_after_the_other)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_fairlock));
    lk_client *client = locking_open_calm(f, NULL);
    lk_fairlock *lock = locking_of(f, lk_fairlock, client);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call first = {0}, second = {0};

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, &options,
                                            call_on_acquire, &first),
                  LK_OK);
    assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, &options,
                                            call_on_acquire, &second),
                  LK_OK);
    locking_wait_queued(f, "n", 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&first, NULL), LK_OK);
    assert_int_equal(second.ends, 0);
    assert_status(lk_hold_release(first.hold), LK_OK);
    assert_status(call_wait(&second, NULL), LK_OK);
    assert_status(lk_hold_release(second.hold), LK_OK);
    lk_owner_free(options.owner);
}

/* What blocking calls answer there; it fails no test by itself. */
typedef struct blocking {
    lk_fairlock *lock;
    lk_status acquire, force;
} blocking;

int test_fairlock_async(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
