/* SPDX-License-Identifier: MIT */

/* Flights: whoever asks for a value gets one that somebody computes; see
   errand.h. */

#include <inttypes.h>
#include <string.h>

#include "play/actor.h"
#include "play/errand.h"
#include "world/random.h"

enum { WAIT_MOST_MS = 6000, LAST_WAIT_MS = 8000, FAILS_PERCENT = 15 };

/* What a computation that fails ends with; no call ends so by itself. */
#define FAILED LK_EMISMATCH

static uint64_t round_ns(const sim_actor *actor)
{
    const sim_path *path = &actor->home->process.paths[0];
    uint64_t ns = 0;

    for (int way = 0; way < SIM_WAYS; way++)
        ns += path->ns[way] + path->jitter_ns[way] +
              actor->home->item->as.client.spread_ns;
    return ns;
}

bool sim_flight_is_answered(const sim_actor *actor)
{
    const sim_client_plan *client = &actor->home->item->as.client;

    return 2 * round_ns(actor) < client->command_timeout_ms * SIM_MS &&
           client->send_limit == 0;
}

bool sim_flight_is_calm(const sim_actor *actor)
{
    return sim_flight_is_answered(actor) &&
           2 * round_ns(actor) < SIM_FLIGHT_LEASE_MS * SIM_MS;
}

/* ---- computing ---- */

static void complete(sim_actor *actor)
{
    lk_flight_ticket *ticket = actor->ticket;
    bool fails = !actor->last && sim_chance(&actor->random, FAILS_PERCENT);
    lk_status status = FAILED;
    char text[24];

    (void)snprintf(text, sizeof(text), "%zu", actor->value);
    if (!fails)
        status = lk_flight_ticket_set(ticket, text, strlen(text));
    sim_actor_says(actor, "has computed %s: %s", actor->of->text,
                   fails ? "it fails" : text);
    sim_computing_ends(actor->run, actor->of, actor->value, fails);
    actor->ticket = NULL;
    lk_flight_complete(ticket, status);
}

/* It leads: its call lasts as long as it computes. */
static void start(lk_flight_ticket *ticket, void *data)
{
    sim_actor *actor = data;

    if (actor->over || actor->home->process.dead) {
        lk_flight_complete(ticket, FAILED);
        return;
    }
    actor->ticket = ticket;
    actor->ends_at = UINT64_MAX / 2;
    actor->value = sim_computing_begins(actor->run, actor->of, actor);
    sim_actor_says(actor, "computes %s", actor->of->text);
    sim_actor_goes_on(actor, complete);
}

void sim_flight_leave(sim_actor *actor)
{
    lk_flight_ticket *ticket = actor->ticket;

    if (ticket == NULL)
        return;
    actor->ticket = NULL;
    sim_computing_ends(actor->run, actor->of, actor->value, true);
    lk_flight_complete(ticket, LK_ECANCELED);
}

/* ---- asking ---- */

static void judge_last(sim_actor *actor, lk_status status)
{
    if (actor->last && status != LK_OK)
        sim_violated(actor->run, "at the end nobody gets %s: %s",
                     actor->of->text, lk_status_name(status));
}

static void on_done(lk_status status, lk_flight_value *value, void *data)
{
    sim_actor *actor = data;

    if (!sim_actor_called(actor, "a flight", status)) {
        sim_actor_says(actor, "gets %s: %s", actor->of->text,
                       value != NULL ? (const char *)value->bytes
                                     : lk_status_name(status));
        if (status == LK_OK || status == FAILED)
            sim_computing_told(actor->run, actor->of, actor,
                               value != NULL ? value->bytes : NULL);
        if (status == LK_ETIMEDOUT)
            sim_computing_missed(actor->run, actor->of, actor);
        judge_last(actor, status);
        sim_actor_rests(actor);
    }
    lk_flight_value_free(value);
}

void sim_errand_flight(sim_actor *actor)
{
    uint64_t wait_ms = sim_chance(&actor->random, 15)
                           ? 0
                           : sim_spread(&actor->random, 1, WAIT_MOST_MS);
    lk_status status;

    if (actor->last)
        wait_ms = LAST_WAIT_MS;
    sim_actor_says(actor, "asks for %s", actor->of->text);
    sim_actor_calls(actor, (int64_t)wait_ms);
    actor->began_at = actor->run->schedule.now;
    status = lk_flight_do_async(actor->handle, "k", (int64_t)wait_ms, NULL,
                                start, on_done, actor);
    if (status != LK_OK)
        on_done(status, NULL, actor);
}
