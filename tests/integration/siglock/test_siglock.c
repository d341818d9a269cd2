/* SPDX-License-Identifier: MIT */

/* The siglock as its users see it, and the other library on the same keys. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/siglocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, NAMES = 100 };

/* A wake-up is no look: those come after 750 ms at the earliest. */
static void assert_prompt(uint64_t began)
{
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(500)));
}

/* ---- alone ---- */

LOCKS_TEST(a_hold_is_the_others_key_with_a_lease)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(lock);
    char *holder = sig_holder(f);
    bool locked = false;

    assert_memory_equal(holder, lk_client_id(f->clients[0]), 32);
    free(holder);
    assert_in_range(locking_pttl(f, "lock:n"), 25000, 30000);
    assert_int_equal(lk_hold_fence(hold), 0);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 25000, 30000);
    assert_status(lk_siglock_is_locked(lock, &locked), LK_OK);
    assert_true(locked);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_siglock_is_locked(lock, &locked), LK_OK);
    assert_false(locked);
    assert_false(locking_exists(f, "latchkey:void:{n}"));
}

LOCKS_TEST(an_owner_enters_again_and_others_do_not)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_siglock *other = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(lock);
    lk_hold *again = locking_hold(lock);
    lk_hold *none = NULL;

    assert_status(lk_siglock_acquire(other, 0, NULL, &none), LK_EBUSY);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_siglock_acquire(other, 0, NULL, &none), LK_EBUSY);
    assert_status(lk_siglock_acquire(other, wait_scaled_ms(300), NULL, &none),
                  LK_ETIMEDOUT);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_siglock_acquire(other, 0, NULL, &none), LK_OK);
    assert_status(lk_hold_release(none), LK_OK);
}

static lk_status look(lk_hold *hold, void *data)
{
    *(lk_status *)data = lk_hold_check(hold);
    return LK_ERANGE;
}

LOCKS_TEST(run_holds_the_lock_meanwhile)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_status seen = LK_EINVAL;

    assert_status(lk_siglock_run(lock, 0, NULL, look, &seen), LK_ERANGE);
    assert_status(seen, LK_OK);
    sig_assert_clean(f);
}

LOCKS_TEST(a_lease_is_renewed_or_extended_or_ends)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_siglock *lock = locking_of(f, lk_siglock, locking_open(f, &options));
    lk_siglock *brief = locking_named(f, lk_siglock, f->clients[0], "brief");
    lk_hold *hold = locking_hold(lock);
    lk_hold *ending = locking_hold_for(brief, 300);
    lk_hold *extended =
        locking_hold_for(locking_named(f, lk_siglock, f->clients[0], "x"),
                         1000);

    assert_status(lk_hold_extend(extended, 20000), LK_OK);
    assert_in_range(locking_pttl(f, "lock:x"), 15000, 20000);
    locking_wait_integer(f, 0, "EXISTS %s", "lock:brief");
    assert_status(lk_hold_check(ending), LK_ELOST);
    assert_int_equal(lk_hold_loss(ending), LK_LOSS_EXPIRED);
    assert_status(lk_hold_release(ending), LK_ELOST);
    locking_pass_time(wait_lease_ms());
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(locking_exists(f, "lock:n"));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(extended), LK_OK);
}

LOCKS_TEST(a_hold_goes_to_another_client_as_text)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_siglock *other = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(lock);
    char text[LK_EXPORT_SIZE];
    lk_hold *none = NULL;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_siglock_import(other, text, NULL, &hold), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(lk_hold_fence(hold), 0);
    assert_status(lk_siglock_import(lock, text, NULL, &none), LK_ELOST);
    assert_status(lk_siglock_import(other, text, NULL, &none), LK_ELOST);
    assert_status(lk_hold_extend(hold, 20000), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    sig_assert_clean(f);
    assert_status(lk_siglock_import(other, text, NULL, &hold), LK_ELOST);
}

LOCKS_TEST(info_and_force_know_who_holds)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(lock);
    lk_info *info = NULL;

    assert_status(lk_siglock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    assert_int_equal(info->waiter_count, 0);
    assert_int_equal(info->holders[0]->fence, 0);
    assert_in_range(info->holders[0]->lease_ms, 25000, 30000);
    lk_info_free(info);
    assert_status(lk_siglock_force_release(lock), LK_OK);
    assert_status(lk_siglock_force_release(lock), LK_ENOTHELD);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_siglock_info(lock, &info), LK_OK);
    assert_int_equal(info->holder_count, 0);
    lk_info_free(info);
}

