/* SPDX-License-Identifier: MIT */

/*
 * One thread does all that touches connections. It sleeps in poll() without the
 * mutex. What is cut or healed is so when the call returns: the flows are changed
 * under the mutex, and a turn that goes on has it.
 */

#include "support/bus.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/socket.h"
#include "support/tunnel.h"
#include "support/wait.h"

enum {
    DOORS = 64,
    ROADS = 512, /* at a time */
    ID = 40,
    ID_AT = 40, /* bytes before the sender's id in a message */
    CONNECT_MS = 200
};

/* Where a node is reached. */
typedef struct door {
    int listener;
    uint16_t port, to; /* to: 0: nowhere yet */
} door;

/* A connection; in one that waits for its first message only the client's side is
   there, which fd is. */
typedef struct road {
    tunnel tunnel;
    int fd; /* -1: it does not wait */
    uint16_t port;
    char from[ID + 1];
} road;

struct bus {
    int wake; /* eventfd */
    bool has_thread;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards what follows */
    bool is_stopping;
    door doors[DOORS];
    size_t door_count;
    road roads[ROADS];
    uint16_t cut_port; /* 0: nobody is cut off */
    char cut_id[ID + 1];
    struct pollfd polls[1 + DOORS + 2 * ROADS]; /* the thread's alone */
};

/* ---- a connection ---- */

static bool road_is_free(const road *l)
{
    return l->fd < 0 && !tunnel_is_open(&l->tunnel);
}

static void road_set(const bus *b, road *l)
{
    bool is_cut = b->cut_port != 0 &&
                  (l->port == b->cut_port || strcmp(l->from, b->cut_id) == 0);

    for (int way = 0; way < 2; way++)
        l->tunnel.flows[way].state = is_cut ? FLOW_SWALLOWS : FLOW_PASSES;
}

static int node_connect(uint16_t port)
{
    const struct sockaddr_in name = {.sin_family = AF_INET,
                                     .sin_port = htons(port),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval most = {.tv_usec = CONNECT_MS * 1000L};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (port != 0 &&
        connect(fd, (const struct sockaddr *)&name, sizeof(name)) == 0 &&
        fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

static uint16_t leads_to(const bus *b, uint16_t port)
{
    for (size_t i = 0; i < b->door_count; i++) {
        if (b->doors[i].port == port)
            return b->doors[i].to;
    }
    return 0;
}

static void road_end(road *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
    tunnel_close(&l->tunnel);
}

/* Its first message is looked at, and stays to be carried. */
static void road_begin(const bus *b, road *l)
{
    char head[ID_AT + ID];
    ssize_t size = recv(l->fd, head, sizeof(head), MSG_PEEK | MSG_DONTWAIT);
    int node;

    if (size > 0 && size < (ssize_t)sizeof(head))
        return;
    node = size > 0 ? node_connect(leads_to(b, l->port)) : -1;
    if (node < 0) {
        if (size >= 0 || leads_to(b, l->port) == 0)
            road_end(l);
        return;
    }
    (void)setsockopt(l->fd, SOL_SOCKET, SO_RCVLOWAT, &(int){1}, sizeof(int));
    memcpy(l->from, head + ID_AT, ID);
    tunnel_init(&l->tunnel);
    tunnel_open(&l->tunnel, l->fd, node);
    l->fd = -1;
    road_set(b, l);
}

static road *road_take(bus *b)
{
    for (size_t i = 0; i < ROADS; i++) {
        if (road_is_free(&b->roads[i]))
            return &b->roads[i];
    }
    return NULL;
}

static void door_turn(bus *b, const door *d)
{
    road *l = road_take(b);

    while (l != NULL) {
        int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
            return;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &(int){ID_AT + ID},
                         sizeof(int));
        *l = (road){.fd = fd, .port = d->port};
        tunnel_init(&l->tunnel);
        l = road_take(b);
    }
}

/* ---- the thread ---- */

static void poll_add(bus *b, nfds_t *n, int fd, short events)
{
    if (fd >= 0 && events != 0)
        b->polls[(*n)++] = (struct pollfd){.fd = fd, .events = events};
}

static nfds_t poll_prepare(bus *b, uint64_t now)
{
    const bool has_room = road_take(b) != NULL;
    nfds_t n = 0;

    poll_add(b, &n, b->wake, POLLIN);
    for (size_t i = 0; has_room && i < b->door_count; i++)
        poll_add(b, &n, b->doors[i].listener, POLLIN);
    for (size_t i = 0; i < ROADS; i++) {
        const road *l = &b->roads[i];
        short events[2];

        poll_add(b, &n, l->fd, POLLIN);
        if (!tunnel_is_open(&l->tunnel))
            continue;
        (void)tunnel_events(&l->tunnel, now, events);
        poll_add(b, &n, l->tunnel.fds[TUNNEL_CLIENT], events[TUNNEL_CLIENT]);
        poll_add(b, &n, l->tunnel.fds[TUNNEL_SERVER], events[TUNNEL_SERVER]);
    }
    return n;
}

static nfds_t turn(bus *b)
{
    uint64_t now = wait_now_ms(), wakes;

    (void)!read(b->wake, &wakes, sizeof(wakes));
    for (size_t i = 0; i < b->door_count; i++)
        door_turn(b, &b->doors[i]);
    for (size_t i = 0; i < ROADS; i++) {
        if (b->roads[i].fd >= 0)
            road_begin(b, &b->roads[i]);
        tunnel_turn(&b->roads[i].tunnel, now);
    }
    return poll_prepare(b, now);
}

static void *thread_main(void *data)
{
    bus *b = data;
    nfds_t n;

    (void)pthread_mutex_lock(&b->mutex);
    while (!b->is_stopping) {
        n = turn(b);
        (void)pthread_mutex_unlock(&b->mutex);
        (void)poll(b->polls, n, -1);
        (void)pthread_mutex_lock(&b->mutex);
    }
    (void)pthread_mutex_unlock(&b->mutex);
    return NULL;
}

static void change_begin(bus *b)
{
    (void)pthread_mutex_lock(&b->mutex);
}

static void change_end(bus *b)
{
    (void)!write(b->wake, &(uint64_t){1}, sizeof(uint64_t));
    (void)pthread_mutex_unlock(&b->mutex);
}

/* ---- start and stop ---- */

/* The program's signals stay with its own threads. */
static bool thread_start(bus *b)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    b->has_thread = pthread_create(&b->thread, NULL, thread_main, b) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return b->has_thread;
}

bus *bus_start(void)
{
    bus *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return NULL;
    for (size_t i = 0; i < ROADS; i++) {
        b->roads[i].fd = -1;
        tunnel_init(&b->roads[i].tunnel);
    }
    b->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&b->mutex, NULL);
    if (b->wake >= 0 && thread_start(b))
        return b;
    perror("bus");
    bus_stop(b);
    return NULL;
}

