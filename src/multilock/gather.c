/* SPDX-License-Identifier: MIT */

/* What is asked of all parts at once, a release or an extension, and the one
   answer that their answers make. */

#include <stdio.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/hold.h"
#include "claims/place.h"
#include "multilock/joint.h"

lk__gather *lk__gather_new(lk__joint *joint)
{
    lk__gather *gather = lk__alloc(sizeof(*gather));

    if (gather == NULL)
        return NULL;
    gather->joint = joint;
    gather->refs = 1;
    return gather;
}

static void gather_unref(lk__gather *gather)
{
    lk__joint *joint = gather->joint;

    if (--gather->refs > 0)
        return;
    lk__free(gather);
    lk__joint_unref(joint);
}

static void deliver(lk__call *call)
{
    lk__gather *gather = LK__CONTAINER_OF(call, lk__gather, call);

    if (gather->cb != NULL)
        gather->cb(call->status, gather->data);
    gather_unref(gather);
}

/* ---- answers ---------------------------------------------------------------- */

static int weight(lk_status status)
{
    if (status == LK_OK)
        return 0;
    if (status == LK_ELOST)
        return 3;
    return status == LK_EINDOUBT || status == LK_EPENDING ? 2 : 1;
}

static void note(lk__gather *gather, lk_status status)
{
    if (status == LK_OK)
        gather->good++;
    if (weight(status) <= weight(gather->status))
        return;
    gather->status = status;
    (void)snprintf(gather->words, sizeof(gather->words), "%.110s",
                   lk_last_error());
}

/* Ends the call once. Under the joint's mutex. */
static void gather_end(lk__gather *gather, lk_status status)
{
    char words[160];

    if (gather->call.done)
        return;
    (void)snprintf(words, sizeof(words), "%zu of %zu members: %s", gather->good,
                   gather->joint->count,
                   gather->words[0] != '\0' ? gather->words
                                            : lk_status_text(status));
    lk__client_lock(gather->joint->lead);
    lk__call_done(&gather->call, status, words);
    lk__client_leave(gather->joint->lead);
}

static void on_answer(lk_status status, void *data)
{
    lk__gather *gather = data;

    pthread_mutex_lock(&gather->joint->mutex);
    note(gather, status);
    if (--gather->pending == 0)
        gather_end(gather, gather->status);
    pthread_mutex_unlock(&gather->joint->mutex);
    gather_unref(gather);
}

/* ---- asking ------------------------------------------------------------------- */

static void sides_cork(const lk__joint *joint)
{
    for (size_t i = 0; i < joint->side_count; i++)
        lk__client_cork(joint->sides[i].client);
}

static void sides_uncork(const lk__joint *joint)
{
    for (size_t i = 0; i < joint->side_count; i++)
        lk__client_uncork(joint->sides[i].client);
}

static void expect(lk__gather *gather, size_t answers)
{
    gather->pending += answers;
    gather->refs += (unsigned)answers;
}

static void extend_parts(lk__gather *gather, uint64_t lease_ms)
{
    lk__joint *joint = gather->joint;

    for (size_t i = 0; i < joint->count; i++) {
        lk_status status = lk_hold_extend_async(joint->parts[i].hold, lease_ms,
                                                on_answer, gather);

        if (status == LK_OK)
            expect(gather, 1);
        else
            note(gather, status);
    }
}

/* A release that cannot be told about, for want of memory, is done all the
   same. */
static void release_parts(lk__gather *gather)
{
    lk__joint *joint = gather->joint;

    for (size_t i = 0; i < joint->count; i++) {
        lk__part *part = &joint->parts[i];

        if (lk_hold_release_async(part->hold, on_answer, gather) == LK_OK) {
            part->hold = NULL;
            expect(gather, 1);
        } else {
            note(gather, LK_EPENDING);
        }
    }
    lk__joint_drop(joint, 0);
}

/* Sleeps until all have answered, or the time of the slowest client is over: then
   it is in this doubt. */
static lk_status gather_wait(lk__gather *gather, lk_status doubt)
{
    lk__joint *joint = gather->joint;
    lk_client *lead = joint->lead;
    lk_status status;

    lk__client_lock(lead);
    lk__call_sleep(&gather->call,
                   lk__client_now(lead) + lk__joint_patience_ns(joint));
    lk__client_leave(lead);
    pthread_mutex_lock(&joint->mutex);
    gather_end(gather, doubt);
    status = lk__call_status(&gather->call);
    pthread_mutex_unlock(&joint->mutex);
    gather_unref(gather);
    return status;
}

static bool is_callback(const lk__joint *joint)
{
    bool is = false;

    for (size_t i = 0; i < joint->side_count && !is; i++) {
        lk__client_lock(joint->sides[i].client);
        is = lk__client_is_callback(joint->sides[i].client);
        lk__client_leave(joint->sides[i].client);
    }
    return is;
}

static lk_status lost(const lk__joint *joint)
{
    return lk__fail(LK_ELOST, "lost %llu ms ago: %s",
                    (unsigned long long)lk_hold_lost_for_ms(
                        (const lk_hold *)(const void *)joint),
                    lk__loss_text(joint->loss));
}

/* ---- extend --------------------------------------------------------------------- */

