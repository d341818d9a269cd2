/* SPDX-License-Identifier: MIT */

/*
 * Waits with tickets of their own, which look together, on a virtual clock:
 * what one touch of them all proves for each.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/deadline.h"
#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

enum { GRANT_MS = 3000, WAITS = 3 };

typedef struct scene {
    played *p;
    lk_fairlock *fairlock;
    call calls[WAITS];
} scene;

/* Three waits of one client stand in the queue, with the tickets 1 to 3. */
static int setup(void **state)
{
    scene *s = calloc(1, sizeof(*s));
    lk_hold *hold = NULL;

    assert_non_null(s);
    s->p = played_new(1, NULL);
    assert_status(lk_fairlock_new(&s->fairlock, s->p->client, "n", NULL),
                  LK_OK);
    assert_status(lk_fairlock_acquire(s->fairlock, 0, NULL, &hold), LK_OK);
    played_run_ms(s->p, 100);
    assert_status(lk_hold_release(hold), LK_OK);
    s->p->is_held = true;
    for (int i = 0; i < WAITS; i++)
        assert_status(lk_fairlock_acquire_async(s->fairlock, LK_FOREVER, NULL,
                                                call_on_acquire, &s->calls[i]),
                      LK_OK);
    played_run_ms(s->p, 5);
    assert_int_equal(s->p->waiter_count, WAITS);
    playing_count_anew(s->p);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;

    lk_fairlock_free(s->fairlock);
    played_free(s->p);
    free(s);
    return 0;
}

/* Lets things happen until they have been touched so often. */
static void run_until_touched(played *p, unsigned count)
{
    while (p->counts[PLAYED_TOUCH] < count)
        assert_true(fake_world_step(p->world));
}

/* Hands the lock to the wait with that ticket. */
static void grant(played *p, uint64_t ticket)
{
    for (size_t i = 0; i < p->waiter_count; i++) {
        if (p->waiters[i].ticket != ticket)
            continue;
        (void)snprintf(p->owner, sizeof(p->owner), "%s", p->waiters[i].owner);
        (void)snprintf(p->nonce, sizeof(p->nonce), "%s", p->waiters[i].nonce);
    }
    played_grant(p, ticket, 5000, GRANT_MS);
}

/* The touch was sent at that time and answered: what is granted now lasts from
   there. */
static void assert_granted_since(scene *s, int i, uint64_t sent)
{
    played *p = s->p;
    uint64_t deadline = lk__deadline_ns(sent, GRANT_MS);

    played_ways(p, 1, 1);
    grant(p, (uint64_t)i + 1);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&s->calls[i].ends), 1);
    assert_status(s->calls[i].status, LK_OK);
    assert_int_equal(lk_hold_remaining_ms(s->calls[i].hold),
                     lk__remaining_ms(fake_world_now(p->world), deadline));
    assert_status(lk_hold_release(s->calls[i].hold), LK_OK);
}

#define TEST(name) CHECK_TEST_OF(name, scene *s, setup, teardown)

TEST(a_grant_lasts_from_when_a_slow_touch_was_sent)
{
    uint64_t sent;

    played_ways(s->p, 600, 1);
    run_until_touched(s->p, 1);
    sent = s->p->times[PLAYED_TOUCH] - 600 * FAKE_MS;
    played_run_ms(s->p, 1);
    assert_granted_since(s, 1, sent);
}

TEST(a_grant_lasts_from_when_a_touch_with_a_slow_answer_was_sent)
{
    uint64_t sent;

    played_ways(s->p, 1, 600);
    run_until_touched(s->p, 1);
    sent = s->p->times[PLAYED_TOUCH] - FAKE_MS;
    played_run_ms(s->p, 600);
    assert_granted_since(s, 1, sent);
}

/* The ticket of each. */
#define TOUCHED(tickets) PLAYED_LOOKED("30000", "0", "0", "*3\r\n" tickets)

/*
 * The server has an older state: the second one's ticket is another's, and of
 * the third it knows nothing. Both look for themselves, and what the touch said
 * is no proof for them.
 */
