/* SPDX-License-Identifier: MIT */

/*
 * A cancel that races a grant, and a callback that keeps the loop busy. With
 * LK_LONG=1 in the environment the races are five times as many.
 */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { RACES = 2000 };

static int races(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0 ? 5 * RACES : RACES;
}

/* ---- cancel and grant ---------------------------------------------------- */

/* The far side's thread: waits with a fresh token each round. */
typedef struct runner {
    locking *scene;
    lk_cancel *_Atomic cancel; /* of this round; NULL: not yet */
    sem_t go, done;
    int rounds;
    unsigned granted, canceled, others;
    pthread_t id;
} runner;

static void run_once(runner *r)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .cancel = r->cancel};
    lk_hold *hold = NULL;
    lk_status status =
        lk_lock_acquire(r->scene->third.lock, LK_FOREVER, &options, &hold);

    if (status == LK_OK) {
        r->granted++;
        r->others += lk_hold_release(hold) != LK_OK;
    } else if (status == LK_ECANCELED) {
        r->canceled++;
    } else {
        r->others++;
    }
}

static void *runner_run(void *data)
{
    runner *r = data;

    for (int i = 0; i < r->rounds; i++) {
        sem_wait(&r->go);
        run_once(r);
        sem_post(&r->done);
    }
    return NULL;
}

/* Lets a moment pass that is shorter than any sleep. */
static void spin(int turns)
{
    for (volatile int i = 0; i < turns; i++) {
    }
}

/* The release and the cancel meet, now the one first and now the other. */
static void race(locking *f, runner *r, int round)
{
    lk_hold *hold = scene_hold(f->near.lock, NULL);
    lk_cancel *cancel;

    assert_status(lk_cancel_new(&cancel, f->third.client), LK_OK);
    r->cancel = cancel;
    sem_post(&r->go);
    assert_soon(locking_stats(f->third.client).waiting > 0, SCENE_MS);
    if (round % 2 == 0) {
        assert_status(lk_hold_release(hold), LK_OK);
        spin(round % 64 * 100);
        lk_cancel_fire(cancel);
    } else {
        lk_cancel_fire(cancel);
        spin(round % 64 * 100);
        assert_status(lk_hold_release(hold), LK_OK);
    }
    sem_wait(&r->done);
    lk_cancel_free(cancel);
}

static bool is_settled(void *data)
{
    lk_client_stats stats = locking_stats(data);

    return stats.holding == 0 && stats.waiting == 0 && stats.pending == 0;
}

/*
 * Nothing dropped: a grant that meets a canceled claim is passed on at once, so
 * each round finds the lock free, and nothing is left of it at the end.
 */
SCENE_TEST(a_cancel_that_races_a_grant_leaves_nothing)
{
    static runner r; /* its thread's, also if the test fails before it ends */

    r = (runner){.scene = f, .rounds = races()};
    sem_init(&r.go, 0, 0);
    sem_init(&r.done, 0, 0);
    assert_int_equal(pthread_create(&r.id, NULL, runner_run, &r), 0);
    for (int i = 0; i < r.rounds; i++)
        race(f, &r, i);
    pthread_join(r.id, NULL);

    assert_int_equal(r.others, 0);
    assert_int_equal(r.granted + r.canceled, r.rounds);
    assert_true(r.granted > 0);
    assert_true(r.canceled > 0);
    assert_true(wait_until(is_settled, f->third.client, SCENE_MS));
    scene_is_clean(f);
    assert_int_equal(server_integer(f->server, SERVER_PARKED("job")), 0);
    assert_int_equal(server_integer(f->server, SERVER_WAITERS("job")), 0);
    /* What was passed on did not wait for a lease. */
    assert_status(lk_hold_release(scene_hold(f->near.lock, NULL)), LK_OK);
}

/* ---- a busy loop --------------------------------------------------------- */

typedef struct blocker {
    sem_t begun, may_end;
    lk_status acquire; /* what a blocking call from there answers */
    lk_lock *lock;
} blocker;

static void block(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    blocker *b = data;
    lk_hold *none = NULL;

    (void)hold;
    if (remaining_ms != 0)
        return;
    b->acquire = lk_lock_acquire(b->lock, 0, NULL, &none);
    sem_post(&b->begun);
    sem_wait(&b->may_end);
}

static bool is_readable(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

/*
 * No silent loss: the check compares the clock and the descriptor is the
 * kernel's timer, so both tell the truth while nobody renews and nobody calls
 * back.
 */
SCENE_TEST(a_blocked_loop_hides_no_loss)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    const lk_acquire_options brief = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 50};
    static blocker b = {.acquire = LK_OK};
    lk_lock *other;
    lk_hold *bait;
    lk_hold *hold;
    uint64_t deadline;
    int fd;

    scene_far(f, &options);
    sem_init(&b.begun, 0, 0);
    sem_init(&b.may_end, 0, 0);
    assert_status(lk_lock_new(&other, f->far.client, "other", NULL), LK_OK);
    b.lock = other;
    hold = scene_hold(f->far.lock, NULL);
    fd = lk_hold_fd(hold);
    bait = scene_hold(other, &brief);
    assert_status(lk_hold_on_lost(bait, 0, block, &b), LK_OK);
    sem_wait(&b.begun);
    assert_status(b.acquire, LK_ECALLBACK);

    assert_status(lk_hold_check(hold), LK_OK);
    assert_false(is_readable(fd));
    deadline = wait_now_ms() + lk_hold_remaining_ms(hold);
    assert_true(wait_until(hold_is_lost, hold, SCENE_MS));
    assert_in_range(wait_now_ms(), deadline,
                    deadline + wait_allowed_ms(wait_scaled_ms(500)));
    assert_soon(is_readable(fd), SCENE_MS);
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    sem_post(&b.may_end);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_hold_release(bait), LK_ELOST);
    lk_lock_free(other);
    scene_is_clean(f);
}
