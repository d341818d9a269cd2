/* SPDX-License-Identifier: MIT */

/* Who holds what, for how long, and who may not hold it then. */

#include <stdlib.h>

#include "check/state.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool checker_believes(const checker_hold *hold, uint64_t at)
{
    return hold->believed_to > at;
}

/* ---- exclusion ---- */

static bool shares(const checker_hold *hold)
{
    return hold->mode == HISTORY_READ || hold->mode == HISTORY_UPGRADEABLE;
}

bool checker_excludes(const checker_hold *one, const checker_hold *other)
{
    if (one == other || one->granted.owner == other->granted.owner ||
        one->mode == HISTORY_PERMITS || other->mode == HISTORY_PERMITS)
        return false;
    if (one->mode == HISTORY_UPGRADEABLE && other->mode == HISTORY_UPGRADEABLE)
        return true;
    return !shares(one) || !shares(other);
}

static bool
claims(const checker *c, checker_rule rule, const checker_hold *hold)
{
    return checker_claims(c, rule, hold->process, hold->key, hold->asked_at);
}

static void
report_two(checker *c, const checker_hold *one, const checker_hold *other)
{
    const history_event *events[CHECKER_EVENTS] = {&one->granted,
                                                   &other->granted};

    checker_report(c, CHECKER_EXCLUSION, "two owners", events,
                   "hold %llu (fence %llu) is believed for %.6f s more when "
                   "hold %llu (fence %llu) begins",
                   (unsigned long long)one->granted.hold,
                   (unsigned long long)one->granted.fence,
                   checker_seconds(one->believed_to, other->granted.at),
                   (unsigned long long)other->granted.hold,
                   (unsigned long long)other->granted.fence);
}

/* Those who are there when another one comes; or who have come until it is known
   that it was believed. */
static void meet(checker *c, const checker_hold *newcomer)
{
    if (!checker_believes(newcomer, newcomer->granted.at) || newcomer->forced)
        return;
    for (checker_hold *hold = newcomer->key->holds; hold != NULL;
         hold = hold->next) {
        const uint64_t at = later(newcomer->granted.at, hold->granted.at);

        if (hold->forced || !checker_excludes(hold, newcomer))
            continue;
        if (!checker_believes(hold, at)) {
            if (hold->rival.call == HISTORY_NO_CALL)
                hold->rival = newcomer->granted;
        } else if (claims(c, CHECKER_EXCLUSION, hold) &&
                   claims(c, CHECKER_EXCLUSION, newcomer)) {
            report_two(c, hold, newcomer);
        }
    }
}

/* It was believed further than was known, and somebody came meanwhile. */
static void
meet_rival(checker *c, checker_hold *hold, const history_event *event)
{
    const history_event rival = hold->rival;
    const history_event *events[CHECKER_EVENTS] = {&hold->granted, &rival,
                                                   event};

    hold->rival = (history_event){0};
    if (rival.call == HISTORY_NO_CALL || rival.at >= hold->believed_to ||
        hold->forced || !claims(c, CHECKER_EXCLUSION, hold) ||
        !checker_claims(c, CHECKER_EXCLUSION, NULL, hold->key, rival.at))
        return;
    checker_report(c, CHECKER_EXCLUSION,
                   hold->mode == HISTORY_PERMITS
                       ? "too many permits, seen later"
                       : "two owners, seen later",
                   events, "hold %llu was still believed when hold %llu came",
                   (unsigned long long)hold->granted.hold,
                   (unsigned long long)rival.hold);
}

/* How long it has been believed beside others, as far as is known now. */
static void measure_together(checker *c, const checker_hold *hold)
{
    for (const checker_hold *other = hold->key->holds; other != NULL;
         other = other->next) {
        uint64_t from = later(hold->granted.at, other->granted.at);
        uint64_t to = sooner(hold->believed_to, other->believed_to);

        if (to > from && checker_excludes(hold, other) && !hold->forced &&
            !other->forced && claims(c, CHECKER_EXCLUSION, hold) &&
            claims(c, CHECKER_EXCLUSION, other))
            c->together_ns = later(c->together_ns, to - from);
    }
}

uint64_t checker_together_ns(const checker *c)
{
    return c->together_ns;
}

/* ---- loss ---- */

/* Two exclude each other, and both have been renewed since: whatever happened,
   one of them has lost it and was not told. */
static void
meet_silent(checker *c, const checker_hold *hold, const history_event *event)
{
    for (const checker_hold *other = hold->key->holds; other != NULL;
         other = other->next) {
        uint64_t from = later(hold->granted.at, other->granted.at);
        uint64_t to = sooner(hold->proved_at, other->proved_at);
        uint64_t longest =
            later(checker_longest_ns(hold), checker_longest_ns(other));
        /* An import has the lease of another, which is not known here. */
        bool is_known =
            checker_longest_ns(hold) != 0 && checker_longest_ns(other) != 0;
        const history_event *events[CHECKER_EVENTS] = {&hold->granted,
                                                       &other->granted, event};

        if (is_known && checker_excludes(hold, other) && !other->told &&
            !other->dead && to > from + longest + c->options.told_ns &&
            claims(c, CHECKER_LOSS, hold) && claims(c, CHECKER_LOSS, other))
            checker_report(c, CHECKER_LOSS, "silent loss", events,
                           "holds %llu and %llu have both been renewed for "
                           "%.6f s",
                           (unsigned long long)hold->granted.hold,
                           (unsigned long long)other->granted.hold,
                           checker_seconds(to, from));
    }
}

