/* SPDX-License-Identifier: MIT */

/*
 * A server that is a replica, or becomes one: what it says is old, so nobody is
 * told anything by it.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/replica.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

/* Patient with a server that is away for a while. */
static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                          .offline_ms = 60000};

static lk_latch *latch_of(lk_client *client)
{
    lk_latch *latch = NULL;

    assert_status(lk_latch_new(&latch, client, "n", NULL), LK_OK);
    return latch;
}

REPLICA_TEST(a_replica_is_not_asked)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .offline_ms = wait_scaled_ms(500)};
    lk_client *client =
        locking_open_url(f, server_url(replica_server()), &brief);
    lk_latch *latch = latch_of(client);
    lk_info *info = NULL;

    assert_status(lk_latch_wait(latch, (int64_t)wait_limit_ms(SOON_MS), NULL),
                  LK_EREADONLY);
    assert_non_null(strstr(lk_last_error(), "is a replica"));
    assert_status(lk_latch_info(latch, &info), LK_EREADONLY);
    assert_null(info);
    assert_int_equal(locking_stats(client).connects, 0);
    lk_latch_free(latch);
}

static bool has_left(void *data)
{
    return locking_stats(data).disconnects > 0;
}

/* The wait of a client of the second server, which follows the first from now
   on; there the latch is open. */
REPLICA_TEST(latch_is_not_open_on_a_replica)
{
    lk_client *master = locking_open(f, NULL);
    lk_client *client;
    lk_latch *open = latch_of(master), *latch;
    call c = {0};

    replica_leave();
    client = locking_open_url(f, server_url(replica_server()), &patient);
    latch = latch_of(client);
    assert_status(lk_latch_reset(latch, 1), LK_OK);
    assert_status(lk_latch_wait_async(latch, LK_FOREVER, NULL, call_on_done,
                                      &c),
                  LK_OK);
    locking_wait_connects(client, 2);
    assert_status(lk_latch_try_set_count(open, 1), LK_OK);
    assert_status(lk_latch_count_down(open, 1), LK_OK);

    replica_follow(f);
    assert_true(wait_until(has_left, client, SOON_MS));
    assert_int_equal(atomic_load(&c.ends), 0);
    replica_leave();
    (void)call_wait(&c, NULL); /* it goes by what the new master has */
    lk_latch_free(open);
    lk_latch_free(latch);
}

/* The same for an observer of an election. */
REPLICA_TEST(nobody_leads_on_a_replica)
{
    lk_client *client;
    lk_leader *leader = NULL, *observer = NULL;
    lk_hold *office = NULL;
    call c = {0};

    assert_status(lk_leader_new(&leader, locking_open(f, NULL), "n", NULL),
                  LK_OK);
    replica_leave();
    client = locking_open_url(f, server_url(replica_server()), &patient);
    assert_status(lk_leader_new(&observer, client, "n", NULL), LK_OK);
    assert_status(lk_leader_observe_async(observer, 0, LK_FOREVER, NULL,
                                          call_on_info, &c),
                  LK_OK);
    locking_wait_connects(client, 2);
    assert_status(lk_leader_campaign(leader, 0, NULL, &office), LK_OK);

    replica_follow(f);
    assert_true(wait_until(has_left, client, SOON_MS));
    assert_int_equal(atomic_load(&c.ends), 0);
    replica_leave();
    assert_status(call_wait(&c, NULL), LK_OK);
    lk_info_free(c.info);
    assert_status(lk_leader_resign(leader, office), LK_OK);
    lk_leader_free(leader);
    lk_leader_free(observer);
}

CHECK_GROUP(replica_start, replica_stop)
