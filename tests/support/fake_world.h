/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_FAKE_WORLD_H
#define LK_TESTS_SUPPORT_FAKE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "world/world.h"

/*
 * A world without threads, clocks or sockets: virtual time, seeded randomness
 * and a server that the test plays. Time passes only in the _run functions,
 * in fake_world_step() and in a park, which runs the world until it is
 * unparked or its time has come; nothing else takes any time. What happens is
 * decided by the seed and the test alone, down to the order of events of one
 * moment (that in which they were caused): two runs have the same trace.
 *
 * A blocking call of the library thus works as it is. To act while one is
 * under way, as another thread would, use fake_world_at(): its function may
 * do what the test may, a blocking call included; the outer call then goes on
 * after the inner one, though perhaps later than its time.
 *
 * What cannot be right ends the program with a word on stderr: a park for
 * ever when nothing is to come, time that stands still, a park in an event,
 * bytes that are no command.
 *
 * All times are nanoseconds. The clock starts at FAKE_START.
 */

#define FAKE_START  UINT64_C(1000000000000)
#define FAKE_MS     UINT64_C(1000000)
#define FAKE_SILENT 1

typedef struct fake_world fake_world;
typedef struct lk__link fake_link;

/* The server, played by the test. Arguments are borrowed. */
typedef struct fake_server {
    /*
     * A stream arrives. 0: it stands; a negative errno: it is refused;
     * FAKE_SILENT: there is no answer, ever. NULL: every stream is taken.
     */
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

/* May be changed at any time; holds for what is caused from then on. */
typedef struct fake_settings {
    uint64_t connect_ns; /* from link_open to on_connect */
    uint64_t request_ns; /* on the way to the server */
    uint64_t reply_ns;   /* and back */
    uint64_t jitter_ns;  /* up to so much is added to each of these */
    size_t send_limit;   /* bytes a stream keeps under way; 0: any */
    size_t piece_limit;  /* replies come in pieces of 1 to so many bytes; 0:
                            whole */
    bool no_random;      /* there are no random numbers */
} fake_settings;

/* server is borrowed, data handed to its functions. Never NULL. */
fake_world *
fake_world_new(uint64_t seed, const fake_server *server, void *data);

/* After lk__world's stop, which leaves the memory to this. NULL is allowed. */
void fake_world_free(fake_world *world);

/* What the library gets. */
lk__world *fake_world_base(fake_world *world);

fake_settings *fake_world_settings(fake_world *world);

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

/* ---- randomness and records --------------------------------------------- */

/* For the test's own choices: a number in [0, limit). */
uint64_t fake_world_random(fake_world *world, uint64_t limit);

/* A hash of all that has happened, in order, with times and bytes. */
uint64_t fake_world_trace(const fake_world *world);

/* Writes each thing that happens as a line; NULL: none. */
void fake_world_log(fake_world *world, FILE *file);

/* Links that the library has opened and not closed. */
size_t fake_world_link_count(const fake_world *world);

/* ---- the server's side of a stream -------------------------------------- */

/* They count from 0 in the order of their opening. */
unsigned fake_link_number(const fake_link *link);
const lk__address *fake_link_address(const fake_link *link);

/* The link of that number; it lives as long as the world. NULL: none yet. */
fake_link *fake_world_link(fake_world *world, unsigned number);

/* Sends bytes to the client, after those sent before; lost if it has gone. */
void fake_reply(fake_link *link, const char *bytes, size_t size);
/* The same with a text, and after a delay besides. */
void fake_say(fake_link *link, const char *text);
void fake_say_in(fake_link *link, uint64_t ns, const char *text);

/* Ends the stream after what was sent. */
void fake_end(fake_link *link);

/* Breaks it now: what is under way, to or fro, is lost. */
void fake_break(fake_link *link, int error);

/*
 * Nothing arrives at either side until then: not what is under way, not what
 * follows. A command may so be run after its sender has gone.
 */
void fake_stall(fake_link *link, uint64_t until);

#endif /* LK_TESTS_SUPPORT_FAKE_WORLD_H */
