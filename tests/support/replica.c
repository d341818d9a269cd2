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
    siglocking *f = data;

    (void)server_integer(f->base->server, "INCR probe");
    return server_integer(f->base->server, "WAIT 1 1") == 1;
}

void replica_follow(siglocking *f)
{
    server_thaw(the_replica);
    freeReplyObject(server_command(f->base->server,
                                   "CONFIG SET repl-diskless-sync-delay 0"));
    freeReplyObject(server_command(the_replica, "REPLICAOF 127.0.0.1 %d",
                                   (int)server_port(f->base->server)));
    if (!wait_until(is_following, f, SYNC_MS))
        fail_msg("the replica does not come");
    (void)server_integer(f->base->server, "DEL probe");
}

void replica_leave(void)
{
    freeReplyObject(server_command(the_replica, "REPLICAOF NO ONE"));
}

int replica_setup(void **state)
{
    int result = siglocking_setup(state);

    if (result == 0)
        replica_follow(*state);
    return result;
}

int replica_teardown(void **state)
{
    server_thaw(the_replica);
    return siglocking_teardown(state);
}

server *replica_server(void)
{
    return the_replica;
}

lk_lock *replica_lock(siglocking *f, const char *name)
{
    return locking_lock(f->base, locking_open(f->base, NULL), name);
}

lk_hold *replica_hold(lk_lock *lock, const lk_acquire_options *options)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, 0, options, &hold), LK_OK);
    return hold;
}

call *replica_call(siglocking *f)
{
    assert_true(f->wait_count < SIG_WAITS);
    return &f->waits[f->wait_count++];
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
