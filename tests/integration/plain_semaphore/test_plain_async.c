/* SPDX-License-Identifier: MIT */

/*
 * The bare counter without waiting, and what ends a wait from outside: a
 * cancel, the shutdown, a fork; and where there is no memory.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
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
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_of_new_client(f);
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
    assert_false(locking_exists(f->base, "n"));
}

static void an_async_call_tells_what_went_wrong(void **state)
{
    plain *f = *state;
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
    plain *f = *state;
    lk_plain_semaphore *semaphore =
        plain_of(f, locking_open_calm(f->base, NULL));
    call *calls = calloc(CALLS, sizeof(*calls));

    assert_non_null(calls);
    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    for (int i = 0; i < CALLS; i++)
        assert_status(lk_plain_semaphore_acquire_async(semaphore, 1, LK_FOREVER,
                                                       NULL, call_on_done,
                                                       &calls[i]),
                      LK_OK);
    locking_wait_queued(f->base, "n", CALLS);
    for (int i = 0; i < CALLS; i++) {
        plain_give(semaphore, 1);
        assert_status(call_wait(&calls[i], NULL), LK_OK);
        assert_true(i + 1 == CALLS || atomic_load(&calls[i + 1].ends) == 0);
    }
    assert_int_equal(plain_value(f), 0);
    free(calls);
}

static atomic_int any_ends;

static void on_any(lk_status status, void *data)
{
    (void)data;
    if (status == LK_OK)
        atomic_fetch_add(&any_ends, 1);
}

/* Some began before the client could queue them, in no order to speak of. */
static void each_permit_ends_one_of_many_waits(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 0);

    atomic_store(&any_ends, 0);
    for (int i = 0; i < CALLS; i++)
        assert_status(lk_plain_semaphore_acquire_async(semaphore, 1, LK_FOREVER,
                                                       NULL, on_any, NULL),
                      LK_OK);
    for (int i = 0; i < CALLS; i++) {
        plain_give(semaphore, 1);
        call_wait_count(&any_ends, i + 1, NULL);
    }
    assert_int_equal(plain_value(f), 0);
}

/* The first of them tells the server of none, the next one of all. */
static void many_changes_at_once_are_forgotten_at_once(void **state)
{
    plain *f = *state;
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
    assert_in_range(server_integer(f->base->server, "HLEN latchkey:{n}:m"), 1,
                    8);
    free(calls);
}

/* With the caller's own loop, callbacks run in it alone. */
static void a_callback_runs_where_the_client_is_dispatched(void **state)
{
    plain *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *client = locking_open(f->base, &options);
    lk_plain_semaphore *semaphore = plain_of(f, client);
    call set = {0}, taken = {0};

    assert_status(lk_plain_semaphore_add_async(semaphore, 1, call_on_done,
                                               &set),
                  LK_OK);
    assert_status(call_wait(&set, client), LK_OK);
    assert_status(lk_plain_semaphore_acquire_async(semaphore, 1, LK_FOREVER,
                                                   NULL, call_on_done, &taken),
                  LK_OK);
    assert_status(call_wait(&taken, client), LK_OK);
    assert_true(pthread_equal(set.thread, pthread_self()) != 0);
    assert_true(pthread_equal(taken.thread, pthread_self()) != 0);
}

/* What a callback does with the counter: all but wait for an answer. */
struct inside {
    call call; /* first */
    lk_plain_semaphore *semaphore;
    call given;
    lk_status blocking, async;
    int64_t number;
};

static void act_inside(call *c)
{
    struct inside *inside = (struct inside *)(void *)c;

    inside->blocking =
        lk_plain_semaphore_count(inside->semaphore, &inside->number);
    inside->async =
        lk_plain_semaphore_release_async(inside->semaphore, 1, call_on_done,
                                         &inside->given);
}

