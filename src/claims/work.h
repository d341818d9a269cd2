/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_WORK_H
#define LK_CLAIMS_WORK_H

#include "base/table.h"
#include "claims/pace.h"
#include "claims/question.h"
#include "engine/client.h"

struct lk__kind;
struct lk__place;
struct lk__claim;
struct lk__wait;
struct lk__ask;

/*
 * What a client does for its user: places, claims, waits and questions, and what
 * hangs on them. The client itself, the monitor, knows nothing of it but that it
 * is there. Inside the monitor.
 */

/* What is to be renewed at once, and the batches under way; see watchdog.h. */
typedef struct lk__due {
    struct lk__claim *first, *last;
    size_t count;
    unsigned batches;
    uint64_t room;    /* for so many, as far as the server keeps up */
    uint64_t took_ns; /* the last batch that was answered */
} lk__due;

typedef struct lk__work lk__work;

struct lk__work {
    const struct lk__kind **kinds; /* that were used, one of each family */
    size_t kind_count;
    struct lk__place *places; /* every place */
    lk__table places_by_name;
    lk__table topics;            /* by channel */
    lk__table claims;            /* that live, by number */
    struct lk__wait *first_wait; /* every wait under way */
    struct lk__wait *next_wait;  /* that lk__waits_cancel() looks at */
    struct lk__ask *first_ask;   /* every question under way */
    lk__due due;
    lk__pace pace;
    uint64_t last_claim_number;
    lk__question question; /* see question.h */
};

/* Gives a new client its work, and the node of its server, which is not started.
   False: out of memory; what there is goes with the client. */
bool lk__work_new(lk_client *client);

#endif /* LK_CLAIMS_WORK_H */
