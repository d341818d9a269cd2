/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_DEMO_H
#define LK_CLI_DEMO_H

#include <latchkey/hold.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/cli.h"
#include "cli/local/local.h"

/*
 * The pieces of `latchkey demo`.
 *
 *   demo.c         the command, and how one scene goes after the other
 *   demo_server.c  a redis-server for this run alone
 *   demo_cast.c    processes: starting, killing and ending them
 *   demo_words.c   what is said, and whether it was true
 *   demo_screen.c  the picture
 *   demo_pool.c demo_cache.c demo_fleet.c demo_baton.c   a scene each
 *
 * An actor of a scene is a process with a client of its own. What it does is
 * the scene's play(), the only place that uses the library. The process of the
 * command watches, kills and judges; it has no client. They share one stage in
 * memory, where every actor notes what it does, so that the judgement stands
 * on more than the server's word.
 *
 * Times are nanoseconds of the clock that goes on while the machine sleeps.
 */

enum {
    DEMO_ACTORS = 8,          /* at most */
    DEMO_PATIENCE_MS = 20000, /* for a server, a client, a scene's last word */
    DEMO_FRAME_MS = 20,
    DEMO_PAGE = 64,    /* numbers in the cache */
    DEMO_VERSIONS = 5, /* of the cache, and one for the cold one */
    DEMO_WORDS = 200
};

typedef enum demo_state {
    DEMO_STARTING,
    DEMO_IDLE,
    DEMO_WAITING,
    DEMO_INSIDE,
    DEMO_WRITING,
    DEMO_DEAD
} demo_state;

/* One process. It writes all but pid. */
typedef struct demo_actor {
    pid_t pid; /* 0: none, or waited for */
    atomic_int state;
    atomic_int failure;             /* an lk_status; words has more */
    atomic_uint_least64_t done;     /* jobs, requests, turns */
    atomic_uint_least64_t until;    /* validly inside until then; 0: outside */
    atomic_uint_least64_t came_at;  /* fleet: before it says that it is here */
    atomic_uint_least64_t began_at; /* fleet: after the latch let it go */
    char words[DEMO_WORDS];
} demo_actor;

/* The worker pool. */
typedef struct demo_pool {
    atomic_bool stay;   /* the next one inside stays there, to be killed */
    atomic_int staying; /* who does, counted from 1 */
    atomic_int most;    /* at once */
    atomic_uint_least64_t killed_at, back_at;
} demo_pool;

/* The cache, and who was seen where nobody should be. */
typedef struct demo_cache {
    atomic_uint_least64_t wanted, version, built[DEMO_VERSIONS + 1];
    atomic_uint_least64_t page[DEMO_PAGE]; /* all alike, or it is torn */
    atomic_uint_least64_t writing_until;   /* validly; 0: nobody writes */
    atomic_int builder, most;
    atomic_uint_least64_t torn, intruders;
} demo_cache;

/* What the hot lock guards. Every holder adds one by a load and a store. */
typedef struct demo_baton {
    atomic_uint_least64_t turns, handovers, fence, old_fences;
    atomic_int last;
} demo_baton;

/* What the processes of one scene share. All zero when it begins. */
typedef struct demo_stage {
    atomic_int ready;
    atomic_bool go, stop;
    atomic_uint changes; /* of states, so that a look at all of them at once
                            can be told from one across a change */
    demo_actor actors[DEMO_ACTORS];
    demo_pool pool;
    demo_cache cache;
    demo_baton baton;
} demo_stage;

typedef struct demo_board {
    char url[128];
    atomic_int server_error; /* errno of its start */
    bool is_quick;
    uint64_t lease_ms; /* of what the watchdog renews */
    demo_stage stage;
} demo_board;

typedef struct demo demo;

