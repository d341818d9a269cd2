/* SPDX-License-Identifier: MIT */

/*
 * Acquiring. What is held while something is waited for is always a prefix of
 * the parts in the order of their names; that order is the same everywhere, so
 * nobody waits in a ring. Everything else is only tried, which waits for
 * nobody, and is given back before the next wait. Such a try leaves a free name
 * to Redisson's clients in their turn: it is not to go before those who wait.
 *
 *   try all at once  ->  keep the prefix that was granted, give back the rest
 *        ^                         |
 *        |                         v
 *   the prefix is longer  <-  wait for the first part behind it
 *
 * Each time around the prefix is longer by one at least, so there are at most
 * as many waits as parts. Whatever a try is refused for, the wait decides.
 *
 * Everything here runs under the joint's mutex.
 */

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "claims/hold.h"
#include "claims/place.h"
#include "multilock/joint.h"

#define MS UINT64_C(1000000)

enum {
    AGAIN_MAX = 8,
    SLACK_MS = 50 /* a try ends by itself, a wait because all of it ends */
};

static void drive(lk__joint *joint);

/* ---- the end -------------------------------------------------------------- */

/* From here on answers that are still to come are given back at once. The
   waits are canceled first: nothing looks at the caller's token any more. */
static void end(lk__joint *joint, lk_status status, const char *words)
{
    joint->phase = status == LK_OK ? LK__JOINT_HELD : LK__JOINT_ENDED;
    if (status != LK_OK) {
        for (size_t i = 0; i < joint->side_count; i++)
            lk_cancel_fire(&joint->sides[i].cancel);
        lk__joint_drop(joint, 0);
    }
    lk__client_lock(joint->lead);
    lk__alarm_clear(&joint->lead->alarms, &joint->alarm);
    lk__call_done(&joint->call, status, words);
    lk__client_leave(joint->lead);
}

void lk__joint_give_up(lk__joint *joint)
{
    pthread_mutex_lock(&joint->mutex);
    if (joint->phase == LK__JOINT_SEEKING)
        end(joint, joint->try_only ? LK_EINDOUBT : LK_ETIMEDOUT, NULL);
    pthread_mutex_unlock(&joint->mutex);
}

/* ---- asking ------------------------------------------------------------------ */

static void note_failure(lk__part *part, lk_status status)
{
    lk__joint *joint = part->joint;
    size_t index = (size_t)(part - joint->parts);

    if (index >= joint->failed)
        return;
    joint->failed = index;
    joint->why = status;
    (void)snprintf(joint->words, sizeof(joint->words), "%.60s: %.90s",
                   part->member.place->name, lk_last_error());
}

/* It is watched from now on: while others are waited for, a fixed lease is made
   longer when half of it is over. One whose loss nobody would be told of is given
   back. */
static lk_status take(lk__part *part, lk_hold *hold)
{
    lk_client *client = part->member.place->client;
    lk_status status;

    lk__client_lock(client);
    if (part->claim != NULL)
        lk__claim_unref(part->claim);
    part->claim = lk__claim_ref(hold->claim);
    part->lease_ms = hold->claim->watchdog ? 0 : hold->claim->lease_ms;
    lk__client_leave(client);
    part->hold = hold;
    part->fence = lk_hold_fence(hold);
    status = lk__part_watch(part, part->lease_ms / 2);
    if (status != LK_OK) {
        part->hold = NULL;
        lk__hold_drop(hold);
    }
    return status;
}

/* Of a try or a wait, on the loop of its client. */
static void on_part(lk_status status, lk_hold *hold, void *data)
{
    lk__part *part = data;
    lk__joint *joint = part->joint;

    pthread_mutex_lock(&joint->mutex);
    if (joint->phase != LK__JOINT_SEEKING) {
        if (status == LK_OK)
            lk__hold_drop(hold);
    } else {
        joint->asked--;
        if (status == LK_OK)
            status = take(part, hold);
        if (status != LK_OK)
            note_failure(part, status);
        if (status == LK_ECLOSED)
            end(joint, status, NULL); /* while the user still dispatches */
        drive(joint);
    }
    pthread_mutex_unlock(&joint->mutex);
    lk__joint_unref(joint);
}

