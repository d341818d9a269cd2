/* SPDX-License-Identifier: MIT */
#include "support/wait.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
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

/* How many threads of the machine wanted to run, on the average of the last
   minute, or now, if that is wanted and is more. 0: nobody tells. */
static double busy_threads(bool with_now)
{
    double numbers[4] = {0}; /* averages of 1, 5, 15 minutes; now */
    char text[128] = "";
    char *at = text;
    FILE *from = fopen("/proc/loadavg", "re");

    if (from == NULL)
        return 0.0;
    (void)!fgets(text, sizeof(text), from);
    (void)fclose(from);
    for (int i = 0; i < 4; i++)
        numbers[i] = strtod(at, &at);
    return with_now && numbers[3] > numbers[0] ? numbers[3] : numbers[0];
}

static double processors(void)
{
    cpu_set_t mine;

    return sched_getaffinity(0, sizeof(mine), &mine) == 0
               ? (double)CPU_COUNT(&mine)
               : 1.0;
}

/* In percent. What runs now is the test itself, but for the first call. */
static unsigned machine_percent(void)
{
    static _Atomic unsigned most;
    unsigned before = atomic_load(&most);
    double percent = 100.0 * busy_threads(before == 0) / processors();
    unsigned now = percent > 1000.0 ? 1000 : (unsigned)percent;

    if (now < 100)
        now = 100;
    while (now > before && !atomic_compare_exchange_weak(&most, &before, now))
        continue;
    return now > before ? now : before;
}

unsigned wait_scaled_ms(unsigned ms)
{
    double scaled = (double)ms * wait_scale() * machine_percent() / 100;

    if (scaled < 1.0)
        return 1;
    return scaled < 1e9 ? (unsigned)scaled : 1000000000U;
}

unsigned wait_lease_ms(void)
{
    static _Atomic unsigned lease_ms;
    double machine = machine_percent() / 100.0;
    double scale = wait_scale() > machine ? wait_scale() : machine;
    unsigned none = 0;

    if (atomic_load(&lease_ms) == 0)
        (void)atomic_compare_exchange_strong(&lease_ms, &none,
                                             1000 + (unsigned)(250 * scale));
    return lease_ms;
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
