/* SPDX-License-Identifier: MIT */

/*
 * A cache that many processes read. Whoever finds it stale rebuilds it under
 * the write lock and reads on under the read lock that this becomes.
 */

#include <latchkey/rwlock.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/clock.h"
#include "cli/demo/demo.h"

enum { READERS = 6, READ_MS = 24, PAUSE_MS = 5 };

/* ---- a reader ----------------------------------------------------------- */

static bool is_stale(const demo_cache *cache)
{
    return atomic_load(&cache->version) < atomic_load(&cache->wanted);
}

/* A page of numbers that are all the same, unless it is being written. */
static bool page_is_whole(const demo_cache *cache)
{
    const uint64_t first = atomic_load(&cache->page[0]);

    for (int i = 1; i < DEMO_PAGE; i++) {
        if (atomic_load(&cache->page[i]) != first)
            return false;
    }
    return true;
}

static void serve(demo_stage *stage, int self, const lk_hold *hold)
{
    demo_cache *cache = &stage->cache;

    demo_enter(stage, self, hold);
    demo_become(stage, self, DEMO_INSIDE);
    demo_raise(&cache->most, demo_inside(stage, true));
    for (int half = 0; half < 2; half++) {
        const bool is_early = atomic_load(&cache->writing_until) > demo_now();
        const bool is_torn = !page_is_whole(cache);

        /* Still valid: so it was when it saw that. */
        if (lk_hold_check(hold) != LK_OK)
            break;
        atomic_fetch_add(&cache->intruders, is_early);
        atomic_fetch_add(&cache->torn, is_torn);
        cli_pass_ms(READ_MS / 2);
    }
    atomic_fetch_add(&stage->actors[self].done, 1);
    demo_leave(stage, self);
    demo_become(stage, self, DEMO_IDLE);
}

/* ---- the same as a writer ----------------------------------------------- */

static void renew_claim(demo_cache *cache, const lk_hold *hold)
{
    const uint64_t now = demo_now();

    atomic_store(&cache->writing_until,
                 now + lk_hold_remaining_ms(hold) * 1000000);
}

/* Slowly, so that a reader who came too early would see it. False: lost. */
static bool write_page(demo_board *board, const lk_hold *hold)
{
    const uint64_t pause = board->is_quick ? 2 : 8;
    demo_cache *cache = &board->stage.cache;
    const uint64_t version = atomic_load(&cache->wanted);

    for (int i = 0; i < DEMO_PAGE; i++) {
        bool has_readers;

        renew_claim(cache, hold);
        has_readers = demo_inside(&board->stage, true) > 0;
        if (lk_hold_check(hold) != LK_OK)
            return false;
        atomic_fetch_add(&cache->intruders, has_readers);
        atomic_store(&cache->page[i], version);
        cli_pass_ms(pause);
    }
    atomic_store(&cache->version, version);
    atomic_fetch_add(&cache->built[version], 1);
    return true;
}

/* Another process may have rebuilt it while this one waited. */
static lk_status
rebuild(demo_board *board, int self, lk_rwlock *lock, lk_hold **ret_hold)
{
    demo_stage *stage = &board->stage;
    lk_hold *hold;
    lk_status status =
        lk_rwlock_acquire_write(lock, DEMO_PATIENCE_MS, NULL, &hold);

    if (status != LK_OK)
        return status;
    if (is_stale(&stage->cache)) {
        demo_become(stage, self, DEMO_WRITING);
        atomic_store(&stage->cache.builder, self + 1);
        (void)write_page(board, hold);
        atomic_store(&stage->cache.writing_until, 0);
    }
    status = lk_rwlock_downgrade(hold);
    if (status == LK_OK)
        *ret_hold = hold;
    else
        (void)lk_hold_release(hold);
    return status;
}

