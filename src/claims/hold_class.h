/* SPDX-License-Identifier: MIT */
#ifndef LK_CLAIMS_HOLD_CLASS_H
#define LK_CLAIMS_HOLD_CLASS_H

#include <latchkey/hold.h>

/*
 * What the functions of hold.h do for one sort of hold: a claim's, or one that
 * is made of others. Every hold is a struct that begins with a pointer to its
 * class; the functions have checked that there is one. Their promises are in
 * hold.h.
 */
typedef struct lk__hold_class {
    lk_status (*check)(const lk_hold *hold);
    uint64_t (*fence)(const lk_hold *hold);
    uint64_t (*remaining_ms)(const lk_hold *hold);
    lk_loss (*loss)(const lk_hold *hold);
    uint64_t (*lost_for_ms)(const lk_hold *hold);
    lk_status (*on_lost)(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb,
                         void *data);
    int (*fd)(lk_hold *hold);
    lk_status (*extend)(lk_hold *hold, uint64_t lease_ms);
    lk_status (*extend_async)(lk_hold *hold, uint64_t lease_ms, lk_done_cb cb,
                              void *data);
    lk_status (*export_to)(lk_hold *hold, char *text, size_t size);
    lk_status (*release)(lk_hold *hold);
    lk_status (*release_async)(lk_hold *hold, lk_done_cb cb, void *data);
} lk__hold_class;

#endif /* LK_CLAIMS_HOLD_CLASS_H */
