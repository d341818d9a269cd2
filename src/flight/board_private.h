/* SPDX-License-Identifier: MIT */
#ifndef LK_FLIGHT_BOARD_PRIVATE_H
#define LK_FLIGHT_BOARD_PRIVATE_H

#include "claims/ask.h"
#include "engine/client.h"
#include "flight/board.h"
#include "flight/message.h"

/*
 * A board from inside: board.c decides when it looks and what a look says to whom,
 * look.c asks and tells the server.
 */

typedef struct lk__board {
    lk__place *place;
    uint64_t claim; /* number of this client's; 0: it has to have a new one */
    bool leads;
    bool asking;       /* a look is under way */
    bool busy;         /* waits are walked over, or a look is begun */
    bool again;        /* look, whatever is known */
    unsigned sent;     /* looks */
    unsigned answered; /* the last of them that was */
    uint64_t lease_ms; /* of the claim */
    char leader[64];   /* who computes, as of then; "": nobody, or unknown */
    lk__alarm alarm;   /* the next look, or renewal */
    lk_status trouble; /* why a look could not be sent; LK_OK: it could */
    uint64_t hints;  /* messages that say no more than to look; see tempo.h, */
    uint64_t slowed; /* and until when they have it pause */
} lk__board;

/* A look of a board. */
typedef struct lk__look {
    lk__ask ask; /* first */
    lk__board *board;
    uint64_t claim;
    unsigned number;
    int answer; /* a lk__flight_join_kind; 0: none */
    int64_t left_ms;
    lk_status status; /* that landed */
    char text[LK__FLIGHT_WORDS];
    lk_flight_value *value;
} lk__look;

static inline lk_client *lk__board_client(const lk__board *b)
{
    return b->place->client;
}

/* Asks for all waits at once; ended is called with the look. */
lk_status lk__look_send(lk__board *b, void (*ended)(lk__ask *ask));

/* Gives a claim back, or tells what has landed, without waiting for an answer. Others
   wait for it, so it is owed for as long as the claim can last, and a shutdown waits
   for it. */
void lk__board_tell_left(const lk__board *b, uint64_t claim);
void lk__board_tell_landed(const lk__board *b, const lk__landing *landing);

#endif /* LK_FLIGHT_BOARD_PRIVATE_H */
