/* SPDX-License-Identifier: MIT */

/*
 * Siglocks, and replicas that are waited for, out of memory: the same piece of
 * work with the n-th allocation failing, for each n until there is none left
 * to fail.
 */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/siglocking.h"
#include "support/wait.h"

enum { STEPS = 8 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return siglocking_teardown(state);
}

/* What is certain to end so counts as done. */
static lk_status expect(lk_status status, lk_status expected)
{
    return status == expected ? LK_OK : status;
}

/* There is no replica, and somebody else's lock is not free. */
static void use(lk_siglock *lock, lk_siglock *theirs, lk_status *step)
{
    const lk_acquire_options replicas = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                         .replica_ms = 20};
    lk_hold *hold = NULL;
    lk_hold *none = NULL;
    lk_info *info = NULL;

    *step++ =
        expect(lk_siglock_acquire(theirs, wait_scaled_ms(30), NULL, &none),
               LK_ETIMEDOUT);
    *step++ =
        expect(lk_siglock_acquire(lock, 0, &replicas, &none), LK_EREPLICAS);
    *step = lk_siglock_info(lock, &info);
    if (*step++ == LK_OK)
        lk_info_free(info);
    *step = lk_siglock_acquire(lock, wait_scaled_ms(2000), NULL, &hold);
    if (*step++ != LK_OK)
        return;
    *step++ = lk_hold_extend(hold, 60000);
    *step = lk_hold_release(hold);
}

static void do_work(siglocking *f, lk_status *steps)
{
    lk_client *client = NULL;
    lk_siglock *lock = NULL;
    lk_siglock *theirs = NULL;

    steps[0] = lk_client_open(&client, server_url(f->base->server), NULL);
    if (steps[0] != LK_OK)
        return;
    steps[1] = lk_siglock_new(&lock, client, "n", NULL);
    if (steps[1] == LK_OK)
        steps[1] = lk_siglock_new(&theirs, client, "theirs", NULL);
    if (steps[1] == LK_OK)
        use(lock, theirs, steps + 2);
    lk_siglock_free(lock);
    lk_siglock_free(theirs);
    (void)lk_client_shutdown(client, 2000);
    lk_client_free(client);
}

/* Whether every step did what it does with memory. */
static bool assert_steps(const lk_status *steps, int n)
{
    bool clean = true;

    for (size_t i = 0; i < STEPS; i++) {
        if (steps[i] != LK_OK && steps[i] != LK_ENOMEM &&
            steps[i] != LK_EINDOUBT)
            fail_msg("%d, step %zu: %s", n, i, lk_status_name(steps[i]));
        clean = clean && steps[i] == LK_OK;
    }
    return clean;
}

CHECK_TEST_OF(one_allocation_that_fails_is_told_or_made_up_for, siglocking *f,
              siglocking_setup, teardown)
{
    int failures = 0;
    int n = 0;

    do {
        lk_status steps[STEPS] = {LK_OK};

        freeReplyObject(
            server_command(f->base->server, "SET lock:theirs other"));
        memory_fails_at(++n);
        do_work(f, steps);
        failures += !assert_steps(steps, n);
        locking_wait_integer(f->base, 0, "EXISTS %s", "lock:n");
        server_flush(f->base->server);
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
    assert_true(failures > 5);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
