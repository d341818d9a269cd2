/* SPDX-License-Identifier: MIT */

/*
 * Downgrade: a claim that writes becomes one that reads, at the server in one
 * step. Here it counts as a reader from the moment it is asked for, whatever
 * the server knows yet: a writer who reads only harms nobody. Where the server
 * refuses, or nothing was sent, it writes on.
 *
 * A re-entered claim is turned with its last handle: each that is downgraded
 * is marked, and the claim is turned when none is left that is not, be it by
 * a downgrade or by a release.
 */

#include <latchkey/rwlock.h>

#include "base/deadline.h"
#include "base/error.h"
#include "claims/ask.h"
#include "claims/hold.h"
#include "rwlock/protocol.h"
#include "rwlock/rwlock.h"

struct turning {
    lk__ask ask; /* first */
    lk__claim *claim;
    uint64_t lease_ms;   /* that was asked for */
    bool hands_on;       /* it is done, and others are let in */
    const lk_hold *hold; /* whose downgrade it is, if that has not ended since;
                            NULL: the end of another handle's */
    lk_done_cb cb;       /* NULL: nobody wants to know */
    void *data;
};

/* ---- the question ---------------------------------------------------------- */

/* Of a downgrade whose call ended with this status. */
static lk_status status_of(lk_status status)
{
    return status == LK_EINDOUBT ? LK_OK : status;
}

static void turning_cleanup(lk__ask *ask)
{
    lk__claim_unref(((struct turning *)(void *)ask)->claim);
}

/* A server whose clock was set back tells of more than was asked for. */
static uint64_t left_of(const struct turning *turning, uint64_t left_ms)
{
    return left_ms < turning->lease_ms ? left_ms : turning->lease_ms;
}

static lk_status
turned_take(struct turning *turning, const lk__downgrade_answer *answer)
{
    lk__claim *claim = turning->claim;

    if (claim->state != LK__CLAIM_HELD)
        return LK_ELOST;
    if (!answer->reads) {
        lk__claim_lose(claim, answer->loss);
        return LK_ELOST;
    }
    if (claim->watchdog) /* else it ends when it was to: it may be sent again */
        lk__claim_prolong(claim,
                          lk__deadline_ns(turning->ask.request.sent_at,
                                          left_of(turning, answer->left)));
    return lk__claim_is_valid(claim) ? LK_OK : LK_ELOST;
}

/* The first answer is of the downgrade, those after it of the letting in. */
static lk_status
turning_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct turning *turning = (struct turning *)(void *)ask;
    const lk__protocol *protocol = ask->place->kind->protocol;
    lk__downgrade_answer answer;
    lk_status status;

    if (turning->hands_on) {
        *ret_more = protocol->read_hand_on(reply);
        return LK_OK;
    }
    *ret_more = false;
    status = lk__rwlock_read_downgrade(reply, &answer);
    if (status == LK_OK)
        status = turned_take(turning, &answer);
    if (status != LK_OK || !answer.more)
        return status;
    turning->hands_on = true;
    return lk__ask_go_on(ask, LK_OK, protocol->hand_on(ask->place), ret_more);
}

/* So much of its lease is left; a claim of the watchdog has a full one. */
static uint64_t lease_of(const lk__claim *claim)
{
    uint64_t left_ms = lk__remaining_ms(lk__client_now(claim->place->client),
                                        claim->leased_until);

    if (claim->watchdog)
        return claim->lease_ms;
    return left_ms > 0 ? left_ms : 1;
}

/* NULL: out of memory. Inside the monitor. */
static struct turning *turning_new(lk__claim *claim, const lk_hold *hold,
                                   void (*deliver)(lk__call *call))
{
    struct turning *turning =
        (struct turning *)(void *)lk__ask_new(sizeof(*turning),
                                              claim->place->client,
                                              claim->place, deliver);

    if (turning == NULL)
        return NULL;
    turning->claim = lk__claim_ref(claim);
    turning->lease_ms = lease_of(claim);
    turning->hold = hold;
    turning->ask.repeats = true;
    turning->ask.persists = true;
    turning->ask.take = turning_take;
    turning->ask.cleanup = turning_cleanup;
    if (lk__ask_question(&turning->ask,
                         lk__rwlock_ask_downgrade(claim, turning->lease_ms)) ==
        LK_OK)
        return turning;
    lk__ask_release(&turning->ask);
    return NULL;
}

static void turning_begin(struct turning *turning)
{
    lk__claim *claim = turning->claim;

    lk__claim_asked(claim, lk__client_now(claim->place->client),
                    claim->lease_ms);
    claim->is_mixed = true; /* the server may know it as either */
    lk__rwlock_set_writes(claim, false);
    lk__ask_begin(&turning->ask);
}

