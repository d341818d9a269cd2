/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "support/kind_inside.h"

enum { FLIGHT_TTL_MS = 1 };

MADE_BY_DEFAULT(stripes)
MADE_BY_DEFAULT(cell)
MADE_WITH(flight)
ACQUIRED_BY(redlock_acquire)
RUN_BY(redlock_run)

static lk_status stripes_acquire(void *handle, int64_t wait_ms,
                                 const lk_acquire_options *options,
                                 lk_hold **ret_hold)
{
    return lk_stripes_acquire(handle, "key", wait_ms, options, ret_hold);
}

static lk_status stripes_acquire_async(void *handle, int64_t wait_ms,
                                       const lk_acquire_options *options,
                                       lk_acquire_cb cb, void *data)
{
    return lk_stripes_acquire_async(handle, "key", wait_ms, options, cb, data);
}

/* A multilock and its members. */
typedef struct joint {
    lk_multilock *multilock;
    lk_lock *lock;
    lk_fairlock *fairlock;
    lk_rwlock *rwlock;
} joint;

static void multilock_free(void *handle)
{
    joint *j = handle;

    if (j == NULL)
        return;
    lk_multilock_free(j->multilock);
    lk_lock_free(j->lock);
    lk_fairlock_free(j->fairlock);
    lk_rwlock_free(j->rwlock);
    free(j);
}

static lk_multilock *of(void *handle)
{
    return handle != NULL ? ((joint *)handle)->multilock : NULL;
}

static lk_status members_make(joint *j, lk_client *client, const char *name)
{
    char fair[64], book[64];
    lk_status status = lk_multilock_new(&j->multilock);

    (void)snprintf(fair, sizeof(fair), "fair-%s", name);
    (void)snprintf(book, sizeof(book), "book-%s", name);
    if (status == LK_OK)
        status = lk_lock_new(&j->lock, client, name, NULL);
    if (status == LK_OK)
        status = lk_fairlock_new(&j->fairlock, client, fair, NULL);
    if (status == LK_OK)
        status = lk_rwlock_new(&j->rwlock, client, book, NULL);
    if (status == LK_OK)
        status = lk_multilock_add_lock(j->multilock, j->lock);
    if (status == LK_OK)
        status = lk_multilock_add_fairlock(j->multilock, j->fairlock);
    if (status == LK_OK)
        status = lk_multilock_add_write(j->multilock, j->rwlock);
    return status;
}

static lk_status
multilock_make(void **ret_handle, const kind_site *site, const char *name)
{
    joint *j = calloc(1, sizeof(*j));
    lk_status status = LK_ENOMEM;

    if (j != NULL)
        status = members_make(j, site->clients[0], name);
    if (status != LK_OK) {
        multilock_free(j);
        j = NULL;
    }
    *ret_handle = j;
    return status;
}

static lk_status multilock_acquire(void *handle, int64_t wait_ms,
                                   const lk_acquire_options *options,
                                   lk_hold **ret_hold)
{
    return lk_multilock_acquire(of(handle), wait_ms, options, ret_hold);
}

static lk_status multilock_acquire_async(void *handle, int64_t wait_ms,
                                         const lk_acquire_options *options,
                                         lk_acquire_cb cb, void *data)
{
    return lk_multilock_acquire_async(of(handle), wait_ms, options, cb, data);
}

static lk_status multilock_run(void *handle, int64_t wait_ms,
                               const lk_acquire_options *options, lk_run_fn fn,
                               void *data)
{
    return lk_multilock_run(of(handle), wait_ms, options, fn, data);
}

static lk_status redlock_make_with(void **ret_handle, const kind_site *site,
                                   const char *name, const void *options)
{
    return lk_redlock_new((lk_redlock **)ret_handle, site->clients,
                          KIND_SERVERS, name, options);
}

/* Its servers have just been started, and are never killed. */
static lk_status
redlock_make(void **ret_handle, const kind_site *site, const char *name)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .lease_ms = site->lease_ms,
                                        .node_timeout_ms = site->answer_ms,
                                        .durable = 1};

    *ret_handle = NULL;
    return redlock_make_with(ret_handle, site, name, &options);
}

static void redlock_free(void *handle)
{
    lk_redlock_free(handle);
}

/* ---- a value ---------------------------------------------------------------------- */

static lk_status
change(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    (void)old;
    (void)data;
    return lk_cell_draft_set(draft, "2", 1);
}

static lk_status cell_visit(void *handle, int64_t wait_ms)
{
    lk_cell_value *value = NULL;
    lk_status status = lk_cell_write(handle, LK_CELL_ANY, "1", 1, NULL);

    (void)wait_ms;
    if (status == LK_OK)
        status = lk_cell_update(handle, NULL, change, NULL, NULL);
    if (status == LK_OK)
        status = lk_cell_read(handle, &value);
    lk_cell_value_free(value);
    return status == LK_OK ? lk_cell_delete(handle, LK_CELL_ANY) : status;
}

static lk_status
flight_make(void **ret_handle, const kind_site *site, const char *name)
{
    const lk_flight_options options = {LK_FLIGHT_OPTIONS_INIT,
                                       .ttl_ms = FLIGHT_TTL_MS,
                                       .lease_ms = site->lease_ms};

    *ret_handle = NULL;
    return flight_make_with(ret_handle, site, name, &options);
}

static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "1", 1);
}

static lk_status flight_visit(void *handle, int64_t wait_ms)
{
    lk_flight_value *value = NULL;
    lk_status status =
        lk_flight_do(handle, "key", wait_ms, NULL, compute, NULL, &value);

    lk_flight_value_free(value);
    return status;
}

/* ---- the rows -------------------------------------------------------------------- */

const kind kind_stripes = {.word = "stripes",
                           .history = HISTORY_STRIPES,
                           .servers = 1,
                           .room = 1,
                           .has_hold = true,
                           .reenters = true,
                           .is_fenced = true,
                           .is_queued = true,
                           .key = "n:stripe:53",
                           .make = stripes_make,
                           MADE(stripes, lease_ms),
                           ACQUIRED(stripes_acquire),
                           RELEASED};

const kind kind_multilock = {.word = "multilock",
                             .history = HISTORY_MULTILOCK,
                             .servers = 1,
                             .room = 1,
                             .has_hold = true,
                             .reenters = true,
                             .is_queued = true,
                             .is_joint = true,
                             .key = "n",
                             .make = multilock_make,
                             .free = multilock_free,
                             .run = multilock_run,
                             ACQUIRED(multilock_acquire),
                             RELEASED};

const kind kind_redlock = {.word = "redlock",
                           .history = HISTORY_REDLOCK,
                           .servers = KIND_SERVERS,
                           .room = 1,
                           .has_hold = true,
                           .is_joint = true,
                           .make = redlock_make,
                           MADE(redlock, lease_ms),
                           .run = redlock_run,
                           ACQUIRED(redlock_acquire),
                           RELEASED};

const kind kind_cell = {.word = "cell",
                        .servers = 1,
                        .key = "latchkey:{n}:c",
                        .make = cell_make,
                        MADE(cell, ttl_ms),
                        .visit = cell_visit};

const kind kind_flight = {.word = "flight",
                          .history = HISTORY_FLIGHT,
                          .servers = 1,
                          .key = "latchkey:flight:{n:key}",
                          .make = flight_make,
                          MADE(flight, ttl_ms),
                          .visit = flight_visit};
