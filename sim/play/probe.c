/* SPDX-License-Identifier: MIT */

/* Whether what nobody holds can be had; see probe.h. */

#include "play/probe.h"

#include "play/actor.h"
#include "play/art.h"
#include "play/client.h"

static void client_make(sim_run *run, unsigned db)
{
    sim_item *item = &run->probes[run->probe_count];

    item->id = SIM_ITEMS_MOST + run->probe_count++;
    item->kind = SIM_CLIENT;
    item->at = run->schedule.now;
    item->as.client = (sim_client_plan){.watchdog_ms = 10000,
                                        .command_timeout_ms = 2000,
                                        .offline_ms = 5000,
                                        .db = db,
                                        .path = {.ns = {SIM_MS, SIM_MS}}};
    sim_clients_add(run, item);
}

/* What has a name whole. */
static sim_primitive whole(sim_primitive primitive)
{
    switch (primitive) {
    case SIM_SPINLOCK:
    case SIM_LEADER:
        return SIM_LOCK;
    case SIM_READ:
    case SIM_UPGRADEABLE:
        return SIM_WRITE;
    case SIM_LOCK:
    case SIM_FAIRLOCK:
    case SIM_WRITE:
    case SIM_SEMAPHORE:
    case SIM_SIGLOCK:
    case SIM_STRIPE:
    case SIM_MULTILOCK:
    case SIM_LATCH:
    case SIM_PLAIN:
    case SIM_REDLOCK:
    case SIM_BARRIER:
    case SIM_CELL:
    case SIM_FLIGHT:
    case SIM_TIMED:
    case SIM_OBSERVER:
    case SIM_PRIMITIVES:
    default:
        return primitive;
    }
}

static void
actor_make(sim_run *run, unsigned client, const sim_actor_plan *like)
{
    sim_item *item = &run->probes[run->probe_count];
    sim_actor *actor = &run->actors[run->actor_count++];

    item->id = SIM_ITEMS_MOST + run->probe_count++;
    item->kind = SIM_ACTOR;
    item->as.actor = (sim_actor_plan){.client = client,
                                      .primitive = whole(like->primitive),
                                      .name = like->name,
                                      .rounds = 1,
                                      .pause_ms = 1,
                                      .hold_ms = 1};
    sim_actor_init(actor, run, item);
    actor->last = true;
}

/* Whether an actor before this one used the same name. */
static bool is_known(const sim_run *run, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (run->actors[i].of == run->actors[at].of)
            return true;
    }
    return false;
}

void sim_probe_begin(sim_run *run)
{
    size_t actors = run->actor_count;

    for (unsigned db = 0; db < SIM_DBS; db++)
        client_make(run, db);
    for (size_t i = 0; i < actors; i++) {
        const sim_actor *actor = &run->actors[i];

        if (actor->home != NULL && !is_known(run, i) &&
            sim_arts[actor->plan->primitive].probed)
            actor_make(run, SIM_ITEMS_MOST + actor->of->db, actor->plan);
    }
}
