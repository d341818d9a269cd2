/* SPDX-License-Identifier: MIT */

/*
 * Two tenants of one server, each with the rights that `latchkey doctor --acl`
 * prints for it: each works, and neither reaches a key or a channel of the other.
 */

#include <latchkey/latchkey.h>

#include <hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/rights.h"
#include "support/tool.h"

enum { RULES_SIZE = 8192 };

static locking *f;

static int setup(void **state)
{
    int code = locking_setup(state);

    f = *state;
    return code;
}

static int teardown(void **state)
{
    tool_free_all();
    return locking_teardown(state);
}

/* ---- the tenants ----------------------------------------------------------------- */

/* A user of that tenant's name, with names that begin so. */
static void user_make(const char *tenant, const char *prefix)
{
    char *rules = rights_printed_for(NULL, prefix, tenant);
    char text[RULES_SIZE];
    redisReply *reply;

    (void)snprintf(text, sizeof(text), "ACL SETUSER %s reset on >secret %s",
                   tenant, rules);
    reply = server_command(f->server, text);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    free(rules);
}

/* The same, with names that begin with the tenant and a colon. */
static void tenant_make(const char *tenant)
{
    char prefix[64];

    (void)snprintf(prefix, sizeof(prefix), "%s:", tenant);
    user_make(tenant, prefix);
}

static lk_client *tenant_open(const char *tenant)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = tenant,
                                       .password = "secret", .tenant = tenant};

    return locking_open(f, &options);
}

/* A hold is handed to a waiter, which is told of it. */
static void hand_over(const char *tenant)
{
    lk_client *a = tenant_open(tenant), *b = tenant_open(tenant);
    lk_hold *hold;
    char name[64];
    taker *t;

    (void)snprintf(name, sizeof(name), "%s:1", tenant);
    hold = locking_hold(locking_lock(f, a, name));
    t = locking_take(f, locking_lock(f, b, name), 10000, NULL);
    locking_wait_waiting(b, 1);
    locking_wait_queued(f, name, 1);
    locking_wait_calm(b);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(locking_stats(b).grants, 1);
}

/* ---- the attacker ---------------------------------------------------------------- */

static redisContext *attacker_connect(const char *user)
{
    redisContext *to = redisConnect("127.0.0.1", (int)server_port(f->server));
    redisReply *reply;

    assert_non_null(to);
    reply = redisCommand(to, "AUTH %s secret", user);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    return to;
}

static void
assert_refused(redisContext *to, const char *format, const char *word)
{
    redisReply *reply = redisCommand(to, format, word);

    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_ERROR ||
        (strstr(reply->str, "NOPERM") == NULL &&
         strstr(reply->str, "can't access") == NULL &&
         strstr(reply->str, "No permissions to access") == NULL))
        fail_msg("'%s' of %s was not refused: %s", format, word,
                 reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
}

static void attack_key(redisContext *to, const char *key)
{
    assert_refused(to, "DEL %s", key);
    assert_refused(to, "GET %s", key);
    assert_refused(to, "HGETALL %s", key);
    assert_refused(to, "ZADD %s 1 x", key);
    assert_refused(to, "PEXPIRE %s 1", key);
    assert_refused(to, "EVAL return(1) 1 %s", key);
    assert_refused(to, "EVAL redis.call('DEL','%s') 0", key);
}

static void attack_channel(redisContext *to, const char *channel)
{
    assert_refused(to, "PUBLISH %s x", channel);
    assert_refused(to, "SUBSCRIBE %s", channel);
}

/* Each word of a list that the server tells; returns how many. */
static size_t attack_all(redisContext *to, const char *list, const char *but,
                         void (*attack)(redisContext *to, const char *word))
{
    redisReply *reply = server_command(f->server, list);
    size_t count = 0;

    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i < reply->elements; i++) {
        if (strcmp(reply->element[i]->str, but) == 0)
            continue;
        attack(to, reply->element[i]->str);
        count++;
    }
    freeReplyObject(reply);
    return count;
}

/* ---- what the tenant has --------------------------------------------------------- */

