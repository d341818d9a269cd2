/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_PINGS_H
#define LK_BENCH_PINGS_H

#include <stddef.h>

#include <hiredis/hiredis.h>

/*
 * What a client notices of the work that others give a server: it sends a PING
 * every half millisecond, in turns of a second.
 */

enum { PINGS_TURNS = 40 }; /* at most */

/* Those of all turns of one sort, one turn behind the other. */
typedef struct pings {
    double *us;
    size_t count;
    size_t ends[PINGS_TURNS]; /* of each turn */
} pings;

pings pings_new(unsigned turns);
void pings_free(pings *p);

/* One turn; each PING goes to the next of these connections. */
void pings_turn(pings *p, redisContext *const *to, unsigned count,
                unsigned turn);

/* Keeps those of the quieter half: the turns in which others worked least. */
void pings_settle(pings *p, const double *noise, double limit, unsigned turns);

/* The part-th of them (0.5: the median), in ms; sorts them. */
double pings_at(pings *p, double part);
void pings_show(const char *word, pings *p);

#endif /* LK_BENCH_PINGS_H */
