/* SPDX-License-Identifier: MIT */

/*
 * Nodes that name other addresses than those they listen at, and masters that cannot
 * be used: two masters that share the slots, and a replica of the first one.
 */

#include <latchkey/latchkey.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/slot.h"
#include "support/call.h"
#include "support/check.h"
#include "support/made.h"
#include "support/node.h"
#include "support/proxy.h"
#include "support/server.h"
#include "support/wait.h"

enum {
    MASTERS = 2,
    REPLICA = 2, /* of the first master */
    BUS_ABOVE = 10000,
    NODES = 3,
    COME_MS = 60000,
    LONG_MS = 30000,
    WAIT_MS = 2000,
    WORDS = 320
};

/* Of each master. */
static const char *const names[MASTERS] = {"b", "a"};

static server *nodes[NODES];

/* ---- the nodes ------------------------------------------------------------------- */

static bool has_ipv6(void)
{
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool has_it = fd >= 0 && bind(fd, (const struct sockaddr *)&address,
                                  sizeof(address)) == 0;

    if (fd >= 0)
        (void)close(fd);
    return has_it;
}

static void told(server *node, const char *format, const char *value)
{
    char *said = server_string(node, format, value);

    assert_string_equal(said, "OK");
    free(said);
}

static void told_number(server *node, const char *format, unsigned number)
{
    char value[16];

    (void)snprintf(value, sizeof(value), "%u", number);
    told(node, format, value);
}

/* Every node has heard of all that. */
static bool all_say(void *data)
{
    for (size_t i = 0; i < NODES; i++) {
        if (!node_says(nodes[i], "CLUSTER NODES", data))
            return false;
    }
    return true;
}

/* All know that node by this address and name. */
static void wait_known(const server *node, const char *host, unsigned port,
                       const char *name)
{
    char words[WORDS];

    (void)snprintf(words, sizeof(words), " %s:%u@%u%s", host, port,
                   server_port(node) + BUS_ABOVE, name);
    if (!wait_until(all_say, words, COME_MS))
        fail_msg("not all nodes say%s", words);
}

static bool all_are_ok(void *data)
{
    (void)data;
    for (size_t i = 0; i < NODES; i++) {
        if (!node_is_ok(nodes[i]))
            return false;
    }
    return true;
}

static bool follows(void *data)
{
    return node_says(nodes[REPLICA], "INFO replication",
                     "master_link_status:up") &&
           all_are_ok(data);
}

static int start(NO_STATE)
{
    const char *both[] = {"--bind", "127.0.0.1", has_ipv6() ? "::1" : NULL,
                          NULL};
    char *id;

    (void)unsetenv("LK_TEST_TLS"); /* the ways that lead elsewhere speak none */
    for (size_t i = 0; i < NODES; i++) {
        nodes[i] = server_start_node(both);
        if (nodes[i] == NULL)
            return -1;
        told(nodes[i], "CONFIG SET cluster-announce-ip %s", "127.0.0.1");
        told_number(nodes[i], "CLUSTER SET-CONFIG-EPOCH %s", (unsigned)i + 1);
    }
    for (size_t i = 0; i < MASTERS; i++)
        assert_true(node_own(nodes[i], (unsigned)(LK__SLOTS * i / MASTERS),
                             (unsigned)(LK__SLOTS * (i + 1) / MASTERS) - 1));
    for (size_t i = 1; i < NODES; i++)
        told_number(nodes[0], "CLUSTER MEET 127.0.0.1 %s",
                    server_port(nodes[i]));
    for (size_t i = 0; i < NODES; i++)
        wait_known(nodes[i], "127.0.0.1", server_port(nodes[i]), "");
    id = server_string(nodes[0], "CLUSTER MYID");
    told(nodes[REPLICA], "CLUSTER REPLICATE %s", id);
    free(id);
    assert_true(wait_until(follows, NULL, COME_MS));
    return 0;
}

static int stop(NO_STATE)
{
    for (size_t i = 0; i < NODES; i++)
        server_stop(nodes[i]);
    return 0;
}

/* It has no names, and what it announces it hears itself at its start alone. */
static bool is_redis_6(void)
{
    redisReply *known = server_command(nodes[0], "CONFIG GET cluster-preferred"
                                                 "-endpoint-type");
    bool has_none = known->elements == 0;

    freeReplyObject(known);
    return has_none;
}

/* ---- clients ------------------------------------------------------------------------ */

static lk_client *open_at(const char *host, const server *node)
{
    lk_client *client;
    char url[WORDS];

    (void)snprintf(url, sizeof(url), "redis+cluster://%s:%u", host,
                   server_port(node));
    client = made_client(url, NULL);
    assert_status(lk_client_wait_ready(client, LONG_MS), LK_OK);
    return client;
}

