/* SPDX-License-Identifier: MIT */

/* The set of members, in the one order, and the calls on it. */

#include <latchkey/multilock.h>

#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "handle/handle.h"
#include "multilock/joint.h"

/* The name of one that was added, by its place. */
typedef struct lk__added {
    const lk__place *place;
} lk__added;

struct lk_multilock {
    pthread_mutex_t mutex;
    size_t count, added_count, room;
    lk__member *members; /* in the order of their names, each once */
    lk__added *added;    /* as they were added */
};

/* ---- new and free ------------------------------------------------------------ */

lk_status lk_multilock_new(lk_multilock **ret_multilock)
{
    lk_multilock *multilock;

    if (ret_multilock == NULL)
        return lk__fail(LK_EINVAL, "ret_multilock is NULL");
    multilock = lk__alloc(sizeof(*multilock));
    if (multilock == NULL)
        return LK_ENOMEM;
    pthread_mutex_init(&multilock->mutex, NULL);
    *ret_multilock = multilock;
    return LK_OK;
}

void lk_multilock_free(lk_multilock *multilock)
{
    if (multilock == NULL)
        return;
    pthread_mutex_destroy(&multilock->mutex);
    lk__free(multilock->members);
    lk__free(multilock->added);
    lk__free(multilock);
}

/* ---- members ----------------------------------------------------------------- */

