/* SPDX-License-Identifier: MIT */
#include "support/replica.h"

#include <stdlib.h>

#include "support/check.h"
#include "support/wait.h"

enum { SYNC_MS = 20000 };

static server *the_replica;

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
