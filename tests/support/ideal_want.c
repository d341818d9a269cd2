/* SPDX-License-Identifier: MIT */

/* How they ask for one, and what needs none; see ideal_inside.h. */

#include "support/ideal_inside.h"

/* ---- wanting ---- */

static void refused(ideal *w, ideal_actor *a, uint64_t operation)
{
    if (!a->waits || a->call.operation != operation)
        return;
    a->waits = false;
    ideal_ended(w, a, HISTORY_FAIL, LK_EBUSY);
    ideal_rest(w, a);
}

static void seen(ideal *w, ideal_actor *a, uint64_t operation)
{
    history_event event = a->call;

    if (!a->waits || a->call.operation != operation)
        return;
    event.phase = HISTORY_EVENT;
    event.call = HISTORY_QUEUED;
    ideal_says(w, event);
}

/* An acquire reaches the server. */
static void asks(ideal *w, ideal_actor *a, uint64_t operation)
{
    ideal_name *n = a->at;
    const ideal_seat wish = {.actor = a,
                             .operation = operation,
                             .lease_ms = a->lease_ms,
                             .count = a->call.count,
                             .mode = a->mode};

    if (a->call.operation != operation || (!a->waits && !a->dead))
        return;
    if (n->queued == 0 && ideal_fits(n, &wish)) {
        ideal_grant(w, n, wish);
    } else if (a->call.deadline == 0) {
        ideal_plan(w, w->now + ideal_travel(w), refused, a, false, operation);
    } else {
        n->seats[n->held + n->queued++] = wish;
        ideal_plan(w, w->now + ideal_travel(w), seen, a, false, operation);
    }
}

static void out_of_time(ideal *w, ideal_actor *a, uint64_t operation)
{
    if (!a->waits || a->call.operation != operation)
        return;
    a->waits = false;
    if (ideal_draw(w, 10) == 0) {
        ideal_plan(w, w->now + 1, ideal_frees, a, true, operation);
        ideal_ended(w, a, HISTORY_UNKNOWN, LK_EINDOUBT);
    } else {
        ideal_frees(w, a, operation);
        ideal_ended(w, a, HISTORY_FAIL, LK_ETIMEDOUT);
    }
    ideal_rest(w, a);
}

static history_mode mode_of(ideal *w, const ideal_name *n)
{
    if (n->kind == HISTORY_RWLOCK)
        return ideal_draw(w, 3) == 0   ? HISTORY_WRITER
               : ideal_draw(w, 3) == 0 ? HISTORY_UPGRADEABLE
                                       : HISTORY_READ;
    if (n->kind == HISTORY_SEMAPHORE || n->kind == HISTORY_PLAIN)
        return HISTORY_PERMITS;
    return HISTORY_EXCLUSIVE;
}

void ideal_want(ideal *w, ideal_actor *a)
{
    history_event event;

    a->mode = mode_of(w, a->at);
    a->lease_ms = 40 + ideal_draw(w, 60);
    a->renewed = ideal_draw(w, 2) == 0;
    event = ideal_begin(w, a, HISTORY_ACQUIRE);
    event.lease_ms = a->lease_ms;
    event.flags = HISTORY_WATCHED | (a->renewed ? HISTORY_RENEWED : 0U);
    event.count = a->mode == HISTORY_PERMITS ? 1 + ideal_draw(w, 2) : 0;
    if (ideal_draw(w, 4) != 0)
        event.deadline = w->now + (1 + ideal_draw(w, 300)) * IDEAL_MS;
    a->waits = true;
    ideal_begun(w, a, event);
    ideal_send(w, asks, a, event.operation);
    if (event.deadline != 0)
        ideal_plan(w, event.deadline, out_of_time, a, false, event.operation);
}

/* ---- plain permits and latches ---- */

void ideal_give(ideal *w, ideal_actor *a)
{
    history_event event;

    a->mode = HISTORY_PERMITS;
    event = ideal_begin(w, a, HISTORY_GIVE);
    event.count = 1;
    ideal_begun(w, a, event);
    a->plain--;
    a->at->taken--;
    ideal_serve(w, a->at);
    ideal_ended(w, a, HISTORY_OK, LK_OK);
    ideal_rest(w, a);
}

static void
one_call(ideal *w, ideal_actor *a, history_call what, uint64_t count)
{
    history_event event = ideal_begin(w, a, what);

    event.count = count;
    ideal_begun(w, a, event);
}

static void passes(ideal *w, ideal_actor *a, uint64_t detail)
{
    (void)detail;
    if (a->at->armed && a->at->counted >= a->at->size)
        ideal_ended(w, a, HISTORY_OK, LK_OK);
    else if (w->now < a->call.deadline) {
        ideal_later(w, IDEAL_MS, passes, a);
        return;
    } else
        ideal_ended(w, a, HISTORY_FAIL, LK_ETIMEDOUT);
    ideal_rest(w, a);
}

static void count(ideal *w, ideal_actor *a)
{
    one_call(w, a, HISTORY_COUNT, 1);
    if (a->at->armed && a->at->counted < a->at->size)
        a->at->counted++;
    if (a->at->armed)
        ideal_ended(w, a, ideal_draw(w, 8) == 0 ? HISTORY_UNKNOWN : HISTORY_OK,
                    LK_OK);
    else
        ideal_ended(w, a, HISTORY_FAIL, LK_EUNSET);
    ideal_rest(w, a);
}

static void arm(ideal *w, ideal_actor *a, history_call what)
{
    uint64_t size = 1 + ideal_draw(w, 5);

    one_call(w, a, what, size);
    if (what == HISTORY_ARM && a->at->armed) {
        ideal_ended(w, a, HISTORY_FAIL, LK_EALREADY);
    } else {
        a->at->armed = what != HISTORY_DELETE;
        a->at->size = size;
        a->at->counted = 0;
        ideal_ended(w, a, HISTORY_OK, LK_OK);
    }
    ideal_rest(w, a);
}

static void ask_latch(ideal *w, ideal_actor *a)
{
    const ideal_name *n = a->at;

    one_call(w, a, HISTORY_ASK, n->armed ? n->size - n->counted : 0);
    ideal_ended(w, a, n->armed ? HISTORY_OK : HISTORY_FAIL,
                n->armed ? LK_OK : LK_EUNSET);
    ideal_rest(w, a);
}

void ideal_use_latch(ideal *w, ideal_actor *a)
{
    history_event event;

    switch (ideal_draw(w, 8)) {
    case 0:
        arm(w, a, HISTORY_ARM);
        break;
    case 1:
        arm(w, a, ideal_draw(w, 3) == 0 ? HISTORY_DELETE : HISTORY_RESET);
        break;
    case 2:
        ask_latch(w, a);
        break;
    case 3:
    case 4:
        event = ideal_begin(w, a, HISTORY_ACQUIRE);
        event.deadline = w->now + (1 + ideal_draw(w, 200)) * IDEAL_MS;
        ideal_begun(w, a, event);
        ideal_later(w, 1, passes, a);
        break;
    default:
        count(w, a);
    }
}

/* Permits that are free are asked for at the server, in one step. */
void ideal_ask_permits(ideal *w, ideal_actor *a)
{
    uint64_t free_ones = a->at->permits - a->at->taken;

    for (size_t i = 0; i < a->at->held; i++)
        free_ones -= a->at->seats[i].count;
    one_call(w, a, HISTORY_ASK, free_ones);
    ideal_ended(w, a, HISTORY_OK, LK_OK);
    ideal_rest(w, a);
}
