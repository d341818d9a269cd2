/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_ONE_SERVER_H
#define LK_TESTS_SUPPORT_ONE_SERVER_H

#include "support/server.h"

/*
 * One server for all tests of a program. It is their state, too.
 */

extern server *redis;

/* For cmocka. The second one has a TCP port as well. */
int one_server_start(void **state);
int one_server_start_tcp(void **state);
int one_server_stop(void **state);

/* The next test begins with no data, and with a server if this one has killed it. */
int one_server_flush(void **state);

#define FLUSHED_TEST(f) cmocka_unit_test_setup(f, one_server_flush)

#endif /* LK_TESTS_SUPPORT_ONE_SERVER_H */
