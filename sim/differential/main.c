/* SPDX-License-Identifier: MIT */

/*
 * lk_differential [--calls <n>] [--seed <n>] [--each-from <n>]: a real redis-server and the
 * simulated one are asked the same. Exits 1 at the first difference, 77 where the
 * real one is of another version than is simulated. To see
 * which command made it: from the n-th command on, the data is compared after
 * each.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/calls.h"

enum { NOT_RUN = 77 };

static uint64_t option(int argc, char **argv, const char *name, uint64_t usual)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return strtoull(argv[i + 1], NULL, 10);
    }
    return usual;
}

static void compare(twin *t, calls *c, uint64_t seed, uint64_t most)
{
    while (twin_asked(t) < most && !twin_differs(t))
        calls_step(c);
    twin_compare_data(t);
    printf("seed %llu: %llu commands, %s; errors among the answers:",
           (unsigned long long)seed, (unsigned long long)twin_asked(t),
           twin_differs(t) ? "a DIFFERENCE" : "no difference");
    twin_tell_errors(t);
}

int main(int argc, char **argv)
{
    uint64_t most = option(argc, argv, "--calls", 300000);
    uint64_t seed = option(argc, argv, "--seed", 1);
    uint64_t each_from = option(argc, argv, "--each-from", UINT64_MAX);
    sim_engine *engine = sim_engine_new();
    twin *t = twin_new(engine, seed);
    calls *c = calls_new(t, seed, each_from);
    bool is_modelled = twin_is_modelled(t);
    bool differs;

    if (is_modelled)
        compare(t, c, seed, most);
    differs = twin_differs(t);
    calls_free(c);
    twin_free(t);
    sim_engine_free(engine);
    if (!is_modelled)
        return NOT_RUN;
    return differs ? 1 : 0;
}
