/* SPDX-License-Identifier: MIT */

/* Tables. A number is the median of the quieter half of its rounds. */

#include "lock_table.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "measure.h"

static const char *const place_names[PLACES] = {"same", "cross", "free"};

/* What lies in the rounds, which are stride bytes apart. */
struct rounds {
    const void *first;
    size_t stride;
    size_t foreign; /* offset of the noise */
    unsigned count;
};

static void column(const struct rounds *rounds, size_t offset, double *ret)
{
    for (unsigned i = 0; i < rounds->count; i++)
        memcpy(&ret[i],
               (const char *)rounds->first + i * rounds->stride + offset,
               sizeof(double));
}

/* Of the double that lies at offset in each of the rounds. */
static double median(const struct rounds *rounds, size_t offset)
{
    double values[ROUNDS] = {0}, foreign[ROUNDS] = {0};

    column(rounds, offset, values);
    column(rounds, rounds->foreign, foreign);
    return settled(values, foreign, rounds->count);
}

/* ---- (a), (b), (d) ----------------------------------------------------------- */

enum {
    RATIO,
    BARE_RATE,
    LOCK_RATE,
    BARE_CLIENT,
    LOCK_CLIENT,
    BARE_SERVER,
    LOCK_SERVER,
    COMMANDS,
    WRITES,
    FOREIGN
};

static double quantity(const rate_row *row, int at, unsigned round, int which)
{
    const rate *bare = &row->rounds[at][round].bare;
    const rate *lock = &row->rounds[at][round].lock;
    const double all[] = {
        [RATIO] = lock->per_s / bare->per_s,
        [BARE_RATE] = bare->per_s,
        [LOCK_RATE] = lock->per_s,
        [BARE_CLIENT] = bare->client_us,
        [LOCK_CLIENT] = lock->client_us,
        [BARE_SERVER] = bare->server_us,
        [LOCK_SERVER] = lock->server_us,
        [COMMANDS] = lock->commands,
        [WRITES] = lock->writes,
        [FOREIGN] =
            bare->foreign > lock->foreign ? bare->foreign : lock->foreign,
    };

    return all[which];
}

static double
rate_median(const rate_row *row, int at, unsigned rounds, int which)
{
    double foreign[ROUNDS], values[ROUNDS];

    for (unsigned i = 0; i < rounds; i++) {
        foreign[i] = quantity(row, at, i, FOREIGN);
        values[i] = quantity(row, at, i, which);
    }
    return settled(values, foreign, rounds);
}

void rate_row_print(const rate_row *row, unsigned rounds)
{
    printf("\n(%c) %s: acquire and release, pairs a second\n", row->letter,
           row->what);
    printf("%-6s %9s %9s %6s   %-15s %-15s %5s %6s %7s\n", "", "bare", "lock",
           "ratio", "client us", "server us", "cmds", "writes", "foreign");
    for (int at = 0; at < PLACES; at++) {
        printf("%-6s", place_names[at]);
        printf(" %9.0f %9.0f %6.2f  ", rate_median(row, at, rounds, BARE_RATE),
               rate_median(row, at, rounds, LOCK_RATE),
               rate_median(row, at, rounds, RATIO));
        printf(" %5.1f -> %5.1f ", rate_median(row, at, rounds, BARE_CLIENT),
               rate_median(row, at, rounds, LOCK_CLIENT));
        printf(" %5.1f -> %5.1f ", rate_median(row, at, rounds, BARE_SERVER),
               rate_median(row, at, rounds, LOCK_SERVER));
        printf("%5.2f %6.2f %7.2f\n", rate_median(row, at, rounds, COMMANDS),
               rate_median(row, at, rounds, WRITES),
               rate_median(row, at, rounds, FOREIGN));
    }
}

/* ---- (c) ----------------------------------------------------------------------- */

static double
handover_median(const handover_row *row, int size, unsigned rounds, size_t what)
{
    const struct rounds all = {row->rounds[size], sizeof(handover),
                               offsetof(handover, foreign), rounds};

    return median(&all, what);
}

static void handover_print(const handover_row *row, int size, unsigned rounds)
{
    static const size_t offsets[] = {
        offsetof(handover, per_s),    offsetof(handover, commands),
        offsetof(handover, rechecks), offsetof(handover, p50_us),
        offsetof(handover, p99_us),   offsetof(handover, smallest),
        offsetof(handover, largest),  offsetof(handover, server_us),
        offsetof(handover, foreign),
    };
    double v[9];

    for (int i = 0; i < 9; i++)
        v[i] = handover_median(row, size, rounds, offsets[i]);
    printf(
        "%2u ms %5u %9.0f %6.2f %9.3f %9.0f %9.0f %6.2f - %.2f %7.1f %7.2f\n",
        row->hold_ms, row->sizes[size], v[0], v[1], v[2], v[3], v[4], v[5],
        v[6], v[7], v[8]);
}

