/* SPDX-License-Identifier: MIT */

/* Builds a run, lets it happen, and gives everything back. */

#include "play/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "play/actor.h"
#include "play/client.h"
#include "play/fault.h"
#include "play/judge.h"
#include "play/probe.h"
#include "play/record.h"
#include "world/random.h"

/* Once nobody begins anything new, everything has to be over after this. */
enum {
    DRAIN_S = 90,
    SHUT_S = 30,
    LEASES_S = 40,
    LOOK_MOST_MS = 60,
    AGE_S = 86400 /* of servers, at first: some clients' hosts are younger */
};

/* ---- what is judged all the time --------------------------------------------- */

/* Which waits stand in the server's queue. */
static void see_queued(sim_run *run)
{
    for (size_t i = 0; i < run->actor_count; i++) {
        sim_actor *actor = &run->actors[i];

        if (actor->operation != 0 && !actor->queued &&
            sim_actor_is_queued(actor)) {
            actor->queued = true;
            sim_record_queued(actor);
        }
    }
}

static void judge_hosts(sim_run *run)
{
    for (unsigned i = 0; i < run->plan->hosts; i++) {
        if (run->hosts[i].killed_other)
            sim_violated(run, "somebody ends another's connection to %s",
                         run->hosts[i].name);
    }
}

static void on_look(sim_event *event)
{
    sim_run *run = (sim_run *)(void *)((char *)event - offsetof(sim_run, look));

    sim_judge_all(run);
    judge_hosts(run);
    see_queued(run);
    sim_event_set(&run->schedule, event,
                  run->schedule.now +
                      sim_between(&run->random, 1,
                                  (uint64_t)LOOK_MOST_MS * 1000) *
                          SIM_US);
}

/* ---- building ------------------------------------------------------------------ */

static size_t items_of(const sim_plan *plan, sim_item_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < plan->count; i++)
        count += plan->items[i].kind == kind && !plan->items[i].off;
    return count;
}

/* Two that differ by braces only must not meet. Of semaphores the one that is a
   tag is refused. */
static void name_make(sim_name *name, sim_family family, unsigned db, int i)
{
    static const char *const forms[SIM_FAMILIES][SIM_NAMES] =
        {{"lock", "{lock}", "lock2", "{lock2}"},
         {"book", "{book}", "book2", "{book2}"},
         {"pool", "pool{2}", "pool3", "pool{4}"},
         {"sign", "{sign}", "sign2", "{sign2}"},
         {"red", "green", "blue", "grey"},
         {"all", "{all}", "all2", "{all2}"},
         {"gate", "{gate}", "gate2", "{gate2}"},
         {"seat", "{seat}", "seat2", "{seat2}"},
         {"vote", "{vote}", "vote2", "{vote2}"},
         {"yard", "{yard}", "yard2", "{yard2}"},
         {"note", "{note}", "note2", "{note2}"},
         {"plane", "{plane}", "plane2", "{plane2}"}};

    name->family = family;
    name->db = db;
    name->text = forms[family][i];
}

static void names_make(sim_run *run)
{
    for (int family = 0; family < SIM_FAMILIES; family++) {
        for (unsigned db = 0; db < SIM_DBS; db++) {
            for (int i = 0; i < SIM_NAMES; i++)
                name_make(&run->names[family][db][i], (sim_family)family, db,
                          i);
        }
    }
}

static void hosts_make(sim_run *run, sim_engine *engine)
{
    for (unsigned i = 0; i < run->plan->hosts; i++) {
        run->host_list[i] = &run->hosts[i].peer;
        sim_host_init(&run->hosts[i], &run->schedule, engine, i,
                      run->plan->seed);
        run->hosts[i].clock.ppm = run->plan->host_ppm;
        if (run->plan->wall_ns != 0)
            run->hosts[i].clock.base = run->plan->wall_ns;
        sim_server_set_nameless(run->hosts[i].server,
                                run->plan->profile == SIM_PROFILE_NAMELESS);
        sim_server_set_age(run->hosts[i].server, AGE_S);
    }
}

static void items_make(sim_run *run)
{
    const sim_plan *plan = run->plan;
    size_t faults = 0;

    /* With room for those who come last. */
    run->clients = sim_alloc((items_of(plan, SIM_CLIENT) + SIM_DBS) *
                             plan->hosts * sizeof(sim_client));
    run->actors =
        sim_alloc((items_of(plan, SIM_ACTOR) + (size_t)SIM_DBS * SIM_NAMES) *
                  sizeof(sim_actor));
    run->faults = sim_alloc(items_of(plan, SIM_FAULT) * sizeof(sim_fault));
    for (size_t i = 0; i < plan->count; i++) {
        const sim_item *item = &plan->items[i];

        if (item->off)
            continue;
        if (item->kind == SIM_CLIENT)
            sim_clients_add(run, item);
        else if (item->kind == SIM_ACTOR)
            sim_actor_init(&run->actors[run->actor_count++], run, item);
        else
            sim_fault_init(&run->faults[faults++], run, item);
    }
    run->fault_count = faults;
}

