/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TUNNEL_H
#define LK_TESTS_SUPPORT_TUNNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "support/flow.h"

/*
 * One connection of the proxy: a client's side and a server's side with a flow
 * each way. Flow w goes from descriptor w to the other one, so flow 0 carries
 * requests. It knows no lock; the proxy guards it.
 */

enum { TUNNEL_CLIENT = 0, TUNNEL_SERVER = 1 };

typedef struct tunnel {
    int fds[2]; /* both open or both -1 */
    flow flows[2];
    bool is_reset; /* to be closed in the next turn */
} tunnel;

/* Not open yet; no faults. */
void tunnel_init(tunnel *t);
/* Takes both descriptors. */
void tunnel_open(tunnel *t, int client, int server);
void tunnel_close(tunnel *t);
bool tunnel_is_open(const tunnel *t);
/* Ends its faults. One that has lost bytes is to be closed in the next turn. */
void tunnel_heal(tunnel *t);

/* Moves what can be moved now. It may be closed afterwards. */
void tunnel_turn(tunnel *t, uint64_t now);
/*
 * Fills in the poll() events that each descriptor waits for. Returns when it
 * wants a turn anyway, after now; UINT64_MAX: never.
 */
uint64_t tunnel_events(const tunnel *t, uint64_t now, short events[2]);

#endif /* LK_TESTS_SUPPORT_TUNNEL_H */
