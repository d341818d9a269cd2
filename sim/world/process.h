/* SPDX-License-Identifier: MIT */
#ifndef SIM_WORLD_PROCESS_H
#define SIM_WORLD_PROCESS_H

#include "world/clock.h"
#include "world/schedule.h"
#include "world/world.h"

struct sim_peer;

/*
 * A client's process: what the library's core sees of the world. Several of
 * them stand on one schedule. Each has a clock and randomness of its own; it
 * can be stopped, held up in the middle of what it does, and killed.
 *
 * Several of them may be one program's: whoever waits in the middle of something
 * may go on in another of them, so all of them are held up together.
 *
 * Nothing runs in a stopped process, but its clock goes on, and what arrives
 * waits. Of a dead one nothing is heard any more, nor does anything reach it;
 * only to give its memory back its code still runs.
 */
typedef struct sim_process sim_process;

enum { SIM_HOSTS_MOST = 5 };

/* Which way. */
typedef enum sim_way {
    SIM_THERE, /* to the server */
    SIM_BACK,
    SIM_WAYS
} sim_way;

/* What lies between a process and a host, for what is sent from now on. */
typedef struct sim_path {
    uint64_t ns[SIM_WAYS];         /* on the way */
    uint64_t jitter_ns[SIM_WAYS];  /* up to so much more */
    uint64_t stalled_to[SIM_WAYS]; /* nothing arrives before */
    uint64_t open_ns; /* until a stream is open; 0: as long as both ways */
} sim_path;

struct sim_process {
    lk__world base; /* first */
    sim_schedule *schedule;
    sim_process *peer; /* the next of its program, in a ring */
    const char *name;  /* borrowed; in the story */
    unsigned number;
    sim_clock clock;
    uint64_t random;     /* the library's */
    uint64_t net_random; /* of its streams */
    struct sim_peer *const *peers;
    sim_path paths[SIM_HOSTS_MOST];
    uint64_t spread_ns; /* each way of a stream takes up to so much more */

    const lk__events *events; /* NULL: not started, or ended */
    void *user;
    sim_event timer, wake;
    uint64_t timer_at; /* by its clock */
    bool woken;
    bool in_event;
    bool dead;
    bool no_random;          /* there are no random numbers */
    size_t send_limit;       /* bytes a stream has on its way at most; 0: any */
    uint64_t stopped_to;     /* nothing runs before */
    uint64_t stopped_for_ns; /* in all, hold-ups and sleep included */
    uint64_t stood_to;       /* when the last of these ended */
    uint64_t ahead;          /* what runs now has been held up until then */
    uint64_t hold_up_ns;     /* at some look at the clock soon, for so long: */
    unsigned hold_up_in;     /* after so many; 0: never */
    void (*ended)(void *data);
    void *ended_data;

    lk__link *links;
    unsigned link_count;
};

void sim_process_init(sim_process *process, sim_schedule *schedule,
                      const char *name, unsigned number, uint64_t seed,
                      struct sim_peer *const *peers);

/* They are one program's from now on. New ones. */
void sim_process_join(sim_process *process, sim_process *other);

/* After the library has stopped the world. */
void sim_process_done(sim_process *process);

/* Stops the process for so long, from now on. */
void sim_process_stop(sim_process *process, uint64_t ns);

/* Its machine sleeps for so long, in no true time: only its clock goes on. */
void sim_process_sleep(sim_process *process, uint64_t ns);

/* Holds it up for so long in the middle of something, at one of its next looks
   at its clock. */
void sim_process_hold_up(sim_process *process, uint64_t ns, unsigned looks);

/* Kills it. The server is told of its streams' end or, if they stay half-open,
   is not. */
void sim_process_kill(sim_process *process, bool half_open);

/* What its clock shows now, and what it shows to what runs there. */
uint64_t sim_process_clock(const sim_process *process);
uint64_t sim_process_now(const sim_process *process);

/* Whether it can run now. If not, sets the event to when it can. */
bool sim_process_runs(sim_process *process, sim_event *event);

/* Around each call of an event's function. */
void sim_process_enter(sim_process *process);
void sim_process_leave(sim_process *process);

#endif /* SIM_WORLD_PROCESS_H */
