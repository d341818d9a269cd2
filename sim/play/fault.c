/* SPDX-License-Identifier: MIT */

/* What happens to clients, networks and servers. */

#include "play/fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "claims/node.h"
#include "engine/client.h"
#include "play/client.h"
#include "play/forge.h"
#include "play/record.h"
#include "world/random.h"

static void server_clock(sim_run *run, sim_fault *fault);

/* Whether it leaves the model. A redlock knows of restarts, and a server has no
   vote after one; unless it is said to lose nothing. */
static bool leaves_model(const sim_fault *fault)
{
    const sim_fault_class *class = &sim_fault_classes[fault->plan->class];
    const sim_plan *plan = fault->run->plan;

    if (plan->profile == SIM_PROFILE_TIMED && class->happen == server_clock)
        return false; /* nobody holds anything there */
    return class->outside && (plan->profile != SIM_PROFILE_REDLOCK ||
                              !class->restarts || sim_plan_is_durable(plan));
}

static void tell(const sim_run *run, const char *subject, const char *words)
{
    sim_tell(&run->schedule, subject, "%s", words);
}

/* Whom it happens to, on the way to that server; NULL: not there, or dead. */
static sim_client *victim(sim_run *run, const sim_fault_plan *fault)
{
    sim_client *client = sim_client_of(run, fault->client);

    if (client == NULL || client->client == NULL || client->process.dead)
        return NULL;
    return sim_client_to(client, fault->host);
}

static sim_host *host_of(sim_run *run, const sim_fault_plan *fault)
{
    return &run->hosts[fault->host];
}

/* ---- the network ---------------------------------------------------------------- */

static bool chooses(const sim_fault_plan *fault, const lk__link *link)
{
    /* All streams, or one in two. */
    return (fault->detail & 1) != 0 ||
           (fault->detail >> (8 + link->number % 32) & 1) != 0;
}

static void slow(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);
    uint64_t random = fault->plan->detail;
    sim_path *path;

    if (client == NULL)
        return;
    path = &client->process.paths[fault->plan->host];
    for (int way = 0; way < SIM_WAYS; way++) {
        path->ns[way] = sim_spread(&random, 20, 400000) * SIM_US;
        path->jitter_ns[way] = sim_spread(&random, 10, 200000) * SIM_US;
    }
    sim_tell(&run->schedule, client->name,
             "has another network: %.1f ms there, %.1f ms back",
             (double)path->ns[SIM_THERE] / 1e6,
             (double)path->ns[SIM_BACK] / 1e6);
}

/* The ways that stall: there, back, or both. */
static bool concerns(const sim_fault_plan *fault, int way)
{
    uint64_t dice = fault->detail >> 4 & 3;

    return dice >= 2 || dice == (uint64_t)way;
}

static void stall_links(sim_client *client, const sim_fault_plan *fault,
                        int way, uint64_t to)
{
    for (lk__link *link = client->process.links; link != NULL;
         link = link->next) {
        if (!link->closed && chooses(fault, link))
            sim_link_stall(link, (sim_way)way, to);
    }
}

static void stall(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);
    uint64_t to = run->schedule.now + fault->plan->ns;

    if (client == NULL)
        return;
    for (int way = 0; way < SIM_WAYS; way++) {
        if (!concerns(fault->plan, way))
            continue;
        stall_links(client, fault->plan, way, to);
        if ((fault->plan->detail & 1) != 0)
            client->process.paths[fault->plan->host].stalled_to[way] = to;
        sim_tell(&run->schedule, client->name,
                 "%s stalls %s the server for %.3f s",
                 (fault->plan->detail & 1) != 0 ? "everything"
                                                : "some of its streams",
                 way == SIM_THERE ? "on the way to" : "on the way back from",
                 (double)fault->plan->ns / 1e9);
    }
}

static void cut(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);
    sim_break how = {.arrives = (fault->plan->detail >> 1 & 1) != 0,
                     .server_told = (fault->plan->detail >> 2 & 3) != 0,
                     .client_told = true};

    if (client == NULL)
        return;
    sim_tell(&run->schedule, client->name,
             "loses %s of its connections; what was under way %s%s",
             (fault->plan->detail & 1) != 0 ? "all" : "some",
             how.arrives ? "arrives" : "does not arrive",
             how.server_told ? "" : "; the server does not notice");
    for (lk__link *link = client->process.links; link != NULL;
         link = link->next) {
        if (!link->closed && chooses(fault->plan, link))
            sim_link_break(link, &how);
    }
}

/* Nothing arrives any more, and nobody says so. */
static void half_open(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);

    if (client == NULL)
        return;
    sim_tell(&run->schedule, client->name,
             "has half-open connections from now on");
    for (lk__link *link = client->process.links; link != NULL;
         link = link->next) {
        if (link->closed || !chooses(fault->plan, link))
            continue;
        for (int way = 0; way < SIM_WAYS; way++) {
            if (concerns(fault->plan, way))
                sim_link_lose(link, (sim_way)way);
        }
    }
}

