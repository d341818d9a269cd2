/* SPDX-License-Identifier: MIT */

/* Permits: never more than there are, and all of them come back. */

#include "check/state.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t checker_permits(const checker_call *call)
{
    return later(call->most, call->key->permits);
}

/* ---- leased ones ---- */

static uint64_t believed(const checker_key *key, uint64_t since, uint64_t at)
{
    uint64_t sum = 0;

    for (const checker_hold *hold = key->holds; hold != NULL; hold = hold->next)
        if (hold->granted.at <= since && !hold->forced &&
            checker_believes(hold, at))
            sum += hold->granted.count;
    return sum;
}

static void
report(checker *c, const history_event *event, uint64_t sum, uint64_t most)
{
    const history_event *events[CHECKER_EVENTS] = {event};

    checker_report(c, CHECKER_EXCLUSION, "too many permits", events,
                   "%llu of %llu are held", (unsigned long long)sum,
                   (unsigned long long)most);
}

/* Those that are believed for longer than was known will not have been able to
   be there as well. */
static void
warn(checker_key *key, const history_event *event, uint64_t sum, uint64_t most)
{
    for (checker_hold *hold = key->holds; hold != NULL; hold = hold->next)
        if (!checker_believes(hold, event->at) && !hold->forced &&
            hold->rival.call == HISTORY_NO_CALL &&
            sum + hold->granted.count > most)
            hold->rival = *event;
}

void checker_permits_granted(checker *c, const checker_hold *hold)
{
    const history_event *event = &hold->granted;
    uint64_t sum;

    if (hold->mode != HISTORY_PERMITS || hold->forced ||
        !checker_believes(hold, event->at))
        return;
    sum = believed(hold->key, event->at, event->at);
    if (sum > hold->permits &&
        checker_claims(c, CHECKER_EXCLUSION, hold->process, hold->key,
                       hold->asked_at))
        report(c, event, sum, hold->permits);
    warn(hold->key, event, sum, hold->permits);
}

/* ---- how many there are ---- */

static void resize_begins(checker_call *call)
{
    for (checker_call *other = call->key->calls; other != NULL;
         other = other->next)
        other->most = later(other->most, call->invoke.count);
}

static void resize_ends(const checker_call *call, const history_event *event)
{
    checker_key *key = call->key;

    if (event->phase == HISTORY_OK) {
        key->permits = call->invoke.count;
        key->permits_vague = false;
    } else if (event->phase == HISTORY_UNKNOWN) {
        key->permits = later(key->permits, call->invoke.count);
        key->permits_vague = true;
    }
}

/* Whether somebody may have had permits when the call began. */
static bool is_muddied(const checker_call *call)
{
    const checker_key *key = call->key;

    for (const checker_call *other = key->calls; other != NULL;
         other = other->next)
        if (other->invoke.call != HISTORY_ASK)
            return true;
    return key->permits_vague || key->holds != NULL ||
           key->maybe_to > call->invoke.at;
}

static void muddy(checker_key *key)
{
    for (checker_call *call = key->calls; call != NULL; call = call->next)
        call->muddied = true;
}

/* A call that is not in the key's list yet. */
void checker_permits_begin(checker *c, checker_call *call)
{
    checker_key *key = call->key;

    (void)c;
    call->most = key->permits;
    for (const checker_call *other = key->calls; other != NULL;
         other = other->next)
        if (other->invoke.call == HISTORY_RESIZE)
            call->most = later(call->most, other->invoke.count);
    if (call->invoke.call == HISTORY_RESIZE)
        resize_begins(call);
    if (call->invoke.call == HISTORY_ASK)
        call->muddied = is_muddied(call);
    else
        muddy(key);
    if (call->invoke.call == HISTORY_GIVE)
        key->given += call->invoke.count;
}

static void
asked(checker *c, const checker_call *call, const history_event *event)
{
    const checker_key *key = call->key;
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};
    const int64_t there = (int64_t)checker_permits(call);
    int64_t held = (int64_t)(key->taken - key->given);
    int64_t free_ones = (int64_t)event->count;

    if (!checker_claims(c, CHECKER_COUNTS, call->process, key, call->invoke.at))
        return;
    if (call->invoke.kind == HISTORY_SEMAPHORE) {
        held = (int64_t)believed(key, call->invoke.at, event->at);
        if (free_ones > there - held)
            checker_report(c, CHECKER_COUNTS, "free, and held", events,
                           "%lld of %lld are said to be free, %lld are held",
                           (long long)free_ones, (long long)there,
                           (long long)held);
    }
    if (!call->muddied && free_ones != there - held)
        checker_report(c, CHECKER_COUNTS, "permits do not add up", events,
                       "%lld of %lld are said to be free, %lld are held",
                       (long long)free_ones, (long long)there, (long long)held);
}

/* ---- plain ones ---- */

static void
plain_taken(checker *c, const checker_call *call, const history_event *event)
{
    checker_key *key = call->key;

    key->taken += call->invoke.count;
    if ((int64_t)(key->taken - key->given) > (int64_t)checker_permits(call) &&
        checker_claims(c, CHECKER_EXCLUSION, call->process, key,
                       call->invoke.at))
        report(c, event, key->taken - key->given, checker_permits(call));
}

void checker_permits_end(checker *c, checker_call *call,
                         const history_event *event)
{
    checker_key *key = call->key;
    const history_call what = (history_call)call->invoke.call;

    if (what == HISTORY_RESIZE)
        resize_ends(call, event);
    else if (what == HISTORY_ASK && event->phase == HISTORY_OK)
        asked(c, call, event);
    else if (what == HISTORY_GIVE && event->phase == HISTORY_FAIL)
        key->given -= call->invoke.count;
    else if (what == HISTORY_ACQUIRE && event->phase == HISTORY_OK)
        plain_taken(c, call, event);
    if (event->phase == HISTORY_UNKNOWN && call->invoke.kind == HISTORY_PLAIN)
        key->permits_vague = true;
}