void bus_stop(bus *b)
{
    if (b == NULL)
        return;
    if (b->has_thread) {
        change_begin(b);
        b->is_stopping = true;
        change_end(b);
        (void)pthread_join(b->thread, NULL);
    }
    for (size_t i = 0; i < ROADS; i++)
        road_end(&b->roads[i]);
    for (size_t i = 0; i < b->door_count; i++)
        (void)close(b->doors[i].listener);
    if (b->wake >= 0)
        (void)close(b->wake);
    (void)pthread_mutex_destroy(&b->mutex);
    free(b);
}

uint16_t bus_open(bus *b)
{
    uint16_t port = 0;
    int listener = b->door_count < DOORS ? socket_listen_tcp(&port) : -1;

    if (listener < 0)
        return 0;
    change_begin(b);
    b->doors[b->door_count++] = (door){.listener = listener, .port = port};
    change_end(b);
    return port;
}

void bus_lead(bus *b, uint16_t port, uint16_t to)
{
    change_begin(b);
    for (size_t i = 0; i < b->door_count; i++) {
        if (b->doors[i].port == port)
            b->doors[i].to = to;
    }
    change_end(b);
}

/* ---- who is cut off ---- */

void bus_cut(bus *b, uint16_t port, const char *id)
{
    change_begin(b);
    b->cut_port = port;
    (void)snprintf(b->cut_id, sizeof(b->cut_id), "%s", id);
    for (size_t i = 0; i < ROADS; i++) {
        if (tunnel_is_open(&b->roads[i].tunnel))
            road_set(b, &b->roads[i]);
    }
    change_end(b);
}

void bus_heal(bus *b)
{
    change_begin(b);
    b->cut_port = 0;
    for (size_t i = 0; i < ROADS; i++)
        tunnel_heal(&b->roads[i].tunnel);
    change_end(b);
}
