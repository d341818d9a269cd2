/* SPDX-License-Identifier: MIT */

/* A bare counter whose queue has what is no waiter for its permits. */

#include <string.h>

#include "support/check.h"
#include "support/plain_script.h"
#include "support/strangers.h"

enum { CROWD = 70 }; /* more than are looked at in one call */

/* All are taken; b:1 waits behind the stranger. */
static const char *begin(script_fixture *f, size_t i, bool *is_there)
{
    const char *stranger;

    plain_set(f, "s:1", "0");
    stranger = stranger_put(f, i, 1, "c", is_there);
    plain_acquire(f, "b:1", "1");
    return stranger;
}

static void assert_takes(script_fixture *f, const char *stranger)
{
    if (strncmp(plain_recheck(f, "b:1"), "1 ", 2) != 0)
        fail_msg("%s: %s", stranger, f->answer_text);
    assert_free(f, "0");
}

PLAIN_TEST(a_release_tells_a_waiter_for_a_permit)
{
    const char *stranger;
    bool is_there;

    plain_hear(f, "b:1", "x:1", (char *)NULL);
    for (size_t i = 0; (stranger = begin(f, i, &is_there)) != NULL; i++) {
        script_heard(f);
        if (is_there) {
            assert_like(plain_release(f, "s:2", "1"), "1 0 0 0");
            assert_like(script_heard(f), "latchkey:in::b open 0 plain b:1 *\n");
            assert_int_equal(strangers_parked(f), 1);
            assert_takes(f, stranger);
        }
        server_flush(f->server);
    }
}

PLAIN_TEST(a_touch_finds_its_turn_behind_one)
{
    const char *stranger;
    bool is_there;

    plain_hear(f, "b:1", "x:1", (char *)NULL);
    for (size_t i = 0; (stranger = begin(f, i, &is_there)) != NULL; i++) {
        if (is_there) {
            script_redis(f, "SET n 1");
            assert_takes(f, stranger);
        }
        server_flush(f->server);
    }
}

PLAIN_TEST(an_acquire_waits_for_none_of_them)
{
    bool is_there;

    plain_hear(f, "x:1", (char *)NULL);
    plain_set(f, "s:1", "1");
    for (size_t i = 0; stranger_put(f, i, 1, "c", &is_there) != NULL; i++)
        ;
    assert_like(plain_acquire(f, "a:1", "1"), "1");
    assert_free(f, "0");
}

PLAIN_TEST(behind_a_crowd_of_them_a_waiter_gets_its_turn)
{
    plain_hear(f, "b:1", (char *)NULL);
    plain_set(f, "s:1", "0");
    strangers_crowd(f, 1, CROWD);
    plain_acquire(f, "b:1", "1");
    assert_like(plain_release(f, "s:2", "1"), "1 0 1 0");
    assert_like(plain_recheck(f, "b:1"), "1 *");
    assert_free(f, "0");
}

CHECK_GROUP(script_start_server, script_stop_server)
