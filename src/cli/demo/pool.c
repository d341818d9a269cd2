/* SPDX-License-Identifier: MIT */

/* A worker pool held to a few at once; one of them is killed at work. */

#include <latchkey/semaphore.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/clock.h"
#include "cli/demo/demo.h"

enum {
    WORKERS = 8,
    PERMITS = 4,
    SLICE_MS = 20,
    /* The victim works for a fifth of a lease before it is killed. It would be
       renewed after a third, so less than a lease is left of it. */
    STAY_PART = 5,
    /* What a busy machine may add until the one who got it has noted it. */
    LATE_MS = 500
};

/* ---- a worker ----------------------------------------------------------- */

/* The one that sees that all permits are with the living after a kill notes when. */
static void look_about(demo_stage *stage)
{
    demo_pool *pool = &stage->pool;
    uint64_t never = 0;

    demo_raise(&pool->most, demo_inside(stage, true));
    if (atomic_load(&pool->killed_at) != 0 &&
        demo_inside(stage, false) == PERMITS)
        (void)atomic_compare_exchange_strong(&pool->back_at, &never,
                                             demo_now());
}

/* The work: until it is done, or the hold is lost, or the killer has come. */
static void work(demo_board *board, int self, const lk_hold *hold, uint64_t ms)
{
    demo_stage *stage = &board->stage;
    const bool stays = atomic_exchange(&stage->pool.stay, false);
    const uint64_t began = demo_now();
    uint64_t past = 0;

    while (past < ms || (stays && !atomic_load(&stage->stop))) {
        if (lk_hold_check(hold) != LK_OK)
            return;
        demo_enter(stage, self, hold);
        if (stays && past >= board->lease_ms / STAY_PART)
            atomic_store(&stage->pool.staying, self + 1);
        cli_pass_ms(SLICE_MS);
        past = (demo_now() - began) / 1000000;
    }
    atomic_fetch_add(&stage->actors[self].done, 1);
}

static lk_status
do_job(demo_board *board, int self, lk_semaphore *pool, uint64_t ms)
{
    demo_stage *stage = &board->stage;
    lk_hold *hold;
    lk_status status;

    demo_become(stage, self, DEMO_WAITING);
    status = lk_semaphore_acquire(pool, 1, DEMO_PATIENCE_MS, NULL, &hold);
    if (status != LK_OK)
        return status;
    demo_enter(stage, self, hold);
    demo_become(stage, self, DEMO_INSIDE);
    look_about(stage);
    work(board, self, hold, ms);
    demo_leave(stage, self);
    demo_become(stage, self, DEMO_IDLE);
    status = lk_hold_release(hold);
    /* A machine that stood still for a lease loses a hold, not the promise. */
    return status == LK_ELOST ? LK_OK : status;
}

static lk_status play(demo_board *board, int self, lk_client *client)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = PERMITS};
    demo_stage *stage = &board->stage;
    lk_semaphore *pool = NULL;
    lk_status status = lk_semaphore_new(&pool, client, "demo:pool", &options);

    for (uint64_t job = 0; status == LK_OK && !atomic_load(&stage->stop);
         job++) {
        const uint64_t ms = 200 + ((uint64_t)self * 131 + job * 97) % 400;

        status = do_job(board, self, pool, board->is_quick ? ms / 4 : ms);
    }
    lk_semaphore_free(pool);
    return status;
}

/* ---- the plot ----------------------------------------------------------- */

enum { WORKING, CHOOSING, KILLED, BACK };

static double since_kill(const demo *d)
{
    const demo_pool *pool = &d->board->stage.pool;

    return (double)(atomic_load(&pool->back_at) -
                    atomic_load(&pool->killed_at)) /
           1e9;
}

static void kill_one(demo *d, int victim)
{
    const uint64_t now = demo_now();

    demo_cast_kill(d, victim);
    atomic_store(&d->board->stage.pool.killed_at, now);
    demo_tell(d, "worker %d is killed (kill -9) in the middle of a job",
              victim + 1);
}

static bool direct(demo *d)
{
    demo_pool *pool = &d->board->stage.pool;
    const bool is_quick = d->board->is_quick;
    const int victim = atomic_load(&pool->staying) - 1;
    const uint64_t back_at = atomic_load(&pool->back_at);

    if (d->step == WORKING && demo_scene_ms(d) >= (is_quick ? 200 : 2500)) {
        atomic_store(&pool->stay, true);
        d->step = CHOOSING;
    } else if (d->step == CHOOSING && victim >= 0) {
        kill_one(d, victim);
        d->step = KILLED;
    } else if (d->step == KILLED && back_at != 0) {
        demo_tell(d, "its permit has come back by itself: %d work again",
                  PERMITS);
        d->step = BACK;
    }
    if (d->step == BACK)
        return demo_now() - back_at >=
               (is_quick ? 50U : 2000U) * UINT64_C(1000000);
    return atomic_load(&pool->most) > PERMITS;
}

static uint64_t jobs(const demo *d)
{
    uint64_t sum = 0;

    for (int i = 0; i < WORKERS; i++)
        sum += atomic_load(&d->board->stage.actors[i].done);
    return sum;
}

static void status(const demo *d, char *text, size_t size)
{
    (void)snprintf(text, size,
                   "%" PRIu64 " jobs done, at most %d at once, %d allowed",
                   jobs(d), atomic_load(&d->board->stage.pool.most), PERMITS);
}

static void judge(demo *d)
{
    const demo_pool *pool = &d->board->stage.pool;
    const int most = atomic_load(&pool->most);
    const double lease_ms = (double)d->board->lease_ms;
    const bool is_back = atomic_load(&pool->back_at) != 0;

    demo_check(d, most == PERMITS, "never more than %d at once (most: %d)",
               PERMITS, most);
    demo_check(d, is_back && since_kill(d) * 1e3 <= lease_ms + LATE_MS,
               "the killed worker's permit came back as its %.0f s lease "
               "ended (%.2f s)",
               lease_ms / 1e3, is_back ? since_kill(d) : 0.0);
}

const demo_scene demo_scene_pool = {
    .title = "A worker pool",
    .about = "8 processes want to work, 4 at a time: a semaphore of 4 permits."
             "\nThe permit of one that dies comes back when its lease ends.",
    .legend = "(. waits  # works  x is dead)\n",
    .actor = "worker",
    .unit = "jobs",
    .actors = WORKERS,
    .play = play,
    .direct = direct,
    .status = status,
    .judge = judge,
};
