/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RECORD_H
#define LK_TESTS_SUPPORT_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * What a lock guards in a test: it sees two owners inside at once, and fences
 * that do not grow. It may lie in memory shared by processes (worker.h) and is
 * used by any thread. All zero is an empty record. The checks are atomic, not
 * exclusive: nothing here keeps a second owner out.
 *
 * Owners are numbers, different ones for whoever may not be inside together.
 */
typedef struct record {
    _Atomic uint64_t inside;       /* 0, or who and how far; see record.c */
    _Atomic uint64_t last_fence;   /* the highest so far */
    _Atomic uint64_t grants;       /* calls of record_enter() */
    _Atomic uint64_t overlaps;     /* somebody else was inside, or had been */
    _Atomic uint64_t fence_errors; /* a fence not higher than the last one */
} record;

/* The owner has the lock. Counts what is wrong; true: nothing is. */
bool record_enter(record *r, unsigned owner, uint64_t fence);
/*
 * In one turn of so many the owner stays inside for a moment: for whoever only
 * enters and leaves, a lock that lets two in is hardly ever seen to do so.
 */
void record_stay(uint64_t turn);
/* The owner is about to release it. False: it was not alone all the time. */
bool record_leave(record *r, unsigned owner);
/*
 * The owner will not leave by itself: it was killed, or lost the lock and was
 * told. Call it before the lock can be had by somebody else. True: it was
 * inside.
 */
bool record_abandon(record *r, unsigned owner);

/* Overlaps and fence errors together. */
uint64_t record_violations(record *r);

#endif /* LK_TESTS_SUPPORT_RECORD_H */
