/* SPDX-License-Identifier: MIT */
#ifndef LK_LATCH_OPERATION_H
#define LK_LATCH_OPERATION_H

#include <latchkey/latch.h>

#include "handle/handle.h"

/*
 * What is done to a latch, but for waiting. An operation that changes it has a
 * number that the server remembers, so it may be sent any number of times and
 * counts once. One that persists goes on being sent until it is answered when
 * its caller was told LK_EPENDING. To repeat a reset or a delete may undo what others
 * have done in between; to repeat any other does nothing twice.
 */
typedef struct lk__latch_act {
    char what;         /* as in lua/latch/change.lua */
    bool takes_count;  /* 1 to LK_LATCH_COUNT_MAX */
    bool takes_member; /* 1 to 200 bytes */
    bool reads;        /* changes nothing; takes nothing */
    bool persists;     /* said once, and to be counted */
    lk_status doubt; /* sent, and no answer came: whether it may be repeated */
    lk_status none;  /* what the answer 0 means */
} lk__latch_act;

extern const lk__latch_act lk__latch_set;
extern const lk__latch_act lk__latch_reset;
extern const lk__latch_act lk__latch_down;
extern const lk__latch_act lk__latch_arrive;
extern const lk__latch_act lk__latch_quit;
extern const lk__latch_act lk__latch_delete;
extern const lk__latch_act lk__latch_count;

/* One of them, on a latch. Nothing is checked yet. */
typedef struct lk__latch_order {
    const lk__latch_act *act;
    const lk__handle *handle;
    uint64_t count;
    uint64_t ttl_ms;
    const char *member;
} lk__latch_order;

/* How an async one ends: one of the three, the others are NULL. */
typedef struct lk__latch_end {
    lk_done_cb done;
    lk_latch_leave_cb left;
    lk_latch_count_cb counted;
    void *data;
} lk__latch_end;

/* Checks everything and does it. ret_value may be NULL: what is left to count,
   or 1 where a member that leaves found the latch open. */
lk_status lk__latch_operate(const lk__latch_order *order, uint64_t *ret_value);
lk_status
lk__latch_operate_async(const lk__latch_order *order, const lk__latch_end *end);

#endif /* LK_LATCH_OPERATION_H */
