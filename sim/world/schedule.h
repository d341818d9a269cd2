/* SPDX-License-Identifier: MIT */
#ifndef SIM_WORLD_SCHEDULE_H
#define SIM_WORLD_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "server/memory.h"

/*
 * What is to come, in order, on one virtual clock for everybody. Time passes
 * from one event to the next and nowhere else. Events of one moment happen in
 * the order in which they were set.
 *
 * All times are nanoseconds since the beginning of the run: the true time, of
 * which each machine's clock shows something else (clock.h).
 */

#define SIM_US    UINT64_C(1000)
#define SIM_MS    UINT64_C(1000000)
#define SIM_S     UINT64_C(1000000000)
#define SIM_NEVER UINT64_MAX

/* Put one into your struct. Zeroed memory is an event that is not set. */
typedef struct sim_event {
    uint64_t at; /* when; read only */
    void (*happen)(struct sim_event *event);
    /* Private. */
    uint64_t order;
    size_t slot; /* in the heap, from 1 on; 0: not set */
} sim_event;

typedef struct sim_schedule {
    uint64_t now;
    uint64_t steps; /* events that have happened */
    uint64_t trace; /* a hash of all that has happened */
    FILE *story;    /* each thing that happens as a line; NULL: none */
    /* Private. */
    uint64_t order;
    sim_event **heap;
    size_t count, room;
} sim_schedule;

void sim_schedule_init(sim_schedule *schedule, FILE *story);
void sim_schedule_done(sim_schedule *schedule);

/* Sets the event, or moves it; a past time is now. SIM_NEVER: clears it. */
void sim_event_set(sim_schedule *schedule, sim_event *event, uint64_t at);
void sim_event_clear(sim_schedule *schedule, sim_event *event);

/* Lets the next event happen; false: none is due until then. */
bool sim_step(sim_schedule *schedule, uint64_t until);

/* Lets everything happen until then. */
void sim_run_until(sim_schedule *schedule, uint64_t until);

/* Adds numbers, or bytes, to the hash. */
void sim_trace(sim_schedule *schedule, uint64_t one, uint64_t other);
void sim_trace_bytes(sim_schedule *schedule, const void *bytes, size_t size);

/* Tells a line of the story: "<time> <who> <words>". */
void sim_tell(const sim_schedule *schedule, const char *subject,
              const char *format, ...) __attribute__((format(printf, 3, 4)));

/* How what is played now is played again: told by sim_wrong(). */
void sim_playing(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the program: the simulation itself is wrong. */
_Noreturn void sim_wrong(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif /* SIM_WORLD_SCHEDULE_H */
