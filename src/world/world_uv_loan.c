/* SPDX-License-Identifier: MIT */

/*
 * Streams that callers read. The loop lends a stream: it watches the socket for
 * its end alone, and from then on a caller that waits for an answer borrows the
 * stream, sleeps on the socket, and reads. The turn says whose it is to read:
 *
 *            lend              borrow
 *   LOOPS ----------> NOBODYS --------> CALLERS
 *     ^                 |  ^  <--------   |
 *     +-----------------+       return    |
 *     ^  recall                           |
 *     +-----------------------------------+
 *
 * The loop takes a stream back when it has something to do with it, when an
 * answer is awaited that no caller reads (LK__UV_TAKE), and at a tick of its
 * clock when nobody has borrowed it since the tick before. It waits for nobody:
 * a caller outside the client's mutex has no bytes in its hands. It receives
 * under the client's mutex, and under the world's so that its turn cannot end
 * meanwhile. What the loop then receives, it delivers after it.
 *
 * With TLS the caller has the stream's mutex from before it receives until all
 * is decrypted, and the loop gets it only then: so OpenSSL is handed what came in
 * the order in which it came. The loop lends nothing of which it has something in
 * its hands.
 *
 * A caller of whom the stream was taken still uses the link until it returns it.
 * Until then it is not lent to another, and not freed.
 *
 * The socket stays in the loop's set, since libuv ends the process if it cannot
 * put one there. Only the loop changes what it watches. model/reader.pml is this
 * file for Spin.
 *
 * A child of fork() has the eventfd too, as it has libuv's descriptors; no call
 * comes so far in it.
 */

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "world/world_uv.h"

enum { TICK_MS = 10 };

#define NS_PER_S UINT64_C(1000000000)

static void lock(lk__link *link)
{
    (void)pthread_mutex_lock(&link->world->mutex);
}

static void unlock(lk__link *link)
{
    (void)pthread_mutex_unlock(&link->world->mutex);
}

static lk__uv_turn turn_of(const lk__link *link)
{
    return (lk__uv_turn)atomic_load(&link->loan.turn);
}

static void turn_set(lk__link *link, lk__uv_turn turn)
{
    atomic_store(&link->loan.turn, (int)turn);
}

bool lk__uv_is_lent(const lk__link *link)
{
    return turn_of(link) != LK__UV_LOOPS;
}

void lk__uv_loan_init(lk__link *link)
{
    atomic_init(&link->loan.turn, LK__UV_LOOPS);
    link->loan.wake_fd = -1;
}

void lk__uv_loan_free(lk__link *link)
{
    assert(!link->loan.borrowed);
    if (link->loan.wake_fd >= 0)
        (void)close(link->loan.wake_fd);
    lk__free(link->loan.bytes);
}

/* ---- the loop's side ----------------------------------------------------- */

/* Under the mutex. One that is awake sees it before it sleeps again. */
static void wake(lk__uv_loan *loan)
{
    static const uint64_t one = 1;
    ssize_t size;

    loan->woken = true;
    if (!loan->asleep || loan->rung)
        return;
    loan->rung = true;
    do
        size = write(loan->wake_fd, &one, sizeof(one));
    while (size < 0 && errno == EINTR);
}

/* Under the mutex. */
static void turn_take_back(lk__link *link)
{
    if (turn_of(link) == LK__UV_CALLERS)
        wake(&link->loan);
    turn_set(link, LK__UV_LOOPS);
}

unsigned lk__uv_loan_recall(lk__link *link, unsigned work)
{
    bool was_lent, closes_later;

    lock(link);
    was_lent = lk__uv_is_lent(link);
    if (work == LK__UV_TAKE && turn_of(link) != LK__UV_NOBODYS)
        was_lent = false;
    else
        turn_take_back(link);
    closes_later = (work & LK__UV_CLOSE) && link->loan.borrowed;
    if (closes_later)
        link->loan.closes = true;
    unlock(link);
    if (closes_later) {
        (void)uv_poll_stop(&link->socket->poll); /* it has ended for all */
        return 0;
    }
    if (was_lent && lk__uv_link_listens(link))
        lk__uv_link_listen(link);
    return work & ~(unsigned)LK__UV_TAKE;
}

/* At a tick. Tells whether it is still lent. */
static bool loan_look(lk__link *link)
{
    bool is_idle;

    lock(link);
    is_idle = link->loan.seen == link->loan.uses;
    link->loan.seen = link->loan.uses;
    if (is_idle)
        turn_take_back(link);
    unlock(link);
    if (is_idle && lk__uv_link_listens(link))
        lk__uv_link_listen(link);
    return !is_idle;
}

/* Only the loop takes links away, and others add them in front. */
static void on_tick(uv_timer_t *timer)
{
    lk__uv_world *world = timer->data;
    bool any = false;
    lk__link *link;

    (void)pthread_mutex_lock(&world->mutex);
    link = world->links;
    (void)pthread_mutex_unlock(&world->mutex);
    for (; link != NULL; link = link->next) {
        if (lk__uv_is_lent(link) && loan_look(link))
            any = true;
    }
    if (!any)
        (void)uv_timer_stop(timer);
}

