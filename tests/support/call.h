/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CALL_H
#define LK_TESTS_SUPPORT_CALL_H

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * One async call and how it ended. It is the data of the call; the callback is
 * the function below that fits. Zero at the start. It must live until the call
 * has ended.
 */
typedef struct call {
    atomic_int ends; /* set last, once per callback */
    lk_status status;
    lk_hold *hold; /* the test's, to be released */
    lk_info *info; /* the test's, to be freed */
    bool locked;
    char words[160]; /* of lk_last_error() in the callback */
    pthread_t thread;
    uint64_t at_ms;                 /* when it ended; see wait_now_ms() */
    void (*act)(struct call *call); /* within the callback; NULL: nothing */
    void *data;                     /* for act */
} call;

void call_on_done(lk_status status, void *data);
void call_on_acquire(lk_status status, lk_hold *hold, void *data);
void call_on_locked(lk_status status, bool locked, void *data);
void call_on_info(lk_status status, lk_info *info, void *data);

/* For lk_..._run(): does nothing, and succeeds. */
lk_status call_nothing(lk_hold *hold, void *data);

/* Lets the callbacks of a client run that are due, if it wants dispatch. */
void call_dispatch(lk_client *client);

/*
 * Waits until the call has ended, 10 s at most (scaled), and returns the
 * status; else the test fails. client: is dispatched meanwhile; NULL, or one
 * without dispatch: its loop does that.
 */
lk_status call_wait(call *c, lk_client *client);

/* The same for a counter of the test's, until it is at least so much. */
void call_wait_count(atomic_int *counter, int least, lk_client *client);

#endif /* LK_TESTS_SUPPORT_CALL_H */
