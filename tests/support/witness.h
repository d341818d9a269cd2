/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_WITNESS_H
#define LK_TESTS_SUPPORT_WITNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "world/world.h"

/*
 * One who uses a world as the core does, under a mutex of its own, and writes
 * down what happens. The fields are read under the mutex, or by the functions
 * below, which take it.
 */
typedef struct witness witness;

/* One link and what was told about it. The tag of its link. */
typedef struct witness_link {
    witness *witness;
    lk__link *link; /* NULL: closed */
    int opens, ends, writables, pieces;
    int strays; /* events met after the close, which a handler drops */
    int open_error, end_error;
    uint64_t received;
    uint64_t sum; /* of the bytes, each times its place */
} witness_link;

struct witness {
    lk__world *world;
    pthread_mutex_t mutex;
    int timers, wakes;
    bool lends;          /* a stream, once what came on it was noted */
    uint64_t last_timer; /* when */
    void (*hook)(witness *w, witness_link *link);
    void *data; /* the hook's */
};

/* Starts the world with the witness. False when it cannot be started. */
bool witness_start(witness *w, lk__world *world);

/*
 * Has hook called before an event is noted, without the mutex; NULL: nothing.
 * link: what the event is for, or NULL.
 */
void witness_hook(witness *w, void (*hook)(witness *w, witness_link *link),
                  void *data);

/* Stops the world. */
void witness_stop(witness *w);

bool witness_open(witness *w, witness_link *link, const lk__address *address);
void witness_close(witness_link *link);
ssize_t witness_send(witness_link *link, const void *bytes, size_t size);

/* Adds size bytes, the place-th and following, to a sum as above. */
uint64_t
witness_sum(uint64_t sum, uint64_t place, const char *bytes, size_t size);

/* A counter of the witness, as of now. */
int witness_count(witness *w, const int *counter);

/* Waits until a counter of the witness is at least so much. */
bool witness_sees(witness *w, const int *counter, int least);
bool witness_has_received(witness_link *link, uint64_t least);

/* Has the loop come round once: what it had to do before is done. */
bool witness_turn(witness *w);

#endif /* LK_TESTS_SUPPORT_WITNESS_H */
