/* SPDX-License-Identifier: MIT */

/*
 * Out of memory: each call on a semaphore, with the n-th allocation failing,
 * for each n until there is none left to fail. What leaks or crashes is seen by
 * the builds with sanitizers and by valgrind.
 */

#include "support/call.h"
#include "support/check.h"
#include "support/memory.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum { PERMITS = 3 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return semaphores_teardown(state);
}

/* What the calls are made on. */
typedef struct stage {
    lk_client *client;
    lk_semaphore *semaphore;
} stage;

/* A call that either does what it should or says that there is no memory. */
static lk_status do_new(stage *s)
{
    lk_semaphore *semaphore = NULL;
    lk_status status = lk_semaphore_new(&semaphore, s->client, "m", NULL);

    lk_semaphore_free(semaphore);
    return status;
}

static lk_status do_acquire(stage *s)
{
    lk_hold *hold = NULL;
    lk_status status = lk_semaphore_acquire(s->semaphore, 2, 5000, NULL, &hold);

    return status == LK_OK ? lk_hold_release(hold) : status;
}

static lk_status do_acquire_async(stage *s)
{
    call c = {0};
    lk_status status = lk_semaphore_acquire_async(s->semaphore, 2, 5000, NULL,
                                                  call_on_acquire, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return status == LK_OK ? lk_hold_release(c.hold) : status;
}

static lk_status do_resize(stage *s)
{
    return lk_semaphore_resize(s->semaphore, PERMITS);
}

static lk_status do_count(stage *s)
{
    uint64_t permits;
    int64_t free;

    return lk_semaphore_count(s->semaphore, &permits, &free);
}

static lk_status do_force(stage *s)
{
    lk_status status = lk_semaphore_force_release(s->semaphore, NULL);

    return status == LK_ENOTHELD ? LK_OK : status;
}

static lk_status do_resize_async(stage *s)
{
    call c = {0};
    lk_status status =
        lk_semaphore_resize_async(s->semaphore, PERMITS, call_on_done, &c);

    return status == LK_OK ? call_wait(&c, NULL) : status;
}

static lk_status do_info(stage *s)
{
    lk_info *info = NULL;
    lk_status status = lk_semaphore_info(s->semaphore, &info);

    lk_info_free(info);
    return status;
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
    } while (memory_was_short(n));
    assert_in_range(n, 2, MEMORY_MOST - 1);
    return failures;
}

CHECK_TEST_OF(an_allocation_that_fails_is_told_or_made_up_for, semaphores *f,
              semaphores_setup, teardown)
{
    static lk_status (*const acts[])(
        stage * s) = {do_new,   do_acquire, do_acquire_async, do_resize,
                      do_count, do_force,   do_resize_async,  do_info};
    stage s = {.client = locking_open_calm(f->base, NULL)};

    s.semaphore = sem_of(f, s.client, PERMITS);
    assert_status(do_acquire(&s), LK_OK);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        assert_true(fail_each(&s, acts[i]) > 0);
        sem_assert_clean(f, PERMITS);
    }
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
