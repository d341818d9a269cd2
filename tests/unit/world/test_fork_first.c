/* SPDX-License-Identifier: MIT */

/* The first clients of a program, opened at the same time, see no fork. */

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wait.h"
#include "world/fork.h"
#include "world/world.h"

/* Some hundred programs for a second or two; fewer where each takes long. */
enum { THREADS = 4, PROGRAMS = 300, LEAST = 10, LONG_MS = 5000 };

/* In the environment of a program that opens clients, and has no other test. */
static const char opens[] = "LK_TEST_OPENS";
static atomic_int ready;
static lk__fork_entry timers[THREADS];

/* What a client does when it is opened, and then at each call. */
static void *open_one(void *data)
{
    (void)atomic_fetch_add(&ready, 1);
    while (atomic_load(&ready) < THREADS)
        ; /* all at once */
    (void)lk__fork_generation();
    (void)lk__fork_timer(data);
    (void)lk__fork_generation();
    return NULL;
}

/* In a program of its own: 0 if nothing was taken for a fork. */
static int open_all(void)
{
    pthread_t threads[THREADS];
    int closed = 0;

    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, open_one, &timers[i]) != 0)
            return 2;
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        closed += timers[i].fd < 0;
    return lk__fork_generation() != 0 || closed > 0;
}

CHECK_TEST(first_clients_see_no_fork)
{
    char *argv[] = {(char[]){"test_unit_world"}, (char[]){"unit.fork_first"},
                    NULL};
    uint64_t end = wait_now_ms() + LONG_MS;

    assert_int_equal(setenv(opens, "1", 1), 0);
    for (int i = 0; i < PROGRAMS && (i < LEAST || wait_now_ms() < end); i++) {
        pid_t pid;
        int status = -1;

        assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv,
                                     environ),
                         0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    assert_int_equal(unsetenv(opens), 0);
}

int test_fork_first(void)
{
    if (getenv(opens) != NULL)
        return open_all();
    return check_all(NULL, NULL);
}
