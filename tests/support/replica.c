/* SPDX-License-Identifier: MIT */
#include "support/replica.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { SYNC_MS = 20000 };

static server *the_replica;

const lk_acquire_options replica_one = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                        .replica_ms = 10000};
const lk_acquire_options replica_one_brief = {LK_ACQUIRE_OPTIONS_INIT,
                                              .replicas = 1, .replica_ms = 100};

int replica_start(void **state)
{
    the_replica = server_start(NULL);
    return the_replica == NULL ? -1 : locking_start_server(state);
}

int replica_stop(void **state)
{
    server_stop(the_replica);
    return locking_stop_server(state);
}

/* It is online before it gets what is written. */
static bool is_following(void *data)
{
    locking *f = data;

    (void)server_integer(f->server, "INCR probe");
    return server_integer(f->server, "WAIT 1 1") == 1;
}

void replica_follow(locking *f)
{
    server_thaw(the_replica);
    freeReplyObject(
        server_command(f->server, "CONFIG SET repl-diskless-sync-delay 0"));
    freeReplyObject(server_command(the_replica, "REPLICAOF 127.0.0.1 %d",
                                   (int)server_port(f->server)));
    if (!wait_until(is_following, f, SYNC_MS))
        fail_msg("the replica does not come");
    (void)server_integer(f->server, "DEL probe");
}

void replica_leave(void)
{
    freeReplyObject(server_command(the_replica, "REPLICAOF NO ONE"));
}

int replica_setup(void **state)
{
    int result = locking_setup(state);

    if (result == 0)
        replica_follow(*state);
    return result;
}

int replica_teardown(void **state)
{
    server_thaw(the_replica);
    return locking_teardown(state);
}

server *replica_server(void)
{
    return the_replica;
}

lk_lock *replica_lock(locking *f, const char *name)
{
    return locking_lock(f, locking_open(f, NULL), name);
}

lk_hold *replica_hold(lk_lock *lock, const lk_acquire_options *options)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, 0, options, &hold), LK_OK);
    return hold;
}

lk_status replica_release(call *c)
{
    lk_hold *hold = c->hold;

    c->hold = NULL;
    return lk_hold_release(hold);
}

bool replica_has(const char *key)
{
    return server_integer(the_replica, "EXISTS %s", key) == 1;
}
