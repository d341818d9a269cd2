/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "support/kind_inside.h"

MADE_WITH(semaphore)
MADE_BY_DEFAULT(latch)
SAME_AS_A_LOCK(semaphore)
ASKED_BY(plain_semaphore, count, int64_t)
ASKED_BY(latch, count, uint64_t)

static lk_status
semaphore_make(void **ret_handle, const kind_site *site, const char *name)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = site->permits != 0
                                                         ? site->permits
                                                         : KIND_PERMITS};

    *ret_handle = NULL;
    return lk_semaphore_new((lk_semaphore **)ret_handle, site->clients[0], name,
                            &options);
}

static lk_status
semaphore_acquire_many(void *handle, uint64_t count, int64_t wait_ms,
                       const lk_acquire_options *options, lk_hold **ret_hold)
{
    return lk_semaphore_acquire(handle, count, wait_ms, options, ret_hold);
}

static lk_status semaphore_acquire(void *handle, int64_t wait_ms,
                                   const lk_acquire_options *options,
                                   lk_hold **ret_hold)
{
    return lk_semaphore_acquire(handle, 1, wait_ms, options, ret_hold);
}

static lk_status semaphore_acquire_async(void *handle, int64_t wait_ms,
                                         const lk_acquire_options *options,
                                         lk_acquire_cb cb, void *data)
{
    return lk_semaphore_acquire_async(handle, 1, wait_ms, options, cb, data);
}

static lk_status semaphore_shut(void *handle, int64_t wait_ms,
                                const lk_acquire_options *options,
                                lk_hold **ret_hold)
{
    return lk_semaphore_acquire(handle, KIND_PERMITS, wait_ms, options,
                                ret_hold);
}

static lk_status semaphore_force(void *handle, const char *owner)
{
    return lk_semaphore_force_release(handle, owner);
}

static lk_status semaphore_force_async(void *handle, const char *owner,
                                       lk_done_cb cb, void *data)
{
    return lk_semaphore_force_release_async(handle, owner, cb, data);
}

static lk_status semaphore_ask(void *handle)
{
    uint64_t permits;
    int64_t left;

    return lk_semaphore_count(handle, &permits, &left);
}

static void
on_count(lk_status status, uint64_t permits, int64_t left, void *data)
{
    (void)permits;
    (void)left;
    kind_asked(status, data);
}

static lk_status semaphore_ask_async(void *handle, lk_done_cb cb, void *data)
{
    void *to = kind_asker(cb, data);

    return kind_begun(to, lk_semaphore_count_async(handle,
                                                   cb != NULL ? on_count : NULL,
                                                   to));
}

static lk_status semaphore_run(void *handle, int64_t wait_ms,
                               const lk_acquire_options *options, lk_run_fn fn,
                               void *data)
{
    return lk_semaphore_run(handle, 1, wait_ms, options, fn, data);
}

static lk_status
plain_make(void **ret_handle, const kind_site *site, const char *name)
{
    *ret_handle = NULL;
    return lk_plain_semaphore_new((lk_plain_semaphore **)ret_handle,
                                  site->clients[0], name);
}

static void plain_free(void *handle)
{
    lk_plain_semaphore_free(handle);
}

static lk_status plain_prepare(void *handle)
{
    return lk_plain_semaphore_try_set(handle, KIND_PERMITS, 0);
}

static lk_status
plain_acquire_many(void *handle, uint64_t count, int64_t wait_ms,
                   const lk_acquire_options *options, lk_hold **ret_hold)
{
    if (ret_hold != NULL)
        *ret_hold = NULL;
    return lk_plain_semaphore_acquire(handle, count, wait_ms, options);
}

static lk_status plain_acquire(void *handle, int64_t wait_ms,
                               const lk_acquire_options *options,
                               lk_hold **ret_hold)
{
    return plain_acquire_many(handle, 1, wait_ms, options, ret_hold);
}

/* What is done without a hold, told as an acquire is. */
typedef struct told {
    lk_acquire_cb cb;
    void *data;
} told;

static void on_done(lk_status status, void *data)
{
    told to = *(told *)data;

    free(data);
    to.cb(status, NULL, to.data);
}

static told *told_new(lk_acquire_cb cb, void *data)
{
    told *to = malloc(sizeof(*to));

    if (to != NULL)
        *to = (told){cb, data};
    return to;
}

/* Nothing is told of what did not begin. */
static lk_status told_begun(told *to, lk_status status)
{
    if (status != LK_OK)
        free(to);
    return status;
}

static lk_status plain_acquire_async(void *handle, int64_t wait_ms,
                                     const lk_acquire_options *options,
                                     lk_acquire_cb cb, void *data)
{
    told *to = told_new(cb, data);

    if (to == NULL)
        return LK_ENOMEM;
    return told_begun(to, lk_plain_semaphore_acquire_async(handle, 1, wait_ms,
                                                           options,
                                                           cb != NULL ? on_done
                                                                      : NULL,
                                                           to));
}

static lk_status plain_release(void *handle, lk_hold *hold)
{
    (void)hold;
    return lk_plain_semaphore_release(handle, 1);
}

