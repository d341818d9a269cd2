/* SPDX-License-Identifier: MIT */

/* Streams of the real world that its loop lends to those who wait. */

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/gate.h"
#include "support/pair.h"
#include "support/reader.h"
#include "support/wait.h"

enum { DEADLINE_MS = 10000 };

#define MS UINT64_C(1000000)

/* Of a stream through a unix socket, which is lent to it. */
static void borrow(reader *r, pair *p)
{
    pair_connect(p, pair_listen_unix(p));
    *r = reader_of(p);
    reader_borrows(r);
}

PAIR_TEST(a_borrower_reads_in_the_place_of_the_loop)
{
    reader r;

    pair_connect(p, pair_listen_unix(p));
    r = reader_of(p);
    while (!reader_reads(&r, "hello"))
        ;
    assert_int_equal(r.size, 5);
    assert_memory_equal(r.bytes, "hello", 5);
}

PAIR_TEST(only_what_is_lent_can_be_borrowed_and_once)
{
    reader one, other;

    pair_connect(p, pair_listen_unix(p));
    one = reader_of(p);
    other = reader_of(p);
    assert_false(reader_borrow(&one));
    reader_borrows(&one);
    assert_false(reader_borrow(&other));
    reader_return(&one);
}

/* ---- how a read ends -------------------------------------------------------- */

/* While the loop does nothing, so that it takes nothing back. */
PAIR_TEST(an_unpark_ends_a_read_asleep_or_not)
{
    pair_connect(p, pair_listen_unix(p));
    for (int i = 0; i < 20; i++) {
        reader r = reader_of(p);
        gate g;

        reader_borrows(&r);
        gate_close(&g, &p->w);
        r.until = reader_class(p)->now(p->w.world) + DEADLINE_MS * MS;
        if (i % 2 == 0)
            assert_false(reader_unpark(&r));
        reader_start(&r);
        if (i % 2 != 0) {
            assert_true(wait_until(reader_sleeps, &r, DEADLINE_MS));
            assert_true(reader_unpark(&r));
        }
        reader_join(&r);
        assert_int_equal(r.size, 0);
        assert_true(reader_class(p)->now(p->w.world) < r.until);
        gate_open(&g);
        assert_true(witness_turn(&p->w)); /* it has left the gate */
    }
}

PAIR_TEST(an_unpark_is_for_one_read_alone)
{
    reader r;

    pair_connect(p, pair_listen_unix(p));
    do {
        r = reader_of(p);
        reader_borrows(&r);
        (void)reader_unpark(&r);
        reader_return(&r);
        r = reader_of(p);
    } while (!reader_reads(&r, "hello"));
    assert_int_equal(r.size, 5);
}

PAIR_TEST(a_read_ends_at_its_time)
{
    reader r;
    gate g;

    borrow(&r, p);
    gate_close(&g, &p->w);
    r.until = reader_class(p)->now(p->w.world) + 20 * MS;
    reader_await(&r);
    assert_int_equal(r.size, 0);
    reader_return(&r);
    gate_open(&g);
    assert_true(witness_turn(&p->w)); /* it has left the gate */
}

PAIR_TEST(the_end_of_a_stream_ends_a_read_and_is_told)
{
    reader r;

    borrow(&r, p);
    reader_start(&r);
    assert_int_equal(shutdown(p->peer, SHUT_WR), 0);
    reader_join(&r);
    assert_true(r.size <= 0);
    assert_true(witness_sees(&p->w, &p->link.ends, 1));
    assert_int_equal(p->link.end_error, 0);
}

/* Borrowed again and again, so that no tick takes it; it is never read. */
static bool is_ended(reader *r)
{
    if (reader_borrow(r))
        reader_return(r);
    return witness_count(&r->p->w, &r->p->link.ends) > 0;
}

PAIR_TEST(the_end_of_a_stream_that_nobody_reads_is_told)
{
    reader r;

    pair_connect(p, pair_listen_tcp(p, "127.0.0.1"));
    r = reader_of(p);
    reader_borrows(&r);
    reader_return(&r);
    assert_int_equal(write(p->peer, "bye", 3), 3);
    assert_int_equal(shutdown(p->peer, SHUT_WR), 0);
    assert_soon(is_ended(&r), DEADLINE_MS);
    assert_int_equal(p->link.end_error, 0);
}

