/* SPDX-License-Identifier: MIT */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

#include "check/state.h"

enum { MS = 1000000 };

/* ---- memory ---- */

checker *checker_new(const checker_options *options)
{
    checker *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->options = *options;
    if (c->options.rules == 0)
        c->options.rules = CHECKER_ALL;
    return c;
}

static void free_value(void *value, void *data)
{
    (void)data;
    free(value);
}

static void free_key(void *value, void *data)
{
    checker_key *key = value;

    (void)data;
    free(key->latch.members);
    free(key);
}

static void free_all(checker_map *map, void (*each)(void *value, void *data))
{
    checker_map_each(map, each, NULL);
    checker_map_clear(map);
}

void checker_free(checker *c)
{
    if (c == NULL)
        return;
    free_all(&c->keys, free_key);
    free_all(&c->calls, free_value);
    free_all(&c->holds, free_value);
    free_all(&c->processes, free_value);
    while (c->spare_calls != NULL) {
        checker_call *call = c->spare_calls;

        c->spare_calls = call->next;
        free(call);
    }
    while (c->spare_holds != NULL) {
        checker_hold *hold = c->spare_holds;

        c->spare_holds = hold->next;
        free(hold);
    }
    free(c);
}

/* What the map has under an id, or makes for it. NULL: no memory, or id 0. */
static void *have(checker *c, checker_map *map, uint64_t id, size_t size)
{
    void *value = checker_map_find(map, id);

    if (value != NULL || id == 0)
        return value;
    value = calloc(1, size);
    if (value != NULL && checker_map_put(map, id, value))
        return value;
    free(value);
    c->failed = true;
    return NULL;
}

static checker_key *have_key(checker *c, uint64_t id)
{
    const bool known = checker_map_find(&c->keys, id) != NULL;
    checker_key *key = have(c, &c->keys, id, sizeof(*key));

    if (key != NULL && !known)
        key->permits = c->options.permits;
    return key;
}

/* ---- what is no history ---- */

static void malformed(checker *c, const char *name, const history_event *event)
{
    const history_event *events[CHECKER_EVENTS] = {event};

    if ((c->options.rules & CHECKER_FORM) != 0)
        checker_report(c, CHECKER_FORM, name, events, "operation %llu",
                       (unsigned long long)event->operation);
}

static checker_hold *find_hold(checker *c, const history_event *event)
{
    checker_hold *hold = checker_map_find(&c->holds, event->hold);

    if (hold == NULL)
        malformed(c, "no such hold", event);
    return hold;
}

/* ---- a call begins ---- */

static checker_call *take_call(checker *c)
{
    checker_call *call = c->spare_calls;

    if (call != NULL)
        c->spare_calls = call->next;
    else
        call = malloc(sizeof(*call));
    if (call != NULL)
        memset(call, 0, sizeof(*call));
    else
        c->failed = true;
    return call;
}

static void link_call(checker_call *call)
{
    checker_key *key = call->key;

    call->next = key->calls;
    if (key->calls != NULL)
        key->calls->prev = call;
    key->calls = call;
}

static void unlink_call(checker *c, checker_call *call)
{
    if (call->prev != NULL)
        call->prev->next = call->next;
    else
        call->key->calls = call->next;
    if (call->next != NULL)
        call->next->prev = call->prev;
    checker_map_remove(&c->calls, call->invoke.operation);
}

static void spare_call(checker *c, checker_call *call)
{
    call->next = c->spare_calls;
    c->spare_calls = call;
}

static void keep_for(checker_key *key, uint64_t at, uint64_t ns)
{
    if (at + ns > key->maybe_to)
        key->maybe_to = at + ns;
}

/* The handle ends with the call. */
static void give_up(checker *c, checker_call *call)
{
    checker_hold *hold = find_hold(c, &call->invoke);

    if (hold == NULL)
        return;
    checker_release_begins(c, call, hold);
    if (call->invoke.call == HISTORY_EXPORT)
        keep_for(call->key, call->invoke.at, call->lease_ns);
    else if (hold->forced)
        checker_bequeath(hold);
    checker_hold_drop(c, hold);
}

static void begin_of_hold(checker *c, checker_call *call)
{
    const history_call what = (history_call)call->invoke.call;

    if (what == HISTORY_RELEASE || what == HISTORY_EXPORT) {
        give_up(c, call);
    } else if (what == HISTORY_DOWNGRADE) {
        checker_hold *hold = find_hold(c, &call->invoke);

        if (hold != NULL)
            checker_downgrade(c, hold, &call->invoke);
    } else if (what == HISTORY_FORCE) {
        checker_forced(call, &call->invoke);
    }
}