sim_client *sim_client_of(sim_run *run, unsigned item)
{
    for (size_t i = 0; i < run->client_count; i++) {
        if (run->clients[i].item->id == item)
            return &run->clients[i];
    }
    return NULL;
}

/* ---- playing --------------------------------------------------------------------- */

static bool actors_are_over(const sim_run *run)
{
    for (size_t i = 0; i < run->actor_count; i++) {
        if (!run->actors[i].over)
            return false;
    }
    return true;
}

static bool clients_are_shut(const sim_run *run)
{
    for (size_t i = 0; i < run->client_count; i++) {
        if (!run->clients[i].shut)
            return false;
    }
    return true;
}

/* Until it is so, or until then; false: it is not so. */
static bool
run_until(sim_run *run, bool (*is_so)(const sim_run *run), uint64_t until)
{
    while (!is_so(run)) {
        if (run->violation[0] != '\0' || !sim_step(&run->schedule, until))
            return false;
    }
    return true;
}

static void play(sim_run *run)
{
    if (!run_until(run, actors_are_over, run->plan->ends_at + DRAIN_S * SIM_S))
        sim_violated(run, "somebody does not come to an end");
    sim_judge_all(run);
}

/* Whoever comes last gets all there is, unless leases have become hours by a
   clock that was set back, N was lost with the data, or there are no more fences. */
static void probe(sim_run *run)
{
    sim_run_until(&run->schedule, run->schedule.now + LEASES_S * SIM_S);
    if (run->clock_went_back || run->data_lost || /* the last faults included */
        run->plan->profile == SIM_PROFILE_LIMIT)
        return;
    sim_probe_begin(run);
    if (!run_until(run, actors_are_over, run->schedule.now + DRAIN_S * SIM_S))
        sim_violated(run, "the actor that comes last does not come to an end");
}

static void shut(sim_run *run)
{
    for (size_t i = 0; i < run->client_count; i++)
        sim_client_shut(&run->clients[i]);
    if (!run_until(run, clients_are_shut, run->schedule.now + SHUT_S * SIM_S))
        sim_violated(run, "a client does not shut down");
}

/* ---- giving back ------------------------------------------------------------------ */

/* Whatever the state: after a violation, all of them die. */
static void bury(sim_run *run)
{
    for (size_t i = 0; i < run->client_count; i++) {
        if (run->clients[i].client != NULL && !run->clients[i].process.dead)
            sim_client_kill(&run->clients[i], true);
    }
    sim_run_until(&run->schedule, run->schedule.now + SIM_S);
}

static void names_done(sim_run *run)
{
    for (int family = 0; family < SIM_FAMILIES; family++) {
        for (unsigned db = 0; db < SIM_DBS; db++) {
            for (int i = 0; i < SIM_NAMES; i++)
                sim_known_done(&run->names[family][db][i]);
        }
    }
}

static void run_free(sim_run *run)
{
    for (size_t i = 0; i < run->client_count; i++) {
        sim_client_done(&run->clients[i]);
        sim_process_done(&run->clients[i].process);
    }
    for (size_t i = 0; i < run->fault_count; i++)
        sim_fault_done(&run->faults[i]);
    for (unsigned i = 0; i < run->plan->hosts; i++)
        sim_host_done(&run->hosts[i]);
    sim_schedule_done(&run->schedule);
    names_done(run);
    free(run->clients);
    free(run->actors);
    free(run->faults);
    free(run);
}

static void result_take(const sim_run *run, sim_result *result)
{
    result->counts = run->counts;
    result->counts.steps = run->schedule.steps;
    for (unsigned i = 0; i < run->plan->hosts; i++)
        result->counts.commands += sim_server_commands(run->hosts[i].server);
    result->trace = run->schedule.trace;
    memcpy(result->violation, run->violation, sizeof(run->violation));
}

void sim_run_play(sim_plan *plan, sim_engine *engine, FILE *story,
                  uint64_t *fault_counts, sim_result *ret_result)
{
    sim_run *run = sim_alloc(sizeof(*run));

    sim_playing("./dev sim --seed %" PRIu64 " --profile %s%s --trace",
                plan->seed, sim_profile_word(plan->profile),
                plan->is_short ? " --short" : "");
    run->plan = plan;
    run->fault_counts = fault_counts;
    run->random = sim_random_for(plan->seed, 11);
    run->look.happen = on_look;
    sim_schedule_init(&run->schedule, story);
    names_make(run);
    sim_record_begin(run);
    hosts_make(run, engine);
    items_make(run);
    sim_event_set(&run->schedule, &run->look, 0);
    play(run);
    if (run->violation[0] == '\0')
        shut(run);
    if (run->violation[0] == '\0')
        probe(run);
    if (run->violation[0] == '\0')
        shut(run);
    sim_event_clear(&run->schedule, &run->look);
    sim_record_end(run);
    bury(run);
    result_take(run, ret_result);
    run_free(run);
}
