/* SPDX-License-Identifier: MIT */

/*
 * A latch out of memory: the same piece of work with the n-th allocation
 * failing, for each n until there is none left to fail.
 */

#include "support/check.h"
#include "support/latching.h"
#include "support/memory.h"
#include "support/wait.h"

enum { STEPS = 8 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return latching_teardown(state);
}

/* How each step ended; LK_OK for one that was not reached. */
typedef struct outcome {
    lk_status steps[STEPS];
    bool open;
    uint64_t count;
} outcome;

static void use(lk_latch *latch, outcome *done)
{
    lk_info *info = NULL;
    lk_status *step = &done->steps[2];

    *step++ = lk_latch_arrive(latch, 2, "m");
    /* Nobody opens it: it is what it takes to wait that matters. */
    *step = lk_latch_wait(latch, wait_scaled_ms(30), NULL);
    if (*step == LK_ETIMEDOUT)
        *step = LK_OK;
    step++;
    *step++ = lk_latch_count(latch, &done->count);
    *step = lk_latch_info(latch, &info);
    if (*step == LK_OK)
        lk_info_free(info);
    step++;
    *step++ = lk_latch_leave(latch, "m", &done->open);
    *step = lk_latch_delete(latch);
}

static outcome do_work(latching *f)
{
    outcome done = {.open = false};
    lk_client *client = NULL;
    lk_latch *latch = NULL;

    done.steps[0] = lk_client_open(&client, server_url(f->server), NULL);
    if (done.steps[0] != LK_OK)
        return done;
    done.steps[1] = lk_latch_new(&latch, client, "n", NULL);
    if (done.steps[1] == LK_OK) {
        use(latch, &done);
        lk_latch_free(latch);
    }
    (void)lk_client_shutdown(client, 1000);
    lk_client_free(client);
    return done;
}

/* What an arrival that failed for want of memory brings after it. */
static bool may_be(size_t step, lk_status status)
{
    return status == LK_OK || status == LK_ENOMEM || status == LK_EINDOUBT ||
           (step >= 4 && status == LK_EUNSET);
}

/* Whether every step did what it does with memory. */
static bool assert_steps(const outcome *done, int n)
{
    bool clean = true;

    for (size_t i = 0; i < STEPS; i++) {
        if (!may_be(i, done->steps[i]))
            fail_msg("%d, step %zu: %s", n, i, lk_status_name(done->steps[i]));
        clean = clean && done->steps[i] == LK_OK;
    }
    return clean;
}

CHECK_TEST_OF(one_allocation_that_fails_is_told_or_made_up_for, latching *f,
              latching_setup, teardown)
{
    int failures = 0;
    int n = 0;

    do {
        outcome done;

        memory_fails_at(++n);
        done = do_work(f);
        failures += !assert_steps(&done, n);
        server_flush(f->server);
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
    assert_true(failures > 5);
}

int main(void)
{
    return check_all(latching_start_server, latching_stop_server);
}
