/* SPDX-License-Identifier: MIT */
#include "support/wait.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    /* So often, or after as many ms, it is looked how busy the machine is. */
    CROWD_POLLS = 50,
    WINDOW_MS = 2000, /* what is shorter is a window, and no deadline */
    ROUND_MS = 50, /* so much of one round counts: the rest is the machine's */
    STILL_MS =
        1000, /* a sleep of a millisecond that takes longer is a standstill */
    QUARTER_MS = 250,
    QUARTERS_MOST = 24,
    WORK_MS = 10,
    PACE_MS = 5000 /* so long it is known how long work takes */
};

uint64_t wait_now_ms(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        abort();
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

double wait_scale(void)
{
    const char *text = getenv("LK_TEST_SLOW");
    double scale = text != NULL ? strtod(text, NULL) : 1.0;

    return scale > 0.0 && scale <= 1000.0 ? scale : 1.0;
}

unsigned wait_scaled_ms(unsigned ms)
{
    double scaled = (double)ms * wait_scale();

    if (scaled < 1.0)
        return 1;
    return scaled < 1e9 ? (unsigned)scaled : 1000000000U;
}

enum { LATELY, NOW = 3, NUMBERS }; /* in /proc/loadavg */

/* How many threads are ready to run, or were in the last minute on average, if that is
   more: what is judged afterwards may have been crowded before. 0: it is not known. */
static double threads_ready(void)
{
    FILE *file = fopen("/proc/loadavg", "re");
    double numbers[NUMBERS] = {0};
    char text[128] = "", *at = text;

    if (file == NULL)
        return 0;
    (void)!fgets(text, sizeof(text), file);
    (void)fclose(file);
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = strtod(at, &at);
    return numbers[NOW] > numbers[LATELY] ? numbers[NOW] : numbers[LATELY];
}

static double clock_ms(clockid_t clock)
{
    struct timespec now;

    if (clock_gettime(clock, &now) != 0)
        abort();
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* How many times longer than itself a moment's work of this thread takes: a share of a
   processor, as of a container, is not in the numbers of the machine. Done again once
   what is known is old. */
static double pace(void)
{
    static _Atomic double known = 1.0, asked_at = -PACE_MS;
    double begin = clock_ms(CLOCK_BOOTTIME), work;

    if (begin < asked_at + PACE_MS)
        return known;
    asked_at = begin;
    work = clock_ms(CLOCK_THREAD_CPUTIME_ID) + WORK_MS;
    while (clock_ms(CLOCK_THREAD_CPUTIME_ID) < work)
        continue;
    known = (clock_ms(CLOCK_BOOTTIME) - begin) / WORK_MS;
    return known;
}

static _Atomic double least_crowd = 1.0;

/* How many threads are ready to run for each processor, or how long work takes; 1 if
   this machine has time. */
static double crowd(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double each = processors > 0 ? threads_ready() / (double)processors : 1.0;
    double slow = pace();

    if (slow > each)
        each = slow;
    return each > least_crowd ? each : least_crowd;
}

static unsigned lease_ms;
static pthread_once_t lease_once = PTHREAD_ONCE_INIT;

static void lease_choose(void)
{
    double quarters = crowd();

    if (quarters > QUARTERS_MOST)
        quarters = QUARTERS_MOST;
    lease_ms = 1000 + (unsigned)(wait_scaled_ms(QUARTER_MS) * quarters);
    /* The lease stays, and what waits for its end has to be longer. */
    if (quarters > 2)
        least_crowd = quarters / 2;
}

unsigned wait_lease_ms(void)
{
    (void)pthread_once(&lease_once, lease_choose);
    return lease_ms;
}

unsigned wait_lease_over_ms(uint64_t took_ms)
{
    return wait_lease_ms() + 2 * (unsigned)took_ms;
}

wait_span wait_begin(unsigned deadline_ms)
{
    return (wait_span){.left_ms = wait_scaled_ms(deadline_ms),
                       .before = wait_now_ms(),
                       .each = 1.0,
                       .is_window = deadline_ms < WINDOW_MS};
}

/* What a round took, as far as it counts. A machine that stands still for a minute
   has given nobody a minute's time. */
static double round_ms(const wait_span *span, uint64_t took)
{
    if (!span->is_window && took > ROUND_MS)
        took = ROUND_MS;
    return (double)took / span->each;
}

static _Atomic uint64_t stood_ms; /* still, as far as waits have met it */

static void sleep_once(void)
{
    uint64_t begin = wait_now_ms(), took;

    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    took = wait_now_ms() - begin;
    if (took > STILL_MS)
        stood_ms += took;
}

bool wait_goes_on(wait_span *span)
{
    uint64_t now = wait_now_ms(), passed = now - span->before;

    if (span->left_ms <= 0)
        return false;
    /* A condition may take longer to ask for than all other polls. */
    if (!span->is_window &&
        (++span->polls % CROWD_POLLS == 0 || passed > CROWD_POLLS))
        span->each = crowd();
    span->left_ms -= round_ms(span, passed);
    span->before = now;
    if (span->left_ms <= 0)
        return true;
    sleep_once();
    return true;
}

bool wait_until(bool (*condition)(void *data), void *data, unsigned deadline_ms)
{
    wait_span span = wait_begin(deadline_ms);

    while (!condition(data)) {
        if (!wait_goes_on(&span))
            return false;
    }
    return true;
}

uint64_t wait_allowed_ms(uint64_t most_ms)
{
    return (uint64_t)((double)most_ms * crowd()) + stood_ms;
}

uint64_t wait_limit_ms(unsigned ms)
{
    return (uint64_t)((double)wait_scaled_ms(ms) * crowd());
}