static lk_status part_ask(lk__part *part, int64_t wait_ms)
{
    const lk__member *member = &part->member;

    switch (member->mode) {
    case LK__MEMBER_LOCK:
        return lk_lock_acquire_async(member->handle.lock, wait_ms,
                                     part->options, on_part, part);
    case LK__MEMBER_FAIRLOCK:
        return lk_fairlock_acquire_async(member->handle.fairlock, wait_ms,
                                         part->options, on_part, part);
    case LK__MEMBER_READ:
        return lk_rwlock_acquire_read_async(member->handle.rwlock, wait_ms,
                                            part->options, on_part, part);
    case LK__MEMBER_WRITE:
        return lk_rwlock_acquire_write_async(member->handle.rwlock, wait_ms,
                                             part->options, on_part, part);
    }
    return LK_EINVAL;
}

static void ask(lk__joint *joint, size_t first, size_t count, int64_t wait_ms)
{
    joint->failed = joint->count;
    for (size_t i = 0; i < joint->side_count; i++)
        lk__client_cork(joint->sides[i].client);
    for (size_t i = first; i < first + count; i++) {
        lk_status status;

        joint->refs++;
        joint->asked++;
        status = part_ask(&joint->parts[i], wait_ms);
        if (status == LK_OK)
            continue;
        joint->refs--; /* not the last: whoever drives has one */
        joint->asked--;
        note_failure(&joint->parts[i], status);
    }
    for (size_t i = 0; i < joint->side_count; i++)
        lk__client_uncork(joint->sides[i].client);
}

static void wait_for_next(lk__joint *joint)
{
    uint64_t now = lk__client_now(joint->lead);
    int64_t wait_ms = LK_FOREVER;

    if (now >= joint->until) {
        end(joint, LK_ETIMEDOUT, NULL);
        return;
    }
    if (joint->until != LK__NEVER)
        wait_ms = (int64_t)lk__remaining_ms(now, joint->until) + SLACK_MS;
    joint->waiting = true;
    joint->aged = joint->aged || joint->prefix > 0;
    ask(joint, joint->prefix, 1, wait_ms);
}

static void try_rest(lk__joint *joint)
{
    ask(joint, joint->prefix, joint->count - joint->prefix, 0);
}

/* One that is alone, or the last, is waited for at once. */
static void begin(lk__joint *joint)
{
    if (joint->try_only || joint->count - joint->prefix > 1)
        try_rest(joint);
    else
        wait_for_next(joint);
}

/* ---- all are held -------------------------------------------------------------- */

/* What was lost meanwhile may be somebody else's by now, and cannot be waited
   for with what is held behind it. */
static void begin_anew(lk__joint *joint)
{
    joint->spoilt = false;
    joint->aged = false;
    lk__joint_drop(joint, 0);
    joint->over = false;
    joint->prefix = 0;
    for (size_t i = 0; i < joint->side_count; i++)
        joint->sides[i].cancel.fired = false;
    if (joint->agains++ < AGAIN_MAX && !joint->try_only)
        begin(joint);
    else
        end(joint, LK_ELOST, "members were lost before all were held");
}

static void on_refreshed(lk_status status, void *data)
{
    lk__joint *joint = data;

    (void)status; /* the old deadline stands, or it is lost, which is seen */
    pthread_mutex_lock(&joint->mutex);
    if (joint->phase == LK__JOINT_SEEKING) {
        joint->asked--;
        drive(joint);
    }
    pthread_mutex_unlock(&joint->mutex);
    lk__joint_unref(joint);
}

