/* SPDX-License-Identifier: MIT */

/* Commands that listen. */

#include "cli/http/run.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/clock.h"
#include "cli/output.h"

/* The signals that end it. Blocked also in the server's thread, so that they
   wait for the thread that asks for them. */
static void signals_block(sigset_t *ends)
{
    (void)sigemptyset(ends);
    (void)sigaddset(ends, SIGINT);
    (void)sigaddset(ends, SIGTERM);
    (void)sigaddset(ends, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, ends, NULL);
}

/* Waits for one of them until that time. 0: there was none. */
static int signal_wait(const sigset_t *ends, int64_t until_ns)
{
    int64_t left = until_ns - cli_now_ns();
    struct timespec time = {.tv_sec = 0};
    int found;

    if (left > 0) {
        time.tv_sec = (time_t)(left / 1000000000);
        time.tv_nsec = (long)(left % 1000000000);
    }
    found = sigtimedwait(ends, NULL, &time);
    return found > 0 ? found : 0;
}

/* What cannot be written for want of memory is left out: the next look may. */
static void publish(cli_http *http, const cli_http_run *run)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    if (to == NULL)
        return;
    run->look(to, run->data);
    if (fclose(to) == 0)
        (void)cli_http_publish(http, text, size);
    else
        free(text);
}

static bool tell_place(const cli_http *http, const cli_http_run *run)
{
    bool is_six = strchr(run->place.address, ':') != NULL;

    (void)printf("http://%s%s%s:%u%s\n", is_six ? "[" : "", run->place.address,
                 is_six ? "]" : "", cli_http_port(http), run->path);
    return cli_flush();
}

int cli_http_run_until_signal(const cli *c, const cli_http_run *run)
{
    cli_http *http;
    sigset_t ends;
    int ended = 0, code;

    signals_block(&ends);
    code = cli_http_open(c, &run->place, run->pages, &http);
    if (code != 0)
        return code;
    if (!tell_place(http, run))
        ended = SIGINT; /* cli_finish() complains */
    while (ended == 0) {
        int64_t begun = cli_now_ns(), done;
        int64_t next = begun + run->every_ms * CLI_NS_PER_MS;

        publish(http, run);
        done = cli_now_ns();
        if (next < done + (done - begun))
            next = done + (done - begun);
        ended = signal_wait(&ends, next);
    }
    cli_http_close(http);
    return ended != SIGINT ? CLI_SIGNAL + ended : CLI_OK;
}
