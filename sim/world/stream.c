/* SPDX-License-Identifier: MIT */

/* Streams: bytes on their way are pieces with a time. */

#include "world/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "world/random.h"

typedef enum sim_piece_kind {
    SIM_BYTES,
    SIM_OPEN,
    SIM_WRITABLE, /* the stream has room again */
    SIM_END
} sim_piece_kind;

/* On its way. */
typedef struct sim_piece {
    struct sim_piece *next;
    uint64_t at; /* arrives, unless it is stalled */
    sim_piece_kind kind;
    int error;
    size_t size;
    char bytes[];
} sim_piece;

/* ---- pipes ---------------------------------------------------------------- */

static sim_schedule *schedule_of(const lk__link *link)
{
    return link->process->schedule;
}

static uint64_t later(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static void pipe_clear(lk__link *link, sim_way way)
{
    sim_pipe *pipe = &link->pipes[way];
    sim_piece *piece;

    while ((piece = pipe->first) != NULL) {
        pipe->first = piece->next;
        free(piece);
    }
    pipe->last = NULL;
    sim_event_clear(schedule_of(link), &pipe->event);
}

static void pipe_arm(lk__link *link, sim_way way)
{
    sim_pipe *pipe = &link->pipes[way];

    if (pipe->first != NULL)
        sim_event_set(schedule_of(link), &pipe->event,
                      later(pipe->first->at, pipe->stalled_to));
}

/* When what leaves at a time arrives. */
static uint64_t
arrival(lk__link *link, sim_way way, sim_piece_kind kind, uint64_t from)
{
    const sim_path *path = &link->process->paths[link->peer->number];
    uint64_t ns = path->ns[way], at;

    if (kind == SIM_OPEN && path->open_ns > 0)
        ns = way == SIM_THERE ? path->open_ns : 0;
    at = later(from, path->stalled_to[way]) + ns + link->pipes[way].extra_ns;

    if (path->jitter_ns[way] > 0)
        at += sim_below(&link->process->net_random, path->jitter_ns[way]);
    return at;
}

static void pipe_add(lk__link *link, sim_way way, sim_piece_kind kind,
                     const void *bytes, size_t size, uint64_t from)
{
    sim_pipe *pipe = &link->pipes[way];
    sim_piece *piece;

    if (pipe->lost)
        return;
    piece = sim_resize(NULL, sizeof(*piece) + size);
    pipe->last_at = later(pipe->last_at, arrival(link, way, kind, from));
    *piece = (sim_piece){.at = pipe->last_at, .kind = kind, .size = size};
    if (size > 0)
        memcpy(piece->bytes, bytes, size);
    if (pipe->first == NULL) {
        pipe->first = piece;
        pipe_arm(link, way);
    } else {
        pipe->last->next = piece;
    }
    pipe->last = piece;
}

/* The next piece, taken out; the caller frees it. */
static sim_piece *pipe_take(lk__link *link, sim_way way)
{
    sim_pipe *pipe = &link->pipes[way];
    sim_piece *piece = pipe->first;

    pipe->first = piece->next;
    if (pipe->first == NULL)
        pipe->last = NULL;
    sim_trace(schedule_of(link),
              (uint64_t)way << 8 | (uint64_t)piece->kind << 16 |
                  link->process->number,
              link->number);
    sim_trace_bytes(schedule_of(link), piece->bytes, piece->size);
    return piece;
}

/* ---- to the core ----------------------------------------------------------- */

static bool core_listens(const lk__link *link)
{
    return link->process->events != NULL && !link->closed &&
           link->state != SIM_LINK_DEAD && !link->process->dead;
}

static void core_hears(lk__link *link, const sim_piece *piece)
{
    sim_process *process = link->process;
    const lk__events *events = process->events;

    if (!core_listens(link))
        return;
    sim_process_enter(process);
    if (piece->kind == SIM_BYTES) {
        events->on_data(process->user, link->tag, link, piece->bytes,
                        piece->size);
    } else if (piece->kind == SIM_WRITABLE) {
        events->on_writable(process->user, link->tag, link);
    } else if (link->state == SIM_LINK_OPENING) {
        link->state = piece->error == 0 && piece->kind == SIM_OPEN
                          ? SIM_LINK_OPEN
                          : SIM_LINK_DEAD;
        events->on_open(process->user, link->tag, link,
                        piece->kind == SIM_OPEN ? piece->error : -ECONNRESET);
    } else {
        link->state = SIM_LINK_DEAD;
        events->on_end(process->user, link->tag, link, piece->error);
    }
    sim_process_leave(process);
}

static void on_back(sim_event *event)
{
    lk__link *link =
        (lk__link *)(void *)((char *)event -
                             offsetof(lk__link, pipes[SIM_BACK].event));
    sim_piece *piece;

    if (!sim_process_runs(link->process, event))
        return;
    piece = pipe_take(link, SIM_BACK);
    pipe_arm(link, SIM_BACK);
    core_hears(link, piece);
    free(piece);
}

/* ---- to the server --------------------------------------------------------- */

bool sim_peer_runs(const sim_peer *peer, sim_event *event)
{
    if (peer->stopped_to <= peer->schedule->now)
        return true;
    sim_event_set(peer->schedule, event, peer->stopped_to);
    return false;
}

/* What it says at once comes behind the stream's opening. */
static void server_opens(lk__link *link)
{
    sim_pipe *back = &link->pipes[SIM_BACK];
    sim_piece *opening;
    int error;

    pipe_add(link, SIM_BACK, SIM_OPEN, NULL, 0, schedule_of(link)->now);
    opening = back->last;
    error = link->peer->class->open(link->peer, link);
    if (error == SIM_SILENT)
        pipe_clear(link, SIM_BACK);
    else if (opening != NULL)
        opening->error = error;
}

static void session_close(lk__link *link)
{
    if (link->session != NULL)
        link->peer->class->close(link->peer, link);
    link->session = NULL;
    free(link->inlet.bytes);
    link->inlet = (sim_inlet){.bytes = NULL};
}

static void server_hears(lk__link *link, const sim_piece *piece)
{
    if (piece->kind == SIM_OPEN)
        server_opens(link);
    else if (piece->kind == SIM_BYTES)
        link->peer->class->read(link->peer, link, piece->bytes, piece->size);
    else
        session_close(link);
}

static void on_there(sim_event *event)
{
    lk__link *link =
        (lk__link *)(void *)((char *)event -
                             offsetof(lk__link, pipes[SIM_THERE].event));
    sim_piece *piece;

    if (!sim_peer_runs(link->peer, event))
        return;
    piece = pipe_take(link, SIM_THERE);
    pipe_arm(link, SIM_THERE);
    link->under_way -= piece->size;
    if (piece->kind == SIM_OPEN || link->session != NULL)
        server_hears(link, piece);
    free(piece);
    if (link->blocked)
        pipe_add(link, SIM_BACK, SIM_WRITABLE, NULL, 0, schedule_of(link)->now);
    link->blocked = false;
}

/* ---- the core's side -------------------------------------------------------- */

static uint64_t leaves_at(const lk__link *link)
{
    return later(schedule_of(link)->now, link->process->ahead);
}

/* If there is one alone, it is at every address; else they are called h0, h1... */
static sim_peer *peer_at(const sim_process *process, const char *name)
{
    return process->peers[1] == NULL ? process->peers[0]
                                     : process->peers[name[1] - '0'];
}

static char *text_copy(const char *text)
{
    size_t size = text == NULL ? 0 : strlen(text) + 1;

    return text == NULL ? NULL : memcpy(sim_alloc(size), text, size);
}

lk__link *sim_link_open(lk__world *base, const lk__address *address, void *tag)
{
    sim_process *process = (sim_process *)base;
    lk__link *link = sim_alloc(sizeof(*link));

    link->process = process;
    link->peer = peer_at(process, address->host);
    link->address = (lk__address){.path = text_copy(address->path),
                                  .host = text_copy(address->host),
                                  .port = address->port};
    link->number = process->link_count++;
    link->tag = tag;
    link->next = process->links;
    link->pipes[SIM_THERE].event.happen = on_there;
    link->pipes[SIM_BACK].event.happen = on_back;
    process->links = link;
    for (int way = 0; way < SIM_WAYS; way++)
        link->pipes[way].extra_ns =
            sim_spread(&process->net_random, 1, process->spread_ns + 1) - 1;
    if (process->dead)
        link->pipes[SIM_THERE].lost = true;
    pipe_add(link, SIM_THERE, SIM_OPEN, NULL, 0, leaves_at(link));
    return link;
}

ssize_t sim_link_send(lk__link *link, const void *bytes, size_t size)
{
    size_t limit = link->process->send_limit;
    size_t room = size;

    if (link->closed)
        sim_wrong("a send on a link that was closed");
    if (link->state != SIM_LINK_OPEN)
        return -EPIPE;
    if (limit > 0 && link->under_way + size > limit) {
        room = limit > link->under_way ? limit - link->under_way : 0;
        link->blocked = true;
    }
    if (room == 0)
        return 0;
    if (!link->pipes[SIM_THERE].lost)
        link->under_way += room;
    pipe_add(link, SIM_THERE, SIM_BYTES, bytes, room, leaves_at(link));
    return (ssize_t)room;
}

void sim_link_close(lk__link *link)
{
    if (link->closed)
        sim_wrong("a link was closed twice");
    link->closed = true;
    link->state = SIM_LINK_DEAD;
    pipe_add(link, SIM_THERE, SIM_END, NULL, 0, leaves_at(link));
    pipe_clear(link, SIM_BACK);
}

void sim_links_stop(sim_process *process)
{
    for (lk__link *link = process->links; link != NULL; link = link->next) {
        if (!link->closed)
            sim_link_close(link);
    }
}

void sim_links_die(sim_process *process, bool half_open)
{
    for (lk__link *link = process->links; link != NULL; link = link->next) {
        if (!half_open && !link->closed)
            pipe_add(link, SIM_THERE, SIM_END, NULL, 0, leaves_at(link));
        link->pipes[SIM_THERE].lost = true;
        sim_link_lose(link, SIM_BACK);
    }
}

void sim_links_free(sim_process *process)
{
    lk__link *link;

    while ((link = process->links) != NULL) {
        process->links = link->next;
        pipe_clear(link, SIM_THERE);
        pipe_clear(link, SIM_BACK);
        session_close(link);
        /* The strings are the link's own copies. */
        free((void *)(uintptr_t)link->address.path);
        free((void *)(uintptr_t)link->address.host);
        free(link);
    }
}

/* ---- the server's side ------------------------------------------------------ */

void sim_link_reply_at(lk__link *link, uint64_t at, const char *bytes,
                       size_t size)
{
    if (!link->closed)
        pipe_add(link, SIM_BACK, SIM_BYTES, bytes, size, at);
}

void sim_link_reply(lk__link *link, const char *bytes, size_t size)
{
    sim_link_reply_at(link, schedule_of(link)->now, bytes, size);
}

void sim_link_end(lk__link *link)
{
    if (!link->closed)
        pipe_add(link, SIM_BACK, SIM_END, NULL, 0, schedule_of(link)->now);
}

/* ---- what happens to it ----------------------------------------------------- */

bool sim_link_is_open(const lk__link *link)
{
    return !link->closed && link->state != SIM_LINK_DEAD;
}

void sim_link_break(lk__link *link, const sim_break *how)
{
    uint64_t now = schedule_of(link)->now;

    if (!how->arrives)
        pipe_clear(link, SIM_THERE);
    if (how->server_told)
        pipe_add(link, SIM_THERE, SIM_END, NULL, 0, now);
    link->pipes[SIM_THERE].lost = true;
    pipe_clear(link, SIM_BACK);
    link->blocked = false;
    if (how->client_told && !link->closed) {
        link->pipes[SIM_BACK].lost = false;
        pipe_add(link, SIM_BACK, SIM_END, NULL, 0, now);
        link->pipes[SIM_BACK].last->error = -ECONNRESET;
    }
    link->pipes[SIM_BACK].lost = true;
}

void sim_link_stall(lk__link *link, sim_way way, uint64_t to)
{
    link->pipes[way].stalled_to = later(link->pipes[way].stalled_to, to);
    pipe_arm(link, way);
}

void sim_link_lose(lk__link *link, sim_way way)
{
    pipe_clear(link, way);
    link->pipes[way].lost = true;
}
