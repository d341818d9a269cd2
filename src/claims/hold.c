/* SPDX-License-Identifier: MIT */

/* Handles on claims: what the holder may ask, and how it learns of a loss. */

#include "claims/hold.h"

#include <inttypes.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/ask.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/protocol.h"
#include "claims/transfer.h"
#include "claims/work.h"

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
        return "an operator ended it";
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
static void timed_unlist(lk_hold *hold)
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

static void timed_free(lk__timed *timed)
{
    if (timed == NULL)
        return;
    close(timed->fd);
    lk__free(timed);
}

/* ---- callbacks ---------------------------------------------------------------- */

static void run_lost(lk__post *post)
{
    lk__notice *notice = lk__container_of(post, lk__notice, post);
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

/* ---- life ---------------------------------------------------------------------- */

lk_hold *lk__hold_new(lk_client *client)
{
    lk_hold *hold = lk__alloc(sizeof(*hold));

    if (hold == NULL)
        return NULL;
    hold->class = &lk__claim_hold_class;
    hold->refs = 1;
    hold->client = lk__client_ref(client);
    return hold;
}

void lk__hold_discard(lk_hold *hold)
{
    lk_client *client = hold->client;

    if (--hold->refs > 0)
        return;
    timed_free(hold->timed);
    lk__free(hold->notice);
    lk__free(hold);
    lk__client_unref(client);
}

void lk__hold_bind(lk_hold *hold, lk__claim *claim, uint64_t owner)
{
    hold->claim = lk__claim_ref(claim);
    hold->owner = owner;
    hold->fence = claim->local_fence;
    hold->next = claim->first_hold;
    claim->first_hold = hold;
}

void lk__hold_unbind(lk_hold *hold)
{
    lk_hold **at = &hold->claim->first_hold;

    while (*at != hold)
        at = &(*at)->next;
    *at = hold->next;
    timed_unlist(hold);
}

void lk__hold_unclaim(lk_hold *hold)
{
    lk__claim *claim = hold->claim;

    hold->claim = NULL;
    if (claim != NULL)
        lk__claim_unref(claim);
}

bool lk__hold_unpost(lk_hold *hold)
{
    if (hold->notice == NULL)
        return true;
    hold->refs++;
    lk__client_unpost(hold->client, &hold->notice->post);
    if (hold->claim == NULL)
        return false;
    hold->refs--;
    return true;
}

lk_status lk__hold_ended(void)
{
    return lk__fail(LK_ELOST, "its callback has released it meanwhile");
}

/* ---- questions ------------------------------------------------------------------ */

static lk_status claim_hold_check(const lk_hold *hold)
{
    lk_status status;

    status = lk__client_check(hold->client);
    if (status != LK_OK)
        return status;
    return lk__claim_is_over(hold->claim, lk__client_now(hold->client))
               ? LK_ELOST
               : LK_OK;
}

static uint64_t claim_hold_fence(const lk_hold *hold)
{
    return hold->fence;
}

static uint64_t claim_hold_remaining_ms(const lk_hold *hold)
{
    if (claim_hold_check(hold) != LK_OK)
        return 0;
    return lk__remaining_ms(lk__client_now(hold->client),
                            hold->claim->leased_until);
}

static lk_loss claim_hold_loss(const lk_hold *hold)
{
    if (claim_hold_check(hold) != LK_ELOST)
        return LK_LOSS_NONE;
    return lk__claim_loss(hold->claim);
}

static uint64_t claim_hold_lost_for_ms(const lk_hold *hold)
{
    if (claim_hold_check(hold) != LK_ELOST)
        return 0;
    return lk__remaining_ms(lk__claim_over_at(hold->claim),
                            lk__client_now(hold->client));
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

static lk_status
claim_hold_on_lost(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data)
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

static int claim_hold_fd(lk_hold *hold)
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

/* ---- extend -------------------------------------------------------------------- */

struct extension {
    lk__ask ask; /* first */
    lk__claim *claim;
    uint64_t lease_ms;
    lk_done_cb cb;
    void *data;
};

static void extension_cleanup(lk__ask *ask)
{
    lk__claim_unref(((struct extension *)(void *)ask)->claim);
}

static lk_status
extension_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct extension *extension = (struct extension *)(void *)ask;
    lk__claim *claim = extension->claim;
    lk__keep_answer answer;
    lk_status status;

    *ret_more = false;
    if (claim->state != LK__CLAIM_HELD)
        return LK_ELOST;
    status = lk__claim_protocol(claim)->read_keep(reply, claim->fence, &answer);
    if (status != LK_OK)
        return status;
    if (!answer.is_held) {
        lk__claim_lose(claim, answer.loss);
        return LK_ELOST;
    }
    lk__claim_prolong(claim, lk__deadline_ns(ask->request.sent_at,
                                             extension->lease_ms));
    if (!lk__node_gives(claim->place->node))
        return LK_EINDOUBT;
    return lk__claim_is_valid(claim) ? LK_OK : LK_ELOST;
}

static void extension_deliver(lk__call *call)
{
    struct extension *extension =
        (struct extension *)(void *)lk__ask_of_call(call);

    extension->cb(call->status, extension->data);
    lk__ask_finish(&extension->ask);
}

/* NULL: out of memory. Inside the monitor. */
static struct extension *
extension_new(lk_hold *hold, uint64_t lease_ms, void (*deliver)(lk__call *call))
{
    lk__claim *claim = hold->claim;
    struct extension *extension =
        (struct extension *)(void *)lk__ask_new(sizeof(*extension),
                                                hold->client, claim->place,
                                                deliver);

    if (extension == NULL)
        return NULL;
    extension->claim = lk__claim_ref(claim);
    lk__claim_asked(claim,
                    lk__client_now(hold->client) +
                        hold->client->settings.command_timeout_ms * MS,
                    lease_ms);
    extension->lease_ms = lease_ms;
    extension->ask.takes = true;
    extension->ask.take = extension_take;
    extension->ask.cleanup = extension_cleanup;
    if (lk__ask_question(&extension->ask,
                         lk__claim_protocol(claim)->keep(claim->place,
                                                         claim->id,
                                                         claim->fence, lease_ms,
                                                         0)) != LK_OK) {
        lk__ask_release(&extension->ask);
        return NULL;
    }
    return extension;
}

/* Enters the monitor if the hold can be extended. */
static lk_status extend_enter(lk_hold *hold, bool blocking)
{
    lk_status status = blocking ? lk__client_enter_blocking(hold->client)
                                : lk__client_enter(hold->client);

    if (status != LK_OK || hold->claim->state == LK__CLAIM_HELD)
        return status;
    status = lk__fail(LK_ELOST, "%s", lk__loss_text(claim_hold_loss(hold)));
    if (blocking)
        lk__client_leave_blocking(hold->client);
    else
        lk__client_leave(hold->client);
    return status;
}

static lk_status claim_hold_extend(lk_hold *hold, uint64_t lease_ms)
{
    lk_client *client = hold->client; /* the hold may be released meanwhile */
    struct extension *extension;
    lk_status status = lk__lease_check(lease_ms);

    if (status == LK_OK)
        status = extend_enter(hold, true);
    if (status != LK_OK)
        return status;
    extension = extension_new(hold, lease_ms, NULL);
    if (extension == NULL) {
        status = LK_ENOMEM;
    } else {
        lk__ask_begin(&extension->ask);
        status = lk__ask_sleep(&extension->ask);
        lk__ask_release(&extension->ask);
    }
    lk__client_leave_blocking(client);
    return status;
}

static lk_status claim_hold_extend_async(lk_hold *hold, uint64_t lease_ms,
                                         lk_done_cb cb, void *data)
{
    struct extension *extension;
    lk_status status = lk__lease_check(lease_ms);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = extend_enter(hold, false);
    if (status != LK_OK)
        return status;
    extension = extension_new(hold, lease_ms, extension_deliver);
    if (extension == NULL) {
        status = LK_ENOMEM;
    } else {
        extension->cb = cb;
        extension->data = data;
        extension->ask.call.post.inner = hold->inner;
        lk__ask_begin(&extension->ask);
    }
    lk__client_leave(hold->client);
    return status;
}

/* ---- release ----------------------------------------------------------------------- */

static lk_status release_lost(lk_hold *hold)
{
    lk__claim *claim = hold->claim;
    lk_loss loss = (lk_loss)claim->loss;

    lk__fail(LK_ELOST, "lost %" PRIu64 " ms ago: %s",
             claim_hold_lost_for_ms(hold), lk__loss_text(loss));
    if (claim->first_hold == NULL)
        lk__claim_end_lost(claim);
    return LK_ELOST;
}

/* Takes the handle off its claim. Answers at once, or says that the claim is
   now to be released: a valid one whose last handle this was. */
static lk_status handle_end(lk_hold *hold, bool *ret_release)
{
    lk__claim *claim = hold->claim;

    lk__claim_expire(claim);
    if (!lk__hold_unpost(hold))
        return lk__hold_ended();
    lk__hold_unbind(hold);
    if (claim->state == LK__CLAIM_LOST)
        return release_lost(hold);
    if (claim->state != LK__CLAIM_HELD)
        return lk__fail(LK_ECLOSED, "the client was shut down before");
    if (claim->first_hold != NULL) {
        if (claim->place->kind->shed != NULL)
            claim->place->kind->shed(claim);
        return claim_hold_check(hold);
    }
    *ret_release = !lk__claim_pass(claim);
    return LK_OK;
}

/* Waits for the answer; the claim goes on by itself if there is none in time.
   Leaves the monitor, and the claim to itself. */
static lk_status release_wait(lk_hold *hold)
{
    lk_client *client = hold->client;
    lk__releaser releaser = {.sent = false};
    uint64_t until =
        lk__client_now(client) + client->settings.command_timeout_ms * MS;

    lk__call_init(&releaser.call, client, NULL);
    lk__claim_release(hold->claim, &releaser);
    lk__hold_unclaim(hold);
    if (!lk__call_await(&releaser.call, until)) {
        lk__releaser_end(&releaser);
        lk__client_leave(client);
    }
    return lk__call_status(&releaser.call);
}

static lk_status claim_hold_release(lk_hold *hold)
{
    lk_client *client;
    lk_status status;
    bool release = false;

    client = hold->client;
    status = lk__client_check(client);
    if (status != LK_OK)
        return status;

    lk__client_lock(client);
    status = handle_end(hold, &release);
    if (release && !lk__client_is_callback(client)) {
        status = release_wait(hold);
    } else {
        if (release) {
            lk__claim_release(hold->claim, NULL);
            status = lk__fail(LK_EINDOUBT, "a callback does not wait for it");
        }
        lk__hold_unclaim(hold);
        lk__client_leave(client);
    }
    lk__hold_discard(hold);
    return status;
}

void lk__hold_drop(lk_hold *hold)
{
    bool release = false;

    lk__client_lock(hold->client);
    (void)handle_end(hold, &release);
    if (release)
        lk__claim_release(hold->claim, NULL);
    lk__hold_unclaim(hold);
    lk__client_leave(hold->client);
    lk__hold_discard(hold);
}

static void releaser_deliver(lk__call *call)
{
    lk__releaser *releaser = lk__container_of(call, lk__releaser, call);

    if (releaser->cb != NULL)
        releaser->cb(call->status, releaser->data);
    lk__free(releaser);
}

static void on_releaser_alarm(lk__alarm *alarm)
{
    lk__releaser_end(lk__container_of(alarm, lk__releaser, alarm));
}

static void release_begin(lk__claim *claim, lk__releaser *releaser)
{
    lk_client *client = claim->place->client;

    lk__alarm_set(&client->alarms, &releaser->alarm,
                  lk__client_now(client) +
                      client->settings.command_timeout_ms * MS);
    lk__claim_release(claim, releaser);
}

static lk_status
claim_hold_release_async(lk_hold *hold, lk_done_cb cb, void *data)
{
    lk__releaser *releaser;
    lk_client *client;
    lk_status status;
    bool release = false;

    client = hold->client;
    status = lk__client_check(client);
    if (status != LK_OK)
        return status;
    releaser = lk__alloc(sizeof(*releaser));
    if (releaser == NULL)
        return LK_ENOMEM;
    releaser->cb = cb;
    releaser->data = data;
    releaser->alarm.fire = on_releaser_alarm;

    lk__client_lock(client);
    lk__call_init(&releaser->call, client, releaser_deliver);
    releaser->call.post.inner = hold->inner;
    status = handle_end(hold, &release);
    if (release)
        release_begin(hold->claim, releaser);
    else
        lk__call_done(&releaser->call, status,
                      status == LK_OK ? NULL : lk_last_error());
    lk__hold_unclaim(hold);
    lk__client_leave(client);
    lk__hold_discard(hold);
    return LK_OK;
}

const lk__hold_class lk__claim_hold_class = {
    .check = claim_hold_check,
    .fence = claim_hold_fence,
    .remaining_ms = claim_hold_remaining_ms,
    .loss = claim_hold_loss,
    .lost_for_ms = claim_hold_lost_for_ms,
    .on_lost = claim_hold_on_lost,
    .fd = claim_hold_fd,
    .extend = claim_hold_extend,
    .extend_async = claim_hold_extend_async,
    .export_to = lk__hold_export,
    .release = claim_hold_release,
    .release_async = claim_hold_release_async,
};
