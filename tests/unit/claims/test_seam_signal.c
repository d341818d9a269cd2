/* SPDX-License-Identifier: MIT */

/*
 * A signal that was popped is known to its popper alone. Either that one tries
 * to take the name, or it has the server signal to somebody else; on a virtual
 * clock.
 */

#include <latchkey/siglock.h>

#include <errno.h>

#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

static const char held[] = "*2\r\n:1\r\n:30000\r\n";
static const char refused[] = "-BUSY Redis is busy running a script\r\n";
static const char denied[] = "-NOPERM this user has no permissions\r\n";

enum { TRIP_MS = 3, SECOND_MS = 1000 };

typedef struct waiting {
    played *p;
    lk_siglock *lock;
    call call;
} waiting;

/* It waits for a name that others hold, and its pop is under way. */
static void begin(waiting *w, int64_t wait_ms)
{
    *w = (waiting){.p = played_new(1, NULL)};
    assert_status(lk_siglock_new(&w->lock, w->p->client, "n", NULL), LK_OK);
    assert_status(lk_siglock_acquire_async(w->lock, wait_ms, NULL,
                                           call_on_acquire, &w->call),
                  LK_OK);
    played_run_ms(w->p, 50);
    assert_int_equal(w->p->counts[PLAYED_SIG_ACQUIRE], 1);
    assert_non_null(w->p->pop_link);
}

static void end(waiting *w)
{
    lk_siglock_free(w->lock);
    played_free(w->p);
}

static void finish(waiting *w)
{
    played *p = w->p;

    p->answers[PLAYED_SIG_ACQUIRE] = held;
    played_run_ms(p, UINT64_C(2) * SECOND_MS);
    assert_status(call_wait(&w->call, NULL), LK_OK);
    assert_status(lk_hold_release(w->call.hold), LK_OK);
    end(w);
}

static unsigned tries(const waiting *w)
{
    return w->p->counts[PLAYED_SIG_ACQUIRE];
}

/* How often somebody else was signaled to. */
static unsigned passed_on(const waiting *w)
{
    return w->p->counts[PLAYED_SIG_CLOSE];
}

static void it_leads_to_a_try(void **state)
{
    waiting w;

    (void)state;
    begin(&w, LK_FOREVER);
    played_signal(w.p);
    played_run_ms(w.p, TRIP_MS);
    assert_int_equal(tries(&w), 2);
    played_run_ms(w.p, TRIP_MS);
    assert_int_equal(passed_on(&w), 0);
    finish(&w);
}

/* The look under way may be older than the signal. */
static void it_leads_to_a_try_when_the_look_is_answered(void **state)
{
    waiting w;

    (void)state;
    begin(&w, LK_FOREVER);
    while (tries(&w) < 2)
        played_run_ms(w.p, 1);
    played_signal(w.p);
    played_run_ms(w.p, UINT64_C(2) * TRIP_MS);
    assert_int_equal(tries(&w), 3);
    assert_int_equal(passed_on(&w), 0);
    finish(&w);
}

static void a_try_that_is_refused_for_now_passes_it_on(void **state)
{
    waiting w;

    (void)state;
    begin(&w, LK_FOREVER);
    w.p->answers[PLAYED_SIG_ACQUIRE] = refused;
    played_signal(w.p);
    played_run_ms(w.p, UINT64_C(2) * TRIP_MS);
    assert_int_equal(tries(&w), 2);
    assert_int_equal(passed_on(&w), 1);
    played_run_ms(w.p, SECOND_MS);
    assert_int_equal(passed_on(&w), 1);
    finish(&w);
}

static void a_try_that_ends_the_wait_passes_it_on(void **state)
{
    waiting w;

    (void)state;
    begin(&w, LK_FOREVER);
    w.p->answers[PLAYED_SIG_ACQUIRE] = denied;
    played_signal(w.p);
    played_run_ms(w.p, UINT64_C(2) * TRIP_MS);
    assert_status(call_wait(&w.call, NULL), LK_EDENIED);
    assert_int_equal(passed_on(&w), 1);
    end(&w);
}

/* The pop was sent for a wait that has ended; a try that looked before the
   signal came takes nothing, and is over. */
static void a_try_that_came_too_early_passes_it_on(void **state)
{
    waiting w;
    call try = {0};

    (void)state;
    begin(&w, 100);
    while (atomic_load(&w.call.ends) == 0)
        played_run_ms(w.p, 1);
    assert_status(call_wait(&w.call, NULL), LK_ETIMEDOUT);
    assert_status(lk_siglock_acquire_async(w.lock, 0, NULL, call_on_acquire,
                                           &try),
                  LK_OK);
    played_signal(w.p);
    played_run_ms(w.p, UINT64_C(2) * TRIP_MS);
    assert_status(call_wait(&try, NULL), LK_EBUSY);
    assert_int_equal(passed_on(&w), 1);
    end(&w);
}

/* A renewal is late, so nothing new is asked for. */
static void one_that_is_held_back_passes_it_on(void **state)
{
    waiting w;
    lk_hold *hold = NULL;

    (void)state;
    begin(&w, LK_FOREVER);
    assert_status(lk_lock_acquire(w.p->lock, 0, NULL, &hold), LK_OK);
    played_renew_so(w.p, played_silence);
    while (played_stats(w.p).holding_back == 0) {
        played_run_ms(w.p, 100);
        assert_true(played_now_ms(w.p) < UINT64_C(30) * SECOND_MS);
    }
    assert_int_equal(passed_on(&w), 0);
    played_signal(w.p);
    played_run_ms(w.p, UINT64_C(2) * TRIP_MS);
    assert_int_equal(passed_on(&w), 1);
    played_renew_so(w.p, NULL);
    fake_break(w.p->silent, -ECONNRESET);
    w.p->silent = NULL;
    played_run_ms(w.p, UINT64_C(2) * SECOND_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    finish(&w);
}

/* The connection for commands is away, and the wait ends meanwhile. */
static void it_is_passed_on_when_the_server_is_there_again(void **state)
{
    waiting w;

    (void)state;
    begin(&w, 200);
    w.p->connect_answer = FAKE_SILENT;
    fake_break(fake_world_link(w.p->world, 0), -ECONNRESET);
    played_signal(w.p);
    played_run_ms(w.p, 300);
    assert_status(call_wait(&w.call, NULL), LK_ETIMEDOUT);
    assert_int_equal(passed_on(&w), 0);
    w.p->connect_answer = 0;
    played_run_ms(w.p, UINT64_C(10) * SECOND_MS);
    assert_int_equal(passed_on(&w), 1);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_leads_to_a_try),
        cmocka_unit_test(it_leads_to_a_try_when_the_look_is_answered),
        cmocka_unit_test(a_try_that_is_refused_for_now_passes_it_on),
        cmocka_unit_test(a_try_that_ends_the_wait_passes_it_on),
        cmocka_unit_test(a_try_that_came_too_early_passes_it_on),
        cmocka_unit_test(one_that_is_held_back_passes_it_on),
        cmocka_unit_test(it_is_passed_on_when_the_server_is_there_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
