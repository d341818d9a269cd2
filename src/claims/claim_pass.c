/* SPDX-License-Identifier: MIT */

/*
 * Passing: a client hands what it holds to the next of its own waits, with a
 * fence of the range that came with the grant. While it does so it asks the
 * server, about every 50 ms, whether anybody waits there, and has the range
 * filled up in the same question. If somebody waits, or there is no answer, a
 * budget of passes and of time since the grant bounds what others have to
 * stand. Only claims that the watchdog renews are passed on: the next owner is
 * promised as much of a lease as the one before.
 */

#include "base/container.h"
#include "base/deadline.h"
#include "base/mem.h"
#include "claims/claim_private.h"
#include "claims/node.h"
#include "claims/wait.h"

enum {
    BUDGET_PASSES = 64,
    BUDGET_MS = 5,
    ASK_EVERY_MS = 50,
    ALONE_MS = 100, /* for so long an answer is believed */
    REMAINING_MS = 3000,
    RESERVE = 50000 /* fences: one a microsecond from ask to ask */
};

/* NULL: no memory, and so it is not passed on. */
static lk__passing *passing_of(lk__claim *claim)
{
    if (claim->pass == NULL) {
        claim->pass = lk__alloc(sizeof(*claim->pass));
        if (claim->pass != NULL)
            claim->pass->claim = claim;
    }
    return claim->pass;
}

/* Extended, it may last for longer than this wait has asked for. */
static bool
is_too_long(const lk__claim *claim, const lk__wait *wait, uint64_t now)
{
    return claim->server_until > now + wait->lease_ms * LK__MS;
}

bool lk__claim_suits(const lk__claim *claim, const lk__wait *wait, uint64_t now)
{
    return claim->place->kind->passes && claim->watchdog && wait->watchdog &&
           claim->renew_failures == 0 && !is_too_long(claim, wait, now);
}

/* ---- the question ------------------------------------------------------------ */

static void on_answer(lk__passing *pass, const redisReply *reply)
{
    lk__claim *claim = pass->claim;
    lk__keep_answer answer = {.is_held = false};
    uint64_t lease_ms;

    if (lk__claim_protocol(claim)->read_keep(reply, claim->fence, &answer) !=
        LK_OK)
        return; /* no answer at all says as much */
    if (!answer.is_held) {
        lk__claim_lose(claim, answer.loss);
        return;
    }
    if (answer.top_fence > claim->top_fence)
        claim->top_fence = answer.top_fence;
    pass->alone_until =
        answer.is_alone ? pass->ask.sent_at + ALONE_MS * LK__MS : 0;
    lease_ms =
        lk__claim_kept_ms(claim, &answer, pass->ask.sent_at, claim->lease_ms);
    lk__claim_prolong(claim, lk__deadline_ns(pass->ask.sent_at, lease_ms));
}

static void
on_asked(lk__request *request, lk_status status, const redisReply *reply)
{
    lk__passing *pass = LK__CONTAINER_OF(request, lk__passing, ask);
    lk__claim *claim = pass->claim;

    status = lk__place_heard(claim->place, request, status, reply);
    if (status == LK_OK)
        status = lk__node_check(request, reply);
    if (status == LK_OK && claim->state == LK__CLAIM_HELD)
        on_answer(pass, reply);
    lk__claim_answered(claim);
}

void lk__claim_prepare_pass(lk__claim *claim, uint64_t now)
{
    lk__passing *pass = passing_of(claim);

    if (pass == NULL || pass->ask.busy || lk__claim_is_looking(claim) ||
        (pass->asked_at != 0 && now < pass->asked_at + ASK_EVERY_MS * LK__MS))
        return;
    pass->ask.on_reply = on_asked;
    /* Of an import that may be longer than what waits here asked for. */
    lk__claim_asked(claim, now, claim->lease_ms);
    if (lk__claim_send(claim, &pass->ask,
                       lk__claim_protocol(claim)->keep(claim, claim->lease_ms,
                                                       RESERVE)) == LK_OK)
        pass->asked_at = now;
}

/* ---- the pass ------------------------------------------------------------------ */

static bool is_within_budget(const lk__claim *claim, uint64_t now)
{
    const lk__passing *pass = claim->pass;

    if (now < pass->alone_until)
        return true;
    return pass->passes < BUDGET_PASSES &&
           now < claim->granted_at + BUDGET_MS * LK__MS;
}

static uint64_t remaining_wanted(const lk__claim *claim)
{
    uint64_t third = claim->lease_ms * LK__MS / 3;

    return third < REMAINING_MS * LK__MS ? third : REMAINING_MS * LK__MS;
}

/* Long enough for the next one. */
static bool lasts(const lk__claim *claim, uint64_t now)
{
    return lk__claim_is_valid_at(claim, now) &&
           claim->leased_until >= now + remaining_wanted(claim);
}

/*
 * Sharing: whoever wants to share what this client holds already does so as
 * long as nobody waits at the server. Others would have to wait until the last
 * one has gone, and one after the other may come.
 */
bool lk__claim_may_join(lk__claim *claim, const lk__wait *wait)
{
    uint64_t now = lk__client_now(claim->place->client);

    if (!claim->place->kind->joins || claim->line != LK__LINE_SHARED ||
        !claim->watchdog || claim->renew_failures != 0 || !wait->watchdog ||
        is_too_long(claim, wait, now) || !lasts(claim, now))
        return false;
    lk__claim_prepare_pass(claim, now);
    if (claim->pass == NULL || !is_within_budget(claim, now))
        return false;
    claim->pass->passes++;
    claim->place->client->stats.passes++;
    return true;
}

bool lk__claim_pass(lk__claim *claim)
{
    lk__place *place = claim->place;
    const lk__wait *wait = place->first_wait;
    uint64_t now = lk__client_now(place->client);

    if (wait == NULL || !lk__claim_suits(claim, wait, now) ||
        claim->local_fence >= claim->top_fence || !lasts(claim, now) ||
        passing_of(claim) == NULL || !is_within_budget(claim, now))
        return false;

    claim->local_fence++;
    claim->pass->passes++;
    place->client->stats.releases++;
    place->client->stats.passes++;
    lk__place_bind(place, claim);
    return true;
}
