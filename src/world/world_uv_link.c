/* SPDX-License-Identifier: MIT */

/*
 * Streams of the real world. Bytes are sent by whoever has them, received by
 * the loop, or by a caller that it lends the stream to (world_uv_loan.c). What
 * only the loop may do, others leave in the link's work.
 *
 * The owner's thread and the loop meet in three fields. error: whoever first
 * finds the stream broken writes why. closed: the owner has given the link
 * back, and only the loop still has it. fd: stays open, even when the stream
 * has ended, until the loop sees closed; so a send never meets a descriptor
 * that has become another file's.
 */

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "world/world_uv.h"

/* Receives per event, so that one busy stream does not starve the others. */
enum { RECEIVES_MAX = 4 };

/* ---- sockets ------------------------------------------------------------ */

static void socket_on_closed(uv_handle_t *handle)
{
    lk__free(handle->data);
}

int lk__uv_socket_new(lk__uv_socket **ret_socket, lk__uv_world *world,
                      int family)
{
    lk__uv_socket *socket = lk__alloc(sizeof(*socket));
    int error;

    if (socket == NULL)
        return -ENOMEM;
    error = lk__fork_socket(&socket->entry, family);
    if (error == 0)
        error = uv_poll_init(&world->loop, &socket->poll, socket->entry.fd);
    if (error != 0) {
        lk__fork_close(&socket->entry);
        lk__free(socket);
        return error;
    }
    socket->poll.data = socket;
    *ret_socket = socket;
    return 0;
}

void lk__uv_socket_free(lk__uv_socket *socket)
{
    uv_close((uv_handle_t *)&socket->poll, socket_on_closed);
    lk__fork_close(&socket->entry);
}

/* ---- work for the loop -------------------------------------------------- */

void lk__uv_link_work(lk__link *link, unsigned work)
{
    lk__uv_world *world = link->world;

    (void)pthread_mutex_lock(&world->mutex);
    if (link->work == 0) {
        link->next_work = NULL;
        *world->last_work = link;
        world->last_work = &link->next_work;
    }
    link->work |= work;
    (void)pthread_mutex_unlock(&world->mutex);
    (void)uv_async_send(&world->async);
}

/* ---- events ------------------------------------------------------------- */

bool lk__uv_link_listens(const lk__link *link)
{
    return link->socket != NULL && !link->ended && !atomic_load(&link->closed);
}

void lk__uv_link_end(lk__link *link, int error)
{
    lk__uv_world *world = link->world;
    int known = 0;

    /* From here on nothing is sent. What a sender saw says more than the end
       that the receiving side finds after it, but less than why the server
       refuses the client. */
    if (!atomic_compare_exchange_strong(&link->error, &known,
                                        error != 0 ? error : -EPIPE) &&
        error != -EKEYREJECTED)
        error = known;
    link->ended = true;
    (void)uv_poll_stop(&link->socket->poll);
    if (link->greeting)
        world->events->on_open(world->user, link->tag, link,
                               error != 0 ? error : -ECONNRESET);
    else
        world->events->on_end(world->user, link->tag, link, error);
}

static void bytes_take(lk__link *link, size_t size)
{
    lk__uv_world *world = link->world;

    if (link->tls != NULL)
        lk__uv_tls_take(link, world->bytes, size);
    else
        world->events->on_data(world->user, link->tag, link, world->bytes,
                               size);
}

/* So many bytes came: there are no more for now, or they are not the loop's. */
static bool is_last(const lk__link *link, size_t size)
{
    return size < sizeof(link->world->bytes) || lk__uv_is_lent(link);
}

/* Returns true if there was no more for now, or if the stream has ended or was
   lent. */
static bool link_receive(lk__link *link)
{
    lk__uv_world *world = link->world;
    ssize_t size;
    int i;

    for (i = 0; i < RECEIVES_MAX && lk__uv_link_listens(link); i++) {
        size =
            recv(link->socket->entry.fd, world->bytes, sizeof(world->bytes), 0);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 && errno == EAGAIN)
            return true;
        if (size <= 0) {
            lk__uv_link_end(link, size < 0 ? -errno : 0);
            return true;
        }
        bytes_take(link, (size_t)size);
        if (is_last(link, (size_t)size))
            return true;
    }
    return !lk__uv_link_listens(link);
}

