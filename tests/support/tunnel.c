/* SPDX-License-Identifier: MIT */
#include "support/tunnel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

void tunnel_init(tunnel *t)
{
    *t = (tunnel){.fds = {-1, -1}};
    tunnel_heal(t);
}

/* Both directions at once, so that none suffers from the other's fault. */
void tunnel_heal(tunnel *t)
{
    for (int way = 0; way < 2; way++) {
        flow *f = &t->flows[way];

        t->is_reset |= f->has_lost && tunnel_is_open(t);
        f->state = FLOW_PASSES;
        f->delay_ms = 0;
        f->cut_left = -1;
    }
}

void tunnel_open(tunnel *t, int client, int server)
{
    t->fds[TUNNEL_CLIENT] = client;
    t->fds[TUNNEL_SERVER] = server;
}

bool tunnel_is_open(const tunnel *t)
{
    return t->fds[TUNNEL_CLIENT] >= 0;
}

void tunnel_close(tunnel *t)
{
    if (!tunnel_is_open(t))
        return;
    if (t->is_reset) /* no effect on a unix socket */
        (void)setsockopt(t->fds[TUNNEL_CLIENT], SOL_SOCKET, SO_LINGER,
                         &(struct linger){.l_onoff = 1, .l_linger = 0},
                         sizeof(struct linger));
    for (int side = 0; side < 2; side++) {
        (void)close(t->fds[side]);
        t->fds[side] = -1;
        flow_clear(&t->flows[side]);
    }
    t->is_reset = false;
}

/* ---- turns ---- */

static void flow_turn(tunnel *t, int way, uint64_t now)
{
    flow_take(&t->flows[way], t->fds[way], now);
    switch (flow_give(&t->flows[way], t->fds[!way], now)) {
    case FLOW_GOES_ON:
        return;
    case FLOW_CUT:
        tunnel_close(t);
        return;
    case FLOW_ENDED:
        break;
    }
    /* A server that ended its stream takes nothing more; a client may. */
    if (way == TUNNEL_SERVER)
        tunnel_close(t);
    else
        (void)shutdown(t->fds[TUNNEL_SERVER], SHUT_WR);
}

void tunnel_turn(tunnel *t, uint64_t now)
{
    if (t->is_reset)
        tunnel_close(t);
    for (int way = 0; way < 2 && tunnel_is_open(t); way++)
        flow_turn(t, way, now);
}

uint64_t tunnel_events(const tunnel *t, uint64_t now, short events[2])
{
    uint64_t next = UINT64_MAX;

    events[TUNNEL_CLIENT] = 0;
    events[TUNNEL_SERVER] = 0;
    for (int way = 0; way < 2; way++) {
        uint64_t due = flow_due(&t->flows[way]);

        if (flow_wants_source(&t->flows[way]))
            events[way] = (short)(events[way] | POLLIN);
        if (due <= now)
            events[!way] = (short)(events[!way] | POLLOUT);
        else if (due < next)
            next = due;
    }
    return next;
}
