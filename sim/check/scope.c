/* SPDX-License-Identifier: MIT */

/* What is done to processes and servers, and what is not claimed then. */

#include "check/state.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void begin(checker_scope *scope, unsigned rules, uint64_t at)
{
    scope->faults++;
    if ((rules & CHECKER_DEADLINES) != 0 && scope->halts++ == 0)
        scope->halted_at = at;
    for (int i = 0; i < CHECKER_RULES; i++) {
        if ((rules & (1U << i)) != 0)
            scope->excusing[i]++;
    }
}

/* True: its last halt is over. */
static bool end(checker_scope *scope, unsigned rules, uint64_t at, uint64_t to)
{
    bool goes_on = false;

    if (scope->faults > 0)
        scope->faults--;
    if ((rules & CHECKER_DEADLINES) != 0 && scope->halts > 0) {
        goes_on = --scope->halts == 0;
        scope->steady_at = later(scope->steady_at, at);
    }
    scope->calm_at = later(scope->calm_at, later(at, to));
    for (int i = 0; i < CHECKER_RULES; i++) {
        if ((rules & (1U << i)) == 0 || scope->excusing[i] == 0)
            continue;
        scope->excusing[i]--;
        scope->excused_to[i] = later(scope->excused_to[i], later(at, to));
    }
    return goes_on;
}

typedef struct halt {
    const checker *c;
    const checker_scope *scope; /* the checker's, or a process's */
    uint64_t to;
} halt;

/* What had begun just before counts its time from the end of the halt, if it
   had not looked at the clock yet. */
static void postpone(void *value, void *data)
{
    const halt *h = data;
    checker_call *call = value;
    const uint64_t begun_at = call->invoke.at + call->halted_ns;

    if (h->scope != &h->c->scope && h->scope != &call->process->scope)
        return;
    if (h->scope->halted_at <= begun_at + h->c->options.late_ns)
        call->halted_ns += h->to - later(h->scope->halted_at, begun_at);
}

void checker_fault(checker *c, const history_event *event,
                   checker_process *process, checker_key *key)
{
    checker_scope *scope = &c->scope;

    if (process != NULL)
        scope = &process->scope;
    else if (key != NULL)
        scope = &key->scope;
    if (event->phase == HISTORY_INVOKE)
        begin(scope, (unsigned)event->count, event->at);
    else if (end(scope, (unsigned)event->count, event->at, event->deadline))
        checker_map_each(&c->calls, postpone, &(halt){c, scope, event->at});
}

uint64_t checker_calm_at(const checker *c, const checker_process *process,
                         const checker_key *key)
{
    uint64_t at = c->scope.calm_at;

    if (c->scope.faults > 0 || (process != NULL && process->scope.faults > 0) ||
        (key != NULL && key->scope.faults > 0))
        return UINT64_MAX;
    if (process != NULL)
        at = later(at, process->scope.calm_at);
    return key != NULL ? later(at, key->scope.calm_at) : at;
}

uint64_t checker_steady_at(const checker *c, const checker_process *process)
{
    if (c->scope.halts > 0 || process->scope.halts > 0)
        return UINT64_MAX;
    return later(c->scope.steady_at, process->scope.steady_at);
}

static bool excuses(const checker_scope *scope, int rule, uint64_t asked_at)
{
    return scope->excusing[rule] > 0 || asked_at < scope->excused_to[rule];
}

bool checker_claims(const checker *c, checker_rule rule,
                    const checker_process *process, const checker_key *key,
                    uint64_t asked_at)
{
    int bit = 0;

    if ((c->options.rules & rule) == 0)
        return false;
    while ((1U << bit) != (unsigned)rule)
        bit++;
    return !excuses(&c->scope, bit, asked_at) &&
           (process == NULL || !excuses(&process->scope, bit, asked_at)) &&
           (key == NULL || !excuses(&key->scope, bit, asked_at));
}
