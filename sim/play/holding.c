/* SPDX-License-Identifier: MIT */

/* What an actor does with what it holds; see holding.h. */

#include "play/holding.h"

#include <inttypes.h>

#include "claims/hold.h"
#include "play/actor.h"
#include "play/art.h"
#include "play/asking.h"
#include "play/grip.h"
#include "play/judge.h"
#include "play/record.h"
#include "world/random.h"

enum { EXTRA_WAIT_MS = 1500 };

static void on_done(lk_status status, void *data)
{
    sim_actor *actor = data;

    if (actor->over || actor->home->process.dead)
        return;
    sim_judge_status(actor, "a change of its hold", status);
    sim_actor_says(actor, "is answered %s", lk_status_name(status));
}

/* Whether the hold that was to be changed is there yet. */
static const sim_grip *changed(const sim_change *change)
{
    return change->grip->hold != NULL && change->grip->id == change->hold
               ? change->grip
               : NULL;
}

static void on_changed(lk_status status, void *data)
{
    sim_actor *actor = data;
    sim_change change = actor->change;

    actor->change.operation = 0;
    if (!actor->over)
        sim_record_return(actor, change.client, change.call, change.operation,
                          status, changed(&change), change.lease_ms);
    on_done(status, actor);
}

/* One at a time. */
static bool change_begin(sim_actor *actor, history_call call, sim_grip *grip,
                         uint64_t lease_ms)
{
    if (actor->change.operation != 0)
        return false;
    actor->change =
        (sim_change){.operation = sim_record_invoke(actor, grip->client, call,
                                                    grip, 0, lease_ms),
                     .call = call,
                     .client = grip->client,
                     .grip = grip,
                     .hold = grip->id,
                     .lease_ms = lease_ms};
    actor->run->counts.operations++;
    return true;
}

static void change_end(sim_actor *actor, lk_status status)
{
    if (status != LK_OK)
        on_changed(status, actor);
}

void sim_actor_extends(sim_actor *actor)
{
    bool is_long = actor->run->plan->profile == SIM_PROFILE_EXTENDED;
    uint64_t ms = sim_spread(&actor->random, is_long ? 2000 : 20, 8000);
    sim_grip *grip = actor->run->plan->profile == SIM_PROFILE_TURNS &&
                             sim_chance(&actor->random, 50)
                         ? sim_grip_first(actor)
                         : sim_grip_last(actor);

    if (!sim_actor_can(actor, SIM_EXTENDS) ||
        !change_begin(actor, HISTORY_EXTEND, grip, ms))
        return;
    sim_actor_says(actor, "extends %s to %" PRIu64 " ms", grip->name->text, ms);
    change_end(actor, lk_hold_extend_async(grip->hold, ms, on_changed, actor));
}

bool sim_actor_reenters(sim_actor *actor)
{
    bool turns = sim_actor_can(actor, SIM_TURNS);

    if (actor->at != actor->home)
        return false;
    if (actor->want.mode == SIM_UPGRADEABLE && turns)
        actor->want.mode = SIM_WRITE;
    else if (actor->want.mode == SIM_WRITE && turns)
        actor->want.mode = SIM_READ;
    else if (!sim_actor_can(actor, SIM_REENTERS) ||
             actor->want.mode == SIM_SEMAPHORE || actor->run->plan->hosts > 1)
        return false;
    actor->want.wait_ms = actor->run->plan->profile == SIM_PROFILE_EXTENDED
                              ? 4 * EXTRA_WAIT_MS
                              : EXTRA_WAIT_MS;
    sim_actor_asks(actor);
    return true;
}

void sim_actor_downgrades(sim_actor *actor)
{
    sim_grip *grip = sim_grip_last(actor);

    if (!sim_actor_can(actor, SIM_TURNS) || grip->mode != SIM_WRITE ||
        grip != sim_grip_first(actor) ||
        !change_begin(actor, HISTORY_DOWNGRADE, grip, 0))
        return;
    sim_actor_says(actor, "goes on to read %s", grip->name->text);
    sim_judge_name(actor->run, grip->name);
    grip->mode = SIM_READ;
    change_end(actor, lk_rwlock_downgrade_async(grip->hold, on_changed, actor));
}

