/* SPDX-License-Identifier: MIT */

/*
 * Scripts in a slot that moves to another node, for keys that are all there yet: a
 * key that a script empties is gone then, and touching it again is an error.
 * Nothing is tried on a server that is no node of a cluster.
 */

#include "support/check.h"
#include "support/permits.h"
#include "support/sig_script.h"

/* ---- the semaphore ---- */

/* The last waiter leaves the queue by the hand-over. */
PERMITS_TEST(a_hand_over_to_the_last_waiter_is_answered)
{
    int64_t fence;

    script_listen(f, "latchkey:in::b");
    permits_set(f, 1);
    permits_acquire(f, "a:1", 1);
    permits_acquire(f, "b:1", 1);
    fence = permits_fence(f, "a:1");
    if (!script_move(f))
        return;
    assert_like(permits_release(f, "a:1", fence), "1 2 0 0");
    script_stop_moving(f);
    assert_true(permits_left(f, "b:1", 1) > 0);
    assert_books(f, 1, 0);
}

/* ---- the siglock ---- */

#define VOID "latchkey:void::{n}"

/* A hold, a signal that nobody took, and a void claim whose time is over. */
static bool all_keys_are_there(script_fixture *f)
{
    script_set_name(f, "{n}");
    sig_leave(f, "u:0", 60000);
    assert_like(script_redis(f, "ZADD " VOID " XX CH 1 u:0"), "1");
    assert_like(script_redis(f, "PERSIST lock-signal:{n}"), "1");
    assert_like(sig_acquire(f, "u:1"), "1 30000");
    return script_move(f);
}

SCRIPT_TEST(a_release_leaves_a_signal)
{
    if (!all_keys_are_there(f))
        return;
    assert_like(sig_release(f, "u:1"), "1 1");
    script_stop_moving(f);
    assert_like(script_redis(f, "LRANGE lock-signal:{n} 0 -1"), "1");
}

SCRIPT_TEST(a_claim_that_is_given_up_becomes_void)
{
    if (!all_keys_are_there(f))
        return;
    assert_like(sig_leave(f, "u:1", 60000), "1 1");
    script_stop_moving(f);
    assert_like(script_redis(f, "ZRANGE " VOID " 0 -1"), "u:1");
}

CHECK_GROUP(script_start_server, script_stop_server)