typedef struct demo_scene {
    const char *title;
    const char *about;  /* a sentence or two, in lines */
    const char *legend; /* of the picture */
    const char *actor;  /* what one is called */
    const char *unit;   /* what it does, in the plural */
    int actors;
    bool has_bars; /* shares instead of a course of time */

    /* In the actor's process. Ends soon after stage.stop. */
    lk_status (*play)(demo_board *board, int self, lk_client *client);

    /* In the command's, each frame. True: the scene is over. */
    bool (*direct)(demo *d);

    /* The line under the actors. */
    void (*status)(const demo *d, char *text, size_t size);

    /* When all have ended: says what was true, with demo_check(). */
    void (*judge)(demo *d);
} demo_scene;

extern const demo_scene demo_scene_pool, demo_scene_cache, demo_scene_fleet,
    demo_scene_baton;

enum { DEMO_COLUMNS = 50, DEMO_EVENTS = 4 };

/* What is drawn in place, of the present scene. */
typedef struct demo_screen {
    bool is_live; /* else lines, one for each event */
    int drawn;    /* lines to go up by */
    uint64_t column_at;
    int columns;
    char course[DEMO_ACTORS][DEMO_COLUMNS + 1];
    int events;
    char event[DEMO_EVENTS][DEMO_WORDS];
} demo_screen;

struct demo {
    const cli *c;
    demo_board *board;
    const demo_scene *scene;
    uint64_t began_at; /* the whole */
    uint64_t scene_at; /* the scene, once all its actors were ready */
    int step;          /* how far the scene's plot is; its own */
    int checks, untrue;
    demo_screen screen;
};

/* ---- demo.c ---- */

uint64_t demo_now(void);

/* Milliseconds since the scene began. */
uint64_t demo_scene_ms(const demo *d);

/* The signal that asked the demo to end; 0: none. */
int demo_interrupted(void);

/* ---- demo_server.c ---- */

/*
 * Starts program on a unix socket in a fresh directory that only the user can
 * enter, and fills in board->url. Whatever becomes of the command, the server
 * ends with it and the directory is removed: a keeper of its own session sees
 * to it. Returns the keeper's pid; 0, having complained, if it did not start,
 * or silently if the demo was interrupted.
 */
pid_t demo_server_start(const cli *c, demo_board *board,
                        const cli_program *program);
void demo_server_end(pid_t keeper);

/* ---- demo_cast.c ---- */

/* Forks. A child ends with its parent and gets no Ctrl-C of the terminal. */
pid_t demo_fork(void);

/* Starts the actors of d->scene and waits until all are ready. */
bool demo_cast_start(demo *d);

/* kill -9, and waits for its death. */
void demo_cast_kill(demo *d, int index);

/* Ends all of them. */
void demo_cast_end(demo *d);

/* An actor that could not go on; -1: none. */
int demo_cast_failed(const demo *d);

/* In an actor: what it does now. */
void demo_become(demo_stage *stage, int self, demo_state state);

/* In an actor: it is inside for as long as the hold is valid, or until it
   leaves. */
void demo_enter(demo_stage *stage, int self, const lk_hold *hold);
void demo_leave(demo_stage *stage, int self);

/* How many are validly inside at this moment, without the dead or with them;
   0 if it changes too fast to tell. */
int demo_inside(const demo_stage *stage, bool with_dead);

/* Raises *most to value. */
void demo_raise(atomic_int *most, int value);

/* ---- demo_words.c ---- */

/* Seconds since the demo began. */
double demo_seconds(const demo *d);

void demo_begin(demo *d);
void demo_scene_begin(demo *d);

/* Tells an event. */
void demo_tell(demo *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says whether a sentence about the scene was true. */
void demo_check(demo *d, bool is_true, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The last word. */
void demo_end(demo *d);

/* ---- demo_screen.c ---- */

/* Whether there is a terminal that is large enough for the picture. */
bool demo_can_draw(void);

/* Draws it, if it is due; the last one in any case. */
void demo_draw(demo *d);
void demo_draw_last(demo *d);

/* An event, below the picture. */
void demo_picture_tell(demo *d, const char *text);

#endif /* LK_CLI_DEMO_H */
