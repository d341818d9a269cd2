/* SPDX-License-Identifier: MIT */
#ifndef LK_HANDLE_OPEN_H
#define LK_HANDLE_OPEN_H

#include "engine/client.h"

/*
 * Opens a client in a world of the caller's making, which it then owns. That
 * is how a test puts it on a virtual clock and a scripted server.
 */
lk_status lk__client_open_in(lk_client **ret_client, lk__world *world,
                             const char *url, const lk_client_options *options);

#endif /* LK_HANDLE_OPEN_H */
