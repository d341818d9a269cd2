/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_ASK_ARGS_H
#define LK_CLAIMS_ASK_ARGS_H

#include "claims/ask.h"

/* For ask.c: what is sent, and where. lk__ask_question(), lk__ask_command() and
   lk__args_copy() of ask.h live here too. */

/* Its first key. NULL: it has none. */
const lk__arg *lk__ask_key(const lk__ask *ask);

/* The node of its place, or of its key; of no key, the one that leads. */
struct lk__node *lk__ask_node(const lk__ask *ask);

/* Gives the script the channels by the names that they have at that node. Before each
   sending: the place may have moved since. */
void lk__ask_channels_tell(lk__ask *ask);

#endif /* LK_CLAIMS_ASK_ARGS_H */
