/* SPDX-License-Identifier: MIT */

/* One process of the demo: takes the lock, looks about, gives it back. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>

#include "demo.h"

/*
 * In the guarded section: is anybody else in it whose hold is still valid?
 * And is this fence the largest so far?
 */
static void enter(board *shared, int number, const lk_hold *hold)
{
    worker *self = &shared->workers[number - 1];
    const uint64_t fence = lk_hold_fence(hold), now = now_ms();
    int other;
    uint64_t none = 0;

    atomic_store(&self->valid_until, now + lk_hold_remaining_ms(hold));
    other = atomic_exchange(&shared->inside, number);
    if (other && now < atomic_load(&shared->workers[other - 1].valid_until))
        atomic_fetch_add(&shared->overlaps, 1);
    if (atomic_exchange(&shared->last_fence, fence) >= fence)
        atomic_fetch_add(&shared->old_fences, 1);
    other = atomic_exchange(&shared->last, number);
    if (other && other != number)
        atomic_fetch_add(&shared->handovers, 1);
    if (atomic_load(&shared->killed_at) &&
        atomic_compare_exchange_strong(&shared->passed_at, &none, now))
        atomic_store(&shared->passed_to, number);

    atomic_store(&self->fence, fence);
    atomic_fetch_add(&self->grants, 1);
    atomic_fetch_add(&shared->grants, 1);
    atomic_store(&self->state, HOLDING);
}

static void leave(board *shared, int number)
{
    int self = number;

    atomic_compare_exchange_strong(&shared->inside, &self, 0);
}

static void stay_if_asked(board *shared, int number)
{
    if (!atomic_exchange(&shared->stay, false))
        return;
    atomic_store(&shared->staying, number);
    while (!atomic_load(&shared->stop))
        sleep_ms(FRAME_MS);
}

static lk_status work(board *shared, int number, lk_lock *lock)
{
    worker *self = &shared->workers[number - 1];
    lk_status status = LK_OK;

    while (!atomic_load(&shared->stop)) {
        lk_hold *hold;

        atomic_store(&self->state, WAITING);
        status = lk_lock_acquire(lock, PATIENCE_MS, NULL, &hold);
        if (status == LK_OK) {
            enter(shared, number, hold);
            stay_if_asked(shared, number);
            leave(shared, number);
            status = lk_hold_release(hold);
        }
        if (status != LK_OK && status != LK_ELOST &&
            !lk_status_is_retriable(status))
            return status;
    }
    return LK_OK;
}

/*
 * The client is opened after the fork: a parent's client is of no use here.
 * The lease is that of the watchdog, which renews it while the process lives.
 */
int worker_run(board *shared, int number)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .name = "demo",
                                       .watchdog_ms = LEASE_MS};
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_status status;

    status = lk_client_open(&client, shared->url, &options);
    if (status == LK_OK)
        status = lk_client_wait_ready(client, PATIENCE_MS);
    if (status == LK_OK)
        status = lk_lock_new(&lock, client, "demo", NULL);
    if (status == LK_OK)
        status = work(shared, number, lock);
    if (status != LK_OK) {
        atomic_store(&shared->workers[number - 1].state, FAILED);
        fprintf(stderr, "worker %d: %s (%s)\n", number, lk_status_text(status),
                lk_last_error());
    }
    lk_lock_free(lock);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
