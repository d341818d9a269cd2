/* SPDX-License-Identifier: MIT */

/* A siglock's second key is not taken from anybody either. */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/siglocking.h"
#include "support/wait.h"

LOCKS_TEST(a_signal_of_another_type_is_refused)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_hold *none = NULL;

    freeReplyObject(server_command(f->server, "SET lock-signal:n a"));
    assert_status(lk_siglock_acquire(lock, (int64_t)wait_limit_ms(1000), NULL,
                                     &none),
                  LK_ETYPE);
    assert_null(none);
}

int test_siglock_misuse(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
