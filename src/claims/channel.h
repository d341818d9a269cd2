/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_CHANNEL_H
#define LK_CLAIMS_CHANNEL_H

#include <stdbool.h>

struct lk__node;

/*
 * A channel of a name. At a node with sharded channels one whose own slot is the
 * name's is sharded: what is published there stays at the slot's master and its
 * replicas. Elsewhere it is a plain one, of which a cluster tells every node.
 */
typedef struct lk__channel {
    char *text;     /* a '+' and its name; NULL: there is none */
    bool is_inside; /* of the name's slot */
} lk__channel;

/* Makes it by the form; see names.h. False: no memory. */
bool lk__channel_make(lk__channel *channel, const char *form, const char *name,
                      unsigned slot);

/* That of the messages for one client's waits, for the name alone. */
bool lk__channel_make_inbox(lk__channel *channel, const char *name,
                            unsigned slot, const char *client_id);

/* NULL text is allowed. */
void lk__channel_done(lk__channel *channel);

const char *lk__channel_name(const lk__channel *channel);

bool lk__channel_is_sharded(const lk__channel *channel,
                            const struct lk__node *node);

/* As scripts are told it: with the '+' before it where it is sharded. */
const char *
lk__channel_told(const lk__channel *channel, const struct lk__node *node);

/* Whether a channel is one of those inboxes, of this client. */
bool lk__channel_is_inbox(const char *name, const char *client_id);

#endif /* LK_CLAIMS_CHANNEL_H */