static void a_callback_may_give_back_and_may_not_block(void **state)
{
    plain *f = *state;
    struct inside inside = {.call = {.act = act_inside},
                            .semaphore = plain_with(f, 1)};

    assert_status(lk_plain_semaphore_acquire_async(inside.semaphore, 1, 0, NULL,
                                                   call_on_done, &inside.call),
                  LK_OK);
    assert_status(call_wait(&inside.call, NULL), LK_OK);
    assert_status(inside.blocking, LK_ECALLBACK);
    assert_status(inside.async, LK_OK);
    assert_status(call_wait(&inside.given, NULL), LK_OK);
    assert_int_equal(plain_value(f), 1);
}

/* ---- cancel ------------------------------------------------------------------------ */

static void a_cancel_ends_a_wait_and_leaves_the_permits(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 1);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    plain_taker *t;
    call c = {0};

    assert_status(lk_cancel_new(&cancel, f->base->clients[0]), LK_OK);
    options.cancel = cancel;
    t = plain_begin(f, semaphore, 2, LK_FOREVER, &options);
    locking_wait_queued(f->base, "n", 1);
    assert_status(lk_plain_semaphore_acquire_async(semaphore, 1, LK_FOREVER,
                                                   &options, call_on_done, &c),
                  LK_OK);
    locking_wait_queued(f->base, "n", 2);
    lk_cancel_fire(cancel);
    assert_status(plain_join(t), LK_ECANCELED);
    assert_status(call_wait(&c, NULL), LK_ECANCELED);
    plain_wait_clean(f);
    assert_int_equal(plain_value(f), 1);
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, &options),
                  LK_ECANCELED);
    lk_cancel_free(cancel);
}

/* Whoever wins: nothing is lost, nothing is made. */
static void a_cancel_that_meets_a_grant_loses_no_permit(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    lk_plain_semaphore *other = plain_of_new_client(f);
    int64_t left = 0;

    for (int i = 0; i < 100; i++) {
        lk_cancel *cancel = NULL;
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
        call wait = {0}, give = {0};

        assert_status(lk_cancel_new(&cancel, f->base->clients[0]), LK_OK);
        options.cancel = cancel;
        assert_status(lk_plain_semaphore_acquire_async(semaphore, 1, LK_FOREVER,
                                                       &options, call_on_done,
                                                       &wait),
                      LK_OK);
        locking_wait_queued(f->base, "n", 1);
        assert_status(lk_plain_semaphore_release_async(other, 1, call_on_done,
                                                       &give),
                      LK_OK);
        if (i % 4 != 0)
            locking_wait_calm(f->base->clients[1]);
        lk_cancel_fire(cancel);
        assert_status(call_wait(&give, NULL), LK_OK);
        if (call_wait(&wait, NULL) != LK_OK)
            assert_status(wait.status, LK_ECANCELED);
        plain_wait_value(f, wait.status == LK_OK ? 0 : 1);
        plain_wait_clean(f);
        assert_status(lk_plain_semaphore_drain(other, &left), LK_OK);
        lk_cancel_free(cancel);
    }
}

/* ---- shutdown and fork --------------------------------------------------------------- */

