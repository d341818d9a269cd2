/* SPDX-License-Identifier: MIT */

/* The lock over several servers when these are killed or stopped while it is held. */

#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"

REDLOCKING_TEST(a_hold_outlives_a_minority_of_its_servers)
{
    lk_redlock_options options = redlocking_options();
    lk_redlock *lock;
    lk_hold *hold;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    lock = redlocking_make(f, 5, &options);
    hold = locking_hold(lock);
    redlocking_wait_planted(5, 5);
    server_kill(redlocking_servers[3]);
    redlocking_freeze(4);
    redlocking_keep(hold, options.lease_ms + options.lease_ms / 4);
    assert_int_equal(redlocking_planted(5), 3);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_thaw(4);
    redlocking_wait_planted(5, 0);
}

REDLOCKING_TEST(a_hold_without_most_of_its_servers_is_lost_in_time)
{
    lk_redlock_options options = redlocking_options();
    lk_hold *hold;

    options.lease_ms = wait_lease_ms();
    options.node_timeout_ms = options.lease_ms / 2;
    hold = locking_hold(redlocking_make(f, 3, &options));
    redlocking_wait_planted(3, 3);
    redlocking_freeze(0);
    redlocking_freeze(1);
    redlocking_wait_lost(hold);
    assert_unreachable(lk_hold_loss(hold));
    assert_status(lk_hold_release(hold), LK_ELOST);
    redlocking_thaw(0);
    redlocking_thaw(1);
    redlocking_wait_planted(3, 0);
}

CHECK_GROUP(redlocking_start_servers, redlocking_stop_servers)
