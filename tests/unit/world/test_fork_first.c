/* SPDX-License-Identifier: MIT */

/* The first clients of a program, opened at the same time, see no fork. */

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wait.h"
#include "world/fork.h"
#include "world/world.h"

/* Some hundred programs for a second or two; fewer where each takes long. */
enum { THREADS = 4, PROGRAMS = 300, LEAST = 10, LONG_MS = 5000 };

static const char *self; /* this program's file */
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

static void first_clients_see_no_fork(NO_STATE)
{
    char *argv[] = {(char[]){"test_unit_fork_first"}, (char[]){"all"}, NULL};

    uint64_t end = wait_now_ms() + LONG_MS;

    for (int i = 0; i < PROGRAMS && (i < LEAST || wait_now_ms() < end); i++) {
        pid_t pid;
        int status = -1;

        assert_int_equal(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_clients_see_no_fork),
    };

    self = argv[0];
    if (argc == 2 && strcmp(argv[1], "all") == 0)
        return open_all();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
