/* SPDX-License-Identifier: MIT */
#ifndef LK_SERVER_LANE_H
#define LK_SERVER_LANE_H

#include "server/greet.h"

/*
 * One more connection to the server, for commands whose answer is long in
 * coming: on the one for commands they would hold up everybody. It is opened
 * when it is first wanted, and comes back by itself.
 */
typedef struct lk__lane lk__lane;

struct lk__lane {
    lk__conn conn; /* first */
    lk__greeting greeting;
    lk__conn_class class;
    void (*on_ready)(lk__lane *lane);
    void (*on_down)(lk__lane *lane); /* its requests were failed before */
};

/* word is for the log; owner as a connection's. */
void lk__lane_init(lk__lane *lane, const char *word, struct lk_client *client,
                   void *owner, void (*on_ready)(lk__lane *lane),
                   void (*on_down)(lk__lane *lane));

bool lk__lane_is_ready(const lk__lane *lane);

/* The commands go to the server process of this run id; so must the lane. */
void lk__lane_together(lk__lane *lane, const char *run_id);

/* Its next request may take so much longer than others; nanoseconds. */
void lk__lane_patience(lk__lane *lane, uint64_t ns);

/* It has answered what it is there for: the next outage begins again. */
void lk__lane_serves(lk__lane *lane);

#endif /* LK_SERVER_LANE_H */