static void
see_forced(checker *c, const checker_hold *hold, const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&hold->granted, event};

    if (hold->forced_at != 0 && !hold->told && hold->lease_ns != 0 &&
        event->at >
            hold->forced_at + checker_longest_ns(hold) + c->options.told_ns &&
        claims(c, CHECKER_LOSS, hold))
        checker_report(c, CHECKER_LOSS, "ended by force, and not told", events,
                       "hold %llu was ended %.6f s before",
                       (unsigned long long)hold->granted.hold,
                       checker_seconds(event->at, hold->forced_at));
}

/* One with a lease of its own has ended, and its holder was not told. */
static void see_told(checker *c, const checker_hold *hold, uint64_t at)
{
    const history_event *events[CHECKER_EVENTS] = {&hold->granted};
    uint64_t steady = checker_steady_at(c, hold->process);
    uint64_t limit = checker_limit_at(hold, at);
    uint64_t due = later(limit, steady);

    if (hold->told || hold->dead || hold->limit == UINT64_MAX ||
        steady == UINT64_MAX || (hold->granted.flags & HISTORY_WATCHED) == 0 ||
        at <= due + c->options.told_ns || !claims(c, CHECKER_LOSS, hold))
        return;
    checker_report(c, CHECKER_LOSS, "loss not told", events,
                   "the lease of hold %llu had ended for %.6f s",
                   (unsigned long long)hold->granted.hold,
                   checker_seconds(at, limit));
}

void checker_told(checker *c, checker_hold *hold, const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&hold->granted, event};
    uint64_t steady = checker_steady_at(c, hold->process);
    uint64_t due = event->deadline != 0 ? event->deadline : event->at;

    if (hold->told && claims(c, CHECKER_LOSS, hold))
        checker_report(c, CHECKER_LOSS, "loss told twice", events, "hold %llu",
                       (unsigned long long)hold->granted.hold);
    due = sooner(due, checker_limit_at(hold, event->at));
    if (steady != UINT64_MAX &&
        event->at > later(due, steady) + c->options.told_ns &&
        claims(c, CHECKER_LOSS, hold))
        checker_report(c, CHECKER_LOSS, "loss told late", events,
                       "hold %llu was lost %.6f s before",
                       (unsigned long long)hold->granted.hold,
                       checker_seconds(event->at, due));
    hold->told = true;
    hold->believed_to = sooner(hold->believed_to, event->at);
}

/* ---- its life ---- */

static checker_hold *take(checker *c)
{
    checker_hold *hold = c->spare_holds;

    if (hold != NULL)
        c->spare_holds = hold->next;
    else
        hold = malloc(sizeof(*hold));
    if (hold == NULL) {
        c->failed = true;
        return NULL;
    }
    *hold = (checker_hold){0};
    return hold;
}

void checker_bequeath(const checker_hold *hold)
{
    for (checker_call *call = hold->key->calls; call != NULL; call = call->next)
        if (call->process == hold->process &&
            call->invoke.call == HISTORY_ACQUIRE) {
            call->is_heir = true;
            call->fence_floor = 0;
        }
}

/* What it got, or will get, may have been ended on its way. */
bool checker_may_be_forced(const checker_call *call)
{
    if (call->is_heir)
        return true;
    for (const checker_call *other = call->key->calls; other != NULL;
         other = other->next)
        if (other->invoke.call == HISTORY_FORCE)
            return true;
    return call->invoke.at < call->key->forced_to;
}

/* Whether it may be another handle of that hold: its owner enters again, or readers
   of one client share what has not been told of its end. */
static bool may_be_one(const checker_hold *hold, const checker_call *call,
                       const history_event *event)
{
    return hold->granted.fence == event->fence &&
           (hold->granted.owner == event->owner ||
            (hold->process == call->process && !hold->told &&
             hold->mode == HISTORY_READ && event->mode == HISTORY_READ));
}

static bool may_be_forced(const checker_call *call, const history_event *event)
{
    for (const checker_hold *hold = call->key->holds; hold != NULL;
         hold = hold->next)
        if (hold->forced && may_be_one(hold, call, event))
            return true;
    return checker_may_be_forced(call);
}

static void
fill(checker_hold *hold, const checker_call *call, const history_event *event)
{
    hold->key = call->key;
    hold->process = call->process;
    hold->granted = *event;
    hold->asked_at = call->invoke.at;
    hold->believed_to = later(event->at, event->deadline);
    hold->proved_at = event->at;
    hold->mode = (history_mode)event->mode;
    hold->forced = may_be_forced(call, event);
    hold->permits = checker_permits(call);
    checker_lease_set(hold);
}

