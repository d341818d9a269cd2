/* SPDX-License-Identifier: MIT */

/* The life of an actor; see actor.h. */

#include "play/actor.h"

#include <latchkey/leader.h>

#include <inttypes.h>
#include <string.h>

#include "claims/claim.h"
#include "claims/wait.h"
#include "claims/work.h"
#include "engine/client.h"
#include "play/art.h"
#include "play/asking.h"
#include "play/client.h"
#include "play/errand.h"
#include "play/grip.h"
#include "play/handing.h"
#include "play/holding.h"
#include "play/judge.h"
#include "play/record.h"
#include "world/random.h"

enum { STEPS_MOST = 3, LAST_WAIT_MS = 8000 };

const sim_art *sim_actor_art(const sim_actor *actor)
{
    return &sim_arts[actor->plan->primitive];
}

bool sim_actor_can(const sim_actor *actor, sim_skill skill)
{
    return (actor->plan->skills & skill) != 0;
}

static void give_back(sim_actor *actor);

void sim_actor_says(const sim_actor *actor, const char *format, ...)
{
    char words[SIM_WORDS_MOST];
    va_list args;

    if (actor->run->schedule.story == NULL)
        return;
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    sim_tell(&actor->run->schedule, actor->name, "%s", words);
}

/* ---- time ---------------------------------------------------------------------- */

static void on_event(sim_event *event)
{
    sim_actor *actor =
        (sim_actor *)(void *)((char *)event - offsetof(sim_actor, event));

    if (actor->over || actor->home->process.dead || actor->at->process.dead ||
        !sim_process_runs(&actor->at->process, event))
        return;
    actor->next(actor);
}

void sim_actor_later(sim_actor *actor, uint64_t ns,
                     void (*next)(sim_actor *actor))
{
    actor->next = next;
    sim_event_set(&actor->run->schedule, &actor->event,
                  actor->run->schedule.now + ns);
}

uint64_t sim_actor_while(sim_actor *actor, uint64_t ms)
{
    if (sim_chance(&actor->random, 10))
        return 0;
    return sim_spread(&actor->random, 1 + ms * 10, ms * 1000) * SIM_US;
}

void sim_actor_wakes_to(sim_actor *actor, uint64_t ms,
                        void (*next)(sim_actor *actor))
{
    if (actor->at->process.dead && !actor->over)
        sim_actor_rests(actor);
    else
        sim_actor_later(actor, sim_actor_while(actor, ms), next);
}

/* ---- the steps ------------------------------------------------------------------ */

/* It reads and writes by turns, all the time. */
static bool turns(const sim_actor *actor)
{
    return actor->run->plan->profile == SIM_PROFILE_TURNS;
}

/* The same of one that hands on what it has. */
static bool step_handing_on(sim_actor *actor)
{
    switch (sim_below(&actor->random, 10)) {
    case 0:
    case 1:
        sim_actor_extends(actor); /* and it is still under way then */
        return sim_actor_exports(actor);
    case 2:
    case 3:
        return sim_actor_exports(actor);
    case 4:
        sim_actor_revokes(actor);
        return false;
    case 5:
    case 6:
        return sim_actor_reenters(actor);
    case 7:
        sim_actor_writes(actor);
        return false;
    case 8:
        sim_actor_downgrades(actor);
        return false;
    default:
        if (actor->text[0] != '\0')
            sim_actor_imports_again(actor);
        return false;
    }
}

/* The same of one that reads and writes by turns. */
static bool step_turning(sim_actor *actor)
{
    switch (sim_below(&actor->random, 8)) {
    case 0:
    case 1:
    case 2:
        sim_actor_extends(actor);
        return false;
    case 3:
    case 4:
        return sim_actor_reenters(actor);
    case 5:
        sim_actor_writes(actor);
        return false;
    default:
        sim_actor_downgrades(actor);
        return false;
    }
}

/* The same of one that writes for longer than its lease, and reads on; or reads and
   is to write. */
static bool step_extending(sim_actor *actor)
{
    sim_primitive mode = sim_grip_last(actor)->mode;

    if (mode == SIM_UPGRADEABLE)
        return sim_actor_reenters(actor);
    if (mode == SIM_WRITE && sim_chance(&actor->random, 50))
        sim_actor_extends(actor);
    else
        sim_actor_downgrades(actor);
    return false;
}

