/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_ONE_SERVER_H
#define LK_TESTS_SUPPORT_ONE_SERVER_H

#include "support/server.h"

/*
 * One server for all tests of a program. It is their state, too.
 */

extern server *redis;

/* For cmocka. It has a TCP port as well. */
int one_server_start(void **state);
int one_server_stop(void **state);

/* The next test begins with no data, and with a server if this one has killed it. */
int one_server_flush(void **state);

#define FLUSHED_TEST(name) CHECK_TEST_OF(name, NO_STATE, one_server_flush, NULL)

#endif /* LK_TESTS_SUPPORT_ONE_SERVER_H */
