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

/* Permits of a kind "semaphore" or "permits". */
lk_status grip_set(grip *g, uint64_t number);
lk_status grip_take(grip *g, uint64_t count, int64_t wait_ms, uint64_t lease_ms,
                    lk_hold **ret_hold);
lk_status grip_give(grip *g, uint64_t count);
lk_status grip_count(grip *g, int64_t *ret_count);

/* A kind "latch". */
lk_status grip_down(grip *g);
lk_status grip_await(grip *g, int64_t wait_ms);

/* The two modes; they return the exit code. */
int repl_run(const servers *from);
int loop_run(const servers *from, char **settings);

#endif /* INTEROP_DRIVER_H */
