/* SPDX-License-Identifier: MIT */

/* One hot lock, handed from process to process as fast as it goes. */

#include <latchkey/lock.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/demo/demo.h"

enum { RUNNERS = 4 };

/* ---- a runner ----------------------------------------------------------- */

/*
 * Under the lock. The count is read and written apart, so that two at once
 * would lose a turn.
 */
static void take_turn(demo_baton *baton, int self, const lk_hold *hold)
{
    const uint64_t turns = atomic_load(&baton->turns);
    const uint64_t fence = lk_hold_fence(hold);
    const int last = atomic_exchange(&baton->last, self + 1);

    if (last != 0 && last != self + 1)
        atomic_fetch_add(&baton->handovers, 1);
    if (atomic_exchange(&baton->fence, fence) >= fence)
        atomic_fetch_add(&baton->old_fences, 1);
    atomic_store(&baton->turns, turns + 1);
}

static lk_status play(demo_board *board, int self, lk_client *client)
{
    demo_stage *stage = &board->stage;
    demo_actor *actor = &stage->actors[self];
    lk_lock *lock = NULL;
    lk_status status = lk_lock_new(&lock, client, "demo:baton", NULL);

    demo_become(stage, self, DEMO_WAITING);
    while (status == LK_OK && !atomic_load(&stage->stop)) {
        lk_hold *hold;

        status = lk_lock_acquire(lock, DEMO_PATIENCE_MS, NULL, &hold);
        if (status == LK_OK && lk_hold_check(hold) == LK_OK) {
            take_turn(&stage->baton, self, hold);
            atomic_fetch_add(&actor->done, 1);
        }
        if (status == LK_OK)
            status = lk_hold_release(hold);
    }
    lk_lock_free(lock);
    return status;
}

/* ---- the plot ----------------------------------------------------------- */

static uint64_t run_ms(const demo *d)
{
    return d->board->is_quick ? 300 : 5000;
}

static double rate(uint64_t handovers, uint64_t ms)
{
    return ms > 0 ? (double)handovers * 1e3 / (double)ms : 0;
}

static bool direct(demo *d)
{
    const demo_baton *baton = &d->board->stage.baton;
    const uint64_t ms = demo_scene_ms(d);
    const uint64_t handovers = atomic_load(&baton->handovers);

    if (ms >= run_ms(d) && d->step == 0) {
        d->step = 1;
        demo_tell(d, "%.0f hand-overs a second from one process to another",
                  rate(handovers, ms));
    }
    return d->step == 1;
}

static void status(const demo *d, char *text, size_t size)
{
    const uint64_t handovers = atomic_load(&d->board->stage.baton.handovers);

    (void)snprintf(text, size,
                   "%" PRIu64 " hand-overs from one process to another",
                   handovers);
}

static void judge(demo *d)
{
    const demo_baton *baton = &d->board->stage.baton;
    const uint64_t turns = atomic_load(&baton->turns);
    uint64_t sum = 0;

    for (int i = 0; i < RUNNERS; i++)
        sum += atomic_load(&d->board->stage.actors[i].done);
    demo_check(d, turns == sum && sum > 0,
               "what it guards counts each turn once (%" PRIu64
               " counted, %" PRIu64 " taken)",
               turns, sum);
    demo_check(d, atomic_load(&baton->old_fences) == 0,
               "each fence was larger than the one before");
}

const demo_scene demo_scene_baton = {
    .title = "A hot lock",
    .about = "4 processes want one lock, all the time. Its release hands it "
             "to the next one\nin line, in the server, in one step.",
    .legend = "",
    .actor = "runner",
    .unit = "turns",
    .actors = RUNNERS,
    .has_bars = true,
    .play = play,
    .direct = direct,
    .status = status,
    .judge = judge,
};
