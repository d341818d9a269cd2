/* SPDX-License-Identifier: MIT */
#ifndef SIM_WORLD_INLET_H
#define SIM_WORLD_INLET_H

#include <stddef.h>

/* What of a command has arrived, if not all of it. */
typedef struct sim_inlet {
    char *bytes;
    size_t size, room;
} sim_inlet;

/* Arguments are borrowed, and end with no 0. */
typedef void (*sim_command)(void *data, int argc, const char **argv,
                            const size_t *sizes);

/* Bytes arrive: each command that is complete is run. */
void sim_inlet_read(sim_inlet *inlet, const char *bytes, size_t size,
                    sim_command run, void *data);

#endif /* SIM_WORLD_INLET_H */
