/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "support/ideal_inside.h"

/* ---- rounds ---- */

void ideal_round_begins(ideal *w, ideal_actor *a, uint64_t detail)
{
    (void)detail;
    if (a->rounds-- == 0)
        return;
    a->at = &w->names[ideal_draw(w, IDEAL_NAMES)];
    if (a->at->kind == HISTORY_LATCH)
        ideal_use_latch(w, a);
    else if (a->at->kind == HISTORY_PLAIN && a->plain > 0)
        ideal_give(w, a);
    else if ((a->at->kind == HISTORY_SEMAPHORE ||
              a->at->kind == HISTORY_PLAIN) &&
             ideal_draw(w, 4) == 0)
        ideal_ask_permits(w, a);
    else
        ideal_want(w, a);
}

/* ---- faults ---- */

static history_event fault(history_phase phase, unsigned rules)
{
    return (history_event){.phase = (uint8_t)phase,
                           .call = HISTORY_FAULT,
                           .count = rules};
}

static void goes_on(ideal *w, ideal_actor *a, uint64_t detail)
{
    history_event event = fault(HISTORY_OK, CHECKER_DEADLINES);

    (void)detail;
    event.process = a->process;
    a->stopped = false;
    ideal_says(w, event);
}

static void stops(ideal *w, ideal_actor *a, uint64_t detail)
{
    history_event event = fault(HISTORY_INVOKE, CHECKER_DEADLINES);

    (void)detail;
    if (a->dead || a->stopped)
        return;
    event.process = a->process;
    a->stopped = true;
    a->goes_on_at = w->now + ideal_draw(w, UINT64_C(150) * IDEAL_MS);
    ideal_says(w, event);
    ideal_plan(w, a->goes_on_at, goes_on, a, true, 0);
}

static void dies(ideal *w, ideal_actor *a, uint64_t detail)
{
    (void)detail;
    if (a->dead || a->stopped)
        return;
    a->dead = true;
    ideal_says(w, ideal_event_of(a, HISTORY_EVENT, HISTORY_DIED));
    for (int i = 0; i < IDEAL_NAMES; i++)
        ideal_serve(w, &w->names[i]);
}

/* Holds of a lock are forgotten; whoever had them finds out when renewing. */
static void forgets(ideal *w, ideal_actor *a, uint64_t detail)
{
    const unsigned rules = CHECKER_EXCLUSION | CHECKER_ORDER | CHECKER_COUNTS;
    history_event event = fault(HISTORY_INVOKE, rules);
    ideal_name *n = &w->names[ideal_draw(w, IDEAL_NAMES)];

    (void)a;
    (void)detail;
    if (n->kind == HISTORY_LATCH || n->kind == HISTORY_PLAIN)
        return;
    event.key = n->id;
    ideal_says(w, event);
    while (n->held > 0)
        ideal_unseat(n, 0);
    ideal_serve(w, n);
    event.phase = HISTORY_OK;
    event.deadline = w->now + UINT64_C(150) * IDEAL_MS;
    ideal_says(w, event);
}

static void forces(ideal *w, ideal_actor *a, uint64_t detail)
{
    ideal_name *n = &w->names[ideal_draw(w, IDEAL_NAMES)];
    history_event event = fault(HISTORY_INVOKE, 0);

    (void)detail;
    if (a->dead || a->stopped || n->kind == HISTORY_LATCH ||
        n->kind == HISTORY_PLAIN)
        return;
    event.call = HISTORY_FORCE;
    event.operation = w->next_id++;
    event.key = n->id;
    event.kind = (uint8_t)n->kind;
    event.process = a->process;
    ideal_says(w, event);
    while (n->held > 0) {
        ideal_actor *holder = n->seats[0].actor;

        if (holder->hold == n->seats[0].operation)
            holder->forced = true;
        ideal_plan(w, w->now + ideal_travel(w), ideal_is_told, holder, false,
                   n->seats[0].operation);
        ideal_unseat(n, 0);
    }
    ideal_serve(w, n);
    event.phase = HISTORY_OK;
    ideal_says(w, event);
}

/* ---- the whole ---- */

static void make(ideal *w, uint64_t seed)
{
    static const history_kind kinds[] = {HISTORY_LOCK,   HISTORY_FAIRLOCK,
                                         HISTORY_RWLOCK, HISTORY_SEMAPHORE,
                                         HISTORY_PLAIN,  HISTORY_LATCH,
                                         HISTORY_LOCK,   HISTORY_LEADER};
    static const ideal_deed faults[] = {stops, stops, dies, forgets, forces};

    w->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    w->now = IDEAL_MS;
    w->next_id = IDEAL_FIRST_ID;
    for (uint64_t i = 0; i < IDEAL_NAMES; i++)
        w->names[i] = (ideal_name){.id = IDEAL_FIRST_ID + i,
                                   .kind = kinds[ideal_draw(w, 8)],
                                   .permits = ideal_options().permits};
    for (uint32_t i = 0; i < IDEAL_ACTORS; i++) {
        w->actors[i].process = IDEAL_FIRST_ID + i;
        w->actors[i].rounds = 1 + (unsigned)ideal_draw(w, 8);
        ideal_later(w, ideal_draw(w, UINT64_C(10) * IDEAL_MS),
                    ideal_round_begins, &w->actors[i]);
    }
    for (uint64_t i = ideal_draw(w, 5); i > 0; i--)
        ideal_plan(w, w->now + ideal_draw(w, UINT64_C(400) * IDEAL_MS),
                   faults[ideal_draw(w, 5)],
                   &w->actors[ideal_draw(w, IDEAL_ACTORS)], true, 0);
}

/* What a process does while it is stopped it does when it goes on. */
static void act(ideal *w, ideal_entry e)
{
    ideal_actor *a = e.actor;

    if (!e.of_server && a->stopped)
        ideal_plan(w, a->goes_on_at + 1, e.deed, a, false, e.detail);
    else if (e.of_server || !a->dead)
        e.deed(w, a, e.detail);
}

uint64_t ideal_play(uint64_t seed, ideal_tell tell_it, void *data)
{
    ideal w = {.tell = tell_it, .data = data};

    make(&w, seed);
    while (w.planned > 0) {
        ideal_entry e = w.agenda[0];

        w.planned--;
        memmove(w.agenda, w.agenda + 1, w.planned * sizeof(ideal_entry));
        if (e.at > w.now)
            w.now = e.at;
        act(&w, e);
    }
    return w.now + UINT64_C(10) * IDEAL_MS;
}

checker_options ideal_options(void)
{
    return (checker_options){.late_ns = UINT64_C(5) * IDEAL_MS,
                             .told_ns = UINT64_C(5) * IDEAL_MS,
                             .granted_ns = 400 * (uint64_t)IDEAL_MS,
                             .answer_ns = UINT64_C(5) * IDEAL_MS,
                             .permits = 3};
}