/* ---- processes ------------------------------------------------------------------ */

static void stop(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);

    if (client == NULL)
        return;
    sim_tell(&run->schedule, client->name, "is stopped for %.3f s",
             (double)fault->plan->ns / 1e9);
    for (unsigned host = 0; host < run->plan->hosts; host++)
        sim_process_stop(&sim_client_to(client, host)->process,
                         fault->plan->ns);
}

/* In the middle of something; its other threads stand as well. */
static void hold_up(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);

    if (client != NULL)
        sim_process_hold_up(&client->process, fault->plan->ns,
                            1 + (unsigned)(fault->plan->detail % 40));
}

/* Only its clock goes on, as that of a machine that was suspended. */
static void nap(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);

    if (client == NULL)
        return;
    sim_tell(&run->schedule, client->name, "finds its clock %.3f s later",
             (double)fault->plan->ns / 1e9);
    for (unsigned host = 0; host < run->plan->hosts; host++)
        sim_process_sleep(&sim_client_to(client, host)->process,
                          fault->plan->ns);
}

static void death(sim_run *run, sim_fault *fault)
{
    sim_client *client = victim(run, fault->plan);

    if (client != NULL)
        sim_client_kill(client, (fault->plan->detail & 1) != 0);
}

/* ---- servers -------------------------------------------------------------------- */

static void server_stop(sim_run *run, sim_fault *fault)
{
    sim_host *host = host_of(run, fault->plan);

    sim_tell(&run->schedule, host->name, "is stopped for %.3f s",
             (double)fault->plan->ns / 1e9);
    sim_host_stop(host, fault->plan->ns);
}

static void admin(sim_run *run, const sim_fault *fault, const char *command)
{
    sim_host *host = host_of(run, fault->plan);

    sim_tell(&run->schedule, host->name, "is told: %s", command);
    (void)sim_server_admin(host->server, command);
}

static void restart(sim_run *run, sim_fault *fault)
{
    sim_host *host = host_of(run, fault->plan);

    tell(run, host->name, "dies and comes back with its data");
    sim_server_restart(host->server, true);
    host->down = true;
}

static void restart_end(sim_run *run, sim_fault *fault)
{
    host_of(run, fault->plan)->down = false;
}

static void forget_scripts(sim_run *run, sim_fault *fault)
{
    admin(run, fault, "SCRIPT FLUSH");
}

static void client_kill(sim_run *run, sim_fault *fault)
{
    admin(run, fault,
          (fault->plan->detail & 1) != 0 ? "CLIENT KILL TYPE normal"
                                         : "CLIENT KILL TYPE pubsub");
}

static void full(sim_run *run, sim_fault *fault)
{
    admin(run, fault, "CONFIG SET maxmemory 1");
}

static void full_end(sim_run *run, sim_fault *fault)
{
    admin(run, fault, "CONFIG SET maxmemory 0");
}

/* What a script has begun it takes back, if it is denied one command, or two.
   A user that may set neither an end nor delete anything can leave a key for
   ever. */
enum { DENIED_MOST = 2 };

static void deny(sim_run *run, sim_fault *fault)
{
    static const char *const words[] = {"publish",   "pexpire",   "hset",
                                        "del",       "zadd",      "zrem",
                                        "hdel",      "set",       "pubsub",
                                        "evalsha",   "subscribe", "client|kill",
                                        "client|id", "get",       "time",
                                        "info"};
    sim_host *host = host_of(run, fault->plan);
    char command[64];

    if (host->denied == DENIED_MOST)
        return;
    host->denied++;
    (void)snprintf(
        command, sizeof(command), "ACL SETUSER default -%s",
        words[fault->plan->detail % (sizeof(words) / sizeof(words[0]))]);
    admin(run, fault, command);
}

static void deny_end(sim_run *run, sim_fault *fault)
{
    host_of(run, fault->plan)->denied = 0;
    admin(run, fault, "ACL SETUSER default +@all");
}

static void refuse(sim_run *run, sim_fault *fault)
{
    static const sim_refusal refusals[] = {SIM_REFUSES_LOADING,
                                           SIM_REFUSES_BUSY,
                                           SIM_REFUSES_MISCONF,
                                           SIM_REFUSES_NOREPLICAS,
                                           SIM_REFUSES_CLIENTS};

    tell(run, host_of(run, fault->plan)->name, "refuses what comes");
    sim_server_refuse(host_of(run, fault->plan)->server,
                      refusals[fault->plan->detail % 5]);
}

static void refuse_end(sim_run *run, sim_fault *fault)
{
    tell(run, host_of(run, fault->plan)->name, "serves again");
    sim_server_refuse(host_of(run, fault->plan)->server, SIM_REFUSES_NOTHING);
}

