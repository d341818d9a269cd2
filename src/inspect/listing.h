/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_LISTING_H
#define LK_INSPECT_LISTING_H

#include <latchkey/inspect.h>

#include "base/table.h"
#include "claims/record.h"
#include "inspect/probe.h"

/*
 * A list of names while it is made, and the memory of one that was handed out.
 */

/* The record of a client, which many entries share. */
typedef struct lk__lister_client {
    lk__probing probing; /* first: the question for it */
    lk__entry link;
    struct lk__lister_client *next;
    char id[LK__CLIENT_ID_SIZE + 1];
    char *text; /* cut into lines; NULL: there is none */
    lk__record record;
    bool is_near;
} lk__lister_client;

/* A name. What is seen of it decides what is asked. */
typedef struct lk__lister_name {
    lk_entry entry; /* first: what the caller gets */
    lk_party party;
    lk__entry link;
    bool has_hash, has_record, has_timeout;
    bool is_used; /* it is to be listed */
    char *owner, *reason;
    lk__lister_client *client; /* of the holder; NULL: none */
    char name[];
} lk__lister_name;

typedef struct lk__names {
    lk_listing listing; /* first: what the caller gets */
    const lk_entry **entries;
    char *missing;
    lk__lister_name **all;
    size_t count, room;
    lk__table by_name;
    lk__lister_client *first_client;
    lk__table clients;
} lk__names;

lk__names *lk__names_new(void);
void lk__names_free(lk__names *names);

/* Finds or adds a name of so many bytes; NULL: no memory, or, with no memory
   asked for, that there are limit names already. */
lk__lister_name *lk__names_get(lk__names *names, const char *name, size_t size,
                               uint64_t limit, bool *ret_full);

/* Finds or adds the client of an owner; NULL: no memory. is_new: its record has
   to be asked for. */
lk__lister_client *
lk__names_client(lk__names *names, const char *owner, bool *ret_is_new);

/* Makes what the caller gets of the names that are used, and of what is missing,
   which it takes. */
lk_status lk__names_finish(lk__names *names, char *missing);

#endif /* LK_INSPECT_LISTING_H */
