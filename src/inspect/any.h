/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_ANY_H
#define LK_INSPECT_ANY_H

#include <latchkey/inspect.h>

/*
 * A handle of whatever kind, over the kinds' public functions.
 */
typedef struct lk__any {
    lk_kind kind;
    void *handle; /* the kind's */
} lk__any;

/* LK_ENOTHELD, with words, for a kind that is none. */
lk_status
lk__any_new(lk__any *any, lk_client *client, lk_kind kind, const char *name);
void lk__any_free(lk__any *any);

/* Each is a part of a call that ends by until. LK_ENOTSUP, with words: nobody is
   known to hold anything of this kind. */
lk_status lk__any_info(const lk__any *any, uint64_t until, lk_info **ret_info);
lk_status lk__any_info_async(const lk__any *any, uint64_t until, lk_info_cb cb,
                             void *data);

lk_status lk__any_break(const lk__any *any, const char *owner, uint64_t until);
lk_status lk__any_break_async(const lk__any *any, const char *owner,
                              uint64_t until, lk_done_cb cb, void *data);

lk_status lk__any_revoke(const lk__any *any, const char *owner, uint64_t until,
                         int64_t *ret_left_ms);
lk_status lk__any_revoke_async(const lk__any *any, const char *owner,
                               uint64_t until, lk_revoke_cb cb, void *data);

lk_status lk__any_forget(const lk__any *any, uint64_t until);
lk_status lk__any_forget_async(const lk__any *any, uint64_t until,
                               lk_done_cb cb, void *data);

#endif /* LK_INSPECT_ANY_H */
