/* SPDX-License-Identifier: MIT */

/* Those who wait: in time, in order, and not in vain. */

#include <latchkey/status.h>

#include "check/state.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- time limits ---- */

static void see_late(checker *c, const checker_call *call,
                     const history_event *event, uint64_t at)
{
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};
    uint64_t steady = checker_steady_at(c, call->process);
    uint64_t due = later(call->invoke.deadline + call->halted_ns, steady);

    if (call->invoke.deadline == 0 || steady == UINT64_MAX ||
        at <= due + c->options.late_ns ||
        (c->options.rules & CHECKER_DEADLINES) == 0)
        return;
    checker_report(c, CHECKER_DEADLINES,
                   event != NULL ? "returned late" : "never returned", events,
                   "%.6f s after its deadline", checker_seconds(at, due));
}

void checker_late(checker *c, const checker_call *call,
                  const history_event *event)
{
    see_late(c, call, event, event->at);
}

/* ---- what is free is had ---- */

static bool is_releasing(const checker_key *key)
{
    for (const checker_call *call = key->calls; call != NULL; call = call->next)
        if (call->invoke.call == HISTORY_RELEASE ||
            call->invoke.call == HISTORY_FORCE)
            return true;
    return false;
}

/* Since when nobody can have held it; UINT64_MAX: somebody may. */
static uint64_t free_since(const checker_key *key, uint64_t at)
{
    for (const checker_hold *hold = key->holds; hold != NULL; hold = hold->next)
        if (!hold->dead || checker_believes(hold, at))
            return UINT64_MAX;
    if (key->maybe_to > at || is_releasing(key))
        return UINT64_MAX;
    return later(key->maybe_to, key->freed_at);
}

/* Its lease may be over before it hears of it, each time. */
static bool is_too_short(const checker *c, const checker_call *call)
{
    return call->lease_ns != 0 && call->lease_ns < c->options.answer_ns;
}

static bool
has_starved(checker *c, const checker_call *call, uint64_t since, uint64_t at)
{
    uint64_t calm = checker_calm_at(c, call->process, call->key);

    if (call->invoke.call != HISTORY_ACQUIRE || calm == UINT64_MAX ||
        call->invoke.kind == HISTORY_LATCH ||
        call->invoke.kind == HISTORY_PLAIN || is_too_short(c, call))
        return false;
    since = later(later(since, calm), call->invoke.at);
    return at > since + c->options.granted_ns;
}

static void see_starved(checker *c, const checker_key *key,
                        const history_event *event, uint64_t at)
{
    uint64_t since = free_since(key, at);

    if (since == UINT64_MAX || (c->options.rules & CHECKER_LIVENESS) == 0)
        return;
    for (const checker_call *call = key->calls; call != NULL;
         call = call->next) {
        const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};

        if (has_starved(c, call, since, at)) {
            checker_report(c, CHECKER_LIVENESS, "free, and not granted", events,
                           "operation %llu waited, and for %.6f s nobody had "
                           "it",
                           (unsigned long long)call->invoke.operation,
                           checker_seconds(at, later(since, call->invoke.at)));
            return;
        }
    }
}

static bool waits_another(const checker_call *call)
{
    for (const checker_call *other = call->key->calls; other != NULL;
         other = other->next)
        if (other != call && other->invoke.call == HISTORY_ACQUIRE)
            return true;
    return false;
}

/* A try of what was free for long, and wanted by nobody else. */
static void
see_refused(checker *c, const checker_call *call, const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&call->invoke, event};
    uint64_t since = free_since(call->key, call->invoke.at);
    uint64_t calm = checker_calm_at(c, call->process, call->key);

    if (event->status != LK_EBUSY || since == UINT64_MAX ||
        calm == UINT64_MAX || waits_another(call) ||
        (c->options.rules & CHECKER_LIVENESS) == 0 ||
        call->invoke.at <= later(since, calm) + c->options.granted_ns)
        return;
    checker_report(c, CHECKER_LIVENESS, "refused, and nobody had it", events,
                   "nobody has had it for %.6f s",
                   checker_seconds(call->invoke.at, since));
}

void checker_starved(checker *c, const checker_call *call,
                     const history_event *event)
{
    if (call->invoke.kind == HISTORY_LATCH ||
        call->invoke.kind == HISTORY_PLAIN)
        return;
    see_starved(c, call->key, event, event->at);
    if (event->phase == HISTORY_FAIL)
        see_refused(c, call, event);
}

/* ---- order ---- */

static bool keeps_order(const checker_call *call)
{
    return call->invoke.kind == HISTORY_FAIRLOCK ||
           call->invoke.kind == HISTORY_SEMAPHORE;
}

/* Whether what happened to a wait lets others pass it. */
static bool was_heard(const checker *c, const checker_call *call)
{
    return !checker_may_be_forced(call) &&
           checker_calm_at(c, call->process, call->key) <= call->invoke.at &&
           checker_claims(c, CHECKER_ORDER, call->process, call->key,
                          call->invoke.at);
}

/* Several are served by one step, and may hear of it in any order. */
static uint64_t slack(const checker *c, const checker_call *call)
{
    return call->invoke.kind == HISTORY_SEMAPHORE ? c->options.granted_ns : 0;
}

/* Its turn came in time; the lease was over before the answer was there, and it
   stood in the queue again. */
static bool may_have_had_its_turn(const checker *c, const checker_call *call)
{
    return is_too_short(c, call) &&
           call->overtaker.at >= call->invoke.at + call->lease_ns;
}

static void
see_overtaken(checker *c, const checker_call *call, const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {&call->invoke,
                                                   &call->overtaker, event};
    const uint64_t passed = call->overtaker.at + slack(c, call);
    const uint64_t until =
        event->phase == HISTORY_OK ? event->at : call->invoke.deadline;

    if (call->overtaker.call == HISTORY_NO_CALL || !was_heard(c, call) ||
        passed >= until || may_have_had_its_turn(c, call) ||
        (event->phase != HISTORY_OK && event->status != LK_ETIMEDOUT))
        return;
    checker_report(c, CHECKER_ORDER, "overtaken", events,
                   "operation %llu was queued %.6f s before the other began",
                   (unsigned long long)call->invoke.operation,
                   checker_seconds(call->overtaker_began, call->queued_at));
}

static bool enters_again(const checker_call *call)
{
    for (const checker_hold *hold = call->key->holds; hold != NULL;
         hold = hold->next)
        if (hold->granted.owner == call->invoke.owner)
            return true;
    return false;
}

/* The end of an acquire: whom it has passed, and who has passed it. */
void checker_overtaken(checker *c, checker_call *call,
                       const history_event *event)
{
    if (!keeps_order(call))
        return;
    see_overtaken(c, call, event);
    if (event->phase != HISTORY_OK || enters_again(call))
        return;
    for (checker_call *other = call->key->calls; other != NULL;
         other = other->next) {
        if (other == call || other->queued_at == 0 ||
            other->queued_at >= call->invoke.at || !was_heard(c, other) ||
            other->overtaker.call != HISTORY_NO_CALL)
            continue;
        other->overtaker = *event;
        other->overtaker_began = call->invoke.at;
    }
}

/* ---- the end of the history ---- */

void checker_call_left(checker *c, const checker_call *call, uint64_t at)
{
    see_late(c, call, NULL, at);
    if (call->invoke.kind == HISTORY_LATCH)
        checker_latch_left(c, call, at);
    else if (call->invoke.call == HISTORY_ACQUIRE)
        see_starved(c, call->key, NULL, at);
}
