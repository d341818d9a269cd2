/* SPDX-License-Identifier: MIT */

/* Several permits, and their number, out of memory; see support/memory.h. */

#include "support/call.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum { PERMITS = 3 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return locking_teardown(state);
}

static lk_status do_acquire(void *data)
{
    lk_hold *hold = NULL;
    lk_status status =
        lk_semaphore_acquire(data, 2, (int64_t)wait_limit_ms(5000), NULL,
                             &hold);

    return status == LK_OK ? lk_hold_release(hold) : status;
}

static lk_status do_resize(void *data)
{
    return lk_semaphore_resize(data, PERMITS);
}

static lk_status do_count(void *data)
{
    uint64_t permits;
    int64_t free;

    return lk_semaphore_count(data, &permits, &free);
}

static lk_status do_resize_async(void *data)
{
    call c = {0};
    lk_status status =
        lk_semaphore_resize_async(data, PERMITS, call_on_done, &c);

    return status == LK_OK ? call_wait(&c, NULL) : status;
}

CHECK_TEST_OF(an_allocation_that_fails_is_told_or_made_up_for, locking *f,
              locking_setup, teardown)
{
    lk_semaphore *semaphore = sem_of(f, locking_open_calm(f, NULL), PERMITS);

    assert_status(do_acquire(semaphore), LK_OK);
    memory_fails_each("acquire", do_acquire, NULL, semaphore);
    sem_assert_clean(f, PERMITS);
    memory_fails_each("resize", do_resize, NULL, semaphore);
    memory_fails_each("resize async", do_resize_async, NULL, semaphore);
    memory_fails_each("count", do_count, NULL, semaphore);
    sem_assert_clean(f, PERMITS);
}

int test_semaphore_memory(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
