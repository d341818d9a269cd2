/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TWISTED_H
#define LK_TESTS_SUPPORT_TWISTED_H

#include <latchkey/latchkey.h>

#include "support/twist.h"
#include "world/host.h"

/*
 * Two clients of one of the simulator's servers, which runs the real scripts: one whose
 * answers may be changed on their way, and an honest one.
 */

enum { TWISTED_CALLS = 256 };

/* One script that the first client has run. */
typedef struct twisted_call {
    const char *script;
    unsigned places; /* of its answer */
} twisted_call;

/* Of one script's runs the one with this number, from 1, is answered so. */
typedef struct twisted_plan {
    const char *script; /* NULL: none */
    unsigned number;
    twist how;
    const char *answer; /* whole, instead; NULL: none */
} twisted_plan;

typedef struct twisted {
    sim_schedule schedule;
    sim_host host;
    sim_peer liar; /* the host, as the first client finds it */
    sim_peer *peers[2], *honest_peers[2];
    sim_process process, honest_process;
    lk_client *client, *honest;

    twisted_plan plan;
    twisted_plan also; /* what a scene needs; it is no lie */
    bool has_lied;     /* an answer may have said what is not so */
    char wrong[240];   /* what must not be; "": nothing */

    const lk__link *taken; /* what is said to it is kept back, in said */
    sim_buffer said;

    twisted_call calls[TWISTED_CALLS];
    unsigned call_count;
    unsigned commands;
    unsigned begun, ended; /* calls that do not wait */
} twisted;

/* Both clients are ready. */
void twisted_open(twisted *t, sim_engine *engine);

/* Shuts the first client down and frees it; then all leases end. */
void twisted_end(twisted *t);

void twisted_close(twisted *t);

/* What must not be; the first one is kept. */
void twisted_wrong(twisted *t, const char *what, lk_status status);

/* Lets time pass. */
void twisted_run_ms(twisted *t, uint64_t ms);

#endif /* LK_TESTS_SUPPORT_TWISTED_H */
