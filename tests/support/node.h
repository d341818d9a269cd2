/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_NODE_H
#define LK_TESTS_SUPPORT_NODE_H

#include "support/server.h"

/* One node of a cluster; see server_start_node(). What cannot be done fails no
   test: stderr tells it. */

/* Gives it these slots, which nobody has yet. */
bool node_own(server *node, unsigned first, unsigned last);

/* Whether it serves its slots; and waits until it does, a few seconds after its
   start. */
bool node_is_ok(server *node);
bool node_wait_ok(server *node);

/* Whether what it answers has these words in it. */
bool node_says(server *node, const char *command, const char *words);

/* A number of what CLUSTER INFO says of it; 0 if it does not tell it, as of
   messages of a kind that it has not sent. Fails the test if it does not answer. */
long long node_info(server *node, const char *field);

#endif /* LK_TESTS_SUPPORT_NODE_H */
