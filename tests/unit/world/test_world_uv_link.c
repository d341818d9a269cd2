/* SPDX-License-Identifier: MIT */

/* The real world's streams, against small servers in the test. */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/descriptors.h"
#include "support/gate.h"
#include "support/pair.h"
#include "support/wait.h"

enum { DEADLINE_MS = 10000, FLOOD_BYTES = 4 * 1024 * 1024 };

/* ---- life of a stream --------------------------------------------------- */

PAIR_TEST(a_unix_socket_carries_bytes_both_ways)
{
    pair_connect(p, pair_listen_unix(p));
    assert_pair_talks(p);
    assert_int_equal(witness_count(&p->w, &p->w.wakes), 0);
}

PAIR_TEST(a_tcp_socket_carries_bytes_both_ways)
{
    pair_connect(p, pair_listen_tcp(p, "127.0.0.1"));
    assert_pair_talks(p);
}

PAIR_TEST(the_strings_of_an_address_are_needed_only_for_the_call)
{
    lk__address address = pair_listen_unix(p);
    char path[sizeof(p->path)];

    memcpy(path, p->path, sizeof(path));
    address.path = path;
    assert_true(witness_open(&p->w, &p->link, &address));
    memset(path, 'x', sizeof(path));
    assert_true(pair_is_open(p));
}

PAIR_TEST(an_orderly_end_is_no_error)
{
    pair_connect(p, pair_listen_tcp(p, "127.0.0.1"));
    assert_int_equal(write(p->peer, "bye", 3), 3);
    assert_int_equal(shutdown(p->peer, SHUT_WR), 0);
    assert_true(witness_sees(&p->w, &p->link.ends, 1));
    assert_int_equal(p->link.end_error, 0);
    assert_int_equal(p->link.received, 3);
    assert_int_equal(witness_send(&p->link, "x", 1), -EPIPE);
}

