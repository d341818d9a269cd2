/* SPDX-License-Identifier: MIT */

/*
 * Releases that a master has answered, and that no replica had received when it died:
 * nobody waits for the end of a lease because of them.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/sentinels.h"
#include "support/wait.h"

/* The first is longer than the test. */
enum { LEASE_MS = 600000, LONG_MS = 60000 };

static bool has_none(void *data)
{
    char *info = server_string(data, "INFO replication");
    bool none = strstr(info, "connected_slaves:0") != NULL;

    free(info);
    return none;
}

/* No replica hears any more of the first server. */
static void replicas_part(sentinels *g)
{
    for (int i = 1; i < SENTINELS_SERVERS; i++) {
        freeReplyObject(
            server_command(g->servers[i], "CONFIG SET masterauth wrong"));
        freeReplyObject(
            server_command(g->servers[i], "CLIENT KILL TYPE master"));
    }
    assert_true(wait_until(has_none, g->servers[0], LONG_MS));
}

static lk_client *open_client(const sentinels *g)
{
    static const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                              .watchdog_ms = LEASE_MS,
                                              .offline_ms = LONG_MS};
    lk_client *client = NULL;

    assert_status(lk_client_open(&client, g->url, &options), LK_OK);
    return client;
}

static lk_hold *hold_name(lk_client *client)
{
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_lock_new(&lock, client, "n", NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, (int64_t)wait_limit_ms(LONG_MS), NULL,
                                  &hold),
                  LK_OK);
    lk_lock_free(lock);
    return hold;
}

CHECK_TEST(a_name_is_free_whose_release_was_lost)
{
    sentinels *g = sentinels_start();
    lk_client *releases, *waits;
    lk_hold *hold;

    assert_non_null(g);
    releases = open_client(g);
    waits = open_client(g);
    hold = hold_name(releases);
    server_wait_copied(g->servers[0], "n", SENTINELS_SERVERS - 1);
    replicas_part(g);
    assert_status(lk_hold_release(hold), LK_OK);
    server_kill(g->servers[0]);
    (void)sentinels_wait_other(g, g->servers[0]);
    assert_status(lk_hold_release(hold_name(waits)), LK_OK);
    lk_client_free(releases);
    lk_client_free(waits);
    sentinels_stop(g);
}
