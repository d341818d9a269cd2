/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_THING_H
#define LK_TESTS_SUPPORT_THING_H

#include <latchkey/latchkey.h>

/*
 * What can be held, one word for each call of all its kinds. A semaphore has
 * one permit; a read-write lock is held to write.
 */

typedef enum thing_kind {
    THING_LOCK,
    THING_FAIRLOCK,
    THING_RWLOCK,
    THING_SEMAPHORE,
    THING_SIGLOCK,
    THING_KINDS
} thing_kind;

typedef struct thing {
    thing_kind kind;
    void *handle;
} thing;

/* A word for it. */
const char *thing_word(thing_kind of);

/* handle is NULL unless LK_OK. */
lk_status
thing_new(thing *t, thing_kind of, lk_client *client, const char *name);
void thing_free(thing *t);

lk_status thing_acquire(const thing *t, int64_t wait_ms,
                        const lk_acquire_options *options, lk_hold **ret_hold);
lk_status thing_acquire_async(const thing *t, int64_t wait_ms,
                              const lk_acquire_options *options,
                              lk_acquire_cb cb, void *data);
lk_status thing_import(const thing *t, const char *text, lk_hold **ret_hold);
lk_status thing_info(const thing *t, lk_info **ret_info);
lk_status thing_revoke(const thing *t, const char *owner, int64_t *ret_left_ms);
/* owner: whose a semaphore's permits are. */
lk_status thing_force(const thing *t, const char *owner);

#endif /* LK_TESTS_SUPPORT_THING_H */
