/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SEEING_H
#define LK_TESTS_SUPPORT_SEEING_H

#include <stdint.h>
#include <sys/types.h>

#include "support/check.h"
#include "support/keeper.h"
#include "support/server.h"
#include "support/tool.h"

/*
 * For tests of what the tool shows: a server of the test's own, and processes that
 * hold names and wait for names there. They and the tools end with the test.
 */

enum { SEEING_KEEPERS = 8 };

typedef struct seeing {
    server *server;
    tool_how how; /* the tool at that server */
    pid_t keepers[SEEING_KEEPERS];
    size_t count;
    tool *tool;    /* one that answers over HTTP, if a test has started it, */
    uint16_t port; /* and where */
} seeing;

/* For cmocka. */
int seeing_setup(void **state);
int seeing_teardown(void **state);

#define SEEING_TEST(name)                                                      \
    CHECK_TEST_OF(name, seeing *f, seeing_setup, seeing_teardown)

/* A process at that server. */
pid_t seeing_start(seeing *f, keeper_how how);

#endif /* LK_TESTS_SUPPORT_SEEING_H */
