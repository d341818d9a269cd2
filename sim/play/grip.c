/* SPDX-License-Identifier: MIT */

/* Holds of an actor; see grip.h. */

#include "play/grip.h"

#include <inttypes.h>

#include "play/actor.h"
#include "play/client.h"
#include "play/judge.h"
#include "play/record.h"

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    sim_grip *grip = data;

    (void)hold;
    if (remaining_ms > 0 || grip->client->process.dead)
        return;
    grip->lost_told = true;
    sim_record_lost(grip);
    grip->actor->run->counts.losses++;
    sim_actor_says(grip->actor, "is told that %s is lost", grip->name->text);
}

sim_grip *sim_grip_first(sim_actor *actor)
{
    for (int i = 0; i < SIM_GRIPS; i++) {
        if (actor->grips[i].hold != NULL)
            return &actor->grips[i];
    }
    return NULL;
}

static sim_grip *grip_free(sim_actor *actor)
{
    for (int i = 0; i < SIM_GRIPS; i++) {
        if (actor->grips[i].hold == NULL)
            return &actor->grips[i];
    }
    sim_wrong("%s holds too much", actor->name);
}

void sim_grip_judge_lease(sim_actor *actor, const lk_hold *hold)
{
    uint64_t lease_ms = actor->want.lease_ms;

    if (lease_ms == 0)
        lease_ms = actor->home->item->as.client.watchdog_ms;
    if (lk_hold_remaining_ms(hold) > lease_ms)
        sim_violated(actor->run,
                     "%s asked for %" PRIu64 " ms of %s and has %" PRIu64 " ms",
                     actor->name, lease_ms, actor->of->text,
                     lk_hold_remaining_ms(hold));
}

void sim_grip_new(sim_actor *actor, sim_client *client, lk_hold *hold,
                  uint64_t owner, uint64_t lease_ms)
{
    const sim_want *want = &actor->want;
    sim_grip *grip = grip_free(actor);

    *grip = (sim_grip){.name = actor->of,
                       .actor = actor,
                       .client = client,
                       .hold = hold,
                       .id = ++actor->run->last_id,
                       .owner = owner,
                       .lease_ms = lease_ms,
                       .mode = want->mode,
                       .count = want->count,
                       .fence = lk_hold_fence(hold)};
    sim_judge_status(actor, "lk_hold_on_lost()",
                     lk_hold_on_lost(hold, 0, on_lost, grip));
    sim_actor_says(actor,
                   "has %s%s (%s, fence %" PRIu64 ", for %" PRIu64 " ms)",
                   actor->of->text,
                   client == actor->home ? "" : " in the other client",
                   sim_primitive_word(want->mode), grip->fence,
                   lk_hold_remaining_ms(hold));
    sim_record_return(actor, client, HISTORY_ACQUIRE, actor->operation, LK_OK,
                      grip, lease_ms);
    actor->operation = 0;
    sim_judge_granted(grip);
    actor->run->counts.stale += !sim_grip_is_valid(grip);
}

sim_grip *sim_grip_last(sim_actor *actor)
{
    sim_grip *last = NULL;

    for (int i = 0; i < SIM_GRIPS; i++) {
        if (actor->grips[i].hold != NULL)
            last = &actor->grips[i];
    }
    return last;
}

bool sim_grip_is_base(sim_actor *actor)
{
    const sim_grip *last = sim_grip_last(actor);

    return last != NULL && last->mode == SIM_UPGRADEABLE &&
           last->owner == actor->number && sim_grip_is_valid(last);
}

void sim_grip_judge_loss(const sim_grip *grip)
{
    uint64_t had_ns = grip->actor->run->schedule.now - grip->since;

    if (lk_hold_lost_for_ms(grip->hold) > SIM_LATE_MS && !grip->lost_told &&
        had_ns > SIM_LATE_MS * SIM_MS &&
        sim_client_stood_to(grip->client) <= grip->since)
        sim_violated(grip->actor->run,
                     "%s lost %s %" PRIu64 " ms ago and was not told",
                     grip->actor->name, grip->name->text,
                     lk_hold_lost_for_ms(grip->hold));
}
