/* SPDX-License-Identifier: MIT */

/*
 * Holding: from the grant to the release or the loss. The deadline is the
 * local clock's; nothing but a renewal that was answered moves it. One alarm
 * serves the next of renewal, notice and deadline.
 */

#include <string.h>

#include "base/deadline.h"
#include "claims/claim_private.h"
#include "claims/cluster.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/pace.h"
#include "claims/watchdog.h"
#include "claims/work.h"

enum {
    FIRST_RENEWAL_MS = 50,
    STILL_PART = 4 /* of the lease: so late a loop stood still */
};

void lk__claim_set_fence(lk__claim *claim, uint64_t fence, uint64_t top_fence)
{
    claim->fence = fence;
    claim->local_fence = fence;
    claim->top_fence = top_fence < fence ? fence : top_fence;
}

/* An acquire that was answered late, or twice, has less of its lease left. */
static bool is_full(const lk__claim *claim, uint64_t now)
{
    return claim->leased_until > now + claim->lease_ms * LK__MS / 3 * 2;
}

/* ---- how long it is believed --------------------------------------------------- */

/* What stays when the reign is gone is written before it goes, so is read behind
   it. */
static uint64_t believed_until(const lk__claim *claim)
{
    const lk__trust *trust = claim->trust;
    uint64_t reigns = 0, own;

    if (trust != NULL) {
        reigns = trust->until;
        if (trust->reign != claim->reign)
            reigns = 0;
    }
    own = claim->believed_until;
    return own > reigns ? own : reigns;
}

uint64_t lk__claim_deadline(const lk__claim *claim)
{
    uint64_t believed = believed_until(claim);
    uint64_t leased = claim->leased_until;

    return leased < believed ? leased : believed;
}

/* The end of the reign has all looked at that are under it. */
static bool is_under_reign(const lk__claim *claim)
{
    const lk__trust *trust = claim->trust;

    return trust != NULL && trust->reign == claim->reign &&
           trust->until > lk__client_now(claim->place->client);
}

static void reign_leave(lk__claim *claim)
{
    claim->believed_until = believed_until(claim);
    claim->trust = NULL;
}

/* Under that of its node, if there is one. */
static void reign_enter(lk__claim *claim)
{
    lk__trust *trust = &claim->place->node->trust;

    if (claim->trust == trust && claim->reign == trust->reign)
        return;
    reign_leave(claim);
    claim->reign = trust->reign;
    if (trust->reign != 0)
        claim->trust = trust;
}

/* The server knows it. One that is not believed itself yet takes nothing away from
   how long the one before was. */
static void server_note(lk__claim *claim)
{
    const lk__belief *belief = &claim->place->node->belief;

    claim->turn = belief->turn;
    if (belief->until > claim->believed_until)
        claim->believed_until = belief->until;
    reign_enter(claim);
}

/* ---- the hold ------------------------------------------------------------------- */

static void hold_begin(lk__claim *claim, uint64_t deadline, lk__grant_how how)
{
    lk_client *client = claim->place->client;
    uint64_t now = lk__client_now(client);

    /* A revocation comes to the inbox. Spinning is for servers without Pub/Sub,
       and a layout with signals has no room for an inbox. */
    if (!lk__claim_is_spinning(claim) && !claim->place->kind->signals)
        lk__node_want_inbox(claim->place->node);
    claim->leased_until = deadline;
    claim->trust = NULL;
    claim->believed_until = 0;
    server_note(claim);
    claim->granted_at = now;
    lk__claim_kept(claim, now,
                   how == LK__GRANT_PUSHED
                       ? lk__node_inbox_at(claim->place->node)
                       : 0);
    lk__claim_asked(claim, now, claim->lease_ms);
    claim->confirmed = how == LK__GRANT_ANSWERED;
    claim->state = LK__CLAIM_HELD;
    lk__claim_held_first(claim);
    if (client->stats.holding++ == 0)
        lk__cluster_rouse(client->work->cluster);
    if (how == LK__GRANT_PUSHED)
        claim->renew_at = now + FIRST_RENEWAL_MS * LK__MS;
    else if (how == LK__GRANT_FOUND)
        claim->renew_at = now;
    else if (claim->watchdog)
        claim->renew_at =
            is_full(claim, now) ? lk__watchdog_next(claim, now) : now;
    else
        claim->renew_at = lk__watchdog_next(claim, now);
    lk__claim_arm(claim);
}

