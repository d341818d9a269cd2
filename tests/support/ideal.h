/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_IDEAL_H
#define LK_TESTS_SUPPORT_IDEAL_H

#include "check/check.h"

/*
 * Histories as they have to be: a few processes use an ideal service that knows
 * everything and makes no mistake. Requests take their time, answers get lost,
 * processes are stopped and killed, leases end, data are lost; nothing that is
 * promised is broken by it.
 */

typedef void (*ideal_tell)(const history_event *event, void *data);

/* Names, holds, operations, owners and processes have ids from 1000 on, so that
   events of one's own with lower ones may be mixed in. */
enum { IDEAL_FIRST_ID = 1000 };

/* Tells each event, in their order, and returns when the history ends. The same
   seed is the same history. */
uint64_t ideal_play(uint64_t seed, ideal_tell tell, void *data);

/* What a checker has to be told of it. */
checker_options ideal_options(void);

#endif /* LK_TESTS_SUPPORT_IDEAL_H */
