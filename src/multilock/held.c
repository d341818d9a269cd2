/* SPDX-License-Identifier: MIT */

/*
 * The hold: what may be asked of it, and how its holder learns of a loss. The
 * questions look at the parts' claims, which stay when the parts' holds are
 * given back, so they need no mutex.
 */

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/names.h"
#include "claims/hold.h"
#include "multilock/joint.h"

static lk__joint *joint_of(lk_hold *hold)
{
    return (lk__joint *)(void *)hold;
}

static const lk__joint *joint_of_const(const lk_hold *hold)
{
    return (const lk__joint *)(const void *)hold;
}

/* ---- questions ------------------------------------------------------------- */

bool lk__joint_is_over(const lk__joint *joint, uint64_t *ret_at,
                       lk_loss *ret_loss)
{
    uint64_t now = lk__client_now(joint->lead);
    bool is_over = false;

    for (size_t i = 0; i < joint->count; i++) {
        const lk__claim *claim = joint->parts[i].claim;
        uint64_t at = lk__claim_over_at(claim);

        if (!lk__claim_is_over(claim, now) || (is_over && at >= *ret_at))
            continue;
        *ret_at = at;
        *ret_loss = lk__claim_loss(claim);
        is_over = true;
    }
    return is_over;
}

/* The same, and what was noted when it was lost: a claim that was given back
   tells nothing any more, so the phase is read behind the claims as well. */
static bool
was_lost(const lk__joint *joint, uint64_t *ret_at, lk_loss *ret_loss)
{
    if (joint->phase != LK__JOINT_LOST &&
        lk__joint_is_over(joint, ret_at, ret_loss))
        return true;
    if (joint->phase != LK__JOINT_LOST)
        return false;
    *ret_at = joint->lost_at;
    *ret_loss = joint->loss;
    return true;
}

static lk_status joint_check(const lk_hold *hold)
{
    const lk__joint *joint = joint_of_const(hold);
    lk_status status = lk__client_check(joint->lead);
    uint64_t at;
    lk_loss loss;

    if (status != LK_OK)
        return status;
    return was_lost(joint, &at, &loss) ? LK_ELOST : LK_OK;
}

static uint64_t joint_fence(const lk_hold *hold)
{
    (void)hold;
    return 0;
}

/* When the first part ends unless it is renewed. */
static uint64_t deadline_of(const lk__joint *joint)
{
    uint64_t first = LK__NEVER;

    for (size_t i = 0; i < joint->count; i++) {
        uint64_t deadline = joint->parts[i].claim->leased_until;

        if (deadline < first)
            first = deadline;
    }
    return first;
}

static uint64_t joint_remaining_ms(const lk_hold *hold)
{
    const lk__joint *joint = joint_of_const(hold);

    if (joint_check(hold) != LK_OK)
        return 0;
    return lk__remaining_ms(lk__client_now(joint->lead), deadline_of(joint));
}

static lk_loss joint_loss(const lk_hold *hold)
{
    const lk__joint *joint = joint_of_const(hold);
    uint64_t at;
    lk_loss loss;

    if (lk__client_check(joint->lead) != LK_OK || !was_lost(joint, &at, &loss))
        return LK_LOSS_NONE;
    return loss;
}

static uint64_t joint_lost_for_ms(const lk_hold *hold)
{
    const lk__joint *joint = joint_of_const(hold);
    uint64_t at;
    lk_loss loss;

    if (lk__client_check(joint->lead) != LK_OK || !was_lost(joint, &at, &loss))
        return 0;
    return lk__remaining_ms(at, lk__client_now(joint->lead));
}

uint64_t lk_multilock_fence(const lk_hold *hold, size_t index)
{
    const lk__joint *joint;

    if (hold == NULL ||
        *(const lk__hold_class *const *)(const void *)hold != &lk__joint_class)
        return 0;
    joint = joint_of_const(hold);
    return index < joint->added_count ? joint->parts[joint->added[index]].fence
                                      : 0;
}

/* ---- a loss ------------------------------------------------------------------- */

static void ignore(lk_status status, void *data)
{
    (void)status;
    (void)data;
}

/* On the loop of the part's client, without the mutex. */
static void on_part_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    const lk__part *part = data;
    lk__joint *joint = part->joint;

    if (remaining_ms > 0 && joint->phase == LK__JOINT_SEEKING) {
        lk_status status =
            lk_hold_extend_async(hold, part->lease_ms, ignore, NULL);

        (void)status; /* if it is lost, that is told */
        return;
    }
    lk__client_lock(joint->lead);
    if (remaining_ms == 0) {
        joint->over = true;
        lk__client_post(joint->lead, &joint->turn);
    }
    if (joint->phase != LK__JOINT_SEEKING)
        lk__client_post(joint->lead, &joint->tell);
    lk__client_leave(joint->lead);
}

lk_status lk__part_watch(lk__part *part, uint64_t notice_ms)
{
    lk_status status =
        lk_hold_on_lost(part->hold, notice_ms, on_part_lost, part);

    return status == LK_ENOMEM ? status : LK_OK; /* else it is lost anyway */
}

static void fd_tell(const lk__joint *joint)
{
    static const uint64_t one = 1;

    if (write(joint->event_fd, &one, sizeof(one)) < 0)
        return; /* there is none, or it is readable as it is */
}

/* One is lost, so the others go. The descriptors of the parts are closed with
   them; whoever polls is told by another one first. A part that has less than
   a millisecond left is not lost yet. What was revoked goes with the handle: the
   server keeps it until the holder has let go. */
static void lose(lk__joint *joint)
{
    if (!lk__joint_is_over(joint, &joint->lost_at, &joint->loss))
        return;
    joint->phase = LK__JOINT_LOST;
    fd_tell(joint);
    if (joint->loss != LK_LOSS_REVOKED)
        lk__joint_drop(joint, 0);
}

