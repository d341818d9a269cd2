/* SPDX-License-Identifier: MIT */

/*
 * Out of memory: a hold that goes from one client to another, with the n-th allocation failing,
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

/* What the calls are made on: from one client to the other. */
typedef struct stage {
    locking *f;
    lk_client *from, *to;
    lk_lock *lock, *lock_to;
    lk_fairlock *fairlock, *fairlock_to;
    lk_rwlock *rwlock, *rwlock_to;
} stage;

/* What was not exported is still held; what was exported and not imported may
   be imported again, so a failure loses nothing. */
static lk_status pass_lock(stage *s)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    lk_status status = lk_lock_acquire(s->lock, WAIT_MS, NULL, &hold), imported;

    if (status != LK_OK)
        return status;
    status = lk_hold_export(hold, text, sizeof(text));
    if (status != LK_OK) {
        assert_status(lk_hold_release(hold), LK_OK);
        return status;
    }
    imported = lk_lock_import(s->lock_to, text, NULL, &hold);
    status = imported;
    if (imported == LK_ENOMEM)
        imported = lk_lock_import(s->lock_to, text, NULL, &hold);
    assert_status(imported, LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

static lk_status pass_fairlock(stage *s)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    lk_status status = lk_fairlock_acquire(s->fairlock, WAIT_MS, NULL, &hold),
              imported;

    if (status != LK_OK)
        return status;
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    imported = lk_fairlock_import(s->fairlock_to, text, NULL, &hold);
    status = imported;
    if (imported == LK_ENOMEM)
        imported = lk_fairlock_import(s->fairlock_to, text, NULL, &hold);
    assert_status(imported, LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

static lk_status pass_read(stage *s)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    lk_status status = lk_rwlock_acquire_read(s->rwlock, WAIT_MS, NULL, &hold),
              imported;

    if (status != LK_OK)
        return status;
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    imported = lk_rwlock_import(s->rwlock_to, text, NULL, &hold);
    status = imported;
    if (imported == LK_ENOMEM)
        imported = lk_rwlock_import(s->rwlock_to, text, NULL, &hold);
    assert_status(imported, LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    return status;
}

static void lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    (void)remaining_ms;
    (void)data;
}

/* What is told of a loss goes with the handle. */
static lk_status pass_watched(stage *s)
{
    char text[LK_EXPORT_SIZE];
    lk_hold *hold = NULL;
    lk_status status = lk_lock_acquire(s->lock, WAIT_MS, NULL, &hold), imported;

    if (status != LK_OK)
        return status;
    status = lk_hold_on_lost(hold, 0, lost, NULL);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    imported = lk_lock_import(s->lock_to, text, NULL, &hold);
    if (status == LK_OK)
        status = imported;
    if (imported == LK_ENOMEM)
        imported = lk_lock_import(s->lock_to, text, NULL, &hold);
    assert_status(imported, LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    return status;
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

CHECK_TEST_OF(an_allocation_that_fails_is_told_or_made_up_for, locking *f,
              locking_setup, teardown)
{
    static lk_status (*const acts[])(stage * s) = {pass_lock, pass_fairlock,
                                                   pass_read, pass_watched};
    stage s = {.f = f};

    s.from = locking_open_calm(s.f, NULL);
    s.to = locking_open_calm(s.f, NULL);
    s.lock = locking_lock(s.f, s.from, "m");
    s.lock_to = locking_lock(s.f, s.to, "m");
    assert_status(lk_fairlock_new(&s.fairlock, s.from, "m", NULL), LK_OK);
    assert_status(lk_fairlock_new(&s.fairlock_to, s.to, "m", NULL), LK_OK);
    assert_status(lk_rwlock_new(&s.rwlock, s.from, "m", NULL), LK_OK);
    assert_status(lk_rwlock_new(&s.rwlock_to, s.to, "m", NULL), LK_OK);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        assert_true(fail_each(&s, acts[i]) > 0);
    lk_fairlock_free(s.fairlock);
    lk_fairlock_free(s.fairlock_to);
    lk_rwlock_free(s.rwlock);
    lk_rwlock_free(s.rwlock_to);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
