/* SPDX-License-Identifier: MIT */
#ifndef INTEROP_DRIVER_H
#define INTEROP_DRIVER_H

/* The driver of Latchkey itself; interop/PROTOCOL.md says what a driver does. */

#include <latchkey/latchkey.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVERS_MAX = 9 };

/* A client for each server of a run: one, or those of a redlock. */
typedef struct servers {
    lk_client *clients[SERVERS_MAX];
    size_t count;
    uint64_t lease_ms; /* of holds that name none; 0: the library's own */
} servers;

/* Whatever kind of lock it is: "lock", "fair", "read", "multi", ... */
typedef struct grip grip;

/* A handle for one kind and name; NULL: no such kind, or out of memory. Only
   the kind "token" uses more than the first client. */
grip *grip_new(const servers *from, const char *kind, const char *name);
void grip_free(grip *g);

lk_status
grip_acquire(grip *g, int64_t wait_ms, uint64_t lease_ms, lk_hold **ret_hold);
lk_status grip_force(grip *g);
lk_status grip_is_locked(grip *g, bool *ret_locked);

/* Permits of a kind "semaphore" or "permits". What is given back is a number
   of the former, or the latter's permit of that id, whoever holds it. */
lk_status grip_set(grip *g, uint64_t number);
lk_status grip_take(grip *g, uint64_t count, int64_t wait_ms, uint64_t lease_ms,
                    lk_hold **ret_hold);
lk_status grip_give(grip *g, const char *what);
lk_status grip_count(grip *g, int64_t *ret_count);

/* Of a kind "semaphore"; deleted can be a latch as well. */
lk_status grip_add(grip *g, int64_t number);
lk_status grip_drain(grip *g, int64_t *ret_count);
lk_status grip_delete(grip *g);

/* A kind "latch". */
lk_status grip_down(grip *g);
lk_status grip_await(grip *g, int64_t wait_ms);

/* The number that text is; otherwise: it is none, or NULL. */
int64_t number_of(const char *text, int64_t otherwise);

/* The two modes; they return the exit code. words: <key>=<value>. */
int repl_run(const servers *from);
int loop_run(const servers *from, char **words);

#endif /* INTEROP_DRIVER_H */
