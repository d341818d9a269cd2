/* SPDX-License-Identifier: MIT */
#ifndef LK_CORE_PLACE_H
#define LK_CORE_PLACE_H

#include "core/claim.h"
#include "core/wait.h"

/* Which scripts make a primitive. */
typedef struct lk__kind {
    const char *word; /* as it stands in inbox messages: "lock" */
    bool passes;      /* a hold may be handed over within a client */
    const lk__script *acquire, *recheck, *confirm, *renew;
    const lk__script *release, *leave, *pass, *force, *info;
} lk__kind;

/* The keys of a place, in the order in which every script takes them. */
enum {
    LK__KEY_LOCK,
    LK__KEY_STATE,
    LK__KEY_QUEUE,
    LK__KEY_TICKETS,
    LK__KEY_SKIPPED,
    LK__KEY_TOKEN,
    LK__KEY_VOID,
    LK__KEY_FAIR_QUEUE,
    LK__KEY_SPIN,
    LK__KEYS
};

/*
 * One name of one kind in one client: the claims on it and the line of local
 * waits. At most one claim, the front, acquires or queues for the line; the
 * grant goes to the first wait in it. So a client stands once in the server's
 * queue of a name, however many of its threads wait.
 */
typedef struct lk__place {
    struct lk__place *next, *prev; /* in the client */
    lk__entry entry;               /* by its name */
    lk_client *client;
    const lk__kind *kind;
    unsigned refs; /* each handle, claim and wait */
    char *name;
    char *keys[LK__KEYS];
    char *channel; /* Redisson's */
    lk__wait *first_wait, *last_wait;
    lk__claim *front;
    lk__claim *first_claim;
    bool driving; /* lk__place_drive() runs */
} lk__place;

/* A kind that this client has used, by its word; NULL: none. */
const lk__kind *lk__kind_find(const lk_client *client, const char *word);

/* Finds or makes the place; the caller has a reference. NULL: no memory. */
lk__place *
lk__place_get(lk_client *client, const lk__kind *kind, const char *name);
void lk__place_unref(lk__place *place);

/* The first arguments of every script that may hand over. */
enum { LK__PLACE_ARGS = 3 };

/*
 * Calls a script of the kind on this place: its keys, the common arguments
 * (owner, channel, interop) and the script's own.
 */
lk_status lk__place_call(lk__place *place, lk__request *request,
                         const lk__script *script, const char *owner,
                         size_t count, const lk__arg *args);

/* Sees to it that a line has a front, and that a front has a line. */
void lk__place_drive(lk__place *place);

/* Gives a HELD claim, handed over or granted, to the first in line. */
void lk__place_bind(lk__place *place, lk__claim *claim);

/* The front was granted: binds it to the first in line, or gives it back. */
void lk__place_granted(lk__place *place, lk__claim *claim);

/* The front ended without a grant: its head gets the status, unless LK_OK, and
   the words; NULL: the status' own. */
void lk__place_failed(lk__place *place, lk__claim *claim, lk_status status,
                      const char *words);

/* The shutdown: every hold is released; whether that is over; and its end. */
void lk__places_shut(lk_client *client);
bool lk__places_are_closed(const lk_client *client);
void lk__places_abandon(lk_client *client);

/* What the node tells all places. */
void lk__places_on_ready(lk_client *client);
void lk__places_on_inbox(lk_client *client);
void lk__places_on_offline(lk_client *client);

#endif /* LK_CORE_PLACE_H */
