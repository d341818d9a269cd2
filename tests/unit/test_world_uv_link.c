/* SPDX-License-Identifier: MIT */

/* The real world's streams, against small servers in the test. */

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uv.h>

#include "core/mem.h"
#include "core/world.h"
#include "support/check.h"
#include "support/resolver.h"
#include "support/scratch.h"
#include "support/socket.h"
#include "support/wait.h"
#include "support/witness.h"

enum { DEADLINE_MS = 10000, FLOOD_BYTES = 4 * 1024 * 1024 };

/* One server, one world, one link. */
typedef struct fixture {
    scratch *scratch;
    char path[96];
    int listener, peer;
    uint16_t port;
    witness w;
    witness_link link;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    f->scratch = scratch_new();
    assert_non_null(f->scratch);
    (void)snprintf(f->path, sizeof(f->path), "%s/socket",
                   scratch_path(f->scratch));
    f->listener = -1;
    f->peer = -1;
    assert_true(witness_start(&f->w, lk__world_uv_new()));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;

    if (f->w.world != NULL)
        witness_stop(&f->w);
    if (f->listener >= 0)
        (void)close(f->listener);
    if (f->peer >= 0)
        (void)close(f->peer);
    scratch_free(f->scratch);
    free(f);
    return 0;
}

static lk__address listen_unix(fixture *f)
{
    f->listener = socket_listen_unix(f->path);
    assert_true(f->listener >= 0);
    return (lk__address){.path = f->path};
}

static lk__address listen_tcp(fixture *f, const char *host)
{
    f->listener = socket_listen_tcp(&f->port);
    assert_true(f->listener >= 0);
    return (lk__address){.host = host, .port = f->port};
}

static bool is_readable(int fd)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};

    return poll(&set, 1, (int)wait_scaled_ms(DEADLINE_MS)) == 1;
}

static bool is_open(fixture *f)
{
    return witness_sees(&f->w, &f->link.opens, 1) && f->link.open_error == 0;
}

/* Opens the link and accepts it; the peer does not block. */
static void connect_pair(fixture *f, lk__address address)
{
    assert_true(witness_open(&f->w, &f->link, &address));
    assert_true(is_readable(f->listener));
    f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(f->peer >= 0);
    assert_true(is_open(f));
}

static void assert_peer_gets(int peer, const char *text)
{
    char bytes[64];
    ssize_t size;

    assert_true(is_readable(peer));
    size = read(peer, bytes, sizeof(bytes));
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, strlen(text));
}

/* ---- life of a stream --------------------------------------------------- */

static void assert_both_ways(fixture *f)
{
    assert_int_equal(witness_send(&f->link, "PING", 4), 4);
    assert_peer_gets(f->peer, "PING");
    assert_int_equal(write(f->peer, "PONG!", 5), 5);
    assert_true(witness_has_received(&f->link, 5));
    assert_int_equal(f->link.sum, witness_sum(0, 0, "PONG!", 5));
    assert_int_equal(f->link.opens, 1);
}

static void a_unix_socket_carries_bytes_both_ways(void **state)
{
    fixture *f = *state;

    connect_pair(f, listen_unix(f));
    assert_both_ways(f);
}

static void a_tcp_socket_carries_bytes_both_ways(void **state)
{
    fixture *f = *state;

    connect_pair(f, listen_tcp(f, "127.0.0.1"));
    assert_both_ways(f);
}

static void the_strings_of_an_address_are_needed_only_for_the_call(void **state)
{
    fixture *f = *state;
    lk__address address = listen_unix(f);
    char path[sizeof(f->path)];

    memcpy(path, f->path, sizeof(path));
    address.path = path;
    assert_true(witness_open(&f->w, &f->link, &address));
    memset(path, 'x', sizeof(path));
    assert_true(is_open(f));
}

static void an_orderly_end_is_no_error(void **state)
{
    fixture *f = *state;

    connect_pair(f, listen_tcp(f, "127.0.0.1"));
    assert_int_equal(write(f->peer, "bye", 3), 3);
    assert_int_equal(shutdown(f->peer, SHUT_WR), 0);
    assert_true(witness_sees(&f->w, &f->link.ends, 1));
    assert_int_equal(f->link.end_error, 0);
    assert_int_equal(f->link.received, 3);
    assert_int_equal(witness_send(&f->link, "x", 1), -EPIPE);
}

