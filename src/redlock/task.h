/* SPDX-License-Identifier: MIT */
#ifndef LK_REDLOCK_TASK_H
#define LK_REDLOCK_TASK_H

#include "engine/call.h"

/*
 * What has to be done step by step and outside every monitor, because a step
 * enters those of several clients: an acquire, a release, an extension. A
 * blocking one is run by its caller, who sleeps between the steps; an async
 * one by the caller first, and then by the loop of whichever client wakes it.
 *
 * advance looks at how things stand and does what can be done; it does not
 * rely on who woke it, or how often. Whoever may wake a task has to have been
 * taken off it before it ends.
 */
typedef struct lk__task lk__task;

struct lk__task {
    /* True: it has ended. Sets due: when to look again at the latest. */
    bool (*advance)(lk__task *task);
    /* Of an async one: it has ended, nothing will wake it: tell, and free. */
    void (*finish)(lk__task *task);
    lk_client *home; /* whose clock and timer it uses; kept by its owner */
    uint64_t due;
    lk__parking parking; /* of a blocking one */
    atomic_int state;    /* of an async one; see task.c */
    lk__post chore;
    lk__alarm alarm;
    lk__task *next; /* of those that wait for one token */
    bool listed;
};

/* Runs it to its end on this thread; finish is not called. */
void lk__task_run(lk__task *task);

/* Begins an async one, which may end within. */
void lk__task_begin(lk__task *task);

/* Has it advance soon. Within the monitor of client, of any client. */
void lk__task_wake(lk__task *task, lk_client *client);

/* Ends an async call of the user's: cb runs on the client's loop or in its
   dispatch, through call, which deliver frees. Outside every monitor. */
void lk__task_deliver(lk__call *call, lk_client *client, lk_status status,
                      void (*deliver)(lk__call *call));

#endif /* LK_REDLOCK_TASK_H */
