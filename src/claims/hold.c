/* SPDX-License-Identifier: MIT */

/* Handles on claims: what the holder may ask, and how it gives them back. */

#include "claims/hold.h"

#include <inttypes.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/node.h"
#include "claims/place.h"
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
    case LK_LOSS_STOPPED:
        return "its lease ended, this process stood still";
    case LK_LOSS_DENIED:
        return "its lease ended, an access rule forbids to renew it";
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
    lk__hold_tell_no_more(hold);
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
    lk__hold_unlist(hold);
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

/* ---- release ----------------------------------------------------------------------- */

static lk_status release_lost(lk_hold *hold)
{
    lk__claim *claim = hold->claim;
    lk_loss loss = (lk_loss)claim->loss;
    const char *denial =
        loss == LK_LOSS_DENIED ? claim->place->node->denial : "";

    /* A node that has the name since then has denied nothing. */
    lk__fail(LK_ELOST, "lost %" PRIu64 " ms ago: %s%s%s",
             claim_hold_lost_for_ms(hold), lk__loss_text(loss),
             denial[0] != '\0' ? ": " : "", denial);
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
            status = lk__fail(LK_EPENDING, "a callback does not wait for it");
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
    lk__releaser *releaser = LK__CONTAINER_OF(call, lk__releaser, call);

    if (releaser->cb != NULL)
        releaser->cb(call->status, releaser->data);
    lk__free(releaser);
}

static void on_releaser_alarm(lk__alarm *alarm)
{
    lk__releaser_end(LK__CONTAINER_OF(alarm, lk__releaser, alarm));
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
    .on_lost = lk__hold_on_lost,
    .fd = lk__hold_fd,
    .extend = lk__hold_extend,
    .extend_async = lk__hold_extend_async,
    .export_to = lk__hold_export,
    .release = claim_hold_release,
    .release_async = claim_hold_release_async,
};
