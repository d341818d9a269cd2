/* SPDX-License-Identifier: MIT */

/* Latches: open when all has been counted, not before, and for everybody. */

#include <latchkey/status.h>

#include <stdlib.h>

#include "check/state.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool
claims(const checker *c, checker_rule rule, const checker_call *call)
{
    return checker_claims(c, rule, call->process, call->key, call->invoke.at);
}

/* ---- what it is ---- */

static bool may_be_open(const checker_latch *latch)
{
    return latch->changing > 0 || latch->loose_change ||
           latch->phase == CHECKER_VAGUE ||
           (latch->phase == CHECKER_ARMED && latch->most >= latch->size);
}

static bool is_surely_armed(const checker_latch *latch)
{
    return latch->changing == 0 && !latch->loose_change &&
           latch->phase == CHECKER_ARMED;
}

/* Notes what follows from what is known now; waits are told that it is open. */
static void settle(checker_key *key, uint64_t at)
{
    checker_latch *latch = &key->latch;

    if (may_be_open(latch))
        latch->maybe_open_at = at;
    if (latch->deleting > 0)
        latch->gone_at = at;
    if (!is_surely_armed(latch) || latch->least < latch->size ||
        latch->open_at != 0)
        return;
    latch->open_at = at;
    for (checker_call *call = key->calls; call != NULL; call = call->next)
        if (call->invoke.call == HISTORY_ACQUIRE && call->opened_at == 0)
            call->opened_at = at;
}

/* Nothing is known any more of what it was before. */
static void forget(checker_latch *latch)
{
    latch->generation++;
    latch->member_count = 0;
    latch->least = 0;
    latch->open_at = 0;
}

/* ---- what makes it something else ---- */

/* One has ended: whoever counts from now on does not count during another. */
static void settle_change(checker_latch *latch)
{
    if (latch->changing > 0)
        return;
    latch->during = 0;
    latch->arrived = false;
}

static bool is_change(const checker_call *call)
{
    return call->invoke.call == HISTORY_ARM ||
           call->invoke.call == HISTORY_RESET ||
           call->invoke.call == HISTORY_DELETE;
}

/* Whoever began to wait when it was open may come to look too late. */
static void change_begins(checker_call *change)
{
    checker_key *key = change->key;
    checker_latch *latch = &key->latch;

    latch->changing++;
    latch->arming += change->invoke.call == HISTORY_ARM ? 1U : 0U;
    latch->deleting += change->invoke.call == HISTORY_DELETE ? 1U : 0U;
    if (latch->open_at == 0 || change->invoke.call == HISTORY_ARM)
        return;
    for (checker_call *call = key->calls; call != NULL; call = call->next)
        if (call->invoke.at >= latch->open_at)
            call->opened_at = 0;
}

/* Counts and arrivals that may be of the next generation. */
static uint64_t straddling(const checker_key *key)
{
    uint64_t sum = key->latch.loose + key->latch.during;

    for (const checker_call *call = key->calls; call != NULL; call = call->next)
        if (call->invoke.call == HISTORY_COUNT)
            sum += call->invoke.count;
        else if (call->invoke.call == HISTORY_ARRIVE)
            sum++;
    return sum;
}

static void armed(checker_key *key, uint64_t size, uint64_t at)
{
    checker_latch *latch = &key->latch;

    forget(latch);
    latch->phase = CHECKER_ARMED;
    latch->size = size;
    latch->most = straddling(key);
    latch->armed_at = at;
}

static void see_armed_twice(checker *c, const checker_call *call,
                            const history_event *event)
{
    const checker_latch *latch = &call->key->latch;
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};

    if (call->invoke.call == HISTORY_ARM && latch->phase == CHECKER_ARMED &&
        latch->deleting == 0 && latch->gone_at < call->invoke.at &&
        (!latch->by_reset || latch->armed_at <= call->invoke.at) &&
        claims(c, CHECKER_COUNTS, call))
        checker_report(c, CHECKER_COUNTS, "armed twice", events,
                       "it was armed with %llu",
                       (unsigned long long)latch->size);
}

/* What arrives may arm what was deleted meanwhile. */
static bool is_arriving(const checker_key *key)
{
    for (const checker_call *call = key->calls; call != NULL; call = call->next)
        if (call->invoke.call == HISTORY_ARRIVE)
            return true;
    return false;
}

/* Of two at one time nobody knows which one came last. */
static void changed(checker_call *call, uint64_t at)
{
    checker_latch *latch = &call->key->latch;

    if (latch->changing > latch->arming ||
        latch->generation != call->generation) {
        forget(latch);
        latch->phase = CHECKER_VAGUE;
    } else if (call->invoke.call != HISTORY_DELETE) {
        armed(call->key, call->invoke.count, at);
        latch->by_reset = call->invoke.call == HISTORY_RESET;
    } else {
        forget(latch);
        latch->phase = latch->arming > 0 || latch->loose_arming ||
                               latch->arrived || is_arriving(call->key)
                           ? CHECKER_VAGUE
                           : CHECKER_UNSET;
    }
}

