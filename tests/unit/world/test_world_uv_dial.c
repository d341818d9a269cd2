/* SPDX-License-Identifier: MIT */

/* How the real world opens its streams, and fails to. */

#include <latchkey/export.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

#include "base/mem.h"
#include "support/check.h"
#include "support/descriptors.h"
#include "support/gate.h"
#include "support/pair.h"
#include "support/resolver.h"
#include "support/socket.h"
#include "support/wait.h"

enum { DEADLINE_MS = 10000 };

/* In place of the C library's, with its names for things. Exported, so that
   libuv finds it. */
LK_API int getaddrinfo(const char *name, const char *service,
                       const struct addrinfo *req, struct addrinfo **pai)
{
    return resolver_lookup(name, service, req, pai);
}

/* ---- not opened --------------------------------------------------------- */

static void assert_refused(pair *p, lk__address address, int error)
{
    assert_true(witness_open(&p->w, &p->link, &address));
    assert_true(witness_sees(&p->w, &p->link.opens, 1));
    assert_int_equal(p->link.open_error, error);
    assert_int_equal(witness_send(&p->link, "x", 1), -EPIPE);
    witness_close(&p->link);
    assert_true(witness_turn(&p->w));
    assert_int_equal(p->link.opens, 1);
    assert_int_equal(p->link.ends, 0);
}

PAIR_TEST(a_refused_stream_says_so)
{
    uint16_t port = socket_free_port();

    assert_refused(p, (lk__address){.host = "127.0.0.1", .port = port},
                   -ECONNREFUSED);
    assert_refused(p, (lk__address){.path = p->path}, -ENOENT);
    (void)pair_listen_unix(p);
    (void)close(p->listener);
    p->listener = -1;
    assert_refused(p, (lk__address){.path = p->path}, -ECONNREFUSED);
}

PAIR_TEST(a_path_that_is_too_long_is_refused)
{
    char path[200] = {0};

    memset(path, 'a', sizeof(path) - 1);
    assert_refused(p, (lk__address){.path = path}, -ENAMETOOLONG);
}

static int allocations_left;

static bool allocation_fails(void)
{
    return allocations_left-- <= 0;
}

PAIR_TEST(out_of_memory_is_an_answer)
{
    lk__address address = pair_listen_tcp(p, "127.0.0.1");
    int n, refused = 0;

    for (n = 0; n < 10; n++) {
        allocations_left = n;
        lk__mem_fail(allocation_fails);
        if (witness_open(&p->w, &p->link, &address)) {
            assert_true(witness_sees(&p->w, &p->link.opens, 1));
            witness_close(&p->link);
            assert_true(witness_turn(&p->w));
            refused += p->link.open_error == -ENOMEM;
        } else {
            assert_in_range(n, 0, 1);
        }
        lk__mem_fail(NULL);
    }
    assert_int_equal(refused, 2);
}

/* ---- names and addresses ------------------------------------------------ */

PAIR_TEST(a_name_is_looked_up)
{
    static const char *const addresses[] = {"127.0.0.1", NULL};

    resolver_name("server.test", addresses);
    pair_connect(p, pair_listen_tcp(p, "server.test"));
    assert_pair_talks(p);
}

PAIR_TEST(a_name_nobody_knows_is_an_error_of_its_own)
{
    static const char *const none[] = {NULL};

    resolver_name("nobody.test", none);
    assert_refused(p, (lk__address){.host = "nobody.test", .port = 1},
                   UV_EAI_NONAME);
}

PAIR_TEST(the_next_address_is_tried_when_one_refuses)
{
    static const char *const three[] = {"127.0.0.9", "127.0.0.8", "127.0.0.1",
                                        NULL};
    uint64_t before = wait_now_ms();

    resolver_name("three.test", three);
    pair_connect(p, pair_listen_tcp(p, "three.test"));
    assert_pair_talks(p);
    assert_in_range(wait_now_ms() - before, 0,
                    wait_allowed_ms(wait_scaled_ms(200)));
}

PAIR_TEST(the_last_refusal_is_told_when_every_address_refuses)
{
    static const char *const two[] = {"::1", "127.0.0.1", NULL};

    resolver_name("two.test", two);
    assert_refused(p,
                   (lk__address){.host = "two.test",
                                 .port = socket_free_port()},
                   -ECONNREFUSED);
}

/* Somebody may be at the address that is not reached. */
PAIR_TEST(a_refusal_is_told_only_if_every_address_refuses)
{
    static const char *const first[] = {"255.255.255.255", "127.0.0.1", NULL};
    static const char *const last[] = {"127.0.0.1", "255.255.255.255", NULL};
    lk__address address = {.host = "far.test", .port = socket_free_port()};

    resolver_name("far.test", first);
    assert_refused(p, address, -ENETUNREACH);
    resolver_name("far.test", last);
    assert_refused(p, address, -ENETUNREACH);
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

PAIR_TEST(a_silent_address_does_not_hold_up_the_next)
{
    static const char *const two[] = {"127.0.0.7", "127.0.0.1", NULL};
    lk__address address = pair_listen_tcp(p, "silent.test");
    int fill, silent = listen_silent("127.0.0.7", p->port, &fill);
    uint64_t before = wait_now_ms();

    resolver_name("silent.test", two);
    pair_connect(p, address);
    assert_in_range(wait_now_ms() - before, 240,
                    wait_allowed_ms(wait_scaled_ms(900)));
    assert_pair_talks(p);
    (void)close(fill);
    (void)close(silent);
}

PAIR_TEST(an_opening_that_succeeds_after_the_close_is_not_told)
{
    lk__address address = pair_listen_tcp(p, "127.0.0.1");
    witness_link late;
    gate g;

    pair_connect(p, address);
    gate_close(&g, &p->w);
    assert_true(witness_open(&p->w, &late, &address));
    assert_int_equal(write(p->peer, "1", 1), 1);
    /* Now it begins to open, and the loop is kept by the byte. */
    gate_next(&g);
    assert_true(pair_is_readable(p->listener));
    assert_int_equal(write(p->peer, "2", 1), 1);
    /* The loop knows of this byte and of the success, and has told neither. */
    gate_next(&g);
    witness_close(&late);
    gate_open(&g);
    assert_true(witness_turn(&p->w));
    assert_true(witness_turn(&p->w));
    assert_int_equal(late.opens + late.strays, 0);
}

PAIR_TEST(an_opening_without_answer_can_be_closed)
{
    uint16_t port = socket_free_port();
    int fill, silent = listen_silent("127.0.0.6", port, &fill);
    lk__address address = {.host = "127.0.0.6", .port = port};

    assert_true(witness_open(&p->w, &p->link, &address));
    assert_true(witness_turn(&p->w));
    witness_close(&p->link);
    assert_true(witness_turn(&p->w));
    assert_int_equal(p->link.opens, 0);
    (void)close(fill);
    (void)close(silent);
}

/* ---- stop ---------------------------------------------------------------- */

PAIR_TEST(a_stop_ends_everything_even_a_look_up_that_hangs)
{
    static const char *const one[] = {"127.0.0.1", NULL};
    lk__address hanging = {.host = "hanging.test", .port = 1};
    lk__address address = pair_listen_unix(p);
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
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(2000)));
    assert_int_equal(links[1].opens, 0);
    resolver_open_gate();
    assert_true(descriptors_fall_to(before));
}