static lk_status answer_request(demo_board *board, int self, lk_rwlock *lock)
{
    demo_stage *stage = &board->stage;
    lk_hold *hold;
    lk_status status;

    demo_become(stage, self, DEMO_WAITING);
    status = lk_rwlock_acquire_read(lock, DEMO_PATIENCE_MS, NULL, &hold);
    if (status == LK_OK && is_stale(&stage->cache)) {
        (void)lk_hold_release(hold);
        status = rebuild(board, self, lock, &hold);
    }
    if (status != LK_OK)
        return status;
    serve(stage, self, hold);
    return lk_hold_release(hold);
}

static lk_status play(demo_board *board, int self, lk_client *client)
{
    lk_rwlock *lock = NULL;
    lk_status status = lk_rwlock_new(&lock, client, "demo:cache", NULL);

    while (status == LK_OK && !atomic_load(&board->stage.stop)) {
        status = answer_request(board, self, lock);
        if (status == LK_ELOST)
            status = LK_OK;
        cli_pass_ms(PAUSE_MS * (1 + (uint64_t)self));
    }
    lk_rwlock_free(lock);
    return status;
}

/* ---- the plot ----------------------------------------------------------- */

/* d->step: twice the versions built, and one more while one is wanted. */
static bool direct(demo *d)
{
    demo_cache *cache = &d->board->stage.cache;
    const bool is_quick = d->board->is_quick;
    const uint64_t version = atomic_load(&cache->version);
    const uint64_t next = version + 1;
    const uint64_t last = is_quick ? 2 : DEMO_VERSIONS - 1;
    const uint64_t at = (next - 1) * (is_quick ? 250 : 1500);
    const bool is_due = demo_scene_ms(d) >= at;

    if (d->step % 2 != 0 && version == atomic_load(&cache->wanted)) {
        demo_tell(d, "reader %d has rebuilt it; all read on",
                  atomic_load(&cache->builder));
        d->step++;
    } else if (d->step % 2 == 0 && is_due && next <= last) {
        demo_tell(d, next == 1 ? "the cache is empty"
                               : "the cache is out of date, and all see it");
        atomic_store(&cache->wanted, next);
        d->step++;
    }
    return d->step % 2 == 0 && next > last && is_due;
}

static uint64_t requests(const demo *d)
{
    uint64_t sum = 0;

    for (int i = 0; i < READERS; i++)
        sum += atomic_load(&d->board->stage.actors[i].done);
    return sum;
}

static void status(const demo *d, char *text, size_t size)
{
    const demo_cache *cache = &d->board->stage.cache;

    (void)snprintf(text, size,
                   "%" PRIu64 " requests, up to %d read at once, version "
                   "%" PRIu64,
                   requests(d), atomic_load(&cache->most),
                   (uint64_t)atomic_load(&cache->version));
}

static bool each_was_built_once(const demo_cache *cache)
{
    const uint64_t last = atomic_load(&cache->version);

    for (uint64_t version = 1; version <= last; version++) {
        if (atomic_load(&cache->built[version]) != 1)
            return false;
    }
    return last > 0;
}

static void judge(demo *d)
{
    const demo_cache *cache = &d->board->stage.cache;
    const uint64_t intruders = atomic_load(&cache->intruders);
    const uint64_t torn = atomic_load(&cache->torn);

    demo_check(d, intruders == 0 && torn == 0,
               "nobody read while it was rebuilt (readers seen: %" PRIu64
               ", torn pages: %" PRIu64 ")",
               intruders, torn);
    demo_check(d, each_was_built_once(cache),
               "each of the %" PRIu64 " versions was built once, though all "
               "saw the need",
               (uint64_t)atomic_load(&cache->version));
    demo_check(d, atomic_load(&cache->most) > 1,
               "readers read side by side (up to %d at once)",
               atomic_load(&cache->most));
}

const demo_scene demo_scene_cache = {
    .title = "A cache that all read and one rebuilds",
    .about = "6 processes read under the read lock. The one that finds the "
             "cache stale takes\nthe write lock, looks again, rebuilds, and "
             "downgrades to "
             "reading.",
    .legend = "(. waits  # reads  W rebuilds)\n",
    .actor = "reader",
    .unit = "requests",
    .actors = READERS,
    .play = play,
    .direct = direct,
    .status = status,
    .judge = judge,
};
