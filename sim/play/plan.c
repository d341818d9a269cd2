/* SPDX-License-Identifier: MIT */

/* What a seed stands for. */

#include "play/plan.h"

#include <inttypes.h>
#include <string.h>

#include "play/fault.h"
#include "world/random.h"

/* No number of a server's above it can be told from the next. */
#define LAST_FENCE_US (UINT64_C(1) << 53)

enum {
    LEAVES_MODEL_PERCENT = 25,
    CLASSES_A_RUN = 5,
    SHORT_LEASE_MS = 1000,
    LONG_RUN_S = 20,
    MAJORITY_OF = 3,    /* servers that a redlock has */
    SCRIPT_MOST = 48000 /* bytes of the longest one, and some room */
};

static sim_item *item_add(sim_plan *plan, sim_item_kind kind, uint64_t at)
{
    sim_item *item = &plan->items[plan->count];

    if (plan->count == SIM_ITEMS_MOST)
        sim_wrong("a plan of too many items");
    item->id = (unsigned)plan->count++;
    item->kind = kind;
    item->at = at;
    return item;
}

/* ---- clients ---------------------------------------------------------------- */

/* Half of the networks are as quick one way as the other. */
static sim_path path_make(uint64_t *random)
{
    sim_path path = {.open_ns = 0};

    for (int way = 0; way < SIM_WAYS; way++) {
        path.ns[way] = sim_spread(random, 20, 20000) * SIM_US;
        path.jitter_ns[way] =
            sim_chance(random, 60) ? sim_spread(random, 10, 20000) * SIM_US : 0;
    }
    if (sim_chance(random, 50))
        path.ns[SIM_BACK] = path.ns[SIM_THERE];
    return path;
}

/* A stream takes that much at a time, and then has to hear that there is room
   again. The longest script gets through in half of a command's time. */
static size_t send_limit_least(const sim_client_plan *client)
{
    const sim_path *path = &client->path;
    const uint64_t half_ns = client->command_timeout_ms * SIM_MS / 2;
    uint64_t round_ns = 0;

    for (int way = 0; way < SIM_WAYS; way++)
        round_ns += path->ns[way] + path->jitter_ns[way] + client->spread_ns;
    return SCRIPT_MOST * round_ns / half_ns + 1;
}

static void client_add(sim_plan *plan, uint64_t *random, uint64_t at)
{
    sim_client_plan *client = &item_add(plan, SIM_CLIENT, at)->as.client;

    client->watchdog_ms = sim_spread(random, 300, 20000);
    client->command_timeout_ms = sim_spread(random, 100, 2000);
    client->offline_ms = sim_spread(random, 500, 5000);
    client->clock.base = sim_below(random, UINT64_C(1000) * 3600) * SIM_S;
    client->clock.ppm = (int64_t)sim_below(random, 8001) - 4000;
    client->db = sim_chance(random, 15) ? 1 : 0;
    client->send_limit =
        sim_chance(random, 10) ? sim_spread(random, 64, 4096) : 0;
    client->path = path_make(random);
    client->spread_ns =
        sim_chance(random, 40) ? sim_spread(random, 1, 300) * SIM_MS : 0;
    if (plan->profile == SIM_PROFILE_EXTENDED)
        client->watchdog_ms = 300 + client->watchdog_ms % SHORT_LEASE_MS;
    if (client->send_limit > 0 && client->send_limit < send_limit_least(client))
        client->send_limit = send_limit_least(client);
}

static void clients_add(sim_plan *plan, uint64_t *random)
{
    uint64_t count = sim_between(random, 2, 5);

    for (uint64_t i = 0; i < count; i++)
        client_add(plan, random,
                   sim_chance(random, 80) ||
                           plan->profile == SIM_PROFILE_NEWBORN
                       ? 0
                       : sim_below(random, plan->ends_at / SIM_MS) * SIM_MS);
}

/* ---- actors ----------------------------------------------------------------- */

static sim_primitive of_locks(uint64_t dice)
{
    if (dice < 75)
        return SIM_LOCK;
    if (dice < 85)
        return SIM_SPINLOCK;
    return dice < 95 ? SIM_FAIRLOCK : SIM_LEADER;
}