/* The stream is broken. What had come before is still delivered. */
static void link_fail(lk__link *link)
{
    if (!link_receive(link))
        lk__uv_link_work(link, LK__UV_FAIL);
    else if (lk__uv_link_listens(link))
        lk__uv_link_end(link, atomic_load(&link->error));
}

/* Notes why it is broken. */
static void error_note(lk__link *link)
{
    socklen_t size = sizeof(int);
    int error = 0, known = 0;

    (void)getsockopt(link->socket->entry.fd, SOL_SOCKET, SO_ERROR, &error,
                     &size);
    (void)atomic_compare_exchange_strong(&link->error, &known,
                                         error != 0 ? -error : -ECONNRESET);
}

static void link_poll(lk__link *link, int events);

static void on_poll(uv_poll_t *handle, int status, int events)
{
    const lk__uv_socket *socket = handle->data;
    lk__link *link = socket->owner;

    lk__uv_up(link->world);
    /* libuv says "bad descriptor" for any POLLERR and polls no more. */
    if (status < 0)
        error_note(link);
    if (lk__uv_is_lent(link)) {
        (void)uv_poll_stop(handle); /* once is enough */
        lk__uv_link_work(link, LK__UV_FAIL);
        return;
    }
    if (status < 0) {
        link_fail(link);
        return;
    }
    if (events & UV_READABLE)
        (void)link_receive(link);
    /* What was received may have lent it, and it is watched for its end then. */
    if ((events & UV_WRITABLE) && lk__uv_link_listens(link) &&
        !lk__uv_is_lent(link)) {
        link_poll(link, UV_READABLE);
        if (link->tls == NULL || (lk__uv_tls_flush(link) && !link->greeting))
            link->world->events->on_writable(link->world->user, link->tag,
                                             link);
    }
}

static void link_poll(lk__link *link, int events)
{
    int known = 0;
    int error = uv_poll_start(&link->socket->poll, events, on_poll);

    if (error != 0) {
        (void)atomic_compare_exchange_strong(&link->error, &known, error);
        lk__uv_link_work(link, LK__UV_FAIL);
    }
}

void lk__uv_link_listen(lk__link *link)
{
    link_poll(link, UV_READABLE);
}

void lk__uv_link_watch(lk__link *link)
{
    link_poll(link, UV_DISCONNECT);
}

void lk__uv_link_opened(lk__link *link, lk__uv_socket *socket, int error)
{
    lk__uv_world *world = link->world;

    link->dial = NULL;
    link->socket = socket;
    link->ended = socket == NULL;
    atomic_store(&link->error, error);
    if (socket != NULL) {
        socket->owner = link;
        atomic_store(&link->fd, socket->entry.fd);
        link_poll(link, UV_READABLE);
    }
    if (socket != NULL && link->tls != NULL) {
        link->greeting = true;
        lk__uv_tls_begin(link);
        return;
    }
    if (!atomic_load(&link->closed))
        world->events->on_open(world->user, link->tag, link, error);
}

/* ---- work in the loop --------------------------------------------------- */

static void link_free(lk__link *link)
{
    lk__uv_world *world = link->world;

    lk__uv_dial_stop(link->dial);
    if (link->socket != NULL)
        lk__uv_socket_free(link->socket);
    (void)pthread_mutex_lock(&world->mutex);
    *link->link = link->next;
    if (link->next != NULL)
        link->next->link = link->link;
    (void)pthread_mutex_unlock(&world->mutex);
    lk__uv_loan_free(link);
    lk__uv_tls_free(link->tls);
    lk__free(link->path);
    lk__free(link->host);
    lk__free(link);
}

static void link_work(lk__link *link, unsigned work)
{
    if (work & LK__UV_CLOSE) {
        link_free(link);
        return;
    }
    if (work & LK__UV_OPEN)
        lk__uv_dial_start(link);
    if ((work & LK__UV_WRITE) && lk__uv_link_listens(link))
        link_poll(link, UV_READABLE | UV_WRITABLE);
    if ((work & LK__UV_FAIL) && lk__uv_link_listens(link))
        link_fail(link);
}

