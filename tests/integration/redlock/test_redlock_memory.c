/* SPDX-License-Identifier: MIT */

/*
 * Out of memory: each call on the lock over several servers, with the n-th
 * allocation failing, for each n until there is none left to fail. What leaks
 * or crashes is seen by the builds with sanitizers and by valgrind.
 */

#include "support/call.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/redlocking.h"
#include "support/wait.h"

enum { NODES = 3 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return redlocking_teardown(state);
}

typedef struct stage {
    redlocking *f;
    lk_redlock *lock;
} stage;

static lk_status do_new(stage *s)
{
    lk_redlock *lock = NULL;
    lk_status status = lk_redlock_new(&lock, s->f->clients, NODES, "m", NULL);

    lk_redlock_free(lock);
    return status;
}

static lk_status do_acquire(stage *s)
{
    lk_hold *hold = NULL;
    lk_status status = lk_redlock_acquire(s->lock, 0, NULL, &hold);

    return status == LK_OK ? lk_hold_release(hold) : status;
}

static lk_status do_acquire_async(stage *s)
{
    call c = {0};
    lk_status status =
        lk_redlock_acquire_async(s->lock, 0, NULL, call_on_acquire, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return status == LK_OK ? lk_hold_release(c.hold) : status;
}

/* A release that has no memory is one that can be said again. */
static lk_status do_release_async(stage *s)
{
    call c = {0};
    lk_hold *hold = NULL;
    lk_status status = lk_redlock_acquire(s->lock, 0, NULL, &hold);

    if (status != LK_OK)
        return status;
    status = lk_hold_release_async(hold, call_on_done, &c);
    return status == LK_OK ? call_wait(&c, NULL) : lk_hold_release(hold);
}

/* Without memory to ask one server, the others may be too few. */
static lk_status do_extend(stage *s)
{
    lk_hold *hold = NULL;
    lk_status status = lk_redlock_acquire(s->lock, 0, NULL, &hold), released;

    if (status != LK_OK)
        return status;
    status = lk_hold_extend(hold, 500000);
    if (status == LK_EINDOUBT)
        status = LK_ENOMEM;
    released = lk_hold_release(hold);
    return status == LK_OK ? released : status;
}

/* Until there is none left to fail. Returns how often there was no memory. */
static int fail_each(stage *s, lk_status (*act)(stage *s))
{
    int failures = 0;
    int n = 0;

    do {
        lk_status status;

        memory_fails_at(++n);
        status = act(s);
        (void)memory_lasts();
        if (status != LK_OK && status != LK_ENOMEM)
            fail_msg("%d: %s", n, lk_status_name(status));
        failures += status == LK_ENOMEM;
        redlocking_wait_planted(s->f, NODES, 0);
    } while (memory_was_short(n));
    assert_in_range(n, 2, MEMORY_MOST - 1);
    return failures;
}

static void an_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    static lk_status (*const acts[])(stage * s) = {do_new, do_acquire,
                                                   do_acquire_async,
                                                   do_release_async, do_extend};
    lk_redlock_options options = redlocking_options();
    stage s = {.f = *state};

    options.lease_ms = 600000; /* what is left behind does not go by itself */
    s.lock = redlocking_make(s.f, NODES, &options);
    assert_status(do_acquire(&s), LK_OK);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        assert_true(fail_each(&s, acts[i]) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_allocation_that_fails_is_told_or_made_up_for, redlocking_setup,
            teardown),
    };

    return cmocka_run_group_tests(tests, redlocking_start_servers,
                                  redlocking_stop_servers);
}
