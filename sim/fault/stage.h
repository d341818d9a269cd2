/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_STAGE_H
#define LK_SIM_FAULT_STAGE_H

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <sys/types.h>

#include "fault/play.h"
#include "support/proxy.h"
#include "support/scratch.h"
#include "support/server.h"

/*
 * What a round is played on: a server, three more for the lock over several,
 * workers, and for each of them a network of its own to the server.
 */

typedef struct stage_worker {
    pid_t pid;        /* 0: none */
    uint32_t process; /* in the history */
    proxy *road;
} stage_worker;

typedef struct stage {
    const char *directory; /* of the histories; borrowed */
    history_log *log;
    play_shared *shared;
    scratch *memory; /* what the server keeps */
    server *server;
    server *nodes[PLAY_REDLOCK];
    proxy *node_roads[PLAY_REDLOCK];
    /* By how much the clocks of day are wrong, in ns: of the server, of the
       workers. In files that lk_shift reads. */
    int64_t *server_shift, *worker_shift;
    stage_worker workers[PLAY_WORKERS];
    uint32_t processes; /* so many had a number */
    uint64_t operations;
    uint64_t seed;
    lk_client *client; /* the operator's, straight to the server */
    lk_fairlock *fair;
    lk_semaphore *semaphore;
    lk_lock *lock;
    lk_rwlock *rwlock;
    pthread_t watcher;
    _Atomic bool watches;
    unsigned crashes; /* workers that ended by themselves */
} stage;

/* brisk: with brisk hands. False: stderr tells why. */
bool stage_open(stage *s, const char *directory, uint64_t seed, bool brisk);
/* Has the workers come to their end, which they are given time for. */
void stage_finish(stage *s);
void stage_close(stage *s);

/* A new worker in the place of one that is gone. */
bool stage_hire(stage *s, unsigned i);
/* Kills it, and writes that down. */
void stage_fire(stage *s, unsigned i);
/* Starts the server again, with its clock. */
bool stage_restart(stage *s, server *which);

/* Writes an event of the harness. */
void stage_put(stage *s, const history_event *event);
/* The next operation's id. */
uint64_t stage_operation(stage *s);

/* Keys that nobody has any more and that nothing ends; NULL-terminated, up to
   the next call. */
const char *const *stage_left(stage *s);

#endif /* LK_SIM_FAULT_STAGE_H */
