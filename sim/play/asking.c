/* SPDX-License-Identifier: MIT */

/* The calls of an actor, and what it asks for; see actor.h and asking.h. */

#include "play/asking.h"

#include <inttypes.h>

#include "play/actor.h"
#include "play/art.h"
#include "play/client.h"
#include "play/grip.h"
#include "play/judge.h"
#include "play/record.h"
#include "world/random.h"

void sim_actor_draws(sim_actor *actor)
{
    uint64_t *random = &actor->random;
    uint64_t dice = sim_below(random, 100);
    uint64_t wait_ms = sim_spread(random, 1, 8000);
    uint64_t lease_ms = sim_spread(random, 20, 5000);
    bool leases = sim_chance(random, 40);

    actor->want.mode = actor->plan->primitive;
    actor->want.count = actor->want.mode == SIM_SEMAPHORE
                            ? sim_between(random, 1, actor->run->plan->permits)
                            : 1;
    actor->want.wait_ms = dice < 15 ? 0 : (int64_t)wait_ms;
    if (actor->run->plan->profile == SIM_PROFILE_EXTENDED)
        actor->want.wait_ms += 4000; /* somebody always waits */
    if (actor->want.mode == SIM_REDLOCK)
        lease_ms += SIM_NODE_TIMEOUT_MS;
    actor->want.lease_ms =
        leases && sim_actor_can(actor, SIM_LEASES) ? lease_ms : 0;
}

static uint64_t clock_of(const sim_actor *actor)
{
    return sim_process_clock(&actor->home->process);
}

/* The same when a call begins: it may have been held up in the middle of
   something. */
static uint64_t clock_now(const sim_actor *actor)
{
    return sim_process_now(&actor->home->process);
}

/* Also the time that its process stands in between. */
static void judge_time(sim_actor *actor, const char *call)
{
    uint64_t stood = sim_client_stood_ns(actor->home) - actor->stopped_before;

    if (clock_of(actor) > actor->ends_at + stood)
        sim_violated(actor->run, "%s: %s ended %.3f s late", actor->name, call,
                     (double)(clock_of(actor) - actor->ends_at - stood) / 1e9);
}

/* Nothing of it is known of one that is entered again. */
static uint64_t lease_asked(sim_actor *actor)
{
    if (sim_grip_first(actor) != NULL)
        return 0;
    return actor->want.lease_ms > 0 ? actor->want.lease_ms
                                    : actor->home->item->as.client.watchdog_ms;
}

void sim_actor_calls(sim_actor *actor, int64_t wait_ms)
{
    uint64_t timeout = actor->home->item->as.client.command_timeout_ms;

    actor->calls = true;
    actor->asked_at = clock_now(actor);
    actor->stopped_before = sim_client_stood_ns(actor->home);
    actor->ends_at =
        actor->asked_at +
        ((uint64_t)wait_ms + (wait_ms == 0 ? 2 * timeout : 0) + SIM_LATE_MS) *
            SIM_MS;
    actor->run->counts.operations++;
}

/* Whether others of its client ask for the name, or hold it there. */
static bool has_company(const sim_actor *actor)
{
    const sim_run *run = actor->run;

    for (const sim_grip *grip = actor->of->grips; grip != NULL;
         grip = grip->next) {
        if (grip->client == actor->home)
            return true;
    }
    for (size_t i = 0; i < run->actor_count; i++) {
        const sim_actor *other = &run->actors[i];

        if (other != actor && other->home == actor->home &&
            other->of == actor->of && other->calls)
            return true;
    }
    return false;
}

/* A server that has lost data gives the name to others while a client may pass on,
   among its own, what it was given before: its answer may be under way. */
static uint64_t fence_floor(const sim_actor *actor)
{
    return actor->run->data_lost && has_company(actor) ? 0 : actor->of->fence;
}

static void call_begin(sim_actor *actor, int64_t wait_ms)
{
    actor->fence_floor = fence_floor(actor);
    sim_actor_calls(actor, wait_ms);
    actor->queued = false;
    actor->upgrades = actor->want.mode == SIM_WRITE && sim_grip_is_base(actor);
    actor->operation =
        sim_record_invoke(actor, actor->home, HISTORY_ACQUIRE, NULL,
                          actor->run->schedule.now + (uint64_t)wait_ms * SIM_MS,
                          lease_asked(actor));
}

