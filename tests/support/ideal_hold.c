/* SPDX-License-Identifier: MIT */

/* What the processes of an ideal service do with a hold; see ideal_inside.h. */

#include "support/ideal_inside.h"

/* ---- a hold's life ---- */

static void step(ideal *w, ideal_actor *a, uint64_t detail);

void ideal_rest(ideal *w, ideal_actor *a)
{
    a->hold = 0;
    a->again = 0;
    ideal_later(w, IDEAL_MS + ideal_draw(w, UINT64_C(20) * IDEAL_MS),
                ideal_round_begins, a);
}

static uint64_t believed(const ideal_actor *a, uint64_t from)
{
    return from + a->lease_ms * IDEAL_MS / 100 * 99 - UINT64_C(2) * IDEAL_MS;
}

void ideal_is_told(ideal *w, ideal_actor *a, uint64_t hold)
{
    history_event event;

    if (a->hold != hold || a->told || a->call.call == HISTORY_RELEASE)
        return;
    if (a->believed_to > w->now && !a->forced) {
        ideal_plan(w, a->believed_to, ideal_is_told, a, false, hold);
        return;
    }
    a->told = true;
    event = ideal_event_of(a, HISTORY_EVENT, HISTORY_LOST);
    event.hold = hold;
    event.deadline = a->believed_to < w->now ? a->believed_to : w->now;
    ideal_says(w, event);
}

static void has_it(ideal *w, ideal_actor *a, uint64_t fence)
{
    history_event event = a->call;

    event.phase = HISTORY_OK;
    event.hold = a->hold = a->call.operation;
    event.fence = a->fence = fence;
    event.deadline = a->believed_to;
    a->told = a->forced = false;
    a->steps = (unsigned)ideal_draw(w, 5);
    ideal_says(w, event);
    ideal_plan(w, a->believed_to, ideal_is_told, a, false, a->hold);
    ideal_later(w, 1 + ideal_draw(w, UINT64_C(10) * IDEAL_MS), step, a);
}

void ideal_plain_arrives(ideal *w, ideal_actor *a, uint64_t detail)
{
    (void)detail;
    a->plain += a->call.count;
    ideal_ended(w, a, HISTORY_OK, LK_OK);
    ideal_rest(w, a);
}

/* A grant reaches its waiter. */
void ideal_arrives(ideal *w, ideal_actor *a, uint64_t detail)
{
    const uint64_t operation = detail & UINT32_MAX;
    const bool wanted = !a->dead && a->waits && a->call.operation == operation;

    if (a->stopped) {
        ideal_plan(w, a->goes_on_at + ideal_travel(w), ideal_arrives, a, true,
                   detail);
        return;
    }
    if (!wanted) {
        ideal_frees(w, a, operation);
        return;
    }
    a->waits = false;
    a->believed_to = believed(a, a->call.at);
    if (a->believed_to <= w->now) {
        ideal_send(w, ideal_frees, a, operation);
        ideal_ended(w, a, HISTORY_FAIL, LK_ETIMEDOUT);
        ideal_rest(w, a);
    } else {
        has_it(w, a, detail >> 32);
    }
}

static void released(ideal *w, ideal_actor *a, uint64_t detail)
{
    ideal_ended(w, a, (history_phase)detail,
                detail == HISTORY_OK ? LK_OK : LK_EINDOUBT);
    ideal_rest(w, a);
}

/* The server hears of a release, and answers. */
static void gives(ideal *w, ideal_actor *a, uint64_t operation)
{
    ideal_frees(w, a, operation);
    ideal_plan(w, w->now + ideal_travel(w), released, a, false, HISTORY_OK);
}