void lk__joint_run_turn(lk__post *post)
{
    lk__joint *joint = LK__CONTAINER_OF(post, lk__joint, turn);

    if (joint->overdue)
        lk__joint_give_up(joint);
    pthread_mutex_lock(&joint->mutex);
    if (joint->over && joint->phase == LK__JOINT_HELD)
        lose(joint);
    else if (joint->over && joint->phase == LK__JOINT_SEEKING)
        lk__joint_spoil(joint);
    pthread_mutex_unlock(&joint->mutex);
}

/* ---- telling the holder --------------------------------------------------------- */

/* Whether the holder is to be told now: once of each deadline that draws near,
   and once of the loss. */
static bool is_news(lk__joint *joint)
{
    uint64_t at;
    lk_loss loss;
    uint64_t deadline;
    bool is_lost = was_lost(joint, &at, &loss);

    if (joint->released || joint->lost_cb == NULL || joint->told_lost)
        return false;
    if (is_lost) {
        joint->told_lost = true;
        return true;
    }
    deadline = deadline_of(joint);
    if (deadline <= joint->told_deadline ||
        lk__client_now(joint->lead) + joint->notice_ns < deadline)
        return false;
    joint->told_deadline = deadline;
    return true;
}

void lk__joint_run_tell(lk__post *post)
{
    lk__joint *joint = LK__CONTAINER_OF(post, lk__joint, tell);
    lk_hold *hold = (lk_hold *)(void *)joint;
    lk_lost_cb cb = NULL;
    uint64_t remaining_ms = 0;
    void *data;

    pthread_mutex_lock(&joint->mutex);
    if (is_news(joint)) {
        cb = joint->lost_cb;
        if (!joint->told_lost)
            remaining_ms = joint_remaining_ms(hold);
    }
    data = joint->lost_data;
    pthread_mutex_unlock(&joint->mutex);
    if (cb != NULL)
        cb(hold, remaining_ms, data);
}

void lk__joint_unpost(lk__joint *joint)
{
    lk__client_lock(joint->lead);
    lk__client_unpost(joint->lead, &joint->tell);
    lk__client_leave(joint->lead);
}

/* Each part gives the notice for itself, whenever it is renewed. It is watched
   already, so that this needs no memory. */
static void parts_watch(lk__joint *joint, uint64_t notice_ms)
{
    for (size_t i = 0; i < joint->count; i++)
        (void)lk__part_watch(&joint->parts[i], notice_ms);
}

/* Under the mutex. */
static void
callback_set(lk__joint *joint, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    joint->lost_cb = cb;
    joint->lost_data = data;
    joint->notice_ns = notice_ms * UINT64_C(1000000);
    joint->told_deadline = 0;
    joint->told_lost = false;
    if (joint->phase == LK__JOINT_HELD) {
        parts_watch(joint, cb == NULL ? 0 : notice_ms);
    } else if (cb != NULL) {
        lk__client_lock(joint->lead);
        lk__client_post(joint->lead, &joint->tell);
        lk__client_leave(joint->lead);
    }
}

static lk_status
joint_on_lost(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    lk__joint *joint = joint_of(hold);
    lk_status status = lk__client_check(joint->lead);

    if (status != LK_OK)
        return status;
    if (notice_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "notice_ms is out of range");
    joint->refs++; /* the callback that is waited for may release it */
    lk__joint_unpost(joint);
    pthread_mutex_lock(&joint->mutex);
    if (joint->released)
        status = lk__hold_ended();
    else
        callback_set(joint, notice_ms, cb, data);
    pthread_mutex_unlock(&joint->mutex);
    lk__joint_unref(joint);
    return status;
}

/* ---- the descriptor ------------------------------------------------------------- */

static bool fd_watch(const lk__joint *joint, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return fd >= 0 && epoll_ctl(joint->fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool fd_fill(const lk__joint *joint)
{
    if (!fd_watch(joint, joint->event_fd))
        return false;
    for (size_t i = 0; i < joint->count && joint->phase == LK__JOINT_HELD;
         i++) {
        if (!fd_watch(joint, lk_hold_fd(joint->parts[i].hold)))
            return false;
    }
    return true;
}

static void fd_make(lk__joint *joint)
{
    joint->event_fd = eventfd(joint->phase == LK__JOINT_HELD ? 0 : 1,
                              EFD_CLOEXEC | EFD_NONBLOCK);
    joint->fd = epoll_create1(EPOLL_CLOEXEC);
    if (joint->fd < 0 || !fd_fill(joint))
        lk__joint_close(joint);
}

static int joint_fd(lk_hold *hold)
{
    lk__joint *joint = joint_of(hold);
    int fd;

    if (lk__client_check(joint->lead) != LK_OK)
        return -1;
    pthread_mutex_lock(&joint->mutex);
    if (joint->fd < 0)
        fd_make(joint);
    fd = joint->fd;
    pthread_mutex_unlock(&joint->mutex);
    return fd;
}

static lk_status joint_export(lk_hold *hold, char *text, size_t size)
{
    (void)hold;
    if (text != NULL && size > 0)
        text[0] = '\0';
    return lk__fail(LK_ENOTSUP, "a multilock's hold cannot be exported");
}

const lk__hold_class lk__joint_class = {
    .check = joint_check,
    .fence = joint_fence,
    .remaining_ms = joint_remaining_ms,
    .loss = joint_loss,
    .lost_for_ms = joint_lost_for_ms,
    .on_lost = joint_on_lost,
    .fd = joint_fd,
    .extend = lk__joint_extend,
    .extend_async = lk__joint_extend_async,
    .export_to = joint_export,
    .release = lk__joint_release,
    .release_async = lk__joint_release_async,
};
