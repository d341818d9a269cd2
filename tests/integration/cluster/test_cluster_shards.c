/* SPDX-License-Identifier: MIT */

/*
 * Messages of a cluster whose servers have sharded channels: they stay with the
 * name's master and its replicas, and follow the slot.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "engine/client.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/ringed.h"
#include "support/wait.h"

enum { ROUNDS = 40, TOLD = 6, DEATHS = 10, BRIEF_MS = 700 };

/* ---- what the nodes say ---------------------------------------------------------- */

static long long over_all_nodes(const char *field)
{
    long long sum = 0;

    for (size_t i = 0; i < ringed()->count; i++)
        sum += node_info(ringed()->nodes[i], field);
    return sum;
}

/* What the cluster has had to tell all of its nodes, ever. */
static long long told_to_all(void)
{
    return over_all_nodes("cluster_stats_messages_publish_sent");
}

static long long told_to_shards(void)
{
    return over_all_nodes("cluster_stats_messages_publishshard_sent");
}

static uint64_t rechecks_of(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats.rechecks;
}

static uint64_t grants_of(lk_client *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats.grants;
}

typedef struct pair {
    const char *name;
    lk_lock *held, *wanted; /* of that name */
    lk_client *waiter;      /* that wants it */
} pair;

/* One holds it, and the call waits in line with nothing under way. Hands the name
   over until a message says so, and gives it back. A waiter that looks just then, as
   it does about once a second, finds its grant without the message: such a hand-over
   does not count, but a whole row of them is no chance any more. */
static void assert_told(const pair *p, lk_hold *hold, call *c)
{
    enum { MOST = 40 };
    uint64_t told = grants_of(p->waiter), looked;

    for (unsigned i = 0;; i++) {
        looked = rechecks_of(p->waiter);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(call_wait(c, p->waiter), LK_OK);
        assert_status(lk_hold_release(c->hold), LK_OK);
        if (grants_of(p->waiter) > told)
            break;
        assert_true(rechecks_of(p->waiter) > looked && i < MOST);
        hold = made_hold(p->held);
        *c = (call){0};
        ringed_take(c, p->wanted);
        ringed_wait_line(ringed_master(p->name), p->name, 1);
        locking_wait_calm(p->waiter);
    }
    assert_int_equal(grants_of(p->waiter), told + 1);
}

typedef struct ears {
    server *at;
    const char *pattern;
    size_t most;
} ears;

static bool has_ears(const ears *e)
{
    redisReply *reply =
        server_command(e->at, "PUBSUB SHARDCHANNELS %s", e->pattern);
    bool has = reply->elements == e->most;

    freeReplyObject(reply);
    return has;
}

/* Waits until so many sharded channels are listened to at the server. */
static void wait_ears(server *at, const char *pattern, size_t most)
{
    ears e = {at, pattern, most};

    assert_soon(has_ears(&e), RINGED_LONG_MS);
}

/* ---- hand-overs ------------------------------------------------------------------- */

/* Two clients of one name, in turns. */
typedef struct turns {
    lk_client *clients[2];
    char name[RINGED_NAME];
    server *at;
} turns;

static turns turns_begin(const char *begin)
{
    turns t = {.clients = {ringed_open(NULL), ringed_open(NULL)},
               .at = ringed()->nodes[1]};

    (void)ringed_name(t.name, begin, t.at);
    return t;
}

/* Hands over what take() takes, to and fro; take's wait is the next one's. */
static void hand_on(turns *t, void (*take)(turns *t, unsigned whose, call *c))
{
    call *calls[2] = {made_call(), made_call()};

    take(t, 0, calls[0]);
    assert_status(call_wait(calls[0], NULL), LK_OK);
    for (unsigned i = 0; i < ROUNDS; i++) {
        call *has = calls[i % 2], *wants = calls[(i + 1) % 2];

        memset(wants, 0, sizeof(*wants));
        take(t, (i + 1) % 2, wants);
        ringed_wait_line(t->at, t->name, 1);
        locking_wait_calm(t->clients[(i + 1) % 2]);
        assert_status(lk_hold_release(has->hold), LK_OK);
        assert_status(call_wait(wants, NULL), LK_OK);
    }
    assert_status(lk_hold_release(calls[ROUNDS % 2]->hold), LK_OK);
}

