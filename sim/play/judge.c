/* SPDX-License-Identifier: MIT */

/* What may be held together, and what a call may answer. */

#include "play/judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "play/art.h"
#include "play/record.h"

void sim_violated(sim_run *run, const char *format, ...)
{
    va_list args;

    if (run->violation[0] != '\0')
        return;
    va_start(args, format);
    (void)vsnprintf(run->violation, sizeof(run->violation), format, args);
    va_end(args);
    sim_tell(&run->schedule, "JUDGE", "%s", run->violation);
}

/* ---- exclusion ---------------------------------------------------------------- */

bool sim_grip_is_valid(const sim_grip *grip)
{
    sim_process *process = &grip->client->process; /* whose clock it goes by */
    uint64_t ahead = process->ahead;
    unsigned hold_up_in = process->hold_up_in;
    bool valid;

    if (!grip->believed || process->dead)
        return false;
    process->ahead = 0; /* now, not where it has got to */
    process->hold_up_in = 0;
    valid = lk_hold_check(grip->hold) == LK_OK;
    process->ahead = ahead;
    process->hold_up_in = hold_up_in;
    return valid;
}

static bool shares(const sim_grip *grip)
{
    return grip->mode == SIM_READ || grip->mode == SIM_UPGRADEABLE;
}

/* Whether two holds of different owners exclude each other. */
static bool excludes(const sim_grip *one, const sim_grip *other)
{
    if (one->mode == SIM_UPGRADEABLE && other->mode == SIM_UPGRADEABLE)
        return true;
    return !shares(one) || !shares(other);
}

static void tell_two(sim_run *run, const sim_grip *one, const sim_grip *other)
{
    sim_violated(run,
                 "%s in %s (%s, fence %" PRIu64 ", since %.6f s) and %s in %s "
                 "(%s, fence %" PRIu64 ", since %.6f s) both hold %s",
                 one->actor->name, one->client->name,
                 sim_primitive_word(one->mode), one->fence,
                 (double)one->since / 1e9, other->actor->name,
                 other->client->name, sim_primitive_word(other->mode),
                 other->fence, (double)other->since / 1e9, one->name->text);
}

static bool counts(const sim_grip *grip)
{
    return grip->since >= grip->name->excused_to && sim_grip_is_valid(grip);
}

static void judge_owners(sim_run *run, const sim_name *name)
{
    for (const sim_grip *one = name->grips; one != NULL; one = one->next) {
        if (!counts(one))
            continue;
        for (const sim_grip *other = one->next; other != NULL;
             other = other->next) {
            if (one->owner != other->owner && excludes(one, other) &&
                counts(other))
                tell_two(run, one, other);
        }
    }
}

static void judge_permits(sim_run *run, const sim_name *name)
{
    uint64_t sum = 0;

    for (const sim_grip *grip = name->grips; grip != NULL; grip = grip->next)
        sum += counts(grip) ? grip->count : 0;
    if (sum > run->plan->permits)
        sim_violated(run, "%" PRIu64 " of %" PRIu64 " permits of %s are held",
                     sum, run->plan->permits, name->text);
}

void sim_judge_name(sim_run *run, sim_name *name)
{
    if (run->left_model)
        return;
    if (name->family == SIM_OF_SEMAPHORE)
        judge_permits(run, name);
    else
        judge_owners(run, name);
}

/* The history hears of what is believed, too. */
static void tell_history(const sim_name *name)
{
    for (const sim_grip *grip = name->grips; grip != NULL; grip = grip->next) {
        if (sim_grip_is_valid(grip))
            sim_record_checked(grip);
    }
}

static void judge_names(sim_run *run, sim_name names[SIM_NAMES])
{
    for (int i = 0; i < SIM_NAMES; i++) {
        sim_judge_name(run, &names[i]);
        tell_history(&names[i]);
    }
}

void sim_judge_all(sim_run *run)
{
    for (int family = 0; family < SIM_FAMILIES; family++) {
        for (int db = 0; run->has_family[family] && db < SIM_DBS; db++)
            judge_names(run, run->names[family][db]);
    }
}

/* ---- fences -------------------------------------------------------------------- */

static bool has_same_owner(const sim_grip *grip)
{
    for (int i = 0; i < SIM_GRIPS; i++) {
        const sim_grip *other = &grip->actor->grips[i];

        if (other != grip && other->believed && other->fence == grip->fence)
            return true;
    }
    return false;
}

/* Fences may be so far ahead of the server's clock, in us: where the record of
   the last one is lost, the next can be behind it by as much. */
enum { FENCES_AHEAD = 100000 };

static void judge_fence(sim_run *run, sim_grip *grip)
{
    uint64_t floor = grip->actor->fence_floor;

    if (!sim_arts[grip->mode].fenced || grip->since < grip->name->excused_to)
        return; /* the history knows what may be passed on after force */
    if (run->clock_went_ahead)
        return; /* what that clock has ended may still be passed on in its client */
    if (run->data_lost && floor > FENCES_AHEAD)
        floor -= run->clock_went_back ? floor : FENCES_AHEAD;
    if (grip->fence <= floor && !has_same_owner(grip))
        sim_violated(run,
                     "%s got fence %" PRIu64 " of %s after one of %" PRIu64,
                     grip->actor->name, grip->fence, grip->name->text, floor);
    if (grip->fence > grip->name->fence) {
        grip->name->fence = grip->fence;
        grip->name->writer = grip->actor;
    }
}

/* An upgrade goes on from a hold that kept all other writers out. */
static void judge_upgrade(sim_run *run, const sim_grip *grip)
{
    const sim_name *name = grip->name;

    if (!grip->actor->upgrades || name->writer == grip->actor ||
        name->fence >= grip->fence || run->left_model)
        return;
    for (int i = 0; i < SIM_GRIPS; i++) {
        const sim_grip *base = &grip->actor->grips[i];

        if (base->believed && base->mode == SIM_UPGRADEABLE &&
            base->since >= name->excused_to && base->fence < name->fence)
            sim_violated(run,
                         "%s upgrades %s, and %s has written since it began",
                         grip->actor->name, name->text, name->writer->name);
    }
}

/* ---- what happens ---------------------------------------------------------------- */

void sim_judge_granted(sim_grip *grip)
{
    sim_run *run = grip->actor->run;

    grip->believed = true;
    grip->since = run->schedule.now;
    grip->next = grip->name->grips;
    grip->name->grips = grip;
    run->counts.grants++;
    judge_upgrade(run, grip);
    judge_fence(run, grip);
    sim_judge_name(run, grip->name);
}

void sim_judge_ended(sim_grip *grip)
{
    sim_grip **at = &grip->name->grips;

    if (!grip->believed)
        return;
    grip->believed = false;
    while (*at != grip)
        at = &(*at)->next;
    *at = grip->next;
}

/* ---- answers ---------------------------------------------------------------------- */

void sim_judge_status(sim_actor *actor, const char *call, lk_status status)
{
    static const lk_status never[] = {LK_EINVAL,  LK_ENOMEM,   LK_ENOTSUP,
                                      LK_EURL,    LK_EAUTH,    LK_EPROTO,
                                      LK_EFORKED, LK_ECALLBACK};

    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
        if (status == never[i])
            sim_violated(actor->run, "%s: %s answered %s", actor->name, call,
                         lk_status_name(status));
    }
}
