/* SPDX-License-Identifier: MIT */

/*
 * One thread does all that touches descriptors. It sleeps in poll() without
 * the mutex, and with it tries every flow once per turn. A thread that sets a fault
 * changes the flows under the mutex and waits for the end of the next turn.
 */

#include "support/proxy.h"

#include <errno.h>
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
#include <unistd.h>

#include "support/login.h"
#include "support/scratch.h"
#include "support/socket.h"
#include "support/tunnel.h"
#include "support/wait.h"

struct proxy {
    scratch *home;
    char server_socket[108]; /* "": its port */
    uint16_t server_port;
    char socket[96]; /* "": TCP */
    char url[128];
    uint16_t port;
    int listener; /* -1: refuses */
    int wake;     /* eventfd */
    bool has_thread;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t turned;
    uint64_t turns;
    bool is_stopping;
    bool is_refusing;
    int accepted;
    struct pollfd polls[2 + 2 * PROXY_CONNECTIONS]; /* the thread's alone */
    tunnel tunnels[PROXY_CONNECTIONS];
};

/* ---- the listener ---- */

static int listen_again(proxy *p)
{
    return p->socket[0] != '\0' ? socket_listen_unix(p->socket)
                                : socket_listen_tcp(&p->port);
}

/* Makes the listener what is_refusing wants. */
static void listener_turn(proxy *p)
{
    bool refuses = p->is_refusing || p->accepted == PROXY_CONNECTIONS;

    if (refuses && p->listener >= 0) {
        (void)close(p->listener);
        p->listener = -1;
    }
    if (!refuses && p->listener < 0)
        p->listener = listen_again(p); /* on failure again in the next turn */
}

/* ---- connections ---- */

/* A client whose server is away gets its connection closed. */
static void client_take(proxy *p, int client)
{
    tunnel *t = &p->tunnels[p->accepted];
    int server = p->server_socket[0] != '\0'
                     ? socket_connect_unix(p->server_socket)
                     : socket_connect_tcp(p->server_port);

    p->accepted++;
    if (server < 0) {
        (void)close(client);
        return;
    }
    if (p->socket[0] == '\0')
        (void)setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1},
                         sizeof(int));
    tunnel_open(t, client, server);
}

static void accept_turn(proxy *p)
{
    while (p->listener >= 0 && p->accepted < PROXY_CONNECTIONS) {
        int client =
            accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client < 0)
            return;
        client_take(p, client);
    }
}

/* ---- the thread ---- */

static void poll_add(proxy *p, nfds_t *n, int fd, short events)
{
    if (fd >= 0 && events != 0) /* an idle one would only tell of hang-ups */
        p->polls[(*n)++] = (struct pollfd){.fd = fd, .events = events};
}

static uint64_t
poll_add_tunnel(proxy *p, nfds_t *n, const tunnel *t, uint64_t now)
{
    short events[2];
    uint64_t next;

    if (!tunnel_is_open(t))
        return UINT64_MAX;
    next = tunnel_events(t, now, events);
    poll_add(p, n, t->fds[TUNNEL_CLIENT], events[TUNNEL_CLIENT]);
    poll_add(p, n, t->fds[TUNNEL_SERVER], events[TUNNEL_SERVER]);
    return next;
}

/* Fills p->polls and returns how many; *ret_timeout is for poll(). */
static nfds_t poll_prepare(proxy *p, uint64_t now, int *ret_timeout)
{
    uint64_t next = UINT64_MAX;
    nfds_t n = 0;

    poll_add(p, &n, p->wake, POLLIN);
    poll_add(p, &n, p->listener, POLLIN);
    for (int i = 0; i < p->accepted; i++) {
        uint64_t due = poll_add_tunnel(p, &n, &p->tunnels[i], now);

        if (due < next)
            next = due;
    }
    *ret_timeout = -1;
    if (next != UINT64_MAX)
        *ret_timeout = (int)(next - now);
    if (!p->is_refusing && p->listener < 0 && p->accepted < PROXY_CONNECTIONS)
        *ret_timeout = 1;
    return n;
}

static nfds_t turn(proxy *p, int *ret_timeout)
{
    uint64_t now = wait_now_ms();
    uint64_t wakes;

    (void)!read(p->wake, &wakes, sizeof(wakes));
    listener_turn(p);
    accept_turn(p);
    for (int i = 0; i < p->accepted; i++)
        tunnel_turn(&p->tunnels[i], now);
    p->turns++;
    (void)pthread_cond_broadcast(&p->turned);
    return poll_prepare(p, now, ret_timeout);
}

