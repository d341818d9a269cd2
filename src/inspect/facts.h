/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_FACTS_H
#define LK_INSPECT_FACTS_H

#include <latchkey/inspect.h>

#include "claims/group.h"
#include "world/tls.h"

/*
 * What was found out about a server, and what it means. The judging talks to
 * nobody, so that every sort of server can be tried in a test.
 */

enum { LK__RTTS = 41, LK__DENIALS = 24 };

/* A command that the server's access rules do not let through. */
typedef struct lk__denial {
    lk_check_level level; /* how bad that is */
    const char *command;  /* as in an access rule, with the sign */
    const char *loses;    /* what does not work then */
    char *words;          /* the server's */
} lk__denial;

typedef struct lk__facts {
    char *info;   /* the answer to INFO; NULL: denied */
    char *fsync;  /* appendfsync; NULL: not told */
    char *needed; /* min-replicas-to-write; NULL: not told */
    size_t rtt_count;
    uint64_t rtts_us[LK__RTTS]; /* sorted by the judging */
    bool has_clock;
    int64_t ahead_us;  /* the server's clock less this host's */
    int64_t gained_us; /* what the server's clock gained while it was looked
                          at, on a clock that does not step */
    bool has_group;
    lk__group_facts group; /* the sentinels */
    bool has_tls;
    lk__tls_facts tls; /* of the client's last connection */
    int64_t now;       /* this host's, in seconds since 1970 */
    size_t denial_count;
    lk__denial denials[LK__DENIALS];

    /* Of a master of a cluster. */
    bool in_cluster;
    bool is_fast;        /* failover=fast */
    uint64_t offline_ms; /* the client's */
    char address[120];
    char *cluster;    /* the answer to CLUSTER INFO; NULL: denied */
    char *nodes;      /* to CLUSTER NODES; NULL: denied */
    int64_t nodes_ms; /* this host's clock then */
    char *coverage, *migration, *timeout; /* settings; NULL: not told */
    uint64_t bus_waiting; /* bytes that wait for the slowest link of the bus */
} lk__facts;

/* Lets go of the texts. */
void lk__facts_done(lk__facts *facts);

/* NULL: no memory. */
lk_health *lk__health_judge(lk__facts *facts);

/* The same of the masters of a cluster, line by line together; missing: which
   could not be looked at, or "". */
lk_health *lk__health_judge_cluster(lk__facts *const *all, size_t count,
                                    const char *missing);

#endif /* LK_INSPECT_FACTS_H */