void lk__uv_links_work(lk__uv_world *world)
{
    lk__link *link, *next;
    unsigned work;

    (void)pthread_mutex_lock(&world->mutex);
    link = world->first_work;
    world->first_work = NULL;
    world->last_work = &world->first_work;
    (void)pthread_mutex_unlock(&world->mutex);
    /* A link whose work is taken may be queued again at once; one whose work
       is not yet taken only gets more of it. */
    while (link != NULL) {
        (void)pthread_mutex_lock(&world->mutex);
        next = link->next_work;
        work = link->work;
        link->work = 0;
        (void)pthread_mutex_unlock(&world->mutex);
        link_work(link, lk__uv_loan_recall(link, work));
        link = next;
    }
}

/* Only the loop takes links away, and others add them in front: so what comes
   behind one that was seen stays. */
void lk__uv_links_seal(lk__uv_world *world)
{
    lk__link *link;

    if (!world->seals)
        return;
    world->seals = false;
    (void)pthread_mutex_lock(&world->mutex);
    link = world->links;
    (void)pthread_mutex_unlock(&world->mutex);
    for (; link != NULL; link = link->next) {
        if (link->tls != NULL && !atomic_load(&link->closed))
            lk__uv_tls_seal(link);
    }
}

void lk__uv_links_free(lk__uv_world *world)
{
    while (world->links != NULL)
        link_free(world->links);
    world->first_work = NULL;
    world->last_work = &world->first_work;
}

/* ---- the owner's side --------------------------------------------------- */

/* Copies: the owner may drop the strings while the loop resolves them. TLS goes
   with it; a link that should have it is never made without. */
static bool address_copy(lk__link *link, const lk__address *address)
{
    const char *text = address->path != NULL ? address->path : address->host;
    char *copy;

    assert(text != NULL);
    copy = lk__strdup(text);
    *(address->path != NULL ? &link->path : &link->host) = copy;
    link->port = address->port;
    if (address->tls != NULL)
        link->tls = lk__uv_tls_new(address);
    return copy != NULL && (address->tls == NULL || link->tls != NULL);
}

lk__link *
lk__uv_link_open(lk__world *base, const lk__address *address, void *tag)
{
    lk__uv_world *world = (lk__uv_world *)base;
    lk__link *link = lk__alloc(sizeof(*link));

    if (link == NULL)
        return NULL;
    if (!address_copy(link, address)) {
        lk__uv_tls_free(link->tls);
        lk__free(link->path);
        lk__free(link->host);
        lk__free(link);
        return NULL;
    }
    link->world = world;
    link->tag = tag;
    atomic_init(&link->fd, -1);
    atomic_init(&link->error, -ENOTCONN);
    atomic_init(&link->closed, false);
    lk__uv_loan_init(link);

    (void)pthread_mutex_lock(&world->mutex);
    link->next = world->links;
    link->link = &world->links;
    if (link->next != NULL)
        link->next->link = &link->next;
    world->links = link;
    (void)pthread_mutex_unlock(&world->mutex);
    lk__uv_link_work(link, LK__UV_OPEN);
    return link;
}

ssize_t lk__uv_link_put(lk__link *link, const void *bytes, size_t size)
{
    ssize_t sent;
    int error, known = 0;

    do
        sent = send(atomic_load(&link->fd), bytes, size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN) {
        error = -errno;
        (void)atomic_compare_exchange_strong(&link->error, &known, error);
        lk__uv_link_work(link, LK__UV_FAIL);
        return error;
    }
    if (sent < 0)
        sent = 0;
    if ((size_t)sent < size)
        lk__uv_link_work(link, LK__UV_WRITE);
    return sent;
}

ssize_t lk__uv_link_send(lk__link *link, const void *bytes, size_t size)
{
    if (atomic_load(&link->error) != 0)
        return -EPIPE;
    return link->tls != NULL ? lk__uv_tls_send(link, bytes, size)
                             : lk__uv_link_put(link, bytes, size);
}

void lk__uv_link_close(lk__link *link)
{
    int fd = atomic_load(&link->fd);

    if (link->tls != NULL && atomic_load(&link->error) == 0)
        lk__uv_tls_seal(link);
    atomic_store(&link->closed, true);
    if (fd >= 0)
        (void)shutdown(fd, SHUT_RDWR);
    lk__uv_link_work(link, LK__UV_CLOSE);
}