/* ---- messages that nobody should believe ----------------------------------------- */

static void forge(sim_run *run, sim_fault *fault)
{
    sim_forge(run, host_of(run, fault->plan), fault->plan->detail);
}

/* ---- outside the model ---------------------------------------------------------- */

static void restart_empty(sim_run *run, sim_fault *fault)
{
    sim_host *host = host_of(run, fault->plan);

    tell(run, host->name, "dies and comes back without its data");
    run->data_lost |= leaves_model(fault);
    sim_server_restart(host->server, false);
}

/* Whether each client that lives has been greeted by the process that runs. */
static bool is_known(const sim_run *run, const sim_host *host)
{
    for (size_t i = 0; i < run->client_count; i++) {
        const sim_client *client = &run->clients[i];

        if (client->host == host->peer.number && client->client != NULL &&
            !client->process.dead &&
            strcmp(client->client->node->command_greeting.run_id,
                   sim_server_run_id(host->server)) != 0)
            return false;
    }
    return true;
}

/* Its clock is set once it runs: it seems to have been there for long. A client
   that has not seen the process before it cannot know better. */
static void newborn(sim_run *run, sim_fault *fault)
{
    sim_host *host = host_of(run, fault->plan);

    if (!is_known(run, host))
        return;
    tell(run, host->name, "dies and comes back without its data");
    sim_server_restart(host->server, false);
    host->down = true;
}

static void newborn_end(sim_run *run, sim_fault *fault)
{
    sim_host *host = host_of(run, fault->plan);

    if (!host->down)
        return;
    tell(run, host->name, "has its clock set by an hour");
    sim_clock_step(&host->clock, (int64_t)(3600 * SIM_S));
    host->down = false;
}

static void copy(sim_run *run, sim_fault *fault)
{
    fault->snapshot = sim_server_snapshot(host_of(run, fault->plan)->server);
}

static void copy_back(sim_run *run, sim_fault *fault)
{
    sim_host *host = host_of(run, fault->plan);

    sim_tell(&run->schedule, host->name,
             "fails; the next one has what it had %.3f s ago",
             (double)fault->plan->ns / 1e9);
    run->left_model |= leaves_model(fault);
    run->data_lost |= leaves_model(fault);
    sim_server_restart(host->server, false);
    sim_server_restore(host->server, fault->snapshot);
}

/* To either side. */
static int64_t step_of(const sim_fault *fault)
{
    return (fault->plan->detail & 1) != 0 ? (int64_t)fault->plan->ns
                                          : -(int64_t)fault->plan->ns;
}

static void server_clock(sim_run *run, sim_fault *fault)
{
    sim_host *host = host_of(run, fault->plan);

    sim_tell(&run->schedule, host->name, "has its clock set by %.3f s",
             (double)step_of(fault) / 1e9);
    run->clock_went_back |= step_of(fault) < 0;
    run->clock_went_ahead |= step_of(fault) > 0;
    sim_clock_step(&host->clock, step_of(fault));
}

typedef struct sim_eviction {
    uint64_t left;
    unsigned db;
    size_t size;
    char name[256];
} sim_eviction;

static void count_key(void *data, const sim_key *key)
{
    (void)key;
    ++*(uint64_t *)data;
}

static void choose_key(void *data, const sim_key *key)
{
    sim_eviction *eviction = data;

    if (eviction->left-- != 0 || key->size > sizeof(eviction->name))
        return;
    eviction->db = key->db;
    eviction->size = key->size;
    memcpy(eviction->name, key->name, key->size);
}

static void evict(sim_run *run, sim_fault *fault)
{
    sim_server *server = host_of(run, fault->plan)->server;
    sim_eviction eviction = {.size = 0};
    uint64_t count = 0;

    sim_server_each_key(server, count_key, &count);
    if (count == 0)
        return;
    eviction.left = fault->plan->detail % count;
    sim_server_each_key(server, choose_key, &eviction);
    sim_tell(&run->schedule, host_of(run, fault->plan)->name, "evicts %.*s",
             (int)eviction.size, eviction.name);
    run->data_lost |= leaves_model(fault);
    (void)sim_server_evict(server, eviction.db, eviction.name, eviction.size);
}

/* ---- the classes ------------------------------------------------------------------ */

