/* SPDX-License-Identifier: MIT */

/*
 * The bare counter without waiting, and what ends a wait from outside: a
 * cancel, the shutdown, a fork.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/plain.h"
#include "support/wait.h"

enum { CALLS = 50 };

/* An async call that ends with a number. */
typedef struct counted {
    call call; /* first */
    int64_t number;
} counted;

static void on_number(lk_status status, int64_t number, void *data)
{
    ((counted *)data)->number = number;
    call_on_done(status, data);
}

/* ---- the calls ------------------------------------------------------------------ */

static void every_call_has_an_async_form(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = locking_new(f, lk_plain_semaphore);
    call calls[5] = {{0}};
    counted numbers[2] = {{{0}, 0}};
    call info = {0};

    assert_status(lk_plain_semaphore_try_set_async(semaphore, 5, 0,
                                                   call_on_done, &calls[0]),
                  LK_OK);
    assert_status(call_wait(&calls[0], NULL), LK_OK);
    assert_status(lk_plain_semaphore_acquire_async(semaphore, 3, 0, NULL,
                                                   call_on_done, &calls[1]),
                  LK_OK);
    assert_status(call_wait(&calls[1], NULL), LK_OK);
    assert_status(lk_plain_semaphore_release_async(semaphore, 2, call_on_done,
                                                   &calls[2]),
                  LK_OK);
    assert_status(call_wait(&calls[2], NULL), LK_OK);
    assert_status(lk_plain_semaphore_add_async(semaphore, 10, call_on_done,
                                               &calls[3]),
                  LK_OK);
    assert_status(call_wait(&calls[3], NULL), LK_OK);
    assert_status(lk_plain_semaphore_count_async(semaphore, on_number,
                                                 &numbers[0]),
                  LK_OK);
    assert_status(call_wait(&numbers[0].call, NULL), LK_OK);
    assert_int_equal(numbers[0].number, 14);
    assert_status(lk_plain_semaphore_drain_async(semaphore, on_number,
                                                 &numbers[1]),
                  LK_OK);
    assert_status(call_wait(&numbers[1].call, NULL), LK_OK);
    assert_int_equal(numbers[1].number, 14);
    assert_status(lk_plain_semaphore_info_async(semaphore, call_on_info, &info),
                  LK_OK);
    assert_status(call_wait(&info, NULL), LK_OK);
    assert_int_equal(info.info->waiter_count, 0);
    lk_info_free(info.info);
    assert_status(lk_plain_semaphore_delete_async(semaphore, call_on_done,
                                                  &calls[4]),
                  LK_OK);
    assert_status(call_wait(&calls[4], NULL), LK_OK);
    assert_false(locking_exists(f, "n"));
}

static void an_async_call_tells_what_went_wrong(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    counted number = {{0}, 7};
    call calls[3] = {{0}};

    assert_status(lk_plain_semaphore_acquire_async(semaphore, 2, 0, NULL,
                                                   call_on_done, &calls[0]),
                  LK_OK);
    assert_status(call_wait(&calls[0], NULL), LK_EBUSY);
    assert_status(lk_plain_semaphore_try_set_async(semaphore, 2, 0,
                                                   call_on_done, &calls[1]),
                  LK_OK);
    assert_status(call_wait(&calls[1], NULL), LK_EALREADY);
    assert_status(lk_plain_semaphore_acquire_async(semaphore, 2, 200, NULL,
                                                   call_on_done, &calls[2]),
                  LK_OK);
    assert_status(call_wait(&calls[2], NULL), LK_ETIMEDOUT);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    assert_status(lk_plain_semaphore_drain_async(semaphore, on_number, &number),
                  LK_OK);
    assert_status(call_wait(&number.call, NULL), LK_EUNSET);
    assert_int_equal(number.number, 0);
}

