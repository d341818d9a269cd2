/* SPDX-License-Identifier: MIT */

/*
 * Grants that are pushed, early, late and wrong, and hand-over within the
 * client, on a virtual clock: exactly when a hold is believed, and exactly how
 * often it is passed on.
 */

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

enum { MANY = 400 };

/* Begins a wait that is queued at the server. */
static void queue_up(played *p, call *c, int64_t wait_ms)
{
    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, wait_ms, NULL, call_on_acquire,
                                        c),
                  LK_OK);
    played_run_ms(p, 5);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1);
    assert_int_equal(atomic_load(&c->ends), 0);
}

/* ---- pushed grants -------------------------------------------------------------- */

CALM_TEST(a_grant_in_time_is_believed_at_once)
{
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_OK);
    assert_int_equal(lk_hold_fence(c.hold), 5000);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 0);
    /* 3 s less the drift, from when the acquire was sent. */
    assert_in_range(lk_hold_remaining_ms(c.hold), 2900, 2968);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

CALM_TEST(a_grant_is_renewed_after_fifty_milliseconds)
{
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 50);
    assert_int_equal(p->counts[PLAYED_RENEW], 0);
    played_run_ms(p, 5);
    assert_int_equal(p->counts[PLAYED_RENEW], 1);
    assert_in_range(lk_hold_remaining_ms(c.hold), 29000, 30000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

static void note(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    uint64_t *told = data;

    (void)hold;
    told[0]++;
    told[1] = remaining_ms;
}

/* Its first lease is shorter than the notice, and is not its own yet. */
CALM_TEST(a_grant_that_is_renewed_gives_no_notice)
{
    uint64_t told[2] = {0, 0};
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 1);
    assert_status(lk_hold_on_lost(c.hold, 10000, note, told), LK_OK);
    played_run_ms(p, 25000);
    assert_int_equal(told[0], 0);
    p->answers[PLAYED_RENEW] = played_silence;
    played_run_ms(p, 15000);
    assert_int_equal(told[0], 1);
    assert_in_range(told[1], 9990, 10000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

CALM_TEST(a_grant_that_is_not_renewed_gives_notice_a_third_before_it_ends)
{
    uint64_t told[2] = {0, 0};
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    played_renew_so(p, "-BUSY Redis is busy running a script\r\n");
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 1);
    assert_status(lk_hold_on_lost(c.hold, 10000, note, told), LK_OK);
    played_run_ms(p, 1900);
    assert_int_equal(told[0], 0);
    played_run_ms(p, 200);
    assert_int_equal(told[0], 1);
    assert_in_range(told[1], 900, 1000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

CALM_TEST(a_grant_of_another_ticket_is_not_believed)
{
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    played_grant(p, p->ticket - 1, 5000, 3000);
    played_grant(p, p->ticket + 1, 5001, 3000);
    played_run_ms(p, 500);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(played_stats(p).holding, 0);
    played_grant(p, p->ticket, 5002, 3000);
    played_run_ms(p, 5);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_int_equal(lk_hold_fence(c.hold), 5002);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* The process stands still while the grant lies in its socket. */
CALM_TEST(a_late_grant_is_confirmed_before_it_is_believed)
{
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    played_grant(p, p->ticket, 5000, 3000);
    fake_world_freeze(p->world, 2000 * FAKE_MS);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    played_run_ms(p, 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_int_equal(played_stats(p).grants_late, 1);
    assert_in_range(lk_hold_remaining_ms(c.hold), 29000, 30000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* An operator revoked it before it was believed: it stands at the server until it
   is given back. */
CALM_TEST(a_late_grant_that_was_revoked_is_given_back)
{
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    p->answers[PLAYED_CONFIRM] = PLAYED_LOST("4");
    played_grant(p, p->ticket, 5000, 3000);
    fake_world_freeze(p->world, 2000 * FAKE_MS);
    p->is_held = false; /* from when it has been given back */
    played_run_ms(p, 100);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

CALM_TEST(a_late_grant_that_does_not_stand_is_no_hold)
{
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    p->answers[PLAYED_CONFIRM] = PLAYED_LOST("2");
    played_grant(p, p->ticket, 5000, 3000);
    fake_world_freeze(p->world, 4000 * FAKE_MS);
    played_run_ms(p, 10);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 2); /* queued again */
    p->answers[PLAYED_CONFIRM] = NULL;
    played_grant(p, p->ticket, 6000, 3000);
    played_run_ms(p, 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_int_equal(lk_hold_fence(c.hold), 6000);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

CALM_TEST(each_look_moves_the_bound_on)
{
    call c = {0};

    queue_up(p, &c, LK_FOREVER);
    for (int i = 0; i < 3600; i++)
        played_run_ms(p, 1000);
    assert_true(p->counts[PLAYED_RECHECK] >= 3600);
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 1);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 0);
    assert_int_equal(played_stats(p).grants_late, 0);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

CALM_TEST(a_grant_after_the_end_of_the_wait_is_given_back)
{
    call c = {0};

    queue_up(p, &c, 100);
    played_run_ms(p, 200);
    assert_status(call_wait(&c, NULL), LK_ETIMEDOUT);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 10);
    assert_int_equal(p->counts[PLAYED_RELEASE], 1);
    assert_int_equal(played_stats(p).grants_void, 1);
    assert_int_equal(played_stats(p).holding, 0);
    assert_false(p->is_held);
}

/* ---- passing it on ------------------------------------------------------------------ */

/* Waits that each hold it for a while. */
typedef struct line {
    played *p;
    call calls[MANY];
    uint64_t hold_ns; /* 0: released in the callback */
    int granted;
    uint64_t last_fence;
    bool in_order;
} line;

static void release_now(void *data)
{
    call *c = data;

    lk_hold *hold = c->hold;

    c->hold = NULL;
    if (lk_hold_release_async(hold, NULL, NULL) != LK_OK)
        c->hold = hold; /* the lock stays held, which the test sees */
}

static void on_turn(call *c)
{
    line *l = c->data;

    if (c->status != LK_OK)
        return;
    l->in_order = l->in_order && c == &l->calls[l->granted] &&
                  lk_hold_fence(c->hold) > l->last_fence;
    l->last_fence = lk_hold_fence(c->hold);
    l->granted++;
    if (l->hold_ns == 0)
        release_now(c);
    else
        fake_world_at(l->p->world, fake_world_now(l->p->world) + l->hold_ns,
                      release_now, c);
}

/* Takes the lock and has so many wait for it behind. */
static lk_hold *line_begin(line *l, played *p, int count, uint64_t hold_ns)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    l->p = p;
    l->hold_ns = hold_ns;
    l->in_order = true;
    l->last_fence = lk_hold_fence(hold);
    for (int i = 0; i < count; i++) {
        l->calls[i].act = on_turn;
        l->calls[i].data = l;
        assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                            call_on_acquire, &l->calls[i]),
                      LK_OK);
    }
    return hold;
}

static void line_end(line *l, int count)
{
    played_run_ms(l->p, 5000);
    assert_int_equal(l->granted, count);
    assert_true(l->in_order);
    for (int i = 0; i < count; i++)
        assert_int_equal(atomic_load(&l->calls[i].ends), 1);
    assert_false(l->p->is_held);
    free(l);
}

CALM_TEST(while_nobody_waits_elsewhere_it_is_passed_without_limit)
{
    line *l = calloc(1, sizeof(*l));
    lk_hold *hold = line_begin(l, p, MANY, 0);

    played_run_ms(p, 20);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    played_run_ms(p, 0);
    assert_int_equal(l->granted, MANY);
    assert_int_equal(played_stats(p).passes, MANY);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1);
    line_end(l, MANY);
}

CALM_TEST(while_somebody_waits_it_is_passed_sixty_four_times)
{
    line *l = calloc(1, sizeof(*l));
    lk_hold *hold;

    p->waits = true;
    hold = line_begin(l, p, MANY, 0);
    played_run_ms(p, 2);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    played_run_ms(p, 0);
    assert_int_equal(l->granted, 64);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
    played_run_ms(p, 1);
    assert_int_equal(p->counts[PLAYED_RELEASE], 1);
    line_end(l, MANY);
}

CALM_TEST(while_somebody_waits_it_is_passed_for_five_milliseconds)
{
    line *l = calloc(1, sizeof(*l));
    lk_hold *hold;
    uint64_t granted;

    p->waits = true;
    hold = line_begin(l, p, 20, FAKE_MS);
    granted = fake_world_now(p->world);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    while (p->counts[PLAYED_RELEASE] == 0)
        assert_true(fake_world_step(p->world));
    /* The last one began before the time was over, and the way there. */
    assert_in_range(p->times[PLAYED_RELEASE] - granted, 4 * FAKE_MS,
                    7 * FAKE_MS);
    assert_in_range(l->granted, 4, 6);
    p->waits = false;
    line_end(l, 20);
}

CALM_TEST(an_answer_that_does_not_come_is_a_budget)
{
    line *l = calloc(1, sizeof(*l));
    lk_hold *hold;

    p->answers[PLAYED_CONFIRM] = played_silence;
    hold = line_begin(l, p, MANY, 0);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    played_run_ms(p, 0);
    assert_int_equal(l->granted, 63); /* the fences of the grant */
    p->answers[PLAYED_CONFIRM] = NULL;
    line_end(l, MANY);
}

CALM_TEST(an_answer_is_believed_for_a_tenth_of_a_second)
{
    line *l = calloc(1, sizeof(*l));
    lk_hold *hold = line_begin(l, p, MANY, FAKE_MS);
    uint64_t asked;

    played_run_ms(p, 2);
    asked = p->times[PLAYED_CONFIRM] - FAKE_MS;
    p->answers[PLAYED_CONFIRM] = played_silence;
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    while (p->counts[PLAYED_RELEASE] == 0)
        assert_true(fake_world_step(p->world));
    assert_in_range(p->times[PLAYED_RELEASE] - asked, 99 * FAKE_MS,
                    103 * FAKE_MS);
    p->answers[PLAYED_CONFIRM] = NULL;
    line_end(l, MANY);
}

CALM_TEST(it_is_asked_about_every_fifty_milliseconds)
{
    line *l = calloc(1, sizeof(*l));
    lk_hold *hold = line_begin(l, p, MANY, 5 * FAKE_MS);

    played_run_ms(p, 10);
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    played_run_ms(p, 1900);
    assert_in_range(l->granted, 370, 385);
    assert_in_range(p->counts[PLAYED_CONFIRM], 30, 39);
    assert_int_equal(p->counts[PLAYED_RELEASE], 0);
    line_end(l, MANY);
}

CALM_TEST(a_hold_that_the_server_does_not_know_is_passed_no_more)
{
    line *l = calloc(1, sizeof(*l));
    lk_hold *hold;

    p->answers[PLAYED_CONFIRM] = PLAYED_LOST("0");
    hold = line_begin(l, p, 10, 0);
    played_run_ms(p, 3);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    p->is_held = false;
    p->answers[PLAYED_CONFIRM] = NULL;
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_int_equal(played_stats(p).losses, 1);
    line_end(l, 10);
}
