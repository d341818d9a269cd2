/* SPDX-License-Identifier: MIT */

/* lk_lock_run() and LK_HOLD_GUARD: a hold that cannot be forgotten. */

#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

/* ---- run --------------------------------------------------------------------- */

/* What fn sees and does. */
typedef struct job {
    locking *fixture;
    lk_client *client; /* to be shut down, or NULL */
    lk_status answer;  /* fn's */
    int runs;
    lk_status checked;
    bool existed;
    uint64_t fence;
} job;

static lk_status look(lk_hold *hold, void *data)
{
    job *j = data;

    j->runs++;
    j->checked = lk_hold_check(hold);
    j->fence = lk_hold_fence(hold);
    j->existed = locking_exists(j->fixture, "n");
    return j->answer;
}

LOCKS_TEST(it_runs_under_the_lock_and_answers_what_the_function_did)
{
    static const lk_status answers[] = {LK_OK, LK_EBUSY, LK_EINDOUBT,
                                        LK_EINVAL};
    lk_lock *lock = locking_new(f, lk_lock);

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        job j = {.fixture = f, .answer = answers[i]};

        assert_status(lk_lock_run(lock, SOON_MS, NULL, look, &j), answers[i]);
        assert_int_equal(j.runs, 1);
        assert_status(j.checked, LK_OK);
        assert_true(j.existed);
        assert_true(j.fence > 0);
        assert_false(locking_exists(f, "n"));
    }
}

LOCKS_TEST(what_is_not_acquired_is_not_run)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    job j = {.fixture = f, .answer = LK_OK};

    assert_status(lk_lock_run(lock, 0, NULL, look, &j), LK_EBUSY);
    assert_status(lk_lock_run(lock, wait_lease_ms(), NULL, look, &j),
                  LK_ETIMEDOUT);
    assert_status(lk_lock_run(lock, -7, NULL, look, &j), LK_EINVAL);
    assert_status(lk_lock_run(lock, 50, NULL, NULL, &j), LK_EINVAL);
    assert_status(lk_lock_run(NULL, 50, NULL, look, &j), LK_EINVAL);
    assert_int_equal(j.runs, 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

static lk_status outlive_the_lease(lk_hold *hold, void *data)
{
    const job *j = data;

    return wait_until(hold_is_lost, hold, SOON_MS) ? j->answer : LK_EINVAL;
}

LOCKS_TEST(a_hold_that_was_lost_is_the_answer_whatever_the_function_did)
{
    static const lk_status answers[] = {LK_OK, LK_EBUSY, LK_ENOMEM};
    lk_lock *lock = locking_new(f, lk_lock);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = 50};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        job j = {.fixture = f, .answer = answers[i]};

        assert_status(lk_lock_run(lock, SOON_MS, &options, outlive_the_lease,
                                  &j),
                      LK_ELOST);
    }
}

static lk_status delete_the_key(lk_hold *hold, void *data)
{
    const job *j = data;

    (void)hold;
    (void)server_integer(j->fixture->server, "DEL n");
    return j->answer;
}

/* Nobody knew of it before the release. */
LOCKS_TEST(a_hold_that_was_deleted_is_the_answer)
{
    lk_lock *lock = locking_new(f, lk_lock);
    job j = {.fixture = f, .answer = LK_OK};

    assert_status(lk_lock_run(lock, SOON_MS, NULL, delete_the_key, &j),
                  LK_ELOST);
}

static lk_status shut_down(lk_hold *hold, void *data)
{
    const job *j = data;

    (void)hold;
    (void)lk_client_shutdown(j->client, 1000);
    return j->answer;
}

LOCKS_TEST(a_shutdown_meanwhile_is_a_loss)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    job j = {.fixture = f, .client = client, .answer = LK_OK};

    assert_status(lk_lock_run(lock, SOON_MS, NULL, shut_down, &j), LK_ELOST);
}

static lk_status freeze(lk_hold *hold, void *data)
{
    const job *j = data;

    (void)hold;
    server_freeze(j->fixture->server);
    return j->answer;
}

/* The guarded work was done under the hold; the release is the library's. */
LOCKS_TEST(a_release_in_doubt_does_not_change_the_answer)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_limit_ms(100)};
    lk_lock *lock = locking_lock(f, locking_open(f, &options), "n");
    job j = {.fixture = f, .answer = LK_OK};
    lk_status status = lk_lock_run(lock, SOON_MS, NULL, freeze, &j);

    server_thaw(f->server);
    assert_status(status, LK_OK);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

static lk_status run_again(lk_hold *hold, void *data)
{
    job *j = data;

    j->fence = lk_hold_fence(hold);
    return lk_lock_run(j->fixture->handles[0], 0, NULL, look, j);
}

LOCKS_TEST(it_may_be_run_within_itself)
{
    lk_lock *lock = locking_new(f, lk_lock);
    job j = {.fixture = f, .answer = LK_OK};

    assert_status(lk_lock_run(lock, 0, NULL, run_again, &j), LK_OK);
    assert_int_equal(j.runs, 1);
    assert_true(j.existed);
    assert_false(locking_exists(f, "n"));
}

/* ---- guard -------------------------------------------------------------------- */

typedef enum path { TO_THE_END, EARLY, BY_GOTO, RELEASED, NOTHING } path;

/* Leaves a scope with a guarded hold in one of several ways. */
static lk_status guarded(lk_lock *lock, path way)
{
    lk_status status;
    LK_HOLD_GUARD lk_hold *hold = NULL;

    if (way == NOTHING)
        return LK_OK;
    status = lk_lock_acquire(lock, 0, NULL, &hold);
    if (status != LK_OK)
        return status;
    if (way == EARLY)
        return lk_hold_check(hold);
    if (way == BY_GOTO)
        goto end;
    if (way == RELEASED) {
        status = lk_hold_release(hold);
        hold = NULL;
    }
end:
    return status;
}

LOCKS_TEST(a_guard_releases_on_every_path)
{
    static const path ways[] = {TO_THE_END, EARLY, BY_GOTO, RELEASED, NOTHING};
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        assert_status(guarded(lock, ways[i]), LK_OK);
        assert_false(locking_exists(f, "n"));
        assert_int_equal(locking_stats(client).holding, 0);
    }
    assert_int_equal(locking_stats(client).releases, 4);
}

LOCKS_TEST(a_guard_ends_with_each_turn_of_a_loop)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    uint64_t last = 0;

    for (int i = 0; i < 5; i++) {
        LK_HOLD_GUARD lk_hold *hold = locking_hold(lock);

        assert_true(lk_hold_fence(hold) > last);
        last = lk_hold_fence(hold);
        if (i % 2 == 0)
            continue;
    }
    assert_int_equal(locking_stats(client).releases, 5);
}

LOCKS_TEST(a_guard_without_a_hold_does_nothing)
{
    lk_hold *none = NULL;
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));

    lk_hold_guard_end(NULL);
    lk_hold_guard_end(&none);
    assert_status(guarded(lock, TO_THE_END), LK_EBUSY);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