void lk__claim_hold(lk__claim *claim, uint64_t deadline, lk__grant_how how)
{
    if (claim->place->kind->holdless) {
        lk__claim_settle(claim);
        return;
    }
    hold_begin(claim, deadline, how);
    lk__place_granted(claim->place, claim);
}

void lk__claim_hold_imported(lk__claim *claim, lk_hold *hold, uint64_t owner,
                             uint64_t deadline)
{
    hold_begin(claim, deadline, LK__GRANT_ANSWERED);
    lk__hold_bind(hold, claim, owner);
    lk__claim_arm(claim);
    claim->place->client->stats.acquires++;
}

void lk__claim_arm(lk__claim *claim)
{
    uint64_t at =
        is_under_reign(claim) ? claim->leased_until : lk__claim_deadline(claim);
    uint64_t notice_at = lk__holds_notice_at(claim);

    if (claim->renew_at < at && !claim->renewing)
        at = claim->renew_at;
    if (notice_at < at)
        at = notice_at;
    if (claim->late_at != 0 && !claim->late && claim->late_at < at)
        at = claim->late_at;
    lk__alarm_set(&claim->place->client->alarms, &claim->alarm, at);
}

/* The loop loses it at its deadline. Where nobody has done so long after that, the
   loop did not run then, and the server is not to blame. */
static bool stood_still(const lk__claim *claim)
{
    return lk__client_now(claim->place->client) >
           lk__claim_deadline(claim) + claim->lease_ms * LK__MS / STILL_PART;
}

static lk_loss not_renewed(const lk__claim *claim)
{
    if (claim->is_denied)
        return LK_LOSS_DENIED;
    return stood_still(claim) ? LK_LOSS_STOPPED : LK_LOSS_UNREACHABLE;
}

bool lk__claim_expire(lk__claim *claim)
{
    /* A fixed lease that was confirmed ends by itself, looked after or not. */
    bool renews = claim->watchdog || !claim->confirmed;
    bool is_asked = claim->unanswered || claim->renewing;

    if (claim->state != LK__CLAIM_HELD || lk__claim_is_valid(claim))
        return false;
    if (lk__claim_deadline(claim) < claim->leased_until)
        lk__claim_lose(claim, stood_still(claim) ? LK_LOSS_STOPPED
                                                 : LK_LOSS_UNREACHABLE);
    else if (renews && is_asked)
        lk__claim_lose(claim, not_renewed(claim));
    else if (renews && claim->renew_at != LK__NEVER)
        lk__claim_lose(claim, LK_LOSS_STOPPED); /* due, and never begun */
    else
        lk__claim_lose(claim, LK_LOSS_EXPIRED);
    return true;
}

void lk__claim_on_hold_alarm(lk__claim *claim)
{
    uint64_t now = lk__client_now(claim->place->client);

    if (lk__claim_expire(claim))
        return;
    lk__holds_notice(claim, now);
    lk__pace_look(claim, now);
    if (now >= claim->renew_at && !claim->renewing)
        lk__watchdog_due(claim);
    lk__claim_arm(claim);
}

bool lk__claim_is_over(const lk__claim *claim, uint64_t now)
{
    return claim->lost_at != 0 || now >= lk__claim_deadline(claim);
}

lk_loss lk__claim_loss(const lk__claim *claim)
{
    if (claim->lost_at != 0)
        return (lk_loss)claim->loss;
    if (lk__claim_deadline(claim) < claim->leased_until)
        return stood_still(claim) ? LK_LOSS_STOPPED : LK_LOSS_UNREACHABLE;
    return claim->watchdog ? not_renewed(claim) : LK_LOSS_EXPIRED;
}

uint64_t lk__claim_over_at(const lk__claim *claim)
{
    uint64_t lost_at = claim->lost_at;

    return lost_at != 0 ? lost_at : lk__claim_deadline(claim);
}

