/* SPDX-License-Identifier: MIT */

/*
 * A server that stands still, restarts, forgets its scripts or loses keys,
 * while many wait for one fair lock.
 */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/fairline.h"
#include "support/wait.h"

enum { LOOK_MS = 1000, SLACK_MS = 2000 };

static uint64_t since(uint64_t began)
{
    return wait_now_ms() - began;
}

/* The near client holds; the far one and the third wait in turn. */
static lk_hold *six_wait(locking *f)
{
    lk_hold *hold;

    fairline_far(f, NULL);
    hold = fairline_hold(f->near.fairlock, NULL);
    for (int i = 0; i < 6; i++)
        (void)fairline_queue(f,
                             i % 2 == 0 ? f->far.fairlock : f->third.fairlock);
    return hold;
}

static void release_it(call *c)
{
    if (c->hold != NULL && lk_hold_release_async(c->hold, NULL, NULL) == LK_OK)
        c->hold = NULL;
}

/* From now on each gives it back at once. */
static void release_at_once(locking *f)
{
    for (size_t i = 0; i < f->call_count; i++)
        f->calls[i].act = release_it;
}

static void all_have_had_it(locking *f)
{
    for (size_t i = 0; i < f->call_count; i++)
        assert_status(call_wait(&f->calls[i], NULL), LK_OK);
    scene_is_clean(f);
}

/* ---- a server that stands still ------------------------------------------ */

FAIRLINE_TEST(a_short_pause_of_the_server_changes_no_order)
{
    lk_hold *hold = six_wait(f);

    server_freeze(f->server);
    locking_pass_time(1000);
    server_thaw(f->server);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    scene_is_clean(f);
}

/* Nobody was seen for so long; all are still served, and nothing stays. */
FAIRLINE_TEST(after_a_long_pause_of_the_server_all_are_served)
{
    lk_hold *hold = six_wait(f);

    release_at_once(f);
    server_freeze(f->server);
    locking_pass_time(3500);
    server_thaw(f->server);
    (void)lk_hold_release(hold);
    all_have_had_it(f);
}

/* Nothing that writes is answered for longer than a request may take. */
FAIRLINE_TEST(a_wait_outlives_a_server_that_does_not_write)
{
    const unsigned answer_ms = (unsigned)wait_limit_ms(500);
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = answer_ms,
                                       .offline_ms = 60000};
    lk_hold *hold;
    call c = {0};

    fairline_far(f, &options);
    hold = fairline_hold(f->near.fairlock, NULL);
    freeReplyObject(
        server_command(f->server, "CLIENT PAUSE %u WRITE", 3 * answer_ms));
    assert_status(lk_fairlock_acquire_async(f->far.fairlock, 60000, NULL,
                                            call_on_acquire, &c),
                  LK_OK);
    assert_true(fairline_becomes_queued(f, 1));
    assert_int_equal(c.ends, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_int_equal(fairline_queued(f), 0);
    assert_status(lk_hold_release(c.hold), LK_OK);
    scene_is_clean(f);
}

/* ---- a server that forgets ------------------------------------------------ */

FAIRLINE_TEST(waits_of_many_survive_a_restart_without_data)
{
    lk_hold *hold = six_wait(f);

    release_at_once(f);
    assert_true(server_restart(f->server));
    all_have_had_it(f);
    (void)lk_hold_release(hold);
}

FAIRLINE_TEST(places_survive_a_restart_with_data)
{
    lk_hold *hold = six_wait(f);

    scene_command(f, "SAVE");
    assert_true(server_restart(f->server));
    assert_true(scene_connects(f->far.client, 4));
    assert_true(scene_connects(f->third.client, 4));
    assert_int_equal(fairline_queued(f), 6);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    scene_is_clean(f);
}

/* ---- keys in foreign hands ----------------------------------------------- */

FAIRLINE_TEST(a_lock_that_is_deleted_goes_to_the_first)
{
    lk_hold *hold = six_wait(f);
    uint64_t began = wait_now_ms();
    lk_hold *next;

    scene_command(f, "DEL job");
    next = locking_granted(&f->calls[0]);
    assert_in_range(since(began), 0,
                    wait_allowed_ms(LOOK_MS + wait_scaled_ms(SLACK_MS)));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_hold_check(next), LK_OK);
    assert_status(lk_hold_release(next), LK_OK);
    fairline_serve(f, 1);
    scene_is_clean(f);
}

FAIRLINE_TEST(a_record_that_is_deleted_costs_no_order)
{
    lk_hold *hold = six_wait(f);
    uint64_t fence = lk_hold_fence(hold);
    lk_hold *next;

    scene_command(f, "DEL latchkey:{job}:r");
    (void)lk_hold_release(hold);
    next = locking_granted(&f->calls[0]);
    assert_true(lk_hold_fence(next) > fence);
    assert_status(lk_hold_release(next), LK_OK);
    fairline_serve(f, 1);
    scene_is_clean(f);
}

/* Told, not left waiting for ever for what cannot come. */
FAIRLINE_TEST(waits_for_a_key_that_is_no_lock_any_more_end)
{
    lk_hold *hold = six_wait(f);

    scene_command(f, "SET job text");
    for (size_t i = 0; i < f->call_count; i++)
        assert_status(call_wait(&f->calls[i], NULL), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_command(f, "DEL job");
    /* Nobody of them can leave a queue that cannot be read: it is left to
       its end, and nobody is kept from the lock by it. */
    hold = fairline_hold(f->far.fairlock, NULL);
    assert_status(lk_hold_release(hold), LK_OK);
}
