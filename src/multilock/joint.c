/* SPDX-License-Identifier: MIT */

/* A joint's memory: made before the first request, so that no loss can fail for
   want of it. Only what tells of a part's loss is made with its grant, and a part
   without it is not taken. */

#include "multilock/joint.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/hold.h"
#include "claims/place.h"

#define MS UINT64_C(1000000)

enum { REASON_MAX = 200 };

static lk__side *side_of(lk__joint *joint, const lk_client *client)
{
    for (size_t i = 0; i < joint->side_count; i++) {
        if (joint->sides[i].client == client)
            return &joint->sides[i];
    }
    return NULL;
}

/* Its parts point to the sides' options, whose place is final. */
static void
sides_make(lk__joint *joint, const lk_acquire_options *options, bool blocking)
{
    uint64_t number = lk__owner_number(options->owner, blocking);

    for (size_t i = 0; i < joint->count; i++) {
        lk_client *client = joint->parts[i].member.place->client;
        lk__side *side = side_of(joint, client);

        if (side == NULL) {
            side = &joint->sides[joint->side_count++];
            side->client = lk__client_ref(client);
            side->owner = (lk_owner){client, number, .inner = true};
            side->cancel.client = client;
            side->cancel.also = options->cancel;
            side->options = *options;
            side->options.size = sizeof(side->options);
            side->options.reason = joint->reason;
            side->options.owner = &side->owner;
            side->options.cancel = &side->cancel;
        }
        joint->parts[i].options = &side->options;
    }
    joint->lead = joint->parts[0].member.place->client;
}

static bool has_one_client(const lk__member *members, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (members[i].place->client != members[0].place->client)
            return false;
    }
    return true;
}

static lk_status options_take(const lk__member *members, size_t count,
                              const lk_acquire_options *options,
                              lk_acquire_options *ret_options)
{
    bool mixed = !has_one_client(members, count);
    lk_status status =
        lk__options_copy(ret_options, sizeof(*ret_options), options);

    if (status == LK_OK && mixed &&
        (ret_options->owner != NULL || ret_options->cancel != NULL))
        return lk__fail(LK_EINVAL, "the members are of several clients, and an "
                                   "owner or a cancel token is of one");
    if (status == LK_OK)
        status =
            lk__acquire_options_take(members[0].place, options, ret_options);
    if (status == LK_OK && ret_options->lease_ms != 0)
        status = lk__lease_check(ret_options->lease_ms);
    return status;
}

static bool joint_fill(lk__joint *joint, const lk__member *members,
                       size_t count, const char *reason)
{
    if (reason == NULL)
        reason = "";
    joint->reason = lk__strndup(reason, strnlen(reason, REASON_MAX));
    joint->parts = lk__alloc(count * sizeof(*joint->parts));
    joint->sides = lk__alloc(count * sizeof(*joint->sides));
    joint->ending = lk__gather_new(joint);
    if (joint->reason == NULL || joint->parts == NULL || joint->sides == NULL ||
        joint->ending == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        joint->parts[i].joint = joint;
        joint->parts[i].member = members[i];
    }
    joint->count = count;
    return true;
}

/* What was allocated; nothing is counted yet. */
static void joint_discard(lk__joint *joint)
{
    pthread_mutex_destroy(&joint->mutex);
    lk__free(joint->ending);
    lk__free(joint->sides);
    lk__free(joint->parts);
    lk__free(joint->reason);
    lk__free(joint);
}

lk_status lk__joint_new(lk__joint **ret_joint, const lk__member *members,
                        size_t count, const lk_acquire_options *options,
                        bool blocking)
{
    lk_acquire_options copy = {0};
    lk_status status = options_take(members, count, options, &copy);
    lk__joint *joint;

    if (status != LK_OK)
        return status;
    joint = lk__alloc(sizeof(*joint));
    if (joint == NULL)
        return LK_ENOMEM;
    pthread_mutex_init(&joint->mutex, NULL);
    if (!joint_fill(joint, members, count, copy.reason)) {
        joint_discard(joint);
        return LK_ENOMEM;
    }
    joint->class = &lk__joint_class;
    joint->refs = 1;
    joint->fd = joint->event_fd = -1;
    joint->turn.run = lk__joint_run_turn;
    joint->turn.inner = true;
    joint->tell.run = lk__joint_run_tell;
    sides_make(joint, &copy, blocking);
    *ret_joint = joint;
    return LK_OK;
}

void lk__joint_drop(lk__joint *joint, size_t first)
{
    for (size_t i = first; i < joint->count; i++) {
        lk_hold *hold = joint->parts[i].hold;

        joint->parts[i].hold = NULL;
        if (hold != NULL)
            lk__hold_drop(hold);
    }
}

/* A part may have been granted more than once: its claim is the last one. */
static void claims_unref(lk__joint *joint)
{
    for (size_t i = 0; i < joint->count; i++) {
        lk__claim *claim = joint->parts[i].claim;
        lk_client *client;

        if (claim == NULL)
            continue;
        client = claim->place->client; /* the handle may be gone */
        lk__client_lock(client);
        lk__claim_unref(claim);
        lk__client_leave(client);
    }
}

void lk__joint_close(lk__joint *joint)
{
    if (joint->event_fd >= 0)
        close(joint->event_fd);
    if (joint->fd >= 0)
        close(joint->fd);
    joint->fd = joint->event_fd = -1;
}

/* By now no part has a hold, so nobody posts anything any more. */
static void joint_free(lk__joint *joint)
{
    lk__client_lock(joint->lead);
    lk__alarm_clear(&joint->lead->alarms, &joint->alarm);
    lk__client_unpost(joint->lead, &joint->turn);
    lk__client_unpost(joint->lead, &joint->tell);
    lk__client_leave(joint->lead);
    claims_unref(joint);
    lk__joint_close(joint);
    for (size_t i = 0; i < joint->side_count; i++)
        lk__client_unref(joint->sides[i].client);
    lk__free(joint->added);
    joint_discard(joint);
}

void lk__joint_unref(lk__joint *joint)
{
    if (--joint->refs == 0)
        joint_free(joint);
}

uint64_t lk__joint_patience_ns(const lk__joint *joint)
{
    uint64_t most_ms = 0;

    for (size_t i = 0; i < joint->side_count; i++) {
        uint64_t ms = joint->sides[i].client->settings.command_timeout_ms;

        if (ms > most_ms)
            most_ms = ms;
    }
    return most_ms * MS;
}