static void on_revoked(lk_status status, int64_t left_ms, void *data)
{
    (void)left_ms;
    on_done(status, data);
}

void sim_actor_revokes(sim_actor *actor)
{
    const sim_grip *grip = actor->of->grips;

    if (!sim_actor_can(actor, SIM_REVOKES) || grip == NULL ||
        sim_actor_art(actor)->revoke == NULL)
        return;
    sim_actor_says(actor, "revokes what %s has", grip->actor->name);
    actor->of->was_ended = true;
    actor->run->counts.operations++;
    sim_judge_status(actor, "revoke",
                     sim_actor_art(actor)->revoke(actor->handle,
                                                  lk__claim_id(
                                                      grip->hold->claim),
                                                  on_revoked, actor));
}

/* An owner that was forced to end hears of it when the message comes, or at its
   deadline; and what is in doubt may be done later yet. */
static void on_forced(lk_status status, void *data)
{
    sim_actor *actor = data;

    sim_record_return(actor, actor->home, HISTORY_FORCE, actor->forcing, status,
                      NULL, 0);
    actor->forcing = 0;
    actor->of->excused_to =
        actor->run->schedule.now +
        (status == LK_EINDOUBT || status == LK_EPENDING ? 90 * SIM_S
                                                        : 30 * SIM_S);
    on_done(status, data);
}

void sim_actor_forces(sim_actor *actor)
{
    if (!sim_actor_can(actor, SIM_FORCES) ||
        sim_actor_art(actor)->force == NULL || actor->forcing != 0)
        return;
    sim_actor_says(actor, "ends whoever's hold of %s by force",
                   actor->of->text);
    actor->run->counts.operations++;
    actor->forcing =
        sim_record_invoke(actor, actor->home, HISTORY_FORCE, NULL, 0, 0);
    actor->of->excused_to = SIM_NEVER;
    actor->of->was_ended = true;
    if (sim_actor_art(actor)->force(actor->handle, on_forced, actor) != LK_OK)
        sim_wrong("a force cannot begin");
}

/* ---- what it guards -------------------------------------------------------------- */

static void on_written(lk_status status, uint64_t version, void *data)
{
    sim_actor *actor = data;
    uint64_t operation = actor->write.operation;

    (void)version;
    actor->write.operation = 0;
    if (actor->over || actor->home->process.dead)
        return;
    sim_judge_status(actor, "a write", status);
    sim_actor_says(actor, "has written: %s", lk_status_name(status));
    sim_record_written(actor, &actor->write, operation, status);
}

void sim_actor_writes(sim_actor *actor)
{
    sim_grip *grip = sim_grip_last(actor);
    lk_status status = LK_OK;

    if (!sim_arts[grip->mode].fenced || grip->client != actor->home ||
        actor->plan->primitive == SIM_LEADER ||
        actor->plan->primitive == SIM_STRIPE || actor->write.operation != 0)
        return;
    if (actor->cell == NULL)
        status = lk_cell_new(&actor->cell, actor->home->client, actor->of->text,
                             NULL);
    if (status != LK_OK)
        sim_wrong("no cell");
    sim_actor_says(actor, "writes with fence %" PRIu64, grip->fence);
    actor->run->counts.operations++;
    actor->write = (sim_change){.call = HISTORY_WRITE,
                                .hold = grip->id,
                                .fence = grip->fence};
    actor->write.operation =
        sim_record_invoke(actor, actor->home, HISTORY_WRITE, grip, 0, 0);
    status = lk_cell_write_guarded_async(actor->cell, grip->hold, LK_CELL_ANY,
                                         actor->name, 1, on_written, actor);
    if (status != LK_OK)
        on_written(status, 0, actor);
}
