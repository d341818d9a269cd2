/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TWISTED_H
#define LK_TESTS_SUPPORT_TWISTED_H

#include <latchkey/latchkey.h>

#include "server/server.h"
#include "support/fake_world.h"
#include "support/twist.h"

/*
 * Two clients of one simulated server, which runs the real scripts: one whose
 * answers may be changed on their way, and an honest one. Each has a world of
 * its own, whose time passes only while it runs; the server's clock goes on
 * with either.
 */

enum { TWISTED_CALLS = 256, TWISTED_LINKS = 64 };

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

typedef struct twisted twisted;

typedef struct twisted_link {
    twisted *of;
    bool is_honest;
    bool is_taken; /* what is said is kept back, in said */
    fake_link *link;
    sim_session *session; /* NULL: closed */
    char *said;
    size_t said_size;
} twisted_link;

struct twisted {
    sim_server *server;
    fake_world *world, *honest_world;
    lk_client *client, *honest;

    twisted_plan plan;
    twisted_plan also; /* what a scene needs; it is no lie */
    bool has_lied;     /* an answer may have said what is not so */
    char wrong[240];   /* what must not be; "": nothing */

    twisted_call calls[TWISTED_CALLS];
    unsigned call_count;
    unsigned commands;
    unsigned begun, ended; /* calls that do not wait */

    twisted_link links[TWISTED_LINKS];
    unsigned link_count;
};

/* Both clients are ready. */
void twisted_open(twisted *t, sim_engine *engine);

/* Shuts the first client down and frees it; then all leases end. */
void twisted_end(twisted *t);

void twisted_close(twisted *t);

/* What must not be; the first one is kept. */
void twisted_wrong(twisted *t, const char *what, lk_status status);

/* Lets time pass for the first client, or for the other. */
void twisted_run_ms(twisted *t, uint64_t ms);
void twisted_run_honest_ms(twisted *t, uint64_t ms);

#endif /* LK_TESTS_SUPPORT_TWISTED_H */