LOCKS_TEST(questions_are_answered_to_callbacks_too)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    call locked = {0}, asked = {0}, forced = {0}, released = {0};
    lk_hold *hold = locking_granted(locking_begin(f, lock, LK_FOREVER, NULL));

    assert_status(lk_siglock_is_locked_async(lock, call_on_locked, &locked),
                  LK_OK);
    assert_status(call_wait(&locked, NULL), LK_OK);
    assert_true(locked.locked);
    assert_status(lk_siglock_info_async(lock, call_on_info, &asked), LK_OK);
    assert_status(call_wait(&asked, NULL), LK_OK);
    assert_int_equal(asked.info->holder_count, 1);
    lk_info_free(asked.info);
    assert_status(lk_siglock_force_release_async(lock, call_on_done, &forced),
                  LK_OK);
    assert_status(call_wait(&forced, NULL), LK_OK);
    assert_status(lk_hold_release_async(hold, call_on_done, &released), LK_OK);
    assert_status(call_wait(&released, NULL), LK_ELOST);
}

/* ---- waiting ---- */

LOCKS_TEST(a_release_wakes_who_waits)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_siglock *other = locking_new(f, lk_siglock);

    for (int i = 0; i < 5; i++) {
        lk_hold *hold = locking_hold(lock);
        call *c = locking_begin(f, other, LK_FOREVER, NULL);
        uint64_t began;

        sig_wait_blocked(f, 1);
        began = wait_now_ms();
        assert_status(lk_hold_release(hold), LK_OK);
        hold = locking_granted(c);
        assert_prompt(began);
        assert_status(lk_hold_release(hold), LK_OK);
    }
    sig_wait_blocked(f, 0);
}

LOCKS_TEST(everybody_has_a_turn_and_one_at_a_time)
{
    lk_siglock *locks[3] = {locking_new(f, lk_siglock),
                            locking_new(f, lk_siglock),
                            locking_new(f, lk_siglock)};
    call *calls[30];
    lk_hold *hold = locking_hold(locks[0]);
    size_t served = 0;

    for (size_t i = 0; i < 30; i++)
        calls[i] = locking_begin(f, locks[i % 3], LK_FOREVER, NULL);
    sig_wait_blocked(f, 3);
    assert_status(lk_hold_release(hold), LK_OK);
    while (served < 30) {
        for (size_t i = 0; i < 30; i++) {
            if (calls[i] == NULL || atomic_load(&calls[i]->ends) == 0)
                continue;
            for (size_t j = 0; j < 30; j++)
                assert_true(j == i || calls[j] == NULL ||
                            atomic_load(&calls[j]->ends) == 0);
            locking_serve(calls[i]);
            calls[i] = NULL;
            served++;
        }
    }
    sig_assert_clean(f);
}

/* Two connections: one for commands, one for all pops. */
LOCKS_TEST(many_names_are_waited_for_over_one_connection)
{
    lk_client *holder = locking_open(f, NULL);
    lk_client *waiter = locking_open(f, NULL);
    lk_hold *holds[NAMES];
    call *calls[NAMES];
    char name[16];

    for (int i = 0; i < NAMES; i++) {
        lk_siglock *lock = NULL;

        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_status(lk_siglock_new(&lock, holder, name, NULL), LK_OK);
        holds[i] = locking_hold(lock);
        lk_siglock_free(lock);
        calls[i] = locking_begin(f, locking_named(f, lk_siglock, waiter, name),
                                 LK_FOREVER, NULL);
    }
    sig_wait_blocked(f, 1);
    assert_int_equal(locking_stats(waiter).connects, 2);
    for (int i = NAMES - 1; i >= 0; i--) {
        assert_status(lk_hold_release(holds[i]), LK_OK);
        locking_serve(calls[i]);
    }
    assert_int_equal(locking_stats(waiter).connects, 2);
    sig_wait_blocked(f, 0);
}