static void link_in(checker_hold *hold)
{
    checker_key *key = hold->key;

    hold->next = key->holds;
    if (key->holds != NULL)
        key->holds->prev = hold;
    key->holds = hold;
}

/* It is known now that it was believed when it was granted, if that is so. */
static void come(checker *c, const checker_hold *hold)
{
    meet(c, hold);
    checker_permits_granted(c, hold);
}

/* Drops the holds of the dead that nobody believes in any more. */
static void bury(checker *c, const checker_key *key, uint64_t at)
{
    checker_hold *next;

    for (checker_hold *hold = key->holds; hold != NULL; hold = next) {
        next = hold->next;
        if (hold->dead && !checker_believes(hold, at))
            checker_hold_drop(c, hold);
    }
}

void checker_granted(checker *c, checker_call *call, const history_event *event)
{
    checker_hold *hold;

    bury(c, call->key, event->at);
    if (checker_map_find(&c->holds, event->hold) != NULL || event->hold == 0) {
        const history_event *events[CHECKER_EVENTS] = {event};

        checker_report(c, CHECKER_FORM, "hold twice", events, "hold %llu",
                       (unsigned long long)event->hold);
        return;
    }
    hold = take(c);
    if (hold == NULL)
        return;
    fill(hold, call, event);
    if (!checker_map_put(&c->holds, event->hold, hold))
        c->failed = true;
    checker_fence(c, call, hold);
    checker_lease(c, hold, &hold->granted);
    link_in(hold);
    come(c, hold);
}

void checker_proved(checker *c, checker_hold *hold, const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&hold->granted, event};
    uint64_t to = later(event->at, event->deadline);

    if (hold->told && claims(c, CHECKER_LOSS, hold)) {
        checker_report(c, CHECKER_LOSS, "back from its loss", events,
                       "hold %llu was lost, and a check said OK",
                       (unsigned long long)hold->granted.hold);
        return;
    }
    checker_lease(c, hold, event);
    hold->proved_at = event->at;
    if (hold->forced) {
        see_forced(c, hold, event);
    } else if (to > hold->believed_to) {
        const bool is_first = !checker_believes(hold, hold->granted.at);

        hold->believed_to = to;
        if (is_first)
            come(c, hold);
        if (is_first && checker_map_find(&c->holds, hold->rival.hold) != NULL)
            hold->rival = (history_event){0}; /* they have met now */
        meet_rival(c, hold, event);
        measure_together(c, hold);
    }
    meet_silent(c, hold, event);
}

void checker_downgrade(checker *c, checker_hold *hold,
                       const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&hold->granted, event};

    if (event->phase == HISTORY_INVOKE && hold->mode != HISTORY_WRITER)
        checker_report(c, CHECKER_FORM, "not a write hold", events, "hold %llu",
                       (unsigned long long)hold->granted.hold);
    hold->mode = event->phase == HISTORY_FAIL ? HISTORY_WRITER : HISTORY_READ;
}

void checker_forced(const checker_call *call, const history_event *event)
{
    const uint64_t begun_at = call->invoke.at;
    const bool done = event->phase == HISTORY_OK;

    if (done)
        call->key->forced_to = later(event->at, event->deadline);
    for (checker_hold *hold = call->key->holds; hold != NULL;
         hold = hold->next) {
        if (call->invoke.hold != 0 && call->invoke.hold != hold->granted.hold)
            continue;
        hold->forced = true;
        hold->believed_to = sooner(hold->believed_to, begun_at);
        if (done && hold->granted.at < begun_at)
            hold->forced_at = event->at;
    }
}

void checker_release_begins(checker *c, checker_call *call, checker_hold *hold)
{
    see_told(c, hold, call->invoke.at);
    hold->believed_to = sooner(hold->believed_to, call->invoke.at);
    call->lease_ns = checker_longest_ns(hold);
    call->released = hold->granted;
    if (!hold->forced)
        call->rival = hold->rival;
}

/* What could be released was believed until then. */
void checker_released(checker *c, const checker_call *call,
                      const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&call->released,
                                                   &call->rival, event};

    if (call->rival.call == HISTORY_NO_CALL ||
        !checker_claims(c, CHECKER_EXCLUSION, call->process, call->key,
                        call->released.at) ||
        !checker_claims(c, CHECKER_EXCLUSION, NULL, call->key, call->rival.at))
        return;
    checker_report(c, CHECKER_EXCLUSION, "released beside another", events,
                   "hold %llu could be released, and hold %llu had come",
                   (unsigned long long)call->released.hold,
                   (unsigned long long)call->rival.hold);
}

void checker_hold_left(checker *c, const checker_hold *hold, uint64_t at)
{
    see_told(c, hold, at);
}

void checker_hold_drop(checker *c, checker_hold *hold)
{
    checker_key *key = hold->key;

    if (hold->prev != NULL)
        hold->prev->next = hold->next;
    else
        key->holds = hold->next;
    if (hold->next != NULL)
        hold->next->prev = hold->prev;
    checker_map_remove(&c->holds, hold->granted.hold);
    hold->next = c->spare_holds;
    c->spare_holds = hold;
}
