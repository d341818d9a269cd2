/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_WAIT_H
#define LK_TESTS_SUPPORT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Time for tests. A test never sleeps to let something happen: it waits for a
 * condition, and a deadline ends the wait when the condition never comes.
 *
 * Any thread may call these.
 */

/* Milliseconds on CLOCK_BOOTTIME. */
uint64_t wait_now_ms(void);

/*
 * How many times slower than usual this build is: LK_TEST_SLOW in the
 * environment, 1 without it.
 */
double wait_scale(void);

/*
 * A deadline for this run: ms times wait_scale(), at least 1. Not by how busy
 * the machine is: a window in which nothing may happen would grow with it, past
 * what ends it, and a limit of the library past the lease that it must fit.
 */
unsigned wait_scaled_ms(unsigned ms);

/*
 * A lease that nobody loses to a slow machine: 1 s and a quarter of one more,
 * scaled; on a crowded machine up to 24 quarters. It stays the same in a process.
 * For tests that fail when it is lost before they want it to be.
 */
unsigned wait_lease_ms(void);

/*
 * The same, and long enough for something that took so long just now on this
 * machine to be done within it, however busy it is: twice that is added.
 */
unsigned wait_lease_over_ms(uint64_t took_ms);

/*
 * Asks condition(data) about once in a millisecond until it says true, which
 * is the answer, or until deadline_ms, scaled, have passed: then it is asked a
 * last time. Where more threads are ready to run than there are processors, now or
 * in the last minute, or work takes longer than itself, the time of two seconds and
 * more passes slower by that; of one round that takes longer, as where the machine
 * stands still, 50 ms count: a deadline ends only what never comes. What is shorter
 * is a window, in which nothing may happen.
 */
bool wait_until(bool (*condition)(void *data), void *data,
                unsigned deadline_ms);

/* The same for a condition that stands where it is waited for; see assert_soon(). */
typedef struct wait_span {
    double left_ms, each; /* each: so much slower its time passes */
    uint64_t before;
    unsigned polls;
    bool is_window;
} wait_span;

wait_span wait_begin(unsigned deadline_ms);
/* Passes a millisecond. False when the condition was asked for the last time. */
bool wait_goes_on(wait_span *span);

/*
 * The most that something may have taken that takes most_ms on a machine with
 * time: longer by as many threads as are ready to run for each processor, now or in
 * the last minute, or by how long work takes, if that is more; and by how long the
 * machine, or this process, stood still, where waits of the process have met that.
 */
uint64_t wait_allowed_ms(uint64_t most_ms);

/*
 * A time limit of the library's, scaled and allowed for: what is to be done within ms
 * on a machine with time is done within it.
 */
uint64_t wait_limit_ms(unsigned ms);

#endif /* LK_TESTS_SUPPORT_WAIT_H */
