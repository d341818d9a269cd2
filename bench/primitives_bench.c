/* SPDX-License-Identifier: MIT */

/*
 * What the primitives cost beside the lock: the uncontended cycle, the
 * hand-over among processes, and waiting itself. Round after round on one
 * private server; medians.
 */

#include <stdio.h>
#include <stdlib.h>

#include "cost.h"
#include "measure.h"
#include "server.h"

enum { ROUNDS = 5, QUICK_ROUNDS = 3 };

#define NS_PER_MS UINT64_C(1000000)

/* ---- rows ---------------------------------------------------------------------- */

static struct cycle_row {
    const char *what;
    subject_kind kind;
    double per_s[ROUNDS], server_us[ROUNDS], commands[ROUNDS];
} cycle_rows[] = {
    {.what = "lock"},
    {.what = "fair lock", .kind = SUBJECT_FAIRLOCK},
    {.what = "read-write lock, to read", .kind = SUBJECT_READ},
    {.what = "read-write lock, to write", .kind = SUBJECT_WRITE},
    {.what = "semaphore", .kind = SUBJECT_SEMAPHORE},
    {.what = "plain semaphore", .kind = SUBJECT_PLAIN},
};

static struct crowd_row {
    const char *what;
    subject_kind kind;
    unsigned processes, threads;
    double per_s[ROUNDS], server_us[ROUNDS], commands[ROUNDS];
    double smallest[ROUNDS], largest[ROUNDS];
} crowd_rows[] = {
    {.what = "lock, 64 processes", .processes = 64, .threads = 1},
    {.what = "fair lock, 64 processes",
     .kind = SUBJECT_FAIRLOCK,
     .processes = 64,
     .threads = 1},
    {.what = "lock, 8 processes of 8 threads", .processes = 8, .threads = 8},
    {.what = "fair lock, 8 processes of 8 threads",
     .kind = SUBJECT_FAIRLOCK,
     .processes = 8,
     .threads = 8},
    {.what = "lock, 64 threads of one process", .processes = 1, .threads = 64},
    {.what = "fair lock, 64 threads of one process",
     .kind = SUBJECT_FAIRLOCK,
     .processes = 1,
     .threads = 64},
    {.what = "semaphore of 8, 64 processes",
     .kind = SUBJECT_SEMAPHORE,
     .processes = 64,
     .threads = 1},
    {.what = "plain semaphore of 8, 64 processes",
     .kind = SUBJECT_PLAIN,
     .processes = 64,
     .threads = 1},
};

static struct queue_row {
    unsigned processes, waits;
    double server_percent[ROUNDS], looks[ROUNDS];
} queue_rows[] = {{.processes = 10, .waits = 1000},
                  {.processes = 64, .waits = 1024},
                  {.processes = 10, .waits = 10000},
                  {.processes = 64, .waits = 10048}};

enum {
    CYCLE_ROWS = sizeof(cycle_rows) / sizeof(cycle_rows[0]),
    CROWD_ROWS = sizeof(crowd_rows) / sizeof(crowd_rows[0]),
    QUEUE_ROWS = sizeof(queue_rows) / sizeof(queue_rows[0])
};

/* ---- one round ------------------------------------------------------------------ */

static void cycles_round(unsigned round)
{
    for (unsigned i = 0; i < CYCLE_ROWS; i++) {
        struct cycle_row *row = &cycle_rows[i];
        cycle result = cycle_measure(row->kind, scaled_ns(500 * NS_PER_MS));

        row->per_s[round] = result.per_s;
        row->server_us[round] = result.server_us;
        row->commands[round] = result.commands;
    }
}

static void crowds_round(unsigned round)
{
    for (unsigned i = 0; i < CROWD_ROWS; i++) {
        struct crowd_row *row = &crowd_rows[i];
        crowd result = crowd_measure(row->kind, row->processes, row->threads,
                                     scaled_ns(1000 * NS_PER_MS));

        row->per_s[round] = result.per_s;
        row->server_us[round] = result.server_us;
        row->commands[round] = result.commands;
        row->smallest[round] = result.smallest;
        row->largest[round] = result.largest;
    }
}

/* Looks come about once a second: less than a few seconds say nothing. */
static void queues_round(unsigned round)
{
    for (unsigned i = 0; i < QUEUE_ROWS; i++) {
        struct queue_row *row = &queue_rows[i];
        queue_cost result =
            queue_measure(row->processes, row->waits / row->processes,
                          3000 * NS_PER_MS);

        row->server_percent[round] = result.server_percent;
        row->looks[round] = result.looks;
    }
}

/* ---- all of them ----------------------------------------------------------------- */

static void print(unsigned rounds)
{
    printf("| nobody else wants it | per s | server us | commands |\n"
           "|---|---|---|---|\n");
    for (unsigned i = 0; i < CYCLE_ROWS; i++)
        printf("| %s | %.0f | %.1f | %.2f |\n", cycle_rows[i].what,
               quantile(cycle_rows[i].per_s, rounds, 0.5),
               quantile(cycle_rows[i].server_us, rounds, 0.5),
               quantile(cycle_rows[i].commands, rounds, 0.5));
    printf("\n| all want it | per s | server us | scripts | shares |\n"
           "|---|---|---|---|---|\n");
    for (unsigned i = 0; i < CROWD_ROWS; i++)
        printf("| %s | %.0f | %.1f | %.2f | %.2f - %.2f |\n",
               crowd_rows[i].what, quantile(crowd_rows[i].per_s, rounds, 0.5),
               quantile(crowd_rows[i].server_us, rounds, 0.5),
               quantile(crowd_rows[i].commands, rounds, 0.5),
               quantile(crowd_rows[i].smallest, rounds, 0.5),
               quantile(crowd_rows[i].largest, rounds, 0.5));
    printf("\n| waits for a fair lock | server | looks per s |\n"
           "|---|---|---|\n");
    for (unsigned i = 0; i < QUEUE_ROWS; i++)
        printf("| %u of %u processes | %.1f %% | %.0f |\n", queue_rows[i].waits,
               queue_rows[i].processes,
               quantile(queue_rows[i].server_percent, rounds, 0.5),
               quantile(queue_rows[i].looks, rounds, 0.5));
}

int main(void)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;

    server_start();
    for (unsigned round = 0; round < rounds; round++) {
        cycles_round(round);
        crowds_round(round);
        queues_round(round);
        (void)fprintf(stderr, "round %u of %u\n", round + 1, rounds);
    }
    print(rounds);
    return EXIT_SUCCESS;
}
