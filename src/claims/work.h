/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_WORK_H
#define LK_CLAIMS_WORK_H

#include "base/table.h"
#include "claims/question.h"
#include "engine/client.h"

struct lk__kind;
struct lk__place;
struct lk__claim;
struct lk__wait;
struct lk__ask;
struct lk__cluster;
struct lk__nap;

/*
 * What a client does for its user: places, claims, waits and questions, and what
 * hangs on them. The client itself, the monitor, knows nothing of it but that it
 * is there. Inside the monitor.
 */

typedef struct lk__work lk__work;

struct lk__work {
    const struct lk__kind **kinds; /* that were used, one of each family */
    size_t kind_count;
    struct lk__place *places; /* every place */
    lk__table places_by_name;
    lk__table topics;            /* by channel */
    struct lk__cluster *cluster; /* NULL: none */
    lk__table claims;            /* that live, by number */
    struct lk__wait *first_wait; /* every wait under way */
    struct lk__wait *next_wait;  /* that lk__waits_cancel() looks at */
    struct lk__ask *first_ask;   /* every question under way */
    struct lk__nap *first_nap;   /* every one that lasts */
    struct lk__timed
        *first_timed; /* every handle with a timer of the kernel's */
    uint64_t last_claim_number;
    uint64_t last_reign;
    uint64_t next_passed_on; /* a void grant, by the pace of the inbox, */
    uint64_t next_garbage;   /* and a message that the log tells of */
    lk__question question;   /* see question.h */
};

/* Gives a new client its work, and its first node, which is not started.
   False: out of memory; what there is goes with the client. */
bool lk__work_new(lk_client *client);

#endif /* LK_CLAIMS_WORK_H */