static void reset_peer(pair *p)
{
    const struct linger at_once = {.l_onoff = 1};

    (void)setsockopt(p->peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(p->peer);
    p->peer = -1;
}

PAIR_TEST(a_reset_stream_says_so)
{
    pair_connect(p, pair_listen_tcp(p, "127.0.0.1"));
    reset_peer(p);
    assert_true(witness_sees(&p->w, &p->link.ends, 1));
    assert_int_equal(p->link.end_error, -ECONNRESET);
    assert_int_equal(witness_send(&p->link, "x", 1), -EPIPE);
    assert_true(witness_turn(&p->w));
    assert_int_equal(p->link.ends, 1);
}

PAIR_TEST(a_failed_send_ends_the_stream_after_its_last_bytes)
{
    gate g;

    pair_connect(p, pair_listen_unix(p));
    gate_close(&g, &p->w);
    assert_int_equal(write(p->peer, "-ERR max", 8), 8);
    assert_int_equal(close(p->peer), 0);
    p->peer = -1;
    assert_int_equal(witness_send(&p->link, "x", 1), -EPIPE);
    assert_int_equal(witness_send(&p->link, "x", 1), -EPIPE);
    gate_open(&g);
    assert_true(witness_sees(&p->w, &p->link.ends, 1));
    assert_int_equal(p->link.received, 8);
    assert_int_equal(p->link.end_error, -EPIPE);
}

PAIR_TEST(all_that_came_before_a_break_is_delivered)
{
    static const char block[64 * 1024];
    int want = 1024 * 1024;
    uint64_t written = 0;
    ssize_t size;
    gate g;

    pair_connect(p, pair_listen_unix(p));
    (void)setsockopt(p->peer, SOL_SOCKET, SO_SNDBUF, &want, sizeof(want));
    gate_close(&g, &p->w);
    /* Not read there, so that the peer's close is a reset. */
    assert_int_equal(witness_send(&p->link, "x", 1), 1);
    while ((size = write(p->peer, block, sizeof(block))) > 0)
        written += (uint64_t)size;
    (void)close(p->peer);
    p->peer = -1;
    gate_open(&g);
    assert_true(witness_sees(&p->w, &p->link.ends, 1));
    assert_int_equal(p->link.end_error, -ECONNRESET);
    assert_int_equal(p->link.received, written);
    /* More than the loop takes at a time, or this has shown nothing. */
    assert_true(written > 5 * sizeof(block));
}

/* ---- many bytes --------------------------------------------------------- */

/* Sends pattern bytes until the stream takes no more; returns how many. */
static size_t send_until_short(pair *p, size_t sent, size_t limit)
{
    static char block[16 * 1024];
    size_t i, size, want;
    ssize_t n;

    while (sent < limit) {
        want = limit - sent < sizeof(block) ? limit - sent : sizeof(block);
        for (i = 0; i < want; i++)
            block[i] = (char)((sent + i) % 251);
        n = witness_send(&p->link, block, want);
        assert_true(n >= 0);
        size = (size_t)n;
        sent += size;
        if (size < want)
            return sent;
    }
    return sent;
}

/* Reads pattern bytes until there are none for now; returns how many. */
static size_t read_pattern(int peer, size_t got)
{
    char block[16 * 1024];
    ssize_t n, i;

    while ((n = read(peer, block, sizeof(block))) > 0)
        for (i = 0; i < n; i++, got++)
            if (block[i] != (char)(got % 251))
                fail_msg("byte %zu is wrong", got);
    return got;
}

PAIR_TEST(after_a_short_send_comes_writable)
{
    size_t sent = 0, got = 0;
    int times = 0;

    pair_connect(p, pair_listen_unix(p));
    for (;;) {
        sent = send_until_short(p, sent, FLOOD_BYTES);
        if (sent == FLOOD_BYTES)
            break;
        assert_int_equal(witness_count(&p->w, &p->link.writables), times);
        got = read_pattern(p->peer, got);
        assert_true(witness_sees(&p->w, &p->link.writables, ++times));
    }
    while (got < FLOOD_BYTES && pair_is_readable(p->peer))
        got = read_pattern(p->peer, got);
    assert_int_equal(got, FLOOD_BYTES);
    assert_true(times > 2);
    assert_true(witness_turn(&p->w));
    assert_int_equal(p->link.writables, times);
}

/* A server that writes without end until its stream breaks. */
static void *flood(void *data)
{
    static const char block[8192];
    const int *peer = data;
    struct pollfd set = {.fd = *peer, .events = POLLOUT};

    while (poll(&set, 1, (int)wait_scaled_ms(DEADLINE_MS)) == 1)
        if (send(*peer, block, sizeof(block), MSG_NOSIGNAL) < 0 &&
            errno != EAGAIN)
            break;
    return NULL;
}

PAIR_TEST(no_event_begins_after_a_close_amid_data)
{
    lk__address address = pair_listen_unix(p);
    pthread_t thread;
    int round, strays;

    for (round = 0; round < 20; round++) {
        pair_connect(p, address);
        assert_int_equal(pthread_create(&thread, NULL, flood, &p->peer), 0);
        assert_true(witness_has_received(&p->link, 100000));
        witness_close(&p->link);
        assert_true(witness_turn(&p->w));
        /* The event under way at the close, if any, is over. */
        strays = p->link.strays;
        assert_in_range(strays, 0, 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(witness_turn(&p->w));
        assert_int_equal(p->link.strays, strays);
        assert_int_equal(p->link.ends, 0);
        (void)close(p->peer);
    }
    p->peer = -1;
}

/* A stream that is never empty: each of its events sends more. */
typedef struct spring {
    const witness_link *busy;
    int peer, other_peer;
    int events;       /* of the busy stream */
    int events_until; /* the other one had its first */
} spring;

static void flow_on(witness *w, witness_link *link)
{
    static const char block[128 * 1024];
    spring *s = w->data;

    if (link != s->busy && s->events_until == 0)
        s->events_until = s->events;
    if (link != s->busy || s->events_until > 0 || s->events++ > 1000)
        return;
    (void)send(s->peer, block, sizeof(block), MSG_NOSIGNAL);
    if (s->events == 3)
        (void)send(s->other_peer, "hello", 5, MSG_NOSIGNAL);
}

PAIR_TEST(a_busy_stream_does_not_starve_another)
{
    lk__address address = pair_listen_unix(p);
    spring s = {.busy = &p->link};
    witness_link other;

    pair_connect(p, address);
    s.peer = p->peer;
    assert_true(witness_open(&p->w, &other, &address));
    assert_true(witness_sees(&p->w, &other.opens, 1));
    p->peer = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
    s.other_peer = p->peer;
    witness_hook(&p->w, flow_on, &s);
    assert_int_equal(write(s.peer, "x", 1), 1);
    assert_true(witness_has_received(&other, 5));
    witness_close(&p->link);
    assert_true(witness_turn(&p->w));
    assert_in_range(s.events_until, 3, 20);
    (void)close(s.peer);
}

/* ---- closing ------------------------------------------------------------ */

PAIR_TEST(a_close_reaches_the_peer_though_the_loop_is_busy)
{
    int before = descriptors_count();
    gate g;
    char byte;

    pair_connect(p, pair_listen_tcp(p, "127.0.0.1"));
    gate_close(&g, &p->w);
    witness_close(&p->link);
    assert_true(pair_is_readable(p->peer));
    assert_int_equal(read(p->peer, &byte, 1), 0);
    gate_open(&g);
    /* What is left is the listener and the peer. */
    assert_true(descriptors_fall_to(before + 2));
}

static void close_own_link(witness *w, witness_link *link)
{
    (void)w;
    if (link != NULL && link->link != NULL)
        witness_close(link);
}

PAIR_TEST(an_event_may_close_its_own_link)
{
    char byte;

    pair_connect(p, pair_listen_unix(p));
    assert_true(witness_turn(&p->w));
    witness_hook(&p->w, close_own_link, NULL);
    assert_int_equal(write(p->peer, "x", 1), 1);
    assert_true(pair_is_readable(p->peer));
    assert_int_equal(read(p->peer, &byte, 1), 0);
    assert_true(witness_turn(&p->w));
    assert_int_equal(p->link.strays, 1);
    assert_int_equal(p->link.ends, 0);
}

/* ---- fork --------------------------------------------------------------- */

/* Children end by SIGKILL: what the parent's threads had is no leak of theirs. */
static void await_killed(pid_t child)
{
    int status = 0;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

PAIR_TEST(a_child_does_not_have_the_stream)
{
    int *counted, inherited = descriptors_inherited();
    pid_t child;

    counted = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(counted != MAP_FAILED);
    *counted = -1;
    pair_connect(p, pair_listen_unix(p));
    assert_int_equal(descriptors_connected_to(p->path), 1);
    assert_int_equal(descriptors_inherited(), inherited);
    child = fork();
    if (child == 0) {
        *counted = descriptors_connected_to(p->path);
        (void)raise(SIGKILL);
    }
    await_killed(child);
    assert_int_equal(*counted, 0);
    (void)munmap(counted, sizeof(int));
}

PAIR_TEST(a_stream_lives_on_without_its_child)
{
    pid_t child;

    pair_connect(p, pair_listen_tcp(p, "127.0.0.1"));
    child = fork();
    if (child == 0)
        (void)raise(SIGKILL);
    await_killed(child);
    assert_pair_talks(p);
}
