/* SPDX-License-Identifier: MIT */

/* The multilock where the network or the server fails. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

LOCKS_TEST(an_extension_that_is_not_answered_leaves_the_old_deadline)
{
    proxy *p = locking_proxy(f);
    lk_client *client = multi_open_far(f);
    lk_hold *hold = locking_hold(multi_of(f, client, "ab"));
    uint64_t remaining_ms;

    proxy_hold(p, 0, PROXY_REPLIES);
    assert_says(lk_hold_extend(hold, 600000), LK_EINDOUBT, "0 of 2 members");
    remaining_ms = lk_hold_remaining_ms(hold);
    assert_in_range(remaining_ms, 1, 30000);
    assert_status(lk_hold_check(hold), LK_OK);
    proxy_heal(p);
    assert_status(lk_hold_extend(hold, 600000), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 60000, 600000);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(an_extension_tells_how_many_members_it_reached)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *hold = locking_hold(multi_of(f, client, "abc"));

    assert_int_equal(server_integer(f->server, "DEL b"), 1);
    assert_says(lk_hold_extend(hold, 60000), LK_ELOST, "2 of 3 members");
    assert_status(lk_hold_check(hold), LK_ELOST);
    multi_assert_free(f, "abc"); /* the others were released */
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- the end of a client --------------------------------------------------- */

/* A thread that frees a client dispatches no more: the call ends within the free, though
   another client's try has no answer yet. */
LOCKS_TEST(a_free_ends_a_call_whose_tries_are_under_way)
{
    const lk_client_options dispatch = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};

    for (int lead_is_far = 0; lead_is_far < 2; lead_is_far++) {
        proxy *p = locking_proxy(f);
        lk_client *far = multi_open_far(f);
        lk_client *lead = lead_is_far
                              ? locking_open_url(f, proxy_url(p), &dispatch)
                              : locking_open_calm(f, &dispatch);
        lk_multilock *set = multi_of(f, lead, "a");
        call c = {0};

        assert_status(lk_client_wait_ready(lead,
                                           (int64_t)wait_limit_ms(SOON_MS)),
                      LK_OK);
        assert_status(lk_multilock_add_all(set, multi_of(f, far, "b")), LK_OK);
        proxy_hold(p, PROXY_ALL, PROXY_REPLIES);
        assert_status(lk_multilock_acquire_async(set, LK_FOREVER, NULL,
                                                 call_on_acquire, &c),
                      LK_OK);
        multi_assert_held(f, "ab");
        if (!lead_is_far)
            locking_wait_calm(lead);
        locking_free_client(f, lead);
        assert_int_equal(c.ends, 1);
        assert_status(c.status, LK_ECLOSED);
        proxy_heal(p);
        multi_assert_free(f, "b");
        locking_free_client(f, far);
    }
}

CHECK_GROUP(locking_start_server, locking_stop_server)
