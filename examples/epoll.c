/* SPDX-License-Identifier: MIT */

/*
 * A worker on an event loop of its own: one of three permits, a job that is a timer,
 * and on SIGINT or SIGTERM an end that leaves nothing behind, also while it waits.
 *
 *   cc epoll.c $(pkg-config --cflags --libs latchkey)
 *   ./a.out redis://127.0.0.1
 */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { JOB_MS = 500, END_MS = 2000 };

/* Callbacks run in dispatch, so on this thread alone. */
static lk_client *client;
static lk_semaphore *pool;
static lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
static lk_hold *permit;
static bool is_over;
static int job; /* a timer */

static void fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, lk_last_error());
    exit(EXIT_FAILURE);
}

/* The last callback: all others have run before it. */
static void on_shutdown(lk_status status, void *over)
{
    printf("ended: %s\n", lk_status_text(status));
    *(bool *)over = true;
}

static void end(void)
{
    if (permit)
        printf("held: %s\n", lk_status_text(lk_hold_check(permit)));
    if (permit && lk_hold_release_async(permit, NULL, NULL) != LK_OK)
        fail("release");
    permit = NULL;
    if (lk_client_shutdown_async(client, END_MS, on_shutdown, &is_over))
        fail("shutdown");
}

static void on_permit(lk_status status, lk_hold *hold, void *data)
{
    const struct itimerspec time = {.it_value.tv_nsec = JOB_MS * 1000000L};

    (void)data;
    printf("permit: %s\n", lk_status_text(status));
    permit = hold;
    if (status != LK_OK) /* canceled, for example */
        end();
    else
        timerfd_settime(job, 0, &time, NULL);
}

static void on_signal(void)
{
    lk_cancel_fire(options.cancel); /* a wait ends in on_permit() */
    if (permit)
        end();
}

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
    const char *url = argc > 1 ? argv[1] : getenv("LATCHKEY_URL");
    const lk_client_options dispatch = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    const lk_semaphore_options three = {LK_SEMAPHORE_OPTIONS_INIT,
                                        .permits = 3};
    int signals, epoll = epoll_create1(EPOLL_CLOEXEC);
    char bytes[sizeof(struct signalfd_siginfo)];
    struct epoll_event event;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT), sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signals = watch(epoll, signalfd(-1, &set, SFD_CLOEXEC));
    job = watch(epoll, timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    if (lk_client_open(&client, url, &dispatch) != LK_OK ||
        lk_semaphore_new(&pool, client, "pool", &three) != LK_OK ||
        lk_cancel_new(&options.cancel, client) != LK_OK ||
        lk_semaphore_acquire_async(pool, 1, LK_FOREVER, &options, on_permit,
                                   NULL) != LK_OK)
        fail("open");
    watch(epoll, lk_client_fd(client));
    while (!is_over && epoll_wait(epoll, &event, 1, -1) >= 0)
        if (event.data.fd == lk_client_fd(client))
            is_over |= lk_client_dispatch(client) != LK_OK;
        else if (read(event.data.fd, bytes, sizeof bytes) <= 0)
            fail("read");
        else if (event.data.fd == signals)
            on_signal();
        else if (permit) /* the job is done */
            end();
    lk_cancel_free(options.cancel);
    lk_semaphore_free(pool);
    lk_client_free(client);
}
