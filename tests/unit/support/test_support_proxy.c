/* SPDX-License-Identifier: MIT */

/* The fault proxy: every fault does what it says, and to whom it says. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/peer.h"
#include "support/proxy.h"
#include "support/server.h"
#include "support/socket.h"
#include "support/wait.h"

enum { SOON_MS = 5000, QUIET_MS = 30 };

/* One server for all tests, and what each test has for itself. */
typedef struct fixture {
    server *server;
    proxy *proxy;
    int fds[4]; /* clients' sockets, closed by teardown; -1: none */
} fixture;

static int start_server(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    f->server = server_start(NULL);
    *state = f;
    return f->server != NULL ? 0 : -1;
}

static int stop_server(void **state)
{
    fixture *f = *state;

    server_stop(f->server);
    free(f);
    return 0;
}

static int setup_with(fixture *f, proxy *p)
{
    f->proxy = p;
    for (int i = 0; i < 4; i++)
        f->fds[i] = -1;
    return p != NULL ? 0 : -1;
}

static int setup(void **state)
{
    fixture *f = *state;

    server_flush(f->server);
    return setup_with(f, proxy_start(server_socket(f->server)));
}

static int setup_tcp(void **state)
{
    fixture *f = *state;

    server_flush(f->server);
    return setup_with(f, proxy_start_tcp(server_socket(f->server)));
}

static int teardown(void **state)
{
    fixture *f = *state;

    for (int i = 0; i < 4; i++)
        if (f->fds[i] >= 0)
            (void)close(f->fds[i]);
    proxy_stop(f->proxy);
    return 0;
}

/* ---- a client ---- */

static int try_dial(const fixture *f)
{
    return proxy_port(f->proxy) != 0
               ? peer_connect_tcp(proxy_port(f->proxy))
               : socket_connect_unix(proxy_socket(f->proxy));
}

/* Connects as connection n of the proxy and returns when that has it. */
static int dial(fixture *f, int n)
{
    f->fds[n] = try_dial(f);
    assert_true(f->fds[n] >= 0);
    assert_true(proxy_wait_accepted(f->proxy, n + 1, SOON_MS));
    return f->fds[n];
}

static void hang_up(fixture *f, int n)
{
    (void)close(f->fds[n]);
    f->fds[n] = -1;
}

/* ---- the server's side ---- */

/* How many connections the server has besides the one that asks. */
static int server_clients(server *s)
{
    char *list = server_string(s, "CLIENT LIST TYPE normal");
    int n = -1;

    for (const char *at = list; at != NULL; at = strstr(at + 1, "\nid="))
        n++;
    free(list);
    return n;
}

static bool has_no_clients(void *data)
{
    return server_clients(data) == 0;
}

static bool has_one_client(void *data)
{
    return server_clients(data) == 1;
}

static bool has_key(void *data)
{
    return server_integer(data, "EXISTS a") == 1;
}

/* ---- no fault ---- */

static void requests_and_replies_pass(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    peer_say(fd, "INCR a\r\n");
    peer_assert_hears(fd, ":1\r\n");
    assert_int_equal(proxy_received(f->proxy, 0, PROXY_REQUESTS), 8);
    assert_int_equal(proxy_delivered(f->proxy, PROXY_ALL, PROXY_REQUESTS), 8);
    assert_int_equal(proxy_delivered(f->proxy, 0, PROXY_REPLIES), 4);
    assert_int_equal(proxy_received(f->proxy, 1, PROXY_REPLIES), 0);
}

static void the_url_says_where_it_listens(void **state)
{
    fixture *f = *state;
    char expected[64];

    if (proxy_port(f->proxy) != 0)
        (void)snprintf(expected, sizeof(expected), "redis://127.0.0.1:%u",
                       proxy_port(f->proxy));
    else
        (void)snprintf(expected, sizeof(expected), "unix:%s",
                       proxy_socket(f->proxy));
    assert_string_equal(proxy_url(f->proxy), expected);
}

