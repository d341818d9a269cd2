/* SPDX-License-Identifier: MIT */

/* A node that announces another port of TLS than the one it listens at. */

#include <latchkey/latchkey.h>

#include <stdio.h>

#include "base/slot.h"
#include "support/certificates.h"
#include "support/check.h"
#include "support/node.h"
#include "support/proxy.h"

enum { LONG_MS = 30000 };

static server *node;

static int start(NO_STATE)
{
    node = server_start_node_tls(NULL);
    return node != NULL && node_own(node, 0, LK__SLOTS - 1) &&
                   node_wait_ok(node)
               ? 0
               : -1;
}

static int stop(NO_STATE)
{
    server_stop(node);
    return 0;
}

static void announce(const char *name, unsigned value)
{
    redisReply *reply =
        server_command(node, "CONFIG SET cluster-announce-%s %u", name, value);

    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

/* Not that of the URL, nor the one that those without TLS are told. What others may
   believe is not waited for here. */
CHECK_TEST(the_port_of_tls_that_is_announced_is_used)
{
    proxy *way = proxy_start_to(server_tls_port(node));
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    char url[320], path[128];

    assert_non_null(way);
    announce("port", 1);
    announce("tls-port", proxy_port(way));
    (void)snprintf(url, sizeof(url),
                   "rediss+cluster://127.0.0.1:%u?failover=fast&tls_ca_file=%s",
                   server_tls_port(node), certificates_path(path, "ca.crt"));
    assert_status(lk_client_open(&client, url, NULL), LK_OK);
    assert_status(lk_lock_new(&lock, client, "n", NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, LONG_MS, NULL, &hold), LK_OK);
    assert_true(proxy_accepted(way) > 0);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
    lk_client_free(client);
    proxy_stop(way);
}

int test_tls_cluster(void)
{
    if (server_lacks_tls())
        return SERVER_LACKS;
    return check_all(start, stop);
}
