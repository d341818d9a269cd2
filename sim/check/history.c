/* SPDX-License-Identifier: MIT */
#include "check/history.h"

#include <latchkey/status.h>

#include <inttypes.h>

uint64_t history_key(const char *name, uint32_t db)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    hash = (hash ^ db) * UINT64_C(0x100000001b3);
    return hash != 0 ? hash : 1;
}

/* ---- for people ---- */

static const char *const phases[HISTORY_PHASES] = {"nothing", "begins",  "ok",
                                                   "fails",   "unknown", ""};

static const char *const calls[HISTORY_CALLS] =
    {"nothing", "acquire", "release", "extend", "downgrade", "export", "force",
     "resize",  "arm",     "count",   "arrive", "reset",     "delete", "ask",
     "give",    "write",   "checked", "lost",   "queued",    "died",   "fault"};

static const char *const kinds[HISTORY_KINDS] =
    {"",        "lock",    "fairlock", "rwlock",  "semaphore", "plain", "latch",
     "redlock", "siglock", "leader",   "stripes", "multilock", "flight"};

static const char *const modes[] = {"", "read", "upgradeable", "write",
                                    "permits"};

static const char *word(const char *const *words, size_t count, unsigned i)
{
    return i < count ? words[i] : "?";
}

const char *history_kind_word(unsigned kind)
{
    return word(kinds, HISTORY_KINDS, kind);
}

static void number(FILE *file, const char *what, uint64_t value)
{
    if (value != 0)
        (void)fprintf(file, " %s %" PRIu64, what, value);
}

static void what(FILE *file, const history_event *event)
{
    if (event->call == HISTORY_FAULT)
        (void)fprintf(file, " rules %#" PRIx64, event->count);
    else
        number(file, "count", event->count);
    if (event->phase == HISTORY_FAIL || event->phase == HISTORY_UNKNOWN)
        (void)fprintf(file, " %s", lk_status_name((lk_status)event->status));
    if (event->deadline > event->at)
        (void)fprintf(file, " for %.6f s",
                      (double)(event->deadline - event->at) / 1e9);
    else if (event->deadline != 0)
        (void)fprintf(file, " over for %.6f s",
                      (double)(event->at - event->deadline) / 1e9);
}

void history_print(FILE *file, const history_event *event)
{
    (void)fprintf(file, "%14.6f  p%-4" PRIu32 " %-9s %.*s%s%s %s %s",
                  (double)event->at / 1e9, event->process,
                  history_kind_word(event->kind), HISTORY_NAME - 1, event->name,
                  event->name[0] != '\0' ? " " : "",
                  word(calls, HISTORY_CALLS, event->call),
                  word(phases, HISTORY_PHASES, event->phase),
                  word(modes, sizeof(modes) / sizeof(modes[0]), event->mode));
    if (event->owner != event->process)
        number(file, "owner", event->owner);
    number(file, "operation", event->operation);
    number(file, "hold", event->hold);
    number(file, "fence", event->fence);
    number(file, "lease", event->lease_ms);
    what(file, event);
    (void)fputc('\n', file);
}
