/* SPDX-License-Identifier: MIT */

/*
 * How a stream of the real world is opened: the name is looked up off the
 * loop, then its addresses are tried in order, IPv6 and IPv4 in turns. The
 * next one starts when one fails, or when 250 ms passed without an answer
 * (RFC 8305); the first to connect wins. There is no time limit.
 */

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/mem.h"
#include "world/world_uv.h"

enum {
    ADDRESSES_MAX = 8, /* of one name; more are not tried */
    STAGGER_MS = 250
};

/* A dead peer is noticed in seconds, not in the kernel's quarter of an hour. */
enum {
    KEEPALIVE_IDLE_S = 15,
    KEEPALIVE_INTERVAL_S = 5,
    KEEPALIVE_PROBES = 3,
    USER_TIMEOUT_MS = 10000 /* bytes sent and not acknowledged */
};

struct lk__uv_dial {
    lk__uv_world *world;
    lk__link *link; /* NULL: given up */
    uv_timer_t timer;
    lk__uv_lookup *lookup;  /* of a name; it owns what order points to */
    struct addrinfo *found; /* of a number; the same */
    struct sockaddr_un path;
    struct addrinfo path_info;
    const struct addrinfo *order[ADDRESSES_MAX];
    size_t count, tried;
    lk__uv_socket *attempts;
    int error; /* of an attempt that ended; see failed() */
};

/* ---- the end ------------------------------------------------------------ */

static void timer_on_closed(uv_handle_t *handle)
{
    lk__uv_dial *dial = handle->data;

    if (dial->found != NULL)
        freeaddrinfo(dial->found);
    lk__free(dial);
}

void lk__uv_dial_stop(lk__uv_dial *dial)
{
    lk__uv_socket *attempt;

    if (dial == NULL)
        return;
    dial->link = NULL;
    while (dial->attempts != NULL) {
        attempt = dial->attempts;
        dial->attempts = attempt->next;
        lk__uv_socket_free(attempt);
    }
    if (dial->lookup != NULL)
        lk__uv_lookup_leave(dial->lookup, dial);
    uv_close((uv_handle_t *)&dial->timer, timer_on_closed);
}

/* Ends the dial and hands its outcome to the link. */
static void dial_end(lk__uv_dial *dial, lk__uv_socket *socket, int error)
{
    lk__link *link = dial->link;

    lk__uv_dial_stop(dial);
    lk__uv_link_opened(link, socket, error);
}

/* ---- one attempt -------------------------------------------------------- */

/* A failure costs speed or patience, but no promise: none is reported. */
static void socket_tune(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
        {IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS},
    };
    size_t i;

    for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        (void)setsockopt(fd, options[i].level, options[i].name,
                         &options[i].value, sizeof(options[i].value));
}

/*
 * The outcome of a connect that is over. A TCP socket that looks for a local
 * port nobody listens on may be given that very port and connect to itself:
 * that is a refusal.
 */
static int socket_outcome(int fd)
{
    struct sockaddr_storage here = {0}, there = {0};
    socklen_t here_size = sizeof(here), there_size = sizeof(there);
    socklen_t size = sizeof(int);
    int error = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
        return -errno;
    if (error != 0)
        return -error;
    if (getpeername(fd, (struct sockaddr *)&there, &there_size) != 0 ||
        getsockname(fd, (struct sockaddr *)&here, &here_size) != 0)
        return -errno;
    if (here.ss_family != AF_UNIX && here_size == there_size &&
        memcmp(&here, &there, here_size) == 0)
        return -ECONNREFUSED;
    return 0;
}

/* 0: connected; -EINPROGRESS: under way; else the socket is no good. */
static int socket_connect(int fd, const struct addrinfo *info)
{
    if (info->ai_family != AF_UNIX)
        socket_tune(fd);
    if (connect(fd, info->ai_addr, info->ai_addrlen) == 0)
        return socket_outcome(fd);
    return errno == EINTR ? -EINPROGRESS : -errno;
}

static void dial_next(lk__uv_dial *dial);

/* The last is told, but a refusal only if all are: at an address that is not
   reached somebody may be. */
static void failed(lk__uv_dial *dial, int error)
{
    if (error != -ECONNREFUSED || dial->error == 0)
        dial->error = error;
}

/* Takes an attempt out of the dial's list. */
static void attempt_take(lk__uv_dial *dial, lk__uv_socket *attempt)
{
    lk__uv_socket **at = &dial->attempts;

    while (*at != attempt)
        at = &(*at)->next;
    *at = attempt->next;
}

static void attempt_on_poll(uv_poll_t *handle, int status, int events)
{
    lk__uv_socket *attempt = handle->data;
    lk__uv_dial *dial = attempt->owner;
    int error = socket_outcome(attempt->entry.fd);

    (void)events;
    if (error == 0 && status < 0)
        error = status;
    attempt_take(dial, attempt);
    if (error == 0) {
        dial_end(dial, attempt, 0);
        return;
    }
    lk__uv_socket_free(attempt);
    failed(dial, error);
    dial_next(dial);
}

