/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_PLACE_H
#define LK_CLAIMS_PLACE_H

#include "base/names.h"
#include "claims/claim.h"
#include "claims/signal.h"
#include "claims/topic.h"
#include "claims/touch.h"
#include "claims/track.h"
#include "claims/wait.h"

/*
 * What makes a primitive: its keys, its scripts, and what is special about it.
 * The scripts' arguments and answers are said in their tables, in lua/.
 * All kinds of one family have the same keys and the same scripts but for
 * the mode of acquire, so that they stand in one queue.
 */
typedef struct lk__kind {
    const char *word;   /* in exports and the log: "fairlock" */
    const char *mode;   /* of a member, or of holds; NULL: there are several */
    const char *family; /* in inbox messages: "lock" */
    bool passes;        /* a hold may be handed over within a client */
    bool joins;         /* a shared hold may be joined within a client */
    bool holdless;      /* what is granted is not kept: the wait just ends */
    bool tends;         /* a hold with a fixed lease is looked after, too */
    bool fenceless;     /* its holds have no fence, 0, and no record */
    bool signals;       /* a waiter is not queued; a signal tells it to try */
    bool counts; /* its name holds a number: it changes, and stays there */

    const char
        *busy; /* what a wait that ends in vain says; NULL: the status' words */
    const char *has,
        *has_what; /* "has", " permits": how a number that was found
                                   is said; NULL: none is */
    size_t key_count;
    const char *const *keys; /* forms; see names.h */
    const char *channel;     /* form; Redisson's, or the topic if it has none;
                              "": there is neither */
    const char *topic;       /* form; subscribed to while somebody waits, and
                              Redisson's channel too; NULL: neither is */

    /* Each may be NULL. */

    /* What this owner holds may decide a wait at its begin: it is ended then,
       or its terms are made to say so. True: it was ended. */
    bool (*meet)(struct lk__wait *wait);
    /* A message of the topic, or of Redisson's channel; a NUL stands behind its
       bytes. NULL: look again. */
    void (*hear)(struct lk__place *place, const char *text, size_t size);
    /* The topics are subscribed to; what was said before was not heard. */
    void (*subscribed)(struct lk__place *place);
    /* A wait of the kind's own line came, which is the last one now, or went. */
    void (*tend)(struct lk__place *place);
    /* What a look's answer says to one wait of a shared claim; the waits that
       came after the look was sent are not asked. */
    lk__verdict (*judge)(uint64_t *mark, const void *facts);
    /* A holdless claim was granted; before it goes. */
    void (*granted)(struct lk__place *place, const lk__claim *claim);
    /* Whether the claim is held alone, so that its fence can guard a write: then
       what follows its id in the field of the name's hash that says so, else
       NULL. */
    const char *(*guard)(const lk__claim *claim);
    /* A handle of a HELD claim has ended, and others stay. */
    void (*shed)(lk__claim *claim);
    /* Frees what the primitive keeps in place->own. */
    void (*own_free)(void *own);

    const struct lk__protocol *protocol; /* how all of this is asked */
} lk__kind;

/* The key that kinds have at the same place. */
enum { LK__KEY_NAME };

/*
 * One name of one kind in one client: the claims on it and the local waits.
 * How waits get claims is their line's (wait.h): the front is the one claim
 * that seeks for all waits of a common or shared line.
 */
typedef struct lk__place {
    struct lk__place *next, *prev; /* in the client */
    lk__entry entry;               /* by its name */
    lk_client *client;
    struct lk__node *node; /* where the name is */
    const lk__kind *kind;
    unsigned refs;       /* each handle, claim and wait */
    unsigned slot;       /* in a cluster */
    lk__channel channel; /* Redisson's */
    lk__wait *first_wait, *last_wait;
    lk__claim *front;
    lk__claim *first_claim, *last_claim; /* those that were held come first */
    lk__claim *next_visited;             /* of lk__place_visit() */
    unsigned unqueued; /* own claims whose acquire under way could not queue:
                          no inbox stood when it was sent */
    bool driving;      /* lk__place_drive() runs */
    /* Each is made when it is needed; NULL before. */
    lk__touching *touching;
    lk__track *track;
    lk__topic *topics;
    lk__signal *signal;
    void *own;   /* the primitive's */
    char name[]; /* behind it in the same memory */
} lk__place;

