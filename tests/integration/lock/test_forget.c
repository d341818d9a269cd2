/* SPDX-License-Identifier: MIT */

/* lk_forget(): of every kind what is in use stays, and what is at rest makes
   room for another kind. */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

/* LK_EBUSY, with these words. */
static void assert_busy(lk_client *client, const char *name, const char *words)
{
    assert_status(lk_forget(client, name), LK_EBUSY);
    assert_non_null(strstr(lk_last_error(), words));
}

static void assert_forgotten(lk_client *client, const char *name)
{
    lk_info *info = NULL;
    lk_kind found;

    assert_status(lk_forget(client, name), LK_OK);
    assert_status(lk_who(client, name, &found, &info), LK_ENOTHELD);
    assert_status(lk_forget(client, name), LK_ENOTHELD);
}

/* What a latch says that is to be armed under this name. */
static lk_status arm(lk_client *client, const char *name)
{
    lk_latch *latch;
    lk_status status;

    assert_status(lk_latch_new(&latch, client, name, NULL), LK_OK);
    status = lk_latch_try_set_count(latch, 2);
    lk_latch_free(latch);
    return status;
}

/* The fence of a lock that is taken under this name, and given back. */
static uint64_t lock_once(locking *f, lk_client *client, const char *name)
{
    lk_hold *hold = locking_hold(locking_lock(f, client, name));
    uint64_t fence = lk_hold_fence(hold);

    assert_status(lk_hold_release(hold), LK_OK);
    return fence;
}

LOCKS_TEST(a_lock_that_is_held_stays)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    assert_busy(client, "n", lk_client_id(client));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_forgotten(client, "n");
}

LOCKS_TEST(a_lock_that_is_waited_for_stays)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    taker *next;

    next = locking_take(f, locking_new(f, lk_lock), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    server_integer(f->server, "DEL n"); /* as if the holder had died */
    assert_busy(client, "n", "somebody waits for it");
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_join(next), LK_OK);
}

LOCKS_TEST(fences_do_not_go_back)
{
    lk_client *client = locking_open(f, NULL);
    uint64_t ahead = UINT64_C(8000000000000000); /* of the server's clock */

    lock_once(f, client, "n");
    free(server_string(
        f->server, "EVAL %s 1 latchkey:{n}:r %llu",
        "return redis.call('SET', KEYS[1], (string.gsub(redis.call('GET', "
        "KEYS[1]), '^(%S+) %d+', '%1 ' .. ARGV[1], 1)), 'KEEPTTL')",
        (unsigned long long)ahead));
    assert_forgotten(client, "n");
    assert_true(lock_once(f, client, "n") > ahead);
}

LOCKS_TEST(what_is_forgotten_is_not_listed)
{
    lk_list_options options = {LK_LIST_OPTIONS_INIT, .idle = 1};
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;

    lock_once(f, client, "n");
    assert_forgotten(client, "n");
    assert_status(lk_list(client, 10000, &options, &listing), LK_OK);
    assert_int_equal(listing->count, 0);
    lk_listing_free(listing);
}

LOCKS_TEST(a_read_write_locks_name_becomes_a_latchs)
{
    lk_client *client = locking_open(f, NULL);
    lk_rwlock *rwlock;
    lk_hold *hold;

    assert_status(lk_rwlock_new(&rwlock, client, "n", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(rwlock, 0, NULL, &hold), LK_OK);
    assert_busy(client, "n", lk_client_id(client));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_rwlock_acquire_write(rwlock, 0, NULL, &hold), LK_OK);
    assert_busy(client, "n", lk_client_id(client));
    assert_status(lk_hold_release(hold), LK_OK);
    lk_rwlock_free(rwlock);
    assert_forgotten(client, "n");
    assert_status(arm(client, "n"), LK_OK);
}

LOCKS_TEST(a_semaphores_name_becomes_a_plain_ones)
{
    lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 3};
    lk_client *client = locking_open(f, NULL);
    lk_semaphore *semaphore;
    lk_plain_semaphore *plain;
    lk_hold *hold;

    assert_status(lk_semaphore_new(&semaphore, client, "n", &options), LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 2, 0, NULL, &hold), LK_OK);
    assert_busy(client, "n", lk_client_id(client));
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_semaphore_free(semaphore);

    plain = locking_of(f, lk_plain_semaphore, client);
    assert_forgotten(client, "n");
    assert_false(locking_exists(f, "n"));
    assert_status(lk_plain_semaphore_try_set(plain, 7, 0), LK_OK);
}