static void let_go(ideal *w, ideal_actor *a)
{
    const bool lost = a->told || a->believed_to <= w->now;
    history_event event;

    if (a->again != 0) {
        event = ideal_begin(w, a, HISTORY_RELEASE);
        event.hold = a->again;
        ideal_begun(w, a, event);
        ideal_ended(w, a, lost ? HISTORY_FAIL : HISTORY_OK,
                    lost ? LK_ELOST : LK_OK);
    }
    event = ideal_begin(w, a, HISTORY_RELEASE);
    event.hold = a->hold;
    ideal_begun(w, a, event);
    if (lost || a->believed_to <= w->now) {
        ideal_send(w, ideal_frees, a, a->hold);
        ideal_ended(w, a, HISTORY_FAIL, LK_ELOST);
        ideal_rest(w, a);
    } else if (ideal_draw(w, 8) ==
               0) { /* the request or its answer gets lost */
        if (ideal_draw(w, 2) == 0)
            ideal_send(w, ideal_frees, a, a->hold);
        ideal_plan(w, w->now + UINT64_C(30) * IDEAL_MS, released, a, false,
                   HISTORY_UNKNOWN);
    } else {
        ideal_send(w, gives, a, a->hold);
    }
}

/* ---- what is done with it ---- */

static void check(ideal *w, ideal_actor *a)
{
    history_event event = ideal_event_of(a, HISTORY_EVENT, HISTORY_CHECKED);

    event.hold = a->hold;
    event.deadline = ideal_draw(w, 2) == 0 ? a->believed_to : 0;
    ideal_says(w, event);
}

static void renew(ideal *w, ideal_actor *a)
{
    size_t i;
    ideal_name *n = ideal_name_of(w, a->hold, &i);

    if (n == NULL || i >= n->held) { /* it has been deleted */
        a->forced = true;
        ideal_is_told(w, a, a->hold);
        return;
    }
    n->seats[i].expires = w->now + ideal_travel(w) + a->lease_ms * IDEAL_MS;
    a->believed_to = believed(a, w->now);
}

static void enter_again(ideal *w, ideal_actor *a)
{
    history_event event = ideal_begin(w, a, HISTORY_ACQUIRE);

    if (a->again != 0 ||
        (a->at->kind != HISTORY_LOCK && a->at->kind != HISTORY_FAIRLOCK))
        return;
    event.lease_ms = a->lease_ms;
    event.flags = HISTORY_RENEWED;
    ideal_says(w, event);
    event.phase = HISTORY_OK;
    event.hold = a->again = event.operation;
    event.fence = a->fence;
    event.deadline = a->believed_to;
    ideal_says(w, event);
}

static void write_guarded(ideal *w, ideal_actor *a)
{
    history_event event = ideal_begin(w, a, HISTORY_WRITE);

    if (a->mode == HISTORY_READ || a->at->kind == HISTORY_SEMAPHORE)
        return;
    event.fence = a->fence;
    ideal_says(w, event);
    event.phase = a->fence < a->at->written ? HISTORY_FAIL : HISTORY_OK;
    event.status = event.phase == HISTORY_OK ? LK_OK : LK_ESTALE;
    if (event.phase == HISTORY_OK)
        a->at->written = a->fence;
    ideal_says(w, event);
}

static void downgrade(ideal *w, ideal_actor *a)
{
    history_event event = ideal_begin(w, a, HISTORY_DOWNGRADE);
    size_t i;
    ideal_name *n = ideal_name_of(w, a->hold, &i);

    if (a->mode != HISTORY_WRITER || n == NULL)
        return;
    event.hold = a->hold;
    ideal_says(w, event);
    a->mode = HISTORY_READ;
    n->seats[i].mode = HISTORY_READ;
    ideal_serve(w, n);
    event.phase = HISTORY_OK;
    ideal_says(w, event);
}

static void step(ideal *w, ideal_actor *a, uint64_t detail)
{
    (void)detail;
    if (!a->told && a->believed_to > w->now) {
        check(w, a);
        if (a->renewed)
            renew(w, a);
    }
    if (!a->told && a->believed_to > w->now && !a->forced) {
        if (ideal_draw(w, 4) == 0)
            enter_again(w, a);
        else if (ideal_draw(w, 3) == 0)
            write_guarded(w, a);
        else if (ideal_draw(w, 3) == 0)
            downgrade(w, a);
    }
    if (a->steps-- == 0)
        let_go(w, a);
    else
        ideal_later(w, 1 + ideal_draw(w, a->lease_ms * IDEAL_MS / 3), step, a);
}