/* The fixed leases of those that were held while others were waited for. */
static void refresh(lk__joint *joint)
{
    joint->aged = false;
    for (size_t i = 0; i < joint->count; i++) {
        const lk__part *part = &joint->parts[i];

        if (part->lease_ms == 0)
            continue;
        joint->refs++;
        joint->asked++;
        if (lk_hold_extend_async(part->hold, part->lease_ms, on_refreshed,
                                 joint) == LK_OK)
            continue;
        joint->refs--;
        joint->asked--;
    }
}

/* A loss of which no part has told yet is seen here. */
static void complete(lk__joint *joint)
{
    uint64_t at;
    lk_loss loss;

    if (lk__joint_is_over(joint, &at, &loss))
        begin_anew(joint);
    else
        end(joint, LK_OK, NULL);
}

/* ---- the state machine -------------------------------------------------------- */

/* All answers are there. */
static void step(lk__joint *joint)
{
    size_t wanted = joint->prefix;
    bool waited = joint->waiting;

    joint->waiting = false;
    while (joint->prefix < joint->count &&
           joint->parts[joint->prefix].hold != NULL)
        joint->prefix++;

    if (joint->spoilt) {
        begin_anew(joint);
    } else if (joint->prefix == joint->count) {
        if (joint->aged)
            refresh(joint);
        else
            complete(joint);
    } else if (joint->try_only || (waited && joint->prefix == wanted)) {
        end(joint, joint->why, joint->words);
    } else if (waited && joint->count - joint->prefix > 1) {
        try_rest(joint);
    } else {
        lk__joint_drop(joint, joint->prefix + 1);
        wait_for_next(joint);
    }
}

static void drive(lk__joint *joint)
{
    while (joint->phase == LK__JOINT_SEEKING && joint->asked == 0)
        step(joint);
}

static bool is_open(lk_client *client)
{
    if (lk__client_enter(client) != LK_OK)
        return false;
    lk__client_leave(client);
    return true;
}

void lk__joint_spoil(lk__joint *joint)
{
    for (size_t i = 0; i < joint->side_count; i++) {
        if (is_open(joint->sides[i].client))
            continue;
        end(joint, LK_ECLOSED, NULL);
        return;
    }
    joint->spoilt = true;
    for (size_t i = 0; i < joint->side_count; i++)
        lk_cancel_fire(&joint->sides[i].cancel);
}

static void on_alarm(lk__alarm *alarm)
{
    lk__joint *joint = LK__CONTAINER_OF(alarm, lk__joint, alarm);

    joint->overdue = true;
    lk__client_post(joint->lead, &joint->turn);
}

/* A try may take as long as its slowest member's, and then its replicas. */
static uint64_t try_ns(const lk__joint *joint)
{
    const lk_acquire_options *options = joint->parts[0].options;
    uint64_t ms = SLACK_MS;

    if (options->replicas != 0)
        ms += options->replica_ms != 0 ? options->replica_ms : LK__REPLICA_MS;
    return lk__joint_patience_ns(joint) + ms * MS;
}

void lk__joint_seek(lk__joint *joint, int64_t wait_ms)
{
    uint64_t now = lk__client_now(joint->lead);

    joint->try_only = wait_ms == 0;
    for (size_t i = 0; i < joint->side_count; i++)
        joint->sides[i].owner.waits = !joint->try_only;
    joint->alarm.fire = on_alarm;
    joint->until =
        joint->try_only ? now + try_ns(joint) : lk__wait_until_ns(now, wait_ms);
    if (joint->call.deliver != NULL && joint->until != LK__NEVER) {
        lk__client_lock(joint->lead);
        lk__alarm_set(&joint->lead->alarms, &joint->alarm, joint->until);
        lk__client_leave(joint->lead);
    }
    joint->refs++; /* the user may have released it before this returns */
    pthread_mutex_lock(&joint->mutex);
    begin(joint);
    drive(joint);
    pthread_mutex_unlock(&joint->mutex);
    lk__joint_unref(joint);
}
