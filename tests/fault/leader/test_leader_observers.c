/* SPDX-License-Identifier: MIT */

/* Those who observe an election, cut off, or without the right to listen. */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/leading.h"
#include "support/proxy.h"
#include "support/wait.h"

/* PAUSE_MS: from one look to the next while nothing can be told. */
enum { SETTLE_MS = 10000, PAUSE_MS = 1000 };

LOCKS_TEST(a_watch_tells_of_an_outage_once_and_goes_on)
{
    static tells t;
    const lk_client_options quick = {LK_CLIENT_OPTIONS_INIT,
                                     .offline_ms = wait_scaled_ms(200)};
    proxy *net = locking_proxy(f);
    lk_client *client = locking_open_far(f, &quick);
    lk_leader *leader = leading_as(f, "a");
    lk_leader_watch *watch = NULL;
    lk_hold *hold;
    unsigned last;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_in(f, client, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    proxy_refuse(net, true);
    proxy_reset(net, PROXY_ALL);
    tells_wait(&t, 2);
    assert_true(t.told[1].status != LK_OK);
    locking_pass_time(PAUSE_MS + PAUSE_MS / 2);
    assert_int_equal(atomic_load(&t.count), 2);
    hold = locking_hold(leader);
    proxy_refuse(net, false);
    tells_wait(&t, 3);
    last = atomic_load(&t.count) - 1;
    assert_status(t.told[last].status, LK_OK);
    assert_true(t.told[last].term == lk_hold_fence(hold));
    lk_leader_watch_free(watch);
    assert_status(lk_leader_resign(leader, hold), LK_OK);
}

/* Also where nothing has changed meanwhile. */
LOCKS_TEST(after_an_outage_a_watch_tells_what_is_so)
{
    static tells t;
    const lk_client_options quick = {LK_CLIENT_OPTIONS_INIT,
                                     .offline_ms = wait_scaled_ms(200)};
    proxy *net = locking_proxy(f);
    lk_client *client = locking_open_far(f, &quick);
    lk_leader_watch *watch = NULL;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_in(f, client, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    proxy_refuse(net, true);
    proxy_reset(net, PROXY_ALL);
    tells_wait(&t, 2);
    proxy_refuse(net, false);
    tells_wait(&t, 3);
    assert_status(t.told[2].status, LK_OK);
    assert_true(t.told[2].term == 0);
    lk_leader_watch_free(watch);
}

/* The word is lost with the connection: it looks when that is back. */
LOCKS_TEST(an_observer_whose_connections_are_cut_misses_no_change)
{
    static tells t;
    lk_leader *leader = leading_as(f, "a");
    lk_leader_watch *watch = NULL;
    lk_hold *hold;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_new(f, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    for (unsigned i = 0; i < 3; i++) {
        freeReplyObject(server_command(f->server, "CLIENT KILL TYPE pubsub"));
        freeReplyObject(
            server_command(f->server, "CLIENT KILL TYPE normal SKIPME yes"));
        assert_status(lk_leader_campaign(leader, SETTLE_MS, NULL, &hold),
                      LK_OK);
        tells_wait(&t, 2 * i + 2);
        assert_true(t.told[2 * i + 1].term == lk_hold_fence(hold));
        assert_status(lk_leader_resign(leader, hold), LK_OK);
        tells_wait(&t, 2 * i + 3);
    }
    lk_leader_watch_free(watch);
}

/* Without the right to the channel it is as before, only slower. */
LOCKS_TEST(an_observer_that_may_not_listen_looks)
{
    static tells t;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "deaf",
                                       .password = "p"};
    lk_leader *leader = leading_as(f, "a");
    lk_leader_watch *watch = NULL;
    lk_hold *hold;

    free(server_string(f->server,
                       "ACL SETUSER deaf on >p ~* +@all resetchannels "
                       "&latchkey:in:*"));
    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_new(f, NULL),
                                      tells_change, &t),
                  LK_OK);
    lk_leader_watch_free(watch);
    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch,
                                      leading_in(f, locking_open(f, &options),
                                                 NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    hold = locking_hold(leader);
    tells_wait(&t, 2);
    assert_true(t.told[1].term == lk_hold_fence(hold));
    assert_status(lk_leader_resign(leader, hold), LK_OK);
    tells_wait(&t, 3);
    lk_leader_watch_free(watch);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
