/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_PLAN_H
#define SIM_PLAY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "play/profile.h"
#include "world/process.h"

/*
 * All that a run is made of, as a list: the clients, what acts in them, and
 * what happens to them. It follows from the seed and the profile alone; each
 * item can be left out, and the rest stays as it was. That is how a failing
 * run is made smaller.
 */

typedef enum sim_item_kind { SIM_CLIENT, SIM_ACTOR, SIM_FAULT } sim_item_kind;

typedef struct sim_client_plan {
    uint64_t watchdog_ms, command_timeout_ms, offline_ms;
    sim_clock clock;
    unsigned db;
    size_t send_limit;
    sim_path path;      /* to each host, at first */
    uint64_t spread_ns; /* see sim_process */
} sim_client_plan;

/* One that asks for something, has it for a while, and gives it back. */
typedef struct sim_actor_plan {
    unsigned client; /* an item's id */
    sim_primitive primitive;
    unsigned name;
    unsigned rounds;
    uint64_t seed;
    uint64_t pause_ms, hold_ms; /* most of them are shorter */
    unsigned skills;            /* bits of sim_skill: what it may do besides */
} sim_actor_plan;

typedef enum sim_skill {
    SIM_EXTENDS = 1 << 0,
    SIM_REENTERS = 1 << 1,
    SIM_CANCELS = 1 << 2,
    SIM_EXPORTS = 1 << 3,
    SIM_LEASES = 1 << 4, /* names a lease of its own */
    SIM_TURNS = 1 << 5,  /* upgrades and downgrades */
    SIM_REVOKES = 1 << 6,
    SIM_FORCES = 1 << 7,
    SIM_HANDS_ON = 1 << 8, /* exports again what it has imported, and keeps what
                              is out of date */
    SIM_SKILLS = 9,
    SIM_SKILLS_DRAWN = 8 /* the first; the profile gives the rest */
} sim_skill;

typedef struct sim_fault_plan {
    unsigned class;  /* index of sim_fault_classes; see fault.h */
    unsigned client; /* an item's id */
    unsigned host;
    uint64_t ns;     /* for so long */
    uint64_t detail; /* what else there is to choose */
} sim_fault_plan;

typedef struct sim_item {
    unsigned id;
    sim_item_kind kind;
    bool off; /* left out */
    uint64_t at;
    union {
        sim_client_plan client;
        sim_actor_plan actor;
        sim_fault_plan fault;
    } as;
} sim_item;

enum { SIM_ITEMS_MOST = 256, SIM_NAMES = 4 };

typedef struct sim_plan {
    uint64_t seed;
    sim_profile profile;
    bool is_short;
    uint64_t ends_at;  /* nobody begins anything new */
    bool leaves_model; /* faults outside the model are among the faults */
    unsigned hosts;
    uint64_t permits; /* of each semaphore */
    int64_t host_ppm;
    uint64_t
        wall_ns; /* what the servers' clocks show at first; 0: a day of now */
    sim_item items[SIM_ITEMS_MOST];
    size_t count;
} sim_plan;

/* is_short: an eighth of the time, with as many faults. */
void sim_plan_make(sim_plan *plan, uint64_t seed, sim_profile profile,
                   bool is_short);

/* Whether a redlock is told that its servers lose nothing: in one run of two of
   the profile redlock. */
bool sim_plan_is_durable(const sim_plan *plan);

/* Writes one line for each item that is not left out. */
void sim_plan_print(const sim_plan *plan, FILE *file);

const char *sim_skill_word(sim_skill skill);

#endif /* SIM_PLAY_PLAN_H */