static void take_lock(turns *t, unsigned whose, call *c)
{
    lk_lock *lock = made_lock(t->clients[whose], t->name);

    ringed_take(c, lock);
}

static void take_fairly(turns *t, unsigned whose, call *c)
{
    lk_fairlock *lock = NULL;

    assert_status(lk_fairlock_new(&lock, t->clients[whose], t->name, NULL),
                  LK_OK);
    assert_status(lk_fairlock_acquire_async(lock, LK_FOREVER, NULL,
                                            call_on_acquire, c),
                  LK_OK);
    lk_fairlock_free(lock);
}

static void take_to_write(turns *t, unsigned whose, call *c)
{
    lk_rwlock *lock = NULL;

    assert_status(lk_rwlock_new(&lock, t->clients[whose], t->name, NULL),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write_async(lock, LK_FOREVER, NULL,
                                                call_on_acquire, c),
                  LK_OK);
    lk_rwlock_free(lock);
}

static void take_permit(turns *t, unsigned whose, call *c)
{
    const lk_semaphore_options one = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 1};
    lk_semaphore *semaphore = NULL;

    assert_status(lk_semaphore_new(&semaphore, t->clients[whose], t->name,
                                   &one),
                  LK_OK);
    assert_status(lk_semaphore_acquire_async(semaphore, 1, LK_FOREVER, NULL,
                                             call_on_acquire, c),
                  LK_OK);
    lk_semaphore_free(semaphore);
}

/* Each waits on until it is told; nobody holds anything. */
static void hand_plain_permits(void)
{
    turns t = turns_begin("plain");
    lk_plain_semaphore *semaphores[2] = {NULL, NULL};
    call *c = made_call();

    for (unsigned i = 0; i < 2; i++)
        assert_status(lk_plain_semaphore_new(&semaphores[i], t.clients[i],
                                             t.name),
                      LK_OK);
    assert_status(lk_plain_semaphore_try_set(semaphores[0], 0, 0), LK_OK);
    for (unsigned i = 0; i < ROUNDS; i++) {
        memset(c, 0, sizeof(*c));
        assert_status(lk_plain_semaphore_acquire_async(semaphores[i % 2], 1,
                                                       LK_FOREVER, NULL,
                                                       call_on_done, c),
                      LK_OK);
        ringed_wait_line(t.at, t.name, 1);
        assert_status(lk_plain_semaphore_release(semaphores[(i + 1) % 2], 1),
                      LK_OK);
        assert_status(call_wait(c, NULL), LK_OK);
    }
    lk_plain_semaphore_free(semaphores[0]);
    lk_plain_semaphore_free(semaphores[1]);
}

static void open_latches(void)
{
    turns t = turns_begin("latch");
    lk_latch *latches[2] = {NULL, NULL};
    call *c = made_call();

    for (unsigned i = 0; i < 2; i++)
        assert_status(lk_latch_new(&latches[i], t.clients[i], t.name, NULL),
                      LK_OK);
    for (unsigned i = 0; i < ROUNDS; i++) {
        memset(c, 0, sizeof(*c));
        assert_status(lk_latch_reset(latches[i % 2], 1), LK_OK);
        assert_status(lk_latch_wait_async(latches[i % 2], LK_FOREVER, NULL,
                                          call_on_done, c),
                      LK_OK);
        ringed_wait_line(t.at, t.name, 1);
        assert_status(lk_latch_count_down(latches[(i + 1) % 2], 1), LK_OK);
        assert_status(call_wait(c, NULL), LK_OK);
    }
    lk_latch_free(latches[0]);
    lk_latch_free(latches[1]);
}

/* What is told to whoever may listen. */
static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "value", 5);
}

static void land(void)
{
    turns t = turns_begin("flight");
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;

    assert_status(lk_flight_new(&flight, t.clients[0], t.name, NULL), LK_OK);
    assert_status(lk_flight_do(flight, "key", RINGED_LONG_MS, NULL, compute,
                               NULL, &value),
                  LK_OK);
    lk_flight_value_free(value);
    lk_flight_free(flight);
}