/* Something that it may do while it holds; true: it goes on elsewhere. */
static bool step(sim_actor *actor)
{
    if (sim_actor_can(actor, SIM_HANDS_ON))
        return step_handing_on(actor);
    if (turns(actor))
        return step_turning(actor);
    if (actor->run->plan->profile == SIM_PROFILE_EXTENDED)
        return step_extending(actor);
    switch (sim_below(&actor->random, 10)) {
    case 0:
        sim_actor_extends(actor);
        return false;
    case 1:
        return sim_actor_reenters(actor);
    case 2:
        sim_actor_downgrades(actor);
        return false;
    case 3:
        sim_actor_revokes(actor);
        return false;
    case 4:
        sim_actor_forces(actor);
        return false;
    case 5:
    case 6:
        return sim_actor_exports(actor);
    case 7:
    case 8:
        sim_actor_writes(actor);
        return false;
    default:
        if (actor->text[0] != '\0')
            sim_actor_imports_again(actor);
        return false;
    }
}

void sim_actor_holds_on(sim_actor *actor)
{
    if (sim_grip_first(actor) == NULL || actor->steps_left == 0) {
        give_back(actor);
        return;
    }
    actor->steps_left--;
    if (!step(actor))
        sim_actor_wakes_to(actor, actor->plan->hold_ms, sim_actor_holds_on);
}

/* ---- giving back ----------------------------------------------------------------- */

static void on_released(lk_status status, void *data)
{
    sim_actor *actor = data;

    actor->calls = false;
    if (!actor->over)
        sim_record_return(actor, actor->released_in, HISTORY_RELEASE,
                          actor->operation, status, NULL, 0);
    actor->released_in = NULL;
    if (actor->over || actor->home->process.dead)
        return;
    sim_judge_status(actor, "release", status);
    if (status == LK_OK && actor->resigns > actor->of->resigned &&
        sim_grip_last(actor) == NULL)
        actor->of->resigned = actor->resigns;
    sim_actor_says(actor, "has given it back: %s", lk_status_name(status));
    sim_actor_later(actor, 0, give_back);
}

static bool resigns(const sim_actor *actor, const sim_grip *grip)
{
    return actor->run->plan->profile == SIM_PROFILE_ELECTION &&
           actor->plan->primitive == SIM_LEADER &&
           grip->client == actor->home && actor->rounds_left % 2 == 0;
}

/* In every other round of an election it resigns. That follows from the run
   without a draw, and not in other profiles: their seeds stay what they were. */
static lk_status release(sim_actor *actor, const sim_grip *grip, lk_hold *hold)
{
    actor->resigns = 0;
    if (!resigns(actor, grip))
        return lk_hold_release_async(hold, on_released, actor);
    actor->resigns = lk_hold_fence(hold);
    sim_actor_says(actor, "resigns from %s, term %" PRIu64, grip->name->text,
                   actor->resigns);
    return lk_leader_resign_async(actor->handle, hold, on_released, actor);
}

static void give_back(sim_actor *actor)
{
    sim_grip *grip = sim_grip_last(actor);
    lk_hold *hold;

    if (grip == NULL) {
        sim_actor_rests(actor);
        return;
    }
    sim_grip_judge_loss(grip);
    sim_judge_name(actor->run, grip->name);
    sim_actor_says(actor, "gives %s back%s", grip->name->text,
                   sim_grip_is_valid(grip) ? "" : ", which it has lost");
    actor->operation =
        sim_record_invoke(actor, grip->client, HISTORY_RELEASE, grip, 0, 0);
    actor->released_in = grip->client;
    sim_judge_ended(grip);
    hold = grip->hold;
    grip->hold = NULL;
    actor->calls = true;
    actor->run->counts.operations++;
    if (release(actor, grip, hold) != LK_OK)
        sim_wrong("a release cannot begin");
}

/* ---- rounds ---------------------------------------------------------------------- */