/* Its inbox stands: so the server sees them in the order of the calls. */
static void many_waits_of_one_thread_end_in_order(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore =
        locking_of(f, lk_plain_semaphore, locking_open_calm(f, NULL));
    call *calls = calloc(CALLS, sizeof(*calls));

    assert_non_null(calls);
    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    for (int i = 0; i < CALLS; i++)
        assert_status(lk_plain_semaphore_acquire_async(semaphore, 1, LK_FOREVER,
                                                       NULL, call_on_done,
                                                       &calls[i]),
                      LK_OK);
    locking_wait_queued(f, "n", CALLS);
    for (int i = 0; i < CALLS; i++) {
        plain_give(semaphore, 1);
        assert_status(call_wait(&calls[i], NULL), LK_OK);
        assert_true(i + 1 == CALLS || atomic_load(&calls[i + 1].ends) == 0);
    }
    assert_int_equal(plain_value(f), 0);
    free(calls);
}

/* The first of them tells the server of none, the next one of all. */
static void many_changes_at_once_are_forgotten_at_once(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    call *calls = calloc(CALLS, sizeof(*calls));

    assert_non_null(calls);
    for (int i = 0; i < CALLS; i++)
        assert_status(lk_plain_semaphore_release_async(semaphore, 1,
                                                       call_on_done, &calls[i]),
                      LK_OK);
    for (int i = 0; i < CALLS; i++)
        assert_status(call_wait(&calls[i], NULL), LK_OK);
    plain_give(semaphore, 1);
    assert_int_equal(plain_value(f), CALLS + 1);
    assert_in_range(server_integer(f->server, "HLEN latchkey:{n}:m"), 1, 8);
    free(calls);
}

/* ---- shutdown and fork --------------------------------------------------------------- */

static void a_shutdown_ends_waits_and_leaves_the_permits(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_plain_semaphore *semaphore = locking_of(f, lk_plain_semaphore, client);
    lk_plain_semaphore *other = plain_with(f, 1);
    int64_t number;
    taker *t;

    plain_take(other, 1, 0);
    t = plain_queue_up(f, semaphore, 1, 1);
    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    assert_status(taker_join(t), LK_ECLOSED);
    locking_wait_queued(f, "n", 0);
    assert_int_equal(plain_value(f), 0);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL),
                  LK_ECLOSED);
    assert_status(lk_plain_semaphore_release(semaphore, 1), LK_ECLOSED);
    assert_status(lk_plain_semaphore_count(semaphore, &number), LK_ECLOSED);
    assert_int_equal(plain_value(f), 0);
}

static void child_expects(bool truth, int line)
{
    if (truth)
        return;
    (void)fprintf(stderr, "child: line %d\n", line);
    _exit(1);
}

#define EXPECT(truth) child_expects((truth), __LINE__)

static void never_called(lk_status status, void *data)
{
    (void)status;
    (void)data;
}

static void child_run(lk_plain_semaphore *semaphore)
{
    int64_t number = 0;

    EXPECT(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL) == LK_EFORKED);
    EXPECT(lk_plain_semaphore_acquire_async(semaphore, 1, 0, NULL, never_called,
                                            NULL) == LK_EFORKED);
    EXPECT(lk_plain_semaphore_release(semaphore, 1) == LK_EFORKED);
    EXPECT(lk_plain_semaphore_add(semaphore, 1) == LK_EFORKED);
    EXPECT(lk_plain_semaphore_try_set(semaphore, 1, 0) == LK_EFORKED);
    EXPECT(lk_plain_semaphore_drain(semaphore, &number) == LK_EFORKED);
    EXPECT(lk_plain_semaphore_count(semaphore, &number) == LK_EFORKED);
    EXPECT(lk_plain_semaphore_delete(semaphore) == LK_EFORKED);
    lk_plain_semaphore_free(semaphore);
}

/* A child that succeeds is killed, so that no tool looks for leaks in it. */
static void a_child_cannot_use_its_parents_handle(void **state)
{
    locking *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        child_run(semaphore);
        (void)raise(SIGKILL);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    plain_take(semaphore, 1, 0);
    assert_int_equal(plain_value(f), 0);
}

int test_plain_async(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(every_call_has_an_async_form),
        LOCKING_TEST(an_async_call_tells_what_went_wrong),
        LOCKING_TEST(many_waits_of_one_thread_end_in_order),
        LOCKING_TEST(many_changes_at_once_are_forgotten_at_once),
        LOCKING_TEST(a_shutdown_ends_waits_and_leaves_the_permits),
        LOCKING_TEST(a_child_cannot_use_its_parents_handle),
    };

    return cmocka_run_group_tests_name("plain_async", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