static void lead(void)
{
    turns t = turns_begin("leader");
    lk_leader *leader = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_leader_new(&leader, t.clients[0], t.name, NULL), LK_OK);
    assert_status(lk_leader_campaign(leader, RINGED_LONG_MS, NULL, &hold),
                  LK_OK);
    assert_status(lk_leader_resign(leader, hold), LK_OK);
    lk_leader_free(leader);
}

static void
hand_holds(const char *begin, void (*take)(turns *t, unsigned whose, call *c))
{
    turns t = turns_begin(begin);
    uint64_t grants = 0, looks = 0;

    hand_on(&t, take);
    for (unsigned i = 0; i < 2; i++) {
        grants += grants_of(t.clients[i]);
        looks += rechecks_of(t.clients[i]);
    }
    /* One that finds its grant by looking, once a second, has not been told. */
    assert_in_range(grants, 1, ROUNDS);
    assert_true(grants + looks >= ROUNDS * 9 / 10);
}

MADE_TEST(hand_overs_are_no_concern_of_other_masters)
{
    long long before = told_to_all(), shards = told_to_shards();

    hand_holds("lock", take_lock);
    hand_holds("fair", take_fairly);
    hand_holds("write", take_to_write);
    hand_holds("permit", take_permit);
    hand_plain_permits();
    open_latches();
    land();
    lead();
    assert_int_equal(told_to_all(), before);
    assert_true(told_to_shards() > shards);
}

/* ---- subscriptions that end -------------------------------------------------------- */

/* They have one slot; the first of them is the one that moves. */
static const char *told_name(char name[RINGED_NAME], unsigned i)
{
    (void)snprintf(name, RINGED_NAME, "{told}%u", i);
    return name;
}

MADE_TEST(a_wait_is_told_where_its_slot_is_now)
{
    lk_client *holder = ringed_open(NULL), *waiter = ringed_open(NULL);
    server *from = ringed_master("{told}"), *to = ringed_other("{told}");
    lk_hold *holds[TOLD] = {NULL};
    call *calls[TOLD] = {NULL};
    char name[RINGED_NAME];
    uint64_t rechecks;

    for (unsigned i = 0; i < TOLD; i++) {
        lk_lock *held = made_lock(holder, told_name(name, i));
        lk_lock *wanted = made_lock(waiter, name);

        holds[i] = made_hold(held);
        calls[i] = made_call();
        ringed_take(calls[i], wanted);
    }
    wait_ears(from, "latchkey::{told}*", TOLD);
    for (unsigned i = 0; i < TOLD; i++)
        assert_soon(server_integer(from, "ZCARD latchkey::%s:q",
                                   told_name(name, i)) > 0,
                    RINGED_LONG_MS);
    locking_wait_calm(waiter);
    rechecks = rechecks_of(waiter);
    cluster_move(ringed(), ringed_slot("{told}"), to);
    wait_ears(to, "latchkey::{told}*", TOLD);
    wait_ears(from, "latchkey::{told}*", 0);
    assert_soon(rechecks_of(waiter) >= rechecks + TOLD,
                (unsigned)wait_allowed_ms(BRIEF_MS));
    for (unsigned i = 0; i < TOLD; i++) {
        assert_status(lk_hold_release(holds[i]), LK_OK);
        assert_status(call_wait(calls[i], waiter), LK_OK);
        assert_status(lk_hold_release(calls[i]->hold), LK_OK);
    }
    assert_in_range(grants_of(waiter), TOLD - 1, TOLD);
}

/* The server ends the subscription, and has the slot all the same: nothing else says
   that there is none. The waiter looks once it has heard that it listens again; the
   name is free only after that look, which would get it without a message. */
