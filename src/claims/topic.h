/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_TOPIC_H
#define LK_CLAIMS_TOPIC_H

#include "base/table.h"
#include "server/conn.h"

struct lk__node;
struct lk__place;

enum { LK__PLACE_TOPICS = 2 };

/*
 * A channel on which something that concerns everybody who waits is published
 * once: the inbox connection is subscribed to it while somebody of the place
 * waits. A place has its own and Redisson's, if that has one, or none.
 */
typedef struct lk__topic {
    lk__entry entry; /* in the client, by channel */
    struct lk__place *place;
    char *channel;       /* NULL: there is none */
    lk__request request; /* subscribe or unsubscribe */
    bool wanted;
    bool asked; /* the last request was to subscribe */
    bool heard; /* the server has said that it is subscribed */
} lk__topic;

/* Makes the topics of a new place. False: no memory; done all the same. */
bool lk__topics_init(struct lk__place *place);
void lk__topics_done(struct lk__place *place);

/* Somebody waits; nobody does any more. */
void lk__topics_want(struct lk__place *place);
void lk__topics_drop(struct lk__place *place);

/* The inbox broke, and with it every subscription; it has come back. */
void lk__topics_lost(struct lk__place *place);
void lk__topics_again(struct lk__place *place);

/* Whatever is published from now on is heard. True if there are none. */
bool lk__topics_heard(const struct lk__place *place);

/* A message came on a channel that is not the inbox'. */
void lk__topic_take(struct lk__node *node, const char *channel,
                    const char *text, size_t size);

#endif /* LK_CLAIMS_TOPIC_H */
