/* SPDX-License-Identifier: MIT */

/* Import over a network that fails at the wrong moment, on a virtual clock. */

#include <errno.h>

#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

static const char text[] =
    "latchkey2 lock 00000000-0000-4000-8000-000000000000:7 500 510 30000 1 n";

PLAYED_TEST(an_import_asks_once_and_has_the_fence_of_the_answer)
{
    lk_hold *hold = NULL;

    p->is_held = true;
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_int_equal(p->counts[PLAYED_IMPORT], 1);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 0);
    assert_int_equal(lk_hold_fence(hold), 1000);
    assert_in_range(lk_hold_remaining_ms(hold), 29000, 30000);
    played_run_ms(p, 3600000);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(p->counts[PLAYED_RENEW], 355, 370);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(p->is_held);
}

/* The lease counts from when the server was asked. */
PLAYED_TEST(an_import_that_is_answered_after_the_lease_is_lost)
{
    static const char brief[] =
        "latchkey2 lock 00000000-0000-4000-8000-000000000000:7 500 510 100 "
        "0 n";
    lk_hold *hold = NULL;

    p->is_held = true;
    played_ways(p, 0, 300);
    assert_status(lk_lock_import(p->lock, brief, NULL, &hold), LK_ELOST);
    assert_null(hold);
    /* It was this client's at the server. */
    played_run_ms(p, 1000);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
}

/* What is exported is neither acquired nor released by the one that takes it over. */
PLAYED_TEST(an_import_while_the_connection_is_away_waits_for_it)
{
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

PLAYED_TEST(an_import_without_an_answer_may_be_tried_again)
{
    uint64_t began = played_now_ms(p);
    lk_hold *hold = NULL;

    p->is_held = true;
    p->answers[PLAYED_IMPORT] = played_silence;
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EINDOUBT);
    assert_int_equal(played_now_ms(p) - began, 2000);
    assert_null(hold);
    assert_int_equal(played_stats(p).holding, 0);
    p->answers[PLAYED_IMPORT] = NULL;
    played_run_ms(p, 100);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void answer_again(void *data)
{
    ((played *)data)->answers[PLAYED_IMPORT] = NULL;
}

PLAYED_TEST(an_import_whose_answer_is_lost_is_asked_again)
{
    lk_hold *hold = NULL;

    p->is_held = true;
    p->answers[PLAYED_IMPORT] = played_end;
    fake_world_at(p->world, fake_world_now(p->world) + 10 * FAKE_MS,
                  answer_again, p);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_true(p->counts[PLAYED_IMPORT] >= 2);
    assert_int_equal(played_stats(p).holding, 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

PLAYED_TEST(an_import_without_a_server_is_offline)
{
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

PLAYED_TEST(a_shutdown_ends_an_import_under_way)
{
    lk_hold *hold = NULL;

    p->is_held = true;
    p->answers[PLAYED_IMPORT] = played_silence;
    fake_world_at(p->world, fake_world_now(p->world) + 10 * FAKE_MS, shut_down,
                  p);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EINDOUBT);
    assert_null(hold);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
}

PLAYED_TEST(what_the_server_does_not_know_is_lost)
{
    lk_hold *hold = NULL;

    p->answers[PLAYED_IMPORT] = PLAYED_LOST("2");
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_ELOST);
    p->answers[PLAYED_IMPORT] = "+OK\r\n";
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EPROTO);
    p->answers[PLAYED_IMPORT] = "*4\r\n:1\r\n:510\r\n:30000\r\n:10\r\n";
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EPROTO);
    p->answers[PLAYED_IMPORT] = "*4\r\n:1\r\n:530\r\n:30000\r\n:-10\r\n";
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    assert_int_equal(played_stats(p).holding, 0);
}

/* One that was asked twice, as its first answer was lost, goes on from there. */
PLAYED_TEST(an_import_lasts_no_longer_than_is_left)
{
    lk_hold *hold = NULL;

    p->answers[PLAYED_IMPORT] = "*4\r\n:1\r\n:530\r\n:1000\r\n:63\r\n";
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 900, 1000);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Its lease is longer than waits of this client ask for. As it ages it suits one of
   them, which has the server asked whether others wait: with that its lease begins
   again, and is too long again for the wait. */
PLAYED_TEST(an_import_that_was_asked_about_is_longer_than_a_wait_asks_for)
{
    static const char longer[] =
        "latchkey2 lock 00000000-0000-4000-8000-000000000000:7 500 510 35000 "
        "1 n";
    lk_hold *hold = NULL;
    call c = {0};

    p->is_held = true;
    assert_status(lk_lock_import(p->lock, longer, NULL, &hold), LK_OK);
    played_run_ms(p, 6000);
    playing_count_anew(p);
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 10);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    played_run_ms(p, 100);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_int_equal(played_stats(p).passes, 0);
    assert_int_equal(p->counts[PLAYED_RELEASE], 1);
    assert_in_range(lk_hold_remaining_ms(c.hold), 29000, 30000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* A look was answered before the pushed grant came: the hold is exported by
   then, and that grant must not give it back. */
PLAYED_TEST(a_late_grant_leaves_an_exported_hold_alone)
{
    char exported[LK_EXPORT_SIZE];
    call c = {0};

    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 10);
    p->is_held = false; /* a look obtains it */
    played_run_ms(p, 2000);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_export(c.hold, exported, sizeof(exported)), LK_OK);
    played_grant(p, p->ticket, p->fence - 1000000, 3000);
    played_run_ms(p, 5000);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
    assert_int_equal(p->counts[PLAYED_RENEW], 0);
    assert_int_equal(played_stats(p).grants_void, 0);
    assert_int_equal(played_stats(p).holding, 0);
    assert_true(p->is_held);
}