/* Where the name is, or would be. Bytes are compared, as every process can. */
static size_t position(const lk_multilock *multilock, const char *name)
{
    size_t first = 0;
    size_t last = multilock->count;

    while (first < last) {
        size_t middle = first + (last - first) / 2;

        if (strcmp(multilock->members[middle].place->name, name) < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static bool is_at(const lk_multilock *multilock, size_t at, const char *name)
{
    return at < multilock->count &&
           strcmp(multilock->members[at].place->name, name) == 0;
}

/* Room for so many more of either. */
static lk_status room_make(lk_multilock *multilock, size_t more)
{
    size_t needed = multilock->added_count + more;
    size_t room = needed + needed / 2 + 2;
    lk__member *members;
    lk__added *added;

    if (needed > LK_MULTILOCK_MAX)
        return lk__fail(LK_EINVAL, "a multilock has at most %d members",
                        LK_MULTILOCK_MAX);
    if (needed <= multilock->room)
        return LK_OK;
    members = lk__realloc(multilock->members, room * sizeof(*members));
    if (members == NULL)
        return LK_ENOMEM;
    multilock->members = members;
    added = lk__realloc(multilock->added, room * sizeof(*added));
    if (added == NULL)
        return LK_ENOMEM;
    multilock->added = added;
    multilock->room = room;
    return LK_OK;
}

/* Whether it can stand beside what is there of its name. */
static lk_status fits(const lk_multilock *multilock, const lk__member *member)
{
    const char *name = member->place->name;
    size_t at = position(multilock, name);
    const lk__place *there;

    if (!is_at(multilock, at, name))
        return LK_OK;
    there = multilock->members[at].place;
    if (there->client != member->place->client)
        return lk__fail(LK_EINVAL,
                        "%.100s is a member through another client: of one "
                        "server, it would wait for itself",
                        name);
    if (strcmp(there->kind->family, member->place->kind->family) != 0)
        return lk__fail(LK_EMISMATCH,
                        "%.100s is a member as a lock and as a read-write lock",
                        name);
    return LK_OK;
}

/* One that fits, and for which there is room. The stricter one of two of one
   name stays: a write excludes more than a read, and a fair lock waits for more
   than a lock. */
static void put(lk_multilock *multilock, const lk__member *member)
{
    size_t at = position(multilock, member->place->name);
    lk__member *there = &multilock->members[at];

    multilock->added[multilock->added_count++].place = member->place;
    if (is_at(multilock, at, member->place->name)) {
        if (member->mode > there->mode)
            *there = *member;
        return;
    }
    memmove(there + 1, there, (multilock->count - at) * sizeof(*there));
    *there = *member;
    multilock->count++;
}

static lk_status
add(lk_multilock *multilock, const lk__member *members, size_t count)
{
    lk_status status = room_make(multilock, count);

    for (size_t i = 0; i < count && status == LK_OK; i++)
        status = fits(multilock, &members[i]);
    for (size_t i = 0; i < count && status == LK_OK; i++)
        put(multilock, &members[i]);
    return status;
}

/* handle: NULL if the caller's was. */
static lk_status
add_handle(lk_multilock *multilock, const void *handle, lk__member *member)
{
    lk_status status = lk__handle_check(handle, handle);

    if (multilock == NULL)
        return lk__fail(LK_EINVAL, "the multilock is NULL");
    if (status != LK_OK)
        return status;
    member->place = ((const lk__handle *)handle)->place;
    pthread_mutex_lock(&multilock->mutex);
    status = add(multilock, member, 1);
    pthread_mutex_unlock(&multilock->mutex);
    return status;
}

lk_status lk_multilock_add_lock(lk_multilock *multilock, lk_lock *lock)
{
    lk__member member = {.mode = LK__MEMBER_LOCK, .handle.lock = lock};

    return add_handle(multilock, lock, &member);
}

lk_status
lk_multilock_add_fairlock(lk_multilock *multilock, lk_fairlock *fairlock)
{
    lk__member member = {.mode = LK__MEMBER_FAIRLOCK,
                         .handle.fairlock = fairlock};

    return add_handle(multilock, fairlock, &member);
}

lk_status lk_multilock_add_read(lk_multilock *multilock, lk_rwlock *rwlock)
{
    lk__member member = {.mode = LK__MEMBER_READ, .handle.rwlock = rwlock};

    return add_handle(multilock, rwlock, &member);
}

lk_status lk_multilock_add_write(lk_multilock *multilock, lk_rwlock *rwlock)
{
    lk__member member = {.mode = LK__MEMBER_WRITE, .handle.rwlock = rwlock};

    return add_handle(multilock, rwlock, &member);
}

/* Its members as they were added; *ret_count 0: there are none. */
static lk_status members_copy(lk_multilock *multilock, lk__member **ret_members,
                              size_t *ret_count)
{
    lk__member *copy;

    pthread_mutex_lock(&multilock->mutex);
    copy = lk__alloc(multilock->added_count * sizeof(*copy) + 1);
    for (size_t i = 0; copy != NULL && i < multilock->added_count; i++)
        copy[i] =
            multilock
                ->members[position(multilock, multilock->added[i].place->name)];
    *ret_count = multilock->added_count;
    pthread_mutex_unlock(&multilock->mutex);
    *ret_members = copy;
    return copy == NULL ? LK_ENOMEM : LK_OK;
}

lk_status lk_multilock_add_all(lk_multilock *multilock, lk_multilock *other)
{
    lk__member *members;
    size_t count;
    lk_status status;

    if (multilock == NULL || other == NULL)
        return lk__fail(LK_EINVAL, "the multilock is NULL");
    if (multilock == other)
        return lk__fail(LK_EINVAL, "a multilock cannot be a member of itself");
    status = members_copy(other, &members, &count);
    if (status != LK_OK)
        return status;
    pthread_mutex_lock(&multilock->mutex);
    status = add(multilock, members, count);
    pthread_mutex_unlock(&multilock->mutex);
    lk__free(members);
    return status;
}

/* ---- acquire ----------------------------------------------------------------- */

/* Which part each member is, as they were added. Under the mutex. */
static size_t *added_indices(const lk_multilock *multilock)
{
    size_t *indices = lk__alloc(multilock->added_count * sizeof(*indices));

    for (size_t i = 0; indices != NULL && i < multilock->added_count; i++)
        indices[i] = position(multilock, multilock->added[i].place->name);
    return indices;
}

/* NULL: *ret_status says why. Under the mutex. */
static lk__joint *joint_make(lk_multilock *multilock,
                             const lk_acquire_options *options, bool blocking,
                             lk_status *ret_status)
{
    lk__joint *joint = NULL;
    size_t *added;

    *ret_status = lk__client_check(multilock->members[0].place->client);
    if (*ret_status != LK_OK)
        return NULL;
    added = added_indices(multilock);
    *ret_status = LK_ENOMEM;
    if (added == NULL)
        return NULL;
    *ret_status = lk__joint_new(&joint, multilock->members, multilock->count,
                                options, blocking);
    if (joint == NULL) {
        lk__free(added);
        return NULL;
    }
    joint->added = added;
    joint->added_count = multilock->added_count;
    return joint;
}

/* None of the clients is shut down, nor, for a blocking call, called back. */
static lk_status clients_check(const lk__joint *joint, bool blocking)
{
    for (size_t i = 0; i < joint->side_count; i++) {
        lk_client *client = joint->sides[i].client;
        lk_status status = blocking ? lk__client_enter_blocking(client)
                                    : lk__client_enter(client);

        if (status != LK_OK)
            return status;
        if (blocking)
            lk__client_leave_blocking(client);
        else
            lk__client_leave(client);
    }
    return LK_OK;
}

static lk__joint *joint_new(lk_multilock *multilock, int64_t wait_ms,
                            const lk_acquire_options *options, bool blocking,
                            lk_status *ret_status)
{
    lk__joint *joint = NULL;

    *ret_status = lk__wait_check(wait_ms);
    if (*ret_status != LK_OK)
        return NULL;
    pthread_mutex_lock(&multilock->mutex);
    if (multilock->count == 0)
        *ret_status = lk__fail(LK_EINVAL, "the multilock has no members");
    else
        joint = joint_make(multilock, options, blocking, ret_status);
    pthread_mutex_unlock(&multilock->mutex);
    if (joint == NULL)
        return NULL;
    *ret_status = clients_check(joint, blocking);
    if (*ret_status == LK_OK)
        return joint;
    lk__joint_unref(joint);
    return NULL;
}

lk_status lk_multilock_acquire(lk_multilock *multilock, int64_t wait_ms,
                               const lk_acquire_options *options,
                               lk_hold **ret_hold)
{
    lk__joint *joint;
    lk_status status;

    if (multilock == NULL)
        return lk__fail(LK_EINVAL, "the multilock is NULL");
    if (ret_hold == NULL)
        return lk__fail(LK_EINVAL, "the place for the result is NULL");
    joint = joint_new(multilock, wait_ms, options, true, &status);
    if (joint == NULL)
        return status;
    lk__call_init(&joint->call, joint->lead, NULL);
    lk__joint_seek(joint, wait_ms);
    lk__client_lock(joint->lead);
    lk__call_sleep(&joint->call, joint->until);
    lk__client_leave(joint->lead);
    lk__joint_give_up(joint);
    status = lk__call_status(&joint->call);
    if (status == LK_OK)
        *ret_hold = (lk_hold *)(void *)joint;
    else
        lk__joint_unref(joint);
    return status;
}

static void deliver(lk__call *call)
{
    lk__joint *joint = LK__CONTAINER_OF(call, lk__joint, call);
    lk_status status = call->status;
    lk_acquire_cb cb = joint->cb;

    if (status == LK_OK) {
        cb(LK_OK, (lk_hold *)(void *)joint, joint->data);
    } else {
        cb(status, NULL, joint->data);
        lk__joint_unref(joint);
    }
}

lk_status lk_multilock_acquire_async(lk_multilock *multilock, int64_t wait_ms,
                                     const lk_acquire_options *options,
                                     lk_acquire_cb cb, void *data)
{
    lk__joint *joint;
    lk_status status;

    if (multilock == NULL)
        return lk__fail(LK_EINVAL, "the multilock is NULL");
    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    joint = joint_new(multilock, wait_ms, options, false, &status);
    if (joint == NULL)
        return status;
    joint->cb = cb;
    joint->data = data;
    lk__call_init(&joint->call, joint->lead, deliver);
    lk__joint_seek(joint, wait_ms);
    return LK_OK;
}

lk_status lk_multilock_run(lk_multilock *multilock, int64_t wait_ms,
                           const lk_acquire_options *options, lk_run_fn fn,
                           void *data)
{
    lk_hold *hold = NULL;
    lk_status status;

    if (fn == NULL)
        return lk__fail(LK_EINVAL, "the function is NULL");
    status = lk_multilock_acquire(multilock, wait_ms, options, &hold);
    return status != LK_OK ? status : lk__handle_run(hold, fn, data);
}