/* More than all buffers on the way hold, so each side must wait for another. */
static void many_bytes_pass_unharmed(void **state)
{
    enum { SIZE = 8 * 1024 * 1024 };
    fixture *f = *state;
    redisContext *redis = redisConnectUnix(proxy_socket(f->proxy));
    char *bytes = malloc(SIZE);
    redisReply *reply;

    assert_non_null(bytes);
    for (size_t i = 0; i < SIZE; i++)
        bytes[i] = (char)(i * i >> 7);
    reply = redisCommand(redis, "SET a %b", bytes, (size_t)SIZE);
    assert_non_null(reply);
    freeReplyObject(reply);
    reply = redisCommand(redis, "GET a");
    assert_non_null(reply);
    assert_int_equal(reply->len, SIZE);
    assert_memory_equal(reply->str, bytes, SIZE);
    freeReplyObject(reply);
    redisFree(redis);
    free(bytes);
}

static void the_end_of_a_client_reaches_the_server(void **state)
{
    fixture *f = *state;

    peer_say(dial(f, 0), "PING\r\n");
    assert_true(wait_until(has_one_client, f->server, SOON_MS));
    hang_up(f, 0);
    assert_true(wait_until(has_no_clients, f->server, SOON_MS));
    assert_true(proxy_wait_open(f->proxy, 0, SOON_MS));
    assert_int_equal(proxy_accepted(f->proxy), 1);
}

static void the_end_of_the_server_reaches_the_client(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    server_kill(f->server);
    peer_assert_over(fd);
    peer_assert_over(dial(f, 1)); /* nobody there */
    assert_true(server_restart(f->server));
    peer_say(dial(f, 2), "INCR a\r\n");
    peer_assert_hears(f->fds[2], ":1\r\n");
}

/* ---- delay ---- */

static uint64_t round_trip_ms(int fd)
{
    uint64_t start = wait_now_ms();

    peer_say(fd, "PING\r\n");
    peer_assert_hears(fd, "+PONG\r\n");
    return wait_now_ms() - start;
}

static void each_direction_can_be_delayed(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_delay(f->proxy, 0, PROXY_REQUESTS, 40);
    assert_true(round_trip_ms(fd) >= 39);
    proxy_delay(f->proxy, PROXY_ALL, PROXY_REPLIES, 50);
    assert_true(round_trip_ms(fd) >= 89);
    proxy_delay(f->proxy, 0, PROXY_REQUESTS, 0);
    assert_true(round_trip_ms(fd) >= 49);
}

static void delayed_bytes_can_be_let_through_and_no_others(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_delay(f->proxy, 0, PROXY_REQUESTS, 3600000);
    peer_say(fd, "PING\r\n");
    assert_true(proxy_wait_received(f->proxy, 0, PROXY_REQUESTS, 6, SOON_MS));
    proxy_hasten(f->proxy, 0, PROXY_REQUESTS);
    peer_assert_hears(fd, "+PONG\r\n");
    peer_say(fd, "PING\r\n");
    assert_true(proxy_wait_received(f->proxy, 0, PROXY_REQUESTS, 12, SOON_MS));
    assert_int_equal(proxy_delivered(f->proxy, 0, PROXY_REQUESTS), 6);
}

static void a_fault_is_for_the_connection_it_names(void **state)
{
    fixture *f = *state;

    proxy_swallow(f->proxy, 1, PROXY_REQUESTS);
    peer_say(dial(f, 0), "PING\r\n");
    peer_say(dial(f, 1), "PING\r\n");
    peer_say(dial(f, 2), "PING\r\n");
    peer_assert_hears(f->fds[0], "+PONG\r\n");
    peer_assert_hears(f->fds[2], "+PONG\r\n");
    assert_true(peer_is_quiet(f->fds[1]));
}

static void a_fault_for_all_is_for_those_to_come_too(void **state)
{
    fixture *f = *state;

    dial(f, 0);
    proxy_swallow(f->proxy, PROXY_ALL, PROXY_REQUESTS);
    dial(f, 1);
    peer_say(f->fds[0], "PING\r\n");
    peer_say(f->fds[1], "PING\r\n");
    assert_true(peer_is_quiet(f->fds[1]));
    assert_true(peer_is_quiet(f->fds[0]));
}

