/* SPDX-License-Identifier: MIT */

/* The fixtures for processes: workers, and the record of what they do. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"
#include "support/server.h"
#include "support/wait.h"
#include "support/worker.h"

enum { SOON_MS = 5000 };

static int start_server(void **state)
{
    *state = server_start(NULL);
    return *state != NULL ? 0 : -1;
}

static int stop_server(void **state)
{
    server_stop(*state);
    return 0;
}

/* ---- workers ---- */

static int count_up(worker_shared *shared, unsigned index, void *data)
{
    for (int i = 0; i < *(int *)data; i++)
        (void)atomic_fetch_add(&shared->counters[index][1], 1);
    return 0;
}

static int exit_by_index(worker_shared *shared, unsigned index, void *data)
{
    (void)shared;
    (void)data;
    return (int)index;
}

static int run_until_over(worker_shared *shared, unsigned index, void *data)
{
    (void)data;
    while (!atomic_load(&shared->is_over)) {
        (void)atomic_fetch_add(&shared->counters[index][0], 1);
        (void)usleep(500);
    }
    return 0;
}

/* The message of what is to fail would only confuse the log. */
static void quieten(void)
{
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(2);
}

static int assert_falsehood(worker_shared *shared, unsigned index, void *data)
{
    (void)shared;
    (void)index;
    (void)data;
    quieten();
    assert_int_equal(1, 2);
    return 0;
}

#if defined(__SANITIZE_ADDRESS__)
static int leak(worker_shared *shared, unsigned index, void *data)
{
    void *volatile lost = malloc(40 + index);

    (void)shared;
    (void)data;
    quieten();
    lost = NULL;
    return lost != NULL;
}

static void a_worker_that_leaks_has_failed(NO_STATE)
{
    workers *w = workers_start(2, leak, NULL);

    assert_non_null(w);
    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 0), WORKER_LEAKED);
    assert_int_equal(workers_exit(w, 1), WORKER_LEAKED);
    workers_free(w);
}
#endif

static int use_dead_server(worker_shared *shared, unsigned index, void *data)
{
    (void)shared;
    (void)index;
    quieten();
    server_kill(data);
    freeReplyObject(server_command(data, "PING"));
    return 0;
}

typedef struct broken {
    server *server;
    FILE *said;
} broken;

/* It is not the parent of the server. */
static int use_ended_server(worker_shared *shared, unsigned index, void *data)
{
    const broken *b = data;

    (void)index;
    (void)dup2(fileno(b->said), STDERR_FILENO);
    (void)kill(server_pid(b->server), SIGKILL);
    while (!atomic_load(&shared->is_over))
        freeReplyObject(server_command(b->server, "PING"));
    return 0;
}

static int expect_integer(worker_shared *shared, unsigned index, void *data)
{
    (void)shared;
    (void)index;
    quieten();
    (void)server_integer(data, "PING");
    return 0;
}

static int tell_client_id(worker_shared *shared, unsigned index, void *data)
{
    atomic_store(&shared->counters[index][0],
                 (uint64_t)server_integer(data, "CLIENT ID"));
    return 0;
}

static void workers_count_in_shared_memory(NO_STATE)
{
    int times = 1000;
    workers *w = workers_start(3, count_up, &times);

    assert_non_null(w);
    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_succeeded(w), 3);
    assert_int_equal(workers_count(w, 1), 3000);
    assert_int_equal(workers_count(w, 0), 0);
    workers_free(w);
}

static void workers_tell_how_they_exited(NO_STATE)
{
    workers *w = workers_start(3, exit_by_index, NULL);

    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 0), 0);
    assert_int_equal(workers_exit(w, 2), 2);
    assert_int_equal(workers_succeeded(w), 1);
    workers_free(w);
}

static void too_many_workers_are_refused(NO_STATE)
{
    assert_null(workers_start(WORKER_MAX + 1, exit_by_index, NULL));
    assert_int_equal(errno, EINVAL);
}

static void a_worker_can_be_killed_alone(NO_STATE)
{
    workers *w = workers_start(2, run_until_over, NULL);

    workers_kill(w, 0, SIGKILL);
    assert_int_equal(workers_exit(w, 0), -SIGKILL);
    assert_int_equal(workers_exit(w, 1), WORKER_RUNS);
    assert_false(workers_wait(w, 10));
    workers_end(w);
    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 1), 0);
    workers_free(w);
}

static bool has_counted(void *data)
{
    return workers_count(data, 0) > 0;
}

static void a_stopped_worker_stands_until_it_goes_on(NO_STATE)
{
    workers *w = workers_start(1, run_until_over, NULL);
    uint64_t count;

    assert_true(wait_until(has_counted, w, SOON_MS));
    workers_kill(w, 0, SIGSTOP);
    workers_kill(w, 0, SIGSTOP);
    workers_end(w);
    count = workers_count(w, 0);
    assert_false(workers_wait(w, 20));
    assert_int_equal(workers_count(w, 0), count);
    workers_kill(w, 0, SIGCONT);
    assert_true(workers_wait(w, SOON_MS));
    workers_free(w);
}