static void reset_peer(fixture *f)
{
    const struct linger at_once = {.l_onoff = 1};

    (void)setsockopt(f->peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    (void)close(f->peer);
    f->peer = -1;
}

static void a_reset_stream_says_so(void **state)
{
    fixture *f = *state;

    connect_pair(f, listen_tcp(f, "127.0.0.1"));
    reset_peer(f);
    assert_true(witness_sees(&f->w, &f->link.ends, 1));
    assert_int_equal(f->link.end_error, -ECONNRESET);
    assert_int_equal(witness_send(&f->link, "x", 1), -EPIPE);
    assert_true(witness_turn(&f->w));
    assert_int_equal(f->link.ends, 1);
}

/* Keeps the loop busy until the test opens the gate. */
static void wait_at_gate(witness *w, witness_link *link)
{
    (void)link;
    while (sem_wait(w->data) != 0)
        continue;
}

static void a_failed_send_ends_the_stream_after_its_last_bytes(void **state)
{
    fixture *f = *state;
    sem_t gate;
    int i;

    connect_pair(f, listen_unix(f));
    (void)sem_init(&gate, 0, 0);
    witness_hook(&f->w, wait_at_gate, &gate);
    assert_int_equal(write(f->peer, "-ERR max", 8), 8);
    assert_int_equal(close(f->peer), 0);
    f->peer = -1;
    assert_int_equal(witness_send(&f->link, "x", 1), -EPIPE);
    assert_int_equal(witness_send(&f->link, "x", 1), -EPIPE);
    for (i = 0; i < 4; i++)
        (void)sem_post(&gate);
    assert_true(witness_sees(&f->w, &f->link.ends, 1));
    assert_int_equal(f->link.received, 8);
    assert_int_equal(f->link.end_error, -EPIPE);
}

/* ---- not opened --------------------------------------------------------- */

static void assert_refused(fixture *f, lk__address address, int error)
{
    assert_true(witness_open(&f->w, &f->link, &address));
    assert_true(witness_sees(&f->w, &f->link.opens, 1));
    assert_int_equal(f->link.open_error, error);
    assert_int_equal(witness_send(&f->link, "x", 1), -EPIPE);
    witness_close(&f->link);
    assert_true(witness_turn(&f->w));
    assert_int_equal(f->link.opens, 1);
    assert_int_equal(f->link.ends, 0);
}

static void a_refused_stream_says_so(void **state)
{
    fixture *f = *state;
    uint16_t port = socket_free_port();

    assert_refused(f, (lk__address){.host = "127.0.0.1", .port = port},
                   -ECONNREFUSED);
    assert_refused(f, (lk__address){.path = f->path}, -ENOENT);
    (void)listen_unix(f);
    (void)close(f->listener);
    f->listener = -1;
    assert_refused(f, (lk__address){.path = f->path}, -ECONNREFUSED);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char path[200] = {0};

    memset(path, 'a', sizeof(path) - 1);
    assert_refused(*state, (lk__address){.path = path}, -ENAMETOOLONG);
}

static int allocations_left;

static bool allocation_fails(void)
{
    return allocations_left-- <= 0;
}

static void out_of_memory_is_an_answer(void **state)
{
    fixture *f = *state;
    lk__address address = listen_tcp(f, "127.0.0.1");
    int n, refused = 0;

    for (n = 0; n < 10; n++) {
        allocations_left = n;
        lk__mem_fail(allocation_fails);
        if (witness_open(&f->w, &f->link, &address)) {
            assert_true(witness_sees(&f->w, &f->link.opens, 1));
            witness_close(&f->link);
            assert_true(witness_turn(&f->w));
            refused += f->link.open_error == -ENOMEM;
        } else {
            assert_in_range(n, 0, 1);
        }
        lk__mem_fail(NULL);
    }
    assert_int_equal(refused, 2);
}

/* ---- names and addresses ------------------------------------------------ */

static void a_name_is_looked_up(void **state)
{
    fixture *f = *state;

    connect_pair(f, listen_tcp(f, "localhost"));
    assert_both_ways(f);
}

static void a_name_nobody_knows_is_an_error_of_its_own(void **state)
{
    static const char *const none[] = {NULL};

    resolver_name("nobody.test", none);
    assert_refused(*state, (lk__address){.host = "nobody.test", .port = 1},
                   UV_EAI_NONAME);
}

static void the_next_address_is_tried_when_one_refuses(void **state)
{
    static const char *const three[] = {"127.0.0.9", "127.0.0.8", "127.0.0.1",
                                        NULL};
    fixture *f = *state;
    uint64_t before = wait_now_ms();

    resolver_name("three.test", three);
    connect_pair(f, listen_tcp(f, "three.test"));
    assert_both_ways(f);
    assert_true(wait_now_ms() - before < wait_scaled_ms(200));
}

static void the_last_refusal_is_told_when_every_address_refuses(void **state)
{
    static const char *const two[] = {"::1", "127.0.0.1", NULL};

    resolver_name("two.test", two);
    assert_refused(*state,
                   (lk__address){.host = "two.test",
                                 .port = socket_free_port()},
                   -ECONNREFUSED);
}

/* A listener that answers no one: its queue is full. *ret_fill fills it. */
static int listen_silent(const char *host, uint16_t port, int *ret_fill)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = socket(AF_INET, type, 0);
    struct pollfd set;

    assert_int_equal(inet_pton(AF_INET, host, &name.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
    assert_int_equal(listen(fd, 0), 0);
    *ret_fill = socket(AF_INET, type, 0);
    (void)connect(*ret_fill, (struct sockaddr *)&name, sizeof(name));
    set = (struct pollfd){.fd = *ret_fill, .events = POLLOUT};
    assert_int_equal(poll(&set, 1, (int)wait_scaled_ms(DEADLINE_MS)), 1);
    return fd;
}

static void a_silent_address_does_not_hold_up_the_next(void **state)
{
    static const char *const two[] = {"127.0.0.7", "127.0.0.1", NULL};
    fixture *f = *state;
    lk__address address = listen_tcp(f, "silent.test");
    int fill, silent = listen_silent("127.0.0.7", f->port, &fill);
    uint64_t before = wait_now_ms();

    resolver_name("silent.test", two);
    connect_pair(f, address);
    assert_in_range(wait_now_ms() - before, 240, wait_scaled_ms(900));
    assert_both_ways(f);
    (void)close(fill);
    (void)close(silent);
}

static void an_opening_without_answer_can_be_closed(void **state)
{
    fixture *f = *state;
    uint16_t port = socket_free_port();
    int fill, silent = listen_silent("127.0.0.6", port, &fill);
    lk__address address = {.host = "127.0.0.6", .port = port};

    assert_true(witness_open(&f->w, &f->link, &address));
    assert_true(witness_turn(&f->w));
    witness_close(&f->link);
    assert_true(witness_turn(&f->w));
    assert_int_equal(f->link.opens, 0);
    (void)close(fill);
    (void)close(silent);
}

/* ---- many bytes --------------------------------------------------------- */

/* Sends pattern bytes until the stream takes no more; returns how many. */
static size_t send_until_short(fixture *f, size_t sent, size_t limit)
{
    static char block[16 * 1024];
    size_t i, size, want;
    ssize_t n;

    while (sent < limit) {
        want = limit - sent < sizeof(block) ? limit - sent : sizeof(block);
        for (i = 0; i < want; i++)
            block[i] = (char)((sent + i) % 251);
        n = witness_send(&f->link, block, want);
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

static void after_a_short_send_comes_writable(void **state)
{
    fixture *f = *state;
    size_t sent = 0, got = 0;
    int times = 0;

    connect_pair(f, listen_unix(f));
    for (;;) {
        sent = send_until_short(f, sent, FLOOD_BYTES);
        if (sent == FLOOD_BYTES)
            break;
        assert_int_equal(witness_count(&f->w, &f->link.writables), times);
        got = read_pattern(f->peer, got);
        assert_true(witness_sees(&f->w, &f->link.writables, ++times));
    }
    while (got < FLOOD_BYTES && is_readable(f->peer))
        got = read_pattern(f->peer, got);
    assert_int_equal(got, FLOOD_BYTES);
    assert_true(times > 2);
    assert_true(witness_turn(&f->w));
    assert_int_equal(f->link.writables, times);
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

static void no_event_begins_after_a_close_amid_data(void **state)
{
    fixture *f = *state;
    lk__address address = listen_unix(f);
    pthread_t thread;
    int round, strays;

    for (round = 0; round < 20; round++) {
        connect_pair(f, address);
        assert_int_equal(pthread_create(&thread, NULL, flood, &f->peer), 0);
        assert_true(witness_has_received(&f->link, 100000));
        witness_close(&f->link);
        assert_true(witness_turn(&f->w));
        /* The event under way at the close, if any, is over. */
        strays = f->link.strays;
        assert_in_range(strays, 0, 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(witness_turn(&f->w));
        assert_int_equal(f->link.strays, strays);
        assert_int_equal(f->link.ends, 0);
        (void)close(f->peer);
    }
    f->peer = -1;
}

static void a_busy_stream_does_not_starve_another(void **state)
{
    fixture *f = *state;
    lk__address address = listen_unix(f);
    witness_link other;
    pthread_t thread;
    int busy;

    connect_pair(f, address);
    busy = f->peer;
    assert_int_equal(pthread_create(&thread, NULL, flood, &busy), 0);
    assert_true(witness_open(&f->w, &other, &address));
    assert_true(is_readable(f->listener));
    f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_int_equal(write(f->peer, "hello", 5), 5);
    assert_true(witness_has_received(&other, 5));
    witness_close(&f->link);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(busy);
}

/* ---- closing ------------------------------------------------------------ */

static void a_close_reaches_the_peer(void **state)
{
    fixture *f = *state;
    char byte;

    connect_pair(f, listen_tcp(f, "127.0.0.1"));
    witness_close(&f->link);
    assert_true(is_readable(f->peer));
    assert_int_equal(read(f->peer, &byte, 1), 0);
}

static void close_own_link(witness *w, witness_link *link)
{
    (void)w;
    if (link != NULL && link->link != NULL)
        witness_close(link);
}

static void an_event_may_close_its_own_link(void **state)
{
    fixture *f = *state;
    char byte;

    connect_pair(f, listen_unix(f));
    assert_true(witness_turn(&f->w));
    witness_hook(&f->w, close_own_link, NULL);
    assert_int_equal(write(f->peer, "x", 1), 1);
    assert_true(is_readable(f->peer));
    assert_int_equal(read(f->peer, &byte, 1), 0);
    assert_true(witness_turn(&f->w));
    assert_int_equal(f->link.strays, 1);
    assert_int_equal(f->link.ends, 0);
}

static int descriptors_count(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    while (folder != NULL && readdir(folder) != NULL)
        count++;
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

static bool is_descriptors_at(void *data)
{
    return descriptors_count() == *(const int *)data;
}

static void a_stop_ends_everything_even_a_look_up_that_hangs(void **state)
{
    static const char *const one[] = {"127.0.0.1", NULL};
    fixture *f = *state;
    lk__address hanging = {.host = "hanging.test", .port = 1};
    lk__address address = listen_unix(f);
    int i, before = descriptors_count();
    witness_link links[8];
    witness w = {0};
    uint64_t begin;

    resolver_name("hanging.test", one);
    resolver_close_gate();
    assert_true(witness_start(&w, lk__world_uv_new()));
    for (i = 0; i < 8; i++)
        assert_true(witness_open(&w, &links[i], i < 6 ? &hanging : &address));
    assert_true(witness_sees(&w, &links[7].opens, 1));
    witness_close(&links[0]);
    witness_close(&links[6]);
    w.world->class->set_timer(w.world, 0);
    w.world->class->wake(w.world);
    begin = wait_now_ms();
    witness_stop(&w);
    assert_true(wait_now_ms() - begin < wait_scaled_ms(2000));
    assert_int_equal(links[1].opens, 0);
    resolver_open_gate();
    assert_true(wait_until(is_descriptors_at, &before, DEADLINE_MS));
}

/* ---- fork --------------------------------------------------------------- */

/* SIGKILL: what the parent's threads had is no leak of the child. */
static void end_child(pid_t child)
{
    int status = 0;

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

/* A child that does nothing. */
static pid_t idle_child(void)
{
    pid_t child = fork();

    while (child == 0)
        (void)pause();
    assert_true(child > 0);
    return child;
}

static void a_child_does_not_keep_the_stream_open(void **state)
{
    fixture *f = *state;
    char byte;
    pid_t child;

    connect_pair(f, listen_unix(f));
    child = idle_child();
    assert_both_ways(f);
    witness_close(&f->link);
    assert_true(witness_turn(&f->w));
    assert_true(is_readable(f->peer));
    assert_int_equal(read(f->peer, &byte, 1), 0);
    end_child(child);
}

static void a_stream_lives_on_without_its_child(void **state)
{
    fixture *f = *state;

    connect_pair(f, listen_tcp(f, "127.0.0.1"));
    end_child(idle_child());
    assert_both_ways(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_unix_socket_carries_bytes_both_ways),
        TEST(a_tcp_socket_carries_bytes_both_ways),
        TEST(the_strings_of_an_address_are_needed_only_for_the_call),
        TEST(an_orderly_end_is_no_error),
        TEST(a_reset_stream_says_so),
        TEST(a_failed_send_ends_the_stream_after_its_last_bytes),
        TEST(a_refused_stream_says_so),
        TEST(a_path_that_is_too_long_is_refused),
        TEST(out_of_memory_is_an_answer),
        TEST(a_name_is_looked_up),
        TEST(a_name_nobody_knows_is_an_error_of_its_own),
        TEST(the_next_address_is_tried_when_one_refuses),
        TEST(the_last_refusal_is_told_when_every_address_refuses),
        TEST(a_silent_address_does_not_hold_up_the_next),
        TEST(an_opening_without_answer_can_be_closed),
        TEST(after_a_short_send_comes_writable),
        TEST(no_event_begins_after_a_close_amid_data),
        TEST(a_busy_stream_does_not_starve_another),
        TEST(a_close_reaches_the_peer),
        TEST(an_event_may_close_its_own_link),
        TEST(a_stop_ends_everything_even_a_look_up_that_hangs),
        TEST(a_child_does_not_keep_the_stream_open),
        TEST(a_stream_lives_on_without_its_child),
    };

    return cmocka_run_group_tests_name("world_uv_link", tests, NULL, NULL);
}
