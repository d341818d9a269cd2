/* SPDX-License-Identifier: MIT */

/*
 * Releases that a master has answered, and that the replica had not received which
 * takes its place: nobody waits for the end of a lease because of them.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/ringed.h"
#include "support/wait.h"

/* Longer than the test. */
enum { LEASE_MS = 600000 };

static const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                          .watchdog_ms = LEASE_MS,
                                          .offline_ms = RINGED_LONG_MS};

static bool has_none(void *data)
{
    char *info = server_string(data, "INFO replication");
    bool none = strstr(info, "connected_slaves:0") != NULL;

    free(info);
    return none;
}

/* Its only replica hears no more of it until it is a master itself. */
static server *replica_part(server *master)
{
    server *replica = cluster_replica_of(ringed(), master);

    freeReplyObject(server_command(replica, "CONFIG SET masterauth wrong"));
    freeReplyObject(server_command(replica, "CLIENT KILL TYPE master"));
    assert_true(wait_until(has_none, master, RINGED_LONG_MS));
    return replica;
}

static lk_hold *hold_name(lk_client *client, const char *name)
{
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_lock_new(&lock, client, name, NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, (int64_t)wait_limit_ms(RINGED_LONG_MS),
                                  NULL, &hold),
                  LK_OK);
    lk_lock_free(lock);
    return hold;
}

CHECK_TEST(a_name_is_free_whose_release_was_lost)
{
    server *master = ringed_master("n");
    lk_client *releases = ringed_open(&options), *waits = ringed_open(&options);
    lk_hold *hold;
    server *replica;

    cluster_rest(ringed(), master);
    hold = hold_name(releases, "n");
    server_wait_copied(master, "n", 1);
    replica = replica_part(master);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(server_integer(master, "EXISTS n"), 0);
    assert_ptr_equal(cluster_takeover(ringed(), master), replica);
    assert_status(lk_hold_release(hold_name(waits, "n")), LK_OK);
    freeReplyObject(server_command(replica, "CONFIG SET masterauth ''"));
    cluster_wait_whole(ringed());
}

CHECK_GROUP(ringed_start, ringed_stop)