static lk_status
extend_begin(lk__joint *joint, uint64_t lease_ms, lk__gather *gather)
{
    lk_status status = LK_OK;

    pthread_mutex_lock(&joint->mutex);
    if (joint->phase != LK__JOINT_HELD) {
        status = lost(joint);
    } else {
        joint->refs++; /* the gather's */
        gather->refs++;
        sides_cork(joint);
        extend_parts(gather, lease_ms);
        sides_uncork(joint);
        if (gather->pending == 0)
            gather_end(gather, gather->status);
    }
    pthread_mutex_unlock(&joint->mutex);
    if (status == LK_OK)
        gather_unref(gather);
    else
        lk__free(gather);
    return status;
}

static lk_status
extend_check(lk__joint *joint, uint64_t lease_ms, lk__gather **ret_gather)
{
    lk_status status = lk__client_check(joint->lead);

    if (status == LK_OK)
        status = lk__lease_check(lease_ms);
    if (status != LK_OK)
        return status;
    *ret_gather = lk__gather_new(joint);
    return *ret_gather == NULL ? LK_ENOMEM : LK_OK;
}

lk_status lk__joint_extend(lk_hold *hold, uint64_t lease_ms)
{
    lk__joint *joint = (lk__joint *)(void *)hold;
    lk__gather *gather;
    lk_status status = extend_check(joint, lease_ms, &gather);

    if (status != LK_OK)
        return status;
    if (is_callback(joint)) {
        lk__free(gather);
        return lk__fail(LK_ECALLBACK, "a callback may not block its own loop");
    }
    lk__call_init(&gather->call, joint->lead, NULL);
    status = extend_begin(joint, lease_ms, gather);
    return status != LK_OK ? status : gather_wait(gather, LK_EINDOUBT);
}

lk_status lk__joint_extend_async(lk_hold *hold, uint64_t lease_ms,
                                 lk_done_cb cb, void *data)
{
    lk__joint *joint = (lk__joint *)(void *)hold;
    lk__gather *gather;
    lk_status status;

    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    status = extend_check(joint, lease_ms, &gather);
    if (status != LK_OK)
        return status;
    gather->cb = cb;
    gather->data = data;
    lk__call_init(&gather->call, joint->lead, deliver);
    return extend_begin(joint, lease_ms, gather);
}

/* ---- release -------------------------------------------------------------------- */

/* No callback of the user's runs any more, but one that this is called from.
   NULL: one that ran has released the joint. */
static lk__gather *quiet(lk__joint *joint)
{
    lk__gather *gather;

    joint->refs++;
    pthread_mutex_lock(&joint->mutex);
    joint->released = true;
    pthread_mutex_unlock(&joint->mutex);
    lk__joint_unpost(joint);
    pthread_mutex_lock(&joint->mutex);
    gather = joint->ending;
    joint->ending = NULL;
    pthread_mutex_unlock(&joint->mutex);
    lk__joint_unref(joint);
    return gather;
}

static lk_status lost_status(const lk__joint *joint)
{
    if (joint->loss == LK_LOSS_CLOSED)
        return lk__fail(LK_ECLOSED, "the client was shut down before");
    return lost(joint);
}

/* The gather has the user's reference from here on, and a reference of its own
   until this is over. Under the mutex. */
static void release_begin(lk__joint *joint, lk__gather *gather)
{
    if (joint->phase == LK__JOINT_LOST) {
        lk__joint_drop(joint, 0);
        gather->status = lost_status(joint);
        (void)snprintf(gather->words, sizeof(gather->words), "%.110s",
                       lk_last_error());
    } else {
        joint->phase = LK__JOINT_ENDED;
        sides_cork(joint);
        release_parts(gather);
        sides_uncork(joint);
    }
    if (gather->pending == 0)
        gather_end(gather, gather->status);
    lk__joint_close(joint);
}

lk_status lk__joint_release(lk_hold *hold)
{
    lk__joint *joint = (lk__joint *)(void *)hold;
    lk_status status = lk__client_check(joint->lead);
    lk__gather *gather;

    if (status != LK_OK)
        return status;
    gather = quiet(joint);
    if (gather == NULL)
        return lk__hold_ended();
    lk__call_init(&gather->call, joint->lead, NULL);
    pthread_mutex_lock(&joint->mutex);
    release_begin(joint, gather);
    if (is_callback(joint) && !gather->call.done)
        gather_end(gather, LK_EPENDING);
    pthread_mutex_unlock(&joint->mutex);
    return gather_wait(gather, LK_EPENDING);
}

lk_status lk__joint_release_async(lk_hold *hold, lk_done_cb cb, void *data)
{
    lk__joint *joint = (lk__joint *)(void *)hold;
    lk_status status = lk__client_check(joint->lead);
    lk__gather *gather;

    if (status != LK_OK)
        return status;
    gather = quiet(joint);
    if (gather == NULL)
        return lk__hold_ended();
    gather->cb = cb;
    gather->data = data;
    lk__call_init(&gather->call, joint->lead, deliver);
    gather->refs++;
    pthread_mutex_lock(&joint->mutex);
    release_begin(joint, gather);
    pthread_mutex_unlock(&joint->mutex);
    gather_unref(gather);
    return LK_OK;
}
