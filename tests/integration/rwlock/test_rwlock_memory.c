/* SPDX-License-Identifier: MIT */

/* A hold that becomes another one, out of memory; see support/memory.h. */

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

/* Reads, then writes beside it. */
static lk_status do_upgrade(void *data)
{
    stage *s = data;
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

static lk_status do_downgrade(void *data)
{
    stage *s = data;
    lk_hold *hold = NULL;
    lk_status status = lk_rwlock_acquire_write(s->lock, WAIT_MS, NULL, &hold);

    if (status != LK_OK)
        return status;
    return downgraded(s, lk_rwlock_downgrade(hold), hold);
}

static lk_status do_downgrade_async(void *data)
{
    stage *s = data;
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

/* ---- the n-th one ------------------------------------------------------------ */

static void is_clean(void *data, lk_status status)
{
    (void)status;
    locking_wait_integer(((stage *)data)->f, 0, "EXISTS %s", "m");
}

CHECK_TEST_OF(an_allocation_that_fails_is_told_or_made_up_for, locking *f,
              locking_setup, teardown)
{
    stage s = {.f = f};

    s.client = locking_open_calm(s.f, NULL);
    assert_status(lk_rwlock_new(&s.lock, s.client, "m", NULL), LK_OK);
    assert_status(lk_rwlock_new(&s.other, locking_open_calm(s.f, NULL), "m",
                                NULL),
                  LK_OK);
    assert_status(do_upgrade(&s), LK_OK);
    memory_fails_each("upgrade", do_upgrade, is_clean, &s);
    memory_fails_each("downgrade", do_downgrade, is_clean, &s);
    memory_fails_each("downgrade async", do_downgrade_async, is_clean, &s);
    lk_rwlock_free(s.lock);
    lk_rwlock_free(s.other);
}

int test_rwlock_memory(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
