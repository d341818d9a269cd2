/* SPDX-License-Identifier: MIT */
#include "support/one_server.h"

#include <stddef.h>

server *redis;

int one_server_start(void **state)
{
    *state = redis = server_start_tcp(NULL);
    return redis != NULL ? 0 : -1;
}

int one_server_stop(void **state)
{
    (void)state;
    server_stop(redis);
    return 0;
}

int one_server_flush(void **state)
{
    (void)state;
    if (server_pid(redis) == 0)
        return server_restart(redis) ? 0 : -1;
    server_flush(redis);
    return 0;
}
