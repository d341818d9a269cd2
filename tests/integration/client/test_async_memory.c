/* SPDX-License-Identifier: MIT */

/*
 * Out of memory: each call that does not wait, with the n-th allocation failing,
 * for each n until there is none left to fail. What leaks or crashes is seen by
 * the builds with sanitizers and by valgrind.
 */

#include <latchkey/latchkey.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/memory.h"

enum { WAIT_MS = 5000 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return locking_teardown(state);
}

/* What the calls are made on; rival is another client's, on the same name. */
typedef struct stage {
    locking *f;
    lk_client *client;
    lk_lock *lock, *rival;
} stage;

/* A release without memory has not begun: the hold is still there. */
static lk_status give_back(lk_hold *hold)
{
    call c = {0};
    lk_status status = lk_hold_release_async(hold, call_on_done, &c);

    if (status == LK_ENOMEM)
        assert_status(lk_hold_release(hold), LK_OK);
    else
        assert_status(call_wait(&c, NULL), LK_OK);
    return status;
}

static lk_status
take(stage *s, const lk_acquire_options *options, lk_hold **ret_hold)
{
    call c = {0};
    lk_status status =
        lk_lock_acquire_async(s->lock, WAIT_MS, options, call_on_acquire, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    *ret_hold = c.hold;
    return status;
}

static lk_status do_acquire(stage *s)
{
    lk_hold *hold;
    lk_status status = take(s, NULL, &hold);

    return status == LK_OK ? give_back(hold) : status;
}

static lk_status do_acquire_with_a_reason(stage *s)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = 60000, .reason = "test"};
    lk_hold *hold;
    lk_status status = take(s, &options, &hold);

    return status == LK_OK ? give_back(hold) : status;
}

/* Queued behind another client's hold, which then ends. */
static lk_status do_wait(stage *s)
{
    int at = memory_lasts();
    lk_hold *other = locking_hold(s->rival);
    call c = {0};
    lk_status status;

    memory_fails_at(at);
    status = lk_lock_acquire_async(s->lock, WAIT_MS, NULL, call_on_acquire, &c);
    assert_status(lk_hold_release(other), LK_OK);
    if (status != LK_OK)
        return status;
    status = call_wait(&c, NULL);
    return status == LK_OK ? give_back(c.hold) : status;
}

/* Two of this client: the second one is handed the first one's hold. */
static lk_status do_pass(stage *s)
{
    call c[2] = {{0}};
    lk_status status[2], first = LK_OK;

    for (int i = 0; i < 2; i++)
        status[i] = lk_lock_acquire_async(s->lock, WAIT_MS, NULL,
                                          call_on_acquire, &c[i]);
    for (int i = 0; i < 2; i++) {
        if (status[i] == LK_OK)
            status[i] = call_wait(&c[i], NULL);
        if (status[i] == LK_OK)
            status[i] = give_back(c[i].hold);
        if (first == LK_OK)
            first = status[i];
    }
    return first;
}

static lk_status do_extend(stage *s)
{
    lk_hold *hold;
    call c = {0};
    lk_status status = take(s, NULL, &hold), released;

    if (status != LK_OK)
        return status;
    status = lk_hold_extend_async(hold, 60000, call_on_done, &c);
    if (status == LK_OK)
        status = call_wait(&c, NULL);
    released = give_back(hold);
    return status == LK_OK ? released : status;
}

static lk_status do_is_locked(stage *s)
{
    call c = {0};
    lk_status status = lk_lock_is_locked_async(s->lock, call_on_locked, &c);

    return status == LK_OK ? call_wait(&c, NULL) : status;
}

static lk_status do_info(stage *s)
{
    call c = {0};
    lk_status status = lk_lock_info_async(s->lock, call_on_info, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    lk_info_free(c.info);
    return status;
}

static lk_status do_force(stage *s)
{
    call c = {0};
    lk_status status = lk_lock_force_release_async(s->lock, call_on_done, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return status == LK_ENOTHELD ? LK_OK : status;
}

/* A wait that is cancelled ends so, or for want of memory. */
static lk_status do_cancel(stage *s)
{
    int at = memory_lasts();
    lk_hold *other = locking_hold(s->rival);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_cancel *cancel = NULL;
    call c = {0};
    lk_status status;

    memory_fails_at(at);
    status = lk_cancel_new(&cancel, s->client);
    options.cancel = cancel;
    if (status == LK_OK)
        status = lk_lock_acquire_async(s->lock, WAIT_MS, &options,
                                       call_on_acquire, &c);
    if (status == LK_OK) {
        lk_cancel_fire(cancel);
        status = call_wait(&c, NULL);
    }
    lk_cancel_free(cancel);
    assert_status(lk_hold_release(other), LK_OK);
    return status == LK_ECANCELED ? LK_OK : status;
}

/* ---- the n-th one ------------------------------------------------------------ */

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
        locking_wait_integer(s->f, 0, "EXISTS %s", "m");
    } while (memory_was_short(n));
    assert_in_range(n, 2, MEMORY_MOST - 1);
    return failures;
}

static void an_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    static lk_status (*const acts[])(stage *
                                     s) = {do_acquire, do_acquire_with_a_reason,
                                           do_wait,    do_pass,
                                           do_extend,  do_is_locked,
                                           do_info,    do_force,
                                           do_cancel};
    stage s = {.f = *state};

    s.client = locking_open_calm(s.f, NULL);
    s.lock = locking_lock(s.f, s.client, "m");
    s.rival = locking_lock(s.f, locking_open_calm(s.f, NULL), "m");
    assert_status(do_acquire(&s), LK_OK);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        assert_true(fail_each(&s, acts[i]) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_allocation_that_fails_is_told_or_made_up_for, locking_setup,
            teardown),
    };

    return cmocka_run_group_tests_name("async_memory", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