static sim_primitive of_rwlocks(uint64_t dice)
{
    return dice < 45 ? SIM_READ : dice < 60 ? SIM_UPGRADEABLE : SIM_WRITE;
}

/* The exports of a run have names in common. */
static sim_primitive of_exports(uint64_t seed, uint64_t dice)
{
    switch (seed % 4) {
    case 0:
        return SIM_SEMAPHORE;
    case 1:
        return SIM_SIGLOCK;
    case 2:
        return dice < 70 ? SIM_LOCK : SIM_FAIRLOCK;
    default:
        return of_rwlocks(dice);
    }
}

static sim_primitive primitive_draw(const sim_plan *plan, uint64_t *random)
{
    uint64_t dice = sim_below(random, 100);

    switch (plan->profile) {
    case SIM_PROFILE_FAIRLOCK:
        return dice < 85 ? SIM_FAIRLOCK : SIM_LEADER;
    case SIM_PROFILE_RWLOCK:
    case SIM_PROFILE_TURNS:
        return of_rwlocks(dice);
    case SIM_PROFILE_EXTENDED:
        return dice < 15 ? SIM_READ : dice < 45 ? SIM_UPGRADEABLE : SIM_WRITE;
    case SIM_PROFILE_SEMAPHORE:
        return SIM_SEMAPHORE;
    case SIM_PROFILE_SIGLOCK:
        return SIM_SIGLOCK;
    case SIM_PROFILE_STRIPES:
        return SIM_STRIPE;
    case SIM_PROFILE_MULTILOCK:
        return SIM_MULTILOCK;
    case SIM_PROFILE_LATCH:
        return SIM_LATCH;
    case SIM_PROFILE_PLAIN:
        return SIM_PLAIN;
    case SIM_PROFILE_REDLOCK:
        return SIM_REDLOCK;
    case SIM_PROFILE_BARRIER:
        return SIM_BARRIER;
    case SIM_PROFILE_CELL:
        return SIM_CELL;
    case SIM_PROFILE_FLIGHT:
        return SIM_FLIGHT;
    case SIM_PROFILE_EXPORT:
        return of_exports(plan->seed, dice);
    case SIM_PROFILE_TIMED:
        return SIM_TIMED;
    case SIM_PROFILE_NEWBORN:
        return SIM_REDLOCK;
    case SIM_PROFILE_ELECTION:
        return dice < 60 ? SIM_LEADER : SIM_OBSERVER;
    case SIM_PROFILE_LIMIT:
    case SIM_PROFILE_NAMELESS:
    case SIM_PROFILE_LOCK:
    case SIM_PROFILE_ALL:
    default:
        return of_locks(dice);
    }
}

/* A run favours some of them. */
static unsigned skills_draw(uint64_t *random, unsigned favoured)
{
    unsigned skills = 0;

    for (unsigned i = 0; i < SIM_SKILLS_DRAWN; i++) {
        unsigned percent = (favoured >> i & 1) != 0 ? 75 : 10;

        if (1U << i == SIM_FORCES)
            percent = 3;
        skills |= (unsigned)sim_chance(random, percent) << i;
    }
    return skills;
}

static void actor_add(sim_plan *plan, uint64_t *random, const sim_item *client,
                      bool one, unsigned favoured)
{
    sim_actor_plan *actor = &item_add(plan, SIM_ACTOR, client->at)->as.actor;

    actor->client = client->id;
    actor->primitive = primitive_draw(plan, random);
    actor->name = one || sim_chance(random, 60)
                      ? 0
                      : (unsigned)sim_below(random, SIM_NAMES);
    actor->rounds = (unsigned)sim_spread(random, 8, 400);
    actor->seed = sim_draw(random);
    actor->pause_ms = sim_spread(random, 1, 2000);
    actor->hold_ms = sim_spread(random, 1, 3000);
    actor->skills = skills_draw(random, favoured);
    if (plan->profile == SIM_PROFILE_EXPORT)
        actor->skills |= SIM_EXPORTS | SIM_HANDS_ON | SIM_TURNS;
    if (plan->profile == SIM_PROFILE_TURNS)
        actor->skills = SIM_TURNS | SIM_EXTENDS |
                        (actor->skills & (SIM_LEASES | SIM_CANCELS));
    if (plan->profile == SIM_PROFILE_EXTENDED) {
        actor->skills = SIM_TURNS | SIM_EXTENDS;
        actor->name = 0;
        actor->pause_ms %= SHORT_LEASE_MS / 4;
        actor->hold_ms += SHORT_LEASE_MS;
    }
}

