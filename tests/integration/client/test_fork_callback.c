/* SPDX-License-Identifier: MIT */

/*
 * A callback that forks, and a child that comes back from it. Monitor and loop are
 * its parent's there, and a thread that had the client's mutex is not there.
 */

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000, FORKS = 40 };

struct forker {
    _Atomic pid_t child; /* 0: the callback has not run */
    bool is_child;
};

static void fork_in_callback(lk_status status, bool locked, void *data)
{
    struct forker *forker = data;
    pid_t pid = fork();

    (void)status;
    (void)locked;
    forker->is_child = pid == 0;
    atomic_store(&forker->child, pid);
}

struct ending {
    pid_t pid;
    int status;
};

static bool has_ended(void *data)
{
    struct ending *child = data;

    return waitpid(child->pid, &child->status, WNOHANG) != 0;
}

/* Its status. */
static int child_ends(pid_t pid)
{
    struct ending child = {.pid = pid};
    bool ended;

    assert_true(pid > 0);
    ended = wait_until(has_ended, &child, SOON_MS);
    if (!ended)
        (void)kill(pid, SIGKILL);
    assert_true(ended);
    return child.status;
}

/* It has a status of its own for a child whose memory is known to threads that are
   not there. */
static bool is_under_valgrind(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return preload != NULL && strstr(preload, "vgpreload") != NULL;
}

static void fork_once(lk_lock *lock)
{
    struct forker forker = {0};
    int status;

    assert_status(lk_lock_is_locked_async(lock, fork_in_callback, &forker),
                  LK_OK);
    assert_soon(atomic_load(&forker.child) != 0, SOON_MS);
    status = child_ends(atomic_load(&forker.child));
    assert_true(WIFEXITED(status));
    if (!is_under_valgrind())
        assert_int_equal(WEXITSTATUS(status), 0);
}

/* It does not run its parent's loop: that would take its parent's events. */
LOCKS_TEST(a_child_that_returns_from_a_callback_ends)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock);

    fork_once(lock);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

struct asking {
    lk_lock *lock;
    atomic_bool ends;
};

static void *ask_again_and_again(void *data)
{
    struct asking *asking = data;
    bool locked;

    while (!atomic_load(&asking->ends))
        (void)!lk_lock_is_locked(asking->lock, &locked);
    return NULL;
}

/* Another thread has the client's mutex at some of the forks. */
LOCKS_TEST(a_child_waits_for_no_thread_of_its_parent)
{
    struct asking asking = {.lock = locking_new(f, lk_lock)};
    pthread_t threads[2];

    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_again_and_again,
                                        &asking),
                         0);
    for (int i = 0; i < FORKS; i++)
        fork_once(asking.lock);
    atomic_store(&asking.ends, true);
    for (size_t i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
}

LOCKS_TEST(a_child_that_returns_from_dispatch_is_told)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *client = locking_open(f, &options);
    lk_lock *lock = locking_lock(f, client, "n");
    struct forker forker = {0};
    struct pollfd told = {.fd = lk_client_fd(client), .events = POLLIN};

    assert_status(lk_lock_is_locked_async(lock, fork_in_callback, &forker),
                  LK_OK);
    while (atomic_load(&forker.child) == 0) {
        lk_status status;

        assert_int_equal(poll(&told, 1, SOON_MS), 1);
        status = lk_client_dispatch(client);
        if (forker.is_child && status == LK_EFORKED)
            (void)raise(SIGKILL); /* told: no tool looks for leaks in it */
        if (forker.is_child)
            _exit(1);
        assert_status(status, LK_OK);
    }
    assert_true(WIFSIGNALED(child_ends(atomic_load(&forker.child))));
}

CHECK_GROUP(locking_start_server, locking_stop_server)
