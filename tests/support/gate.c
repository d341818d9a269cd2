/* SPDX-License-Identifier: MIT */
#include "support/gate.h"

static void sem_take(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        continue;
}

static void wait_here(witness *w, witness_link *link)
{
    gate *g = w->data;

    (void)link;
    (void)sem_post(&g->entered);
    sem_take(&g->open);
}

void gate_close(gate *g, witness *w)
{
    g->witness = w;
    (void)sem_init(&g->entered, 0, 0);
    (void)sem_init(&g->open, 0, 0);
    witness_hook(w, wait_here, g);
    w->world->class->set_timer(w->world, 0);
    sem_take(&g->entered);
}

void gate_next(gate *g)
{
    (void)sem_post(&g->open);
    sem_take(&g->entered);
}

void gate_open(gate *g)
{
    witness_hook(g->witness, NULL, NULL);
    (void)sem_post(&g->open);
}
