/* SPDX-License-Identifier: MIT */
#ifndef LK_WORLD_FORK_H
#define LK_WORLD_FORK_H

/*
 * Descriptors that a child of fork() must not share with its parent. They are
 * entered here as they are made, and the child closes them before fork()
 * returns in it. It only closes: a command sent or a timer set there would be
 * the parent's. A server then sees the end of a stream when the parent ends
 * it, not when the last child does. (exec is covered by CLOEXEC.)
 *
 * Any thread may call these. A fork waits while one of them runs.
 */
typedef struct lk__fork_entry {
    struct lk__fork_entry *next, **link; /* among all entries */
    int fd;                              /* -1: none */
} lk__fork_entry;

/* A non-blocking stream socket. 0 or a negative errno. */
int lk__fork_socket(lk__fork_entry *entry, int family);

/* A non-blocking timerfd on CLOCK_BOOTTIME. 0 or a negative errno. */
int lk__fork_timer(lk__fork_entry *entry);

/* Closes the descriptor. Allowed again, and for an entry that is all zeros. */
void lk__fork_close(lk__fork_entry *entry);

#endif /* LK_WORLD_FORK_H */