TEST(a_claim_whose_ticket_is_another_looks_for_itself)
{
    played *p = s->p;

    p->answers[PLAYED_TOUCH] = TOUCHED(":1\r\n:9\r\n:0\r\n");
    played_ways(p, 1, 600);
    run_until_touched(p, 1);
    p->answers[PLAYED_TOUCH] = NULL;
    played_run_ms(p, 599);
    assert_int_equal(p->counts[PLAYED_RECHECK], 0);
    played_ways(p, 1, 1);
    played_run_ms(p, 2);
    assert_int_equal(p->counts[PLAYED_RECHECK], 2);
}

/* The first one's ticket is right, so it need not look. */
TEST(a_claim_whose_ticket_is_right_does_not_look)
{
    played *p = s->p;

    p->answers[PLAYED_TOUCH] = TOUCHED(":1\r\n:2\r\n:3\r\n");
    run_until_touched(p, 1);
    played_run_ms(p, 10);
    assert_int_equal(p->counts[PLAYED_RECHECK], 0);
}

/* Whose turn it is looks, and nobody else. */
TEST(a_touch_says_whose_turn_it_is)
{
    played *p = s->p;

    p->answers[PLAYED_TOUCH] =
        PLAYED_LOOKED("30000", "1", "0", "*3\r\n:1\r\n:2\r\n:3\r\n");
    run_until_touched(p, 1);
    p->is_held = false;
    played_run_ms(p, 3);
    assert_int_equal(p->counts[PLAYED_RECHECK], 1);
    assert_status(call_wait(&s->calls[0], NULL), LK_OK);
    assert_int_equal(atomic_load(&s->calls[1].ends), 0);
    assert_status(lk_hold_release(s->calls[0].hold), LK_OK);
}

/* It has its grant by then, and needs no look. */
TEST(a_touch_may_name_one_that_was_granted_meanwhile)
{
    played *p = s->p;

    p->answers[PLAYED_TOUCH] =
        PLAYED_LOOKED("30000", "1", "0", "*3\r\n:1\r\n:2\r\n:3\r\n");
    played_ways(p, 1, 600);
    run_until_touched(p, 1);
    played_ways(p, 1, 1);
    played_run_ms(p, 1);
    grant(p, 1);
    p->answers[PLAYED_TOUCH] = NULL;
    played_run_ms(p, 700);
    assert_int_equal(atomic_load(&s->calls[0].ends), 1);
    assert_status(s->calls[0].status, LK_OK);
    assert_status(lk_hold_check(s->calls[0].hold), LK_OK);
    assert_int_equal(p->counts[PLAYED_RECHECK], 0);
    assert_status(lk_hold_release(s->calls[0].hold), LK_OK);
}

/* All that were touched have come in, and nobody of them touches again. */
TEST(others_come_in_though_nobody_here_waits_any_more)
{
    played *p = s->p;

    p->answers[PLAYED_TOUCH] =
        PLAYED_LOOKED("30000", "0", "1", "*3\r\n:0\r\n:0\r\n:0\r\n");
    p->answers[PLAYED_PASS] = PLAYED_LOOKED("30000", "0", "1", "*0\r\n");
    run_until_touched(p, 1);
    assert_int_equal(p->counts[PLAYED_PASS], 0);
    played_run_ms(p, 10);
    assert_true(p->counts[PLAYED_PASS] > 1);
    p->answers[PLAYED_TOUCH] = p->answers[PLAYED_PASS] = NULL;
    played_run_ms(p, 1000);
    p->counts[PLAYED_PASS] = 0;
    played_run_ms(p, 1000);
    assert_int_equal(p->counts[PLAYED_PASS], 0);
}

/* One that looked for itself holds, and others may come in beside it. */
TEST(others_come_in_behind_one_that_looked_for_itself)
{
    played *p = s->p;

    p->answers[PLAYED_TOUCH] =
        PLAYED_LOOKED("30000", "1", "0", "*3\r\n:1\r\n:2\r\n:3\r\n");
    p->answers[PLAYED_RECHECK] =
        "*7\r\n:2\r\n:30000\r\n:0\r\n:1\r\n:0\r\n*1\r\n:0\r\n*4\r\n:1\r\n"
        ":5000\r\n:30000\r\n:0\r\n";
    run_until_touched(p, 1);
    played_run_ms(p, 5);
    assert_status(call_wait(&s->calls[0], NULL), LK_OK);
    assert_int_equal(p->counts[PLAYED_PASS], 1);
    assert_status(lk_hold_release(s->calls[0].hold), LK_OK);
}
