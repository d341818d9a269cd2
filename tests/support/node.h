/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_NODE_H
#define LK_TESTS_SUPPORT_NODE_H

#include "support/server.h"

/* One node of a cluster; see server_start_node(). What cannot be done fails no
   test: stderr tells it. */

/* Gives it these slots, which nobody has yet. */
bool node_own(server *node, unsigned first, unsigned last);

/* Waits until it serves its slots, a few seconds after its start. */
bool node_wait_ok(server *node);

#endif /* LK_TESTS_SUPPORT_NODE_H */