/* It may be so, or not, or will be. */
static void change_is_unknown(const checker_call *call)
{
    checker_latch *latch = &call->key->latch;

    if (call->invoke.call == HISTORY_ARM) {
        latch->loose_arming = true;
        if (latch->phase == CHECKER_ARMED)
            return;
    } else {
        latch->loose_change = true;
    }
    forget(latch);
    latch->phase = CHECKER_VAGUE;
    latch->deleting += call->invoke.call == HISTORY_DELETE ? 1U : 0U;
}

static void
change_ends(checker *c, checker_call *call, const history_event *event)
{
    checker_latch *latch = &call->key->latch;

    latch->changing--;
    latch->arming -= call->invoke.call == HISTORY_ARM ? 1U : 0U;
    latch->deleting -= call->invoke.call == HISTORY_DELETE ? 1U : 0U;
    if (event->phase == HISTORY_UNKNOWN) {
        change_is_unknown(call);
    } else if (event->phase == HISTORY_OK) {
        see_armed_twice(c, call, event);
        changed(call, event->at);
    }
    settle_change(latch);
}

/* ---- counting ---- */

static void
see_forgotten(checker *c, const checker_call *call, const history_event *event)
{
    const checker_latch *latch = &call->key->latch;
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};

    if (event->status == LK_EUNSET && is_surely_armed(latch) &&
        call->generation == latch->generation &&
        latch->armed_at <= call->invoke.at && claims(c, CHECKER_COUNTS, call))
        checker_report(c, CHECKER_COUNTS, "latch forgotten", events,
                       "it was armed with %llu",
                       (unsigned long long)latch->size);
}

static void
count_ends(checker *c, checker_call *call, const history_event *event)
{
    checker_latch *latch = &call->key->latch;
    const uint64_t count = call->invoke.count;
    const bool same = call->generation == latch->generation;

    if (event->phase == HISTORY_UNKNOWN)
        latch->loose += count;
    else if (event->phase == HISTORY_FAIL && same)
        latch->most -= count;
    else if (event->phase == HISTORY_OK && same &&
             latch->armed_at <= call->invoke.at)
        latch->least += count;
    if (event->phase == HISTORY_OK && latch->changing > 0)
        latch->during += count;
    see_forgotten(c, call, event);
}

/* ---- members ---- */

static checker_member *member(checker_latch *latch, uint64_t id)
{
    for (size_t i = 0; i < latch->member_count; i++)
        if (latch->members[i].id == id)
            return &latch->members[i];
    return NULL;
}

static bool member_add(checker_latch *latch, uint64_t id)
{
    if (latch->member_count == latch->member_room) {
        size_t room = latch->member_room == 0 ? 8 : 2 * latch->member_room;
        checker_member *wider =
            realloc(latch->members, room * sizeof(*latch->members));

        if (wider == NULL)
            return false;
        latch->members = wider;
        latch->member_room = room;
    }
    latch->members[latch->member_count++] = (checker_member){id, false};
    return true;
}

/* One that may find it unset may arm it. */
static void arrive_begins(checker *c, checker_call *call)
{
    checker_latch *latch = &call->key->latch;

    if (!is_surely_armed(latch)) {
        call->arms = true;
        latch->changing++;
        latch->arming++;
    }
    if (latch->phase == CHECKER_ARMED &&
        member(latch, call->invoke.hold) == NULL) {
        latch->most++;
        c->failed |= !member_add(latch, call->invoke.hold);
    }
}

/* It is armed now, by this one or by another: the first that says so counts. */
static void
arming_ends(checker *c, checker_call *call, const history_event *event)
{
    checker_latch *latch = &call->key->latch;

    latch->changing--;
    latch->arming--;
    if (event->phase == HISTORY_UNKNOWN && latch->phase == CHECKER_UNSET) {
        latch->phase = CHECKER_VAGUE;
    } else if (event->phase == HISTORY_OK && latch->changing > latch->arming) {
        forget(latch);
        latch->phase = CHECKER_VAGUE;
    } else if (event->phase == HISTORY_OK && latch->phase == CHECKER_UNSET &&
               !latch->loose_arming && latch->generation == call->generation) {
        armed(call->key, call->invoke.count, event->at);
        latch->most++;
        latch->least = 1;
        c->failed |= !member_add(latch, call->invoke.hold);
        latch->members[0].counted = true;
        call->generation = latch->generation;
    } else if (event->phase == HISTORY_OK && latch->phase == CHECKER_UNSET) {
        latch->phase = CHECKER_VAGUE;
    }
    if (event->phase == HISTORY_OK && latch->changing > 0) {
        latch->during++;
        latch->arrived = true;
    }
    settle_change(latch);
}

static void
arrive_ends(checker *c, checker_call *call, const history_event *event)
{
    checker_latch *latch = &call->key->latch;
    checker_member *who = member(latch, call->invoke.hold);

    if (event->phase == HISTORY_UNKNOWN) {
        latch->loose++;
        latch->loose_arming = true;
    }
    if (call->arms) {
        arming_ends(c, call, event);
        return;
    }
    if (event->phase == HISTORY_OK && latch->changing > 0) {
        latch->during++;
        latch->arrived = true;
    }
    if (event->phase != HISTORY_OK || call->generation != latch->generation ||
        who == NULL || who->counted)
        return;
    who->counted = true;
    latch->least++;
}

