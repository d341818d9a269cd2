/* SPDX-License-Identifier: MIT */

/* A hold, from its acquire to its release. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fault/hand.h"

enum { MS = 1000000, STAY_STEPS = 600 };

/* Until when the hold is valid, as it says now; 0: it does not. With failovers
   it says how long its lease is, which may be longer. */
static uint64_t deadline_of(const grip *g, uint64_t now)
{
    uint64_t left =
        g->hand->worker->has_failovers ? 0 : lk_hold_remaining_ms(g->hold);

    return left > 0 ? now + left * MS : 0;
}

/* ---- what is done with a hold ---- */

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    const grip *g = data;
    history_event event = play_event(g->name, HISTORY_EVENT, HISTORY_LOST);

    if (remaining_ms > 0)
        return;
    event.at = history_now();
    event.deadline = event.at - lk_hold_lost_for_ms(hold) * MS;
    event.hold = g->id;
    event.owner = g->hand->owner;
    (void)atomic_fetch_add(&g->hand->worker->shared->losses, 1);
    hand_put(g->hand->worker, &event);
}

bool grip_check(const grip *g)
{
    history_event event = play_event(g->name, HISTORY_EVENT, HISTORY_CHECKED);

    event.at = history_now();
    if (lk_hold_check(g->hold) != LK_OK)
        return false;
    event.deadline = deadline_of(g, event.at);
    event.hold = g->id;
    event.owner = g->hand->owner;
    hand_put(g->hand->worker, &event);
    return true;
}

static lk_status write_number(const grip *g)
{
    _Atomic uint64_t *guarded = &g->hand->worker->shared->written[g->name];
    uint64_t before = atomic_load(guarded);

    while (before <= g->fence &&
           !atomic_compare_exchange_weak(guarded, &before, g->fence))
        ;
    return before <= g->fence ? LK_OK : LK_ESTALE;
}

static bool is_fenced(const grip *g)
{
    return g->fence != 0 && g->mode != HISTORY_READ &&
           g->mode != HISTORY_UPGRADEABLE && g->mode != HISTORY_PERMITS;
}

static void away_count(const grip *g, lk_status status)
{
    play_shared *shared = g->hand->worker->shared;

    if (!g->hand->worker->has_away[g->name])
        return;
    if (status == LK_OK)
        (void)atomic_fetch_add(&shared->away_made, 1);
    else if (status == LK_ESTALE)
        (void)atomic_fetch_add(&shared->away_refused, 1);
}

static history_event write_begin(const grip *g)
{
    history_event event = hand_begin(g->hand, g->name, HISTORY_WRITE);
    const worker *w = g->hand->worker;

    event.fence = g->fence;
    if (w->has_away[g->name]) {
        play_epoch_text(g->name, atomic_load(&w->shared->epoch), event.name);
        event.key = history_key(event.name, 0);
    }
    return event;
}

void grip_write(const grip *g)
{
    history_event event = write_begin(g);
    lk_cell *cell = g->hand->worker->cells[g->name];
    lk_status status;

    if (!is_fenced(g))
        return;
    hand_put(g->hand->worker, &event);
    if (cell == NULL)
        status = write_number(g);
    else
        status =
            lk_cell_write_guarded(cell, g->hold, LK_CELL_ANY, "x", 1, NULL);
    away_count(g, status);
    hand_ended(g->hand, event, hand_phase_of(status), status);
}

static void extend(grip *g)
{
    history_event event = hand_begin(g->hand, g->name, HISTORY_EXTEND);
    const int64_t most = play_names[g->name].kind == HISTORY_REDLOCK
                             ? PLAY_NODE_MS
                             : PLAY_COMMAND_MS;
    lk_status status;

    event.hold = g->id;
    event.lease_ms = 200 + play_draw(&g->hand->random, 800);
    hand_begun(g->hand, &event, most);
    status = lk_hold_extend(g->hold, event.lease_ms);
    if (status != LK_ELOST && event.lease_ms > g->lease_ms)
        g->lease_ms = event.lease_ms;
    hand_ended(g->hand, event, hand_phase_of(status), status);
}

