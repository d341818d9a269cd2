/* SPDX-License-Identifier: MIT */

/* Whoever writes too late: a hold that two clients of a process borrow, of which one
   gives it back and the other one does not know. */

#include "fault/hand.h"

enum { ONE_OF = 3, LATE_US = 300000 };

static lk_status
import(history_kind kind, void *handle, const char *text, lk_hold **ret_hold)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .borrow = LK_BORROW};

    return kind == HISTORY_LOCK
               ? lk_lock_import(handle, text, &options, ret_hold)
               : lk_fairlock_import(handle, text, &options, ret_hold);
}

/* Whether it was given back is not known: the lease ends it. */
static void leave(const grip *g)
{
    history_event event = hand_begin(g->hand, g->name, HISTORY_RELEASE);

    event.hold = g->id;
    event.mode = (uint8_t)g->mode;
    hand_begun(g->hand, &event, PLAY_COMMAND_MS);
    hand_ended(g->hand, event, HISTORY_UNKNOWN, LK_EINDOUBT);
}

bool late_release(hand *h, grip *g)
{
    const history_kind kind = play_names[g->name].kind;
    void *late_handle = h->worker->late_handles[g->name];
    char text[LK_EXPORT_SIZE];
    grip late = *g;

    if (late_handle == NULL || play_draw(&h->random, ONE_OF) != 0 ||
        lk_hold_export(g->hold, text, sizeof(text)) != LK_OK)
        return false;
    late.hold = NULL;
    (void)import(kind, late_handle, text, &late.hold);
    if (import(kind, h->worker->handles[g->name], text, &g->hold) == LK_OK)
        grip_release(g);
    else
        leave(g);
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
