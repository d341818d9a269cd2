/* SPDX-License-Identifier: MIT */

/*
 * The rights that docs/trust.md and each primitive's page name: they are enough
 * for names that begin with "orders:", and let nobody near the others'.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"

#define COMMON                                                                 \
    "on >secret resetkeys resetchannels -@all +auth +ping +select "            \
    "+client|setname +client|id +info +eval +evalsha +publish +subscribe "     \
    "+unsubscribe +pubsub|numsub +time +@hash +@sortedset +get +mget +set "    \
    "+del +exists +pexpire +pttl "                                             \
    "~orders:* ~latchkey:{orders:* ~latchkey:*:{orders:* "                     \
    "~latchkey:client:* &latchkey:in:* "

static const lk_client_options app = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                      .password = "secret"};

static const char name[] = "orders:1";

/* Makes the user and opens a client of it. */
static lk_client *user_with(locking *f, const char *more)
{
    redisReply *reply;
    char rights[1024];

    (void)snprintf(rights, sizeof(rights), "ACL SETUSER app reset " COMMON "%s",
                   more);
    reply = server_command(f->server, rights);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    (void)server_integer(f->server, "DEL nothing");
    return locking_open(f, &app);
}

/* Nothing that was tried was denied, CLIENT KILL and the reset apart. */
static void assert_nothing_denied(locking *f)
{
    redisReply *log = server_command(f->server, "ACL LOG");

    for (size_t i = 0; i < log->elements; i++)
        fail_msg("denied: %s %s", log->element[i]->element[3]->str,
                 log->element[i]->element[7]->str);
    freeReplyObject(log);
}

static int setup(void **state)
{
    int result = locking_setup(state);
    const locking *f = *state;

    if (result == 0)
        freeReplyObject(server_command(f->server, "ACL LOG RESET"));
    return result;
}

static const char lock_rights[] =
    "+lindex +llen +lrange ~redisson_lock_*:{orders:* "
    "&redisson_lock__channel:{orders:*";

static void a_lock_is_handed_over_with_the_rights_of_its_page(void **state)
{
    locking *f = *state;
    lk_client *client = user_with(f, lock_rights);
    lk_hold *hold = locking_hold(locking_lock(f, client, name));
    taker *t = locking_take(f, locking_lock(f, locking_open(f, &app), name),
                            5000, NULL);
    lk_info *info = NULL;

    locking_wait_queued(f, name, 1);
    assert_status(lk_lock_info(t->lock, &info), LK_OK);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_nothing_denied(f);
}

/* Not even whether it is held. */
static void a_lock_of_others_is_out_of_reach(void **state)
{
    locking *f = *state;
    lk_client *client = user_with(f, lock_rights);
    lk_lock *lock = locking_lock(f, client, "billing:1");
    lk_hold *hold = locking_hold(
                locking_lock(f, locking_open(f, NULL), "billing:1")),
            *none = NULL;
    lk_info *info = NULL;

    assert_status(lk_lock_acquire(lock, 1000, NULL, &none), LK_EDENIED);
    assert_status(lk_lock_force_release(lock), LK_EDENIED);
    assert_status(lk_lock_info(lock, &info), LK_EDENIED);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_tag_needs_a_pattern_of_its_own(void **state)
{
    locking *f = *state;
    lk_client *client = user_with(f, lock_rights);
    lk_hold *none = NULL, *hold;

    assert_status(lk_lock_acquire(locking_lock(f, client, "orders:{eu}:1"), 0,
                                  NULL, &none),
                  LK_EDENIED);
    freeReplyObject(server_command(
        f->server,
        "ACL SETUSER app ~latchkey::orders:* "
        "~redisson_lock_*:orders:* &redisson_lock__channel:orders:*"));
    hold = locking_hold(locking_lock(f, client, "orders:{eu}:1"));
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_read_write_lock_works_with_the_rights_of_its_page(void **state)
{
    locking *f = *state;
    lk_client *client = user_with(f, "~{orders:* &redisson_rwlock:{orders:*");
    lk_rwlock *first = NULL, *second = NULL;
    lk_hold *hold = NULL;
    call c = {0};

    assert_status(lk_rwlock_new(&first, client, name, NULL), LK_OK);
    assert_status(lk_rwlock_new(&second, locking_open(f, &app), name, NULL),
                  LK_OK);
    assert_status(lk_rwlock_acquire_read(first, 0, NULL, &hold), LK_OK);
    assert_status(lk_rwlock_acquire_write_async(second, 5000, NULL,
                                                call_on_acquire, &c),
                  LK_OK);
    locking_wait_queued(f, name, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    assert_nothing_denied(f);
    lk_rwlock_free(first);
    lk_rwlock_free(second);
}

static void a_semaphore_works_with_the_rights_of_its_page(void **state)
{
    const lk_semaphore_options one = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 1};
    locking *f = *state;
    lk_client *client =
        user_with(f, "+incrby ~{orders:*}:timeout &redisson_sc:{orders:*");
    lk_semaphore *first = NULL, *second = NULL;
    lk_hold *hold = NULL;
    call c = {0};

    assert_status(lk_semaphore_new(&first, client, name, &one), LK_OK);
    assert_status(lk_semaphore_new(&second, locking_open(f, &app), name, &one),
                  LK_OK);
    assert_status(lk_semaphore_acquire(first, 1, 0, NULL, &hold), LK_OK);
    assert_status(lk_semaphore_acquire_async(second, 1, 5000, NULL,
                                             call_on_acquire, &c),
                  LK_OK);
    locking_wait_queued(f, name, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    assert_nothing_denied(f);
    lk_semaphore_free(first);
    lk_semaphore_free(second);
}

static void a_latch_works_with_the_rights_of_its_page(void **state)
{
    locking *f = *state;
    lk_client *client =
        user_with(f, "+decrby +persist +pexpireat &latchkey:{orders:* "
                     "&redisson_countdownlatch__channel__{orders:*");
    lk_latch *first = NULL, *second = NULL;
    call c = {0};

    assert_status(lk_latch_new(&first, client, name, NULL), LK_OK);
    assert_status(lk_latch_new(&second, locking_open(f, &app), name, NULL),
                  LK_OK);
    assert_status(lk_latch_try_set_count(first, 1), LK_OK);
    assert_status(lk_latch_wait_async(second, 5000, NULL, call_on_done, &c),
                  LK_OK);
    locking_wait_queued(f, name, 1);
    assert_status(lk_latch_count_down(first, 1), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_nothing_denied(f);
    lk_latch_free(first);
    lk_latch_free(second);
}

int main(void)
{
#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, setup, locking_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_lock_is_handed_over_with_the_rights_of_its_page),
        TEST(a_lock_of_others_is_out_of_reach),
        TEST(a_tag_needs_a_pattern_of_its_own),
        TEST(a_read_write_lock_works_with_the_rights_of_its_page),
        TEST(a_semaphore_works_with_the_rights_of_its_page),
        TEST(a_latch_works_with_the_rights_of_its_page),
    };

    return cmocka_run_group_tests_name("rights", tests, locking_start_server,
                                       locking_stop_server);
}
