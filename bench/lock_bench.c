/* SPDX-License-Identifier: MIT */

/*
 * What the lock costs, against what it could cost at best: all rows in one run
 * on one private server, round after round, so that a busy minute of the
 * machine falls on both sides of a comparison. docs/measurements.md says what
 * the rows mean.
 *
 *   lock_bench [a] ... [g]      all of them by default
 */

#include <stdio.h>

#include "lock_rows.h"
#include "lock_table.h"
#include "measure.h"
#include "server.h"

enum { QUICK_ROUNDS = 3 };

#define NS_PER_MS UINT64_C(1000000)

/* ---- what is measured ---------------------------------------------------------- */

static rate_row rate_rows[] = {
    {.letter = 'a',
     .what = "1 thread, 1 name",
     .bare = &rate_one_bare,
     .lock = &rate_one_lock,
     .aim = 0.6},
    {.letter = 'b',
     .what = "64 threads, 64 names",
     .bare = &rate_many_bare,
     .lock = &rate_many_lock,
     .aim = 1.5},
    {.letter = 'd',
     .what = "64 threads, 1 name",
     .bare = &rate_local_bare,
     .lock = &rate_local_lock,
     .aim = 0.3},
    {.letter = 'f',
     .what = "1 thread, 1 name, beside the lock's own scripts",
     .bare = &rate_one_replay,
     .lock = &rate_one_lock,
     .aim = 1.0},
    {.letter = 'g',
     .what = "64 threads, 64 names, beside the lock's own scripts",
     .bare = &rate_many_replay,
     .lock = &rate_many_lock,
     .aim = 0.8},
};

enum { RATE_ROWS = sizeof(rate_rows) / sizeof(rate_rows[0]) };

static handover_row handover_rows[HANDOVER_HOLDS] = {
    {.hold_ms = 0, .aim = 0.8, .sizes = {2, 8, 64, 256}},
    {.hold_ms = 1, .aim = 0.8, .sizes = {2, 8, 64, 256}},
};

static renewal_row renewals = {.holds = 100000, .aim_us = 1000};

/* ---- one round ----------------------------------------------------------------- */

static void rates_round(rate_row *row, unsigned round)
{
    uint64_t ns = scaled_ns(500 * NS_PER_MS);

    for (int at = 0; at < PLACES; at++) {
        row->rounds[at][round].bare = rate_measure(row->bare, (place)at, ns);
        row->rounds[at][round].lock = rate_measure(row->lock, (place)at, ns);
    }
}

/* So long that each process has its turn ten times, or else a second. */
static void handovers_round(handover_row *row, unsigned round)
{
    for (int s = 0; s < HANDOVER_SIZES; s++) {
        unsigned processes = row->sizes[s];
        uint64_t hold_ns = row->hold_ms * NS_PER_MS;
        uint64_t ns = (uint64_t)10 * processes * (hold_ns + hold_ns / 5);

        if (ns < 1000 * NS_PER_MS)
            ns = 1000 * NS_PER_MS;
        row->rounds[s][round] =
            handover_measure(processes, hold_ns, FREE, scaled_ns(ns));
    }
}

/* 10 s: the watchdog renews at a third of 30 s. */
static void renewals_round(unsigned round)
{
    if (is_quick())
        renewals.holds = 10000;
    renewal_measure(renewals.holds, scaled_ns(10000 * NS_PER_MS),
                    &renewals.rounds[round].renewed,
                    &renewals.rounds[round].plain);
}

/* ---- all of them ----------------------------------------------------------------- */

static bool is_wanted(char letter, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == letter)
            return true;
    }
    return argc < 2;
}

static void measure_all(unsigned rounds, int argc, char **argv)
{
    for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < RATE_ROWS; i++) {
            if (is_wanted(rate_rows[i].letter, argc, argv))
                rates_round(&rate_rows[i], round);
        }
        for (int i = 0; i < HANDOVER_HOLDS; i++) {
            if (is_wanted('c', argc, argv))
                handovers_round(&handover_rows[i], round);
        }
        if (is_wanted('e', argc, argv))
            renewals_round(round);
        (void)fprintf(stderr, "round %u of %u\n", round + 1, rounds);
    }
}

static void print_all(unsigned rounds, int argc, char **argv)
{
    for (int i = 0; i < RATE_ROWS; i++) {
        if (is_wanted(rate_rows[i].letter, argc, argv))
            rate_row_print(&rate_rows[i], rounds);
    }
    if (is_wanted('c', argc, argv))
        handover_rows_print(handover_rows, rounds);
    if (is_wanted('e', argc, argv))
        renewal_row_print(&renewals, rounds);
}

static void judge_all(unsigned rounds, int argc, char **argv)
{
    for (int i = 0; i < RATE_ROWS; i++) {
        if (is_wanted(rate_rows[i].letter, argc, argv))
            rate_row_judge(&rate_rows[i], rounds);
    }
    for (int i = 0; i < HANDOVER_HOLDS; i++) {
        if (is_wanted('c', argc, argv))
            handover_row_judge(&handover_rows[i], rounds);
    }
    if (is_wanted('e', argc, argv))
        renewal_row_judge(&renewals, rounds);
}

int main(int argc, char **argv)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;

    server_start();
    measure_all(rounds, argc, argv);
    print_all(rounds, argc, argv);
    judge_all(rounds, argc, argv);
    return 0;
}
