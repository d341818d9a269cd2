/* SPDX-License-Identifier: MIT */

/*
 * A stream of the real world that is encrypted. What comes is decrypted by the
 * loop, or by a caller that it lends the stream to, what goes is encrypted by
 * whoever sends it; a mutex keeps them apart, and is never held while the core is
 * called. What OpenSSL has to say to what it reads, whoever reads sends.
 *
 * on_open comes when the handshake is over, and until then nothing of the
 * core's is taken: there is no way past it. What was taken counts as sent: it
 * cannot be taken back, and goes out when the socket takes it.
 *
 * A server reads one record at a time, however many have come. So what the loop
 * sends is joined until it is about to wait, and becomes one record then.
 */

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/resp.h"
#include "world/tls.h"
#include "world/world_uv.h"

enum { TAKE_MAX = 256 * 1024 }; /* what is taken before it is sent */

struct lk__uv_tls {
    pthread_mutex_t mutex; /* guards the next three */
    lk__tls_session *session;
    lk__buffer waiting;            /* taken, and not encrypted yet */
    bool open;                     /* the core's bytes are taken */
    char bytes[LK__UV_TLS_RECORD]; /* the loop's: as they were decrypted */
};

lk__uv_tls *lk__uv_tls_new(const lk__address *address)
{
    lk__uv_tls *made = lk__alloc(sizeof(*made));

    if (made == NULL)
        return NULL;
    made->session =
        lk__tls_session_new(address->tls, address->host, address->port);
    if (made->session == NULL) {
        lk__free(made);
        return NULL;
    }
    (void)pthread_mutex_init(&made->mutex, NULL);
    return made;
}

void lk__uv_tls_free(lk__uv_tls *uv_tls)
{
    if (uv_tls == NULL)
        return;
    lk__tls_session_free(uv_tls->session);
    lk__buffer_done(&uv_tls->waiting);
    (void)pthread_mutex_destroy(&uv_tls->mutex);
    lk__free(uv_tls);
}

static void lock(lk__uv_tls *tls)
{
    (void)pthread_mutex_lock(&tls->mutex);
}

static void unlock(lk__uv_tls *tls)
{
    (void)pthread_mutex_unlock(&tls->mutex);
}

/* ---- sending ------------------------------------------------------------- */

/* Under the mutex, so that records leave in order. True: nothing is left. */
static bool flush(lk__link *link)
{
    const char *bytes;
    size_t size = lk__tls_pending(link->tls->session, &bytes);
    ssize_t sent = size > 0 ? lk__uv_link_put(link, bytes, size) : 0;

    if (sent > 0)
        lk__tls_sent(link->tls->session, (size_t)sent);
    return sent == (ssize_t)size;
}

bool lk__uv_tls_flush(lk__link *link)
{
    bool is_empty;

    lock(link->tls);
    is_empty = flush(link);
    unlock(link->tls);
    return is_empty;
}

/* The stream will end with an error, which is returned. */
static int broken(lk__link *link, int error)
{
    int known = 0;

    (void)atomic_compare_exchange_strong(&link->error, &known, error);
    lk__uv_link_work(link, LK__UV_FAIL);
    return error;
}

/* Under the mutex: what waits becomes a record and is sent. 0 or an error. */
static int seal(lk__link *link)
{
    lk__uv_tls *tls = link->tls;
    size_t size = lk__buffer_size(&tls->waiting);
    int error = 0;

    if (size > 0)
        error =
            lk__tls_write(tls->session, lk__buffer_bytes(&tls->waiting), size);
    lk__buffer_clear(&tls->waiting);
    (void)flush(link);
    return error == 0 ? 0 : broken(link, error);
}

void lk__uv_tls_seal(lk__link *link)
{
    lock(link->tls);
    if (link->tls->open)
        (void)seal(link);
    unlock(link->tls);
}

/* Under the mutex: how much was taken, or a negative error. */
static ssize_t take(lk__link *link, const void *bytes, size_t size)
{
    lk__uv_world *world = link->world;
    lk__uv_tls *tls = link->tls;
    size_t room = TAKE_MAX - lk__buffer_size(&tls->waiting);
    int error = 0;

    if (!tls->open)
        return -ENOTCONN;
    if (!flush(link))
        return 0;
    if (size > room)
        size = room;
    if (lk__buffer_append(&tls->waiting, bytes, size) != LK_OK)
        return broken(link, -ENOMEM);
    if (world->base.class->is_loop(&world->base))
        world->seals = true;
    else
        error = seal(link);
    return error == 0 ? (ssize_t)size : error;
}

