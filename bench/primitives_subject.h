/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_PRIMITIVES_SUBJECT_H
#define LK_BENCH_PRIMITIVES_SUBJECT_H

#include <latchkey/latchkey.h>

/* A primitive of which one thing is taken and given back, again and again. */
typedef enum subject_kind {
    SUBJECT_LOCK,
    SUBJECT_FAIRLOCK,
    SUBJECT_READ,
    SUBJECT_WRITE,
    SUBJECT_SEMAPHORE, /* of eight permits; one is taken */
    SUBJECT_PLAIN      /* the same with a bare counter */
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
} subject;

subject subject_open(subject_kind kind);
void subject_close(subject *s);

/* Takes one and gives it back. */
void subject_once(const subject *s);

/* What the client has sent so far. */
uint64_t subject_commands(const subject *s);

#endif /* LK_BENCH_PRIMITIVES_SUBJECT_H */
