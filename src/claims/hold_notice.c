/* SPDX-License-Identifier: MIT */

/* How a holder learns of a loss, or that the end is near: by its callback, and by a
   descriptor, which is a timer of the kernel's. */

#include <sys/timerfd.h>
#include <unistd.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/hold.h"
#include "claims/place.h"
#include "claims/work.h"

#define MS UINT64_C(1000000)

/* ---- the kernel's timer ------------------------------------------------------ */

/* Readable from the deadline on, whatever this process is busy with. */
static void fd_arm(const lk_hold *hold, uint64_t at)
{
    struct itimerspec when = {0};

    if (hold->timed == NULL)
        return;
    if (at == 0)
        at = 1; /* 0 would disarm it */
    when.it_value.tv_sec = (time_t)(at / (1000 * MS));
    when.it_value.tv_nsec = (long)(at % (1000 * MS));
    timerfd_settime(hold->timed->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* False: no descriptor, or no memory, is to be had. */
static bool timed_make(lk_hold *hold)
{
    lk__timed **first = &hold->client->work->first_timed;
    lk__timed *timed = lk__alloc(sizeof(*timed));

    if (timed == NULL)
        return false;
    timed->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timed->fd < 0) {
        lk__free(timed);
        return false;
    }
    timed->hold = hold;
    timed->next = *first;
    if (*first != NULL)
        (*first)->prev = timed;
    *first = timed;
    hold->timed = timed;
    return true;
}

/* The descriptor stays until the handle is freed. */
void lk__hold_unlist(lk_hold *hold)
{
    lk__timed *timed = hold->timed;

    if (timed == NULL)
        return;
    if (timed->prev != NULL)
        timed->prev->next = timed->next;
    else
        hold->client->work->first_timed = timed->next;
    if (timed->next != NULL)
        timed->next->prev = timed->prev;
}

void lk__hold_tell_no_more(lk_hold *hold)
{
    if (hold->timed != NULL)
        close(hold->timed->fd);
    lk__free(hold->timed);
    lk__free(hold->notice);
}

/* ---- callbacks ---------------------------------------------------------------- */

static void run_lost(lk__post *post)
{
    lk__notice *notice = LK__CONTAINER_OF(post, lk__notice, post);
    lk_hold *hold = notice->hold;
    lk_client *client = hold->client;
    lk_lost_cb cb;
    void *data;

    lk__client_lock(client);
    cb = notice->cb;
    data = notice->data;
    lk__client_leave(client);
    if (cb != NULL)
        cb(hold, lk_hold_remaining_ms(hold), data);
}

/* False: no memory. */
static bool notice_make(lk_hold *hold)
{
    hold->notice = lk__alloc(sizeof(*hold->notice));
    if (hold->notice == NULL)
        return false;
    hold->notice->hold = hold;
    hold->notice->post.run = run_lost;
    hold->notice->post.inner = hold->inner;
    return true;
}

void lk__hold_tell(lk_hold *hold)
{
    if (hold->notice != NULL && hold->notice->cb != NULL)
        lk__client_post(hold->client, &hold->notice->post);
}

/*
 * A grant that was pushed brings a short lease; the first renewal, which comes
 * soon, brings the hold's own. A notice that is longer than the short one would
 * warn of an end that is not near: till then a third of it is left.
 */
static uint64_t before_ns(const lk__claim *claim, const lk__notice *notice)
{
    uint64_t third = (claim->leased_until - claim->granted_at) / 3;

    return claim->confirmed || notice->before_ns < third ? notice->before_ns
                                                         : third;
}

/* It wants to hear of the end before that, and was not told of the present one. */
static bool is_to_be_noticed(const lk_hold *hold)
{
    const lk__notice *notice = hold->notice;

    return notice != NULL && notice->cb != NULL && notice->before_ns != 0 &&
           !notice->noticed;
}

uint64_t lk__holds_notice_at(const lk__claim *claim)
{
    uint64_t first = LK__NEVER;

    for (const lk_hold *hold = claim->first_hold; hold != NULL;
         hold = hold->next) {
        uint64_t deadline = claim->leased_until, before, at;

        if (!is_to_be_noticed(hold))
            continue;
        before = before_ns(claim, hold->notice);
        at = deadline > before ? deadline - before : 0;
        if (at < first)
            first = at;
    }
    return first;
}

void lk__holds_notice(lk__claim *claim, uint64_t now)
{
    for (lk_hold *hold = claim->first_hold; hold != NULL; hold = hold->next) {
        if (!is_to_be_noticed(hold) ||
            now + before_ns(claim, hold->notice) < claim->leased_until)
            continue;
        hold->notice->noticed = true;
        lk__hold_tell(hold);
    }
}

void lk__holds_moved(const lk__claim *claim)
{
    for (const lk_hold *hold = claim->first_hold; hold != NULL;
         hold = hold->next)
        fd_arm(hold, lk__claim_deadline(claim));
}

void lk__holds_time(const lk_client *client)
{
    for (const lk__timed *timed = client->work->first_timed; timed != NULL;
         timed = timed->next) {
        if (timed->hold->claim->state == LK__CLAIM_HELD)
            fd_arm(timed->hold, lk__claim_deadline(timed->hold->claim));
    }
}

void lk__holds_renewed(lk__claim *claim)
{
    for (lk_hold *hold = claim->first_hold; hold != NULL; hold = hold->next) {
        if (hold->notice != NULL)
            hold->notice->noticed = false;
    }
    lk__holds_moved(claim);
}

void lk__holds_tell_lost(lk__claim *claim)
{
    for (lk_hold *hold = claim->first_hold; hold != NULL; hold = hold->next) {
        fd_arm(hold, 1);
        lk__hold_tell(hold);
    }
}

/* ---- changes --------------------------------------------------------------------- */

static void
callback_set(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    lk__notice *notice = hold->notice;

    notice->cb = cb;
    notice->data = data;
    notice->before_ns = notice_ms * MS;
    notice->noticed = false;
    if (hold->claim->state == LK__CLAIM_HELD)
        lk__claim_arm(hold->claim);
    else
        lk__hold_tell(hold);
}

lk_status
lk__hold_on_lost(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    lk_client *client = hold->client;
    lk_status status;
    bool stands;

    if (notice_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "notice_ms is out of range");
    status = lk__client_check(client);
    if (status != LK_OK)
        return status;

    lk__client_lock(client);
    stands = lk__hold_unpost(hold);
    if (stands && hold->notice == NULL && cb != NULL && !notice_make(hold))
        status = LK_ENOMEM;
    else if (stands && hold->notice != NULL)
        callback_set(hold, notice_ms, cb, data);
    lk__client_leave(client);
    if (stands)
        return status;
    lk__hold_discard(hold);
    return lk__hold_ended();
}

int lk__hold_fd(lk_hold *hold)
{
    int fd;

    if (lk__client_check(hold->client) != LK_OK)
        return -1;

    lk__client_lock(hold->client);
    if (hold->timed == NULL && timed_make(hold))
        fd_arm(hold,
               hold->claim->lost_at != 0 ? 1 : lk__claim_deadline(hold->claim));
    fd = hold->timed != NULL ? hold->timed->fd : -1;
    lk__client_leave(hold->client);
    return fd;
}
