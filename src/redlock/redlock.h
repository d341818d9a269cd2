/* SPDX-License-Identifier: MIT */
#ifndef LK_REDLOCK_REDLOCK_H
#define LK_REDLOCK_REDLOCK_H

#include "redlock/token.h"

/* The handle. Attempts under way keep it, by count. */
struct lk_redlock {
    atomic_uint refs;
    size_t count;
    lk_client *clients[LK_REDLOCK_NODES_MAX];
    char *name;
    lk_redlock_options options; /* defaults filled in */
    pthread_mutex_t mutex;      /* a leaf: guards what follows */
    lk__token *last;            /* of the last attempt, its memory; or NULL */
};

lk_redlock *lk__redlock_ref(lk_redlock *redlock);

/* Outside every monitor. */
void lk__redlock_unref(lk_redlock *redlock);

/* LK_EINVAL: no grant of such a lease could ever be valid and useful, so that
   attempts would be made for as long as the wait lasts. */
lk_status
lk__redlock_check_useful(const lk_redlock_options *options, uint64_t lease_ms);

/* Remembers the token as that of the last attempt. */
void lk__redlock_note(lk_redlock *redlock, lk__token *token);

#endif /* LK_REDLOCK_REDLOCK_H */