static void stopped_and_running_workers_can_be_freed(NO_STATE)
{
    workers *w = workers_start(2, run_until_over, NULL);
    pid_t pid = workers_pid(w, 0);

    workers_kill(w, 0, SIGSTOP);
    workers_free(w);
    assert_int_equal(kill(pid, 0), -1);
}

static void a_failed_assertion_aborts_its_worker(NO_STATE)
{
    workers *w = workers_start(1, assert_falsehood, NULL);

    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 0), -SIGABRT);
    workers_free(w);
}

static void a_command_to_a_dead_server_does_not_return(NO_STATE)
{
    server *s = server_start(NULL);
    workers *w = workers_start(1, use_dead_server, s);

    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 0), -SIGABRT);
    workers_free(w);
    server_stop(s);
}

static void a_worker_does_not_say_that_a_dead_server_runs(NO_STATE)
{
    broken b = {.server = server_start(NULL), .said = tmpfile()};
    workers *w = workers_start(1, use_ended_server, &b);
    char line[128];

    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 0), -SIGABRT);
    rewind(b.said);
    assert_non_null(fgets(line, sizeof(line), b.said));
    assert_string_equal(line, "server: the connection to it broke\n");
    workers_free(w);
    (void)fclose(b.said);
    server_stop(b.server);
}

static void a_reply_of_another_kind_is_not_returned(void **state)
{
    workers *w = workers_start(1, expect_integer, *state);

    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_exit(w, 0), -SIGABRT);
    workers_free(w);
}

static void a_worker_commands_over_its_own_connection(void **state)
{
    server *s = *state;
    long long ours = server_integer(s, "CLIENT ID");
    workers *w = workers_start(2, tell_client_id, s);
    worker_shared *shared = workers_shared(w);

    assert_true(workers_wait(w, SOON_MS));
    assert_int_equal(workers_succeeded(w), 2);
    assert_int_not_equal(shared->counters[0][0], ours);
    assert_int_not_equal(shared->counters[1][0], shared->counters[0][0]);
    assert_int_equal(server_integer(s, "CLIENT ID"), ours);
    workers_free(w);
}

/* ---- records ---- */

static void owners_one_after_another_are_no_violation(NO_STATE)
{
    record r = {0};

    assert_true(record_enter(&r, 0, 5));
    assert_true(record_leave(&r, 0));
    assert_true(record_enter(&r, 1, 6));
    assert_true(record_leave(&r, 1));
    assert_int_equal(record_violations(&r), 0);
    assert_int_equal(r.grants, 2);
    assert_int_equal(r.last_fence, 6);
}

static void two_owners_inside_are_a_violation(NO_STATE)
{
    record r = {0};

    assert_true(record_enter(&r, 0, 1));
    assert_false(record_enter(&r, 1, 2));
    assert_false(record_leave(&r, 0));
    assert_true(r.overlaps >= 2);
    assert_int_equal(r.fence_errors, 0);
}

static void a_fence_that_does_not_grow_is_a_violation(NO_STATE)
{
    record r = {0};

    assert_true(record_enter(&r, 0, 5));
    assert_true(record_leave(&r, 0));
    assert_false(record_enter(&r, 0, 5));
    assert_true(record_leave(&r, 0));
    assert_false(record_enter(&r, 0, 4));
    assert_int_equal(r.fence_errors, 2);
    assert_int_equal(r.overlaps, 0);
    assert_int_equal(r.last_fence, 5);
}

static void an_abandoned_record_is_free_for_the_next(NO_STATE)
{
    record r = {0};

    assert_true(record_enter(&r, 0, 1));
    assert_false(record_abandon(&r, 1));
    assert_true(record_abandon(&r, 0));
    assert_false(record_abandon(&r, 0));
    assert_true(record_enter(&r, 1, 2));
    assert_int_equal(record_violations(&r), 0);
}

int test_support_worker(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__SANITIZE_ADDRESS__)
        cmocka_unit_test(a_worker_that_leaks_has_failed),
#endif
        cmocka_unit_test(workers_count_in_shared_memory),
        cmocka_unit_test(workers_tell_how_they_exited),
        cmocka_unit_test(too_many_workers_are_refused),
        cmocka_unit_test(a_worker_can_be_killed_alone),
        cmocka_unit_test(a_stopped_worker_stands_until_it_goes_on),
        cmocka_unit_test(stopped_and_running_workers_can_be_freed),
        cmocka_unit_test(a_failed_assertion_aborts_its_worker),
        cmocka_unit_test(a_command_to_a_dead_server_does_not_return),
        cmocka_unit_test(a_worker_does_not_say_that_a_dead_server_runs),
        cmocka_unit_test(a_reply_of_another_kind_is_not_returned),
        cmocka_unit_test(a_worker_commands_over_its_own_connection),
        cmocka_unit_test(owners_one_after_another_are_no_violation),
        cmocka_unit_test(two_owners_inside_are_a_violation),
        cmocka_unit_test(a_fence_that_does_not_grow_is_a_violation),
        cmocka_unit_test(an_abandoned_record_is_free_for_the_next),
    };

    return cmocka_run_group_tests_name("support_worker", tests, start_server,
                                       stop_server);
}
