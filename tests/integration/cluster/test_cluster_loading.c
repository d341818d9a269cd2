/* SPDX-License-Identifier: MIT */

/* A list while a master has begun again and still reads its data. */

#include <latchkey/latchkey.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

#include "support/check.h"
#include "support/node.h"
#include "support/server.h"
#include "support/wait.h"

enum { LIST_MS = 60000, SOON_MS = 20000 };

static server *node;

/* Redis 6.2 knows no such option, and allows DEBUG without. */
static server *start_for_debug(void)
{
    static const char *const debug[] = {"--enable-debug-command", "yes", NULL};
    server *plain = server_start_node(NULL);

    if (plain == NULL || !node_says(plain, "DEBUG SLEEP 0", "not allowed"))
        return plain;
    server_stop(plain);
    return server_start_node(debug);
}

static int start(NO_STATE)
{
    node = start_for_debug();
    return node != NULL && node_own(node, 0, 16383) && node_wait_ok(node) ? 0
                                                                          : -1;
}

static int stop(NO_STATE)
{
    server_stop(node);
    return 0;
}

/* Clients are heard behind each key. Redis 6.2 does so only every 2 MB. */
static bool can_load_slowly(void)
{
    return node_says(node,
                     "CONFIG SET loading-process-events-interval-bytes 1024",
                     "OK");
}

/* Each key takes its time. */
static redisContext *load_slowly(void)
{
    redisContext *begin;

    free(server_string(node, "DEBUG POPULATE 10000 key 1024"));
    free(server_string(node, "CONFIG SET key-load-delay 10000"));
    begin = redisConnectUnix(server_socket(node));
    assert_non_null(begin);
    assert_int_equal(redisAppendCommand(begin, "DEBUG RELOAD"), REDIS_OK);
    assert_int_equal(redisBufferWrite(begin, &(int){0}), REDIS_OK);
    return begin;
}

/* A list fails as long as it is not said. */
static bool is_said(void *data)
{
    lk_listing *listing = NULL;
    bool is_missing;

    assert_status(lk_list(data, LIST_MS, NULL, &listing), LK_OK);
    is_missing = listing->missing[0] != '\0';
    lk_listing_free(listing);
    return is_missing;
}

CHECK_TEST(a_master_that_loads_is_said_to_be_missing)
{
    char url[64];
    lk_client *client = NULL;
    redisContext *begin;

    if (!can_load_slowly())
        skip();
    (void)snprintf(url, sizeof(url),
                   "redis+cluster://127.0.0.1:%u?command_timeout_ms=500",
                   server_port(node));
    assert_status(lk_client_open(&client, url, NULL), LK_OK);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    assert_false(is_said(client));
    begin = load_slowly();
    assert_true(wait_until(is_said, client, SOON_MS));
    redisFree(begin);
    lk_client_free(client);
}

CHECK_GROUP(start, stop)
