/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_KIND_H
#define LK_TESTS_SUPPORT_KIND_H

#include <latchkey/latchkey.h>

#include <stdbool.h>

#include "check/history.h"

/*
 * Every primitive behind one form: a row for each, and for each mode of a
 * read-write lock. Tests that ask the same of every primitive are written once
 * and run over this table (tests/conformance). A column says what the
 * primitive promises, so a test knows what to expect of it; a function that is
 * NULL is one that the primitive does not have.
 *
 * A row is used like this:
 *
 *     kind_site site = {.clients = {client}, .lease_ms = 3000};
 *     lk_status status = k->make(&handle, &site, "name");
 *     if (k->prepare != NULL) ... k->prepare(handle), once for each name ...
 *     k->acquire(handle, wait_ms, NULL, &hold);
 *     k->release(handle, hold);
 *     k->free(handle);
 */

enum {
    KIND_SERVERS = 3, /* of a redlock */
    KIND_PERMITS = 3  /* of a semaphore, plain or not */
};

typedef enum kind_id {
    KIND_LOCK,
    KIND_SPINLOCK, /* a lock that is waited for by trying again and again */
    KIND_FAIRLOCK,
    KIND_LEADER,
    KIND_READ,
    KIND_UPGRADEABLE,
    KIND_WRITE,
    KIND_SEMAPHORE, /* one permit of KIND_PERMITS */
    KIND_PLAIN,     /* the same of a plain semaphore */
    KIND_SIGLOCK,
    KIND_STRIPES,   /* the stripe of one key */
    KIND_MULTILOCK, /* a lock, a fair lock, and a read-write lock to write */
    KIND_REDLOCK,   /* over KIND_SERVERS servers */
    KIND_LATCH,     /* an acquire is a wait, and a release does nothing */
    KIND_CELL,
    KIND_FLIGHT,
    KINDS
} kind_id;

/* Where a handle is made: a client of each server. A kind with .servers 1 uses
   the first client alone. The clients outlive the handle. */
typedef struct kind_site {
    lk_client *clients[KIND_SERVERS];
    uint64_t lease_ms;  /* of a redlock's holds, which no client says; others
                          have the client's watchdog_ms */
    uint64_t answer_ms; /* so long a redlock waits for one server; well below
                           the lease */
    uint64_t permits;   /* of a semaphore; 0: KIND_PERMITS, which shut needs */
} kind_site;

typedef struct kind {
    const char *word; /* "lock": one word, good for the name of a test */

    /* ---- what it promises ---- */
    /* How the checker of histories judges it. */
    history_kind history;
    history_mode mode;
    unsigned servers; /* 1, or KIND_SERVERS */
    /* How many may be in at once that were let in by this row; 0: any number,
       and none while somebody has shut it. */
    unsigned room;
    /* acquire gives a hold. A hold has a lease, which is renewed unless the
       options name one; and whoever loses it is told by lk_hold_check(),
       lk_hold_on_lost() and lk_hold_fd(). Without it hold is always NULL. */
    bool has_hold;
    bool reenters;  /* an owner that is in gets in once more */
    bool is_fair;   /* who waited first is let in first */
    bool is_fenced; /* the fence of each is larger than all before */
    bool is_queued; /* waiters stand in a queue of the server, which hands over;
                       otherwise they look, or wait for a signal */
    bool is_joint;  /* a hold of several names, or at several servers */

    /* What the server has under the name "n" while the name is shut; a list is not
       that. NULL: any key may stand there. */
    const char *key;

    /* ---- its functions ---- */
    /* *ret_handle is NULL unless LK_OK. */
    lk_status (*make)(void **ret_handle, const kind_site *site,
                      const char *name);
    /* The same with the options of the primitive, of options_size bytes, or NULL. A
       lease, or how long it lasts, stands at time_at. NULL: it has no options. What is
       wrong is handed on as it is. */
    lk_status (*make_with)(void **ret_handle, const kind_site *site,
                           const char *name, const void *options);
    size_t options_size, time_at;
    void (*free)(void *handle); /* NULL is allowed */
    /* What a name needs before the first acquire. NULL: nothing. */
    lk_status (*prepare)(void *handle);
    /* NULL for what is not acquired: a cell and a flight. */
    lk_status (*acquire)(void *handle, int64_t wait_ms,
                         const lk_acquire_options *options, lk_hold **ret_hold);
    /* The same of so many permits at once. NULL: it has none. */
    lk_status (*acquire_many)(void *handle, uint64_t count, int64_t wait_ms,
                              const lk_acquire_options *options,
                              lk_hold **ret_hold);
    lk_status (*acquire_async)(void *handle, int64_t wait_ms,
                               const lk_acquire_options *options,
                               lk_acquire_cb cb, void *data);
    lk_status (*release)(void *handle, lk_hold *hold);
    lk_status (*release_async)(void *handle, lk_hold *hold, lk_done_cb cb,
                               void *data);
    /* Has every acquire of this row wait, of other owners: a reader by a
       writer, a semaphore by all of its permits, a latch by arming it. The
       options are those of an acquire, and *ret_hold is NULL where has_hold is
       not set. open ends that. */
    lk_status (*shut)(void *handle, int64_t wait_ms,
                      const lk_acquire_options *options, lk_hold **ret_hold);
    lk_status (*open)(void *handle, lk_hold *hold);
    lk_status (*open_async)(void *handle, lk_hold *hold, lk_done_cb cb,
                            void *data);
    lk_status (*run)(void *handle, int64_t wait_ms,
                     const lk_acquire_options *options, lk_run_fn fn,
                     void *data);
    /* One whole use where nothing is acquired and released: of a latch arming,
       counting down and waiting; of a cell a write, a change and a read; of a
       flight a computation. NULL: an acquire and a release are one. See kind_visit(). */
    lk_status (*visit)(void *handle, int64_t wait_ms);
    lk_status (*import)(void *handle, const char *text,
                        const lk_acquire_options *options, lk_hold **ret_hold);
    /* Asks the server how it stands, and keeps nothing of the answer. */
    lk_status (*ask)(void *handle);
    lk_status (*ask_async)(void *handle, lk_done_cb cb, void *data);
    lk_status (*info)(void *handle, lk_info **ret_info);
    lk_status (*info_async)(void *handle, lk_info_cb cb, void *data);
    lk_status (*revoke)(void *handle, const char *owner, int64_t *ret_left_ms);
    /* owner: whose permits, of a semaphore; otherwise nobody reads it. */
    lk_status (*force)(void *handle, const char *owner);
    lk_status (*force_async)(void *handle, const char *owner, lk_done_cb cb,
                             void *data);
} kind;

extern const kind *const kinds[KINDS];

/* An acquire of so many permits, or of what has none: then of 1. */
lk_status kind_acquire(const kind *k, void *handle, uint64_t count,
                       int64_t wait_ms, const lk_acquire_options *options,
                       lk_hold **ret_hold);

/* One whole use by the calling thread, of a handle of any row, which leaves
   nothing behind but what prepare made. */
lk_status kind_visit(const kind *k, void *handle, int64_t wait_ms);

#endif /* LK_TESTS_SUPPORT_KIND_H */
