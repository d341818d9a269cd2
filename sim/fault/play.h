/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_PLAY_H
#define LK_SIM_FAULT_PLAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "check/history.h"
#include "check/log.h"

/*
 * Real processes that want the same names, under faults. What they share, and
 * what all of them know.
 */

enum {
    PLAY_WORKERS = 6,
    PLAY_HANDS = 2,       /* threads of a worker, over one client */
    PLAY_BRISK_HANDS = 2, /* more of them, see brisk.c */
    PLAY_REDLOCK = 3,
    PLAY_PERMITS = 3,
    PLAY_MEMBERS = 3,
    PLAY_LATCH = 5,    /* what it is armed with */
    PLAY_TTL_MS = 100, /* of a flight's value */
    PLAY_WATCHDOG_MS = 1500,
    PLAY_OUTLIVES_MS = 10000, /* the same where a master changes meanwhile */
    PLAY_COMMAND_MS = 500,
    PLAY_NODE_MS = 100,
    PLAY_FINAL_MS = 20000,       /* everybody gets everything within that */
    PLAY_EVENTS = 400000,        /* in one file, at most */
    PLAY_BRISK_EVENTS = 4000000, /* the same with brisk hands */
    PLAY_HARNESS = 1             /* its process; workers have higher ones */
};

typedef struct play_name {
    history_kind kind;
    const char *name;
} play_name;

/* The last ones are wanted where masters change, and nowhere else. */
enum { PLAY_NAMES = 14, PLAY_SINGLE_NAMES = 11 };

/* Behind them come those that only brisk hands want. */
enum { PLAY_BRISK_NAMES = 12, PLAY_ALL_NAMES = PLAY_NAMES + PLAY_BRISK_NAMES };

extern const play_name play_names[PLAY_ALL_NAMES];

/* The cell that a name guards from another slot, by the number of the name. */
#define PLAY_AWAY "{away%u}:cell"
bool play_guards_away(unsigned name);

/* In memory that all processes share. */
typedef struct play_shared {
    _Atomic bool ends;               /* nothing new but the last of each name */
    _Atomic uint64_t worst_stall_ns; /* of any thread that was not stopped */
    _Atomic uint64_t stops;          /* begun, and ended */
    bool brisk;                      /* there are brisk hands; set before any
                                        worker begins */
    _Atomic uint64_t
        written[PLAY_ALL_NAMES]; /* what the names guard: a fence */
    _Atomic uint64_t grants[PLAY_ALL_NAMES];
    _Atomic uint64_t
        asked; /* grants of the client's server, none of them to one
                               that had it already */
    _Atomic uint64_t losses, unknowns;
    _Atomic uint64_t away_made, away_refused; /* writes into cells elsewhere */
    _Atomic uint64_t epoch;                   /* see play_epoch_text() */
    _Atomic uint64_t runs;                    /* of flights, begun */
} play_shared;

/* NULL: stderr tells why. create: it is new. */
play_shared *play_shared_map(const char *path, bool create);
/* NULL is allowed. */
void play_shared_unmap(play_shared *shared);

/* An event of a name. */
history_event play_event(unsigned name, history_phase phase, history_call call);

/*
 * What a server forgets of some names stays wrong: permits of a counter, who
 * computes, and the fence that has written into a cell whose lock is elsewhere and
 * forgets nothing. So these, and the writes into such cells, have a name for each epoch: a new one begins before and after
 * whatever may make a server forget, and what was begun before is not judged.
 */
enum { PLAY_TEXT = HISTORY_NAME };
void play_epoch_text(unsigned name, uint64_t epoch, char text[PLAY_TEXT]);
bool play_has_epochs(unsigned name);

typedef struct play_random {
    uint64_t state;
} play_random;

uint64_t play_draw(play_random *random, uint64_t below);

/* ---- pulse.c ---- */

/*
 * Starts a thread that looks at how late the machine lets it run, and writes
 * each stall as a fault of its process. It uses both until it is stopped. False:
 * there is none.
 */
bool play_pulse_start(history_log *log, play_shared *shared, uint32_t process);
/* Nothing, if there is none. */
void play_pulse_stop(void);

/* ---- worker.c ---- */

/* Run as: --worker PROCESS SEED DIRECTORY URL URL... */
int play_worker(char **arguments);

#endif /* LK_SIM_FAULT_PLAY_H */
