/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_RUN_H
#define SIM_PLAY_RUN_H

#include <latchkey/latchkey.h>

#include "check/check.h"
#include "play/known.h"
#include "play/plan.h"
#include "world/host.h"

/*
 * One run: clients, actors and servers on one schedule, and what is known of
 * who holds what.
 */

typedef struct sim_fault sim_fault;

typedef enum sim_family {
    SIM_OF_LOCK,
    SIM_OF_RWLOCK,
    SIM_OF_SEMAPHORE,
    SIM_OF_SIGLOCK,
    SIM_OF_STRIPES,
    SIM_OF_MULTILOCK,
    SIM_OF_LATCH,
    SIM_OF_PLAIN,
    SIM_OF_REDLOCK,
    SIM_OF_BARRIER,
    SIM_OF_CELL,
    SIM_OF_FLIGHT,
    SIM_FAMILIES
} sim_family;

enum { SIM_DBS = 2, SIM_GRIPS = 6, SIM_WORDS_MOST = 512 };

/* A client's process with the client in it. Where a run has several servers, one
   process has a client for each; here each of those has one of its own, and what
   happens to the first happens to all of them. */
typedef struct sim_client {
    sim_run *run;
    const sim_item *item;
    unsigned host;            /* its server's number */
    struct sim_client *first; /* of those that are one process */
    char name[8];
    sim_process process; /* its dead: nothing is expected of it any more */
    lk_client *client;   /* NULL: not yet, or not any more */
    sim_event event;     /* its beginning, or its burial */
    bool shut;           /* its shutdown is over */
    unsigned moments;    /* since it died, with calls that had not ended */
} sim_client;

/* What is held under one name. */
struct sim_name {
    sim_family family;
    unsigned db;
    const char *text;
    struct sim_grip *grips;
    uint64_t fence;    /* the largest of an exclusive hold so far */
    uint64_t resigned; /* the largest term that was given up, and told so */
    const struct sim_actor *writer; /* whose that is */
    uint64_t excused_to; /* holds from before this time were forced to end */
    bool was_ended;      /* somebody had a hold of it end */
    sim_values values;   /* of a cell */
    sim_computings computings;
};

/* One hold, and whose. */
typedef struct sim_grip {
    struct sim_grip *next; /* of the name, as long as it is believed */
    sim_name *name;
    sim_actor *actor;
    sim_client *client; /* in which it is */
    lk_hold *hold;      /* NULL: none */
    uint64_t id, owner; /* for the history */
    uint64_t lease_ms;  /* what was asked for; 0: not known */
    sim_primitive mode;
    uint64_t count; /* permits */
    uint64_t since;
    uint64_t fence;
    bool believed; /* not given back yet */
    bool lost_told;
} sim_grip;

typedef struct sim_want {
    sim_primitive mode;
    uint64_t count;
    int64_t wait_ms;
    uint64_t lease_ms;
} sim_want;

/* A change of a hold under way. */
typedef struct sim_change {
    uint64_t operation; /* 0: none */
    history_call call;
    sim_client *client;
    sim_grip *grip;
    uint64_t hold;  /* its id; the grip may be another's by now */
    uint64_t fence; /* of a write */
    uint64_t lease_ms;
} sim_change;

struct sim_actor {
    sim_run *run;
    sim_client *home, *at; /* at: where what it holds is */
    const sim_actor_plan *plan;
    char name[16];
    uint64_t random;
    sim_event event;
    void (*next)(sim_actor *actor); /* what it does then */
    void *handle;
    lk_owner *owner;
    lk_cancel *cancel;
    sim_event cancel_event;
    sim_name *of;
    uint64_t number;    /* as an owner in the history */
    uint64_t operation; /* the call under way there; 0: none */
    bool queued;        /* and it was seen in the queue */
    bool upgrades;      /* it began beside an upgradeable hold of its own */
    sim_change change;
    lk_cell *cell;            /* that what it holds guards; NULL: none yet */
    sim_change write;         /* to that */
    history_call errand;      /* the call under way; see errand.h */
    uint64_t taken;           /* permits of a plain semaphore */
    uint64_t version;         /* of the cell, as it saw it last */
    uint64_t newest;          /* that was known when its call began */
    size_t value;             /* that it writes, or computes; see known.h */
    lk_flight_ticket *ticket; /* of what it computes; NULL: nothing */
    uint64_t began_at;        /* its call */
    uint64_t resigns;         /* the term that it gives up; 0: none */
    uint64_t ended_term;      /* resigned from before its call began */
    uint64_t forcing;         /* the id of the force under way */
    sim_client *released_in;  /* that of the release under way; NULL: none */
    sim_want want;
    uint64_t asked_at;       /* by its client's clock */
    uint64_t ends_at;        /* the call has to have ended by then; the same */
    uint64_t stopped_before; /* how long its client had stood by then */
    uint64_t fence_floor;    /* of the next hold */
    unsigned rounds_left, steps_left;
    sim_grip grips[SIM_GRIPS];
    char text[LK_EXPORT_SIZE];  /* exported; "": none */
    uint64_t good_to;           /* what was exported lasts so long */
    uint64_t imports_to;        /* an answer of then, by the clock of the client
                                   that imports, brings no hold any more */
    char older[LK_EXPORT_SIZE]; /* exported before that; "": nothing */
    sim_client *older_in;       /* where that was imported */
    bool calls;                 /* one is under way */
    sim_client *sleeps_in;      /* that one, if it is a blocking one */
    unsigned depth;             /* and within how many others, itself as well */
    bool last;                  /* see probe.h */
    bool over;
};

typedef struct sim_counts {
    uint64_t operations, grants, losses, faults, steps, commands;
    uint64_t stale; /* holds that were over when they were had */
} sim_counts;

struct sim_run {
    sim_plan *plan;
    sim_schedule schedule;
    sim_host hosts[SIM_HOSTS_MOST];
    sim_peer *host_list[SIM_HOSTS_MOST];
    sim_client *clients; /* by the order of their items */
    size_t client_count;
    sim_actor *actors;
    size_t actor_count;
    sim_fault *faults;
    size_t fault_count;
    sim_name names[SIM_FAMILIES][SIM_DBS][SIM_NAMES];
    bool has_family[SIM_FAMILIES];            /* some actor uses its names */
    sim_item probes[2 * SIM_DBS * SIM_NAMES]; /* of those who come last */
    unsigned probe_count;
    sim_event look; /* at what is believed */
    checker *checker;
    unsigned depth;   /* blocking calls under way, one within the other */
    uint64_t last_id; /* of the history */
    uint64_t random;
    bool left_model; /* a fault outside the model has happened */
    bool clock_went_back, clock_went_ahead, data_lost;
    uint64_t calm_from; /* what faults other than deaths have left is over */
    sim_counts counts;
    uint64_t *fault_counts;         /* by class; borrowed */
    char violation[SIM_WORDS_MOST]; /* the first one; "": none */
};

/* What became of it. */
typedef struct sim_result {
    sim_counts counts;
    uint64_t trace;
    char violation[SIM_WORDS_MOST];
} sim_result;

/* Plays the plan. story: NULL, or where it is told. fault_counts: one number for
   each class, added to. */
void sim_run_play(sim_plan *plan, sim_engine *engine, FILE *story,
                  uint64_t *fault_counts, sim_result *ret_result);

/* The item's client, the first of them; NULL: it is left out. */
sim_client *sim_client_of(sim_run *run, unsigned item);

/* Something is not as promised. The first of them ends the run. */
void sim_violated(sim_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif /* SIM_PLAY_RUN_H */
