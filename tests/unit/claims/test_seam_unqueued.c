/* SPDX-License-Identifier: MIT */

/*
 * Acquires of a fair lock that could not queue, since the client had no inbox
 * when they were sent: the calls of one client stay in their order while the
 * inbox comes to stand, and where it never does they try, and no more often than
 * that.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

enum { CALLS = 4 };

typedef struct waiting {
    played *p;
    lk_fairlock *lock;
    call calls[CALLS]; /* each for an owner of its own */
} waiting;

static int setup(void **state)
{
    waiting *w = calloc(1, sizeof(*w));

    *state = w;
    assert_non_null(w);
    w->p = played_new(1, NULL);
    w->p->is_held = true;
    assert_status(lk_fairlock_new(&w->lock, w->p->client, "n", NULL), LK_OK);
    return 0;
}

/* What still waits ends with the client, and is told of that on the loop. */
static int teardown(void **state)
{
    waiting *w = *state;

    (void)lk_client_shutdown(w->p->client, 1000);
    played_run_ms(w->p, 1);
    lk_fairlock_free(w->lock);
    played_free(w->p);
    free(w);
    return 0;
}

static void begin(waiting *w, size_t i)
{
    assert_status(lk_fairlock_acquire_async(w->lock, LK_FOREVER, NULL,
                                            call_on_acquire, &w->calls[i]),
                  LK_OK);
}

/* Claims are numbered as they are wished for. */
static uint64_t claim_of(const waiting *w, size_t i)
{
    return strtoull(strrchr(w->p->waiters[i].owner, ':') + 1, NULL, 10);
}

static void assert_queued_in_order(const waiting *w, size_t count)
{
    assert_int_equal(w->p->waiter_count, count);
    for (size_t i = 1; i < count; i++)
        assert_true(claim_of(w, i - 1) < claim_of(w, i));
}

/* ---- while the inbox comes to stand ------------------------------------------ */

/* The second call's answer, which is that it could not queue, is long on its way;
   the inbox stands before that, and the others could queue at once. */
static void begin_before_and_after_the_inbox(waiting *w, int64_t second_ms)
{
    begin(w, 0);
    played_run_ms(w->p, 3); /* it was busy, and an inbox is wanted */
    played_ways(w->p, 100, 1);
    assert_status(lk_fairlock_acquire_async(w->lock, second_ms, NULL,
                                            call_on_acquire, &w->calls[1]),
                  LK_OK);
    played_ways(w->p, 1, 1);
    played_run_ms(w->p, 20);
    assert_non_null(w->p->inbox_link);
    begin(w, 2);
    played_run_ms(w->p, 20);
    begin(w, 3);
    assert_int_equal(w->p->waiter_count, 0);
}

#define TEST(name) CHECK_TEST_OF(name, waiting *w, setup, teardown)

TEST(calls_stay_in_order_while_the_inbox_comes)
{
    begin_before_and_after_the_inbox(w, LK_FOREVER);
    played_run_ms(w->p, 100);
    assert_queued_in_order(w, CALLS);
}

/* The one for which the others stay behind waits no more. */
TEST(one_that_gives_up_keeps_nobody_behind)
{
    begin_before_and_after_the_inbox(w, 45);
    played_run_ms(w->p, 100);
    assert_status(w->calls[1].status, LK_EINDOUBT);
    assert_queued_in_order(w, CALLS - 1);
}

/* Its answer is lost, and whether it can queue is another question by then. */
TEST(a_connection_that_breaks_keeps_nobody_behind)
{
    begin_before_and_after_the_inbox(w, LK_FOREVER);
    played_break(w->p);
    played_run_ms(w->p, 2500);
    assert_queued_in_order(w, CALLS);
}

/* ---- without an inbox -------------------------------------------------------- */

/* One that could queue would be told; this one tries once a second, whatever the
   others of its client are answered. */
TEST(without_an_inbox_each_call_tries_once_a_second)
{
    enum { SECONDS = 10 };

    w->p->connect_answer = -ECONNREFUSED;
    for (size_t i = 0; i < CALLS; i++)
        begin(w, i);
    played_run_ms(w->p, 1000);
    w->p->counts[PLAYED_ACQUIRE] = 0;
    played_run_ms(w->p, UINT64_C(1000) * SECONDS);
    assert_in_range(w->p->counts[PLAYED_ACQUIRE], CALLS * (SECONDS - 1),
                    CALLS * (SECONDS * 4 / 3 + 1));
    assert_int_equal(w->p->waiter_count, 0);
}

/* The call that holds; CALLS: none does. */
static size_t holder(const waiting *w)
{
    size_t i = 0;

    while (i < CALLS && w->calls[i].hold == NULL)
        i++;
    return i;
}

TEST(without_an_inbox_each_call_comes_in_at_last)
{
    w->p->connect_answer = -ECONNREFUSED;
    for (size_t i = 0; i < CALLS; i++)
        begin(w, i);
    played_run_ms(w->p, 100);
    w->p->is_held = false;
    for (size_t i = 0; i < CALLS; i++) {
        size_t at;

        played_run_ms(w->p, 1100);
        at = holder(w);
        assert_in_range(at, 0, CALLS - 1);
        assert_status(lk_hold_release(w->calls[at].hold), LK_OK);
        w->calls[at].hold = NULL;
    }
    for (size_t i = 0; i < CALLS; i++)
        assert_int_equal(w->calls[i].ends, 1);
    assert_int_equal(played_stats(w->p).holding, 0);
}

/* From then on they queue, in their order. */
TEST(an_inbox_that_comes_late_has_them_queue_in_order)
{
    w->p->connect_answer = -ECONNREFUSED;
    for (size_t i = 0; i < CALLS; i++)
        begin(w, i);
    played_run_ms(w->p, 5000);
    w->p->connect_answer = 0;
    played_run_ms(w->p, 3000);
    assert_queued_in_order(w, CALLS);
}
