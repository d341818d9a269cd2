/* SPDX-License-Identifier: MIT */

/* The fair lock's calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/fairlocking.h"

#define LOCK(end)         lk_fairlock##end
#define LOCK_OPTIONS_INIT LK_FAIRLOCK_OPTIONS_INIT
#define LOCK_TEST         FAIR_TEST
#define LOCK_NAMED        fair_lock_named
#include "support/misused_lock.h"

CHECK_TEST(a_fair_lock_that_is_null_is_refused)
{
    assert_null_is_refused();
}

FAIR_TEST(a_key_that_is_no_lock_is_refused)
{
    lk_fairlock *lock = fair_lock_of_new_client(f);
    lk_hold *none = NULL;

    freeReplyObject(server_command(f->base->server, "SET n text"));
    assert_says(lk_fairlock_acquire(lock, 1000, NULL, &none), LK_ETYPE,
                "the key is not a lock");
    freeReplyObject(server_command(f->base->server, "DEL n"));
    freeReplyObject(server_command(f->base->server, "HSET n mode read"));
    assert_says(lk_fairlock_acquire(lock, 1000, NULL, &none), LK_ETYPE,
                "the key is not a lock");
}

FAIR_TEST(a_child_has_nothing_of_its_parents)
{
    lk_fairlock *lock = fair_lock_of_new_client(f);
    lk_hold *hold = fair_hold(lock);
    taker *t = fair_queue_up(f, lock, 1);

    assert_child_has_nothing(lock);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
