/* SPDX-License-Identifier: MIT */
#ifndef SIM_WORLD_RANDOM_H
#define SIM_WORLD_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* splitmix64: any number is a state to begin with. */
static inline uint64_t sim_draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number in [0, limit). */
static inline uint64_t sim_below(uint64_t *state, uint64_t limit)
{
    return limit == 0 ? 0 : sim_draw(state) % limit;
}

/* A number in [least, most]. */
static inline uint64_t
sim_between(uint64_t *state, uint64_t least, uint64_t most)
{
    return least + sim_below(state, most - least + 1);
}

/* A number in [least, most]; each doubling on the way has the same chance. */
static inline uint64_t
sim_spread(uint64_t *state, uint64_t least, uint64_t most)
{
    uint64_t doublings = 0, to;

    while (doublings < 62 && (least << doublings) < most)
        doublings++;
    to = least << sim_below(state, doublings + 1);
    return sim_between(state, least, to < most ? to : most);
}

static inline bool sim_chance(uint64_t *state, uint64_t percent)
{
    return sim_below(state, 100) < percent;
}

/* A state of its own for each part of a run, so that one part does not change
   what another one draws. */
static inline uint64_t sim_random_for(uint64_t seed, uint64_t part)
{
    uint64_t state = seed ^ (part * UINT64_C(0xd1342543de82ef95));

    return sim_draw(&state);
}

#endif /* SIM_WORLD_RANDOM_H */
