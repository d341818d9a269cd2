/* SPDX-License-Identifier: MIT */

/*
 * check_history [--late MS] [--granted MS] [--permits N] FILE...
 *
 * Reads files of events, tells what in them breaks a promise, and what happened
 * around it. Exit status: 0 nothing, 1 something, 2 not read.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/judge.h"

enum { MS = 1000000 };

static int usage(void)
{
    (void)fprintf(stderr, "usage: check_history [--late MS] [--granted MS] "
                          "[--permits N] FILE...\n");
    return 2;
}

/* False: it is no option with a number behind it. */
static bool
option(checker_options *options, const char *name, const char *value)
{
    uint64_t number = value != NULL ? strtoull(value, NULL, 10) : 0;

    if (number == 0)
        return false;
    if (strcmp(name, "--late") == 0)
        options->late_ns = options->told_ns = number * MS;
    else if (strcmp(name, "--granted") == 0)
        options->granted_ns = number * MS;
    else if (strcmp(name, "--permits") == 0)
        options->permits = number;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    checker_options options = {.late_ns = 1000 * (uint64_t)MS,
                               .told_ns = 1000 * (uint64_t)MS,
                               .granted_ns = 10000 * (uint64_t)MS,
                               .permits = 1};
    judge_result result;
    int first = 1;

    for (; first < argc && argv[first][0] == '-'; first += 2)
        if (!option(&options, argv[first], argv[first + 1]))
            return usage();
    if (first >= argc)
        return usage();
    if (!judge_files((const char *const *)(argv + first),
                     (size_t)(argc - first), &options, NULL, stdout, &result))
        return 2;
    printf("%" PRIu64 " events, %" PRIu64 " violations\n", result.events,
           result.violations);
    return result.violations == 0 ? 0 : 1;
}
