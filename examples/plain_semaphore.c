/* SPDX-License-Identifier: MIT */

/*
 * Two programs in one: `feed 5` puts down five jobs, `work` does jobs as they
 * come, and ends when none has come for ten seconds. The one gives permits that
 * it never had, the other takes them and never gives them back: what a bare
 * counter is for.
 *
 *   cc plain_semaphore.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1 work & ./a.out redis://127.0.0.1 feed 5
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_MS = 10000 };

/* Adds to what is there, and sets it if nothing is. */
static lk_status feed(lk_plain_semaphore *jobs, const char *count)
{
    return lk_plain_semaphore_add(jobs, strtoll(count, NULL, 10));
}

/* LK_OK: no job has come for a while. */
static lk_status work(lk_plain_semaphore *jobs)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "wants a job"};
    lk_status status = lk_plain_semaphore_add(jobs, 0);

    while (status == LK_OK) {
        status = lk_plain_semaphore_acquire(jobs, 1, IDLE_MS, &options);
        if (status == LK_OK)
            puts("a job is done");
    }
    return status == LK_ETIMEDOUT ? LK_OK : status;
}

static int usage(const char *name)
{
    fprintf(stderr, "usage: %s URL work | feed COUNT\n", name);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    lk_client *client = NULL;
    lk_plain_semaphore *jobs = NULL;
    lk_status status;

    if (argc < 3 || (strcmp(argv[2], "feed") == 0 && argc < 4))
        return usage(argv[0]);
    status = lk_client_open(&client, argv[1], NULL);
    if (status == LK_OK)
        status = lk_plain_semaphore_new(&jobs, client, "jobs");
    if (status == LK_OK)
        status =
            strcmp(argv[2], "feed") == 0 ? feed(jobs, argv[3]) : work(jobs);
    if (status != LK_OK)
        fprintf(stderr, "jobs: %s (%s)\n", lk_status_text(status),
                lk_last_error());

    lk_plain_semaphore_free(jobs);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
