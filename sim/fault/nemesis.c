/* SPDX-License-Identifier: MIT */
#include "fault/nemesis.h"

#include <stdio.h>
#include <time.h>

#include "fault/faults.h"

enum { MS = 1000000, TICK_NS = 2000000, SETTLE_MS = 3000 };

void nemesis_names(nemesis_count *counts)
{
    for (int i = 0; i < NEMESIS_CLASSES; i++)
        counts[i].name = fault_classes[i].name;
}

/* ---- their course ---- */

static void put(nemesis *n, const fault *f, history_phase phase)
{
    history_event event = {.at = history_now(),
                           .process = f->process,
                           .key = f->key,
                           .phase = (uint8_t)phase,
                           .call = HISTORY_FAULT,
                           .count = f->class->rules};

    if (phase == HISTORY_OK && f->class->track == SERVER)
        event.deadline = event.at + (uint64_t)SETTLE_MS * MS;
    (void)snprintf(event.name, sizeof(event.name), "%s", f->class->name);
    stage_put(n->stage, &event);
}

/* Mostly short, and now and then longer than any lease. */
static uint64_t draw_ns(nemesis *n)
{
    uint64_t ms = play_draw(&n->random, 400);

    if (play_draw(&n->random, 6) == 0)
        ms += play_draw(&n->random, 2000);
    return ms * MS;
}

static const fault_class *draw_class(nemesis *n, fault_track of)
{
    for (;;) {
        uint64_t i = play_draw(&n->random, NEMESIS_CLASSES);

        if (fault_classes[i].track == of &&
            !fault_is_too_much(n, &fault_classes[i])) {
            n->counts[i].times++;
            return &fault_classes[i];
        }
    }
}

static void begin_fault(nemesis *n, fault *f, fault_track of)
{
    *f = (fault){.class = draw_class(n, of)};
    if (of == PROCESSES || of == NETWORKS) {
        f->target = (unsigned)play_draw(&n->random, PLAY_WORKERS);
        f->process = n->stage->workers[f->target].process;
    } else if (of == NODES) {
        f->target = (unsigned)play_draw(&n->random, PLAY_REDLOCK);
        f->key = history_key(play_names[5].name, 0);
    }
    if (!fault_is_death(f->class))
        put(n, f, HISTORY_INVOKE);
    f->class->begin(n, f);
    f->next_at = history_now() + draw_ns(n);
    if (f->class->end == NULL)
        fault_end(n, f);
}

void fault_end(nemesis *n, fault *f)
{
    if (f->class->end != NULL)
        f->class->end(n, f);
    if (!f->gone)
        put(n, f, HISTORY_OK);
    f->class = NULL;
    f->next_at = history_now() + draw_ns(n);
}

static void turn(nemesis *n, fault_track of)
{
    fault *f = &n->faults[of];

    if (history_now() < f->next_at)
        return;
    if (f->class != NULL)
        fault_end(n, f);
    else
        begin_fault(n, f, of);
}

bool nemesis_play(stage *s, uint64_t until, nemesis_count *counts)
{
    static const struct timespec tick = {.tv_nsec = TICK_NS};
    nemesis n = {.stage = s, .random = {s->seed}, .counts = counts};

    while (!n.broken && history_now() < until) {
        for (int of = 0; of < TRACKS; of++)
            turn(&n, (fault_track)of);
        (void)nanosleep(&tick, NULL);
    }
    for (int of = 0; of < TRACKS; of++)
        if (n.faults[of].class != NULL)
            fault_end(&n, &n.faults[of]);
    return !n.broken;
}