void lk__claim_lose(lk__claim *claim, lk_loss loss)
{
    lk_client *client = claim->place->client;
    uint64_t now = lk__client_now(client);
    uint64_t deadline = lk__claim_deadline(claim);

    claim->state = LK__CLAIM_LOST;
    claim->loss = (uint8_t)loss;
    claim->lost_at = now < deadline ? now : deadline;
    claim->renew_at = LK__NEVER;
    lk__pace_done(claim);
    lk__alarm_clear(&client->alarms, &claim->alarm);
    client->stats.losses++;
    client->stats.holding--;
    lk__client_log(client, LK_LOG_ERROR, "%s %s: hold %s is lost: %s",
                   claim->place->kind->word, claim->place->name,
                   lk__claim_id(claim), lk__loss_text(loss));
    lk__holds_tell_lost(claim);
    lk__place_drive(claim->place); /* others counted on being passed it */
}

void lk__claim_denied(lk__claim *claim, const char *words)
{
    lk__node *node = claim->place->node;

    lk__node_words(node, LK_EDENIED, words, node->denial, sizeof(node->denial));
    if (!claim->is_denied)
        lk__client_log(node->client, LK_LOG_WARN,
                       "%s %s: hold %s is not renewed: %s",
                       claim->place->kind->word, claim->place->name,
                       lk__claim_id(claim), node->denial);
    claim->is_denied = true;
}

lk_loss lk__claim_loss_of(int64_t code)
{
    if (code == 4)
        return LK_LOSS_REVOKED;
    return code == 2 ? LK_LOSS_TAKEN : LK_LOSS_DELETED;
}

/* One that is under way was sent before what it is to find out. */
void lk__claim_renew_soon(lk__claim *claim)
{
    claim->renew_at = lk__client_now(claim->place->client);
    lk__claim_arm(claim);
}

void lk__claim_kept(lk__claim *claim, uint64_t sent_at, uint64_t inbox_at)
{
    bool has_heard =
        inbox_at != 0 && inbox_at == lk__node_inbox_at(claim->place->node);

    claim->kept_at = has_heard ? sent_at : 0;
}

void lk__claim_asked(lk__claim *claim, uint64_t now, uint64_t lease_ms)
{
    uint64_t until = now + lease_ms * LK__MS;

    if (until > claim->server_until)
        claim->server_until = until;
    if (lease_ms > claim->asked_ms)
        claim->asked_ms = lease_ms;
}

void lk__claim_export(lk__claim *claim)
{
    lk_client *client = claim->place->client;

    client->stats.holding--;
    claim->state = LK__CLAIM_EXPORTED;
    claim->renew_at = LK__NEVER;
    lk__pace_done(claim);
    lk__claim_asked(claim, lk__client_now(client), claim->lease_ms);
    lk__alarm_set(&client->alarms, &claim->alarm,
                  claim->server_until + lk__drift_ns(claim->asked_ms));
}

void lk__claim_prolong(lk__claim *claim, uint64_t deadline)
{
    bool is_longer = lk__claim_is_valid(claim) &&
                     lk__node_gives(claim->place->node) &&
                     deadline > claim->leased_until;

    lk__claim_confirm(claim);
    if (is_longer) {
        claim->leased_until = deadline;
        lk__holds_renewed(claim);
    }
    lk__claim_arm(claim);
}

static void deadline_moved(lk__claim *claim)
{
    lk__holds_moved(claim);
    lk__claim_arm(claim);
}

uint64_t lk__claim_kept_ms(lk__claim *claim, const lk__keep_answer *answer,
                           uint64_t sent_at, uint64_t asked_ms)
{
    uint64_t kept_ms = lk__kept_ms(answer, asked_ms);
    uint64_t deadline = lk__deadline_ns(sent_at, kept_ms);

    if (kept_ms < asked_ms && lk__claim_is_valid(claim) &&
        deadline < claim->leased_until) {
        claim->leased_until = deadline;
        deadline_moved(claim);
    }
    return kept_ms;
}

void lk__claim_confirm(lk__claim *claim)
{
    if (!lk__claim_is_valid(claim))
        return;
    server_note(claim);
    deadline_moved(claim);
}

void lk__claim_believe(lk__claim *claim)
{
    if (!lk__claim_is_valid(claim) ||
        claim->turn != claim->place->node->belief.turn)
        return;
    reign_enter(claim);
    deadline_moved(claim);
}

void lk__claim_believe_no_more(lk__claim *claim)
{
    if (claim->trust == NULL)
        return;
    reign_leave(claim);
    if (claim->state == LK__CLAIM_HELD)
        lk__claim_arm(claim);
}
