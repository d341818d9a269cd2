/* SPDX-License-Identifier: MIT */
#ifndef SIM_PLAY_KNOWN_H
#define SIM_PLAY_KNOWN_H

#include <latchkey/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is known of values: of those that were written to a cell, and of those
 * that computations of a flight gave. What calls are answered has to fit.
 */

typedef struct sim_run sim_run;
typedef struct sim_name sim_name;
typedef struct sim_actor sim_actor;

/* What was done to a cell, or is being done. Its place in the list says when it
   began; the text of its number, counted from 1, is what it writes. */
typedef struct sim_write {
    uint64_t expected; /* the version that it names */
    uint64_t version;  /* which it has made, or was seen as; 0: not known */
    enum { SIM_OPEN, SIM_MADE, SIM_NOT_MADE } state; /* doubtful stays open */
    bool deletes;
    bool alone; /* nothing else was open when it began */
} sim_write;

typedef struct sim_values {
    sim_write *all;
    size_t count, room;
    size_t open;     /* of these */
    uint64_t newest; /* version that was told of */
    bool was_deleted;
} sim_values;

/* A computation; its number is the value. */
typedef struct sim_computing {
    const sim_actor *leader;
    uint64_t began_at;
    uint64_t ended_at; /* 0: not yet */
    uint64_t told_at;  /* when its value was first got elsewhere; 0: never */
    bool failed;
} sim_computing;

typedef struct sim_computings {
    sim_computing *all;
    size_t count, room;
} sim_computings;

/* A write or a delete begins; returns its number. */
size_t sim_value_begins(sim_name *name, uint64_t expected, bool deletes);

/* It was answered. newest: what was known when it began. */
void sim_value_ends(sim_run *run, sim_name *name, size_t number,
                    lk_status status, uint64_t version, uint64_t newest);

/* A read that began when that was the newest was answered. bytes: the value. */
void sim_value_read(sim_run *run, sim_name *name, lk_status status,
                    uint64_t version, const char *bytes, uint64_t newest);

/* Somebody computes; returns the number. */
size_t
sim_computing_begins(sim_run *run, sim_name *name, const sim_actor *leader);
void sim_computing_ends(sim_run *run, sim_name *name, size_t number,
                        bool failed);

/* An actor's call got this value; NULL: the computation's error. */
void sim_computing_told(sim_run *run, sim_name *name, const sim_actor *actor,
                        const char *bytes);

/* An actor's call waited in vain. */
void sim_computing_missed(sim_run *run, const sim_name *name,
                          const sim_actor *actor);

void sim_known_done(sim_name *name);

#endif /* SIM_PLAY_KNOWN_H */
