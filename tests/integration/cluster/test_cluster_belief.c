/* SPDX-License-Identifier: MIT */

/*
 * How far a master of a cluster is believed: while most masters name it; and one
 * that took the place of another not before nobody believes that one.
 */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/cluster_inside.h"
#include "support/ringed.h"
#include "support/wait.h"

enum { BELIEF_MS = 3000, SOME_MS = 2 * BELIEF_MS };

static const lk_client_options fast = {LK_CLIENT_OPTIONS_INIT,
                                       .failover = LK_FAILOVER_FAST};

/* ---- an election that not all hear of --------------------------------------- */

/* Three masters of which one is replaced. */
typedef struct election {
    server *before, *next;
    server *deaf, *hears; /* the others */
    char name[RINGED_NAME];
} election;

static void tell(server *node, const char *format, const char *word)
{
    redisReply *reply = server_command(node, format, word);

    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    freeReplyObject(reply);
}

/* Whether a node sends the name's requests there. */
static bool sends_to(server *node, const char *name, server *to)
{
    redisReply *reply = server_ask(node, "GET %s", name);
    char place[16];
    bool does;

    (void)snprintf(place, sizeof(place), ":%u", server_port(to));
    does = reply != NULL && reply->type == REDIS_REPLY_ERROR &&
           strstr(reply->str, "MOVED") != NULL &&
           strstr(reply->str, place) != NULL;
    freeReplyObject(reply);
    return does;
}

/* Nodes where this user is off take no such client. */
static lk_client *far_open(const server *at)
{
    char url[64];

    for (size_t i = 0; i < ringed()->count; i++)
        tell(ringed()->nodes[i], "ACL SETUSER far %s >far ~* &* +@all", "on");
    (void)snprintf(url, sizeof(url), "redis+cluster://far:far@127.0.0.1:%u",
                   server_port(at));
    return made_client(url, NULL);
}

/* Whoever was the master before, after the tests before. */
static election election_of(const char *begin)
{
    election e = {.before = cluster_master_of(ringed(), 0), .name = ""};

    e.next = cluster_replica_of(ringed(), e.before);
    for (size_t i = 0; i < ringed()->count; i++) {
        server *node = ringed()->nodes[i];

        if (node == e.before || !cluster_is_master(node))
            continue;
        if (e.deaf == NULL)
            e.deaf = node;
        else
            e.hears = node;
    }
    (void)ringed_name(e.name, begin, e.before);
    return e;
}

/* For a minute neither the one before nor the deaf one hears of the next one from
   anybody. */
static void elect(election *e)
{
    const char *id = ringed()->ids[cluster_index(ringed(), e->next)];

    tell(e->before, "CLUSTER FORGET %s", id);
    tell(e->deaf, "CLUSTER FORGET %s", id);
    tell(e->next, "CLUSTER FAILOVER %s", "TAKEOVER");
    assert_soon(sends_to(e->hears, e->name, e->next), RINGED_LONG_MS);
}

static void reconcile(const election *e)
{
    char port[8];

    (void)snprintf(port, sizeof(port), "%u", server_port(e->next));
    tell(e->before, "CLUSTER MEET 127.0.0.1 %s", port);
    tell(e->deaf, "CLUSTER MEET 127.0.0.1 %s", port);
    for (size_t i = 0; i < ringed()->count; i++)
        server_reconnect(ringed()->nodes[i]);
    cluster_wait_whole(ringed());
}

/* Of later servers all forget whom one does. */
static bool can_forget_alone(server *node)
{
    return node_says(node, "INFO server", "redis_version:6.") ||
           node_says(node, "INFO server", "redis_version:7.0");
}

/*
 * One client hears the master that was replaced and one that does not know of it,
 * the other one hears the new one and the third: each of them two of three. What the
 * first one holds the other does not get before it is lost.
 */
