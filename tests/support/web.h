/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_WEB_H
#define LK_TESTS_SUPPORT_WEB_H

#include <stdint.h>

#include "support/tool.h"

/*
 * The tool's HTTP server as a client sees it. A failure of anything here fails
 * the test.
 */

/* Waits until the tool has said where it listens, and returns the port. */
uint16_t web_port(tool *t);

/* Connects and sends text; it may be none or half a request. Returns the
   descriptor. */
int web_send(uint16_t port, const char *text);

/* Sends a request and returns all that comes until the end, freed by free().
   NULL: the connection was refused, or cut before a byte came. */
char *web_ask(uint16_t port, const char *request);

/* GET of a path as localhost. */
char *web_get(uint16_t port, const char *path);

/* Waits until what a GET answers has text in it; the test fails if it never
   has. */
void web_wait(uint16_t port, const char *path, const char *text,
              unsigned deadline_ms);

/* Reads from a descriptor until what is wanted came, and returns what came,
   freed by free(). The test fails if it does not come. */
char *web_read(int fd, const char *wanted, unsigned deadline_ms);

/* The same where no more of it is needed. */
void web_wait_read(int fd, const char *wanted, unsigned deadline_ms);

/* The first event of the stream /events, freed by free(). */
char *web_event(uint16_t port);

#endif /* LK_TESTS_SUPPORT_WEB_H */
