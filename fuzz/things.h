/* SPDX-License-Identifier: MIT */
#ifndef LK_FUZZ_THINGS_H
#define LK_FUZZ_THINGS_H

#include "calls.h"

/* One handle of every primitive, on the name "n"; the rwlock on "rw". */
typedef struct things {
    calls *calls;
    lk_lock *lock;
    lk_lock *spin;
    lk_fairlock *fairlock;
    lk_rwlock *rwlock;
    lk_semaphore *semaphore;
    lk_plain_semaphore *plain;
    lk_latch *latch;
    lk_siglock *siglock;
    lk_cell *cell;
    lk_leader *leader;
    lk_flight *flight;
    lk_multilock *multilock;
    lk_redlock *redlock;
    lk_stripes *stripes;
} things;

void things_new(things *t, calls *c);
void things_free(things *t);

/* Begins one call, of a primitive and a sort that the input chooses. */
void things_call(things *t, input *in);

/* The same of acquires alone. */
void things_acquire(things *t, input *in);

/* Imports text as a hold of one kind, from 0 to THINGS_IMPORTS - 1. */
enum { THINGS_IMPORTS = 5 };
lk_status things_import(things *t, unsigned kind, const char *text,
                        const lk_acquire_options *options, lk_hold **ret_hold);

#endif /* LK_FUZZ_THINGS_H */
