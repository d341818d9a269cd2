/* SPDX-License-Identifier: MIT */

/* The agenda of an ideal service, and what is told of it; see ideal_inside.h. */

#include <stdlib.h>

#include "support/ideal_inside.h"

/* ---- chance and time ---- */

uint64_t ideal_draw(ideal *w, uint64_t below)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (w->random * UINT64_C(0x2545f4914f6cdd1d) >> 33) % below;
}

uint64_t ideal_travel(ideal *w)
{
    return 1000 + ideal_draw(w, UINT64_C(2) * IDEAL_MS);
}

static bool is_sooner(const ideal_entry *one, const ideal_entry *other)
{
    return one->at != other->at ? one->at < other->at
                                : one->order < other->order;
}

void ideal_plan(ideal *w, uint64_t at, ideal_deed what, ideal_actor *who,
                bool of_server, uint64_t detail)
{
    size_t i = w->planned++;
    const ideal_entry e =
        {w->now > at ? w->now : at, w->order++, detail, what, who, of_server};

    if (i >= IDEAL_AGENDA)
        abort();
    for (; i > 0 && is_sooner(&e, &w->agenda[i - 1]); i--)
        w->agenda[i] = w->agenda[i - 1];
    w->agenda[i] = e;
}

void ideal_later(ideal *w, uint64_t ns, ideal_deed what, ideal_actor *who)
{
    ideal_plan(w, w->now + ns, what, who, false, 0);
}

void ideal_send(ideal *w, ideal_deed what, ideal_actor *who, uint64_t detail)
{
    ideal_plan(w, w->now + ideal_travel(w), what, who, true, detail);
}

/* ---- telling ---- */

history_event
ideal_event_of(const ideal_actor *a, history_phase phase, history_call what)
{
    history_event event = {.process = a->process,
                           .client = a->process,
                           .owner = a->process,
                           .phase = (uint8_t)phase,
                           .call = (uint8_t)what,
                           .mode = (uint8_t)a->mode};

    if (a->at != NULL) {
        event.key = a->at->id;
        event.kind = (uint8_t)a->at->kind;
    }
    return event;
}

void ideal_says(ideal *w, history_event event)
{
    event.at = w->now++; /* no two at one moment */
    event.sequence = ++w->sequence;
    w->tell(&event, w->data);
}

history_event ideal_begin(ideal *w, ideal_actor *a, history_call what)
{
    history_event event = ideal_event_of(a, HISTORY_INVOKE, what);

    event.operation = w->next_id++;
    return event;
}

void ideal_begun(ideal *w, ideal_actor *a, history_event event)
{
    event.at = w->now;
    a->call = event;
    ideal_says(w, event);
}

void ideal_ended(ideal *w, ideal_actor *a, history_phase phase,
                 lk_status status)
{
    history_event event = a->call;

    event.phase = (uint8_t)phase;
    event.status = status;
    event.deadline = 0;
    ideal_says(w, event);
}
