/* SPDX-License-Identifier: MIT */

/* Whoever writes too late: a holder that hears of nothing, as it does not queue, and
   whose hold another client of its process ends by its owner's name. */

#include "fault/hand.h"

enum { ONE_OF = 3, WAIT_MS = 300, LATE_US = 300000, CALLS = 2 };

/* Ends the hold under this fence, whoever has it. */
static lk_status end_hold(lk_lock *lock, uint64_t fence)
{
    lk_info *info = NULL;
    lk_status status = lk_lock_info(lock, &info);

    if (status == LK_OK)
        status = info->holder_count == 1 && info->holders[0]->fence == fence
                     ? lk_lock_force_release_of(lock, info->holders[0]->owner)
                     : LK_ELOST;
    lk_info_free(info);
    return status;
}

static void end_unheard(grip *late)
{
    hand *h = late->hand;
    history_event event = hand_begin(h, late->name, HISTORY_RELEASE);
    lk_status status = lk_hold_on_lost(late->hold, 0, NULL, NULL);

    event.hold = late->id;
    event.mode = (uint8_t)late->mode;
    hand_begun(h, &event, CALLS * (int64_t)PLAY_COMMAND_MS);
    if (status == LK_OK)
        status = end_hold(h->worker->handles[late->name], late->fence);
    if (status == LK_ENOTHELD)
        status = LK_ELOST;
    hand_ended(h, event, grip_release_phase(status), status);
}

void late_round(hand *h, unsigned name)
{
    grip late = {.hand = h,
                 .name = name,
                 .mode = HISTORY_EXCLUSIVE,
                 .handle = h->worker->late_handles[name],
                 .lease_ms = h->worker->watchdog_ms,
                 .is_renewed = true};

    if (late.handle == NULL || play_draw(&h->random, ONE_OF) != 0 ||
        !grip_acquire(&late, WAIT_MS))
        return;
    end_unheard(&late);
    hand_work(h, LATE_US);
    grip_write(&late);
    (void)lk_hold_release(late.hold); /* nothing is left of it */
}

bool late_make(worker *w, unsigned name, const char *text)
{
    const lk_lock_options spins = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};

    return play_names[name].kind != HISTORY_LOCK ||
           lk_lock_new(&w->late_handles[name], w->late, text, &spins) == LK_OK;
}