static lk_status
plain_release_async(void *handle, lk_hold *hold, lk_done_cb cb, void *data)
{
    (void)hold;
    return lk_plain_semaphore_release_async(handle, 1, cb, data);
}

static lk_status plain_shut(void *handle, int64_t wait_ms,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold)
{
    return plain_acquire_many(handle, KIND_PERMITS, wait_ms, options, ret_hold);
}

static lk_status plain_open(void *handle, lk_hold *hold)
{
    (void)hold;
    return lk_plain_semaphore_release(handle, KIND_PERMITS);
}

static lk_status
plain_open_async(void *handle, lk_hold *hold, lk_done_cb cb, void *data)
{
    (void)hold;
    return lk_plain_semaphore_release_async(handle, KIND_PERMITS, cb, data);
}

static lk_status plain_info(void *handle, lk_info **ret_info)
{
    return lk_plain_semaphore_info(handle, ret_info);
}

static lk_status plain_info_async(void *handle, lk_info_cb cb, void *data)
{
    return lk_plain_semaphore_info_async(handle, cb, data);
}

/* ---- a latch --------------------------------------------------------------------- */

static lk_status latch_wait(void *handle, int64_t wait_ms,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold)
{
    if (ret_hold != NULL)
        *ret_hold = NULL;
    return lk_latch_wait(handle, wait_ms, options);
}

static lk_status latch_wait_async(void *handle, int64_t wait_ms,
                                  const lk_acquire_options *options,
                                  lk_acquire_cb cb, void *data)
{
    told *to = told_new(cb, data);

    if (to == NULL)
        return LK_ENOMEM;
    return told_begun(to, lk_latch_wait_async(handle, wait_ms, options,
                                              cb != NULL ? on_done : NULL, to));
}

static lk_status latch_pass(void *handle, lk_hold *hold)
{
    (void)handle;
    (void)hold;
    return LK_OK;
}

static lk_status latch_shut(void *handle, int64_t wait_ms,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold)
{
    (void)wait_ms;
    (void)options;
    *ret_hold = NULL;
    return lk_latch_reset(handle, 1);
}

static lk_status latch_open(void *handle, lk_hold *hold)
{
    (void)hold;
    return lk_latch_count_down(handle, 1);
}

static lk_status
latch_open_async(void *handle, lk_hold *hold, lk_done_cb cb, void *data)
{
    (void)hold;
    return lk_latch_count_down_async(handle, 1, cb, data);
}

static lk_status latch_visit(void *handle, int64_t wait_ms)
{
    lk_status status = lk_latch_reset(handle, 1);

    if (status == LK_OK)
        status = lk_latch_count_down(handle, 1);
    if (status == LK_OK)
        status = lk_latch_wait(handle, wait_ms, NULL);
    return status == LK_OK ? lk_latch_delete(handle) : status;
}

static lk_status latch_info(void *handle, lk_info **ret_info)
{
    return lk_latch_info(handle, ret_info);
}

static lk_status latch_info_async(void *handle, lk_info_cb cb, void *data)
{
    return lk_latch_info_async(handle, cb, data);
}

/* ---- the rows -------------------------------------------------------------------- */

const kind kind_semaphore = {.word = "semaphore",
                             .history = HISTORY_SEMAPHORE,
                             .mode = HISTORY_PERMITS,
                             .servers = 1,
                             .room = KIND_PERMITS,
                             .has_hold = true,
                             .is_fair = true,
                             .is_queued = true,
                             .key = "n",
                             .make = semaphore_make,
                             MADE(semaphore, lease_ms),
                             .run = semaphore_run,
                             .acquire = semaphore_acquire,
                             .acquire_many = semaphore_acquire_many,
                             .acquire_async = semaphore_acquire_async,
                             .shut = semaphore_shut,
                             .open = kind_release,
                             .open_async = kind_release_async,
                             RELEASED,
                             ASKED(semaphore),
                             OPERATED(semaphore)};

const kind kind_plain = {.word = "plain",
                         .history = HISTORY_PLAIN,
                         .mode = HISTORY_PERMITS,
                         .servers = 1,
                         .room = KIND_PERMITS,
                         .is_queued = true,
                         .key = "n",
                         .make = plain_make,
                         .free = plain_free,
                         .prepare = plain_prepare,
                         .acquire = plain_acquire,
                         .acquire_many = plain_acquire_many,
                         .acquire_async = plain_acquire_async,
                         .release = plain_release,
                         .release_async = plain_release_async,
                         .shut = plain_shut,
                         .open = plain_open,
                         .open_async = plain_open_async,
                         ASKED(plain_semaphore),
                         .info = plain_info,
                         .info_async = plain_info_async};

const kind kind_latch = {.word = "latch",
                         .history = HISTORY_LATCH,
                         .servers = 1,
                         .key = "n",
                         .make = latch_make,
                         MADE(latch, ttl_ms),
                         .acquire = latch_wait,
                         .acquire_async = latch_wait_async,
                         .release = latch_pass,
                         .shut = latch_shut,
                         .open = latch_open,
                         .open_async = latch_open_async,
                         .visit = latch_visit,
                         ASKED(latch),
                         .info = latch_info,
                         .info_async = latch_info_async};