static void downgrade(grip *g)
{
    history_event event = hand_begin(g->hand, g->name, HISTORY_DOWNGRADE);
    lk_status status;

    event.hold = g->id;
    hand_begun(g->hand, &event, PLAY_COMMAND_MS);
    status = lk_rwlock_downgrade(g->hold);
    hand_ended(g->hand, event, hand_phase_of(status), status);
    if (status == LK_OK)
        g->mode = HISTORY_READ;
}

history_phase grip_release_phase(lk_status status)
{
    if (status == LK_OK)
        return HISTORY_OK;
    return status == LK_ELOST ? HISTORY_FAIL : HISTORY_UNKNOWN; /* it goes on */
}

void grip_release(const grip *g)
{
    history_event event = hand_begin(g->hand, g->name, HISTORY_RELEASE);
    const int64_t most = play_names[g->name].kind == HISTORY_REDLOCK
                             ? PLAY_NODE_MS
                             : PLAY_COMMAND_MS;
    lk_status status;

    event.hold = g->id;
    event.mode = (uint8_t)g->mode;
    hand_begun(g->hand, &event, most);
    status = lk_hold_release(g->hold);
    hand_ended(g->hand, event, grip_release_phase(status), status);
}

/* ---- acquiring ---- */

/* Two of three keys, which have three stripes: any two who want such have one in
   common, so they exclude each other. */
static lk_status acquire_two(lk_stripes *stripes, const history_event *event,
                             int64_t wait_ms, const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    static const char *const keys[] = {"a", "b", "c", "a", "c", "b", "a"};

    return lk_stripes_acquire_many(stripes, keys + event->operation % 6, 2,
                                   wait_ms, options, ret_hold);
}

static lk_status ask(const grip *g, const history_event *event, int64_t wait_ms,
                     const lk_acquire_options *options, lk_hold **ret_hold)
{
    void *handle =
        g->handle != NULL ? g->handle : g->hand->worker->handles[g->name];

    switch (play_names[g->name].kind) {
    case HISTORY_LOCK:
        return lk_lock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_FAIRLOCK:
        return lk_fairlock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_SEMAPHORE:
        return lk_semaphore_acquire(handle, event->count, wait_ms, options,
                                    ret_hold);
    case HISTORY_REDLOCK:
        return lk_redlock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_SIGLOCK:
        return lk_siglock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_RWLOCK:
        if (event->mode == HISTORY_READ)
            return lk_rwlock_acquire_read(handle, wait_ms, options, ret_hold);
        if (event->mode == HISTORY_UPGRADEABLE)
            return lk_rwlock_acquire_upgradeable(handle, wait_ms, options,
                                                 ret_hold);
        return lk_rwlock_acquire_write(handle, wait_ms, options, ret_hold);
    case HISTORY_LEADER:
        return lk_leader_campaign(handle, wait_ms, options, ret_hold);
    case HISTORY_MULTILOCK:
        return lk_multilock_acquire(handle, wait_ms, options, ret_hold);
    case HISTORY_STRIPES:
        return acquire_two(handle, event, wait_ms, options, ret_hold);
    case HISTORY_NO_KIND:
    case HISTORY_PLAIN:
    case HISTORY_LATCH:
    case HISTORY_FLIGHT:
    case HISTORY_KINDS:
    default:
        return LK_EINVAL;
    }
}

history_mode grip_draw_mode(hand *h, unsigned name)
{
    if (play_names[name].kind == HISTORY_SEMAPHORE)
        return HISTORY_PERMITS;
    if (play_names[name].kind != HISTORY_RWLOCK)
        return HISTORY_EXCLUSIVE;
    switch (play_draw(&h->random, 6)) {
    case 0:
    case 1:
        return HISTORY_WRITER;
    case 2:
        return HISTORY_UPGRADEABLE;
    default:
        return HISTORY_READ;
    }
}

