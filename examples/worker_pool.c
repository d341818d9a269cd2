/* SPDX-License-Identifier: MIT */

/*
 * Eight workers share three licences of a renderer with every other copy of
 * this program, on whatever host. Ctrl-C ends it after the jobs under way.
 *
 *   cc -pthread worker_pool.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1
 */

#include <latchkey/semaphore.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WORKERS = 8, LICENCES = 3, JOBS_EACH = 5, FRAMES = 2 };

static lk_semaphore *licences;
static lk_cancel *stop;

static void on_signal(int signal)
{
    (void)signal;
    lk_cancel_fire(stop);
}

/* Stops between two frames when the licence is no longer ours. */
static lk_status render(const lk_hold *licence)
{
    lk_status status = LK_OK;

    for (int frame = 0; frame < FRAMES && status == LK_OK; frame++) {
        sleep(1);
        status = lk_hold_check(licence);
    }
    return status;
}

/* Does one job under one licence. LK_ELOST: it has to be done again. */
static lk_status run_job(void)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .cancel = stop,
                                        .reason = "render"};
    lk_hold *licence;
    lk_status status =
        lk_semaphore_acquire(licences, 1, LK_FOREVER, &options, &licence);

    if (status != LK_OK)
        return status;

    status = render(licence);
    lk_hold_release(licence);
    return status;
}

static bool may_try_again(lk_status status)
{
    return status == LK_ELOST ||
           (status != LK_ECANCELED && lk_status_is_retriable(status));
}

static void *work(void *data)
{
    lk_status status = LK_OK;

    (void)data;
    for (int job = 0; job < JOBS_EACH && status == LK_OK; job++) {
        while ((status = run_job()) != LK_OK && may_try_again(status)) {
            fprintf(stderr, "again in a second: %s\n", lk_status_text(status));
            sleep(1);
        }
        if (status == LK_OK)
            puts("a job is done");
    }
    return NULL;
}

static void run_workers(void)
{
    pthread_t threads[WORKERS];
    int count = 0;

    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    while (count < WORKERS &&
           pthread_create(&threads[count], NULL, work, NULL) == 0)
        count++;
    while (count > 0)
        pthread_join(threads[--count], NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = LICENCES};
    lk_client *client = NULL;
    lk_status status = lk_client_open(&client, url, NULL);

    if (status == LK_OK)
        status = lk_cancel_new(&stop, client);
    if (status == LK_OK)
        status = lk_semaphore_new(&licences, client, "renderer", &options);
    if (status == LK_OK)
        run_workers();
    else
        fprintf(stderr, "%s (%s)\n", lk_status_text(status), lk_last_error());

    lk_cancel_free(stop);
    lk_semaphore_free(licences);
    lk_client_free(client);
    return status == LK_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