static void actors_add(sim_plan *plan, uint64_t *random)
{
    size_t clients = plan->count;
    bool one = sim_chance(random, 50); /* name for all of them */
    unsigned favoured = (unsigned)sim_draw(random);

    for (size_t i = 0; i < clients; i++) {
        uint64_t count = sim_between(random, 1, 3);

        while (count-- > 0)
            actor_add(plan, random, &plan->items[i], one, favoured);
    }
}

/* ---- faults ----------------------------------------------------------------- */

static unsigned weight_in(const sim_plan *plan, unsigned class)
{
    const sim_fault_class *of = &sim_fault_classes[class];

    return of->outside && !plan->leaves_model ? 0 : of->weight;
}

static unsigned class_draw(const sim_plan *plan, uint64_t *random)
{
    unsigned all = 0, class = 0;
    uint64_t dice;

    for (unsigned i = 0; i < sim_fault_class_count; i++)
        all += weight_in(plan, i);
    dice = sim_below(random, all);
    while (dice >= weight_in(plan, class))
        dice -= weight_in(plan, class ++);
    return class;
}

/* A run has a few sorts of faults, and many of each: a little of everything hides
   what two of one sort do together. */
static size_t
classes_draw(const sim_plan *plan, uint64_t *random, unsigned *classes)
{
    size_t count = sim_between(random, 1, CLASSES_A_RUN);

    for (size_t i = 0; i < count; i++)
        classes[i] = class_draw(plan, random);
    if (plan->profile == SIM_PROFILE_TIMED)
        classes[0] = sim_fault_class_find("server-clock");
    else if (plan->profile == SIM_PROFILE_NAMELESS)
        classes[0] = sim_fault_class_find("restart");
    else if (plan->profile == SIM_PROFILE_NEWBORN)
        classes[0] = sim_fault_class_find("newborn");
    else if (plan->profile == SIM_PROFILE_TURNS ||
             plan->profile == SIM_PROFILE_EXTENDED)
        classes[0] =
            sim_fault_class_find(plan->seed % 2 == 0 ? "stop" : "stall");
    return plan->profile == SIM_PROFILE_NEWBORN ||
                   plan->profile == SIM_PROFILE_EXTENDED
               ? 1
               : count;
}

static void
fault_add(sim_plan *plan, uint64_t *random, size_t clients, unsigned number)
{
    uint64_t at = sim_below(random, plan->ends_at / SIM_US) * SIM_US;
    sim_fault_plan *fault = &item_add(plan, SIM_FAULT, at)->as.fault;
    const sim_fault_class *class;

    fault->class = number;
    class = &sim_fault_classes[fault->class];
    fault->client = plan->items[sim_below(random, clients)].id;
    fault->host = (unsigned)sim_below(random, plan->hosts);
    fault->ns = sim_spread(random, class->least, class->most) * SIM_MS;
    fault->detail = sim_draw(random);
    if (plan->profile == SIM_PROFILE_EXTENDED)
        fault->ns += SHORT_LEASE_MS * SIM_MS;
}

/* Every other multilock has its members at several servers. */
static bool is_spread(const sim_plan *plan)
{
    return plan->profile == SIM_PROFILE_REDLOCK ||
           plan->profile == SIM_PROFILE_NEWBORN ||
           (plan->profile == SIM_PROFILE_MULTILOCK && plan->seed / 16 % 2 != 0);
}

/* ---- the plan --------------------------------------------------------------- */

