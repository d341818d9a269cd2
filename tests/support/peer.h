/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_PEER_H
#define LK_TESTS_SUPPORT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A raw client: it says bytes over a socket and hears bytes, and fails the
 * running test when it does not hear them within 5 s (scaled). The caller
 * closes the descriptors.
 */

/* Connects to 127.0.0.1 and waits for it; -1 with errno. */
int peer_connect_tcp(uint16_t port);

/* Sends all of a text, which must fit the socket's buffers. */
void peer_say(int fd, const char *text);

/* Waits for bytes: how many came, 0 at the end of the stream, -1 with errno. */
ssize_t peer_hear(int fd, char *bytes, size_t size);

/* The next bytes are these; up to 63. */
void peer_assert_hears(int fd, const char *expected);
/* The stream has no more bytes, it ended in order or was reset. */
void peer_assert_over(int fd);
/* Nothing comes for 30 ms: no bytes and no end. */
bool peer_is_quiet(int fd);

#endif /* LK_TESTS_SUPPORT_PEER_H */
