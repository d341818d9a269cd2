/* SPDX-License-Identifier: MIT */

/* Stripes where the network fails, or the server forgets. */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, STRIPES = 4 };

static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static lk_stripes *stripes_of(lk_client *client)
{
    const lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT,
                                        .count = STRIPES};
    lk_stripes *stripes = NULL;

    assert_status(lk_stripes_new(&stripes, client, "n", &options), LK_OK);
    return stripes;
}

static lk_hold *hold_of(lk_stripes *stripes)
{
    lk_hold *hold = NULL;

    assert_status(lk_stripes_acquire_many(stripes, keys, KEYS,
                                          (int64_t)wait_scaled_ms(SOON_MS),
                                          NULL, &hold),
                  LK_OK);
    return hold;
}

/* Another client gets all of them, so nothing was left behind. */
static void assert_all_free(multilocking *f)
{
    lk_stripes *stripes = stripes_of(locking_open(f->base, NULL));

    assert_status(lk_hold_release(hold_of(stripes)), LK_OK);
    lk_stripes_free(stripes);
}

static void a_wait_outlives_a_cut(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = multi_open_far(f);
    lk_stripes *far = stripes_of(client);
    lk_stripes *near = stripes_of(locking_open(f->base, NULL));
    lk_hold *hold = hold_of(near);
    call c = {0};

    assert_status(lk_stripes_acquire_many_async(far, keys, KEYS, LK_FOREVER,
                                                NULL, call_on_acquire, &c),
                  LK_OK);
    locking_wait_waiting(client, 1);
    proxy_reset(p, PROXY_ALL);
    locking_wait_connects(client, 4);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_check(c.hold), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    assert_all_free(f);
    lk_stripes_free(near);
    lk_stripes_free(far);
}

/* The first answer is that of the comparison, or of the tries. The client has
   one connection for its commands at first, and a new one behind each cut. */
static void lost_answers_leave_nothing(void **state)
{
    multilocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = multi_open_far(f);
    lk_stripes *stripes = stripes_of(client);

    for (unsigned i = 0; i < 2; i++) {
        int commands = i == 0 ? 0 : proxy_accepted(p) - 1;
        lk_hold *hold;

        proxy_drop_replies(p, commands, true);
        hold = hold_of(stripes);
        assert_int_equal(locking_stats(client).disconnects, i + 1);
        assert_status(lk_hold_check(hold), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_all_free(f);
    }
    lk_stripes_free(stripes);
}

static void a_flush_loses_all(void **state)
{
    multilocking *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           3 * (uint64_t)wait_lease_ms()};
    lk_stripes *stripes = stripes_of(locking_open_calm(f->base, &options));
    lk_hold *hold = hold_of(stripes);

    server_flush(f->base->server);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_all_free(f);
    lk_stripes_free(stripes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MULTI_TEST(a_wait_outlives_a_cut),
        MULTI_TEST(lost_answers_leave_nothing),
        MULTI_TEST(a_flush_loses_all),
    };

    return cmocka_run_group_tests_name("stripes_faults", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