/* What is asked on the shared connection is answered meanwhile. */
LOCKS_TEST(a_pop_holds_up_no_other_request)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_siglock *other = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(lock);
    call *c = locking_begin(f, other, LK_FOREVER, NULL);
    uint64_t began;

    sig_wait_blocked(f, 1);
    began = wait_now_ms();
    for (int i = 0; i < 10; i++) {
        lk_siglock *third =
            locking_named(f, lk_siglock, f->clients[1], "third");

        assert_status(lk_hold_release(locking_hold(third)), LK_OK);
    }
    assert_prompt(began);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_serve(c);
}

/* A pop for a name that nobody wants any more would swallow its signal. */
LOCKS_TEST(a_wait_that_ended_keeps_no_signal_from_others)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_siglock *other = locking_new(f, lk_siglock);
    pylock *p = sig_pylock(f, "theirs", 0);
    lk_hold *hold = locking_hold(lock);
    call *c = locking_begin(f, other, 300, NULL);

    sig_wait_blocked(f, 1);
    pylock_listen(p);
    assert_status(call_wait(c, NULL), LK_ETIMEDOUT);
    sig_wait_blocked(f, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(pylock_heard(p, SOON_MS));
    assert_true(pylock_try(p));
    assert_true(pylock_release(p));
}

LOCKS_TEST(a_cancel_ends_a_wait)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    lk_siglock *other = locking_new(f, lk_siglock);
    lk_hold *hold = locking_hold(lock);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call *c;

    assert_status(lk_cancel_new(&cancel, f->clients[1]), LK_OK);
    options.cancel = cancel;
    c = locking_begin(f, other, LK_FOREVER, &options);
    sig_wait_blocked(f, 1);
    lk_cancel_fire(cancel);
    assert_status(call_wait(c, NULL), LK_ECANCELED);
    lk_cancel_free(cancel);
    sig_wait_blocked(f, 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- the other library ---- */

LOCKS_TEST(each_library_keeps_the_other_out)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    pylock *p = sig_pylock(f, "theirs", 20);
    lk_hold *hold = locking_hold(lock);

    assert_false(pylock_try(p));
    assert_false(pylock_release(p));
    assert_int_equal(pylock_extend(p, 20), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(pylock_try(p));
    assert_status(lk_siglock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    assert_int_equal(pylock_extend(p, 20), 0);
    assert_true(pylock_release(p));
}

LOCKS_TEST(each_library_wakes_the_other)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    pylock *p = sig_pylock(f, "theirs", 0);

    for (int i = 0; i < 3; i++) {
        lk_hold *hold;
        call *c;
        uint64_t began;

        assert_true(pylock_try(p));
        c = locking_begin(f, lock, LK_FOREVER, NULL);
        sig_wait_blocked(f, 1);
        began = wait_now_ms();
        assert_true(pylock_release(p));
        hold = locking_granted(c);
        assert_prompt(began);
        assert_false(pylock_try(p));
        pylock_listen(p);
        sig_wait_blocked(f, 1);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_true(pylock_heard(p, SOON_MS));
        assert_true(pylock_try(p));
        assert_true(pylock_release(p));
    }
}

LOCKS_TEST(a_reset_of_the_other_library_is_a_loss)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_siglock *lock = locking_of(f, lk_siglock, locking_open(f, &options));
    lk_siglock *other = locking_new(f, lk_siglock);
    pylock *p = sig_pylock(f, "theirs", 0);
    lk_hold *hold = locking_hold(lock);
    call *c = locking_begin(f, other, LK_FOREVER, NULL);

    sig_wait_blocked(f, 1);
    pylock_reset(p);
    locking_serve(c);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* Its holder has no lease; what ends it is found by looking. */
LOCKS_TEST(the_others_hold_without_an_end_is_looked_at)
{
    lk_siglock *lock = locking_new(f, lk_siglock);
    pylock *p = sig_pylock(f, "theirs", 0);
    lk_info *info = NULL;
    call *c;

    assert_true(pylock_try(p));
    assert_status(lk_siglock_info(lock, &info), LK_OK);
    assert_string_equal(info->holders[0]->owner, "theirs");
    assert_int_equal(info->holders[0]->lease_ms, -1);
    lk_info_free(info);
    c = locking_begin(f, lock, LK_FOREVER, NULL);
    sig_wait_blocked(f, 1);
    assert_int_equal(server_integer(f->server, "DEL lock:n"), 1);
    locking_serve(c);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
