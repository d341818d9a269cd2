/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock on a server that restarts, is full, forgets its scripts,
 * denies rights, or whose keys others touch.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { WATCHDOG_MS = 1500, SOON_MS = 10000 };

/* Of a client that looks after its holds twice a second. */
static lk_rwlock *watched(rwlocking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = WATCHDOG_MS};

    return rwlocking_lock(f, locking_open(f->base, &options));
}

static void run(rwlocking *f, const char *command)
{
    redisReply *reply = server_command(f->base->server, command);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void assert_lost(lk_hold *hold, lk_loss loss)
{
    if (!wait_until(hold_is_lost, hold, SOON_MS))
        fail_msg("the hold is still believed");
    assert_int_equal(lk_hold_loss(hold), loss);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- restart ---------------------------------------------------------------- */

static void holders_are_told_and_waiters_come_in_after_a_restart(void **state)
{
    rwlocking *f = *state;
    lk_hold *read = rwlocking_hold(f, watched(f), RW_READ);
    taker *writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);

    assert_true(server_restart(f->base->server));
    assert_status(taker_join(writer), LK_OK);
    assert_true(wait_until(hold_is_lost, read, SOON_MS));
    assert_status(lk_hold_release(read), LK_ELOST);
    assert_status(lk_hold_check(writer->hold), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    rwlocking_assert_clean(f);
}

static void fences_grow_across_a_restart(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    uint64_t fence = lk_hold_fence(hold);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(server_restart(f->base->server));
    hold = NULL;
    assert_status(lk_rwlock_acquire_write(lock, SOON_MS, NULL, &hold), LK_OK);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void scripts_that_were_forgotten_are_sent_again(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    taker *reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);

    run(f, "SCRIPT FLUSH");
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(taker_join(reader), LK_OK);
    run(f, "SCRIPT FLUSH");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    run(f, "SCRIPT FLUSH");
    assert_status(rwlocking_try(f, lock, RW_UPGRADEABLE), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- keys that others touch ------------------------------------------------- */

static void a_hash_that_is_deleted_ends_all_holds(void **state)
{
    static const rw_mode modes[] = {RW_READ, RW_WRITE};
    rwlocking *f = *state;
    lk_rwlock *lock = watched(f);

    for (size_t i = 0; i < 2; i++) {
        lk_hold *hold = rwlocking_hold(f, lock, modes[i]);

        run(f, "DEL n");
        assert_lost(hold, LK_LOSS_DELETED);
    }
}

/* Its lease is over, whoever ended it; the others' are not. */
static void a_timeout_key_that_is_deleted_ends_one_reader(void **state)
{
    rwlocking *f = *state;
    lk_hold *first = rwlocking_hold(f, watched(f), RW_READ);
    lk_hold *second;
    char *keys = server_string(f->base->server, "EVAL %s 0",
                               "return redis.call('KEYS', "
                               "'{n}:*:rwlock_timeout:1')[1]");
    redisReply *reply = server_command(f->base->server, "DEL %s", keys);

    freeReplyObject(reply);
    free(keys);
    second = rwlocking_hold(f, watched(f), RW_READ);
    assert_lost(first, LK_LOSS_DELETED);
    assert_status(lk_hold_check(second), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    rwlocking_assert_clean(f);
}

static void a_hash_that_is_replaced_ends_a_hold(void **state)
{
    rwlocking *f = *state;
    lk_hold *hold = rwlocking_hold(f, watched(f), RW_READ);

    run(f, "SET n text");
    assert_lost(hold, LK_LOSS_TAKEN);
    run(f, "DEL n");
}

/* The hash is the truth; the record is not. */
static void a_record_that_is_deleted_ends_no_hold(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = watched(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *base = rwlocking_hold_of(lock, RW_UPGRADEABLE, owner);
    lk_hold *write = rwlocking_hold_of(lock, RW_WRITE, owner);

    run(f, "DEL latchkey:{n}:r");
    locking_pass_time(WATCHDOG_MS);
    assert_status(lk_hold_check(base), LK_OK);
    assert_status(lk_hold_check(write), LK_OK);
    assert_status(lk_rwlock_downgrade(write), LK_OK);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    rwlocking_assert_clean(f);
}

/* Without the grants nobody can tell which reader may write next. */
static void grants_that_are_deleted_end_a_readers_hold(void **state)
{
    static const rw_mode modes[] = {RW_READ, RW_UPGRADEABLE};
    rwlocking *f = *state;
    lk_rwlock *lock = watched(f);

    for (size_t i = 0; i < 2; i++) {
        lk_hold *hold = rwlocking_hold(f, lock, modes[i]);

        run(f, "DEL latchkey:{n}:h");
        assert_lost(hold, LK_LOSS_DELETED);
    }
    rwlocking_assert_clean(f);
}

static void a_queue_that_is_deleted_is_joined_again(void **state)
{
    rwlocking *f = *state;
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);
    taker *reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    taker *writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);

    run(f, "DEL latchkey:{n}:q");
    rwlocking_wait_queued(f, RW_READ, 1);
    rwlocking_wait_queued(f, RW_WRITE, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- a full server ------------------------------------------------------------ */

static void a_full_server_lets_nobody_in_and_everybody_out(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    taker *reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    taker *writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);

    run(f, "CONFIG SET maxmemory 1");
    assert_status(rwlocking_try(f,
                                rwlocking_named(f, f->base->clients[0], "m",
                                                NULL),
                                RW_READ),
                  LK_ESERVERMEM);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(taker_join(reader), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_status(taker_join(writer), LK_OK);
    run(f, "CONFIG SET maxmemory 0");
    assert_status(taker_release(writer), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- rights -------------------------------------------------------------------- */

/* What docs/rwlock.md asks for, without these commands. */
static lk_rwlock *restricted(rwlocking *f, const char *without)
{
    char command[512];
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .user = "restricted",
                                       .password = "secret"};

    (void)snprintf(command, sizeof(command),
                   "ACL SETUSER restricted reset on >secret ~n ~{n}:* "
                   "~latchkey:* resetchannels &latchkey:in:* "
                   "&redisson_rwlock:* -@all +@connection +@hash +@sortedset "
                   "+get +mget +set +del +exists +pexpire +pttl +eval +evalsha "
                   "+publish +subscribe +pubsub|numsub +time +info %s",
                   without);
    run(f, command);
    return rwlocking_lock(f, locking_open(f->base, &options));
}

static void the_rights_that_the_page_names_are_enough(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = restricted(f, "");
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *base = rwlocking_hold_of(lock, RW_UPGRADEABLE, owner);
    lk_hold *write = rwlocking_hold_of(lock, RW_WRITE, owner);
    taker *reader = rwlocking_queue_up(f, lock, RW_READ, 1);
    lk_rwlock_state told;
    lk_info *info = NULL;

    assert_status(lk_rwlock_info(lock, &info), LK_OK);
    lk_info_free(info);
    assert_status(lk_rwlock_state_get(lock, &told), LK_OK);
    assert_status(lk_hold_extend(write, 60000), LK_OK);
    assert_status(lk_rwlock_downgrade(write), LK_OK);
    assert_status(taker_join(reader), LK_OK);
    assert_status(lk_rwlock_force_release(lock), LK_OK);
    assert_lost(base, LK_LOSS_REVOKED);
    assert_lost(write, LK_LOSS_REVOKED);
    assert_true(wait_until(hold_is_lost, reader->hold, SOON_MS));
    assert_status(taker_release(reader), LK_ELOST);
    rwlocking_assert_clean(f);
}

static void who_may_not_publish_leaves_others_to_look(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = restricted(f, "-publish");
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    taker *reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    taker *writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    rwlocking_assert_clean(f);
}

static void who_may_not_write_is_denied(void **state)
{
    rwlocking *f = *state;
    lk_rwlock *lock = restricted(f, "-hset");

    assert_status(rwlocking_try(f, lock, RW_READ), LK_EDENIED);
    assert_status(rwlocking_try(f, lock, RW_WRITE), LK_EDENIED);
    rwlocking_assert_clean(f);
}

static int end(void **state)
{
    rwlocking *f = *state;

    run(f, "CONFIG SET maxmemory 0");
    return rwlocking_teardown(state);
}

#define SERVER_TEST(f) cmocka_unit_test_setup_teardown(f, rwlocking_setup, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SERVER_TEST(holders_are_told_and_waiters_come_in_after_a_restart),
        SERVER_TEST(fences_grow_across_a_restart),
        SERVER_TEST(scripts_that_were_forgotten_are_sent_again),
        SERVER_TEST(a_hash_that_is_deleted_ends_all_holds),
        SERVER_TEST(a_timeout_key_that_is_deleted_ends_one_reader),
        SERVER_TEST(a_hash_that_is_replaced_ends_a_hold),
        SERVER_TEST(a_record_that_is_deleted_ends_no_hold),
        SERVER_TEST(grants_that_are_deleted_end_a_readers_hold),
        SERVER_TEST(a_queue_that_is_deleted_is_joined_again),
        SERVER_TEST(a_full_server_lets_nobody_in_and_everybody_out),
        SERVER_TEST(the_rights_that_the_page_names_are_enough),
        SERVER_TEST(who_may_not_publish_leaves_others_to_look),
        SERVER_TEST(who_may_not_write_is_denied),
    };

    return cmocka_run_group_tests_name("rwlock_server", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
