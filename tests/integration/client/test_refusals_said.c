/* SPDX-License-Identifier: MIT */

/*
 * What lk_last_error() says of a name that cannot be had as it was asked for: which
 * name it is, what was found, and what was asked for.
 */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"

static lk_semaphore *semaphore_of(lk_client *client, uint64_t permits)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = permits};
    lk_semaphore *semaphore = NULL;

    assert_status(lk_semaphore_new(&semaphore, client, "fresh", &options),
                  LK_OK);
    return semaphore;
}

LOCKS_TEST(a_semaphore_with_another_number)
{
    lk_client *client = locking_open(f, NULL);
    lk_semaphore *two = semaphore_of(client, 2),
                 *five = semaphore_of(client, 5);
    lk_semaphore *none = semaphore_of(client, 0);
    lk_hold *hold = NULL;
    uint64_t permits;
    int64_t left;
    call c = {0};

    assert_says(lk_semaphore_acquire(none, 1, 0, NULL, &hold), LK_EUNSET,
                "semaphore 'fresh' is not set yet");
    assert_says(lk_semaphore_count(none, &permits, &left), LK_EUNSET,
                "semaphore 'fresh' is not set yet");
    assert_status(lk_semaphore_acquire(two, 1, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_says(lk_semaphore_acquire(five, 1, 0, NULL, &hold), LK_EMISMATCH,
                "semaphore 'fresh' has 2 permits, not 5");
    assert_says(lk_semaphore_acquire(two, 3, 0, NULL, &hold), LK_ERANGE,
                "semaphore 'fresh' has 2 permits, not 3");
    assert_status(lk_semaphore_acquire_async(two, 3, 0, NULL, call_on_acquire,
                                             &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_ERANGE);
    assert_string_equal(c.words, "semaphore 'fresh' has 2 permits, not 3");
    lk_semaphore_free(none);
    lk_semaphore_free(five);
    lk_semaphore_free(two);
}

/* One that waited when there were enough for it. */
LOCKS_TEST(a_semaphore_that_was_made_smaller)
{
    lk_client *client = locking_open(f, NULL);
    lk_semaphore *semaphore = semaphore_of(client, 5);
    lk_hold *hold = NULL;
    call c = {0};

    assert_status(lk_semaphore_acquire(semaphore, 5, 0, NULL, &hold), LK_OK);
    assert_status(lk_semaphore_acquire_async(semaphore, 4, LK_FOREVER, NULL,
                                             call_on_acquire, &c),
                  LK_OK);
    locking_wait_queued(f, "fresh", 1);
    assert_status(lk_semaphore_resize(semaphore, 2), LK_OK);
    assert_status(call_wait(&c, NULL), LK_ERANGE);
    assert_string_equal(c.words, "semaphore 'fresh' has 2 permits, not 4");
    assert_status(lk_hold_release(hold), LK_OK);
    lk_semaphore_free(semaphore);
}

LOCKS_TEST(a_latch_that_expects_another_number)
{
    lk_latch *latch = locking_named(f, lk_latch, locking_open(f, NULL), "x");
    uint64_t count;

    assert_says(lk_latch_count_down(latch, 1), LK_EUNSET,
                "latch 'x' is not set yet");
    assert_says(lk_latch_count(latch, &count), LK_EUNSET,
                "latch 'x' is not set yet");
    assert_status(lk_latch_arrive(latch, 3, "a"), LK_OK);
    assert_says(lk_latch_arrive(latch, 4, "b"), LK_EMISMATCH,
                "latch 'x' expects 3, not 4");
}

LOCKS_TEST(a_plain_semaphore_that_is_not_set)
{
    lk_plain_semaphore *plain =
        locking_named(f, lk_plain_semaphore, locking_open(f, NULL), "p");

    assert_says(lk_plain_semaphore_acquire(plain, 1, 0, NULL), LK_EUNSET,
                "plain semaphore 'p' is not set yet");
    assert_says(lk_plain_semaphore_release(plain, 1), LK_EUNSET,
                "plain semaphore 'p' is not set yet");
}

LOCKS_TEST(a_key_that_is_something_else)
{
    lk_client *client = locking_open(f, NULL);
    lk_semaphore *semaphore = semaphore_of(client, 2);
    lk_hold *hold = NULL;
    uint64_t permits;
    int64_t left;
    lk_latch *latch;
    lk_cell *cell;

    freeReplyObject(server_command(f->server, "RPUSH fresh a"));
    freeReplyObject(server_command(f->server, "RPUSH x a"));
    freeReplyObject(server_command(f->server, "RPUSH lock a"));
    freeReplyObject(server_command(f->server, "SET latchkey:{c}:c a"));
    assert_says(lk_semaphore_acquire(semaphore, 1, 0, NULL, &hold), LK_ETYPE,
                "semaphore 'fresh': the key is not a semaphore");
    assert_says(lk_semaphore_count(semaphore, &permits, &left), LK_ETYPE,
                "semaphore 'fresh': the key is not a semaphore");
    assert_says(lk_lock_acquire(locking_lock(f, client, "lock"), 0, NULL,
                                &hold),
                LK_ETYPE, "lock 'lock': the key is not a lock");
    latch = locking_named(f, lk_latch, client, "x");
    assert_says(lk_latch_arrive(latch, 3, "a"), LK_ETYPE,
                "latch 'x': the key is not a latch");
    assert_says(lk_latch_wait(latch, 0, NULL), LK_ETYPE,
                "latch 'x': the key is not a latch");
    cell = locking_named(f, lk_cell, client, "c");
    assert_says(lk_cell_delete(cell, LK_CELL_ANY), LK_ETYPE,
                "cell 'c': the key is not a cell");
    lk_semaphore_free(semaphore);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