void sim_actor_sleeps(sim_actor *actor, sim_client *client)
{
    actor->calls = true;
    actor->sleeps_in = client;
    actor->depth = ++actor->run->depth;
}

void sim_actor_wakes(sim_actor *actor)
{
    actor->calls = false;
    actor->sleeps_in = NULL;
    actor->run->depth--;
}

/* True: it is of no use any more; a dead client's callbacks are heard only when
   its memory is given back. */
bool sim_actor_called(sim_actor *actor, const char *call, lk_status status)
{
    actor->calls = false;
    if (actor->home->process.dead || actor->over)
        return true;
    sim_judge_status(actor, call, status);
    judge_time(actor, call);
    return false;
}

static void on_acquired(lk_status status, lk_hold *hold, void *data)
{
    sim_actor *actor = data;

    sim_event_clear(&actor->run->schedule, &actor->cancel_event);
    if (sim_actor_called(actor, "acquire", status)) {
        lk_hold_release(hold);
        return;
    }
    if (status != LK_OK) {
        sim_record_return(actor, actor->home, HISTORY_ACQUIRE, actor->operation,
                          status, NULL, 0);
        actor->operation = 0;
        sim_actor_says(actor, "does not get %s: %s", actor->of->text,
                       lk_status_name(status));
        if (actor->last)
            sim_violated(actor->run, "at the end nobody gets %s: %s",
                         actor->of->text, lk_status_name(status));
        if (sim_grip_first(actor) == NULL)
            sim_actor_rests(actor);
        else
            sim_actor_later(actor, sim_actor_while(actor, actor->plan->hold_ms),
                            sim_actor_holds_on);
        return;
    }
    if (sim_grip_first(actor) == NULL)
        sim_grip_judge_lease(actor, hold);
    sim_grip_new(actor, actor->home, hold, actor->number, lease_asked(actor));
    sim_actor_later(actor, sim_actor_while(actor, actor->plan->hold_ms),
                    sim_actor_holds_on);
}

static void on_cancel(sim_event *event)
{
    sim_actor *actor = (sim_actor *)(void *)((char *)event -
                                             offsetof(sim_actor, cancel_event));

    if (actor->over || !sim_process_runs(&actor->home->process, event))
        return;
    sim_actor_says(actor, "does not want %s any more", actor->of->text);
    lk_cancel_fire(actor->cancel);
}

/* A multilock whose members are of several clients: owners and tokens are not. */
static bool is_over_several(const sim_actor *actor)
{
    return actor->plan->primitive == SIM_MULTILOCK &&
           actor->run->plan->hosts > 1;
}

/* A token that was fired stays so: each call has one of its own. */
static void cancel_prepare(sim_actor *actor, lk_acquire_options *options)
{
    bool cancels = sim_chance(&actor->random, 25);
    uint64_t ns = sim_actor_while(actor, 2000);

    lk_cancel_free(actor->cancel);
    actor->cancel = NULL;
    if (!cancels || !sim_actor_can(actor, SIM_CANCELS) ||
        is_over_several(actor) ||
        lk_cancel_new(&actor->cancel, actor->home->client) != LK_OK)
        return;
    options->cancel = actor->cancel;
    actor->cancel_event.happen = on_cancel;
    sim_event_set(&actor->run->schedule, &actor->cancel_event,
                  actor->run->schedule.now + ns);
}

void sim_actor_asks(sim_actor *actor)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .owner = actor->owner,
                                  .lease_ms = actor->want.lease_ms};
    lk_status status;

    cancel_prepare(actor, &options);
    sim_actor_says(actor, "asks for %s (%s), waits up to %" PRId64 " ms%s",
                   actor->of->text, sim_primitive_word(actor->want.mode),
                   actor->want.wait_ms,
                   actor->want.lease_ms > 0 ? ", for a lease of its own" : "");
    call_begin(actor, actor->want.wait_ms);
    status = sim_actor_art(actor)->acquire(actor->handle, &actor->want,
                                           &options, on_acquired, actor);
    if (status != LK_OK)
        on_acquired(status, NULL, actor);
}
