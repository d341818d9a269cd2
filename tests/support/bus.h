/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_BUS_H
#define LK_TESTS_SUPPORT_BUS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The cluster bus of nodes that announce a port of this, by which all others reach
 * them. One node can be cut off from all others, both ways, while clients go on to
 * reach it: its connections stay, and what is said on them gets lost.
 *
 * A thread carries the bytes. The node that has opened a connection is known by the
 * first message on it, so the bus may not be one of TLS.
 */

typedef struct bus bus;

/* NULL on failure, stderr tells why. */
bus *bus_start(void);
/* Closes every connection. NULL is allowed. */
void bus_stop(bus *b);

/* A port for one more node to announce; 0: there is none. */
uint16_t bus_open(bus *b);
/* From now on it leads to this port of the node. */
void bus_lead(bus *b, uint16_t port, uint16_t to);

/* Cuts off the node that announces this port and has this id, of 40 letters. */
void bus_cut(bus *b, uint16_t port, const char *id);
/* Nobody is cut off any more. Connections that have lost something end. */
void bus_heal(bus *b);

#endif /* LK_TESTS_SUPPORT_BUS_H */