MADE_TEST(nobody_holds_twice_where_not_all_hear_of_an_election)
{
    election e = election_of("heard");
    lk_client *far = far_open(e.before), *near = ringed_open(NULL);
    lk_lock *far_lock, *near_lock;
    lk_hold *held, *hold = NULL;
    lk_status status;

    if (!can_forget_alone(e.before))
        skip();
    far_lock = made_lock(far, e.name);
    near_lock = made_lock(near, e.name);
    assert_status(lk_hold_release(made_hold(near_lock)), LK_OK);
    assert_status(lk_hold_release(made_hold(far_lock)), LK_OK);
    tell(e.hears, "ACL SETUSER far %s", "off");
    tell(e.hears, "CLIENT KILL USER %s", "far");
    server_wait_copied(e.before, e.name, 1);
    elect(&e);
    held = made_hold(far_lock);
    status = lk_lock_acquire(near_lock, SOME_MS, NULL, &hold);
    assert_true(status != LK_OK || lk_hold_check(held) != LK_OK);
    if (sends_to(e.deaf, e.name, e.before)) { /* the minute is not over */
        assert_status(status, LK_ETIMEDOUT);
        if (lk_hold_check(held) != LK_OK) /* the machine stood still */
            assert_unreachable(lk_hold_loss(held));
    }
    reconcile(&e);
    if (hold == NULL)
        hold = made_hold(near_lock);
    assert_status(lk_hold_check(held), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_OK);
    (void)lk_hold_release(held);
}

/* ---- what a client believes ------------------------------------------------ */

MADE_TEST(a_master_is_believed_while_most_name_it)
{
    server *at = cluster_master_of(ringed(), 0);
    lk_client *client = ringed_open(NULL), *other = ringed_open(&fast);
    char name[RINGED_NAME], name_fast[RINGED_NAME];
    lk_lock *lock = made_lock(client, ringed_name(name, "safe", at));
    lk_lock *lock_fast = made_lock(other, ringed_name(name_fast, "fast", at));
    lk_hold *hold = made_hold(lock), *hold_fast = made_hold(lock_fast);
    lk_hold *none = NULL;
    uint64_t began;
    struct pollfd readable = {.fd = lk_hold_fd(hold), .events = POLLIN};

    assert_int_equal(poll(&readable, 1, BELIEF_MS + 500), 0);
    for (size_t i = 0; i < ringed()->count; i++) {
        if (ringed()->nodes[i] != at)
            server_freeze(ringed()->nodes[i]);
    }
    began = wait_now_ms();
    assert_soon(lk_hold_check(hold) == LK_ELOST, 2 * BELIEF_MS);
    assert_int_equal(poll(&readable, 1, BELIEF_MS), 1);
    assert_true(wait_now_ms() - began <= wait_allowed_ms(BELIEF_MS + 100));
    assert_unreachable(lk_hold_loss(hold));
    assert_status(lk_hold_check(hold_fast), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_lock_acquire(lock, 100, NULL, &none), LK_ETIMEDOUT);
    for (size_t i = 0; i < ringed()->count; i++) {
        if (ringed()->nodes[i] != at)
            server_thaw(ringed()->nodes[i]);
    }
    cluster_wait_whole(ringed());
    hold = made_hold(lock);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_hold_release(hold_fast);
}

/* Since then it is a master, or a moment later. It knows of all that was given
   back: a hold that it still had would be waited for. */
static uint64_t take_over(server *before, const char *name)
{
    uint64_t began;

    server_wait_copied(before, name, 1);
    server_freeze(before);
    began = wait_now_ms();
    (void)cluster_takeover(ringed(), before);
    return began;
}

MADE_TEST(nothing_is_taken_from_a_new_master_at_once)
{
    server *before = cluster_master_of(ringed(), 0);
    lk_client *safe = ringed_open(NULL), *quick = ringed_open(&fast);
    lk_client *late;
    char one[RINGED_NAME], two[RINGED_NAME], three[RINGED_NAME];
    lk_lock *held = made_lock(safe, ringed_name(one, "one", before));
    lk_lock *quickly = made_lock(quick, ringed_name(two, "two", before));
    lk_lock *lately;
    lk_hold *hold;
    uint64_t began;

    (void)ringed_name(three, "three", before);
    hold = made_hold(held);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = made_hold(quickly);
    assert_status(lk_hold_release(hold), LK_OK);
    began = take_over(before, two);
    hold = made_hold(quickly);
    assert_true(wait_now_ms() - began < wait_allowed_ms(BELIEF_MS));
    assert_status(lk_hold_release(hold), LK_OK);

    /* Whoever comes now does not know how long it has been one. */
    late = ringed_open(NULL);
    lately = made_lock(late, three);
    hold = made_hold(lately);
    assert_true(wait_now_ms() - began >= BELIEF_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = made_hold(held);
    assert_true(wait_now_ms() - began >= BELIEF_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    server_thaw(before);
    cluster_wait_whole(ringed());
}

CHECK_GROUP(ringed_start, ringed_stop)
