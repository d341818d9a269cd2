/* SPDX-License-Identifier: MIT */

/* A semaphore whose queue has what is no waiter for its permits. */

#include "support/check.h"
#include "support/permits.h"
#include "support/strangers.h"

enum { CROWD = 70 }; /* more than are looked at in one call */

/* The only permit is taken by a:1; b:1 waits behind the stranger. */
static const char *begin(script_fixture *f, size_t i, bool *is_there)
{
    const char *stranger;

    permits_set(f, 1);
    permits_acquire(f, "a:1", 1);
    stranger = stranger_put(f, i, 1, "p", is_there);
    permits_acquire(f, "b:1", 1);
    return stranger;
}

static void assert_given_to_b(script_fixture *f, const char *stranger)
{
    if (permits_left(f, "b:1", 1) <= 0)
        fail_msg("%s: b does not hold, %s", stranger, f->answer_text);
    if (strangers_parked(f) != 1)
        fail_msg("%s: not parked", stranger);
    assert_books(f, 1, 0);
}

PERMITS_TEST(a_release_gives_to_a_waiter_for_a_permit)
{
    const char *stranger;
    bool is_there;

    script_listen(f, "latchkey:in::b");
    script_listen(f, "latchkey:in::x");
    for (size_t i = 0; (stranger = begin(f, i, &is_there)) != NULL; i++) {
        if (is_there) {
            assert_like(permits_release(f, "a:1", 0), "1 2 0 0");
            assert_given_to_b(f, stranger);
            assert_like(script_heard(f),
                        "latchkey:in::b grant 0 semaphore b:1 *\n");
        }
        server_flush(f->server);
    }
}

PERMITS_TEST(a_touch_gives_to_a_waiter_for_a_permit)
{
    const char *stranger;
    bool is_there;

    script_listen(f, "latchkey:in::b");
    script_listen(f, "latchkey:in::x");
    for (size_t i = 0; (stranger = begin(f, i, &is_there)) != NULL; i++) {
        if (is_there) {
            permits_expire(f, 1);
            permits_look(f, "b:1");
            assert_given_to_b(f, stranger);
        }
        server_flush(f->server);
    }
}

PERMITS_TEST(an_acquire_waits_for_none_of_them)
{
    bool is_there;

    script_listen(f, "latchkey:in::x");
    permits_set(f, 1);
    for (size_t i = 0; stranger_put(f, i, 1, "p", &is_there) != NULL; i++)
        ;
    assert_like(permits_acquire(f, "a:1", 1), "1 *");
    assert_books(f, 1, 0);
}

PERMITS_TEST(behind_a_crowd_of_them_a_waiter_gets_its_turn)
{
    script_listen(f, "latchkey:in::b");
    permits_set(f, 1);
    permits_acquire(f, "a:1", 1);
    strangers_crowd(f, 1, CROWD);
    permits_acquire(f, "b:1", 1);
    assert_like(permits_release(f, "a:1", 0), "1 2 1 0");
    assert_like(permits_pass(f), "2 * 0 0 () ()");
    assert_true(permits_left(f, "b:1", 1) > 0);
    assert_int_equal(strangers_parked(f), CROWD);
}

CHECK_GROUP(script_start_server, script_stop_server)
