/* SPDX-License-Identifier: MIT */
#ifndef LK_ENGINE_CANCEL_H
#define LK_ENGINE_CANCEL_H

#include <latchkey/client.h>

#include <stdatomic.h>
#include <stdbool.h>

/*
 * One that lk_cancel_new() made has a reference of its client. A composite has
 * one of its own for the waits of its parts, in its own memory, without a
 * reference; it is fired by the one that the composite was given as well.
 */
struct lk_cancel {
    lk_client *client;
    const lk_cancel *also; /* NULL: none; of the same client */
    atomic_bool fired;
};

/* NULL: never fired. */
bool lk__cancel_is_fired(const lk_cancel *cancel);

lk_client *lk__cancel_client(const lk_cancel *cancel);

#endif /* LK_ENGINE_CANCEL_H */
