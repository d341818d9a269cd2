/* SPDX-License-Identifier: MIT */
#include "support/wait.h"

#include <stdlib.h>
#include <time.h>

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

bool wait_until(bool (*condition)(void *data), void *data, unsigned deadline_ms)
{
    uint64_t end = wait_now_ms() + wait_scaled_ms(deadline_ms);

    while (!condition(data)) {
        if (wait_now_ms() >= end)
            return condition(data);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}
