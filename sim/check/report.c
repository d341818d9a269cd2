/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>

#include "check/state.h"

static void list(checker_violation *violation,
                 const history_event *const events[CHECKER_EVENTS])
{
    for (int i = 0; i < CHECKER_EVENTS && events[i] != NULL; i++) {
        size_t at = violation->event_count++;

        while (at > 0 && violation->events[at - 1].at > events[i]->at) {
            violation->events[at] = violation->events[at - 1];
            at--;
        }
        violation->events[at] = *events[i];
    }
}

void checker_report(checker *c, checker_rule rule, const char *name,
                    const history_event *const events[CHECKER_EVENTS],
                    const char *format, ...)
{
    checker_violation *violation;
    va_list args;

    c->total++;
    if (c->listed_count == CHECKER_LISTED)
        return;
    violation = &c->listed[c->listed_count++];
    violation->rule = rule;
    violation->name = name;
    va_start(args, format);
    (void)vsnprintf(violation->words, sizeof(violation->words), format, args);
    va_end(args);
    list(violation, events);
}

double checker_seconds(uint64_t a, uint64_t b)
{
    return a > b ? (double)(a - b) / 1e9 : 0;
}

const checker_violation *
checker_violations(const checker *c, size_t *ret_listed, uint64_t *ret_total)
{
    *ret_listed = c->listed_count;
    *ret_total = c->total;
    return c->listed;
}
