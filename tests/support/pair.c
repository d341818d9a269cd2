/* SPDX-License-Identifier: MIT */
#include "support/pair.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/check.h"
#include "support/socket.h"
#include "support/wait.h"

enum { DEADLINE_MS = 10000 };

int pair_setup(void **state)
{
    pair *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->scratch = scratch_new();
    assert_non_null(p->scratch);
    (void)snprintf(p->path, sizeof(p->path), "%s/socket",
                   scratch_path(p->scratch));
    p->listener = -1;
    p->peer = -1;
    assert_true(witness_start(&p->w, lk__world_uv_new()));
    *state = p;
    return 0;
}

int pair_teardown(void **state)
{
    pair *p = *state;

    witness_stop(&p->w);
    if (p->listener >= 0)
        (void)close(p->listener);
    if (p->peer >= 0)
        (void)close(p->peer);
    scratch_free(p->scratch);
    free(p);
    return 0;
}

lk__address pair_listen_unix(pair *p)
{
    p->listener = socket_listen_unix(p->path);
    assert_true(p->listener >= 0);
    return (lk__address){.path = p->path};
}

lk__address pair_listen_tcp(pair *p, const char *host)
{
    p->listener = socket_listen_tcp(&p->port);
    assert_true(p->listener >= 0);
    return (lk__address){.host = host, .port = p->port};
}

bool pair_is_readable(int fd)
{
    struct pollfd set = {.fd = fd, .events = POLLIN};

    return poll(&set, 1, (int)wait_scaled_ms(DEADLINE_MS)) == 1;
}

bool pair_is_open(pair *p)
{
    return witness_sees(&p->w, &p->link.opens, 1) && p->link.open_error == 0;
}

void pair_connect(pair *p, lk__address address)
{
    assert_true(witness_open(&p->w, &p->link, &address));
    assert_true(pair_is_readable(p->listener));
    p->peer = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(p->peer >= 0);
    assert_true(pair_is_open(p));
}

void assert_pair_talks(pair *p)
{
    char bytes[8];

    assert_int_equal(witness_send(&p->link, "PING", 4), 4);
    assert_true(pair_is_readable(p->peer));
    assert_int_equal(read(p->peer, bytes, sizeof(bytes)), 4);
    assert_memory_equal(bytes, "PING", 4);
    assert_int_equal(write(p->peer, "PONG!", 5), 5);
    assert_true(witness_has_received(&p->link, 5));
    assert_int_equal(p->link.sum, witness_sum(0, 0, "PONG!", 5));
    assert_int_equal(p->link.opens, 1);
}