/* A kind of this family that this client has used; NULL: none. */
const lk__kind *lk__kind_find(const lk_client *client, const char *family);

/* Finds or makes the place; the caller has a reference. NULL: no memory. */
lk__place *
lk__place_get(lk_client *client, const lk__kind *kind, const char *name);
void lk__place_unref(lk__place *place);

/* Writes one of its keys, and returns it. */
const char *
lk__place_key(const lk__place *place, size_t key, char ret[LK__KEY_SIZE]);

/* The channel of the place whose text is this, by its address; NULL: none. */
const lk__channel *lk__place_channel(const lk__place *place, const char *text);

/* What concerns one of its waits comes by a channel of the place's own. */
bool lk__place_is_near(const lk__place *place);

/* That channel is subscribed to: whoever waits looks, or queues. */
void lk__place_hears(lk__place *place);

/* No message can come for those that wait here, and that is final. */
void lk__place_deaf(lk__place *place, lk_status status, const char *words);

/* The inbox stands, and whatever else a grant may come by: a claim may queue. */
bool lk__place_can_queue(const lk__place *place);

/* Sees to it that a common line has a front, and that a front has a line. */
void lk__place_drive(lk__place *place);

/* Gives a wait of another line a claim, its own or a shared one. */
void lk__place_seat(lk__wait *wait);

/* Its wait ended: takes it off the claim, which leaves with its last one. */
void lk__place_unseat(lk__wait *wait);

/* Asks the kind's judge of every wait that sat on a seeking claim before its
   last look was sent, and ends those that are decided. */
void lk__place_judge(lk__claim *claim, const void *facts);

/* The wait that a seeking claim is for, the first of them; NULL: none. */
lk__wait *lk__place_head(const lk__claim *claim);

/* Gives a HELD claim, handed over or granted, to the first of a common line. */
void lk__place_bind(lk__place *place, lk__claim *claim);

/* The claim was granted and is HELD: binds it to the wait, or all the waits,
   that it is for, or gives it back. */
void lk__place_granted(lk__place *place, lk__claim *claim);

/* The same for a holdless kind, where a grant is the end. */
void lk__place_taken(lk__place *place, lk__claim *claim);

/* The claim ended without a grant: whom it was for gets the status, or, if that
   is LK_OK, another claim; and the words; NULL: the status' own. */
void lk__place_failed(lk__place *place, lk__claim *claim, lk_status status,
                      const char *words);

/* Calls visit for each claim, which may end any claim of the place. The caller
   keeps the place. No visit begins within another of the same place. */
void lk__place_visit(lk__place *place, void (*visit)(lk__claim *claim));

/* The shutdown: every hold is released; whether that is over; and its end. */
void lk__places_shut(lk_client *client);
bool lk__places_are_closed(const lk_client *client);
void lk__places_abandon(lk_client *client);

/*
 * How a request of a place ended: status, unless a cluster has more to say. The
 * answer of a node where the name is no longer is none: LK_EINDOUBT, or LK_EOFFLINE
 * if it says that nothing was done. The place may be at another node afterwards.
 */
lk_status lk__place_heard(lk__place *place, const lk__request *request,
                          lk_status status, const redisReply *reply);

/* Whether the request went to another node than where the name is now: then
   nobody but its sender sees to it that it is sent there. */
bool lk__place_has_left(const lk__place *place, const lk__request *request);

/* Every place goes where its slot is. */
void lk__places_settle(lk_client *client);

/* What a node tells its places. */
void lk__places_on_ready(struct lk__node *node);
void lk__places_check_holds(struct lk__node *node);
void lk__places_believe(struct lk__node *node);
void lk__places_believe_no_more(struct lk__node *node);
void lk__places_on_inbox(struct lk__node *node);
void lk__places_on_inbox_down(struct lk__node *node);
void lk__places_on_offline(struct lk__node *node);

#endif /* LK_CLAIMS_PLACE_H */
