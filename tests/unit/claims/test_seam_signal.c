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

static played *p;
static lk_siglock *lock;
static call waits;

/* It waits for a name that others hold, and its pop is under way. Its state is for how
   long; NULL: for ever. */
static int begin(void **state)
{
    const int64_t *wait_ms = *state;

    p = played_new(1, NULL);
    waits = (call){0};
    assert_status(lk_siglock_new(&lock, p->client, "n", NULL), LK_OK);
    assert_status(lk_siglock_acquire_async(lock,
                                           wait_ms ? *wait_ms : LK_FOREVER,
                                           NULL, call_on_acquire, &waits),
                  LK_OK);
    played_run_ms(p, 50);
    assert_int_equal(p->counts[PLAYED_SIG_ACQUIRE], 1);
    assert_non_null(p->pop_link);
    return 0;
}

static int end(NO_STATE)
{
    lk_siglock_free(lock);
    played_free(p);
    return 0;
}

static void finish(void)
{
    p->answers[PLAYED_SIG_ACQUIRE] = held;
    played_run_ms(p, UINT64_C(2) * SECOND_MS);
    assert_status(call_wait(&waits, NULL), LK_OK);
    assert_status(lk_hold_release(waits.hold), LK_OK);
}

static unsigned tries(void)
{
    return p->counts[PLAYED_SIG_ACQUIRE];
}

/* How often somebody else was signaled to. */
static unsigned passed_on(void)
{
    return p->counts[PLAYED_SIG_CLOSE];
}

static void it_leads_to_a_try(NO_STATE)
{
    played_signal(p);
    played_run_ms(p, TRIP_MS);
    assert_int_equal(tries(), 2);
    played_run_ms(p, TRIP_MS);
    assert_int_equal(passed_on(), 0);
    finish();
}

/* The look under way may be older than the signal. */
static void it_leads_to_a_try_when_the_look_is_answered(NO_STATE)
{
    while (tries() < 2)
        played_run_ms(p, 1);
    played_signal(p);
    played_run_ms(p, UINT64_C(2) * TRIP_MS);
    assert_int_equal(tries(), 3);
    assert_int_equal(passed_on(), 0);
    finish();
}

static void a_try_that_is_refused_for_now_passes_it_on(NO_STATE)
{
    p->answers[PLAYED_SIG_ACQUIRE] = refused;
    played_signal(p);
    played_run_ms(p, UINT64_C(2) * TRIP_MS);
    assert_int_equal(tries(), 2);
    assert_int_equal(passed_on(), 1);
    played_run_ms(p, SECOND_MS);
    assert_int_equal(passed_on(), 1);
    finish();
}

static void a_try_that_ends_the_wait_passes_it_on(NO_STATE)
{
    p->answers[PLAYED_SIG_ACQUIRE] = denied;
    played_signal(p);
    played_run_ms(p, UINT64_C(2) * TRIP_MS);
    assert_status(call_wait(&waits, NULL), LK_EDENIED);
    assert_int_equal(passed_on(), 1);
}

/* The pop was sent for a wait that has ended; a try that looked before the
   signal came takes nothing, and is over. */
static void a_try_that_came_too_early_passes_it_on(NO_STATE)
{
    call try = {0};

    while (atomic_load(&waits.ends) == 0)
        played_run_ms(p, 1);
    assert_status(call_wait(&waits, NULL), LK_ETIMEDOUT);
    assert_status(lk_siglock_acquire_async(lock, 0, NULL, call_on_acquire,
                                           &try),
                  LK_OK);
    played_signal(p);
    played_run_ms(p, UINT64_C(2) * TRIP_MS);
    assert_status(call_wait(&try, NULL), LK_EBUSY);
    assert_int_equal(passed_on(), 1);
}

/* A renewal is late, so nothing new is asked for. */
static void one_that_is_held_back_passes_it_on(NO_STATE)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_renew_so(p, played_silence);
    while (played_stats(p).holding_back == 0) {
        played_run_ms(p, 100);
        assert_true(played_now_ms(p) < UINT64_C(30) * SECOND_MS);
    }
    assert_int_equal(passed_on(), 0);
    played_signal(p);
    played_run_ms(p, UINT64_C(2) * TRIP_MS);
    assert_int_equal(passed_on(), 1);
    played_renew_so(p, NULL);
    fake_break(p->silent);
    p->silent = NULL;
    played_run_ms(p, UINT64_C(2) * SECOND_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    finish();
}

/* The connection for commands is away, and the wait ends meanwhile. */
static void it_is_passed_on_when_the_server_is_there_again(NO_STATE)
{
    p->connect_answer = SIM_SILENT;
    fake_break(fake_world_link(p->world, 0));
    played_signal(p);
    played_run_ms(p, 300);
    assert_status(call_wait(&waits, NULL), LK_ETIMEDOUT);
    assert_int_equal(passed_on(), 0);
    p->connect_answer = 0;
    played_run_ms(p, UINT64_C(10) * SECOND_MS);
    assert_int_equal(passed_on(), 1);
}

int test_seam_signal(void)
{
    static int64_t brief_ms = 100;
    static int64_t longer_ms = 200;
#define TEST(f, wait_ms)                                                       \
    cmocka_unit_test_prestate_setup_teardown(f, begin, end, wait_ms)
    const struct CMUnitTest tests[] = {
        TEST(it_leads_to_a_try, NULL),
        TEST(it_leads_to_a_try_when_the_look_is_answered, NULL),
        TEST(a_try_that_is_refused_for_now_passes_it_on, NULL),
        TEST(a_try_that_ends_the_wait_passes_it_on, NULL),
        TEST(a_try_that_came_too_early_passes_it_on, &brief_ms),
        TEST(one_that_is_held_back_passes_it_on, NULL),
        TEST(it_is_passed_on_when_the_server_is_there_again, &longer_ms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
