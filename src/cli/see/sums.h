/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_SUMS_H
#define LK_CLI_SEE_SUMS_H

#include "cli/see/rows.h"

/*
 * What names come to: for metrics and serve.
 */

enum { SEE_KINDS = LK_KIND_LATCH + 1 };

/* Of the names of one kind. */
typedef struct see_sums {
    uint64_t names, held, holders, waiters, foreign, longest_held_ms;
} see_sums;

typedef struct see_totals {
    see_sums kinds[SEE_KINDS];
    see_sums all;
    const lk_health *health; /* borrowed; NULL: not known */
    bool truncated;
    const char *missing; /* of the listing */
} see_totals;

see_totals see_totals_of(const see_rows *rows, const lk_health *health);

/* Sums as an object. */
void see_json_sums(cli_json *json, const char *key, const see_sums *s);

/* All of them as one document; health is known. */
void see_json_totals(const see_totals *totals);

/*
 * Writes them as Prometheus text. stats NULL: the server could not be looked at,
 * and nothing is known. rows: also a series for each of the first so many names;
 * NULL: for none.
 */
void see_put_metrics(FILE *to, const see_totals *stats, const see_rows *rows,
                     size_t most);

#endif /* LK_CLI_SEE_SUMS_H */
