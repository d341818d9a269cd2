/* SPDX-License-Identifier: MIT */

/* For how long somebody may hold. */

#include "check/state.h"

enum { MS = 1000000 };

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Whoever entered again has several handles of one hold. */
static bool is_owner(uint64_t owner, const checker_hold *hold)
{
    return owner == hold->granted.owner && hold->mode != HISTORY_PERMITS;
}

/* Each of them lasts longer. */
static bool extends(const checker_call *call, const checker_hold *hold)
{
    return call->invoke.hold == hold->granted.hold ||
           is_owner(call->invoke.owner, hold);
}

/* What is asked for may be there already: the longest lease that is; or 0. */
static uint64_t asked_ns(const checker_hold *hold)
{
    uint64_t longest = 0;

    for (const checker_call *call = hold->key->calls; call != NULL;
         call = call->next)
        if (call->invoke.call == HISTORY_EXTEND && extends(call, hold))
            longest = later(longest, call->lease_ns);
    return longest;
}

uint64_t checker_longest_ns(const checker_hold *hold)
{
    return later(hold->lease_ns, asked_ns(hold));
}

uint64_t checker_limit_at(const checker_hold *hold, uint64_t at)
{
    const uint64_t asked = asked_ns(hold);

    return asked != 0 ? later(hold->limit, at + asked) : hold->limit;
}

void checker_lease_set(checker_hold *hold)
{
    const history_event *granted = &hold->granted;

    hold->lease_ns = granted->lease_ms * MS;
    hold->limit = UINT64_MAX;
    if ((granted->flags & HISTORY_RENEWED) == 0 && granted->lease_ms != 0)
        hold->limit = granted->at + hold->lease_ns;
    if (hold->lease_ns != 0)
        return;
    for (const checker_hold *other = hold->key->holds; other != NULL;
         other = other->next)
        if (is_owner(granted->owner, other))
            hold->lease_ns = later(hold->lease_ns, other->lease_ns);
}

static void lengthen(checker_hold *hold, uint64_t at, uint64_t ns)
{
    if (hold->limit != UINT64_MAX)
        hold->limit = later(hold->limit, at + ns);
    if (hold->lease_ns != 0)
        hold->lease_ns = later(hold->lease_ns, ns);
}

void checker_extended(checker *c, const checker_call *call,
                      const history_event *event)
{
    checker_hold *hold = checker_map_find(&c->holds, call->invoke.hold);

    for (checker_hold *other = call->key->holds; other != NULL;
         other = other->next)
        if (extends(call, other))
            lengthen(other, event->at, call->lease_ns);
    if (event->phase == HISTORY_OK && hold != NULL && !hold->told &&
        event->deadline != 0)
        checker_proved(c, hold, event);
}

void checker_lease(checker *c, const checker_hold *hold,
                   const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&hold->granted, event};
    uint64_t most = hold->limit != UINT64_MAX
                        ? checker_limit_at(hold, event->at)
                        : event->at + checker_longest_ns(hold);
    uint64_t shown = later(event->at, event->deadline);

    if (event == &hold->granted)
        events[1] = NULL;
    if (hold->lease_ns != 0 && shown > most + MS &&
        checker_claims(c, CHECKER_LEASES, hold->process, hold->key,
                       hold->asked_at))
        checker_report(c, CHECKER_LEASES, "lease too long", events,
                       "hold %llu is believed for %.6f s longer than its lease "
                       "of %llu ms",
                       (unsigned long long)hold->granted.hold,
                       checker_seconds(shown, most),
                       (unsigned long long)(checker_longest_ns(hold) / MS));
}
