/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FAKE_WORLD_H
#define LK_TESTS_SUPPORT_FAKE_WORLD_H

#include "world/stream.h"

/*
 * The simulator's world with one process, and a server that the test plays: virtual
 * time, seeded randomness. Time passes only in the _run functions, in
 * fake_world_step() and in a park, which runs the world until it is unparked or its
 * time has come. What happens is decided by the seed and the test alone: two runs have
 * the same trace.
 *
 * A blocking call of the library thus works as it is. To act while one is under way, as
 * another thread would, use fake_world_at(): its function may do what the test may, a
 * blocking call included; the outer call then goes on after the inner one, though
 * perhaps later than its time.
 *
 * All times are nanoseconds. The clock starts at FAKE_START.
 */

#define FAKE_START UINT64_C(1000000000000)
#define FAKE_MS    SIM_MS

typedef struct lk__link fake_link;

/* The server, played by the test. Arguments are borrowed, and end with a 0. */
typedef struct fake_server {
    /* See sim_peer_class. NULL: every stream is taken. */
    int (*on_connect)(void *data, fake_link *link);
    /*
     * A command arrives, also one whose sender has closed the stream since:
     * the answer is lost then. Not NULL.
     */
    void (*on_command)(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes);
    /* The client's end of the stream arrives. May be NULL. */
    void (*on_close)(void *data, fake_link *link);
} fake_server;

typedef struct fake_world {
    sim_peer peer; /* first */
    sim_peer *peers[2];
    sim_schedule schedule;
    sim_process process; /* its base is what the library gets */
    sim_path *path;      /* a millisecond each way and to open, until the test
                            changes it */
    const fake_server *server;
    void *data;
    uint64_t random;
    struct fake_call *calls;
} fake_world;

/* server is borrowed, data handed to its functions. Never NULL. */
fake_world *
fake_world_new(uint64_t seed, const fake_server *server, void *data);

/* After lk__world's stop, which leaves the memory to this. NULL is allowed. */
void fake_world_free(fake_world *world);

/* ---- time --------------------------------------------------------------- */

uint64_t fake_world_now(const fake_world *world);

/* Lets the next thing happen; false if nothing is to come. */
bool fake_world_step(fake_world *world);

/* Lets everything happen until then, or for so long. */
void fake_world_run(fake_world *world, uint64_t until);
void fake_world_run_for(fake_world *world, uint64_t ns);

/* Has call(data) called at that time, or now if it is past. */
void fake_world_at(fake_world *world, uint64_t at, void (*call)(void *data),
                   void *data);

/*
 * Lets the clock jump without anything happening meanwhile, as when the
 * process was stopped; what was due is late.
 */
void fake_world_freeze(fake_world *world, uint64_t ns);

/* For the test's own choices: a number in [0, limit). */
uint64_t fake_world_random(fake_world *world, uint64_t limit);

/* Links that the library has opened and not closed. */
size_t fake_world_link_count(const fake_world *world);

/* ---- the server's side of a stream -------------------------------------- */

/* The link of that number, from 0 in the order of their opening; it lives as long as
   the world. NULL: none yet. */
fake_link *fake_world_link(fake_world *world, unsigned number);

/* Sends bytes to the client, after those sent before; lost if it has gone. */
void fake_reply(fake_link *link, const char *bytes, size_t size);
/* The same with a text, and after a delay besides. */
void fake_say(fake_link *link, const char *text);
void fake_say_in(fake_link *link, uint64_t ns, const char *text);

/* Ends the stream after what was sent. */
void fake_end(fake_link *link);

/* Breaks it now: what is under way, to or fro, is lost. */
void fake_break(fake_link *link);

/*
 * Nothing arrives at either side until then: not what is under way, not what
 * follows. A command may so be run after its sender has gone.
 */
void fake_stall(fake_link *link, uint64_t until);

#endif /* LK_TESTS_SUPPORT_FAKE_WORLD_H */