PAIR_TEST(a_reset_that_a_reader_meets_is_told)
{
    const struct linger at_once = {.l_onoff = 1};
    reader r;

    pair_connect(p, pair_listen_tcp(p, "127.0.0.1"));
    r = reader_of(p);
    reader_borrows(&r);
    reader_start(&r);
    (void)setsockopt(p->peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(p->peer);
    p->peer = -1;
    reader_join(&r);
    assert_true(witness_sees(&p->w, &p->link.ends, 1));
    assert_int_equal(p->link.end_error, -ECONNRESET);
}

static bool peer_is_told(pair *p)
{
    char byte;

    return read(p->peer, &byte, 1) == 0;
}

/* Its reader comes to return it when it is run again, perhaps never. */
PAIR_TEST(a_closed_stream_is_kept_for_its_reader_and_its_end_is_not)
{
    reader r;

    borrow(&r, p);
    witness_close(&p->link);
    assert_soon(peer_is_told(p), DEADLINE_MS);
    assert_true(wait_until(reader_is_waited_for, &r, DEADLINE_MS));
    reader_await(&r);
    assert_int_equal(r.size, 0);
    reader_return(&r);
    assert_true(witness_turn(&p->w));
    assert_int_equal(p->link.ends, 0);
}

/* The loop has taken the stream from a reader that cannot return it yet. */
PAIR_TEST(a_closed_stream_is_kept_for_one_that_lost_it)
{
    reader r;

    borrow(&r, p);
    assert_true(wait_until(reader_lost, &r, DEADLINE_MS));
    witness_close(&p->link);
    assert_true(wait_until(reader_is_waited_for, &r, DEADLINE_MS));
    reader_await(&r);
    assert_int_equal(r.size, 0);
    reader_return(&r);
}

PAIR_TEST(a_close_ends_a_read_that_sleeps)
{
    reader r;

    borrow(&r, p);
    reader_start(&r);
    witness_close(&p->link);
    reader_join(&r);
    assert_true(r.size <= 0);
}

/* ---- how the loop has it back ------------------------------------------------- */

PAIR_TEST(what_nobody_borrows_is_soon_read_by_the_loop)
{
    pair_connect(p, pair_listen_unix(p));
    reader_lend(p);
    assert_int_equal(write(p->peer, "y", 1), 1);
    assert_true(witness_has_received(&p->link, 2));
}

static bool is_over(reader *r)
{
    bool over;

    reader_enter(r->p);
    over = r->over;
    reader_leave(r->p);
    return over;
}

PAIR_TEST(a_reader_that_sleeps_long_loses_it_to_the_loop)
{
    reader r;

    borrow(&r, p);
    reader_start(&r);
    assert_soon(is_over(&r), DEADLINE_MS);
    reader_join(&r);
    assert_int_equal(r.size, 0);
    assert_false(reader_borrow(&r));
    reader_lend(p); /* the loop reads the byte for that */
}

/* Borrowed again and again, so that no tick takes it. */
static bool is_back(reader *r)
{
    if (!reader_borrow(r))
        return true;
    reader_return(r);
    reader_enter(r->p);
    reader_class(r->p)->link_want(r->link);
    reader_leave(r->p);
    return false;
}

PAIR_TEST(a_wanted_stream_is_read_by_the_loop)
{
    reader r;

    borrow(&r, p);
    reader_return(&r);
    assert_int_equal(write(p->peer, "y", 1), 1);
    assert_soon(is_back(&r), DEADLINE_MS);
    assert_true(witness_has_received(&p->link, 2));
}

/* Takes what there is, until the stream takes bytes again. */
static bool is_drained(void *data)
{
    static char bytes[64 * 1024];
    pair *p = data;

    while (read(p->peer, bytes, sizeof(bytes)) > 0)
        ;
    return witness_count(&p->w, &p->link.writables) > 0;
}

static void send_until_short(pair *p)
{
    static char block[64 * 1024];
    ssize_t size;

    do
        size = witness_send(&p->link, block, sizeof(block));
    while (size == (ssize_t)sizeof(block));
    assert_true(size >= 0);
}

PAIR_TEST(a_short_send_beside_a_reader_comes_writable)
{
    reader r;

    borrow(&r, p);
    reader_start(&r);
    send_until_short(p);
    assert_true(wait_until(is_drained, p, DEADLINE_MS));
    reader_join(&r);
}

/* A thread may be stopped anywhere outside the mutex, for ever. */
PAIR_TEST(a_reader_that_is_stopped_before_it_sleeps_keeps_nothing)
{
    reader r;

    borrow(&r, p);
    send_until_short(p);
    assert_true(wait_until(is_drained, p, DEADLINE_MS));
    assert_int_equal(write(p->peer, "hello", 5), 5);
    assert_true(witness_has_received(&p->link, 5));
    assert_false(reader_sleep(&r));
    reader_return(&r);
}

PAIR_TEST(a_reader_that_is_stopped_after_its_sleep_keeps_nothing)
{
    uint64_t before;
    reader r;
    gate g;

    borrow(&r, p);
    before = p->link.received;
    gate_close(&g, &p->w);
    assert_int_equal(write(p->peer, "hello", 5), 5);
    (void)reader_sleep(&r); /* false: the gate was slower than two ticks */
    gate_open(&g);
    assert_true(witness_has_received(&p->link, before + 5));
    gate_close(&g, &p->w);
    assert_int_equal(write(p->peer, "again", 5), 5);
    reader_take(&r);
    assert_int_equal(r.size, 0);
    reader_return(&r);
    gate_open(&g);
    assert_true(witness_has_received(&p->link, before + 10));
}

/* ---- all at once ---------------------------------------------------------------- */

enum { READERS = 4, TOTAL = 400000 };

typedef struct crowd {
    pair *p;
    pthread_t readers[READERS];
    uint64_t borrows; /* guarded by the witness's mutex */
} crowd;

static bool crowd_is_over(crowd *c)
{
    return c->p->link.received >= TOTAL;
}

/* As the core does: what was read is taken before the stream is returned. */
static void crowd_read(crowd *c)
{
    pair *p = c->p;
    const lk__world_class *class = reader_class(p);
    lk__parking parking;
    const char *bytes = NULL;
    uint64_t until;
    bool has_bytes;
    ssize_t size;

    class->parking_init(p->w.world, &parking);
    reader_enter(p);
    if (!class->link_borrow(p->link.link, &parking)) {
        reader_leave(p);
        return;
    }
    c->borrows++;
    reader_leave(p);
    until = class->now(p->w.world) + MS;
    has_bytes = class->link_await(p->link.link, until);
    reader_enter(p);
    size = has_bytes ? class->link_read(p->link.link, &bytes) : 0;
    if (size > 0) {
        p->link.sum =
            witness_sum(p->link.sum, p->link.received, bytes, (size_t)size);
        p->link.received += (uint64_t)size;
    }
    class->link_return(p->link.link, &parking);
    class->link_want(p->link.link);
    reader_leave(p);
}

static void *crowd_main(void *data)
{
    crowd *c = data;
    bool over;

    do {
        crowd_read(c);
        reader_enter(c->p);
        over = crowd_is_over(c);
        reader_leave(c->p);
    } while (!over);
    return NULL;
}

/* Writes the pattern in pieces, each when the one before has been taken. */
static uint64_t crowd_feed(pair *p)
{
    char bytes[251];
    uint64_t sent = 0, sum = 0;

    while (sent < TOTAL) {
        size_t most = 1 + sent % sizeof(bytes);
        size_t size = TOTAL - sent < most ? TOTAL - sent : most;
        ssize_t got;

        for (size_t i = 0; i < size; i++)
            bytes[i] = (char)((sent + i) % 251);
        do
            got = write(p->peer, bytes, size);
        while (got < 0 && errno == EAGAIN);
        assert_true(got > 0);
        sum = witness_sum(sum, sent, bytes, (size_t)got);
        sent += (uint64_t)got;
    }
    return sum;
}

PAIR_TEST(loop_and_readers_take_every_byte_once_and_in_order)
{
    crowd c = {.p = p};
    uint64_t sum;

    pair_connect(p, pair_listen_unix(p));
    pair_lends(p, true);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&c.readers[i], NULL, crowd_main, &c),
                         0);
    sum = crowd_feed(p);
    for (int i = 0; i < READERS; i++)
        (void)pthread_join(c.readers[i], NULL);
    assert_int_equal(p->link.received, TOTAL);
    assert_int_equal(p->link.sum, sum);
    assert_true(c.borrows > 0);
}
