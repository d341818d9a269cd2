/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_LOCK_TABLE_H
#define LK_BENCH_LOCK_TABLE_H

#include "lock_rows.h"

/*
 * What was measured, round by round, as tables of medians; and, after all of
 * them, what was aimed at and what became of it.
 */

enum { ROUNDS = 5, PLACES = 3, HANDOVER_SIZES = 4, HANDOVER_HOLDS = 2 };

/* (a), (b), (d): the same work without the lock and with it. */
typedef struct rate_row {
    char letter;
    const char *what;
    const rate_case *bare, *lock;
    double aim; /* at least: what it does with it for one without it */
    struct {
        rate bare, lock;
    } rounds[PLACES][ROUNDS];
} rate_row;

/* (c): one hold time. */
typedef struct handover_row {
    unsigned hold_ms;
    double aim; /* at least: the slowest rate for the fastest */
    unsigned sizes[HANDOVER_SIZES]; /* processes */
    handover rounds[HANDOVER_SIZES][ROUNDS];
} handover_row;

/* (e) */
typedef struct renewal_row {
    unsigned holds;
    double aim_us; /* at most: p99.9 of the ping above the other side's */
    struct {
        renewal renewed, plain;
    } rounds[ROUNDS];
} renewal_row;

void rate_row_print(const rate_row *row, unsigned rounds);
void handover_rows_print(const handover_row *rows, unsigned rounds);
void renewal_row_print(const renewal_row *row, unsigned rounds);

/* A line of the table of aims, which begins with the first of them. */
void rate_row_judge(const rate_row *row, unsigned rounds);
void handover_row_judge(const handover_row *row, unsigned rounds);
void renewal_row_judge(const renewal_row *row, unsigned rounds);

#endif /* LK_BENCH_LOCK_TABLE_H */
