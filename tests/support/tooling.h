/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TOOLING_H
#define LK_TESTS_SUPPORT_TOOLING_H

#include "support/check.h"
#include "support/one_server.h"
#include "support/tool.h"

/*
 * For tests of the tool: one server for the program, and the tools that a test has
 * started, which end with it, also when it failed.
 */

/* The tool at that server. */
extern tool_how how;

/* For cmocka. */
int tooling_start(void **state);
int tooling_stop(void **state);
int tooling_teardown(void **state);

#define TOOLING_TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, tooling_teardown)

#endif /* LK_TESTS_SUPPORT_TOOLING_H */
