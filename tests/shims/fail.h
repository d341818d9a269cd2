/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SHIMS_FAIL_H
#define LK_TESTS_SHIMS_FAIL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls of the C library that fail when they are told to: a program that has
 * this library before the C library, by linking or by LD_PRELOAD, finds these
 * in its place. So do hiredis and libuv.
 *
 * A process of its own can be told by its environment, where the program is
 * not the test's: LK_FAIL="<program> <point> <n> <forever, 0 or 1> <error>"
 * holds for processes of that program's short name, from their start on, and
 * LK_FAIL_COUNT names a file of an unsigned number, in which calls are counted.
 */

typedef enum fail_point {
    FAIL_MEMORY, /* malloc, calloc, realloc */
    FAIL_SOCKET,
    FAIL_CONNECT,
    FAIL_RECV,
    FAIL_SEND,
    FAIL_READ,
    FAIL_WRITE,
    FAIL_EPOLL_CTL,
    FAIL_EPOLL_WAIT,
    FAIL_EVENTFD,
    FAIL_TIMER, /* made or set */
    FAIL_RANDOM,
    FAIL_OPEN,
    FAIL_FCNTL, /* and ioctl() */
    FAIL_THREAD,
    FAIL_FORK,
    FAIL_POINTS
} fail_point;

/* A word for it. */
const char *fail_word(fail_point point);

/*
 * From now on calls of this sort are counted, and the n-th, from 1, fails with
 * error, or all from the n-th on. n 0: none does.
 */
void fail_arm(fail_point point, unsigned n, bool forever, int error);

/* No more; returns how many calls there were. */
unsigned fail_disarm(void);

/*
 * From now on all calls are counted but those for memory, and the n-th, from 1,
 * is not made: the process dies there, of SIGKILL. n 0: it does not. Count and
 * all end with fail_disarm().
 */
void fail_arm_death(unsigned n);

/*
 * How a process ends that libuv would abort, as it does if it has no memory for
 * its table of descriptors or cannot have one watched: that is known, see
 * docs/guarantees.md.
 */
enum { FAIL_ENDED_BY_LIBUV = 96 };

/* Blocks that were taken while it was armed and are not given back. The
   caller that took one of them: *ret_caller, NULL if unknown. */
size_t fail_leaked(const void **ret_caller);

#endif /* LK_TESTS_SHIMS_FAIL_H */