static void round_begin(sim_actor *actor)
{
    if (actor->rounds_left == 0 ||
        (!actor->last &&
         actor->run->schedule.now >= actor->run->plan->ends_at)) {
        actor->over = true;
        sim_actor_says(actor, "is done");
        return;
    }
    actor->rounds_left--;
    actor->text[0] = actor->older[0] = '\0';
    actor->steps_left = (unsigned)sim_below(&actor->random, STEPS_MOST + 1);
    if (sim_actor_can(actor, SIM_HANDS_ON) || turns(actor) ||
        actor->run->plan->profile == SIM_PROFILE_EXTENDED)
        actor->steps_left += STEPS_MOST;
    sim_actor_draws(actor);
    if (actor->last)
        actor->want = (sim_want){actor->plan->primitive,
                                 actor->run->plan->permits, LAST_WAIT_MS, 0};
    if (sim_actor_art(actor)->errand != NULL)
        sim_actor_art(actor)->errand(actor);
    else
        sim_actor_asks(actor);
}

void sim_actor_goes_on(sim_actor *actor, void (*next)(sim_actor *actor))
{
    sim_actor_later(actor, sim_actor_while(actor, actor->plan->hold_ms), next);
}

void sim_actor_rests(sim_actor *actor)
{
    actor->at = actor->home;
    sim_actor_later(actor, sim_actor_while(actor, actor->plan->pause_ms),
                    round_begin);
}

/* ---- life ------------------------------------------------------------------------- */

void sim_actor_init(sim_actor *actor, sim_run *run, const sim_item *item)
{
    memset(actor, 0, sizeof(*actor));
    actor->run = run;
    actor->number = ++run->last_id;
    actor->plan = &item->as.actor;
    actor->home = actor->at = sim_client_of(run, actor->plan->client);
    actor->random = actor->plan->seed;
    actor->rounds_left = actor->plan->rounds;
    actor->event.happen = on_event;
    if (actor->home == NULL) {
        actor->over = true;
        return;
    }
    (void)snprintf(actor->name, sizeof(actor->name), "%s.%u", actor->home->name,
                   item->id);
    actor->of = &run->names[sim_actor_art(actor)->family]
                           [actor->home->item->as.client.db][actor->plan->name];
    run->has_family[actor->of->family] = true;
}

void sim_actor_begin(sim_actor *actor)
{
    const sim_client *home = actor->home;
    const bool owns =
        actor->run->plan->hosts == 1; /* an owner is of a client */

    if (sim_actor_art(actor)->make(&actor->handle, home, actor->of->text,
                                   actor->run->plan) != LK_OK ||
        (owns && lk_owner_new(&actor->owner, home->client) != LK_OK))
        sim_wrong("an actor cannot begin");
    sim_actor_later(actor, sim_actor_while(actor, actor->plan->pause_ms),
                    round_begin);
}

bool sim_actor_is_queued(const sim_actor *actor)
{
    const lk__wait *wait;

    if (actor->home == NULL || actor->home->client == NULL || actor->over ||
        actor->home->process.dead || sim_actor_art(actor)->acquire == NULL)
        return false;
    for (wait = actor->home->client->work->first_wait; wait != NULL;
         wait = wait->next_all) {
        if (wait->data == actor)
            return wait->claim != NULL &&
                   wait->claim->state == LK__CLAIM_QUEUED &&
                   wait->claim->seek->ticket != 0;
    }
    return false;
}

void sim_actor_leave(sim_actor *actor, const sim_client *client)
{
    for (int i = 0; i < SIM_GRIPS; i++) {
        sim_grip *grip = &actor->grips[i];

        if (grip->hold == NULL || grip->client != client)
            continue;
        sim_judge_ended(grip);
        lk_hold_release(grip->hold);
        grip->hold = NULL;
    }
    if (actor->home != client) {
        if (actor->at == client && !actor->calls && !actor->over)
            sim_actor_rests(actor);
        return;
    }
    actor->over = true;
    sim_flight_leave(actor);
    sim_event_clear(&actor->run->schedule, &actor->event);
    sim_event_clear(&actor->run->schedule, &actor->cancel_event);
    if (actor->handle != NULL)
        sim_actor_art(actor)->free(actor->handle);
    lk_cell_free(actor->cell);
    lk_owner_free(actor->owner);
    lk_cancel_free(actor->cancel);
    actor->handle = NULL;
    actor->cell = NULL;
    actor->owner = NULL;
    actor->cancel = NULL;
}
