/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_KIND_INSIDE_H
#define LK_TESTS_SUPPORT_KIND_INSIDE_H

#include "support/kind.h"

/* What the rows of kind.h are made of, each beside its functions. */

extern const kind kind_lock, kind_spinlock, kind_fairlock, kind_leader,
    kind_read, kind_upgradeable, kind_write, kind_semaphore, kind_plain,
    kind_siglock, kind_stripes, kind_multilock, kind_redlock, kind_latch,
    kind_cell, kind_flight;

/* Of a hold, whatever it is of. */
lk_status kind_release(void *handle, lk_hold *hold);
lk_status
kind_release_async(void *handle, lk_hold *hold, lk_done_cb cb, void *data);

/* What is asked is told as an end is. kind_begun(): nothing is told of what did not
   begin. */
void *kind_asker(lk_done_cb cb, void *data);
lk_status kind_begun(void *to, lk_status status);
void kind_asked(lk_status status, void *data);

/* ---- functions ------------------------------------------------------------------- */

#define MADE_WITH(primitive)                                                   \
    static lk_status primitive##_make_with(void **ret_handle,                  \
                                           const kind_site *site,              \
                                           const char *name,                   \
                                           const void *options)                \
    {                                                                          \
        return lk_##primitive##_new((lk_##primitive **)ret_handle,             \
                                    site->clients[0], name, options);          \
    }                                                                          \
    static void primitive##_free(void *handle)                                 \
    {                                                                          \
        lk_##primitive##_free(handle);                                         \
    }

#define MADE_BY_DEFAULT(primitive)                                             \
    MADE_WITH(primitive)                                                       \
    static lk_status primitive##_make(void **ret_handle,                       \
                                      const kind_site *site, const char *name) \
    {                                                                          \
        *ret_handle = NULL;                                                    \
        return primitive##_make_with(ret_handle, site, name, NULL);            \
    }

#define SAME_AS_A_LOCK(primitive)                                              \
    static lk_status primitive##_import(void *handle, const char *text,        \
                                        const lk_acquire_options *options,     \
                                        lk_hold **ret_hold)                    \
    {                                                                          \
        return lk_##primitive##_import(handle, text, options, ret_hold);       \
    }                                                                          \
    static lk_status primitive##_info(void *handle, lk_info **ret_info)        \
    {                                                                          \
        return lk_##primitive##_info(handle, ret_info);                        \
    }                                                                          \
    static lk_status primitive##_info_async(void *handle, lk_info_cb cb,       \
                                            void *data)                        \
    {                                                                          \
        return lk_##primitive##_info_async(handle, cb, data);                  \
    }                                                                          \
    static lk_status primitive##_revoke(void *handle, const char *owner,       \
                                        int64_t *ret_left_ms)                  \
    {                                                                          \
        return lk_##primitive##_revoke(handle, owner, ret_left_ms);            \
    }

#define ACQUIRED_BY(call)                                                      \
    static lk_status call(void *handle, int64_t wait_ms,                       \
                          const lk_acquire_options *options,                   \
                          lk_hold **ret_hold)                                  \
    {                                                                          \
        return lk_##call(handle, wait_ms, options, ret_hold);                  \
    }                                                                          \
    static lk_status call##_async(void *handle, int64_t wait_ms,               \
                                  const lk_acquire_options *options,           \
                                  lk_acquire_cb cb, void *data)                \
    {                                                                          \
        return lk_##call##_async(handle, wait_ms, options, cb, data);          \
    }

#define RUN_BY(call)                                                           \
    static lk_status call(void *handle, int64_t wait_ms,                       \
                          const lk_acquire_options *options, lk_run_fn fn,     \
                          void *data)                                          \
    {                                                                          \
        return lk_##call(handle, wait_ms, options, fn, data);                  \
    }

#define ASKED_BY(primitive, call, type)                                        \
    static lk_status primitive##_ask(void *handle)                             \
    {                                                                          \
        type is;                                                               \
                                                                               \
        return lk_##primitive##_##call(handle, &is);                           \
    }                                                                          \
    static void primitive##_on_asked(lk_status status, type is, void *data)    \
    {                                                                          \
        (void)is;                                                              \
        kind_asked(status, data);                                              \
    }                                                                          \
    static lk_status primitive##_ask_async(void *handle, lk_done_cb cb,        \
                                           void *data)                         \
    {                                                                          \
        void *to = kind_asker(cb, data);                                       \
                                                                               \
        return kind_begun(to,                                                  \
                          lk_##primitive##_##call##_async(                     \
                              handle,                                          \
                              cb != NULL ? primitive##_on_asked : NULL, to));  \
    }

#define FORCED_ALIKE(primitive)                                                \
    static lk_status primitive##_force(void *handle, const char *owner)        \
    {                                                                          \
        (void)owner;                                                           \
        return lk_##primitive##_force_release(handle);                         \
    }                                                                          \
    static lk_status primitive##_force_async(void *handle, const char *owner,  \
                                             lk_done_cb cb, void *data)        \
    {                                                                          \
        (void)owner;                                                           \
        return lk_##primitive##_force_release_async(handle, cb, data);         \
    }

/* ---- columns --------------------------------------------------------------------- */

#define MADE(primitive, time)                                                  \
    .make_with = primitive##_make_with,                                        \
    .options_size = sizeof(lk_##primitive##_options),                          \
    .time_at = offsetof(lk_##primitive##_options, time),                       \
    .free = primitive##_free

#define ASKED(primitive)                                                       \
    .ask = primitive##_ask, .ask_async = primitive##_ask_async

#define RELEASED .release = kind_release, .release_async = kind_release_async

#define OPERATED(primitive)                                                    \
    .import = primitive##_import, .info = primitive##_info,                    \
    .info_async = primitive##_info_async, .revoke = primitive##_revoke,        \
    .force = primitive##_force, .force_async = primitive##_force_async

/* Whoever is in shuts it. */
#define ACQUIRED(call)                                                         \
    .acquire = (call), .acquire_async = call##_async, .shut = (call),          \
    .open = kind_release, .open_async = kind_release_async

#define SHARED(call)                                                           \
    .acquire = (call), .acquire_async = call##_async,                          \
    .shut = rwlock_acquire_write, .open = kind_release,                        \
    .open_async = kind_release_async

#endif /* LK_TESTS_SUPPORT_KIND_INSIDE_H */
