/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_SUBJECT_H
#define LK_BENCH_SUBJECT_H

#include <latchkey/latchkey.h>

#include "bare.h"

/* A primitive of which one thing is taken and given back, again and again. */
typedef enum subject_kind {
    SUBJECT_LOCK,
    SUBJECT_FAIRLOCK,
    SUBJECT_READ,
    SUBJECT_WRITE,
    SUBJECT_SEMAPHORE, /* of eight permits; one is taken */
    SUBJECT_PLAIN,     /* the same with a bare counter */
    SUBJECT_MIX,       /* the read-write lock; one in twenty writes */
    SUBJECT_BARE       /* and above: others', see bare.h */
} subject_kind;

/* One client and its handle; the others are NULL. */
typedef struct subject {
    subject_kind kind;
    lk_client *client;
    lk_lock *lock;
    lk_fairlock *fairlock;
    lk_rwlock *rwlock;
    lk_semaphore *semaphore;
    lk_plain_semaphore *plain;
    bare *bare;
    unsigned turn; /* where the cycles of a mix begin */
} subject;

/* One of others' ways. */
#define SUBJECT_OF(bare_kind) ((subject_kind)(SUBJECT_BARE + (bare_kind)))

/* The process index of count that share it. */
subject subject_open(subject_kind kind, unsigned index, unsigned count);
void subject_close(subject *s);

/* Takes one and gives it back. */
void subject_once(const subject *s);

/* What the client has sent so far. */
uint64_t subject_commands(const subject *s);

#endif /* LK_BENCH_SUBJECT_H */
