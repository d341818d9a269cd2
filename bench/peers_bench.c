/* SPDX-License-Identifier: MIT */

/*
 * What the primitives do beside what others do for the same purpose, and beside
 * the least that could: both sides of a row in turn on one private server, round
 * after round. A ratio is the median of the rounds' ratios, above 1 where ours
 * is faster, and where it costs more.
 */

#include <stdio.h>
#include <stdlib.h>

#include "cost.h"
#include "measure.h"
#include "peers_owners.h"
#include "server.h"

enum { ROUNDS = 5, QUICK_ROUNDS = 3, OWNERS = 64 };

#define NS_PER_MS UINT64_C(1000000)

/* One side of a row. */
typedef struct side {
    subject_kind kind;
    unsigned processes;
    double per_s[ROUNDS], server_us[ROUNDS];
    double smallest[ROUNDS], largest[ROUNDS];
} side;

typedef struct row {
    const char *what, *aim;
    side ours, theirs;
} row;

/* One process, and nobody else wants it. */
static row cycle_rows[] = {
    {.what = "lock : a hash by two scripts",
     .aim = "server at most 2.0",
     .theirs = {.kind = SUBJECT_OF(BARE_HASH)}},
    {.what = "lock : Redisson's",
     .aim = "",
     .theirs = {.kind = SUBJECT_OF(BARE_REDISSON)}},
};

static row crowd_rows[] = {
    {.what = "lock : a ring of PUBLISH, 8 processes",
     .aim = "",
     .ours = {.processes = 8},
     .theirs = {.kind = SUBJECT_OF(BARE_RING), .processes = 8}},
    {.what = "lock : BLPOP, 8 processes",
     .aim = "at least 0.45",
     .ours = {.processes = 8},
     .theirs = {.kind = SUBJECT_OF(BARE_LIST), .processes = 8}},
    {.what = "lock : Redisson's, 4 processes",
     .aim = "at least 1.5",
     .ours = {.processes = 4},
     .theirs = {.kind = SUBJECT_OF(BARE_REDISSON), .processes = 4}},
    {.what = "lock : Redisson's, 64 processes",
     .aim = "at least 16",
     .ours = {.processes = 64},
     .theirs = {.kind = SUBJECT_OF(BARE_REDISSON), .processes = 64}},
    {.what = "lock, 256 processes : 2 processes",
     .aim = "at least 0.85",
     .ours = {.processes = 256},
     .theirs = {.processes = 2}},
    {.what = "semaphore : 8 tokens by BLPOP, 64 processes",
     .aim = "at least 0.4",
     .ours = {.kind = SUBJECT_SEMAPHORE, .processes = 64},
     .theirs = {.kind = SUBJECT_OF(BARE_EIGHT), .processes = 64}},
    {.what = "read-write lock : Redisson's, 16 processes, 95 % read",
     .aim = "at least 15, shares 0.7 - 1.3",
     .ours = {.kind = SUBJECT_MIX, .processes = 16},
     .theirs = {.kind = SUBJECT_OF(BARE_MIX), .processes = 16}},
};

static row owner_row = {.what = "64 locks of one client : pipelined pairs",
                        .aim = ""};

enum {
    CYCLE_ROWS = sizeof(cycle_rows) / sizeof(cycle_rows[0]),
    CROWD_ROWS = sizeof(crowd_rows) / sizeof(crowd_rows[0])
};

/* ---- one round ------------------------------------------------------------------ */

static void cycle_side(side *s, unsigned round)
{
    cycle result = cycle_measure(s->kind, scaled_ns(500 * NS_PER_MS));

    s->per_s[round] = result.per_s;
    s->server_us[round] = result.server_us;
}

static void crowd_side(side *s, unsigned round)
{
    crowd result =
        crowd_measure(s->kind, s->processes, 1, scaled_ns(1000 * NS_PER_MS));

    s->per_s[round] = result.per_s;
    s->server_us[round] = result.server_us;
    s->smallest[round] = result.smallest;
    s->largest[round] = result.largest;
}

static void owner_side(side *s, unsigned round, owners_result result)
{
    s->per_s[round] = result.per_s;
    s->server_us[round] = result.server_us;
}

/* The side that is first changes from round to round. */
static void
measure_row(row *r, void (*measure)(side *s, unsigned round), unsigned round)
{
    wait_for_quiet();
    measure(round % 2 == 0 ? &r->ours : &r->theirs, round);
    measure(round % 2 == 0 ? &r->theirs : &r->ours, round);
}

static void measure_round(unsigned round)
{
    for (unsigned i = 0; i < CYCLE_ROWS; i++)
        measure_row(&cycle_rows[i], cycle_side, round);
    for (unsigned i = 0; i < CROWD_ROWS; i++)
        measure_row(&crowd_rows[i], crowd_side, round);
    owner_side(&owner_row.ours, round,
               owners_measure(OWNERS, scaled_ns(500 * NS_PER_MS)));
    owner_side(&owner_row.theirs, round,
               owners_bare(OWNERS, scaled_ns(500 * NS_PER_MS)));
}

/* ---- all of them ----------------------------------------------------------------- */

static double median(const double *numbers, unsigned count)
{
    double copy[ROUNDS];

    for (unsigned i = 0; i < count; i++)
        copy[i] = numbers[i];
    return quantile(copy, count, 0.5);
}

static double ratio(const double *a, const double *b, unsigned count)
{
    double ratios[ROUNDS];

    for (unsigned i = 0; i < count; i++)
        ratios[i] = b[i] > 0 ? a[i] / b[i] : 0;
    return quantile(ratios, count, 0.5);
}

static void print_row(const row *r, unsigned rounds)
{
    printf("| %s | %.0f | %.0f | %.2f | %.1f | %.1f | %.2f | ", r->what,
           median(r->ours.per_s, rounds), median(r->theirs.per_s, rounds),
           ratio(r->ours.per_s, r->theirs.per_s, rounds),
           median(r->ours.server_us, rounds),
           median(r->theirs.server_us, rounds),
           ratio(r->ours.server_us, r->theirs.server_us, rounds));
    if (r->ours.processes > 0)
        printf("%.2f - %.2f", median(r->ours.smallest, rounds),
               median(r->ours.largest, rounds));
    printf(" | %s |\n", r->aim);
}

static void print(unsigned rounds)
{
    printf("| ours : theirs | per s | theirs | ratio | server us | theirs | "
           "ratio | shares | aim |\n|---|---|---|---|---|---|---|---|---|\n");
    for (unsigned i = 0; i < CYCLE_ROWS; i++)
        print_row(&cycle_rows[i], rounds);
    print_row(&owner_row, rounds);
    for (unsigned i = 0; i < CROWD_ROWS; i++)
        print_row(&crowd_rows[i], rounds);
}

int main(void)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;

    server_start();
    for (unsigned round = 0; round < rounds; round++) {
        measure_round(round);
        (void)fprintf(stderr, "round %u of %u\n", round + 1, rounds);
    }
    print(rounds);
    return EXIT_SUCCESS;
}
