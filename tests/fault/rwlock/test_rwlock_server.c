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

enum { SOON_MS = 10000 };

/* Of a client that looks after its holds twice a second. */
static lk_rwlock *watched(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};

    return locking_of(f, lk_rwlock, locking_open(f, &options));
}

static void run(locking *f, const char *command)
{
    redisReply *reply = server_command(f->server, command);

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

static int end(void **state)
{
    locking *f = *state;

    run(f, "CONFIG SET maxmemory 0");
    return locking_teardown(state);
}

#define SERVER_TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, end)

/* ---- restart ---------------------------------------------------------------- */

SERVER_TEST(scripts_that_were_forgotten_are_sent_again)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
    taker *reader =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, 1);

    run(f, "SCRIPT FLUSH");
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(taker_join(reader), LK_OK);
    run(f, "SCRIPT FLUSH");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    run(f, "SCRIPT FLUSH");
    assert_status(rwlocking_try(f, lock, KIND_UPGRADEABLE), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- keys that others touch ------------------------------------------------- */

SERVER_TEST(a_hash_that_is_deleted_ends_all_holds)
{
    static const kind_id modes[] = {KIND_READ, KIND_WRITE};
    lk_rwlock *lock = watched(f);

    for (size_t i = 0; i < 2; i++) {
        lk_hold *hold = rwlocking_hold(f, lock, modes[i]);

        run(f, "DEL n");
        assert_lost(hold, LK_LOSS_DELETED);
    }
}

/* Its lease is over, whoever ended it; the others' are not. */
SERVER_TEST(a_timeout_key_that_is_deleted_ends_one_reader)
{
    lk_hold *first = rwlocking_hold(f, watched(f), KIND_READ);
    lk_hold *second;
    char *keys = server_string(f->server, "EVAL %s 0",
                               "return redis.call('KEYS', "
                               "'{n}:*:rwlock_timeout:1')[1]");
    redisReply *reply = server_command(f->server, "DEL %s", keys);

    freeReplyObject(reply);
    free(keys);
    second = rwlocking_hold(f, watched(f), KIND_READ);
    assert_lost(first, LK_LOSS_DELETED);
    assert_status(lk_hold_check(second), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    locking_wait_clean(f, "n");
}

SERVER_TEST(a_hash_that_is_replaced_ends_a_hold)
{
    lk_hold *hold = rwlocking_hold(f, watched(f), KIND_READ);

    run(f, "SET n text");
    assert_lost(hold, LK_LOSS_TAKEN);
    run(f, "DEL n");
}

/* The hash is the truth; the record is not. */
SERVER_TEST(a_record_that_is_deleted_ends_no_hold)
{
    lk_rwlock *lock = watched(f);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *base = rwlocking_hold_of(lock, KIND_UPGRADEABLE, owner);
    lk_hold *write = rwlocking_hold_of(lock, KIND_WRITE, owner);

    run(f, "DEL latchkey:{n}:r");
    locking_pass_time(wait_lease_ms());
    assert_status(lk_hold_check(base), LK_OK);
    assert_status(lk_hold_check(write), LK_OK);
    assert_status(lk_rwlock_downgrade(write), LK_OK);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    locking_wait_clean(f, "n");
}

/* Without the grants nobody can tell which reader may write next. A renewal that may
   come first is by the keys of the hold alone: the next one behind a new inbox sees
   all of it. */
SERVER_TEST(grants_that_are_deleted_end_a_readers_hold)
{
    static const kind_id modes[] = {KIND_READ, KIND_UPGRADEABLE};
    lk_rwlock *lock = watched(f);

    for (size_t i = 0; i < 2; i++) {
        lk_hold *hold = rwlocking_hold(f, lock, modes[i]);

        run(f, "DEL latchkey:{n}:h");
        run(f, "CLIENT KILL TYPE pubsub");
        assert_lost(hold, LK_LOSS_DELETED);
    }
    locking_wait_clean(f, "n");
}

/* ---- a full server ------------------------------------------------------------ */

SERVER_TEST(a_full_server_lets_nobody_in_and_everybody_out)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
    taker *reader =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, 1);
    taker *writer =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_WRITE, 1);

    run(f, "CONFIG SET maxmemory 1");
    assert_status(rwlocking_try(f, rwlocking_named(f, f->clients[0], "m", NULL),
                                KIND_READ),
                  LK_ESERVERMEM);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(taker_join(reader), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_status(taker_join(writer), LK_OK);
    run(f, "CONFIG SET maxmemory 0");
    assert_status(taker_release(writer), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- rights -------------------------------------------------------------------- */

/* What docs/rwlock.md asks for, without these commands. */
static lk_rwlock *restricted(locking *f, const char *without)
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
    return locking_of(f, lk_rwlock, locking_open(f, &options));
}

SERVER_TEST(the_rights_that_the_page_names_are_enough)
{
    lk_rwlock *lock = restricted(f, "");
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *base = rwlocking_hold_of(lock, KIND_UPGRADEABLE, owner);
    lk_hold *write = rwlocking_hold_of(lock, KIND_WRITE, owner);
    taker *reader = rwlocking_queue_up(f, lock, KIND_READ, 1);
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
    locking_wait_clean(f, "n");
}

SERVER_TEST(who_may_not_write_is_denied)
{
    lk_rwlock *lock = restricted(f, "-hset");

    assert_status(rwlocking_try(f, lock, KIND_READ), LK_EDENIED);
    assert_status(rwlocking_try(f, lock, KIND_WRITE), LK_EDENIED);
    locking_wait_clean(f, "n");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
