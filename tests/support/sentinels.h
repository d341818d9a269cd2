/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SENTINELS_H
#define LK_TESTS_SUPPORT_SENTINELS_H

#include "support/server.h"

/*
 * A Sentinel group: a primary with two replicas and three sentinels, each on a
 * free port of 127.0.0.1. The master's name is "m", the quorum 2; one that does
 * not answer for a second is down. Any number of groups run side by side. They
 * end with the thread that started them, as every server here.
 */

enum { SENTINELS_SERVERS = 3, SENTINELS = 3, SENTINELS_DOWN_MS = 1000 };

typedef struct sentinels {
    server *servers[SENTINELS_SERVERS]; /* the first was the primary */
    server *sentinels[SENTINELS];
    char places[64];  /* host:port of all three */
    char url[256];    /* names all three */
    bool is_tls;      /* all speak TLS, and the URL says so */
    const char *host; /* of the servers, as they are named */
} sentinels;

/* NULL or nothing: as it is told above. */
typedef struct sentinels_options {
    bool is_tls; /* with server.crt of certificates.h */
    const char *const *server_args;
    const char *config; /* more lines for the sentinels */
    bool has_names;     /* they name localhost in the place of 127.0.0.1 */
} sentinels_options;

/*
 * Returns when the replicas follow and the sentinels know each other, the
 * replicas, and that all is well. NULL: it does not come to that, which stderr
 * tells.
 */
sentinels *sentinels_start(void);
sentinels *sentinels_start_with(const sentinels_options *options);
/* NULL is allowed. */
void sentinels_stop(sentinels *g);

/* Waits until it is so again, after a failover, for minutes (scaled): an old
   master becomes a replica some ten seconds after. */
bool sentinels_wait_whole(sentinels *g);

/* The server that this sentinel names. */
server *sentinels_named_by(sentinels *g, size_t sentinel);

/* Asks for a failover and returns the next master when it takes writes. So does
   the one before for about ten seconds, and no sentinel names the next one yet. */
server *sentinels_failover(sentinels *g);

/* Waits until each sentinel that runs names another than this: that one. Some
   minutes at most (scaled), then the test fails. */
server *sentinels_wait_other(sentinels *g, const server *than);
/* The same for so long (scaled). False: not all of them do. */
bool sentinels_name_other(sentinels *g, const server *than, unsigned ms);

#endif /* LK_TESTS_SUPPORT_SENTINELS_H */