/* ---- asking ---- */

static void
asked(checker *c, const checker_call *call, const history_event *event)
{
    const checker_latch *latch = &call->key->latch;
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};
    const uint64_t size = latch->size;
    const uint64_t left = event->count;

    see_forgotten(c, call, event);
    if (event->phase != HISTORY_OK || !is_surely_armed(latch) ||
        call->generation != latch->generation ||
        latch->armed_at > call->invoke.at || !claims(c, CHECKER_COUNTS, call))
        return;
    if (latch->most < size && left < size - latch->most)
        checker_report(c, CHECKER_COUNTS, "counted too often", events,
                       "%llu of %llu are left, and at most %llu were counted",
                       (unsigned long long)left, (unsigned long long)size,
                       (unsigned long long)latch->most);
    if (left > (call->least < size ? size - call->least : 0))
        checker_report(c, CHECKER_COUNTS, "count lost", events,
                       "%llu of %llu are left, and %llu were counted",
                       (unsigned long long)left, (unsigned long long)size,
                       (unsigned long long)call->least);
}

/* ---- waiting ---- */

static void wait_begins(checker_call *call)
{
    if (call->key->latch.open_at != 0 && is_surely_armed(&call->key->latch))
        call->opened_at = call->invoke.at;
}

static void see_shut(checker *c, const checker_call *call,
                     const history_event *event, uint64_t at)
{
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};
    uint64_t calm = checker_calm_at(c, call->process, call->key);
    const bool is_try = event != NULL && event->status == LK_EBUSY;

    if (call->opened_at == 0 || calm == UINT64_MAX ||
        !claims(c, CHECKER_LIVENESS, call))
        return;
    if (is_try && call->opened_at > call->invoke.at)
        return; /* it may have looked before */
    if (is_try && calm <= call->invoke.at)
        checker_report(c, CHECKER_LIVENESS, "open, and refused", events,
                       "it was open when the try began");
    else if (!is_try &&
             at > later(call->opened_at, calm) + c->options.granted_ns)
        checker_report(c, CHECKER_LIVENESS, "open, and not passed", events,
                       "open for %.6f s", checker_seconds(at, call->opened_at));
}

static void
see_early(checker *c, const checker_call *call, const history_event *event)
{
    const checker_latch *latch = &call->key->latch;
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};

    if (latch->maybe_open_at >= call->invoke.at || may_be_open(latch) ||
        !claims(c, CHECKER_COUNTS, call))
        return;
    checker_report(c, CHECKER_COUNTS, "passed before it was open", events,
                   "%llu of %llu had been counted, at most",
                   (unsigned long long)latch->most,
                   (unsigned long long)latch->size);
}

static void
see_gone(checker *c, const checker_call *call, const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};

    if (call->key->latch.gone_at < call->invoke.at &&
        call->key->latch.deleting == 0 && claims(c, CHECKER_COUNTS, call))
        checker_report(c, CHECKER_COUNTS, "gone, and nobody deleted it", events,
                       "operation %llu",
                       (unsigned long long)call->invoke.operation);
}

static void
wait_ends(checker *c, const checker_call *call, const history_event *event)
{
    if (event->phase == HISTORY_OK)
        see_early(c, call, event);
    else if (event->status == LK_EGONE)
        see_gone(c, call, event);
    if (event->phase == HISTORY_OK || event->status == LK_ETIMEDOUT ||
        event->status == LK_EBUSY)
        see_shut(c, call, event, event->at);
}

/* ---- all of them ---- */

/* A call that is not in the key's list yet. */
void checker_latch_begins(checker *c, checker_call *call)
{
    checker_latch *latch = &call->key->latch;

    settle(call->key, call->invoke.at);
    if (is_change(call))
        change_begins(call);
    call->generation = latch->generation;
    call->least = latch->least;
    if (call->invoke.call == HISTORY_COUNT)
        latch->most += call->invoke.count;
    else if (call->invoke.call == HISTORY_ARRIVE)
        arrive_begins(c, call);
    else if (call->invoke.call == HISTORY_ACQUIRE)
        wait_begins(call);
    settle(call->key, call->invoke.at);
}

/* A call that is not in the key's list any more. */
void checker_latch_ends(checker *c, checker_call *call,
                        const history_event *event)
{
    settle(call->key, event->at);
    if (is_change(call))
        change_ends(c, call, event);
    else if (call->invoke.call == HISTORY_COUNT)
        count_ends(c, call, event);
    else if (call->invoke.call == HISTORY_ARRIVE)
        arrive_ends(c, call, event);
    else if (call->invoke.call == HISTORY_ASK)
        asked(c, call, event);
    else if (call->invoke.call == HISTORY_ACQUIRE)
        wait_ends(c, call, event);
    settle(call->key, event->at);
}

void checker_latch_left(checker *c, const checker_call *call, uint64_t at)
{
    if (call->invoke.call == HISTORY_ACQUIRE)
        see_shut(c, call, NULL, at);
}