MADE_TEST(a_subscription_that_ends_is_made_anew)
{
    lk_client *holder = ringed_open(NULL), *waiter = ringed_open(NULL);
    lk_lock *held = made_lock(holder, "fresh");
    lk_lock *wanted = made_lock(waiter, "fresh");
    server *at = ringed_master("fresh");
    unsigned slot = ringed_slot("fresh");
    lk_hold *hold = made_hold(held);
    uint64_t least;
    call *c = made_call();

    ringed_take(c, wanted);
    ringed_wait_line(at, "fresh", 1);
    locking_wait_calm(waiter);
    least = rechecks_of(waiter) + 1;
    assert_true(node_says(at, "MULTI", "OK"));
    freeReplyObject(server_command(at, "CLUSTER DELSLOTS %u", slot));
    freeReplyObject(server_command(at, "CLUSTER ADDSLOTS %u", slot));
    freeReplyObject(server_command(at, "EXEC"));
    wait_ears(at, "latchkey:{fresh}:i:*", 1);
    assert_soon(rechecks_of(waiter) >= least, RINGED_LONG_MS);
    locking_wait_calm(waiter);
    assert_told(&(pair){"fresh", held, wanted, waiter}, hold, c);
}

/* A wait looks about once a second by itself; that many looks do not count. */
MADE_TEST(a_wait_looks_when_it_may_not_have_been_told)
{
    lk_client *holder = ringed_open(NULL), *waiter = ringed_open(NULL);
    lk_lock *held = made_lock(holder, "deaf");
    lk_lock *wanted = made_lock(waiter, "deaf");
    server *at = ringed_master("deaf");
    lk_hold *hold = made_hold(held);
    call *c = made_call();
    uint64_t before, begin;

    ringed_take(c, wanted);
    ringed_wait_line(at, "deaf", 1);
    before = rechecks_of(waiter);
    begin = wait_now_ms();
    for (unsigned i = 0; i < DEATHS; i++) {
        wait_ears(at, "latchkey:{deaf}:i:*", 1);
        assert_true(server_integer(at, "CLIENT KILL TYPE pubsub") >= 1);
    }
    wait_ears(at, "latchkey:{deaf}:i:*", 1);
    assert_true(rechecks_of(waiter) + 1 >=
                before + DEATHS + (wait_now_ms() - begin) / 1100);
    assert_int_equal(c->ends, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(c, waiter), LK_OK);
    assert_status(lk_hold_release(c->hold), LK_OK);
}

/* Waits in vain, for a moment. */
static void wait_briefly(lk_client *client, const char *name)
{
    lk_fairlock *lock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_fairlock_new(&lock, client, name, NULL), LK_OK);
    assert_status(lk_fairlock_acquire(lock, BRIEF_MS, NULL, &hold),
                  LK_ETIMEDOUT);
    lk_fairlock_free(lock);
}

/* A lock and a fair lock of one name have one channel, which goes when nobody has
   waited for ten seconds. */
MADE_TEST(the_end_of_one_wait_does_not_deafen_another)
{
    lk_client *holder = ringed_open(NULL), *waiter = ringed_open(NULL);
    lk_lock *held = made_lock(holder, "{ear}both");
    lk_lock *wanted = made_lock(waiter, "{ear}both");
    lk_lock *aside = made_lock(holder, "{ear}aside");
    lk_hold *hold = made_hold(held), *other = made_hold(aside);
    server *at = ringed_master("{ear}");
    call *c = made_call();

    ringed_take(c, wanted);
    wait_ears(at, "latchkey::{ear}both:i:*", 1);
    wait_briefly(waiter, "{ear}both");
    wait_briefly(waiter, "{ear}aside");
    wait_ears(at, "latchkey::{ear}aside:i:*", 1);
    wait_ears(at, "latchkey::{ear}aside:i:*", 0);
    wait_ears(at, "latchkey::{ear}both:i:*", 1);
    locking_wait_calm(waiter);
    assert_told(&(pair){"{ear}both", held, wanted, waiter}, hold, c);
    assert_status(lk_hold_release(other), LK_OK);
}

/* A name whose latch has Redisson's channel at another master. */
static void far_name(char name[RINGED_NAME])
{
    char channel[96];
    unsigned i = 0;

    do {
        (void)snprintf(name, RINGED_NAME, "{far%u}latch", i++);
        (void)snprintf(channel, sizeof(channel),
                       "redisson_countdownlatch__channel__{%s}", name);
    } while (ringed_master(channel) == ringed_master(name));
}

