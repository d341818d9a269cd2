/* SPDX-License-Identifier: MIT */

/*
 * Preloaded into a redis-server: its wall clock is the number of microseconds
 * since 1970 in the file that LK_SIM_CLOCK names. Clocks that only measure
 * how long something takes stay as they are. The second number of the file is
 * the state of the random source behind rand(), by which HRANDFIELD of a small
 * hash picks, and nothing else.
 */

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "world/random.h"

/* Mapped by the first who looks, which may be before any constructor. */
static _Atomic uint64_t *numbers(void)
{
    static _Atomic uint64_t *mapped;
    const char *path;
    void *memory;
    int fd;

    if (mapped != NULL)
        return mapped;
    path = getenv("LK_SIM_CLOCK");
    fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    memory = fd < 0 ? MAP_FAILED
                    : mmap(NULL, 2 * sizeof(*mapped), PROT_READ | PROT_WRITE,
                           MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        _exit(127);
    close(fd);
    mapped = memory;
    return mapped;
}

static uint64_t now_us(void)
{
    return atomic_load(&numbers()[0]);
}

__attribute__((visibility("default"))) int rand(void)
{
    uint64_t state = atomic_load(&numbers()[1]);
    uint64_t drawn = sim_draw(&state);

    atomic_store(&numbers()[1], state);
    return (int)(drawn & RAND_MAX);
}

__attribute__((visibility("default"))) int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    uint64_t us = now_us();

    (void)tz;
    tv->tv_sec = (time_t)(us / 1000000);
    tv->tv_usec = (suseconds_t)(us % 1000000);
    return 0;
}

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    uint64_t us = now_us();

    if (clock_id != CLOCK_REALTIME && clock_id != CLOCK_REALTIME_COARSE)
        return (int)syscall(SYS_clock_gettime, clock_id, tp);
    tp->tv_sec = (time_t)(us / 1000000);
    tp->tv_nsec = (long)(us % 1000000) * 1000;
    return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *timer)
{
    time_t seconds = (time_t)(now_us() / 1000000);

    if (timer != NULL)
        *timer = seconds;
    return seconds;
}
