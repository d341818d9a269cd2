/* SPDX-License-Identifier: MIT */
#ifndef SIM_WORLD_CLOCK_H
#define SIM_WORLD_CLOCK_H

#include <stdint.h>

/*
 * What one machine's clock shows: it was at base when the run began, is ppm
 * millionths faster than true time, and may be stepped.
 */
typedef struct sim_clock {
    uint64_t base;
    int64_t ppm; /* more than -1000000 */
} sim_clock;

/* Good for the first days of a run. */
static inline uint64_t sim_clock_at(const sim_clock *clock, uint64_t now)
{
    return clock->base + now + (uint64_t)((int64_t)now * clock->ppm / 1000000);
}

/* The first true time at which the clock shows this or more. */
static inline uint64_t sim_clock_when(const sim_clock *clock, uint64_t shown)
{
    uint64_t since = shown > clock->base ? shown - clock->base : 0;
    uint64_t now;

    if (since > UINT64_C(10000000000000))
        return since; /* that is hours away: never */
    now = since * 1000000 / (uint64_t)(1000000 + clock->ppm);
    while (sim_clock_at(clock, now) < clock->base + since)
        now++;
    return now;
}

/* Steps it; the time that it has shown is not shown differently. */
static inline void sim_clock_step(sim_clock *clock, int64_t ns)
{
    clock->base += (uint64_t)ns;
}

#endif /* SIM_WORLD_CLOCK_H */
