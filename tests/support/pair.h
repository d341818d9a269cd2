/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PAIR_H
#define LK_TESTS_SUPPORT_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "support/scratch.h"
#include "support/witness.h"
#include "world/world.h"

/*
 * The fixture for streams of the real world: a listening socket, a world with
 * a witness, one link of it and, when it has connected, the server's end.
 */
typedef struct pair {
    scratch *scratch;
    char path[96]; /* for a unix socket */
    uint16_t port;
    int listener, peer; /* -1: none */
    witness w;
    witness_link link;
} pair;

int pair_setup(void **state);

/* Stops the world and closes what is open. */
int pair_teardown(void **state);

#define PAIR_TEST(name) CHECK_TEST_OF(name, pair *p, pair_setup, pair_teardown)

/* Each returns where it listens; for TCP host must mean 127.0.0.1. */
lk__address pair_listen_unix(pair *p);
lk__address pair_listen_tcp(pair *p, const char *host);

/* Opens the link and accepts it. The peer does not block. */
void pair_connect(pair *p, lk__address address);

/* Waits for the link's on_open; tells whether it was a success. */
bool pair_is_open(pair *p);

/* Waits until something, be it the end, can be read from a descriptor. */
bool pair_is_readable(int fd);

/* Bytes go both ways; nothing was received before. */
void assert_pair_talks(pair *p);

#endif /* LK_TESTS_SUPPORT_PAIR_H */