ssize_t lk__uv_tls_send(lk__link *link, const void *bytes, size_t size)
{
    ssize_t sent;

    lock(link->tls);
    sent = take(link, bytes, size);
    unlock(link->tls);
    if (sent >= 0 && (size_t)sent < size)
        lk__uv_link_work(link, LK__UV_WRITE);
    return sent;
}

/* ---- receiving ----------------------------------------------------------- */

/* Goes on with the handshake. What it has to say is sent even if it failed. */
static void greet(lk__link *link)
{
    lk__uv_world *world = link->world;
    int error;

    lock(link->tls);
    error = lk__tls_handshake(link->tls->session);
    link->tls->open = error == 0;
    (void)flush(link);
    unlock(link->tls);
    if (error == -EAGAIN)
        return;
    if (error != 0) {
        lk__uv_link_end(link, error);
        return;
    }
    link->greeting = false;
    world->events->on_open(world->user, link->tag, link, 0);
}

void lk__uv_tls_begin(lk__link *link)
{
    if (lk__uv_link_listens(link))
        greet(link);
}

/* Delivers one record's bytes. False: there are no more for now. */
static bool deliver(lk__link *link)
{
    lk__uv_world *world = link->world;
    lk__uv_tls *tls = link->tls;
    ssize_t size;

    lock(tls);
    size = lk__tls_read(tls->session, tls->bytes, sizeof(tls->bytes));
    (void)flush(link);
    unlock(tls);
    if (size > 0)
        world->events->on_data(world->user, link->tag, link, tls->bytes,
                               (size_t)size);
    else if (size != -EAGAIN)
        lk__uv_link_end(link, (int)size);
    return size > 0;
}

void lk__uv_tls_take(lk__link *link, const char *bytes, size_t size)
{
    lock(link->tls);
    lk__tls_feed(link->tls->session, bytes, size);
    unlock(link->tls);
    if (link->greeting)
        greet(link);
    while (lk__uv_link_listens(link) && !link->greeting &&
           !lk__uv_is_lent(link) && deliver(link))
        ;
}

bool lk__uv_tls_is_idle(lk__link *link)
{
    lk__uv_tls *tls = link->tls;
    bool is_idle;

    lock(tls);
    is_idle =
        lk__tls_is_idle(tls->session) && lk__buffer_size(&tls->waiting) == 0;
    unlock(tls);
    return is_idle;
}

/* Under the mutex: decrypts what a borrower received. What came before an end
   goes first. */
static ssize_t decrypt(lk__link *link, char *bytes, size_t room)
{
    lk__tls_session *session = link->tls->session;
    size_t size = 0;
    ssize_t more;

    while ((more = lk__tls_read(session, bytes + size, room - size)) > 0)
        size += (size_t)more;
    (void)flush(link);
    if (size == 0)
        return more;
    if (more != -EAGAIN)
        (void)broken(link, (int)more);
    return (ssize_t)size;
}

ssize_t lk__uv_tls_read(lk__link *link, const char **ret_bytes)
{
    char *came = link->loan.bytes;
    char *bytes = came + LK__UV_TLS_CAME;
    ssize_t size;

    *ret_bytes = bytes;
    lock(link->tls);
    size = lk__uv_loan_receive(link, LK__UV_TLS_CAME);
    if (size > 0) {
        lk__tls_feed(link->tls->session, came, (size_t)size);
        size = decrypt(link, bytes, LK__UV_TLS_READ_BYTES - LK__UV_TLS_CAME);
    }
    unlock(link->tls);
    return size;
}

/* ---- words --------------------------------------------------------------- */

void lk__uv_link_words(lk__link *link, char *words, size_t size)
{
    words[0] = '\0';
    if (link->tls == NULL || link->socket == NULL)
        return;
    lock(link->tls);
    lk__tls_words(link->tls->session, words, size);
    unlock(link->tls);
    if (words[0] != '\0' || !link->greeting)
        return;
    (void)snprintf(words, size, "%s",
                   link->ended ? "the connection ended in the TLS handshake"
                               : "the TLS handshake is not answered; perhaps "
                                 "the port is a plain one: redis://");
}
