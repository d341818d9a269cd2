/* SPDX-License-Identifier: MIT */

/* The siglock's calls that are wrong are refused, and say why. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/siglocking.h"

#define LOCK(end)         lk_siglock##end
#define LOCK_OPTIONS_INIT LK_SIGLOCK_OPTIONS_INIT
#define LOCK_TEST         SIG_TEST
#define LOCK_NAMED        sig_lock_named
#include "support/misused_lock.h"

CHECK_TEST(a_siglock_that_is_null_is_refused)
{
    assert_null_is_refused();
}

SIG_TEST(a_key_that_is_no_lock_is_refused)
{
    lk_siglock *lock = sig_lock_of_new_client(f);
    lk_hold *none = NULL;
    lk_info *info = NULL;

    freeReplyObject(server_command(f->base->server, "HSET lock:n a b"));
    assert_status(lk_siglock_acquire(lock, 1000, NULL, &none), LK_ETYPE);
    assert_status(lk_siglock_info(lock, &info), LK_ETYPE);
    assert_status(lk_siglock_force_release(lock), LK_ETYPE);
    freeReplyObject(server_command(f->base->server, "DEL lock:n"));
    freeReplyObject(server_command(f->base->server, "SET lock-signal:n a"));
    assert_status(lk_siglock_acquire(lock, 1000, NULL, &none), LK_ETYPE);
    assert_null(none);
}

SIG_TEST(a_child_has_nothing_of_its_parents)
{
    lk_siglock *lock = sig_lock_of_new_client(f);
    lk_hold *hold = sig_hold(lock);
    call *c = sig_wait(f, sig_lock_of_new_client(f));

    sig_wait_blocked(f, 1);
    assert_child_has_nothing(lock);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_serve(c);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
