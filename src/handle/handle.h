/* SPDX-License-Identifier: MIT */
#ifndef LK_HANDLE_HANDLE_H
#define LK_HANDLE_HANDLE_H

#include <latchkey/hold.h>

#include "claims/place.h"

/*
 * What every primitive's handle begins with: a place, counted, and through it
 * the client, counted as well. So a primitive is its kind, its options, and
 * these calls with its own names.
 */
typedef struct lk__handle {
    lk__place *place;
} lk__handle;

/*
 * Makes a handle of size bytes, zeroed but for its begin, on the name. Checks
 * everything but the primitive's own options.
 */
lk_status lk__handle_new(lk__handle **ret_handle, size_t size,
                         lk_client *client, const lk__kind *kind,
                         const char *name);

/* Frees it. NULL is allowed, and a handle of a parent process' client. */
void lk__handle_free(lk__handle *handle);

/* NULL and fork, before anything is touched. ret: where the result goes. */
lk_status lk__handle_check(const lk__handle *handle, const void *ret);

/* The same, and then enters the monitor for a blocking call. The handle may be
   freed while that sleeps: its place stays until lk__handle_leave(). */
lk_status lk__handle_enter(const lk__handle *handle, const void *ret,
                           lk__place **ret_place);
void lk__handle_leave(lk__place *place);

/* The same for an async call that has its callback or not. */
lk_status lk__handle_enter_async(const lk__handle *handle, bool has_cb);
void lk__handle_leave_async(const lk__handle *handle);

/* The calls that every primitive has; see lock.h for what they promise. */
lk_status lk__handle_import(const lk__handle *handle, const char *text,
                            const lk_acquire_options *options,
                            lk_hold **ret_hold);
/* owner NULL: whoever holds. */
lk_status lk__handle_force(const lk__handle *handle, const char *owner);
lk_status lk__handle_force_async(const lk__handle *handle, const char *owner,
                                 lk_done_cb cb, void *data);

/* See lk_lock_revoke(). */
lk_status lk__handle_revoke(const lk__handle *handle, const char *owner,
                            int64_t *ret_left_ms);
lk_status lk__handle_revoke_async(const lk__handle *handle, const char *owner,
                                  lk_revoke_cb cb, void *data);

lk_status lk__handle_exists(const lk__handle *handle, bool *ret_exists);
lk_status
lk__handle_exists_async(const lk__handle *handle,
                        void (*cb)(lk_status status, bool exists, void *data),
                        void *data);
lk_status lk__handle_info(const lk__handle *handle, lk_info **ret_info);
lk_status
lk__handle_info_async(const lk__handle *handle, lk_info_cb cb, void *data);

/* ---- parts of a call that ends by then ---- */

lk_status lk__handle_info_by(const lk__handle *handle, uint64_t until,
                             lk_info **ret_info);
lk_status lk__handle_info_by_async(const lk__handle *handle, uint64_t until,
                                   lk_info_cb cb, void *data);
lk_status lk__handle_force_by(const lk__handle *handle, const char *owner,
                              uint64_t until);
lk_status lk__handle_force_by_async(const lk__handle *handle, const char *owner,
                                    uint64_t until, lk_done_cb cb, void *data);
lk_status lk__handle_revoke_by(const lk__handle *handle, const char *owner,
                               uint64_t until, int64_t *ret_left_ms);
lk_status lk__handle_revoke_by_async(const lk__handle *handle,
                                     const char *owner, uint64_t until,
                                     lk_revoke_cb cb, void *data);
/* See lk_forget(). */
lk_status lk__handle_forget_by(const lk__handle *handle, uint64_t until);
lk_status lk__handle_forget_by_async(const lk__handle *handle, uint64_t until,
                                     lk_done_cb cb, void *data);

/* What a function did under a hold that was lost, it did without protection:
   the end of every _run call. */
lk_status lk__handle_run(lk_hold *hold, lk_run_fn fn, void *data);

#endif /* LK_HANDLE_HANDLE_H */