/* As socket_connect(); what is under way or connected is in attempts. */
static int attempt_start(lk__uv_dial *dial, const struct addrinfo *info)
{
    lk__uv_socket *attempt;
    int error = lk__uv_socket_new(&attempt, dial->world, info->ai_family);
    int started = 0;

    if (error != 0)
        return error;
    attempt->owner = dial;
    error = socket_connect(attempt->entry.fd, info);
    if (error == -EINPROGRESS)
        started = uv_poll_start(&attempt->poll, UV_WRITABLE, attempt_on_poll);
    if (started != 0)
        error = started;
    if (error != 0 && error != -EINPROGRESS) {
        lk__uv_socket_free(attempt);
        return error;
    }
    attempt->next = dial->attempts;
    dial->attempts = attempt;
    return error;
}

/* ---- the race ----------------------------------------------------------- */

static void on_stagger(uv_timer_t *timer)
{
    dial_next(timer->data);
}

/* Goes on to the next address that does not fail at once. */
static void dial_next(lk__uv_dial *dial)
{
    lk__uv_socket *winner;
    int error;

    (void)uv_timer_stop(&dial->timer);
    while (dial->tried < dial->count) {
        error = attempt_start(dial, dial->order[dial->tried++]);
        if (error == 0) {
            winner = dial->attempts;
            attempt_take(dial, winner);
            dial_end(dial, winner, 0);
            return;
        }
        if (error == -EINPROGRESS) {
            if (dial->tried < dial->count)
                (void)uv_timer_start(&dial->timer, on_stagger, STAGGER_MS, 0);
            return;
        }
        failed(dial, error);
    }
    if (dial->attempts == NULL)
        dial_end(dial, NULL, dial->error);
}

/* The first address from info on that is, or is not, of the family. */
static const struct addrinfo *
address_find(const struct addrinfo *info, int family, bool same)
{
    while (info != NULL && (info->ai_family == family) != same)
        info = info->ai_next;
    return info;
}

/* Keeps the resolver's order within each family and takes them in turns. */
static void dial_order(lk__uv_dial *dial, const struct addrinfo *list)
{
    int family = list->ai_family;
    const struct addrinfo *next[2] = {address_find(list, family, true),
                                      address_find(list, family, false)};
    int side;

    for (side = 0; next[0] != NULL || next[1] != NULL; side = 1 - side) {
        if (next[side] == NULL)
            continue;
        if (dial->count == ADDRESSES_MAX)
            return;
        dial->order[dial->count++] = next[side];
        next[side] = address_find(next[side]->ai_next, family, side == 0);
    }
}

/* ---- where to ----------------------------------------------------------- */

void lk__uv_dial_found(lk__uv_dial *dial, int error,
                       const struct addrinfo *list)
{
    if (error != 0) {
        dial_end(dial, NULL, error);
        return;
    }
    dial_order(dial, list);
    dial_next(dial);
}

/* Looks the host up; a number at once. 0 or a negative error. */
static int dial_resolve(lk__uv_dial *dial, const char *host, uint16_t port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    char service[sizeof("65535")];
    int error = 0;

    (void)snprintf(service, sizeof(service), "%u", (unsigned)port);
    if (getaddrinfo(host, service, &hints, &dial->found) == 0) {
        dial_order(dial, dial->found);
        dial_next(dial);
        return 0;
    }
    dial->found = NULL;
    dial->lookup = lk__uv_lookup_start(dial->world, dial, host, port, &error);
    return error;
}

/* A unix socket as a list of one address. 0 or a negative errno. */
static int dial_path(lk__uv_dial *dial, const char *path)
{
    size_t size = strlen(path) + 1;

    if (size > sizeof(dial->path.sun_path))
        return -ENAMETOOLONG;
    dial->path.sun_family = AF_UNIX;
    memcpy(dial->path.sun_path, path, size);
    dial->path_info.ai_family = AF_UNIX;
    dial->path_info.ai_addr = (struct sockaddr *)&dial->path;
    dial->path_info.ai_addrlen = sizeof(dial->path);
    dial_order(dial, &dial->path_info);
    dial_next(dial);
    return 0;
}

void lk__uv_dial_start(lk__link *link)
{
    lk__uv_dial *dial = lk__alloc(sizeof(*dial));
    int error;

    if (dial == NULL) {
        lk__uv_link_opened(link, NULL, -ENOMEM);
        return;
    }
    dial->world = link->world;
    dial->link = link;
    (void)uv_timer_init(&dial->world->loop, &dial->timer);
    dial->timer.data = dial;
    link->dial = dial;
    error = link->path != NULL ? dial_path(dial, link->path)
                               : dial_resolve(dial, link->host, link->port);
    if (error != 0)
        dial_end(dial, NULL, error);
}