static void begin(checker *c, const history_event *event,
                  checker_process *process, checker_key *key)
{
    checker_call *call;

    if (key == NULL || event->operation == 0 ||
        checker_map_find(&c->calls, event->operation) != NULL) {
        malformed(c, "a call that begins twice", event);
        return;
    }
    call = take_call(c);
    if (call == NULL)
        return;
    call->key = key;
    call->process = process;
    call->invoke = *event;
    call->lease_ns = event->lease_ms * MS;
    call->fence_floor = checker_fence_floor(c, call);
    begin_of_hold(c, call);
    if (event->kind == HISTORY_LATCH)
        checker_latch_begins(c, call);
    else if (event->kind == HISTORY_SEMAPHORE || event->kind == HISTORY_PLAIN)
        checker_permits_begin(c, call);
    link_call(call);
    if (!checker_map_put(&c->calls, event->operation, call))
        c->failed = true;
}

/* ---- and ends ---- */

static void
acquire_ends(checker *c, checker_call *call, const history_event *event)
{
    const bool disturbed =
        checker_calm_at(c, call->process, call->key) > call->invoke.at;

    checker_starved(c, call, event);
    checker_overtaken(c, call, event);
    if (event->phase == HISTORY_OK && event->kind != HISTORY_PLAIN)
        checker_granted(c, call, event);
    else if (event->phase == HISTORY_UNKNOWN || disturbed)
        keep_for(call->key, event->at, call->lease_ns);
    else if (event->phase == HISTORY_FAIL) /* a late grant is given back */
        keep_for(call->key, event->at, c->options.late_ns);
}

/* What was lost by its holder's clock the server may keep for longer. */
static void
release_ends(checker *c, const checker_call *call, const history_event *event)
{
    checker_key *key = call->key;

    if (event->phase == HISTORY_OK)
        checker_released(c, call, event);
    else
        keep_for(key, event->at, call->lease_ns);
    if (event->at > key->freed_at)
        key->freed_at = event->at;
}

static void
end_of_hold(checker *c, checker_call *call, const history_event *event)
{
    const history_call what = (history_call)call->invoke.call;
    checker_hold *hold = checker_map_find(&c->holds, call->invoke.hold);

    if (what == HISTORY_FORCE && event->phase == HISTORY_OK)
        checker_forced(call, event);
    else if (what == HISTORY_EXTEND && event->phase != HISTORY_FAIL)
        checker_extended(c, call, event);
    else if (what == HISTORY_DOWNGRADE && hold != NULL)
        checker_downgrade(c, hold, event);
}

/* A call that is not in the key's list any more. */
static void conclude(checker *c, checker_call *call, const history_event *event)
{
    const history_call what = (history_call)call->invoke.call;

    if (call->invoke.kind == HISTORY_LATCH) {
        checker_latch_ends(c, call, event);
        return;
    }
    if (call->invoke.kind == HISTORY_PLAIN ||
        (call->invoke.kind == HISTORY_SEMAPHORE && what != HISTORY_ACQUIRE))
        checker_permits_end(c, call, event);
    if (what == HISTORY_ACQUIRE)
        acquire_ends(c, call, event);
    else if (what == HISTORY_RELEASE || what == HISTORY_EXPORT)
        release_ends(c, call, event);
    else if (what == HISTORY_WRITE && event->phase == HISTORY_OK)
        checker_written(c, call, event);
    else if (what == HISTORY_ASK && call->invoke.kind == HISTORY_FLIGHT &&
             event->phase == HISTORY_OK)
        checker_landed(c, call, event);
    else
        end_of_hold(c, call, event);
}

static void end(checker *c, const history_event *event)
{
    checker_call *call = checker_map_find(&c->calls, event->operation);

    if (call == NULL || call->invoke.call != event->call) {
        malformed(c, "an end without a beginning", event);
        return;
    }
    checker_late(c, call, event);
    if (event->call == HISTORY_ACQUIRE && event->kind != HISTORY_LATCH &&
        event->kind != HISTORY_PLAIN) {
        conclude(c, call, event);
        unlink_call(c, call);
    } else {
        unlink_call(c, call);
        conclude(c, call, event);
    }
    spare_call(c, call);
}

/* ---- what happens ---- */