void sim_plan_make(sim_plan *plan, uint64_t seed, sim_profile profile,
                   bool is_short)
{
    uint64_t random = sim_random_for(seed, 7);
    unsigned classes[CLASSES_A_RUN];
    uint64_t faults;
    size_t clients, count;

    memset(plan, 0, sizeof(*plan));
    plan->seed = seed;
    plan->is_short = is_short;
    plan->profile = profile == SIM_PROFILE_ALL
                        ? (sim_profile)(seed % SIM_PROFILES)
                        : profile;
    plan->hosts = is_spread(plan) ? MAJORITY_OF : 1;
    plan->leaves_model = sim_chance(&random, LEAVES_MODEL_PERCENT);
    plan->ends_at =
        sim_spread(&random, 1000, 20000) * SIM_MS / (is_short ? 8 : 1);
    if (plan->profile == SIM_PROFILE_EXTENDED)
        plan->ends_at += LONG_RUN_S * SIM_S / (is_short ? 8 : 1);
    plan->permits = sim_between(&random, 1, 5);
    plan->host_ppm = (int64_t)sim_below(&random, 8001) - 4000;
    if (plan->profile == SIM_PROFILE_LIMIT)
        plan->wall_ns = LAST_FENCE_US * 1000 - plan->ends_at / 2;
    clients_add(plan, &random);
    clients = plan->count;
    actors_add(plan, &random);
    faults = sim_chance(&random, 10) ? 0 : sim_spread(&random, 1, 40);
    if (plan->profile == SIM_PROFILE_EXTENDED)
        faults = 4 + faults % 16;
    count = classes_draw(plan, &random, classes);
    while (faults-- > 0)
        fault_add(plan, &random, clients, classes[faults % count]);
}

bool sim_plan_is_durable(const sim_plan *plan)
{
    return plan->profile == SIM_PROFILE_REDLOCK &&
           plan->seed / 16 % 2 != 0; /* not that by which profiles are drawn */
}

/* ---- for people to read ------------------------------------------------------ */

const char *sim_skill_word(sim_skill skill)
{
    static const char *const words[SIM_SKILLS] = {"extends", "re-enters",
                                                  "cancels", "exports",
                                                  "leases",  "turns",
                                                  "revokes", "forces",
                                                  "hands on"};
    unsigned i = 0;

    while (skill >> i > 1)
        i++;
    return words[i];
}

static void client_print(const sim_client_plan *client, FILE *file)
{
    fprintf(file,
            "client: database %u, watchdog %" PRIu64 " ms, command timeout "
            "%" PRIu64 " ms, offline %" PRIu64 " ms, %.1f ms there, "
            "%.1f ms back\n",
            client->db, client->watchdog_ms, client->command_timeout_ms,
            client->offline_ms, (double)client->path.ns[SIM_THERE] / 1e6,
            (double)client->path.ns[SIM_BACK] / 1e6);
}

static void actor_print(const sim_actor_plan *actor, FILE *file)
{
    fprintf(file, "actor in %u: %s on name %u, %u rounds", actor->client,
            sim_primitive_word(actor->primitive), actor->name, actor->rounds);
    for (unsigned i = 0; i < SIM_SKILLS; i++) {
        if ((actor->skills >> i & 1) != 0)
            fprintf(file, ", %s", sim_skill_word((sim_skill)(1U << i)));
    }
    fprintf(file, "\n");
}

static void fault_print(const sim_item *item, FILE *file)
{
    const sim_fault_plan *fault = &item->as.fault;
    const sim_fault_class *class = &sim_fault_classes[fault->class];

    fprintf(file, "fault at %.3f s: %s%s, client %u, host %u, %.3f s\n",
            (double)item->at / 1e9, class->word,
            class->outside ? " (outside the model)" : "", fault->client,
            fault->host, (double)fault->ns / 1e9);
}

void sim_plan_print(const sim_plan *plan, FILE *file)
{
    fprintf(file, "seed %" PRIu64 ", profile %s, %.1f s\n", plan->seed,
            sim_profile_word(plan->profile), (double)plan->ends_at / 1e9);
    for (size_t i = 0; i < plan->count; i++) {
        const sim_item *item = &plan->items[i];

        if (item->off)
            continue;
        fprintf(file, "%4u  ", item->id);
        if (item->kind == SIM_CLIENT)
            client_print(&item->as.client, file);
        else if (item->kind == SIM_ACTOR)
            actor_print(&item->as.actor, file);
        else
            fault_print(item, file);
    }
}
