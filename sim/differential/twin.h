/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_DIFFERENTIAL_TWIN_H
#define LK_SIM_DIFFERENTIAL_TWIN_H

#include "server/memory.h"
#include "server/server.h"

/*
 * A real redis-server and a simulated one that are asked the same, with the
 * same clock. Each has LINES connections; what is asked is collected for one
 * line, then run by both and compared, byte by byte but for orders that the
 * real server does not promise. What the other lines heard meanwhile is
 * compared too. Hashes never become tables, whose order is by chance, so that
 * scripts see the same order in both; and HRANDFIELD of both draws the same
 * numbers (wallclock.c), so that scripts find the same fields, but where they ask for
 * most of them.
 *
 * The first difference is told on stderr, with what was asked before it, and
 * is kept: twin_differs() stays true, and nothing more is run.
 */

enum { LINES = 4 };

typedef struct twin twin;

/* Starts a redis-server. NULL: it does not start; stderr tells why. */
twin *twin_new(sim_engine *engine, uint64_t seed);
void twin_free(twin *t);

/* Whether the real one is of the version that the simulated one is a model of; if
   not, stdout says which it is. Others write numbers that are no integers in another
   way, take fewer of them, and have other texts of errors. */
bool twin_is_modelled(const twin *t);

bool twin_differs(const twin *t);
/* How many commands both were asked. */
uint64_t twin_asked(const twin *t);
/* Prints how many errors there were of each kind. */
void twin_tell_errors(const twin *t);

uint64_t twin_now_us(const twin *t);
/* Moves the clock of both, also back. */
void twin_set_clock(twin *t, uint64_t us);

/* Collects a command for a line; runs what was collected for another. */
void twin_ask(twin *t, unsigned number, int argc, const sim_str *argv);
/* The same with words split at blanks. */
void twin_say(twin *t, unsigned number, const char *words);
/* Runs what was collected. */
void twin_run(twin *t);
/* Compares all data. */
void twin_compare_data(twin *t);

/* BLPOP on a line, which may be asked again when it is no longer blocked. */
void twin_block(twin *t, unsigned number, int argc, const sim_str *argv);
bool twin_is_blocked(const twin *t, unsigned number);
/* CLIENT UNBLOCK; how: "TIMEOUT" or "ERROR". */
void twin_unblock(twin *t, unsigned number, const char *how);
/* REPLICAOF a master that is not there, or NO ONE. */
void twin_set_replica(twin *t, bool is_replica);
/* ACL DELUSER, which ends that user's connections; others take their place. */
void twin_remove_user(twin *t, const char *name);
/* CLIENT KILL, and another connection in its place. */
void twin_kill(twin *t, unsigned number);

/* Sees the simulated server's replies as they come. */
void twin_watch(twin *t, void (*see)(void *data, sim_str reply), void *data);

#endif /* LK_SIM_DIFFERENTIAL_TWIN_H */
