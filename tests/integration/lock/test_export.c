/* SPDX-License-Identifier: MIT */

/* A hold as a line of text: what goes along with it to another process. */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/locking.h"

enum { TRIES = 50 };

/* A hold that a thread of this client was passed by another; its fence is not
   that of the grant any more. */
static lk_hold *passed_hold(locking *f, lk_client *client, lk_lock *lock)
{
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = locking_stats(client).passes;
        lk_hold *hold = locking_hold(lock);
        taker *t = locking_take(f, lock, 5000, NULL);

        locking_wait_waiting(client, 1);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(taker_join(t), LK_OK);
        if (locking_stats(client).passes > before) {
            hold = t->hold;
            t->hold = NULL;
            return hold;
        }
        assert_status(taker_release(t), LK_OK);
    }
    fail_msg("no hold was passed on locally");
    return NULL;
}

LOCKS_TEST(a_fence_passed_on_here_is_behind_that_of_the_import)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *there = locking_new(f, lk_lock);
    lk_hold *hold = passed_hold(f, client, locking_lock(f, client, "n"));
    uint64_t fence = lk_hold_fence(hold);
    char text[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_lock_import(there, text, NULL, &hold), LK_OK);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_name_that_begins_with_a_blank_is_exported)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, " n");
    lk_hold *hold = locking_hold(lock);
    char text[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
