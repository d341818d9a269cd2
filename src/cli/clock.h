/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_CLOCK_H
#define LK_CLI_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * Nanoseconds of CLOCK_BOOTTIME, the clock of leases: it goes on while the
 * machine sleeps, and is the same for all processes of the machine.
 */
static inline int64_t cli_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline uint64_t cli_now_ms(void)
{
    return (uint64_t)(cli_now_ns() / 1000000);
}

/* What the host takes to be the time of day, in milliseconds of Unix time. */
static inline int64_t cli_unix_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A pause of a command that looks again and again; a signal ends it early. */
static inline void cli_pass_ms(uint64_t ms)
{
    const struct timespec time = {.tv_sec = (time_t)(ms / 1000),
                                  .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&time, NULL);
}

#define CLI_NS_PER_MS INT64_C(1000000)

#endif /* LK_CLI_CLOCK_H */
