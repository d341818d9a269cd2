/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_IDEAL_INSIDE_H
#define LK_TESTS_SUPPORT_IDEAL_INSIDE_H

#include <latchkey/status.h>

#include "support/ideal.h"

/*
 * What ideal.h is made of. Everything happens on an agenda, in the order of its
 * times: what processes do, and what reaches the server.
 */

enum {
    IDEAL_MS = 1000000,
    IDEAL_ACTORS = 5,
    IDEAL_NAMES = 3,
    IDEAL_SEATS = 8,
    IDEAL_AGENDA = 512
};

typedef struct ideal ideal;
typedef struct ideal_actor ideal_actor;
typedef struct ideal_name ideal_name;

typedef void (*ideal_deed)(ideal *w, ideal_actor *a, uint64_t detail);

typedef struct ideal_entry {
    uint64_t at, order, detail;
    ideal_deed deed;
    ideal_actor *actor;
    bool of_server; /* it happens there, whatever became of the actor */
} ideal_entry;

/* One who holds or waits, as the server knows. */
typedef struct ideal_seat {
    ideal_actor *actor;
    uint64_t operation, expires, lease_ms, count;
    history_mode mode;
    bool queued;
} ideal_seat;

struct ideal_name {
    uint64_t id;
    history_kind kind;
    ideal_seat seats[IDEAL_SEATS];
    size_t held, queued; /* seats: first those who hold, then the queue */
    uint64_t fence, written, permits, taken;
    uint64_t size, counted;
    bool armed;
};

struct ideal_actor {
    uint32_t process;
    bool stopped, dead;
    uint64_t goes_on_at;
    ideal_name *at;
    history_event call; /* its invoke */
    bool waits;
    uint64_t hold, again, fence, believed_to, lease_ms, plain;
    bool renewed, told, forced;
    history_mode mode;
    unsigned rounds, steps;
};

struct ideal {
    ideal_tell tell;
    void *data;
    uint64_t random, now, order, next_id, sequence;
    ideal_entry agenda[IDEAL_AGENDA];
    size_t planned;
    ideal_actor actors[IDEAL_ACTORS];
    ideal_name names[IDEAL_NAMES];
};

/* Chance, and what happens later: at the process, or at the server. */
uint64_t ideal_draw(ideal *w, uint64_t below);
uint64_t ideal_travel(ideal *w);
void ideal_plan(ideal *w, uint64_t at, ideal_deed what, ideal_actor *who,
                bool of_server, uint64_t detail);
void ideal_later(ideal *w, uint64_t ns, ideal_deed what, ideal_actor *who);
void ideal_send(ideal *w, ideal_deed what, ideal_actor *who, uint64_t detail);
history_event
ideal_event_of(const ideal_actor *a, history_phase phase, history_call what);
void ideal_says(ideal *w, history_event event);
history_event ideal_begin(ideal *w, ideal_actor *a, history_call what);
void ideal_begun(ideal *w, ideal_actor *a, history_event event);
void ideal_ended(ideal *w, ideal_actor *a, history_phase phase,
                 lk_status status);

/* The service, which knows everything. */
bool ideal_fits(const ideal_name *n, const ideal_seat *wish);
void ideal_unseat(ideal_name *n, size_t i);
void ideal_grant(ideal *w, ideal_name *n, ideal_seat wish);
void ideal_serve(ideal *w, ideal_name *n);
ideal_name *ideal_name_of(ideal *w, uint64_t operation, size_t *ret_seat);
void ideal_frees(ideal *w, ideal_actor *a, uint64_t operation);

/* A hold's life, from its grant to its end. */
void ideal_rest(ideal *w, ideal_actor *a);
void ideal_is_told(ideal *w, ideal_actor *a, uint64_t hold);
void ideal_plain_arrives(ideal *w, ideal_actor *a, uint64_t detail);
void ideal_arrives(ideal *w, ideal_actor *a, uint64_t detail);

/* To want a hold, and what needs none. A round is one of these. */
void ideal_want(ideal *w, ideal_actor *a);
void ideal_give(ideal *w, ideal_actor *a);
void ideal_use_latch(ideal *w, ideal_actor *a);
void ideal_ask_permits(ideal *w, ideal_actor *a);
void ideal_round_begins(ideal *w, ideal_actor *a, uint64_t detail);

#endif /* LK_TESTS_SUPPORT_IDEAL_INSIDE_H */
