/* SPDX-License-Identifier: MIT */

/* Handles on holds: what the holder may ask, and how it learns of a loss. */

#include "core/hold.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/ask.h"
#include "core/deadline.h"
#include "core/error.h"
#include "core/mem.h"
#include "core/names.h"
#include "core/node.h"
#include "core/place.h"
#include "core/reply.h"

#define MS UINT64_C(1000000)

const char *lk__loss_text(lk_loss loss)
{
    switch (loss) {
    case LK_LOSS_EXPIRED:
        return "its lease ended";
    case LK_LOSS_UNREACHABLE:
        return "its lease ended, the server did not answer";
    case LK_LOSS_DELETED:
        return "the server no longer knows it";
    case LK_LOSS_TAKEN:
        return "somebody else holds it";
    case LK_LOSS_REVOKED:
        return "it was released by force";
    case LK_LOSS_CLOSED:
        return "the client was shut down";
    case LK_LOSS_NONE:
        break;
    }
    return "not lost";
}

/* ---- the kernel's timer ------------------------------------------------------ */

/* Readable from the deadline on, whatever this process is busy with. */
static void fd_arm(const lk_hold *hold, uint64_t at)
{
    struct itimerspec when = {0};

    if (hold->fd < 0)
        return;
    if (at == 0)
        at = 1; /* 0 would disarm it */
    when.it_value.tv_sec = (time_t)(at / (1000 * MS));
    when.it_value.tv_nsec = (long)(at % (1000 * MS));
    timerfd_settime(hold->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* ---- callbacks ---------------------------------------------------------------- */

static void run_lost(lk__post *post)
{
    lk_hold *hold = (lk_hold *)(void *)((char *)post - offsetof(lk_hold, post));
    lk_client *client = hold->client;
    lk_lost_cb cb;
    void *data;

    lk__client_lock(client);
    cb = hold->cb;
    data = hold->data;
    lk__client_leave(client);
    if (cb != NULL)
        cb(hold, lk_hold_remaining_ms(hold), data);
}

uint64_t lk__holds_notice_at(const lk__claim *claim)
{
    uint64_t first = LK__NEVER;

    for (const lk_hold *hold = claim->first_hold; hold != NULL;
         hold = hold->next) {
        uint64_t deadline = claim->deadline;
        uint64_t at =
            deadline > hold->notice_ns ? deadline - hold->notice_ns : 0;

        if (hold->cb != NULL && hold->notice_ns != 0 && !hold->noticed &&
            at < first)
            first = at;
    }
    return first;
}

void lk__holds_notice(lk__claim *claim, uint64_t now)
{
    for (lk_hold *hold = claim->first_hold; hold != NULL; hold = hold->next) {
        if (hold->cb == NULL || hold->notice_ns == 0 || hold->noticed ||
            now + hold->notice_ns < claim->deadline)
            continue;
        hold->noticed = true;
        lk__client_post(hold->client, &hold->post);
    }
}

void lk__holds_renewed(lk__claim *claim)
{
    for (lk_hold *hold = claim->first_hold; hold != NULL; hold = hold->next) {
        hold->noticed = false;
        fd_arm(hold, claim->deadline);
    }
}

void lk__holds_tell_lost(lk__claim *claim)
{
    for (lk_hold *hold = claim->first_hold; hold != NULL; hold = hold->next) {
        fd_arm(hold, 1);
        if (hold->cb != NULL)
            lk__client_post(hold->client, &hold->post);
    }
}

/* ---- life ---------------------------------------------------------------------- */

lk_hold *lk__hold_new(lk_client *client)
{
    lk_hold *hold = lk__alloc(sizeof(*hold));

    if (hold == NULL)
        return NULL;
    hold->client = lk__client_ref(client);
    hold->post.run = run_lost;
    hold->fd = -1;
    return hold;
}

void lk__hold_discard(lk_hold *hold)
{
    lk_client *client = hold->client;

    if (hold->fd >= 0)
        close(hold->fd);
    lk__free(hold);
    lk__client_unref(client);
}

void lk__hold_bind(lk_hold *hold, lk__claim *claim)
{
    hold->claim = lk__claim_ref(claim);
    hold->next = claim->first_hold;
    claim->first_hold = hold;
}

static void unbind(lk_hold *hold)
{
    lk_hold **at = &hold->claim->first_hold;

    while (*at != hold)
        at = &(*at)->next;
    *at = hold->next;
}

/* ---- questions ------------------------------------------------------------------ */

lk_status lk_hold_check(const lk_hold *hold)
{
    lk_status status;

    if (hold == NULL)
        return LK_EINVAL;
    status = lk__client_check(hold->client);
    if (status != LK_OK)
        return status;
    if (hold->claim->lost_at != 0 ||
        lk__client_now(hold->client) >= hold->claim->deadline)
        return LK_ELOST;
    return LK_OK;
}

uint64_t lk_hold_fence(const lk_hold *hold)
{
    return hold == NULL ? 0 : hold->claim->fence;
}

uint64_t lk_hold_remaining_ms(const lk_hold *hold)
{
    if (lk_hold_check(hold) != LK_OK)
        return 0;
    return lk__remaining_ms(lk__client_now(hold->client),
                            hold->claim->deadline);
}

lk_loss lk_hold_loss(const lk_hold *hold)
{
    if (hold == NULL || lk_hold_check(hold) != LK_ELOST)
        return LK_LOSS_NONE;
    if (hold->claim->lost_at != 0)
        return (lk_loss)hold->claim->loss;
    return hold->claim->watchdog ? LK_LOSS_UNREACHABLE : LK_LOSS_EXPIRED;
}

uint64_t lk_hold_lost_for_ms(const lk_hold *hold)
{
    uint64_t lost_at;

    if (hold == NULL || lk_hold_check(hold) != LK_ELOST)
        return 0;
    lost_at = hold->claim->lost_at;
    return lk__remaining_ms(lost_at != 0 ? lost_at : hold->claim->deadline,
                            lk__client_now(hold->client));
}

/* ---- changes --------------------------------------------------------------------- */

lk_status
lk_hold_on_lost(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    lk_status status;

    if (hold == NULL)
        return lk__fail(LK_EINVAL, "the hold is NULL");
    if (notice_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "notice_ms is out of range");
    status = lk__client_check(hold->client);
    if (status != LK_OK)
        return status;

    lk__client_lock(hold->client);
    lk__client_unpost(hold->client, &hold->post);
    hold->cb = cb;
    hold->data = data;
    hold->notice_ns = notice_ms * MS;
    hold->noticed = false;
    if (hold->claim->state == LK__CLAIM_HELD)
        lk__claim_arm(hold->claim);
    else if (cb != NULL)
        lk__client_post(hold->client, &hold->post);
    lk__client_leave(hold->client);
    return LK_OK;
}

int lk_hold_fd(lk_hold *hold)
{
    int fd;

    if (hold == NULL || lk__client_check(hold->client) != LK_OK)
        return -1;

    lk__client_lock(hold->client);
    if (hold->fd < 0) {
        hold->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        fd_arm(hold, hold->claim->lost_at != 0 ? 1 : hold->claim->deadline);
    }
    fd = hold->fd;
    lk__client_leave(hold->client);
    return fd;
}

struct extension {
    lk__claim *claim;
    uint64_t lease_ms;
};

static lk_status
take_extension(void *data, const lk__request *request, const redisReply *reply)
{
    struct extension *extension = data;
    lk__claim *claim = extension->claim;
    uint64_t deadline;

    if (claim->state != LK__CLAIM_HELD)
        return LK_ELOST;
    if (lk__reply_integer_at(reply, 0, 0) != 1) {
        lk__claim_lose(claim, lk__reply_integer_at(reply, 1, 0) == 2
                                  ? LK_LOSS_TAKEN
                                  : LK_LOSS_DELETED);
        return LK_ELOST;
    }
    deadline = lk__deadline_ns(request->sent_at, extension->lease_ms);
    if (deadline > claim->deadline) {
        claim->deadline = deadline;
        lk__holds_renewed(claim);
        lk__claim_arm(claim);
    }
    return LK_OK;
}

lk_status lk_hold_extend(lk_hold *hold, uint64_t lease_ms)
{
    struct extension extension = {NULL, lease_ms};
    char fence[24];
    lk__arg args[2];
    lk_status status;

    if (hold == NULL)
        return lk__fail(LK_EINVAL, "the hold is NULL");
    status = lk__lease_check(lease_ms);
    if (status == LK_OK)
        status = lk__client_enter_blocking(hold->client);
    if (status != LK_OK)
        return status;

    extension.claim = hold->claim;
    snprintf(fence, sizeof(fence), "%" PRIu64, hold->claim->fence);
    args[0] = lk__arg_text(fence);
    args[1] = lk__arg_number((int64_t)lease_ms);
    if (hold->claim->state != LK__CLAIM_HELD)
        status = LK_ELOST;
    else
        status =
            lk__ask_script(hold->claim->place,
                           hold->claim->place->kind->confirm, hold->claim->id,
                           2, args, take_extension, &extension);
    lk__client_leave(hold->client);
    return status;
}

/* ---- release ----------------------------------------------------------------------- */

/* Waits for the answer; the claim goes on by itself if there is none in time. */
static lk_status releaser_wait(lk__claim *claim, lk__releaser *releaser)
{
    lk_client *client = claim->place->client;
    uint64_t until =
        lk__client_now(client) + client->settings.command_timeout_ms * MS;

    lk__client_leave(client);
    client->world->class->park(client->world, &releaser->parking, until);
    lk__client_lock(client);
    if (releaser->done)
        return releaser->status;
    claim->releaser = NULL;
    return releaser->sent ? LK_EINDOUBT : lk__node_why(client->node);
}

static lk_status release_lost(lk_hold *hold)
{
    lk__claim *claim = hold->claim;
    lk_loss loss = (lk_loss)claim->loss;

    lk__fail(LK_ELOST, "lost %" PRIu64 " ms ago: %s", lk_hold_lost_for_ms(hold),
             lk__loss_text(loss));
    if (claim->first_hold == NULL) {
        if (loss == LK_LOSS_EXPIRED || loss == LK_LOSS_UNREACHABLE)
            lk__claim_release(claim, NULL);
        else
            lk__claim_kill(claim);
    }
    return LK_ELOST;
}

/* The last handle of a claim takes the claim with it. */
static lk_status release_held(lk_hold *hold, bool may_wait)
{
    lk__claim *claim = hold->claim;
    lk_client *client = hold->client;
    lk__releaser releaser = {.status = LK_EINDOUBT};

    if (claim->first_hold != NULL)
        return lk_hold_check(hold);
    if (!may_wait) {
        lk__claim_release(claim, NULL);
        return LK_EINDOUBT;
    }
    client->world->class->parking_init(client->world, &releaser.parking);
    lk__claim_release(claim, &releaser);
    return releaser_wait(claim, &releaser);
}

lk_status lk_hold_release(lk_hold *hold)
{
    lk_client *client;
    lk_status status;
    bool may_wait;

    if (hold == NULL)
        return lk__fail(LK_EINVAL, "the hold is NULL");
    client = hold->client;
    status = lk__client_check(client);
    if (status != LK_OK)
        return status;

    lk__client_lock(client);
    may_wait = !lk__client_is_callback(client);
    lk__client_unpost(client, &hold->post);
    unbind(hold);
    if (hold->claim->state == LK__CLAIM_HELD)
        status = release_held(hold, may_wait);
    else if (hold->claim->state == LK__CLAIM_LOST)
        status = release_lost(hold);
    else
        status = lk__fail(LK_ECLOSED, "the client was shut down before");
    lk__claim_unref(hold->claim);
    lk__client_leave(client);
    lk__hold_discard(hold);
    return status;
}