LOCKS_TEST(a_plain_semaphores_name_becomes_a_locks)
{
    lk_client *client = locking_open(f, NULL);
    lk_plain_semaphore *plain;

    assert_status(lk_plain_semaphore_new(&plain, client, "n"), LK_OK);
    assert_status(lk_plain_semaphore_try_set(plain, 7, 0), LK_OK);
    assert_busy(client, "n", "with 7 permits free");
    assert_status(lk_plain_semaphore_delete(plain), LK_OK);
    lk_plain_semaphore_free(plain);
    assert_forgotten(client, "n");
    lock_once(f, client, "n");
}

LOCKS_TEST(a_latchs_name_becomes_a_locks)
{
    lk_client *client = locking_open(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_latch *latch;
    call wait = {0};

    assert_status(arm(client, "n"), LK_OK);
    assert_status(lk_latch_new(&latch, other, "n", NULL), LK_OK);
    assert_status(lk_latch_wait_async(latch, LK_FOREVER, NULL, call_on_done,
                                      &wait),
                  LK_OK);
    locking_wait_queued(f, "n", 1);
    assert_busy(client, "n", "wait");
    assert_status(lk_latch_count_down(latch, 2), LK_OK);
    assert_status(call_wait(&wait, NULL), LK_OK);
    lk_latch_free(latch);
    assert_forgotten(client, "n");
    lock_once(f, client, "n");
}

LOCKS_TEST(what_only_redisson_uses_stays)
{
    lk_client *client = locking_open(f, NULL);

    server_integer(f->server, "HSET jlock " JAVA " 1");
    server_integer(f->server, "HSET jrw mode write " JAVA ":write 1");
    server_integer(f->server, "ZADD {jsem}:timeout 99999999999999 id");
    freeReplyObject(server_command(f->server, "SET jsem 4"));
    freeReplyObject(server_command(f->server, "SET jlatch 4"));
    assert_busy(client, "jlock", JAVA);
    assert_busy(client, "jrw", JAVA);
    assert_busy(client, "jsem", "its lease has no end");
    assert_status(lk_forget(client, "jlatch"), LK_ENOTHELD);
    assert_int_equal(server_integer(f->server, "EXISTS jlock jrw jsem jlatch "
                                               "{jsem}:timeout"),
                     5);
}

LOCKS_TEST(a_key_of_another_type_stays)
{
    lk_client *client = locking_open(f, NULL);

    lock_once(f, client, "n");
    freeReplyObject(server_command(f->server, "SET n other"));
    assert_status(lk_forget(client, "n"), LK_ETYPE);
    assert_true(locking_exists(f, "latchkey:{n}:r"));
    assert_true(locking_exists(f, "n"));
}

LOCKS_TEST(the_async_form_calls_back_once)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    call busy = {0}, done = {0}, none = {0};

    assert_status(lk_forget_async(client, "n", call_on_done, &busy), LK_OK);
    assert_status(call_wait(&busy, NULL), LK_EBUSY);
    assert_non_null(strstr(busy.words, "holds it"));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_forget_async(client, "n", call_on_done, &done), LK_OK);
    assert_status(call_wait(&done, NULL), LK_OK);
    assert_status(lk_forget_async(client, "n", call_on_done, &none), LK_OK);
    assert_status(call_wait(&none, NULL), LK_ENOTHELD);
    assert_int_equal(atomic_load(&done.ends), 1);
}

LOCKS_TEST(misuse_is_refused)
{
    lk_client *client = locking_open(f, NULL);

    assert_status(lk_forget(NULL, "n"), LK_EINVAL);
    assert_status(lk_forget(client, NULL), LK_EINVAL);
    assert_status(lk_forget(client, "latchkey:{n}:r"), LK_EINVAL);
    assert_status(lk_forget_async(client, "n", NULL, NULL), LK_EINVAL);
    assert_status(lk_forget_async(client, "{", call_on_done, NULL), LK_EINVAL);
    assert_status(lk_client_shutdown(client, 10000), LK_OK);
    assert_status(lk_forget(client, "n"), LK_ECLOSED);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