/* What was refused leaves the writer as it was. */
static void turning_ended(struct turning *turning, lk_status status)
{
    lk_hold *hold = turning->claim->first_hold;

    if (status_of(status) == LK_OK || status == LK_ELOST)
        return;
    lk__rwlock_set_writes(turning->claim, true);
    for (; hold != NULL; hold = hold->next) {
        if (hold == turning->hold)
            hold->turned = false;
    }
}

static void turning_deliver(lk__call *call)
{
    struct turning *turning = (struct turning *)(void *)lk__ask_of_call(call);
    lk_client *client = turning->claim->place->client;

    lk__client_lock(client);
    turning_ended(turning, call->status);
    lk__client_leave(client);
    if (turning->cb != NULL)
        turning->cb(status_of(call->status), turning->data);
    lk__ask_finish(&turning->ask);
}

/* ---- handles --------------------------------------------------------------- */

static bool has_writers(const lk__claim *claim)
{
    for (const lk_hold *hold = claim->first_hold; hold != NULL;
         hold = hold->next) {
        if (!hold->turned)
            return true;
    }
    return false;
}

void lk__rwlock_shed(lk__claim *claim)
{
    struct turning *turning;

    if (!lk__rwlock_writes(claim) || has_writers(claim))
        return;
    turning = turning_new(claim, NULL, turning_deliver);
    if (turning != NULL)
        turning_begin(turning);
}

/* ---- the calls --------------------------------------------------------------- */

static lk_status hold_check(const lk_hold *hold)
{
    if (hold == NULL)
        return lk__fail(LK_EINVAL, "the hold is NULL");
    if (hold->class != &lk__claim_hold_class ||
        hold->claim->place->kind != &lk__kind_rwlock)
        return lk__fail(LK_EINVAL, "it is no hold of a read-write lock");
    return LK_OK;
}

/* Marks the handle. Sets *ret_claim if the claim is to be turned, else it is
   done already. Inside the monitor. */
static lk_status mark(lk_hold *hold, lk__claim **ret_claim)
{
    lk__claim *claim = hold->claim;

    *ret_claim = NULL;
    lk__claim_expire(claim);
    if (claim->state != LK__CLAIM_HELD)
        return lk__fail(LK_ELOST, "%s", lk__loss_text((lk_loss)claim->loss));
    if (!lk__rwlock_writes(claim) || hold->turned)
        return lk__fail(LK_EINVAL, "it is not a write hold");
    hold->turned = true;
    if (!has_writers(claim))
        *ret_claim = claim;
    return LK_OK;
}

static lk_status turn(lk_hold *hold)
{
    lk__claim *claim;
    struct turning *turning;
    lk_status status = mark(hold, &claim);

    if (status != LK_OK || claim == NULL)
        return status;
    turning = turning_new(claim, hold, NULL);
    if (turning == NULL) {
        hold->turned = false;
        return LK_ENOMEM;
    }
    turning_begin(turning);
    status = lk__ask_sleep(&turning->ask);
    turning_ended(turning, status);
    lk__ask_release(&turning->ask);
    if (status_of(status) == LK_OK)
        lk__error_clear();
    return status_of(status);
}

lk_status lk_rwlock_downgrade(lk_hold *hold)
{
    lk_client *client;
    lk_status status = hold_check(hold);

    if (status != LK_OK)
        return status;
    client = hold->client; /* the hold may be released while this sleeps */
    status = lk__client_enter_blocking(client);
    if (status != LK_OK)
        return status;
    status = turn(hold);
    lk__client_leave_blocking(client);
    return status;
}

static lk_status turn_async(lk_hold *hold, lk_done_cb cb, void *data)
{
    lk__claim *claim;
    struct turning *turning;
    lk_status status = mark(hold, &claim);

    if (status != LK_OK)
        return status;
    turning = turning_new(hold->claim, hold, turning_deliver);
    if (turning == NULL) {
        hold->turned = false;
        return LK_ENOMEM;
    }
    turning->cb = cb;
    turning->data = data;
    if (claim != NULL)
        turning_begin(turning);
    else
        lk__call_done(&turning->ask.call, LK_OK, NULL);
    return LK_OK;
}

lk_status lk_rwlock_downgrade_async(lk_hold *hold, lk_done_cb cb, void *data)
{
    lk_client *client;
    lk_status status = hold_check(hold);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status == LK_OK)
        status = lk__client_enter(hold->client);
    if (status != LK_OK)
        return status;
    client = hold->client;
    status = turn_async(hold, cb, data);
    lk__client_leave(client);
    return status;
}
