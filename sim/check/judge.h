/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_CHECK_JUDGE_H
#define LK_SIM_CHECK_JUDGE_H

#include <stdio.h>

#include "check/check.h"

/*
 * Judges the histories in some files, and writes what is found: each violation,
 * the events that make it, and what happened around them.
 */

typedef struct judge_result {
    uint64_t events, violations;
    uint64_t together_ns; /* the longest that two were believed who exclude each
                             other */
    uint64_t by_call[HISTORY_CALLS][HISTORY_PHASES];
} judge_result;

/* left: keys that were found at the end, NULL-terminated; or NULL. False: a file
   cannot be read, or there is no memory. */
bool judge_files(const char *const *paths, size_t count,
                 const checker_options *options, const char *const *left,
                 FILE *file, judge_result *ret_result);

#endif /* LK_SIM_CHECK_JUDGE_H */
