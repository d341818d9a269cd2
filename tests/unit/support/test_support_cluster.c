/* SPDX-License-Identifier: MIT */

/* The clusters that tests start. */

#include <stdlib.h>
#include <string.h>

#include "base/slot.h"
#include "support/check.h"
#include "support/cluster.h"
#include "support/cluster_inside.h"
#include "support/wait.h"

enum { MASTERS = 3, KEYS = 5 };

static cluster *c;

static int start(NO_STATE)
{
    c = getenv("LK_TEST_TLS") != NULL ? cluster_start(MASTERS, 1)
                                      : cluster_start_apart(MASTERS, 1);
    return c != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    cluster_stop(c);
    return 0;
}

static int setup(NO_STATE)
{
    cluster_wait_whole(c);
    for (size_t i = 0; i < c->count; i++) {
        server_reconnect(c->nodes[i]);
        freeReplyObject(server_ask(c->nodes[i], "FLUSHALL"));
    }
    return 0;
}

static unsigned slot(void)
{
    return lk__slot_of("{t}", strlen("{t}"));
}

/* Whether a command of one node is answered by an error that begins so. */
static bool refuses(server *node, const char *command, const char *words)
{
    redisReply *reply = server_command(node, command);
    bool refuses = reply->type == REDIS_REPLY_ERROR &&
                   strncmp(reply->str, words, strlen(words)) == 0;

    if (!refuses)
        print_error("%s: %s\n", command, reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
    return refuses;
}

static bool agrees(server *node, const char *command)
{
    redisReply *reply = server_command(node, command);
    bool agrees = reply->type != REDIS_REPLY_ERROR;

    if (!agrees)
        print_error("%s: %s\n", command, reply->str);
    freeReplyObject(reply);
    return agrees;
}

#define CLUSTER_TEST(name) CHECK_TEST_OF(name, NO_STATE, setup, NULL)

CLUSTER_TEST(all_slots_are_shared)
{
    assert_ptr_equal(cluster_master_of(c, 0), c->nodes[0]);
    assert_ptr_equal(cluster_master_of(c, LK__SLOTS / 3 - 1), c->nodes[0]);
    assert_ptr_equal(cluster_master_of(c, LK__SLOTS / 3), c->nodes[1]);
    assert_ptr_equal(cluster_master_of(c, LK__SLOTS - 1), c->nodes[2]);
    assert_int_equal(c->count, 2 * MASTERS);
    for (size_t i = 0; i < c->count; i++) {
        assert_int_equal(node_info(c->nodes[i], "cluster_slots_assigned"),
                         LK__SLOTS);
        assert_int_equal(node_info(c->nodes[i], "cluster_known_nodes"),
                         2 * MASTERS);
        assert_int_equal(node_info(c->nodes[i], "cluster_size"), MASTERS);
    }
}

CLUSTER_TEST(two_clusters_know_nothing_of_each_other)
{
    cluster *other = cluster_start(2, 0);

    assert_non_null(other);
    assert_int_equal(node_info(other->nodes[1], "cluster_known_nodes"), 2);
    assert_int_equal(node_info(c->nodes[0], "cluster_known_nodes"),
                     2 * MASTERS);
    assert_true(agrees(cluster_master_of(other, slot()), "SET {t}a 1"));
    assert_int_equal(server_integer(cluster_master_of(c, slot()),
                                    "EXISTS {t}a"),
                     0);
    cluster_stop(other);
}

CLUSTER_TEST(a_published_message_goes_to_all_nodes)
{
    static const char field[] = "cluster_stats_messages_publish_sent";
    server *node = c->nodes[0];
    long long before = node_info(node, field);

    (void)server_integer(node, "PUBLISH news x");
    assert_int_equal(node_info(node, field), before + 2LL * MASTERS - 1);
}

static server *another_master(const server *than)
{
    server *first = cluster_master_of(c, 0);

    return first != than ? first : cluster_master_of(c, LK__SLOTS - 1);
}

CLUSTER_TEST(a_slot_moves_with_its_keys)
{
    server *from = cluster_master_of(c, slot());
    server *to = another_master(from);

    for (int i = 0; i < KEYS; i++)
        assert_int_equal(server_integer(from, "INCRBY {t}%d 7", i), 7);
    cluster_move(c, slot(), to);
    assert_ptr_equal(cluster_master_of(c, slot()), to);
    assert_true(refuses(from, "GET {t}0", "MOVED "));
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(server_integer(to, "INCRBY {t}%d 1", i), 8);
    cluster_move(c, slot(), from);
    assert_ptr_equal(cluster_master_of(c, slot()), from);
    assert_int_equal(server_integer(from, "EXISTS {t}0"), 1);
}

CLUSTER_TEST(between_the_steps_a_slot_is_half_moved)
{
    server *from = cluster_master_of(c, slot());
    server *to = another_master(from);

    for (int i = 0; i < 2; i++)
        (void)server_integer(from, "INCR {t}%d", i);
    cluster_move_begin(c, slot(), to);
    assert_true(agrees(from, "MGET {t}0 {t}1"));
    assert_int_equal(cluster_move_keys(c, slot(), to, 1), 1);
    assert_true(refuses(from, "GET {t}new", "ASK "));
    assert_true(refuses(from, "MGET {t}0 {t}1", "TRYAGAIN ") ||
                refuses(from, "MGET {t}0 {t}1", "ASK ")); /* 6.2 */
    assert_true(refuses(to, "GET {t}0", "MOVED "));
    assert_int_equal(cluster_move_keys(c, slot(), to, 10), 1);
    assert_int_equal(cluster_move_keys(c, slot(), to, 10), 0);
    cluster_move_end(c, slot(), to);
    assert_true(agrees(to, "MGET {t}0 {t}1"));
    cluster_move(c, slot(), from);
}

CLUSTER_TEST(a_replica_takes_the_place_of_its_master)
{
    server *from = cluster_master_of(c, slot());
    server *to;

    assert_true(agrees(from, "SET {t}a 1"));
    to = cluster_failover(c, from);
    assert_ptr_not_equal(to, from);
    assert_ptr_equal(cluster_master_of(c, slot()), to);
    assert_int_equal(server_integer(to, "INCR {t}a"), 2);
    assert_true(refuses(from, "GET {t}a", "MOVED "));
}

CLUSTER_TEST(a_replica_follows_a_killed_master)
{
    server *from = cluster_master_of(c, slot());
    server *to;

    cluster_kill(c, from);
    to = cluster_wait_other(c, slot(), from);
    assert_true(agrees(to, "SET {t}a 1"));
    assert_true(server_restart(from));
    cluster_wait_whole(c);
    assert_true(refuses(from, "GET {t}a", "MOVED "));
}

CLUSTER_TEST(a_frozen_master_is_replaced)
{
    server *from = cluster_master_of(c, slot());
    server *to;

    server_freeze(from);
    to = cluster_takeover(c, from);
    assert_ptr_equal(cluster_master_of(c, slot()), to);
    assert_true(agrees(to, "SET {t}a 1"));
    server_thaw(from);
    cluster_wait_whole(c);
    assert_true(refuses(from, "GET {t}a", "MOVED "));
}

static bool serves_nobody(void *data)
{
    redisReply *reply = server_ask(data, "SET {t}a 1");
    bool is_down = reply != NULL && reply->type == REDIS_REPLY_ERROR &&
                   strncmp(reply->str, "CLUSTERDOWN ", 12) == 0;

    freeReplyObject(reply);
    return is_down;
}

/* Clients reach it, and no node does: another one is elected, and it ends. */
CLUSTER_TEST(an_isolated_master_ends_by_itself)
{
    server *alone = cluster_master_of(c, slot());

    if (c->bus == NULL)
        skip();
    cluster_rest(c, alone);
    cluster_isolate(c, alone);
    assert_true(agrees(alone, "SET {t}a 1"));
    assert_ptr_not_equal(cluster_wait_other(c, slot(), alone), alone);
    assert_true(wait_until(serves_nobody, alone, 60000));
    cluster_join(c);
    assert_true(agrees(cluster_master_of(c, slot()), "SET {t}a 1"));
}

CLUSTER_TEST(a_master_comes_and_goes)
{
    server *from = cluster_master_of(c, slot());
    server *added = cluster_add(c);

    assert_int_equal(c->count, 2 * MASTERS + 1);
    assert_true(agrees(from, "SET {t}a 1"));
    cluster_move(c, slot(), added);
    cluster_wait_whole(c);
    assert_int_equal(server_integer(added, "INCR {t}a"), 2);
    assert_int_equal(node_info(from, "cluster_size"), MASTERS + 1);
    cluster_move(c, slot(), from);
    cluster_remove(c, added);
    assert_int_equal(c->count, 2 * MASTERS);
    for (size_t i = 0; i < c->count; i++)
        assert_int_equal(node_info(c->nodes[i], "cluster_known_nodes"),
                         2 * MASTERS);
    assert_int_equal(server_integer(from, "INCR {t}a"), 3);
}

CLUSTER_TEST(who_forgets_that_nodes_met_meets_them_again)
{
    server *added = cluster_add(c);
    char *ok = server_string(added, "CLUSTER RESET SOFT");

    assert_string_equal(ok, "OK");
    free(ok);
    assert_int_equal(node_info(added, "cluster_known_nodes"), 1);
    assert_true(cluster_wait_known(c));
    cluster_remove(c, added);
}

CLUSTER_TEST(nodes_speak_tls)
{
    cluster *tls;
    server *from, *to;

    if (server_lacks_tls())
        skip();
    tls = cluster_start_tls(2, 1);
    assert_non_null(tls);
    from = cluster_master_of(tls, slot());
    to = tls->nodes[from == tls->nodes[0]];
    assert_true(agrees(from, "SET {t}a 1"));
    cluster_move(tls, slot(), to);
    assert_int_equal(server_integer(to, "INCR {t}a"), 2);
    assert_ptr_not_equal(cluster_failover(tls, to), to);
    cluster_stop(tls);
}

int test_support_cluster(void)
{
    return check_all(start, stop);
}