static void a_shutdown_ends_waits_and_leaves_the_permits(void **state)
{
    plain *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_plain_semaphore *semaphore = plain_of(f, client);
    lk_plain_semaphore *other = plain_with(f, 1);
    int64_t number;
    plain_taker *t;

    plain_take(other, 1, 0);
    t = plain_queue_up(f, semaphore, 1, 1);
    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    assert_status(plain_join(t), LK_ECLOSED);
    plain_wait_clean(f);
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
    plain *f = *state;
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

/* ---- no memory --------------------------------------------------------------------------- */

static atomic_int allocations, fail_at;

static bool fails(void)
{
    return atomic_fetch_add(&allocations, 1) + 1 == atomic_load(&fail_at);
}

static int start_failing(void **state)
{
    atomic_store(&fail_at, 0);
    lk__mem_fail(fails);
    return plain_start(state);
}

static int end_failing(void **state)
{
    atomic_store(&fail_at, 0);
    return plain_end(state);
}

/* Of every call the n-th allocation, until there is none left to fail. */
static void a_change_without_memory_is_not_made(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    lk_status status = LK_ENOMEM;
    int n = 0;

    while (status != LK_OK && n < 100) {
        atomic_store(&allocations, 0);
        atomic_store(&fail_at, ++n);
        status = lk_plain_semaphore_release(semaphore, 1);
        atomic_store(&fail_at, 0);
        assert_true(status == LK_OK || status == LK_ENOMEM);
        assert_int_equal(plain_value(f), status == LK_OK);
    }
    assert_in_range(n, 2, 99);
}

static void an_acquire_without_memory_takes_nothing(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 5);
    lk_status status = LK_ENOMEM;
    int n = 0;

    while (status != LK_OK && n < 100) {
        atomic_store(&allocations, 0);
        atomic_store(&fail_at, ++n);
        status = lk_plain_semaphore_acquire(semaphore, 5, 0, NULL);
        atomic_store(&fail_at, 0);
        assert_true(status == LK_OK || status == LK_ENOMEM);
        assert_int_equal(plain_value(f), status == LK_OK ? 0 : 5);
    }
    assert_in_range(n, 3, 99);
}

/* With an inbox and a place in the queue. */
static void a_wait_without_memory_takes_all_or_nothing(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *other = plain_with(f, 0);
    long long taken = 0, given = 0;

    for (int n = 1; n < 60; n++) {
        lk_client *client = NULL;
        lk_plain_semaphore *semaphore = NULL;
        lk_status status = LK_ENOMEM;

        assert_status(lk_client_open(&client, server_url(f->base->server),
                                     NULL),
                      LK_OK);
        assert_status(lk_plain_semaphore_new(&semaphore, client, "n"), LK_OK);
        assert_status(lk_client_wait_ready(client,
                                           (int64_t)wait_scaled_ms(5000)),
                      LK_OK);
        atomic_store(&allocations, 0);
        atomic_store(&fail_at, n);
        status = lk_plain_semaphore_acquire(semaphore, 1, 50, NULL);
        atomic_store(&fail_at, 0);
        assert_true(status == LK_ETIMEDOUT || status == LK_ENOMEM ||
                    status == LK_EINDOUBT || status == LK_OK);
        taken += status == LK_OK;
        if (status == LK_ETIMEDOUT) {
            plain_give(other, 1);
            given++;
        }
        lk_plain_semaphore_free(semaphore);
        assert_status(lk_client_shutdown(client, 5000), LK_OK);
        lk_client_free(client);
        plain_wait_clean(f);
        plain_wait_value(f, given - taken);
    }
}

#define FAILING(f)                                                             \
    cmocka_unit_test_setup_teardown(f, start_failing, end_failing)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN_CASE(every_call_has_an_async_form),
        PLAIN_CASE(an_async_call_tells_what_went_wrong),
        PLAIN_CASE(many_waits_of_one_thread_end_in_order),
        PLAIN_CASE(each_permit_ends_one_of_many_waits),
        PLAIN_CASE(many_changes_at_once_are_forgotten_at_once),
        PLAIN_CASE(a_callback_runs_where_the_client_is_dispatched),
        PLAIN_CASE(a_callback_may_give_back_and_may_not_block),
        PLAIN_CASE(a_cancel_ends_a_wait_and_leaves_the_permits),
        PLAIN_CASE(a_cancel_that_meets_a_grant_loses_no_permit),
        PLAIN_CASE(a_shutdown_ends_waits_and_leaves_the_permits),
        PLAIN_CASE(a_child_cannot_use_its_parents_handle),
        FAILING(a_change_without_memory_is_not_made),
        FAILING(an_acquire_without_memory_takes_nothing),
        FAILING(a_wait_without_memory_takes_all_or_nothing),
    };

    return cmocka_run_group_tests_name("plain_async", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
