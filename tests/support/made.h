/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MADE_H
#define LK_TESTS_SUPPORT_MADE_H

#include <latchkey/lock.h>

#include "support/call.h"

/*
 * Clients and locks that a test makes and does not free: they end with it, also when
 * it failed. One thread makes them. Whatever cannot be had fails the test.
 */

/* For cmocka. Those made last end first. */
int made_end(void **state);

#define MADE_TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, made_end)

/* options may be NULL. It is not waited for. Unless they name a command_timeout_ms, it
   is one that a machine without time keeps too. */
lk_client *made_client(const char *url, const lk_client_options *options);

/* Ends a client before the end of the test; its locks may end later. */
void made_free_client(lk_client *client);

/* An async call, which may end as late as its client does. Those that got a hold and
   were not waited for are not released. */
call *made_call(void);

lk_lock *made_lock(lk_client *client, const char *name);

/* A hold of it, which the caller releases. It may take a minute to get it. */
lk_hold *made_hold(lk_lock *lock);

#endif /* LK_TESTS_SUPPORT_MADE_H */
