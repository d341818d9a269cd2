/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_FAULT_SEEKER_H
#define LK_SIM_FAULT_SEEKER_H

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * A thread that takes locks which nobody else wants, each once, one after the other:
 * it waits for the server alone, and so finds out how soon that gives something new.
 */
typedef struct seeker {
    pthread_t thread;
    lk_client *client;
    _Atomic(const char *) tag;
    atomic_ullong found;
    atomic_bool ends;
} seeker;

/* Its names begin with the tag, which may be "" and is borrowed. False: it could
   not be begun. */
bool seeker_start(seeker *s, const char *url, const char *tag);
/* Another tag from the next name on. */
void seeker_turn(seeker *s, const char *tag);
void seeker_stop(seeker *s);

/* How many it has had. */
unsigned long long seeker_found(const seeker *s);

#endif /* LK_SIM_FAULT_SEEKER_H */