static void got(grip *g, history_event event)
{
    uint64_t now = history_now();

    event.phase = HISTORY_OK;
    event.status = LK_OK;
    event.hold = g->id = event.operation;
    event.fence = g->fence = lk_hold_fence(g->hold);
    event.deadline = deadline_of(g, now);
    event.at = now;
    (void)atomic_fetch_add(&g->hand->worker->shared->grants[g->name], 1);
    if (!g->is_again && play_names[g->name].kind != HISTORY_REDLOCK)
        (void)atomic_fetch_add(&g->hand->worker->shared->asked, 1);
    hand_put(g->hand->worker, &event);
    if (lk_hold_on_lost(g->hold, 0, on_lost, g) != LK_OK)
        abort();
}

grip grip_new(hand *h, unsigned name, history_mode mode, const grip *first)
{
    grip g = {.hand = h, .name = name, .mode = mode};

    if (first != NULL && first->mode == mode) {
        g.lease_ms = first->lease_ms;
        g.is_renewed = first->is_renewed;
    } else if (play_draw(&h->random, 2) == 0) {
        g.lease_ms = 200 + play_draw(&h->random, 800);
    } else {
        g.lease_ms = h->worker->watchdog_ms;
        g.is_renewed = true;
    }
    return g;
}

bool grip_acquire(grip *g, int64_t wait_ms)
{
    hand *h = g->hand;
    history_event event = hand_begin(h, g->name, HISTORY_ACQUIRE);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    char reason[32];
    lk_status status;

    (void)snprintf(reason, sizeof(reason), "%" PRIu64, event.operation);
    options.reason = reason; /* by which it is known in the queue */
    options.lease_ms = g->is_renewed ? 0 : g->lease_ms;
    event.lease_ms = g->lease_ms;
    event.flags = HISTORY_WATCHED | (g->is_renewed ? HISTORY_RENEWED : 0U);
    event.mode = (uint8_t)g->mode;
    if (g->mode == HISTORY_PERMITS)
        event.count = 1 + play_draw(&h->random, 2);
    hand_begun(h, &event, hand_longest(g->name, wait_ms));
    status = ask(g, &event, wait_ms, &options, &g->hold);
    if (status == LK_OK)
        got(g, event);
    else
        hand_ended(h, event, hand_phase_of(status), status);
    return status == LK_OK;
}

/* Again what this thread has: the same, or to write above its reads. */
static void enter(hand *h, const grip *outer)
{
    const history_kind kind = play_names[outer->name].kind;
    const bool upgrades = outer->mode == HISTORY_UPGRADEABLE;
    grip inner;

    if (kind != HISTORY_LOCK && kind != HISTORY_FAIRLOCK && !upgrades)
        return;
    inner = grip_new(h, outer->name,
                     upgrades ? HISTORY_WRITER : HISTORY_EXCLUSIVE, outer);
    inner.is_again = true;
    if (!grip_acquire(&inner, 300))
        return;
    hand_work(h, 3000);
    if (grip_check(&inner))
        grip_write(&inner);
    grip_release(&inner);
}

/* For seconds, so that a master changes meanwhile. */
static void stay(hand *h, const grip *g)
{
    for (uint64_t steps = play_draw(&h->random, STAY_STEPS);
         steps > 0 && grip_check(g); steps--) {
        if (steps % 16 == 0)
            grip_write(g);
        hand_work(h, 20000);
    }
}

void grip_use(hand *h, grip *g)
{
    if (h->worker->has_failovers && play_draw(&h->random, 30) == 0)
        stay(h, g);
    for (uint64_t steps = play_draw(&h->random, 6); steps > 0; steps--) {
        if (grip_check(g))
            grip_write(g);
        hand_work(h, play_draw(&h->random, 20) == 0 ? 300000 : 3000);
        switch (play_draw(&h->random, 12)) {
        case 0:
            extend(g);
            break;
        case 1:
            enter(h, g);
            break;
        case 2:
            if (g->mode == HISTORY_WRITER)
                downgrade(g);
            break;
        default:
            break;
        }
    }
    (void)grip_check(g);
    grip_release(g);
    late_round(h, g->name);
}
