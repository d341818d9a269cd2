/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_GATE_H
#define LK_TESTS_SUPPORT_GATE_H

#include <semaphore.h>

#include "support/witness.h"

/* Keeps the loop of a witness's world in an event, so that it does nothing. */
typedef struct gate {
    witness *witness;
    sem_t entered, open;
} gate;

/* Returns when the loop waits, in an on_timer that it was given for that. */
void gate_close(gate *g, witness *w);

/* Lets that event go on; returns when the loop waits in the next one. */
void gate_next(gate *g);

/* Lets the loop run. */
void gate_open(gate *g);

#endif /* LK_TESTS_SUPPORT_GATE_H */