/* Takes a name of each kind that leaves keys. */
static void take_names(lk_client *client, lk_hold *holds[2])
{
    const lk_semaphore_options two = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 2};
    lk_rwlock *rwlock = NULL;
    lk_semaphore *semaphore = NULL;
    lk_latch *latch = NULL;

    assert_status(lk_rwlock_new(&rwlock, client, "billing:2", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_write(rwlock, 0, NULL, &holds[0]), LK_OK);
    assert_status(lk_semaphore_new(&semaphore, client, "billing:3", &two),
                  LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 1, 0, NULL, &holds[1]),
                  LK_OK);
    assert_status(lk_latch_new(&latch, client, "billing:4", NULL), LK_OK);
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    lk_latch_free(latch);
    lk_semaphore_free(semaphore);
    lk_rwlock_free(rwlock);
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, setup, teardown)

/* ---- the tests ------------------------------------------------------------------- */

TEST(each_tenant_works_with_its_own_rights)
{
    tenant_make("orders");
    tenant_make("billing");
    hand_over("orders");
    hand_over("billing");
}

TEST(a_tenant_reaches_no_key_and_no_channel_of_another)
{
    lk_client *holder, *waiter;
    redisContext *to;
    lk_hold *hold, *others[2];
    taker *t;

    tenant_make("orders");
    tenant_make("billing");
    holder = tenant_open("billing");
    waiter = tenant_open("billing");
    take_names(holder, others);
    hold = locking_hold(locking_lock(f, holder, "billing:1"));
    t = locking_take(f, locking_lock(f, waiter, "billing:1"), 10000, NULL);
    locking_wait_queued(f, "billing:1", 1);
    locking_wait_calm(waiter);

    to = attacker_connect("orders");
    assert_in_range(attack_all(to, "KEYS *", "", attack_key), 8, 100);
    assert_in_range(attack_all(to, "PUBSUB CHANNELS *", "", attack_channel), 2,
                    100);
    redisFree(to);

    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(locking_stats(waiter).grants, 1);
    assert_status(lk_hold_release(others[0]), LK_OK);
    assert_status(lk_hold_release(others[1]), LK_OK);
}

/* Tenants that begin alike, and none. */
TEST(a_tenant_does_not_fit_a_longer_one)
{
    redisContext *to;

    tenant_make("a");
    to = attacker_connect("a");
    attack_channel(to, "latchkey:in:a-b:x");
    attack_channel(to, "latchkey:in:ab:x");
    attack_channel(to, "latchkey:in::x");
    attack_key(to, "latchkey:client:ab:x");
    attack_key(to, "latchkey:client::x");
    redisFree(to);
}

TEST(a_tenant_is_a_word)
{
    static const char *const bad[] = {
        "a:", "a b", "{a}", "*", "a?", "", "a23456789012345678901234567890123"};
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_status(lk_client_options_set(&options, "tenant", bad[i]),
                      LK_EINVAL);
    assert_status(lk_client_options_set(&options, "tenant", "Az-09_."), LK_OK);
    assert_tool(NULL, 64, "", "tenant may hold letters", "doctor", "--acl",
                "--tenant", "a:", NULL);
    assert_tool(NULL, 64, "", "for --acl", "doctor", "--tenant", "a", NULL);
}

TEST(a_tenant_is_told_of_its_own_clients)
{
    lk_info *info = NULL;
    lk_hold *hold;
    lk_lock *lock;

    tenant_make("orders");
    lock = locking_lock(f, tenant_open("orders"), "orders:1");
    hold = locking_hold(lock);
    assert_status(lk_lock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_string_not_equal(info->holders[0]->host, "");
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Neither may tell the other anything: the name goes by looking. */
TEST(two_tenants_may_share_a_name)
{
    lk_client *a, *b;
    lk_hold *hold;
    taker *t;

    user_make("orders", "shared:");
    user_make("billing", "shared:");
    a = tenant_open("orders");
    b = tenant_open("billing");
    hold = locking_hold(locking_lock(f, a, "shared:1"));
    t = locking_take(f, locking_lock(f, b, "shared:1"), 10000, NULL);
    locking_wait_waiting(b, 1);
    locking_wait_queued(f, "shared:1", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_int_equal(locking_stats(b).grants, 0);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