/* Both masters give it theirs. */
static void assert_served(lk_client *client)
{
    for (size_t i = 0; i < MASTERS; i++) {
        lk_lock *lock = NULL;
        lk_hold *hold = NULL;

        lock = made_lock(client, names[i]);
        hold = made_hold(lock);
        assert_int_equal(server_integer(nodes[i], "EXISTS %s", names[i]), 1);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

/* A wait ends in vain with its time, and says this. */
static void assert_ends(lk_lock *lock, lk_status status, const char *words)
{
    uint64_t took = wait_now_ms();
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(lock, WAIT_MS, NULL, &hold), status);
    took = wait_now_ms() - took;
    assert_string_equal(lk_last_error(), words);
    assert_in_range(took, WAIT_MS, wait_allowed_ms(2 * (uint64_t)WAIT_MS));
}

/* What keeps it is over within the wait, so cure() does it. */
static void assert_found(lk_lock *lock, void (*cure)(void))
{
    call c = {0};

    assert_status(lk_lock_acquire_async(lock, LONG_MS, NULL, call_on_acquire,
                                        &c),
                  LK_OK);
    cure();
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* ---- addresses ---------------------------------------------------------------------- */

static void announce_host(const char *host)
{
    for (size_t i = 0; i < NODES; i++)
        told(nodes[i], "CONFIG SET cluster-announce-ip %s", host);
    for (size_t i = 0; i < NODES; i++)
        wait_known(nodes[i], host, server_port(nodes[i]), "");
}

MADE_TEST(nodes_are_reached_by_ipv6)
{
    lk_client *client;

    if (!has_ipv6())
        skip();
    announce_host("::1");
    client = open_at("[::1]", nodes[0]);
    assert_served(client);
    for (size_t i = 0; i < MASTERS; i++)
        assert_true(node_says(nodes[i], "CLIENT LIST", " addr=[::1]:"));
    announce_host("127.0.0.1");
}

static void announce_port(server *node, unsigned port)
{
    told_number(node, "CONFIG SET cluster-announce-port %s", port);
    wait_known(node, "127.0.0.1", port != 0 ? port : server_port(node), "");
}

/* A proxy before the node of this number. */
static proxy *lead_to(size_t node)
{
    proxy *way;

    if (is_redis_6())
        skip();
    way = proxy_start_tcp(server_socket(nodes[node]));
    assert_non_null(way);
    return way;
}

MADE_TEST(a_port_that_is_announced_is_used)
{
    proxy *way = lead_to(1);
    lk_client *client;

    announce_port(nodes[1], proxy_port(way));
    client = open_at("127.0.0.1", nodes[0]);
    assert_served(client);
    assert_true(proxy_accepted(way) > 0);
    announce_port(nodes[1], 0);
    proxy_stop(way);
    assert_served(client);
}

static void prefer(const char *endpoint)
{
    for (size_t i = 0; i < NODES; i++)
        told(nodes[i], "CONFIG SET cluster-preferred-endpoint-type %s",
             endpoint);
}

MADE_TEST(a_host_may_be_a_name)
{
    lk_client *client;

    if (is_redis_6())
        skip();
    for (size_t i = 0; i < NODES; i++)
        told(nodes[i], "CONFIG SET cluster-announce-hostname %s", "localhost");
    for (size_t i = 0; i < NODES; i++)
        wait_known(nodes[i], "127.0.0.1", server_port(nodes[i]), ",localhost");
    prefer("hostname");
    client = open_at("127.0.0.1", nodes[0]);
    assert_served(client);
    prefer("ip");
}

/* It is the one by which the node was asked that said so. */
MADE_TEST(a_host_may_not_be_said)
{
    lk_client *client;

    if (is_redis_6())
        skip();
    prefer("unknown-endpoint");
    client = open_at("localhost", nodes[0]);
    assert_served(client);
    prefer("ip");
}

/* ---- masters that cannot be used ----------------------------------------------------- */

static void lead_back(void)
{
    announce_port(nodes[0], 0);
}

/* Where its clients are led to the replica. */
MADE_TEST(a_wait_says_that_its_master_is_a_replica)
{
    proxy *way = lead_to(REPLICA);
    lk_client *client;
    lk_lock *lock = NULL;
    char words[WORDS];

    announce_port(nodes[0], proxy_port(way));
    client = open_at("127.0.0.1", nodes[1]);
    lock = made_lock(client, names[0]);
    (void)snprintf(words, sizeof(words),
                   "%s: 127.0.0.1:%u cannot be used: the server is a replica",
                   lk_status_text(LK_ETIMEDOUT), proxy_port(way));
    assert_ends(lock, LK_ETIMEDOUT, words);
    assert_found(lock, lead_back);
    proxy_stop(way);
    assert_true(wait_until(follows, NULL, COME_MS));
}

static unsigned slot(void)
{
    return lk__slot_of(names[0], strlen(names[0]));
}

/* One that forgets it hears of it again as long as others know it. */
static bool is_nobodys(void *data)
{
    char command[64];
    bool is_down = true;

    (void)data;
    (void)snprintf(command, sizeof(command), "CLUSTER DELSLOTS %u", slot());
    for (size_t i = 0; i < NODES; i++) {
        freeReplyObject(server_ask(nodes[i], command));
        is_down = is_down && !node_is_ok(nodes[i]);
    }
    return is_down;
}

static void own_again(void)
{
    assert_true(node_own(nodes[0], slot(), slot()));
}

/* One client knew its master, the other one never did. */
MADE_TEST(a_wait_says_that_its_slot_is_nobodys)
{
    lk_client *old = open_at("127.0.0.1", nodes[0]), *young;
    lk_lock *known = NULL, *unknown = NULL;

    assert_served(old);
    assert_true(wait_until(is_nobodys, NULL, COME_MS));
    young = open_at("127.0.0.1", nodes[0]);
    known = made_lock(old, names[0]);
    unknown = made_lock(young, names[0]);
    assert_ends(known, LK_ESERVER, "CLUSTERDOWN Hash slot not served");
    assert_ends(
        unknown, LK_ETIMEDOUT,
        "the wait ended first; not held: the cluster's master cannot be "
        "reached: no node serves the slot");
    assert_found(unknown, own_again);
    assert_true(wait_until(all_are_ok, NULL, COME_MS));
    assert_served(old);
}

CHECK_GROUP(start, stop)