void handover_rows_print(const handover_row *rows, unsigned rounds)
{
    printf("\n(c) processes on one name, free\n"
           "%5s %5s %9s %6s %9s %9s %9s %13s %7s %7s\n",
           "hold", "procs", "holds/s", "cmds", "rechecks", "p50 us", "p99 us",
           "shares", "srv us", "foreign");
    for (int h = 0; h < HANDOVER_HOLDS; h++) {
        for (int s = 0; s < HANDOVER_SIZES; s++)
            handover_print(&rows[h], s, rounds);
    }
}

/* ---- (e) ------------------------------------------------------------------------- */

static double
renewal_median(const renewal_row *row, bool plain, unsigned rounds, size_t what)
{
    const struct rounds all = {plain ? &row->rounds[0].plain
                                     : &row->rounds[0].renewed,
                               sizeof(row->rounds[0]),
                               offsetof(renewal, foreign), rounds};

    return median(&all, what);
}

static void renewal_line(const renewal_row *row, bool plain, unsigned rounds)
{
    static const size_t offsets[] = {
        offsetof(renewal, per_s),        offsetof(renewal, server_us),
        offsetof(renewal, script_us),    offsetof(renewal, ping_p50_us),
        offsetof(renewal, ping_p999_us), offsetof(renewal, slow),
        offsetof(renewal, slowest_us),   offsetof(renewal, preempted),
        offsetof(renewal, foreign),
    };
    double v[9];

    for (int i = 0; i < 9; i++)
        v[i] = renewal_median(row, plain, rounds, offsets[i]);
    printf("%-9s %9.0f %9.2f %9.0f %9.0f %10.0f %5.0f %10.0f %9.0f %7.2f\n",
           plain ? "plain" : "renewals", v[0], v[1], v[2], v[3], v[4], v[5],
           v[6], v[7], v[8]);
}

void renewal_row_print(const renewal_row *row, unsigned rounds)
{
    printf("\n(e) %u holds of one client, cross\n"
           "%-9s %9s %9s %9s %9s %10s %5s %10s %9s %7s\n",
           row->holds, "", "each s", "server us", "script us", "ping p50",
           "ping p99.9", "slow", "slowest us", "preempted", "foreign");
    renewal_line(row, false, rounds);
    renewal_line(row, true, rounds);
}

/* ---- aims -------------------------------------------------------------------------- */

static void judge(const char *what, double found, const char *sign, double aim)
{
    static bool begun;
    bool met = sign[0] == '>' ? found >= aim : found <= aim;

    if (!begun)
        printf("\n%-48s %9s    %-10s\n", "aims", "found", "aim");
    begun = true;
    printf("%-48s %9.2f %2s %-10.2f %s\n", what, found, sign, aim,
           met ? "met" : "missed");
}

void rate_row_judge(const rate_row *row, unsigned rounds)
{
    char what[64];

    (void)snprintf(what, sizeof(what), "(%c) %s: ratio, free", row->letter,
                   row->what);
    judge(what, rate_median(row, FREE, rounds, RATIO), ">=", row->aim);
}

void handover_row_judge(const handover_row *row, unsigned rounds)
{
    double slowest = 0, fastest = 0;
    char what[64];

    for (int s = 0; s < HANDOVER_SIZES; s++) {
        double per_s =
            handover_median(row, s, rounds, offsetof(handover, per_s));

        slowest = s == 0 || per_s < slowest ? per_s : slowest;
        fastest = per_s > fastest ? per_s : fastest;
    }
    (void)snprintf(what, sizeof(what), "(c) %u ms: slowest for fastest rate",
                   row->hold_ms);
    judge(what, slowest / fastest, ">=", row->aim);
}

void renewal_row_judge(const renewal_row *row, unsigned rounds)
{
    size_t p999 = offsetof(renewal, ping_p999_us);

    judge("(e) p99.9 of the ping above plain, us",
          renewal_median(row, false, rounds, p999) -
              renewal_median(row, true, rounds, p999),
          "<=", row->aim_us);
    judge("(e) scripts of more than 1 ms",
          renewal_median(row, false, rounds, offsetof(renewal, slow)), "<=", 0);
}
