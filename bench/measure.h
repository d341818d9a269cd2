/* SPDX-License-Identifier: MIT */
#ifndef LK_BENCH_MEASURE_H
#define LK_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Clocks, processors, and what to make of many numbers. A benchmark does not
 * go on after a failure: what must not fail ends the process.
 */

/* Zeroed, the caller's to free. */
void *memory_new(size_t count, size_t size);

/* CLOCK_MONOTONIC: the same for all processes of the machine. */
uint64_t now_ns(void);
void sleep_ns(uint64_t ns);

/* LK_BENCH_QUICK=1: a tenth of everything. */
bool is_quick(void);
uint64_t scaled_ns(uint64_t ns);

enum { ANY_CPU = -1 };

/* The n-th processor this program was given; the last one if there are fewer. */
int cpu_nth(unsigned n);
/*
 * Pins a thread, 0 being the caller, and the threads it starts afterwards;
 * ANY_CPU: to all that this program was given.
 */
void pin(int thread, int cpu);

/*
 * Lets the calling thread run before all ordinary ones, so that it measures
 * what it waits for and not the queue for a processor. False if the system
 * does not permit it.
 */
bool hurry(void);

/* Processor time since boot, of all processors: ns in which they worked. */
uint64_t machine_busy_ns(void);
/* User and system time of this process and of children it has waited for. */
uint64_t own_busy_ns(void);
/* How many processors others used in ns: of all that worked, without these. */
double foreign_part(uint64_t machine_ns, uint64_t own_ns, uint64_t server_ns,
                    uint64_t ns);
/* Waits until the machine is almost idle, but not for long. */
void wait_for_quiet(void);

/* The p-th part (0.5: the median); sorts the numbers. 0 if there are none. */
double quantile(double *numbers, size_t count, double p);

/*
 * The median of those numbers whose noise is not above the median noise: of
 * the quieter half. The other half was measured beside somebody's work.
 */
double settled(const double *numbers, const double *noise, size_t count);

/* Zeroed memory that is shared with children. */
void *shared_new(size_t size);
void shared_free(void *memory, size_t size);

/*
 * Runs fn(data) in a child, so that nothing of one measurement is left for
 * the next; data is in shared memory. Dies if the child fails.
 */
void run_apart(void (*fn)(void *data), void *data);

/* SIGKILL, and gone. */
void child_kill(int pid);

#endif /* LK_BENCH_MEASURE_H */
