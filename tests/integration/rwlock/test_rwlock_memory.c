/* SPDX-License-Identifier: MIT */

/*
 * Out of memory: each call on a read-write lock, with the n-th allocation failing,
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

/* What the calls are made on. */
typedef struct stage {
    locking *f;
    lk_client *client;
    lk_rwlock *lock;
    lk_rwlock *other; /* another client's, on the same name */
} stage;

/* Each call does what it should or says that there is no memory; what it got is
   given back, and that does not fail. */
static lk_status give_back(lk_status status, lk_hold *hold)
{
    lk_status released = lk_hold_release(hold);

    return status == LK_OK ? released : status;
}

static lk_status do_new(stage *s)
{
    lk_rwlock *lock = NULL;
    lk_status status = lk_rwlock_new(&lock, s->client, "other", NULL);

    lk_rwlock_free(lock);
    return status;
}

static lk_status do_read(stage *s)
{
    lk_hold *hold = NULL;
    lk_status status = lk_rwlock_acquire_read(s->lock, WAIT_MS, NULL, &hold);

    return status == LK_OK ? give_back(status, hold) : status;
}

static lk_status do_write(stage *s)
{
    lk_hold *hold = NULL;
    lk_status status = lk_rwlock_acquire_write(s->lock, WAIT_MS, NULL, &hold);

    return status == LK_OK ? give_back(status, hold) : status;
}

/* Reads, then writes beside it. */
static lk_status do_upgrade(stage *s)
{
    lk_hold *base = NULL, *write = NULL;
    lk_status status =
        lk_rwlock_acquire_upgradeable(s->lock, WAIT_MS, NULL, &base);

    if (status != LK_OK)
        return status;
    status = lk_rwlock_acquire_write(s->lock, WAIT_MS, NULL, &write);
    if (status == LK_OK)
        status = give_back(status, write);
    return give_back(status, base);
}

/* Another one may read beside it exactly if the downgrade was done. */
static lk_status downgraded(stage *s, lk_status status, lk_hold *hold)
{
    lk_hold *beside = NULL;

    (void)memory_lasts();
    assert_status(lk_rwlock_acquire_read(s->other, 0, NULL, &beside),
                  status == LK_OK ? LK_OK : LK_EBUSY);
    if (beside != NULL)
        assert_status(lk_hold_release(beside), LK_OK);
    return give_back(status, hold);
}

static lk_status do_downgrade(stage *s)
{
    lk_hold *hold = NULL;
    lk_status status = lk_rwlock_acquire_write(s->lock, WAIT_MS, NULL, &hold);

    if (status != LK_OK)
        return status;
    return downgraded(s, lk_rwlock_downgrade(hold), hold);
}

static lk_status do_downgrade_async(stage *s)
{
    lk_hold *hold = NULL;
    call c = {0};
    lk_status status = lk_rwlock_acquire_write(s->lock, WAIT_MS, NULL, &hold);

    if (status != LK_OK)
        return status;
    status = lk_rwlock_downgrade_async(hold, call_on_done, &c);
    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return downgraded(s, status, hold);
}

/* A reader that has to wait for a writer of the same client. */
static lk_status do_wait(stage *s)
{
    lk_hold *hold = NULL;
    call c = {0};
    lk_status status = lk_rwlock_acquire_write(s->lock, WAIT_MS, NULL, &hold);

    if (status != LK_OK)
        return status;
    status = lk_rwlock_acquire_read_async(s->lock, WAIT_MS, NULL,
                                          call_on_acquire, &c);
    if (status != LK_OK)
        return give_back(status, hold);
    status = lk_hold_release(hold);
    if (call_wait(&c, NULL) != LK_OK)
        return c.status;
    return give_back(status, c.hold);
}

static lk_status do_write_async(stage *s)
{
    call c = {0};
    lk_status status = lk_rwlock_acquire_write_async(s->lock, WAIT_MS, NULL,
                                                     call_on_acquire, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return status == LK_OK ? give_back(status, c.hold) : status;
}

static lk_status do_upgradeable_async(stage *s)
{
    call c = {0};
    lk_status status =
        lk_rwlock_acquire_upgradeable_async(s->lock, WAIT_MS, NULL,
                                            call_on_acquire, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return status == LK_OK ? give_back(status, c.hold) : status;
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
    static lk_status (*const acts[])(
        stage * s) = {do_new,     do_read,        do_write,
                      do_upgrade, do_downgrade,   do_downgrade_async,
                      do_wait,    do_write_async, do_upgradeable_async};
    stage s = {.f = f};

    s.client = locking_open_calm(s.f, NULL);
    assert_status(lk_rwlock_new(&s.lock, s.client, "m", NULL), LK_OK);
    assert_status(lk_rwlock_new(&s.other, locking_open_calm(s.f, NULL), "m",
                                NULL),
                  LK_OK);
    assert_status(do_write(&s), LK_OK);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        assert_true(fail_each(&s, acts[i]) > 0);
    lk_rwlock_free(s.lock);
    lk_rwlock_free(s.other);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
