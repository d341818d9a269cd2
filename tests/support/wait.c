/* SPDX-License-Identifier: MIT */
#include "support/wait.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CROWD_POLLS = 50, /* so often it is looked how busy the machine is */
    WINDOW_MS = 2000  /* what is shorter is a window, and no deadline */
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

unsigned wait_lease_ms(void)
{
    return 1000 + wait_scaled_ms(250);
}

unsigned wait_lease_over_ms(uint64_t took_ms)
{
    return wait_lease_ms() + 2 * (unsigned)took_ms;
}

/* The fourth word of /proc/loadavg begins with it; 0: it is not known. */
static unsigned long threads_ready(void)
{
    FILE *file = fopen("/proc/loadavg", "re");
    char text[128] = "";
    const char *at = text;

    if (file == NULL)
        return 0;
    (void)!fgets(text, sizeof(text), file);
    (void)fclose(file);
    for (int words = 0; words < 3 && at != NULL; words++) {
        at = strchr(at, ' ');
        if (at != NULL)
            at++;
    }
    return at != NULL ? strtoul(at, NULL, 10) : 0;
}

/* How many threads are ready to run for each processor; 1 if that many may. */
static double crowd(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    double each =
        processors > 0 ? (double)threads_ready() / (double)processors : 1.0;

    return each > 1.0 ? each : 1.0;
}

bool wait_until(bool (*condition)(void *data), void *data, unsigned deadline_ms)
{
    double left_ms = wait_scaled_ms(deadline_ms);
    uint64_t before = wait_now_ms();
    double each = 1.0;

    for (unsigned polls = 1; !condition(data); polls++) {
        uint64_t now = wait_now_ms();

        left_ms -= (double)(now - before) / each;
        if (left_ms <= 0)
            return condition(data);
        before = now;
        if (deadline_ms >= WINDOW_MS && polls % CROWD_POLLS == 0)
            each = crowd();
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

uint64_t wait_allowed_ms(uint64_t most_ms)
{
    return (uint64_t)((double)most_ms * crowd());
}