/* What a process leaves when it dies. */
typedef struct burial {
    checker *c;
    checker_process *process;
    checker_call *calls; /* its own, by their next of the spare list */
    uint64_t at;
} burial;

static void bury_hold(void *value, void *data)
{
    const burial *b = data;
    checker_hold *hold = value;

    if (hold->process != b->process)
        return;
    hold->dead = true;
    keep_for(hold->key, b->at, hold->lease_ns);
}

static void find_call(void *value, void *data)
{
    burial *b = data;
    checker_call *call = value;

    if (call->process == b->process)
        b->calls = call;
}

/* A call that the dead one had under way. False: there is none. */
static bool conclude_one(burial *b, const history_event *event)
{
    history_event unknown = *event;
    checker_call *call;

    b->calls = NULL;
    checker_map_each(&b->c->calls, find_call, b);
    call = b->calls;
    if (call == NULL)
        return false;
    unknown.phase = HISTORY_UNKNOWN;
    unknown.kind = call->invoke.kind;
    unlink_call(b->c, call);
    conclude(b->c, call, &unknown);
    spare_call(b->c, call);
    return true;
}

/* Its calls first: they may have made its holds last longer. */
static void
die(checker *c, const history_event *event, checker_process *process)
{
    burial b = {c, process, NULL, event->at};

    process->dead = true;
    while (conclude_one(&b, event))
        ;
    checker_map_each(&c->holds, bury_hold, &b);
}

static void
happen(checker *c, const history_event *event, checker_process *process)
{
    checker_hold *hold;
    checker_call *call;

    if (event->call == HISTORY_DIED) {
        die(c, event, process);
    } else if (event->call == HISTORY_QUEUED) {
        call = checker_map_find(&c->calls, event->operation);
        if (call != NULL && call->queued_at == 0)
            call->queued_at = event->at;
    } else if (event->call == HISTORY_LOST) {
        hold = checker_map_find(&c->holds, event->hold);
        if (hold != NULL) /* else its release has begun */
            checker_told(c, hold, event);
    } else if (event->call == HISTORY_CHECKED) {
        hold = find_hold(c, event);
        if (hold != NULL)
            checker_proved(c, hold, event);
    } else {
        malformed(c, "no such event", event);
    }
}

/* ---- feeding ---- */

static void feed(checker *c, const history_event *event,
                 checker_process *process, checker_key *key)
{
    switch ((history_phase)event->phase) {
    case HISTORY_INVOKE:
        if (event->call == HISTORY_FAULT)
            checker_fault(c, event, process, key);
        else
            begin(c, event, process, key);
        break;
    case HISTORY_OK:
    case HISTORY_FAIL:
    case HISTORY_UNKNOWN:
        if (event->call == HISTORY_FAULT)
            checker_fault(c, event, process, key);
        else
            end(c, event);
        break;
    case HISTORY_EVENT:
        happen(c, event, process);
        break;
    case HISTORY_EMPTY:
    case HISTORY_PHASES:
    default:
        malformed(c, "no such phase", event);
    }
}

bool checker_feed(checker *c, const history_event *event)
{
    checker_process *process =
        have(c, &c->processes, event->process, sizeof(*process));
    checker_key *key = have_key(c, event->key);

    if (c->failed)
        return false;
    if (event->at < c->now)
        malformed(c, "time goes back", event);
    else
        c->now = event->at;
    if (process != NULL && process->dead)
        malformed(c, "the dead act", event);
    else if (process == NULL && event->call != HISTORY_FAULT)
        malformed(c, "nobody acts", event);
    else
        feed(c, event, process, key);
    return !c->failed;
}

/* ---- the end ---- */

void checker_left(checker *c, const char *key)
{
    const history_event *events[CHECKER_EVENTS] = {NULL};

    if ((c->options.rules & CHECKER_REST) != 0)
        checker_report(c, CHECKER_REST, "left behind", events, "key %s", key);
}

/* What has not ended by then. */
typedef struct rest {
    checker *c;
    uint64_t at;
} rest;

static void call_left(void *value, void *data)
{
    const rest *r = data;

    checker_call_left(r->c, value, r->at);
}

static void hold_left(void *value, void *data)
{
    const rest *r = data;

    checker_hold_left(r->c, value, r->at);
}

void checker_end(checker *c, uint64_t at)
{
    rest r = {c, at};

    checker_map_each(&c->holds, hold_left, &r);
    checker_map_each(&c->calls, call_left, &r);
}
