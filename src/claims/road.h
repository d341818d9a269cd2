/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_ROAD_H
#define LK_CLAIMS_ROAD_H

#include "base/alarm.h"
#include "server/lane.h"

struct lk__node;

/*
 * The road of the renewals: a lane of their own, so that no command of a caller
 * stands before one. It is opened when it is first wanted: a program that holds
 * only for moments has none. While it cannot be had, renewals go among the
 * commands, which the log and the statistics tell.
 *
 * Nothing depends on the order of the two connections. A renewal names claim
 * and fence: one that runs late, behind the release or on a connection that was
 * given up, changes nothing, or makes a lease that still lives longer.
 */
typedef struct lk__road {
    lk__lane lane;     /* first */
    lk__alarm opening; /* set: its first connection is waited for */
    char home[48];     /* the server process that the commands went to last */
    bool
        shares; /* it is wanted, and the last renewal went among the commands */
} lk__road;

void lk__road_init(lk__road *road, struct lk__node *node);
void lk__road_stop(lk__road *road);

/* The command connection is ready, at the server process of this run id. */
void lk__road_home(lk__road *road, const char *run_id);

/* Opens the lane, if that was not done. */
void lk__road_want(lk__road *road);

/* So many commands are under way that nothing in haste may stand behind them. */
bool lk__road_is_crowded(const lk__road *road);

/*
 * Where a question goes now on which all holds depend: over the lane if that is
 * there, else among the commands. Where these are a crowd the lane is opened for
 * it, if that was not done. NULL: nowhere yet, as the commands are away or the
 * lane is being opened for the first time. Either way it is answered by the server
 * process to which the commands go.
 */
lk__conn *lk__road_pass(lk__road *road);

/*
 * Where a renewal goes now: over the lane, else among the commands. NULL:
 * nowhere yet. A caller that may wait gets NULL as well for the moments in which the lane
 * is opened for the first time; whatever happens to it moves the monitor, and
 * leaving that asks again.
 */
lk__conn *lk__road_take(lk__road *road, bool may_wait);

#endif /* LK_CLAIMS_ROAD_H */
