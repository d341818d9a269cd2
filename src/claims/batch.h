/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_BATCH_H
#define LK_CLAIMS_BATCH_H

#include "claims/node.h"

/*
 * A batch is one question that renews many holds of one kind by their own keys, or
 * one hold as a whole. What it says is lost is lost; what it does not answer falls
 * due again a little later.
 */

/* Takes from the node's list what goes into one, and sends it over this connection.
   False: out of memory, and nothing was taken. */
bool lk__batch_send(lk__node *node, lk__conn *conn);

#endif /* LK_CLAIMS_BATCH_H */