static void *thread_main(void *data)
{
    proxy *p = data;
    int timeout;
    nfds_t n;

    (void)pthread_mutex_lock(&p->mutex);
    while (!p->is_stopping) {
        n = turn(p, &timeout);
        (void)pthread_mutex_unlock(&p->mutex);
        (void)poll(p->polls, n, timeout);
        (void)pthread_mutex_lock(&p->mutex);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static void wake(proxy *p)
{
    (void)!write(p->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/* ---- start and stop ---- */

/* The program's signals stay with its own threads. */
static bool thread_start(proxy *p)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    p->has_thread = pthread_create(&p->thread, NULL, thread_main, p) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p->has_thread;
}

static bool listener_start(proxy *p, bool is_tcp)
{
    if (!is_tcp)
        (void)snprintf(p->socket, sizeof(p->socket), "%s/proxy.sock",
                       scratch_path(p->home));
    p->listener = listen_again(p);
    if (is_tcp)
        (void)snprintf(p->url, sizeof(p->url), "redis://%s127.0.0.1:%u",
                       login_text(), p->port);
    else
        (void)snprintf(p->url, sizeof(p->url), "unix:%s%s%s",
                       login_text()[0] != '\0' ? "//" : "", login_text(),
                       p->socket);
    return p->listener >= 0;
}

static proxy *proxy_new(const char *server_socket, uint16_t server_port)
{
    proxy *p = calloc(1, sizeof(*p));

    if (p == NULL || strlen(server_socket) >= sizeof(p->server_socket)) {
        free(p);
        return NULL;
    }
    memcpy(p->server_socket, server_socket, strlen(server_socket) + 1);
    p->server_port = server_port;
    for (int i = 0; i < PROXY_CONNECTIONS; i++)
        tunnel_init(&p->tunnels[i]);
    p->listener = -1;
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&p->mutex, NULL);
    (void)pthread_cond_init(&p->turned, NULL);
    return p;
}

static proxy *
start(const char *server_socket, uint16_t server_port, bool is_tcp)
{
    proxy *p = proxy_new(server_socket, server_port);

    if (p != NULL)
        p->home = scratch_new();
    if (p != NULL && p->wake >= 0 && p->home != NULL &&
        listener_start(p, is_tcp) && thread_start(p))
        return p;
    (void)fprintf(stderr, "proxy: %s\n", strerror(errno));
    proxy_stop(p);
    return NULL;
}

proxy *proxy_start(const char *server_socket)
{
    return start(server_socket, 0, false);
}

proxy *proxy_start_tcp(const char *server_socket)
{
    return start(server_socket, 0, true);
}

proxy *proxy_start_to(uint16_t server_port)
{
    return start("", server_port, true);
}

void proxy_stop(proxy *p)
{
    if (p == NULL)
        return;
    if (p->has_thread) {
        (void)pthread_mutex_lock(&p->mutex);
        p->is_stopping = true;
        wake(p);
        (void)pthread_mutex_unlock(&p->mutex);
        (void)pthread_join(p->thread, NULL);
    }
    for (int i = 0; i < p->accepted; i++)
        tunnel_close(&p->tunnels[i]);
    if (p->listener >= 0)
        (void)close(p->listener);
    if (p->wake >= 0)
        (void)close(p->wake);
    (void)pthread_cond_destroy(&p->turned);
    (void)pthread_mutex_destroy(&p->mutex);
    scratch_free(p->home);
    free(p);
}

const char *proxy_url(const proxy *p)
{
    return p->url;
}

const char *proxy_socket(const proxy *p)
{
    return p->socket;
}

uint16_t proxy_port(const proxy *p)
{
    return p->port;
}

/* ---- faults ---- */

/* Waits until the thread has looked at everything once more. */
static void settle(proxy *p)
{
    uint64_t before = p->turns;

    wake(p);
    while (p->turns == before)
        (void)pthread_cond_wait(&p->turned, &p->mutex);
}

typedef void (*change)(tunnel *t, proxy_way way, int64_t value);

/* Changes one connection, or all; one out of range is a test's mistake. */
static void apply(proxy *p, int which, proxy_way way, change c, int64_t value)
{
    int first = which == PROXY_ALL ? 0 : which;
    int end = which == PROXY_ALL ? PROXY_CONNECTIONS : which + 1;

    if (first < 0 || end > PROXY_CONNECTIONS)
        abort();
    (void)pthread_mutex_lock(&p->mutex);
    for (int i = first; i < end; i++)
        c(&p->tunnels[i], way, value);
    settle(p);
    (void)pthread_mutex_unlock(&p->mutex);
}

static void change_delay(tunnel *t, proxy_way way, int64_t value)
{
    t->flows[way].delay_ms = (unsigned)value;
}

static void change_due(tunnel *t, proxy_way way, int64_t value)
{
    (void)value;
    flow_hasten(&t->flows[way]);
}

static void change_state(tunnel *t, proxy_way way, int64_t value)
{
    t->flows[way].state = (flow_state)value;
}

static void change_cut(tunnel *t, proxy_way way, int64_t value)
{
    t->flows[way].cut_left = value < 0 ? -1 : value;
}

static void change_reset(tunnel *t, proxy_way way, int64_t value)
{
    (void)way;
    (void)value;
    t->is_reset = tunnel_is_open(t);
}

void proxy_delay(proxy *p, int which, proxy_way way, unsigned ms)
{
    apply(p, which, way, change_delay, ms);
}

void proxy_hasten(proxy *p, int which, proxy_way way)
{
    apply(p, which, way, change_due, 0);
}

void proxy_stall(proxy *p, int which, proxy_way way)
{
    apply(p, which, way, change_state, FLOW_STALLS);
}

void proxy_hold(proxy *p, int which, proxy_way way)
{
    apply(p, which, way, change_state, FLOW_HOLDS);
}

void proxy_swallow(proxy *p, int which, proxy_way way)
{
    apply(p, which, way, change_state, FLOW_SWALLOWS);
}

void proxy_release(proxy *p, int which, proxy_way way)
{
    apply(p, which, way, change_state, FLOW_PASSES);
}

void proxy_cut(proxy *p, int which, proxy_way way, int64_t bytes)
{
    apply(p, which, way, change_cut, bytes);
}

void proxy_drop_replies(proxy *p, int which, bool then_close)
{
    if (then_close)
        proxy_cut(p, which, PROXY_REPLIES, 0);
    else
        proxy_swallow(p, which, PROXY_REPLIES);
}

void proxy_reset(proxy *p, int which)
{
    apply(p, which, PROXY_REQUESTS, change_reset, 0);
}

void proxy_refuse(proxy *p, bool is_on)
{
    (void)pthread_mutex_lock(&p->mutex);
    p->is_refusing = is_on;
    settle(p);
    (void)pthread_mutex_unlock(&p->mutex);
}

void proxy_heal(proxy *p)
{
    (void)pthread_mutex_lock(&p->mutex);
    p->is_refusing = false;
    for (int i = 0; i < PROXY_CONNECTIONS; i++)
        tunnel_heal(&p->tunnels[i]);
    settle(p);
    (void)pthread_mutex_unlock(&p->mutex);
}

/* ---- what happened ---- */

int proxy_accepted(proxy *p)
{
    int accepted;

    (void)pthread_mutex_lock(&p->mutex);
    accepted = p->accepted;
    (void)pthread_mutex_unlock(&p->mutex);
    return accepted;
}

int proxy_open(proxy *p)
{
    int open = 0;

    (void)pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < p->accepted; i++)
        open += tunnel_is_open(&p->tunnels[i]) ? 1 : 0;
    (void)pthread_mutex_unlock(&p->mutex);
    return open;
}

/* The sum over one connection or all. */
static uint64_t sum(proxy *p, int which, proxy_way way, bool is_received)
{
    uint64_t bytes = 0;

    (void)pthread_mutex_lock(&p->mutex);
    for (int i = 0; i < p->accepted; i++) {
        const flow *f = &p->tunnels[i].flows[way];

        if (which == PROXY_ALL || which == i)
            bytes += is_received ? f->received : f->delivered;
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return bytes;
}

uint64_t proxy_received(proxy *p, int which, proxy_way way)
{
    return sum(p, which, way, true);
}

uint64_t proxy_delivered(proxy *p, int which, proxy_way way)
{
    return sum(p, which, way, false);
}

typedef struct awaited {
    proxy *proxy;
    int which;
    proxy_way way;
    uint64_t number;
} awaited;

static bool has_accepted(void *data)
{
    const awaited *a = data;

    return proxy_accepted(a->proxy) >= (int)a->number;
}

static bool has_open(void *data)
{
    const awaited *a = data;

    return proxy_open(a->proxy) == (int)a->number;
}

static bool has_received(void *data)
{
    const awaited *a = data;

    return proxy_received(a->proxy, a->which, a->way) >= a->number;
}

bool proxy_wait_accepted(proxy *p, int connections, unsigned deadline_ms)
{
    return wait_until(has_accepted,
                      &(awaited){.proxy = p, .number = (uint64_t)connections},
                      deadline_ms);
}

bool proxy_wait_open(proxy *p, int connections, unsigned deadline_ms)
{
    return wait_until(has_open,
                      &(awaited){.proxy = p, .number = (uint64_t)connections},
                      deadline_ms);
}

bool proxy_wait_received(proxy *p, int which, proxy_way way, uint64_t bytes,
                         unsigned deadline_ms)
{
    return wait_until(has_received, &(awaited){p, which, way, bytes},
                      deadline_ms);
}