/* The channel is in another slot than the name, so it is a plain one. */
MADE_TEST(a_latch_with_a_tag_is_told_all_the_same)
{
    lk_client *a = ringed_open(NULL), *b = ringed_open(NULL);
    lk_latch *here = NULL, *there = NULL;
    char name[RINGED_NAME];
    call *c = made_call();

    far_name(name);
    assert_status(lk_latch_new(&here, a, name, NULL), LK_OK);
    assert_status(lk_latch_new(&there, b, name, NULL), LK_OK);
    assert_status(lk_latch_try_set_count(here, 1), LK_OK);
    assert_status(lk_latch_wait_async(there, LK_FOREVER, NULL, call_on_done, c),
                  LK_OK);
    assert_soon(server_integer(ringed_master(name), "ZCARD latchkey::%s:q",
                               name) > 0,
                RINGED_LONG_MS);
    assert_status(lk_latch_count_down(here, 1), LK_OK);
    assert_status(call_wait(c, b), LK_OK);
    lk_latch_free(here);
    lk_latch_free(there);
}

/* ---- rights ----------------------------------------------------------------------------- */

/* A user who may all but hear and tell other channels than those of the clients,
   and of names that begin with "orders:". */
static void make_tenant(void)
{
    for (size_t i = 0; i < ringed()->count; i++)
        assert_true(node_says(ringed()->nodes[i],
                              "ACL SETUSER tenant on >secret ~* +@all "
                              "resetchannels &latchkey:in::* "
                              "&latchkey:{orders:*",
                              "OK"));
}

static lk_client *open_tenant(void)
{
    char url[256];

    (void)snprintf(url, sizeof(url),
                   "redis+cluster://tenant:secret@127.0.0.1:%u",
                   server_port(ringed()->nodes[0]));
    return made_client(url, NULL);
}

MADE_TEST(a_user_without_the_right_is_denied_to_wait)
{
    lk_client *holder = ringed_open(NULL), *tenant;
    lk_lock *held = made_lock(holder, "billing:1"), *wanted;
    lk_hold *hold = made_hold(held);
    call *c = made_call();

    make_tenant();
    tenant = open_tenant();
    wanted = made_lock(tenant, "billing:1");
    ringed_take(c, wanted);
    assert_status(call_wait(c, tenant), LK_EDENIED);
    assert_non_null(strstr(c->words, "SSUBSCRIBE latchkey:{billing:1}:i:"));
    assert_non_null(strstr(c->words, tenant->id)); /* all of the channel */
    assert_non_null(strstr(c->words, ": NOPERM "));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(server_integer(ringed_master("billing:1"),
                                    "ZCARD latchkey:{billing:1}:q"),
                     0);
}

/* Nor can such a user tell anybody of names that are not his. */
MADE_TEST(a_user_is_told_of_his_own_names_alone)
{
    lk_client *holder = ringed_open(NULL), *tenant;
    lk_lock *held = made_lock(holder, "orders:1"), *wanted;
    lk_hold *hold = made_hold(held);
    server *at = ringed_master("billing:1");
    call *c = made_call();

    make_tenant();
    tenant = open_tenant();
    wanted = made_lock(tenant, "orders:1");
    ringed_take(c, wanted);
    ringed_wait_line(ringed_master("orders:1"), "orders:1", 1);
    locking_wait_calm(tenant);
    assert_told(&(pair){"orders:1", held, wanted, tenant}, hold, c);

    assert_true(node_says(at,
                          "ACL DRYRUN tenant SPUBLISH latchkey:{billing:1}:i:x "
                          "grant",
                          "no permissions"));
    assert_true(node_says(at,
                          "ACL DRYRUN tenant SSUBSCRIBE "
                          "latchkey:{billing:1}:i:x",
                          "no permissions"));
}

int test_cluster_shards(void)
{
    if (ringed_start(NULL) != 0)
        return 1;
    if (!node_says(ringed()->nodes[0], "SSUBSCRIBE",
                   "wrong number of arguments"))
        return SERVER_LACKS;
    return check_all(NULL, ringed_stop);
}
