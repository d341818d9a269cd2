/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RINGED_H
#define LK_TESTS_SUPPORT_RINGED_H

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/cluster.h"
#include "support/made.h"

/* For tests of clients of one Redis Cluster: three masters and a replica each, for
   the whole program. */

enum { RINGED_MASTERS = 3, RINGED_NAME = 32, RINGED_LONG_MS = 60000 };

/* For cmocka. */
int ringed_start(void **state);
int ringed_stop(void **state);

/* The cluster. */
cluster *ringed(void);

/* A client of it; see made.h. options may be NULL. */
lk_client *ringed_open(const lk_client_options *options);

/* The first name that begins so and whose slot is at this master. */
const char *
ringed_name(char name[RINGED_NAME], const char *begin, const server *at);

/* The master of a name, and one that it is not. */
server *ringed_master(const char *name);
server *ringed_other(const char *name);
unsigned ringed_slot(const char *name);

/* Wants it, and does not wait for that. */
void ringed_take(call *c, lk_lock *lock);

/* Waits until so many wait at the server for a lock of that name. */
void ringed_wait_line(server *at, const char *name, long long most);

/* Waits until the client has renewed so many holds more. */
void ringed_wait_renewals(lk_client *client, uint64_t more);

#endif /* LK_TESTS_SUPPORT_RINGED_H */
