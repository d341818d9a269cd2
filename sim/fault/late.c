/* SPDX-License-Identifier: MIT */

/* Whoever writes too late: a hold that two clients of a process borrow, of which one
   gives it back and the other one does not know. */

#include "fault/hand.h"

enum { ONE_OF = 3, LATE_US = 300000, CALLS = 3 };

static lk_status
import(history_kind kind, void *handle, const char *text, lk_hold **ret_hold)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .borrow = LK_BORROW};

    return kind == HISTORY_LOCK
               ? lk_lock_import(handle, text, &options, ret_hold)
               : lk_fairlock_import(handle, text, &options, ret_hold);
}

/* It is given back by the handle that its text was imported into. Between the two
   there is no handle, and nobody is told of a loss. */
static lk_status give_back(hand *h, grip *g, grip *late)
{
    const history_kind kind = play_names[g->name].kind;
    char text[LK_EXPORT_SIZE];

    if (lk_hold_export(g->hold, text, sizeof(text)) != LK_OK)
        return lk_hold_release(g->hold);
    (void)import(kind, h->worker->late_handles[g->name], text, &late->hold);
    if (import(kind, h->worker->handles[g->name], text, &g->hold) != LK_OK)
        return LK_EINDOUBT; /* the lease ends it */
    return lk_hold_release(g->hold);
}

bool late_release(hand *h, grip *g)
{
    history_event event = hand_begin(h, g->name, HISTORY_RELEASE);
    grip late = *g;
    lk_status status;

    if (h->worker->late_handles[g->name] == NULL ||
        play_draw(&h->random, ONE_OF) != 0)
        return false;
    late.hold = NULL;
    event.hold = g->id;
    event.mode = (uint8_t)g->mode;
    hand_begun(h, &event, CALLS * (int64_t)PLAY_COMMAND_MS);
    status = give_back(h, g, &late);
    hand_ended(h, event, grip_release_phase(status), status);
    if (late.hold == NULL)
        return true;
    hand_work(h, LATE_US);
    grip_write(&late);
    (void)lk_hold_release(late.hold); /* nothing is left of it */
    return true;
}

bool late_make(worker *w, unsigned name, const char *text)
{
    void **handle = &w->late_handles[name];

    if (play_names[name].kind == HISTORY_LOCK)
        return lk_lock_new((lk_lock **)handle, w->late, text, NULL) == LK_OK;
    if (play_names[name].kind == HISTORY_FAIRLOCK)
        return lk_fairlock_new((lk_fairlock **)handle, w->late, text, NULL) ==
               LK_OK;
    return true;
}
