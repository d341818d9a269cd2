/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_TOPIC_H
#define LK_CLAIMS_TOPIC_H

#include "base/alarm.h"
#include "base/table.h"
#include "claims/channel.h"
#include "server/conn.h"

struct lk__node;
struct lk__place;

/* A place's own and Redisson's; and the inbox of this name alone. */
enum { LK__TOPIC_OWN, LK__TOPIC_REDISSON, LK__TOPIC_INBOX };

/*
 * A channel on which something that concerns everybody who waits is published
 * once: the inbox connection is subscribed to it while somebody of the place
 * waits. A place has its own and Redisson's, if that has one, or none.
 *
 * And where a node has sharded channels, an inbox for one name: what concerns one
 * wait comes by it, as the node's own inbox would have the whole cluster told. It
 * is made when somebody first has to wait. The subscription stays for some seconds
 * after the last wait: whoever waited for a name will again.
 *
 * The server ends the subscription to a sharded channel when the slot goes
 * elsewhere. It is made again, where the slot is then, and everything is looked at
 * behind it.
 */
typedef struct lk__topic {
    lk__entry entry;        /* in the client, by channel */
    struct lk__topic *next; /* of the place */
    struct lk__place *place;
    unsigned which; /* see above */
    lk__channel channel;
    lk__request request; /* subscribe or unsubscribe */
    bool wanted;
    bool asked;      /* the last request was to subscribe */
    bool heard;      /* the server has said that it is subscribed */
    bool lingers;    /* nobody waits, and the place is kept meanwhile */
    lk__alarm alarm; /* the end of that; or it is refused, and asks again */
} lk__topic;

/* One of a place's topics; NULL: it has none such. */
lk__topic *lk__topic_of(const struct lk__place *place, unsigned which);

/* Makes the topics of a new place. False: no memory; done all the same. */
bool lk__topics_init(struct lk__place *place);
void lk__topics_done(struct lk__place *place);

/* Somebody waits; and cannot be told of it yet; nobody waits any more. */
void lk__topics_want(struct lk__place *place);
void lk__topics_await(struct lk__place *place);
void lk__topics_drop(struct lk__place *place);

/* The client ends: nothing is kept for later. */
void lk__topics_shut(struct lk__place *place);

/* The inbox broke, and with it every subscription; it has come back. */
void lk__topics_lost(struct lk__place *place);
void lk__topics_again(struct lk__place *place);

/* Whatever is published from now on is heard. True if there are none. */
bool lk__topics_heard(const struct lk__place *place);

/* A server said that this client is not subscribed to a sharded channel. False: it
   was asked for that, and this is the answer. */
bool lk__topic_ended(struct lk__node *node, const char *channel);

/* A message came on a channel that is no inbox. */
void lk__topic_take(struct lk__node *node, const char *channel,
                    const char *text, size_t size);

#endif /* LK_CLAIMS_TOPIC_H */
