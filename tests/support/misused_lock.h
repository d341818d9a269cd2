/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_MISUSED_LOCK_H
#define LK_TESTS_SUPPORT_MISUSED_LOCK_H

/*
 * Tests of what the fair lock and the siglock refuse alike. They become tests of the
 * program that includes this, which says of which of the two:
 *
 *     LOCK(end)                     lk_fairlock##end, which types and calls are
 *     LOCK_OPTIONS_INIT             of its options
 *     LOCK_TEST(name)               begins a test, whose fixture has a base
 *     LOCK_NAMED(f, client, name)   makes one
 */

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"

static void assert_null_is_refused(void)
{
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    bool locked;
    call c = {0};

    assert_einval(LOCK(_acquire)(NULL, 0, NULL, &hold), "NULL");
    assert_einval(LOCK(_acquire_async)(NULL, 0, NULL, call_on_acquire, &c),
                  "NULL");
    assert_einval(LOCK(_run)(NULL, 0, NULL, call_nothing, NULL), "NULL");
    assert_einval(LOCK(_import)(NULL, "", NULL, &hold), "NULL");
    assert_einval(LOCK(_force_release)(NULL), "NULL");
    assert_einval(LOCK(_force_release_async)(NULL, call_on_done, &c), "NULL");
    assert_einval(LOCK(_is_locked)(NULL, &locked), "NULL");
    assert_einval(LOCK(_is_locked_async)(NULL, call_on_locked, &c), "NULL");
    assert_einval(LOCK(_info)(NULL, &info), "NULL");
    assert_einval(LOCK(_info_async)(NULL, call_on_info, &c), "NULL");
    LOCK(_free)(NULL);
    assert_int_equal(c.ends, 0);
}

LOCK_TEST(a_result_needs_a_place)
{
    lk_client *client = locking_open(f->base, NULL);
    LOCK() *lock = LOCK_NAMED(f, client, "n");

    assert_einval(LOCK(_new)(NULL, client, "n", NULL), "NULL");
    assert_einval(LOCK(_acquire)(lock, 0, NULL, NULL), "result");
    assert_einval(LOCK(_acquire_async)(lock, 0, NULL, NULL, NULL), "callback");
    assert_einval(LOCK(_run)(lock, 0, NULL, NULL, NULL), "function");
    assert_einval(LOCK(_is_locked)(lock, NULL), "NULL");
    assert_einval(LOCK(_is_locked_async)(lock, NULL, NULL), "callback");
    assert_einval(LOCK(_info)(lock, NULL), "NULL");
    assert_einval(LOCK(_info_async)(lock, NULL, NULL), "callback");
    assert_einval(LOCK(_force_release_async)(lock, NULL, NULL), "callback");
}

LOCK_TEST(options_that_are_wrong_are_refused)
{
    lk_client *client = locking_open(f->base, NULL);
    const LOCK(_options) no_size = {.lease_ms = 5};
    const LOCK(_options) too_long = {LOCK_OPTIONS_INIT, .lease_ms = UINT64_MAX};
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = UINT64_MAX};
    LOCK() *none = NULL;
    LOCK() *lock = LOCK_NAMED(f, client, "n");
    lk_hold *hold = NULL;

    assert_einval(LOCK(_new)(&none, client, "n", &no_size), "size");
    assert_einval(LOCK(_new)(&none, client, "n", &too_long), "lease");
    assert_einval(LOCK(_new)(&none, client, "", NULL), "name");
    assert_einval(LOCK(_new)(&none, client, "a{b", NULL), "'}'");
    assert_einval(LOCK(_new)(&none, NULL, "n", NULL), "NULL");
    assert_einval(LOCK(_acquire)(lock, -2, NULL, &hold), "wait_ms");
    assert_einval(LOCK(_acquire)(lock, 0, &lease, &hold), "lease");
    assert_null(none);
    assert_null(hold);
}

/* A newer caller's options: known fields are zero beyond this release's. */
LOCK_TEST(options_of_a_later_release_are_taken_if_they_say_nothing)
{
    struct {
        LOCK(_options) known;
        uint64_t later;
    } options = {.known = {.size = sizeof(options)}};
    lk_client *client = locking_open(f->base, NULL);
    LOCK() *lock = NULL;

    assert_status(LOCK(_new)(&lock, client, "n", &options.known), LK_OK);
    LOCK(_free)(lock);
    options.later = 1;
    assert_status(LOCK(_new)(&lock, client, "n", &options.known), LK_ENOTSUP);
}

LOCK_TEST(an_export_of_another_kind_is_refused)
{
    lk_client *client = locking_open(f->base, NULL);
    lk_lock *plain = locking_lock(f->base, client, "n");
    lk_hold *hold = locking_hold(plain);
    char text[LK_EXPORT_SIZE];
    LOCK() *lock = LOCK_NAMED(f, client, "n");
    LOCK() *other = LOCK_NAMED(f, client, "m");

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(LOCK(_import)(lock, text, NULL, &hold), LK_EMISMATCH);
    assert_status(LOCK(_import)(other, text, NULL, &hold), LK_EMISMATCH);
    assert_status(LOCK(_import)(lock, "words", NULL, &hold), LK_EINVAL);
    assert_status(lk_lock_import(plain, text, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCK_TEST(a_client_that_is_shut_down_gives_nothing)
{
    lk_client *client = locking_open(f->base, NULL);
    LOCK() *lock = LOCK_NAMED(f, client, "n");
    lk_hold *none = NULL;
    lk_info *info = NULL;
    bool locked;

    assert_status(lk_client_shutdown(client, 1000), LK_OK);
    assert_status(LOCK(_acquire)(lock, 0, NULL, &none), LK_ECLOSED);
    assert_status(LOCK(_info)(lock, &info), LK_ECLOSED);
    assert_status(LOCK(_is_locked)(lock, &locked), LK_ECLOSED);
    assert_status(LOCK(_force_release)(lock), LK_ECLOSED);
}

/* In a child cmocka's ways end nowhere: it tells by how it ends. */
static void child_run(LOCK() * lock)
{
    lk_hold *none = NULL;
    call c = {0};
    bool good = LOCK(_acquire)(lock, 0, NULL, &none) == LK_EFORKED &&
                LOCK(_acquire_async)(lock, 0, NULL, call_on_acquire, &c) ==
                    LK_EFORKED &&
                LOCK(_force_release)(lock) == LK_EFORKED;

    LOCK(_free)(lock);
    if (!good)
        _exit(1);
    (void)raise(SIGKILL); /* so that no tool looks for leaks */
}

/* A child of this process is refused all that it asks of its parent's lock. */
static void assert_child_has_nothing(LOCK() * lock)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0)
        child_run(lock);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

#endif /* LK_TESTS_SUPPORT_MISUSED_LOCK_H */