static bool is_equipped(lk__link *link)
{
    lk__uv_loan *loan = &link->loan;

    if (loan->bytes == NULL)
        loan->bytes = lk__alloc(link->tls != NULL ? LK__UV_TLS_READ_BYTES
                                                  : LK__UV_READ_BYTES);
    if (loan->wake_fd < 0)
        loan->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return loan->bytes != NULL && loan->wake_fd >= 0;
}

static bool can_lend(lk__link *link)
{
    return lk__uv_link_listens(link) && atomic_load(&link->error) == 0 &&
           !link->loan.borrowed && turn_of(link) == LK__UV_LOOPS &&
           (link->tls == NULL || lk__uv_tls_is_idle(link)) && is_equipped(link);
}

void lk__uv_link_lend(lk__link *link)
{
    lk__uv_world *world = link->world;

    if (!can_lend(link))
        return;
    lk__uv_link_watch(link);
    lock(link);
    turn_set(link, LK__UV_NOBODYS);
    link->loan.seen = link->loan.uses;
    unlock(link);
    if (!uv_is_active((const uv_handle_t *)&world->tick))
        (void)uv_timer_start(&world->tick, on_tick, TICK_MS, TICK_MS);
}

/* ---- the callers' side --------------------------------------------------- */

void lk__uv_loan_wake(lk__link *link)
{
    lock(link);
    wake(&link->loan);
    unlock(link);
}

/* While the client's mutex is held, nobody's turn can only become the loop's. */
void lk__uv_link_want(lk__link *link)
{
    if (turn_of(link) == LK__UV_NOBODYS)
        lk__uv_link_work(link, LK__UV_TAKE);
}

bool lk__uv_link_borrow(lk__link *link, lk__parking *parking)
{
    lk__uv_loan *loan = &link->loan;
    bool is_free;

    if (turn_of(link) != LK__UV_NOBODYS)
        return false;
    lock(link);
    is_free = turn_of(link) == LK__UV_NOBODYS;
    if (is_free) {
        turn_set(link, LK__UV_CALLERS);
        loan->borrowed = true;
        loan->woken = false;
        loan->uses++;
        parking->reads = link;
    }
    unlock(link);
    return is_free;
}

/* False: there is something else to do. */
static bool may_sleep(lk__link *link)
{
    bool asleep;

    lock(link);
    asleep = link->loan.asleep = !link->loan.woken;
    unlock(link);
    return asleep;
}

/* Sleeps for a second at most. True: the socket has something to read. */
static bool socket_sleep(lk__link *link, uint64_t left)
{
    struct pollfd fds[2] = {
        {.fd = atomic_load(&link->fd), .events = POLLIN},
        {.fd = link->loan.wake_fd, .events = POLLIN},
    };
    struct timespec limit = {.tv_sec = 1};

    if (left < NS_PER_S)
        limit = (struct timespec){.tv_nsec = (long)left};
    return ppoll(fds, 2, &limit, NULL) > 0 && fds[0].revents != 0;
}

bool lk__uv_link_await(lk__link *link, uint64_t until)
{
    lk__world *world = &link->world->base;
    uint64_t now;

    while ((now = world->class->now(world)) < until && may_sleep(link)) {
        if (socket_sleep(link, until - now))
            return true;
    }
    return false;
}

ssize_t lk__uv_loan_receive(lk__link *link, size_t size)
{
    ssize_t got = -1;

    lock(link);
    link->loan.asleep = false;
    errno = EAGAIN;
    if (turn_of(link) == LK__UV_CALLERS)
        got = recv(atomic_load(&link->fd), link->loan.bytes, size, 0);
    unlock(link);
    return got < 0 ? -errno : got;
}

static ssize_t plain_read(lk__link *link, const char **ret_bytes)
{
    *ret_bytes = link->loan.bytes;
    return lk__uv_loan_receive(link, LK__UV_READ_BYTES);
}

ssize_t lk__uv_link_read(lk__link *link, const char **ret_bytes)
{
    ssize_t size = link->tls != NULL ? lk__uv_tls_read(link, ret_bytes)
                                     : plain_read(link, ret_bytes);
    int error = size < 0 ? (int)size : 0, known = 0;

    if (size > 0 || error == -EAGAIN || error == -EINTR)
        return size > 0 ? size : 0;
    if (error != 0)
        (void)atomic_compare_exchange_strong(&link->error, &known, error);
    lk__uv_link_work(link, LK__UV_FAIL); /* the loop meets the end as well */
    return error != 0 ? error : -EPIPE;
}

void lk__uv_link_return(lk__link *link, lk__parking *parking)
{
    lk__uv_loan *loan = &link->loan;
    uint64_t count;
    bool closes;

    parking->reads = NULL;
    lock(link);
    if (turn_of(link) == LK__UV_CALLERS)
        turn_set(link, LK__UV_NOBODYS);
    if (loan->rung)
        (void)!read(loan->wake_fd, &count, sizeof(count));
    loan->rung = false;
    loan->asleep = false;
    loan->borrowed = false;
    closes = loan->closes;
    unlock(link);
    if (closes)
        lk__uv_link_work(link, LK__UV_CLOSE);
}
