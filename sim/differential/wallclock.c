/* SPDX-License-Identifier: MIT */

/*
 * Preloaded into a redis-server: its wall clock is the number of microseconds
 * since 1970 in the file that LK_SIM_CLOCK names. Clocks that only measure
 * how long something takes stay as they are.
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

/* Mapped by the first who looks, which may be before any constructor. */
static uint64_t now_us(void)
{
    static _Atomic uint64_t *clock_us;
    const char *path;
    void *memory;
    int fd;

    if (clock_us != NULL)
        return atomic_load(clock_us);
    path = getenv("LK_SIM_CLOCK");
    fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    memory = fd < 0
                 ? MAP_FAILED
                 : mmap(NULL, sizeof(*clock_us), PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        _exit(127);
    close(fd);
    clock_us = memory;
    return atomic_load(clock_us);
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
