/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_LOCK_ROWS_H
#define LK_BENCH_LOCK_ROWS_H

#include <latchkey/latchkey.h>

#include <stdbool.h>
#include <stdint.h>

/* What the measurements of the lock have in common. */

/* ---- the product, or the process ends ---- */

lk_client *client_open(uint64_t watchdog_ms); /* 0: the default */
lk_lock *lock_open(lk_client *client, const char *name);
lk_hold *lock_take(lk_lock *lock);
void lock_give(lk_hold *hold);
lk_client_stats client_stats(lk_client *client);

/* ---- (a), (b), (d), (f), (g): pairs of acquire and release in a second ---- */

/* What one thread repeats until it is told to stop. */
typedef struct rate_case {
    unsigned threads;
    void *(*open)(void);                             /* once, before threads */
    void *(*thread_open)(void *all, unsigned index); /* what a thread needs */
    void (*pair)(void *mine);
    void (*stats)(void *all, lk_client_stats *ret_stats); /* may be NULL */
} rate_case;

typedef struct rate {
    double per_s;
    double client_us; /* processor time for a pair: this process' */
    double server_us; /* and the server's */
    double commands;  /* for a pair; 0 if not counted */
    double writes;
    double foreign; /* processors used by others meanwhile */
} rate;

extern const rate_case rate_one_bare, rate_one_lock;
extern const rate_case rate_many_bare, rate_many_lock;
extern const rate_case rate_local_bare, rate_local_lock;
extern const rate_case rate_one_replay, rate_many_replay; /* lock_replay.c */

/* Where the two sides run. */
typedef enum place {
    SAME,  /* server and clients on one processor: the work, nothing else */
    CROSS, /* on two: as on a near network */
    FREE   /* wherever the system puts them */
} place;

/* Pins the server, and says to which processor its clients go. */
int place_take(place at);

rate rate_measure(const rate_case *of, place at, uint64_t ns);

/* ---- (c): the hand-over between processes ---- */

typedef struct handover {
    double per_s;
    double commands;          /* calls of scripts for a hold, but for */
    double rechecks;          /* looks of waiters, for a hold as well */
    double p50_us, p99_us;    /* from one's release to the next one's hold */
    double smallest, largest; /* share of a process, 1 being the mean */
    double server_us;
    double foreign; /* as above */
} handover;

handover
handover_measure(unsigned processes, uint64_t hold_ns, place at, uint64_t ns);

/* ---- (e): renewal of many holds ---- */

typedef struct renewal {
    double per_s;       /* renewals, or plain commands */
    double server_us;   /* for each */
    double script_us;   /* mean of a script; 0 if there is none */
    double ping_p50_us; /* of another client */
    double ping_p999_us;
    double slow; /* scripts of more than 1 ms */
    double slowest_us;
    double preempted; /* the server was made to wait for its processor */
    double foreign;   /* as above */
} renewal;

/*
 * The holds of one client beside the ping, for ns, which should be a multiple
 * of the time between two renewals of a hold; then as many plain commands.
 */
void renewal_measure(unsigned holds, uint64_t ns, renewal *ret_renewed,
                     renewal *ret_plain);

#endif /* LK_BENCH_LOCK_ROWS_H */
