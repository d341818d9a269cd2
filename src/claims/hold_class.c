/* SPDX-License-Identifier: MIT */

/* The functions of hold.h: each asks the hold's class. */

#include "claims/hold_class.h"

#include "base/error.h"
#include "claims/hold.h"

static const lk__hold_class *class_of(const lk_hold *hold)
{
    return *(const lk__hold_class *const *)(const void *)hold;
}

static lk_status no_hold(void)
{
    return lk__fail(LK_EINVAL, "the hold is NULL");
}

lk_status lk_hold_check(const lk_hold *hold)
{
    lk_status status = hold == NULL ? no_hold() : class_of(hold)->check(hold);

    return status == LK_ELOST
               ? lk__fail(status, "%s", lk__loss_text(lk_hold_loss(hold)))
               : status;
}

uint64_t lk_hold_fence(const lk_hold *hold)
{
    return hold == NULL ? 0 : class_of(hold)->fence(hold);
}

uint64_t lk_hold_remaining_ms(const lk_hold *hold)
{
    return hold == NULL ? 0 : class_of(hold)->remaining_ms(hold);
}

lk_loss lk_hold_loss(const lk_hold *hold)
{
    return hold == NULL ? LK_LOSS_NONE : class_of(hold)->loss(hold);
}

uint64_t lk_hold_lost_for_ms(const lk_hold *hold)
{
    return hold == NULL ? 0 : class_of(hold)->lost_for_ms(hold);
}

lk_status
lk_hold_on_lost(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    return hold == NULL ? no_hold()
                        : class_of(hold)->on_lost(hold, notice_ms, cb, data);
}

int lk_hold_fd(lk_hold *hold)
{
    return hold == NULL ? -1 : class_of(hold)->fd(hold);
}

lk_status lk_hold_extend(lk_hold *hold, uint64_t lease_ms)
{
    return hold == NULL ? no_hold() : class_of(hold)->extend(hold, lease_ms);
}

lk_status lk_hold_extend_async(lk_hold *hold, uint64_t lease_ms, lk_done_cb cb,
                               void *data)
{
    return hold == NULL
               ? no_hold()
               : class_of(hold)->extend_async(hold, lease_ms, cb, data);
}

lk_status lk_hold_export(lk_hold *hold, char *text, size_t size)
{
    return hold == NULL ? no_hold()
                        : class_of(hold)->export_to(hold, text, size);
}

lk_status lk_hold_release(lk_hold *hold)
{
    return hold == NULL ? no_hold() : class_of(hold)->release(hold);
}

lk_status lk_hold_release_async(lk_hold *hold, lk_done_cb cb, void *data)
{
    return hold == NULL ? no_hold()
                        : class_of(hold)->release_async(hold, cb, data);
}

void lk_hold_guard_end(lk_hold **hold)
{
    if (hold != NULL && *hold != NULL)
        lk_hold_release(*hold);
}
