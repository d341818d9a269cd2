/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_GROUP_H
#define LK_CLAIMS_GROUP_H

#include <stdbool.h>

#include "server/sentinel.h"
#include "settings/settings.h"

struct lk__node;

/*
 * A Sentinel group: says where the node's server is, and how far to believe it.
 *
 * When a majority names another master, every connection leaves the one before
 * and goes to that one. There the holds are confirmed by claim and fence, or
 * lost. For a while nothing new is taken from it and no lease gets longer:
 * until nobody can believe the master before any more (naming.h). Until a hold
 * is confirmed it is believed as far as it was at the master before.
 *
 * A master may also be killed and come back with less than it had, before the
 * sentinels have missed it: they name the same address all the time. So a hold is
 * believed for longer only while the connection to the process stands that knew
 * it, or nobody listens at the address. From the end of that process on it is
 * believed for LK__BELIEF_MS at most, and for so long nothing new is taken from
 * a process that has begun: also by clients that have not met the one before.
 *
 * Every function takes NULL: no group.
 */
typedef struct lk__group {
    struct lk__node *node;
    lk__naming namings[LK__SENTINELS_MOST];
    lk__sentinel sentinels[LK__SENTINELS_MOST];
    size_t count;
    lk__naming followed; /* whose address is the node's; host "": nobody */
    lk__alarm alarm;     /* belief begins or ends */
    bool gave;           /* the node did, when it was last looked at */
    lk_status trouble;   /* see lk__group_trouble() */
} lk__group;

/* Gives the node its group, if the URL names one. False: out of memory. */
bool lk__group_new(struct lk__node *node);
void lk__group_free(lk__group *group);
void lk__group_start(lk__group *group);
void lk__group_stop(lk__group *group);
void lk__group_flush(lk__group *group);

/* What a sentinel that the URL names says of its group. */
typedef struct lk__group_view {
    char address[264]; /* host:port, [::1]:port */
    bool tells_others; /* it says how many it knows beside itself, */
    uint64_t others;   /* namely these */
} lk__group_view;

/* For people: whom the sentinels name, and how many. */
typedef struct lk__group_facts {
    char master[264];           /* host:port, [::1]:port; "": nobody */
    size_t total, heard, named; /* sentinels: all, that answer, that name it */
    bool is_fast;
    size_t listed; /* in the URL, and what each of them says */
    lk__group_view views[LK__SENTINELS_MOST];
} lk__group_facts;

/* False: there is no group. */
bool lk__group_see(const lk__group *group, lk__group_facts *ret_facts);

/* Why nobody needs to wait for a master: LK_EOFFLINE: the sentinels do not know
   one of that name; LK_EAUTH, LK_EDENIED: they refuse the client. LK_OK: a wait
   may be of use. */
lk_status lk__group_trouble(const lk__group *group);

/* The node's server is ready or down. */
void lk__group_look(lk__group *group);

#endif /* LK_CLAIMS_GROUP_H */
