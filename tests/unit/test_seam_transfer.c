/* SPDX-License-Identifier: MIT */

/* Import over a network that fails at the wrong moment, on a virtual clock. */

#include <errno.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/played.h"

static const char text[] =
    "latchkey1 lock - 00000000-0000-4000-8000-000000000000:7 500 510 30000 1 n";

static int setup(void **state)
{
    *state = played_new(1, NULL);
    return 0;
}

static int teardown(void **state)
{
    played_free(*state);
    return 0;
}

static void an_import_asks_once_and_keeps_the_fence(void **state)
{
    played *p = *state;
    lk_hold *hold = NULL;

    p->is_held = true;
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 0);
    assert_int_equal(lk_hold_fence(hold), 510);
    assert_in_range(lk_hold_remaining_ms(hold), 29000, 30000);
    played_run_ms(p, 3600000);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(p->counts[PLAYED_RENEW], 355, 370);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(p->is_held);
}

/* What is exported is neither acquired nor released by who takes it over. */
static void an_import_while_the_connection_is_away_waits_for_it(void **state)
{
    played *p = *state;
    lk_hold *hold = NULL;

    p->is_held = true;
    played_break(p);
    played_run_ms(p, 0);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 0);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
    assert_status(lk_hold_check(hold), LK_OK);
    played_run_ms(p, 60000);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(p->is_held);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void an_import_without_an_answer_may_be_tried_again(void **state)
{
    played *p = *state;
    uint64_t began = played_now_ms(p);
    lk_hold *hold = NULL;

    p->is_held = true;
    p->answers[PLAYED_CONFIRM] = played_silence;
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EINDOUBT);
    assert_int_equal(played_now_ms(p) - began, 2000);
    assert_null(hold);
    assert_int_equal(played_stats(p).holding, 0);
    p->answers[PLAYED_CONFIRM] = NULL;
    played_run_ms(p, 100);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void an_import_without_a_server_is_offline(void **state)
{
    played *p = *state;
    lk_hold *hold = NULL;

    p->connect_answer = -ECONNREFUSED;
    played_break(p);
    played_run_ms(p, 10);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EOFFLINE);
    assert_null(hold);
    p->connect_answer = 0;
}

static void shut_down(void *data)
{
    (void)lk_client_shutdown(((played *)data)->client, 0);
}

static void a_shutdown_ends_an_import_under_way(void **state)
{
    played *p = *state;
    lk_hold *hold = NULL;

    p->is_held = true;
    p->answers[PLAYED_CONFIRM] = played_silence;
    fake_world_at(p->world, fake_world_now(p->world) + 10 * FAKE_MS, shut_down,
                  p);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_ECLOSED);
    assert_null(hold);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
}

static void what_the_server_does_not_know_is_lost(void **state)
{
    played *p = *state;
    lk_hold *hold = NULL;

    p->answers[PLAYED_CONFIRM] = "*2\r\n:0\r\n:2\r\n";
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_ELOST);
    p->answers[PLAYED_CONFIRM] = "+OK\r\n";
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    assert_int_equal(played_stats(p).holding, 0);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_import_asks_once_and_keeps_the_fence),
        TEST(an_import_while_the_connection_is_away_waits_for_it),
        TEST(an_import_without_an_answer_may_be_tried_again),
        TEST(an_import_without_a_server_is_offline),
        TEST(a_shutdown_ends_an_import_under_way),
        TEST(what_the_server_does_not_know_is_lost),
    };
#undef TEST

    return cmocka_run_group_tests_name("seam_transfer", tests, NULL, NULL);
}