/* ---- stall, hold, swallow ---- */

static void a_stalled_direction_takes_nothing(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_stall(f->proxy, 0, PROXY_REQUESTS);
    peer_say(fd, "INCR a\r\n");
    assert_true(peer_is_quiet(fd));
    assert_int_equal(proxy_received(f->proxy, 0, PROXY_REQUESTS), 0);
    assert_false(has_key(f->server));
    proxy_release(f->proxy, 0, PROXY_REQUESTS);
    peer_assert_hears(fd, ":1\r\n");
}

static void a_stalled_sender_finds_its_buffers_full(void **state)
{
    static const char zeros[4096];
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_stall(f->proxy, 0, PROXY_REQUESTS);
    while (send(fd, zeros, sizeof(zeros), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        ;
    assert_int_equal(errno, EAGAIN);
}

static void held_requests_are_executed_when_released(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_hold(f->proxy, 0, PROXY_REQUESTS);
    peer_say(fd, "INCR a\r\n");
    assert_true(proxy_wait_received(f->proxy, 0, PROXY_REQUESTS, 8, SOON_MS));
    assert_true(peer_is_quiet(fd));
    assert_false(has_key(f->server));
    proxy_release(f->proxy, 0, PROXY_REQUESTS);
    peer_assert_hears(fd, ":1\r\n");
}

static void held_requests_outlive_their_client(void **state)
{
    fixture *f = *state;

    proxy_hold(f->proxy, 0, PROXY_REQUESTS);
    peer_say(dial(f, 0), "INCR a\r\n");
    hang_up(f, 0);
    assert_true(proxy_wait_received(f->proxy, 0, PROXY_REQUESTS, 8, SOON_MS));
    assert_true(wait_until(has_one_client, f->server, SOON_MS));
    assert_false(has_key(f->server));
    proxy_release(f->proxy, 0, PROXY_REQUESTS);
    assert_true(wait_until(has_key, f->server, SOON_MS));
    assert_true(wait_until(has_no_clients, f->server, SOON_MS));
}

static void stalled_requests_outlive_their_client(void **state)
{
    fixture *f = *state;

    proxy_stall(f->proxy, 0, PROXY_REQUESTS);
    peer_say(dial(f, 0), "INCR a\r\n");
    hang_up(f, 0);
    assert_int_equal(proxy_open(f->proxy), 1);
    proxy_release(f->proxy, 0, PROXY_REQUESTS);
    assert_true(wait_until(has_key, f->server, SOON_MS));
}

static void held_replies_come_when_released(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_hold(f->proxy, 0, PROXY_REPLIES);
    peer_say(fd, "INCR a\r\n");
    assert_true(wait_until(has_key, f->server, SOON_MS));
    assert_true(peer_is_quiet(fd));
    proxy_release(f->proxy, 0, PROXY_REPLIES);
    peer_assert_hears(fd, ":1\r\n");
}

static void swallowed_requests_never_arrive(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_swallow(f->proxy, 0, PROXY_REQUESTS);
    peer_say(fd, "INCR a\r\n");
    assert_true(proxy_wait_received(f->proxy, 0, PROXY_REQUESTS, 8, SOON_MS));
    proxy_release(f->proxy, 0, PROXY_REQUESTS);
    peer_say(fd, "EXISTS a\r\n");
    peer_assert_hears(fd, ":0\r\n");
    assert_int_equal(proxy_delivered(f->proxy, 0, PROXY_REQUESTS), 10);
}

static void held_requests_can_still_be_swallowed(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_hold(f->proxy, 0, PROXY_REQUESTS);
    peer_say(fd, "INCR a\r\n");
    assert_true(proxy_wait_received(f->proxy, 0, PROXY_REQUESTS, 8, SOON_MS));
    proxy_swallow(f->proxy, 0, PROXY_REQUESTS);
    proxy_release(f->proxy, 0, PROXY_REQUESTS);
    peer_say(fd, "EXISTS a\r\n");
    peer_assert_hears(fd, ":0\r\n");
}

static void the_server_keeps_a_client_whose_end_is_swallowed(void **state)
{
    fixture *f = *state;

    peer_say(dial(f, 0), "PING\r\n");
    assert_true(wait_until(has_one_client, f->server, SOON_MS));
    proxy_swallow(f->proxy, 0, PROXY_REQUESTS);
    hang_up(f, 0);
    assert_false(wait_until(has_no_clients, f->server, QUIET_MS));
    proxy_heal(f->proxy);
    assert_true(wait_until(has_no_clients, f->server, SOON_MS));
}

static void dropped_replies_are_of_executed_requests(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_drop_replies(f->proxy, 0, false);
    peer_say(fd, "INCR a\r\n");
    assert_true(wait_until(has_key, f->server, SOON_MS));
    assert_true(peer_is_quiet(fd));
    assert_int_equal(proxy_open(f->proxy), 1);
}

static void a_dropped_reply_may_end_the_connection(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_drop_replies(f->proxy, 0, true);
    assert_true(peer_is_quiet(fd));
    peer_say(fd, "INCR a\r\n");
    peer_assert_over(fd);
    assert_true(has_key(f->server));
    assert_true(wait_until(has_no_clients, f->server, SOON_MS));
}

/* ---- cut ---- */

static void a_reply_can_be_cut_short(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_cut(f->proxy, 0, PROXY_REPLIES, 3);
    peer_say(fd, "PING\r\n");
    peer_assert_hears(fd, "+PO");
    peer_assert_over(fd);
}

static void a_connection_to_come_can_be_cut(void **state)
{
    fixture *f = *state;

    proxy_cut(f->proxy, 1, PROXY_REPLIES, 7);
    peer_say(dial(f, 0), "PING\r\nPING\r\n");
    peer_say(dial(f, 1), "PING\r\n");
    peer_assert_hears(f->fds[0], "+PONG\r\n+PONG\r\n");
    peer_assert_hears(f->fds[1], "+PONG\r\n");
    peer_assert_over(f->fds[1]);
}

static void a_request_cut_short_is_not_executed(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_cut(f->proxy, 0, PROXY_REQUESTS, 7);
    peer_say(fd, "INCR a\r\n");
    peer_assert_over(fd);
    assert_true(wait_until(has_no_clients, f->server, SOON_MS));
    assert_false(has_key(f->server));
    assert_int_equal(proxy_delivered(f->proxy, 0, PROXY_REQUESTS), 7);
}

/* ---- reset and refusal ---- */

static void a_reset_ends_both_sides(void **state)
{
    fixture *f = *state;

    dial(f, 0);
    dial(f, 1);
    proxy_reset(f->proxy, 0);
    assert_int_equal(proxy_open(f->proxy), 1);
    peer_assert_over(f->fds[0]);
    assert_true(wait_until(has_one_client, f->server, SOON_MS));
    peer_say(f->fds[1], "PING\r\n");
    peer_assert_hears(f->fds[1], "+PONG\r\n");
}

static void a_reset_over_tcp_is_a_reset(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);
    char byte;

    proxy_reset(f->proxy, PROXY_ALL);
    assert_int_equal(peer_hear(fd, &byte, 1), -1);
    assert_int_equal(errno, ECONNRESET);
}

static void new_connections_can_be_refused(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_refuse(f->proxy, true);
    assert_int_equal(try_dial(f), -1);
    assert_int_equal(errno, ECONNREFUSED);
    peer_say(fd, "PING\r\n");
    peer_assert_hears(fd, "+PONG\r\n");
    proxy_refuse(f->proxy, false);
    peer_say(dial(f, 1), "PING\r\n");
    peer_assert_hears(f->fds[1], "+PONG\r\n");
}

static void healing_ends_every_fault(void **state)
{
    fixture *f = *state;
    int fd = dial(f, 0);

    proxy_hold(f->proxy, PROXY_ALL, PROXY_REQUESTS);
    proxy_cut(f->proxy, PROXY_ALL, PROXY_REPLIES, 2);
    proxy_refuse(f->proxy, true);
    peer_say(fd, "PING\r\n");
    assert_true(peer_is_quiet(fd));
    proxy_heal(f->proxy);
    peer_assert_hears(fd, "+PONG\r\n");
    peer_say(dial(f, 1), "PING\r\n");
    peer_assert_hears(f->fds[1], "+PONG\r\n");
}

/* No network loses bytes of a stream and carries on with it. */
static void healing_ends_what_has_lost_bytes(void **state)
{
    fixture *f = *state;

    dial(f, 0);
    dial(f, 1);
    dial(f, 2);
    proxy_swallow(f->proxy, 0, PROXY_REQUESTS);
    proxy_drop_replies(f->proxy, 1, false);
    proxy_swallow(f->proxy, 2, PROXY_REQUESTS);
    peer_say(f->fds[0], "PING\r\n");
    peer_say(f->fds[1], "INCR a\r\n");
    assert_true(proxy_wait_received(f->proxy, 0, PROXY_REQUESTS, 6, SOON_MS));
    assert_true(proxy_wait_received(f->proxy, 1, PROXY_REPLIES, 4, SOON_MS));
    proxy_heal(f->proxy);
    assert_int_equal(proxy_open(f->proxy), 1);
    peer_assert_over(f->fds[0]);
    peer_assert_over(f->fds[1]);
    peer_say(f->fds[2], "GET a\r\n");
    peer_assert_hears(f->fds[2], "$1\r\n1\r\n");
    peer_say(dial(f, 3), "PING\r\n");
    peer_assert_hears(f->fds[3], "+PONG\r\n");
}

#define OVER_UNIX(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define OVER_TCP(f)  cmocka_unit_test_setup_teardown(f, setup_tcp, teardown)

int test_support_proxy(void)
{
    const struct CMUnitTest tests[] = {
        OVER_UNIX(requests_and_replies_pass),
        OVER_UNIX(the_url_says_where_it_listens),
        OVER_UNIX(many_bytes_pass_unharmed),
        OVER_UNIX(the_end_of_a_client_reaches_the_server),
        OVER_UNIX(the_end_of_the_server_reaches_the_client),
        OVER_UNIX(each_direction_can_be_delayed),
        OVER_UNIX(delayed_bytes_can_be_let_through_and_no_others),
        OVER_UNIX(a_fault_is_for_the_connection_it_names),
        OVER_UNIX(a_fault_for_all_is_for_those_to_come_too),
        OVER_UNIX(a_stalled_direction_takes_nothing),
        OVER_UNIX(a_stalled_sender_finds_its_buffers_full),
        OVER_UNIX(held_requests_are_executed_when_released),
        OVER_UNIX(held_requests_outlive_their_client),
        OVER_UNIX(stalled_requests_outlive_their_client),
        OVER_UNIX(held_replies_come_when_released),
        OVER_UNIX(swallowed_requests_never_arrive),
        OVER_UNIX(held_requests_can_still_be_swallowed),
        OVER_UNIX(the_server_keeps_a_client_whose_end_is_swallowed),
        OVER_UNIX(dropped_replies_are_of_executed_requests),
        OVER_UNIX(a_dropped_reply_may_end_the_connection),
        OVER_UNIX(a_reply_can_be_cut_short),
        OVER_UNIX(a_connection_to_come_can_be_cut),
        OVER_UNIX(a_request_cut_short_is_not_executed),
        OVER_UNIX(a_reset_ends_both_sides),
        OVER_UNIX(new_connections_can_be_refused),
        OVER_UNIX(healing_ends_every_fault),
        OVER_UNIX(healing_ends_what_has_lost_bytes),
        OVER_TCP(requests_and_replies_pass),
        OVER_TCP(the_url_says_where_it_listens),
        OVER_TCP(held_requests_outlive_their_client),
        OVER_TCP(a_reply_can_be_cut_short),
        OVER_TCP(a_reset_over_tcp_is_a_reset),
        OVER_TCP(new_connections_can_be_refused),
    };

    return cmocka_run_group_tests_name("support_proxy", tests, start_server,
                                       stop_server);
}
