/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "support/kind_inside.h"

const kind *const kinds[KINDS] = {
    [KIND_LOCK] = &kind_lock,         [KIND_SPINLOCK] = &kind_spinlock,
    [KIND_FAIRLOCK] = &kind_fairlock, [KIND_LEADER] = &kind_leader,
    [KIND_READ] = &kind_read,         [KIND_UPGRADEABLE] = &kind_upgradeable,
    [KIND_WRITE] = &kind_write,       [KIND_SEMAPHORE] = &kind_semaphore,
    [KIND_PLAIN] = &kind_plain,       [KIND_SIGLOCK] = &kind_siglock,
    [KIND_STRIPES] = &kind_stripes,   [KIND_MULTILOCK] = &kind_multilock,
    [KIND_REDLOCK] = &kind_redlock,   [KIND_LATCH] = &kind_latch,
    [KIND_CELL] = &kind_cell,         [KIND_FLIGHT] = &kind_flight,
};

lk_status kind_release(void *handle, lk_hold *hold)
{
    (void)handle;
    return lk_hold_release(hold);
}

lk_status
kind_release_async(void *handle, lk_hold *hold, lk_done_cb cb, void *data)
{
    (void)handle;
    return lk_hold_release_async(hold, cb, data);
}

lk_status kind_acquire(const kind *k, void *handle, uint64_t count,
                       int64_t wait_ms, const lk_acquire_options *options,
                       lk_hold **ret_hold)
{
    if (k->acquire_many != NULL)
        return k->acquire_many(handle, count, wait_ms, options, ret_hold);
    return k->acquire(handle, wait_ms, options, ret_hold);
}

lk_status kind_visit(const kind *k, void *handle, int64_t wait_ms)
{
    lk_hold *hold = NULL;
    lk_status status;

    if (k->visit != NULL)
        return k->visit(handle, wait_ms);
    status = k->acquire(handle, wait_ms, NULL, &hold);
    return status == LK_OK ? k->release(handle, hold) : status;
}

typedef struct asker {
    lk_done_cb cb;
    void *data;
} asker;

void *kind_asker(lk_done_cb cb, void *data)
{
    asker *to = malloc(sizeof(*to));

    if (to == NULL)
        abort();
    *to = (asker){cb, data};
    return to;
}

lk_status kind_begun(void *to, lk_status status)
{
    if (status != LK_OK)
        free(to);
    return status;
}

void kind_asked(lk_status status, void *data)
{
    asker to = *(asker *)data;

    free(data);
    to.cb(status, to.data);
}
