/* SPDX-License-Identifier: MIT */

/* Tries smaller plans; what still fails is kept. */

#include "play/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "play/fault.h"

typedef struct sim_shrinking {
    sim_plan *plan;
    sim_engine *engine;
    unsigned runs;
} sim_shrinking;

static bool fails(sim_shrinking *shrinking)
{
    uint64_t *counts = sim_alloc(sim_fault_class_count * sizeof(*counts));
    sim_result result;

    shrinking->runs++;
    sim_run_play(shrinking->plan, shrinking->engine, NULL, counts, &result);
    free(counts);
    return result.violation[0] != '\0';
}

/* ---- leaving items out ------------------------------------------------------------ */

/* Leaves out up to size items of a kind from the at-th on. Returns how many. */
static size_t leave_out(sim_plan *plan, sim_item_kind kind, size_t at,
                        size_t size, size_t *left)
{
    size_t seen = 0, count = 0;

    for (size_t i = 0; i < plan->count && count < size; i++) {
        if (plan->items[i].kind != kind || plan->items[i].off)
            continue;
        if (seen++ < at)
            continue;
        plan->items[i].off = true;
        left[count++] = i;
    }
    return count;
}

/* One pass with pieces of one size; true: something was left out for good. */
static bool pass(sim_shrinking *shrinking, sim_item_kind kind, size_t size)
{
    size_t left[SIM_ITEMS_MOST], count, at = 0;
    bool changed = false;

    while ((count = leave_out(shrinking->plan, kind, at, size, left)) > 0) {
        if (fails(shrinking)) {
            changed = true;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            shrinking->plan->items[left[i]].off = false;
        at += count;
    }
    return changed;
}

static bool fewer(sim_shrinking *shrinking, sim_item_kind kind)
{
    bool changed = false;

    for (size_t size = SIM_ITEMS_MOST / 4; size > 0; size /= 2)
        changed |= pass(shrinking, kind, size);
    return changed;
}

/* ---- doing less -------------------------------------------------------------------- */

static bool fewer_rounds(sim_shrinking *shrinking, sim_actor_plan *actor)
{
    unsigned was = actor->rounds;

    if (was <= 1)
        return false;
    actor->rounds = was / 2;
    if (fails(shrinking))
        return true;
    actor->rounds = was - 1;
    if (fails(shrinking))
        return true;
    actor->rounds = was;
    return false;
}

static bool fewer_skills(sim_shrinking *shrinking, sim_actor_plan *actor)
{
    bool changed = false;

    for (unsigned i = 0; i < SIM_SKILLS; i++) {
        unsigned was = actor->skills;

        actor->skills &= ~(1U << i);
        if (actor->skills == was)
            continue;
        if (fails(shrinking))
            changed = true;
        else
            actor->skills = was;
    }
    return changed;
}

static bool less(sim_shrinking *shrinking)
{
    sim_plan *plan = shrinking->plan;
    bool changed = false;

    for (size_t i = 0; i < plan->count; i++) {
        sim_item *item = &plan->items[i];

        if (item->kind != SIM_ACTOR || item->off)
            continue;
        while (fewer_rounds(shrinking, &item->as.actor))
            changed = true;
        changed |= fewer_skills(shrinking, &item->as.actor);
    }
    return changed;
}

unsigned sim_shrink(sim_plan *plan, sim_engine *engine)
{
    sim_shrinking shrinking = {plan, engine, 0};
    bool changed = true;

    if (!fails(&shrinking))
        return 0;
    while (changed) {
        changed = fewer(&shrinking, SIM_FAULT);
        changed |= fewer(&shrinking, SIM_ACTOR);
        changed |= fewer(&shrinking, SIM_CLIENT);
        changed |= less(&shrinking);
    }
    return shrinking.runs;
}

/* ---- as text ------------------------------------------------------------------------ */

void sim_plan_print_edits(const sim_plan *plan, FILE *file)
{
    sim_plan *whole = sim_alloc(sizeof(*whole));
    const char *comma = "";

    sim_plan_make(whole, plan->seed, plan->profile, plan->is_short);
    for (size_t i = 0; i < plan->count; i++) {
        const sim_item *item = &plan->items[i], *was = &whole->items[i];

        if (item->off)
            fprintf(file, "%s%u-", comma, item->id);
        else if (item->kind == SIM_ACTOR &&
                 (item->as.actor.rounds != was->as.actor.rounds ||
                  item->as.actor.skills != was->as.actor.skills))
            fprintf(file, "%s%u:%u/%u", comma, item->id, item->as.actor.rounds,
                    item->as.actor.skills);
        else
            continue;
        comma = ",";
    }
    free(whole);
}

/* One edit; the end of it, or NULL. */
static const char *edit(sim_plan *plan, const char *text)
{
    char *end;
    unsigned long id = strtoul(text, &end, 10);

    if (end == text || id >= plan->count)
        return NULL;
    if (*end == '-') {
        plan->items[id].off = true;
        return end + 1;
    }
    if (*end != ':' || plan->items[id].kind != SIM_ACTOR)
        return NULL;
    plan->items[id].as.actor.rounds = (unsigned)strtoul(end + 1, &end, 10);
    if (*end != '/')
        return NULL;
    plan->items[id].as.actor.skills = (unsigned)strtoul(end + 1, &end, 10);
    return end;
}

bool sim_plan_edit(sim_plan *plan, const char *text)
{
    while (text != NULL && *text != '\0') {
        text = edit(plan, text);
        if (text != NULL && *text == ',')
            text++;
        else if (text != NULL && *text != '\0')
            return false;
    }
    return text != NULL;
}
