/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_HAND_H
#define LK_SIM_FAULT_HAND_H

#include <latchkey/latchkey.h>

#include <pthread.h>

#include "fault/play.h"

/*
 * A thread of a worker: what it writes down of each call, before and after it.
 * And a grip: one hold, and what is known of it.
 */

typedef struct worker {
    history_log *log;
    play_shared *shared;
    uint32_t process;
    lk_client *client;
    lk_client *nodes[PLAY_REDLOCK];
    void *handles[PLAY_ALL_NAMES];
    lk_lock *members[PLAY_MEMBERS]; /* of the multilock */
    /* Of sentinels or of a cluster: a hold may end before its lease does. */
    bool has_failovers, is_cluster;
    uint64_t watchdog_ms;
    lk_cell
        *cells[PLAY_ALL_NAMES]; /* that locks guard there, in their slot or in
                                   another one; NULL: the number that all share */
    bool has_away[PLAY_ALL_NAMES]; /* the cell is in another one */
    lk_client *late; /* of a cluster, for those who write too late */
    lk_lock *late_handles[PLAY_ALL_NAMES]; /* its, which do not queue, of what
                                              guards a cell elsewhere */
    _Atomic uint64_t operations;
} worker;

/* A thread of it. */
typedef struct hand {
    worker *worker;
    uint64_t owner;
    unsigned home; /* of a brisk one: the name that it mostly wants */
    play_random random;
    pthread_t thread;
    lk_plain_semaphore *plain; /* of that epoch; NULL: none yet */
    uint64_t epoch;
} hand;

/* Its callback may come as long as it has not been released. */
typedef struct grip {
    hand *hand;
    lk_hold *hold;
    unsigned name;
    void *handle; /* by which it is had; NULL: the worker's of that name */
    history_mode mode;
    uint64_t id, fence;
    uint64_t lease_ms; /* the longest that it was ever named */
    bool is_renewed;
    bool is_again; /* beside one that it has */
} grip;

/* ---- hand.c ---- */

/* Writes an event; a full history ends the program. */
void hand_put(const worker *w, const history_event *event);

/* A call of that name, with a number of its own; not written yet. */
history_event hand_begin(hand *h, unsigned name, history_call call);
/* Writes that it begins now, and has to return within so long. */
void hand_begun(const hand *h, history_event *event, int64_t within_ms);
/* Writes how it ended. */
void hand_ended(const hand *h, history_event event, history_phase phase,
                lk_status status);
history_phase hand_phase_of(lk_status status);

/* How long a call with this wait may take. */
int64_t hand_longest(unsigned name, int64_t wait_ms);

/* Sleeps for up to so long. */
void hand_work(hand *h, uint64_t most_us);

/* ---- grip.c ---- */

/* How it is wanted, of the ways there are. */
history_mode grip_draw_mode(hand *h, unsigned name);

/* What it is to have; first: the hold that it has again, whose lease stays;
   NULL: none. */
grip grip_new(hand *h, unsigned name, history_mode mode, const grip *first);

/* False: it was not had. */
bool grip_acquire(grip *g, int64_t wait_ms);

/* Says OK: it is valid. Writes that down. */
bool grip_check(const grip *g);
/* Into what the name guards, under its fence if it has one: that takes nothing from
   whoever is late. */
void grip_write(const grip *g);

/* Checks it, writes under it, extends it, enters again; then releases it. */
void grip_use(hand *h, grip *g);
void grip_release(const grip *g);
/* How far a release has got that was answered so. */
history_phase grip_release_phase(lk_status status);

/* ---- late.c ---- */

/* Now and then: has a hold end that does not hear of it, and writes under it a while
   later. */
void late_round(hand *h, unsigned name);
/* What that needs of a name; false: it could not be made. */
bool late_make(worker *w, unsigned name, const char *text);

/* ---- brisk.c ---- */

/* Has a name for a moment, mostly its own. */
void brisk_round(hand *h);
/* Has its own once more. */
void brisk_last(hand *h);

/* ---- epoch.c ---- */

/* Takes permits of the counter of this epoch, and gives them back. */
void plain_round(hand *h, unsigned name, int64_t wait_ms);
/* Gets a value that is computed once for all. */
void flight_round(hand *h, unsigned name, int64_t wait_ms);

#endif /* LK_SIM_FAULT_HAND_H */
