/* SPDX-License-Identifier: MIT */
#ifndef SIM_WORLD_STREAM_H
#define SIM_WORLD_STREAM_H

#include <sys/types.h>

#include "world/inlet.h"
#include "world/process.h"

enum { SIM_SILENT = 1 };

/* The other end of streams: a server's machine (host.h), or a test that plays one.
   Put one first into your struct. */
typedef struct sim_peer {
    const struct sim_peer_class *class;
    sim_schedule *schedule;
    unsigned number;     /* of the paths to it */
    uint64_t stopped_to; /* nothing runs before */
} sim_peer;

typedef struct sim_peer_class {
    /* A stream arrives. 0: it stands; a negative errno: it is refused; SIM_SILENT: of
       this nobody hears anything, ever. */
    int (*open)(sim_peer *peer, lk__link *link);
    /* Bytes arrive. */
    void (*read)(sim_peer *peer, lk__link *link, const char *bytes,
                 size_t size);
    /* The client's end of it arrives, or the run is over. */
    void (*close)(sim_peer *peer, lk__link *link);
} sim_peer_class;

/*
 * A byte stream between a process and a peer. Each way keeps its order and has
 * its own time. What can happen to it: all that is on one way is late
 * (stall), is lost from some time on without a word (lose), or the stream
 * breaks.
 */

/* One way of a stream. */
typedef struct sim_pipe {
    sim_event event; /* the next piece arrives */
    struct sim_piece *first, *last;
    uint64_t extra_ns;   /* that this way takes beyond its path's */
    uint64_t last_at;    /* when the last one arrives */
    uint64_t stalled_to; /* nothing arrives before */
    bool lost;           /* nothing arrives ever */
} sim_pipe;

struct lk__link {
    sim_process *process;
    sim_peer *peer;
    lk__address address; /* strings owned */
    lk__link *next;
    unsigned number;
    void *tag;
    enum {
        SIM_LINK_OPENING,
        SIM_LINK_OPEN,
        SIM_LINK_DEAD /* never to send or receive again */
    } state;
    bool closed; /* by the core */
    bool blocked;
    size_t under_way;
    void *session; /* the peer's; NULL: not yet, or closed */
    sim_inlet inlet;
    sim_pipe pipes[SIM_WAYS];
};

/* How a stream breaks. */
typedef struct sim_break {
    bool arrives;     /* what is on its way to the server arrives yet */
    bool server_told; /* else it keeps its side open */
    bool client_told; /* the same */
} sim_break;

/* ---- the core's side ------------------------------------------------------ */

lk__link *sim_link_open(lk__world *base, const lk__address *address, void *tag);
ssize_t sim_link_send(lk__link *link, const void *bytes, size_t size);
void sim_link_close(lk__link *link);

/* Closes all of them. */
void sim_links_stop(sim_process *process);
/* The process is dead. */
void sim_links_die(sim_process *process, bool half_open);
void sim_links_free(sim_process *process);

/* ---- the server's side ---------------------------------------------------- */

/* Sends bytes to the client, after those sent before; the other at that time. */
void sim_link_reply(lk__link *link, const char *bytes, size_t size);
void sim_link_reply_at(lk__link *link, uint64_t at, const char *bytes,
                       size_t size);

/* The server has ended its side; what it said before arrives. */
void sim_link_end(lk__link *link);

/* Whether the peer can run now. If not, sets the event to when it can. */
bool sim_peer_runs(const sim_peer *peer, sim_event *event);

/* ---- what happens to it ---------------------------------------------------- */

void sim_link_break(lk__link *link, const sim_break *how);
void sim_link_stall(lk__link *link, sim_way way, uint64_t to);
void sim_link_lose(lk__link *link, sim_way way);

/* Whether the core still uses it. */
bool sim_link_is_open(const lk__link *link);

#endif /* SIM_WORLD_STREAM_H */
