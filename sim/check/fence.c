/* SPDX-License-Identifier: MIT */

/* Fences, and what they are for. */

#include "check/state.h"

/* So far ahead of the server's clock, in microseconds, a fence may be: so much
   less the next one is where the server has forgotten it meanwhile. */
enum { AHEAD = 100000 };

static bool has_fence(const history_event *granted)
{
    switch ((history_kind)granted->kind) {
    case HISTORY_LOCK:
    case HISTORY_FAIRLOCK:
    case HISTORY_SEMAPHORE:
    case HISTORY_LEADER:
    case HISTORY_FLIGHT:
        return true;
    case HISTORY_RWLOCK:
        return granted->mode == HISTORY_WRITER;
    case HISTORY_NO_KIND:
    case HISTORY_PLAIN:
    case HISTORY_LATCH:
    case HISTORY_REDLOCK:
    case HISTORY_SIGLOCK:
    case HISTORY_STRIPES:
    case HISTORY_MULTILOCK:
    case HISTORY_KINDS:
    default:
        return false;
    }
}

/* What the same owner holds in the same way, so that this is a re-entry. */
static const checker_hold *entered(const checker_hold *hold)
{
    if (hold->mode == HISTORY_PERMITS)
        return NULL;
    for (const checker_hold *other = hold->key->holds; other != NULL;
         other = other->next) {
        if (other->granted.owner == hold->granted.owner && !other->told &&
            !other->dead && other->mode == hold->mode &&
            other->granted.kind == hold->granted.kind)
            return other;
    }
    return NULL;
}

static void report(checker *c, const char *name, const checker_hold *hold,
                   const history_event *before)
{
    const history_event *events[CHECKER_EVENTS] = {before, &hold->granted};

    checker_report(c, CHECKER_FENCES, name, events, "fence %llu after %llu",
                   (unsigned long long)hold->granted.fence,
                   (unsigned long long)before->fence);
}

/* A re-entry has the same fence. If the first hold may have ended meanwhile, it
   may as well be another hold. */
static bool is_reentry(checker *c, const checker_hold *hold)
{
    const checker_hold *first = entered(hold);

    if (first == NULL)
        return false;
    if (first->granted.fence == hold->granted.fence)
        return true;
    if (!checker_believes(first, hold->granted.at))
        return false;
    report(c, "another fence on re-entry", hold, &first->granted);
    return true;
}

static void
see_grown(checker *c, const checker_call *call, const checker_hold *hold)
{
    const checker_key *key = hold->key;
    const uint64_t fence = hold->granted.fence;
    const bool known = checker_claims(c, CHECKER_EXCLUSION, hold->process, key,
                                      call->invoke.at);
    const bool alone = hold->mode != HISTORY_PERMITS && !hold->forced &&
                       checker_believes(hold, hold->granted.at) && known;

    if (fence == key->fence)
        report(c, "fence given twice", hold, &key->fence_of);
    else if (fence + (known ? 0 : AHEAD) <= call->fence_floor)
        report(c, "fence went back", hold, &key->fence_of);
    else if (alone && fence < key->fence)
        report(c, "fence below that of an earlier hold", hold, &key->fence_of);
}

/* Whether its client may have been given the name before, and pass it on. */
static bool may_be_passed(const checker_call *call)
{
    for (const checker_call *other = call->key->calls; other != NULL;
         other = other->next)
        if (other != call && other->process == call->process &&
            other->invoke.call == HISTORY_ACQUIRE)
            return true;
    for (const checker_hold *hold = call->key->holds; hold != NULL;
         hold = hold->next)
        if (hold->process == call->process)
            return true;
    return false;
}

/* A server that forgets gives a name to others while a client may pass on,
   among its own, what it was given before; and so does one that was told to end
   a hold, until that client has heard of it. */
uint64_t checker_fence_floor(const checker *c, const checker_call *call)
{
    if (call->invoke.call == HISTORY_WRITE || call->invoke.call == HISTORY_ASK)
        return call->key->written;
    if ((checker_may_be_forced(call) ||
         !checker_claims(c, CHECKER_EXCLUSION, call->process, call->key,
                         call->invoke.at)) &&
        may_be_passed(call))
        return 0;
    return call->key->fence;
}

void checker_fence(checker *c, const checker_call *call,
                   const checker_hold *hold)
{
    checker_key *key = hold->key;
    const history_event *events[CHECKER_EVENTS] = {&hold->granted};
    const bool claimed =
        checker_claims(c, CHECKER_FENCES, hold->process, key, call->invoke.at);

    if (!has_fence(&hold->granted))
        return;
    if (claimed && hold->granted.fence == 0) {
        checker_report(c, CHECKER_FENCES, "no fence", events, "hold %llu",
                       (unsigned long long)hold->granted.hold);
        return;
    }
    if (claimed && !is_reentry(c, hold))
        see_grown(c, call, hold);
    if (hold->granted.fence > key->fence) {
        key->fence = hold->granted.fence;
        key->fence_of = hold->granted;
    }
}

static void
written(checker_key *key, const history_event *event, uint64_t fence)
{
    if (fence <= key->written)
        return;
    key->written = fence;
    key->written_of = *event;
    key->written_of.fence = fence;
}

/* Whoever asks does not get what is older than somebody has had before, nor what
   nobody computed. */
void checker_landed(checker *c, const checker_call *call,
                    const history_event *event)
{
    checker_key *key = call->key;
    const history_event *events[CHECKER_EVENTS] = {&key->written_of, event};

    if (checker_claims(c, CHECKER_FENCES, call->process, key,
                       call->invoke.at)) {
        if (event->fence < call->fence_floor)
            checker_report(c, CHECKER_FENCES, "an older value", events,
                           "that of run %llu after that of run %llu",
                           (unsigned long long)event->fence,
                           (unsigned long long)call->fence_floor);
        if (event->fence == 0 || event->fence > key->fence)
            checker_report(c, CHECKER_FENCES, "a value of no run", events,
                           "run %llu, the last one is %llu",
                           (unsigned long long)event->fence,
                           (unsigned long long)key->fence);
    }
    written(key, event, event->fence);
}

void checker_written(checker *c, const checker_call *call,
                     const history_event *event)
{
    checker_key *key = call->key;
    const history_event *events[CHECKER_EVENTS] = {&key->written_of, event};
    const uint64_t fence = call->invoke.fence;

    if (fence < call->fence_floor &&
        checker_claims(c, CHECKER_FENCES, call->process, key, call->invoke.at))
        checker_report(c, CHECKER_FENCES, "late write accepted", events,
                       "fence %llu after %llu", (unsigned long long)fence,
                       (unsigned long long)call->fence_floor);
    written(key, event, fence);
}
