/* SPDX-License-Identifier: MIT */

/* The client on a virtual clock: renewals that fail. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

enum {
    NAMES = 1000,
    WATCHDOG_MS = 600000,
    HANDED_MS = 3000, /* the lease of what was handed over */
    SEEDS = 100,
    LEASE_MS = 1000,
    REFUSED_MS = 800,
    PAUSE_MS = LEASE_MS / 8,
    ANSWER_MS = 10,
    FIXED_MS = 10000,
    HELD_UP_MS = 1000,
    LOOKS = 64 /* at the clock, more than a renewal takes */
};

static played *play(uint64_t seed)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = LEASE_MS};

    return played_new(seed, &options);
}

/* The pauses grow, but never so long that the lease ends in one of them. */
CHECK_TEST(a_short_lease_outlives_refusals_nearly_as_long)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        played *p = play(seed);
        lk_hold *hold = NULL;

        assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
        played_run_ms(p, 100);
        played_renew_so(p, "-ERR not now\r\n");
        played_run_ms(p, REFUSED_MS - 100);
        assert_in_range(p->counts[PLAYED_RENEW], 3, 50);
        played_renew_so(p, NULL);
        played_run_ms(p, PAUSE_MS + 10);
        assert_true(lk_hold_remaining_ms(hold) > LEASE_MS / 2);
        assert_status(lk_hold_release(hold), LK_OK);
        played_free(p);
    }
}

/* Whenever its key went: a renewal is due within a third of the lease, and takes
   no more than its answer. */
CHECK_TEST(what_was_deleted_is_lost_within_a_third_of_the_lease)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        played *p = play(seed);
        lk_hold *hold = NULL;

        assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
        played_run_ms(p, seed * 7);
        p->answers[PLAYED_RENEW] = "*2\r\n:1\r\n*2\r\n:1\r\n:0\r\n";
        p->answers[PLAYED_CONFIRM] = PLAYED_LOST("0");
        assert_status(lk_hold_check(hold), LK_OK);
        played_run_ms(p, LEASE_MS / 3 + ANSWER_MS);
        assert_status(lk_hold_check(hold), LK_ELOST);
        assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
        assert_status(lk_hold_release(hold), LK_ELOST);
        played_free(p);
    }
}

/* ---- a process that is held up -------------------------------------------------- */

/* What is left of it is counted, and asked for later. */
CHECK_TEST(a_fixed_lease_is_believed_no_longer_than_it_was_named)
{
    const lk_acquire_options fixed = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = FIXED_MS};

    for (unsigned looks = 1; looks <= LOOKS; looks++) {
        played *p = played_new(looks, NULL);
        call c = {0};
        uint64_t granted;

        p->is_held = true;
        assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, &fixed,
                                            call_on_acquire, &c),
                      LK_OK);
        played_run_ms(p, ANSWER_MS);
        played_grant(p, p->ticket, 5000, HANDED_MS);
        played_run_ms(p, 1);
        granted = played_now_ms(p);
        sim_process_hold_up(&p->world->process, HELD_UP_MS * FAKE_MS, looks);
        played_run_ms(p, 2 * (uint64_t)HELD_UP_MS);
        assert_int_equal(p->counts[PLAYED_RENEW], 1);
        assert_status(call_wait(&c, NULL), LK_OK);
        assert_in_range(lk_hold_remaining_ms(c.hold), FIXED_MS / 2,
                        granted + FIXED_MS - played_now_ms(p));
        assert_status(lk_hold_release(c.hold), LK_OK);
        played_free(p);
    }
}

/* ---- many at once -------------------------------------------------------------- */

/* A wait for a name of its own, and what the server knows of it. */
typedef struct wait {
    lk_lock *lock;
    call call;
    char owner[80];
    char nonce[20];
} wait;

static void queue_up(played *p, wait *w, int number)
{
    unsigned before = p->counts[PLAYED_ACQUIRE];
    char name[16];

    (void)snprintf(name, sizeof(name), "n%d", number);
    assert_status(lk_lock_new(&w->lock, p->client, name, NULL), LK_OK);
    assert_status(lk_lock_acquire_async(w->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &w->call),
                  LK_OK);
    while (p->counts[PLAYED_ACQUIRE] == before)
        assert_true(fake_world_step(p->world));
    (void)memcpy(w->owner, p->owner, sizeof(w->owner));
    (void)memcpy(w->nonce, p->nonce, sizeof(w->nonce));
}

static void hand_over(played *p, const wait *w, int number)
{
    char text[320];

    (void)snprintf(text, sizeof(text), "grant 0 lock %s %s 7 5000 0 %d n%d",
                   w->owner, w->nonce, HANDED_MS, number);
    played_publish(p, text);
}

/* However long the watchdog's lease is, that of a hold that was handed over is short:
   so many batches are under way as all of them need to be answered in time. */
CHECK_TEST(holds_that_were_handed_over_at_once_are_all_renewed)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = WATCHDOG_MS};
    played *p = played_new(1, &options);
    wait *waits = calloc(NAMES, sizeof(*waits));
    lk_hold *hold = NULL;

    assert_non_null(waits);
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(p, 100);
    p->answers[PLAYED_ACQUIRE] = PLAYED_QUEUED("-1", "7", "0");
    p->world->path->ns[SIM_THERE] = 1;
    p->world->path->ns[SIM_BACK] = 1;
    for (int i = 0; i < NAMES; i++)
        queue_up(p, &waits[i], i);
    played_run_ms(p, 1);
    for (int i = 0; i < NAMES; i++)
        hand_over(p, &waits[i], i);
    played_run_ms(p, 1);
    assert_int_equal(played_stats(p).holding, 1 + NAMES);
    played_ways(p, 250, 250);
    played_run_ms(p, HANDED_MS);
    assert_int_equal(played_stats(p).losses, 0);
    for (int i = 0; i < NAMES; i++) {
        assert_true(lk_hold_remaining_ms(waits[i].call.hold) > WATCHDOG_MS / 2);
        assert_status(lk_hold_release_async(waits[i].call.hold, NULL, NULL),
                      LK_OK);
        lk_lock_free(waits[i].lock);
    }
    played_run_ms(p, 1000);
    assert_status(lk_hold_release(hold), LK_OK);
    free(waits);
    played_free(p);
}
