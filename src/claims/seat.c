/* SPDX-License-Identifier: MIT */

/*
 * How waits come by claims, and what becomes of them: a common line's first gets the
 * front, those of another line sit on a claim of their own or on a shared one.
 */

#include "claims/hold.h"
#include "claims/place.h"

/* Its lease is not longer than the wait's own; a shorter one is made up for by
   the first renewal. */
static void claim_adopt(lk__claim *claim, const lk__wait *wait)
{
    bool longer = wait->lease_ms > claim->lease_ms;

    claim->watchdog = wait->watchdog;
    claim->lease_ms = wait->lease_ms;
    claim->confirmed = claim->confirmed && !longer;
    if ((wait->watchdog || longer) && claim->renew_at == LK__NEVER)
        claim->renew_at = claim->granted_at;
    lk__claim_arm(claim);
}

static void bind(lk__wait *wait, lk__claim *claim)
{
    lk__hold_bind(wait->hold, claim, wait->owner);
    wait->place->client->stats.acquires++;
    lk__wait_end(wait, LK_OK, NULL);
}

void lk__place_bind(lk__place *place, lk__claim *claim)
{
    claim_adopt(claim, place->first_wait);
    bind(place->first_wait, claim);
}

/* ---- seats: waits of a line of their own, and of a shared one ----------------- */

lk__wait *lk__place_head(const lk__claim *claim)
{
    if (claim->line == LK__LINE_COMMON)
        return claim->place->first_wait;
    return claim->seek != NULL ? claim->seek->first_seat : NULL;
}

/* A claim's memory stays while somebody sits on it. */
static void sit(lk__wait *wait, lk__claim *claim)
{
    lk__seeking *seek = claim->seek;

    wait->claim = lk__claim_ref(claim);
    wait->seat_look = seek->looks;
    wait->prev_seat = seek->last_seat;
    if (wait->prev_seat != NULL)
        wait->prev_seat->next_seat = wait;
    else
        seek->first_seat = wait;
    seek->last_seat = wait;
}

static void rise(lk__wait *wait)
{
    lk__claim *claim = wait->claim;

    if (wait->prev_seat != NULL)
        wait->prev_seat->next_seat = wait->next_seat;
    else
        claim->seek->first_seat = wait->next_seat;
    if (wait->next_seat != NULL)
        wait->next_seat->prev_seat = wait->prev_seat;
    else
        claim->seek->last_seat = wait->prev_seat;
    wait->next_seat = wait->prev_seat = NULL;
    wait->claim = NULL;
    lk__claim_unref(claim);
}

/* The claim that this client holds, and that one more may share; or NULL. */
static lk__claim *joined_by(const lk__place *place, const lk__wait *wait)
{
    for (lk__claim *claim = place->first_claim;
         claim != NULL && claim->was_held; claim = claim->next) {
        if (lk__claim_may_join(claim, wait))
            return claim;
    }
    return NULL;
}

static lk__claim *claim_for(lk__place *place, const lk__wait *wait)
{
    lk__claim *claim = lk__claim_new(place, wait);

    if (claim == NULL)
        return NULL;
    claim->line = (uint8_t)wait->line;
    if (wait->line == LK__LINE_SHARED && !wait->try_only)
        place->front = claim;
    return claim;
}

void lk__place_seat(lk__wait *wait)
{
    lk__place *place = wait->place;
    bool shares = wait->line == LK__LINE_SHARED;
    lk__claim *claim = shares ? joined_by(place, wait) : NULL;

    if (claim != NULL) {
        bind(wait, claim);
        return;
    }
    if (shares && !wait->try_only && place->front != NULL) {
        sit(wait, place->front);
        if (place->kind->judge != NULL)
            lk__claim_look_again(place->front);
        return;
    }
    claim = lk__touching_make(place) ? claim_for(place, wait) : NULL;
    if (claim == NULL) {
        lk__wait_end(wait, LK_ENOMEM, NULL);
        return;
    }
    sit(wait, claim);
    if (!wait->try_only)
        lk__topics_want(place);
    lk__claim_drive(claim);
}

void lk__place_unseat(lk__wait *wait)
{
    lk__claim *claim = lk__claim_ref(wait->claim);

    rise(wait);
    if (claim->seek->first_seat == NULL && lk__claim_is_seeking(claim))
        lk__claim_leave(claim);
    lk__claim_unref(claim);
}

/* The end of a wait that shares ends no other: only a common line is driven. */
void lk__place_judge(lk__claim *claim, const void *facts)
{
    lk__wait *wait, *next;

    lk__claim_ref(claim);
    for (wait = claim->seek->first_seat; wait != NULL; wait = next) {
        lk__verdict verdict = LK__VERDICT_WAIT;

        next = wait->next_seat;
        if (wait->seat_look < claim->seek->looks)
            verdict = claim->place->kind->judge(&wait->mark, facts);
        if (verdict == LK__VERDICT_OK)
            lk__wait_end(wait, LK_OK, NULL);
        else if (verdict == LK__VERDICT_GONE)
            lk__wait_end(wait, LK_EGONE, NULL);
    }
    lk__claim_unref(claim);
}

/* ---- the end of seeking -------------------------------------------------------- */

static void front_clear(lk__place *place, const lk__claim *claim)
{
    if (place->front == claim)
        place->front = NULL;
}

void lk__place_granted(lk__place *place, lk__claim *claim)
{
    front_clear(place, claim);
    if (lk__place_head(claim) == NULL) {
        lk__claim_release(claim, NULL);
    } else if (claim->line == LK__LINE_COMMON) {
        lk__place_bind(place, claim);
    } else {
        lk__claim_ref(claim);
        while (claim->seek->first_seat != NULL)
            bind(claim->seek->first_seat, claim);
        lk__claim_unref(claim);
    }
}

void lk__place_taken(lk__place *place, lk__claim *claim)
{
    front_clear(place, claim);
    lk__claim_ref(claim);
    if (place->kind->granted != NULL)
        place->kind->granted(place, claim);
    lk__claim_kill(claim);
    while (claim->seek->first_seat != NULL)
        lk__wait_end(claim->seek->first_seat, LK_OK, NULL);
    lk__claim_unref(claim);
}

/* With LK_OK each gets another claim. */
static void seats_fail(lk__claim *claim, lk_status status, const char *words)
{
    lk__claim_ref(claim);
    while (claim->seek->first_seat != NULL) {
        lk__wait *wait = claim->seek->first_seat;

        if (status != LK_OK) {
            lk__wait_end(wait, status, words);
        } else {
            rise(wait);
            lk__place_seat(wait);
        }
    }
    lk__claim_unref(claim);
}

void lk__place_failed(lk__place *place, lk__claim *claim, lk_status status,
                      const char *words)
{
    front_clear(place, claim);
    if (claim->line != LK__LINE_COMMON)
        seats_fail(claim, status, words);
    else if (status != LK_OK && place->first_wait != NULL)
        lk__wait_end(place->first_wait, status, words);
    else
        lk__place_drive(place);
}