const sim_fault_class sim_fault_classes[] = {
    {"slow", false, false, true, 10, 1, 1, slow, NULL},
    {"stall", false, false, true, 20, 5, 8000, stall, NULL},
    {"cut", false, false, true, 15, 1, 1, cut, NULL},
    {"half-open", false, false, true, 8, 1, 1, half_open, NULL},
    {"stop", false, false, true, 20, 5, 10000, stop, NULL},
    {"hold-up", false, false, true, 15, 5, 6000, hold_up, NULL},
    {"nap", false, false, true, 5, 5, 3600000, nap, NULL},
    {"death", false, false, true, 6, 1, 1, death, NULL},
    {"server-stop", false, false, false, 6, 5, 6000, server_stop, NULL},
    {"restart", false, true, false, 3, 1, 2000, restart, restart_end},
    {"script-flush", false, false, false, 4, 1, 1, forget_scripts, NULL},
    {"client-kill", false, false, false, 4, 1, 1, client_kill, NULL},
    {"full-memory", false, false, false, 5, 50, 6000, full, full_end},
    {"denied", false, false, false, 5, 50, 6000, deny, deny_end},
    {"refusal", false, false, false, 5, 50, 4000, refuse, refuse_end},
    {"forgery", false, false, false, 12, 1, 1, forge, NULL},
    {"empty-restart", true, true, false, 6, 1, 1, restart_empty, NULL},
    {"older-state", true, true, false, 6, 5, 3000, copy, copy_back},
    {"server-clock", true, false, false, 10, 5, 3600000, server_clock, NULL},
    {"eviction", true, false, false, 10, 1, 1, evict, NULL},
    {"newborn", false, true, false, 0, 1, 1000, newborn, newborn_end},
};

const unsigned sim_fault_class_count =
    sizeof(sim_fault_classes) / sizeof(sim_fault_classes[0]);

unsigned sim_fault_class_find(const char *word)
{
    unsigned i = 0;

    while (strcmp(sim_fault_classes[i].word, word) != 0)
        i++;
    return i;
}

/* ---- when ------------------------------------------------------------------------- */

/* A client that was cut off, or stopped, comes back within so long. */
enum { CALM_S = 12 };

/* Outside the model only this is claimed; fences are judged in judge.c. */
enum { RULES_OUTSIDE = CHECKER_ALL & ~(CHECKER_LOSS | CHECKER_FORM) };

/* Whom the history says it was done to; NULL: all. */
static const sim_client *sufferer(const sim_fault *fault)
{
    return sim_fault_classes[fault->plan->class].of_client
               ? sim_client_of(fault->run, fault->plan->client)
               : NULL;
}

static void on_calm(sim_event *event)
{
    const sim_fault *fault =
        (sim_fault *)(void *)((char *)event - offsetof(sim_fault, calm));
    const sim_client *client = sufferer(fault);

    if (client == NULL || !client->process.dead)
        sim_record_fault(fault->run, client, CHECKER_DEADLINES, true);
}

/* Outside the model there is no way back. */
static void record(sim_fault *fault)
{
    const sim_fault_class *class = &sim_fault_classes[fault->plan->class];
    const sim_client *client = sufferer(fault);
    sim_run *run = fault->run;

    if (class->of_client && (client == NULL || client->process.dead))
        return;
    if (leaves_model(fault)) {
        sim_record_fault(run, NULL, RULES_OUTSIDE, false);
        return;
    }
    sim_record_fault(run, client, CHECKER_DEADLINES, false);
    fault->calm.happen = on_calm;
    sim_event_set(&run->schedule, &fault->calm,
                  run->schedule.now + fault->plan->ns + CALM_S * SIM_S);
}

/* A death troubles nobody else. */
static void trouble(const sim_fault *fault)
{
    sim_run *run = fault->run;
    uint64_t to = run->schedule.now + fault->plan->ns + CALM_S * SIM_S;

    if (sim_fault_classes[fault->plan->class].happen != death &&
        to > run->calm_from)
        run->calm_from = to;
}

static void on_fault(sim_event *event)
{
    sim_fault *fault =
        (sim_fault *)(void *)((char *)event - offsetof(sim_fault, event));
    const sim_fault_class *class = &sim_fault_classes[fault->plan->class];
    sim_run *run = fault->run;

    sim_trace(&run->schedule, 'f', fault->plan->class);
    if (fault->begun) {
        class->end(run, fault);
        return;
    }
    fault->begun = true;
    run->left_model |= class->end == NULL && leaves_model(fault);
    trouble(fault);
    run->counts.faults++;
    run->fault_counts[fault->plan->class]++;
    record(fault);
    class->happen(run, fault);
    sim_host_touched(host_of(run, fault->plan));
    if (class->end != NULL)
        sim_event_set(&run->schedule, event,
                      run->schedule.now + fault->plan->ns);
}

void sim_fault_init(sim_fault *fault, sim_run *run, const sim_item *item)
{
    fault->run = run;
    fault->plan = &item->as.fault;
    fault->event.happen = on_fault;
    sim_event_set(&run->schedule, &fault->event, item->at);
}

void sim_fault_done(sim_fault *fault)
{
    if (fault->snapshot != NULL)
        sim_snapshot_free(fault->snapshot);
}
