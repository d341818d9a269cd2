/* SPDX-License-Identifier: MIT */

/* A health report while it is made; see report.h. */

#include "inspect/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

void lk_health_free(lk_health *health)
{
    lk__free(health);
}

lk__report *lk__report_new(size_t most)
{
    size_t rooms = most * sizeof(struct lk__report_room);
    lk__report *report =
        lk__alloc(sizeof(*report) + rooms + most * sizeof(const lk_check *));

    if (report == NULL)
        return NULL;
    report->most = most;
    report->rooms = (struct lk__report_room *)(void *)(report + 1);
    report->checks = (const lk_check **)(void *)((char *)(report + 1) + rooms);
    report->health.checks = report->checks;
    report->health.version = report->version;
    return report;
}

void lk__report_add(lk__report *report, const char *id, lk_check_level level,
                    const char *advice, const char *format, ...)
{
    size_t at = report->health.count;
    struct lk__report_room *room = &report->rooms[at];
    va_list args;

    if (at == report->most)
        return;
    va_start(args, format);
    if (vsnprintf(room->text, sizeof(room->text), format, args) < 0)
        room->text[0] = '\0';
    va_end(args);
    snprintf(room->advice, sizeof(room->advice), "%s", advice);
    room->check = (lk_check){.id = id,
                             .level = level,
                             .text = room->text,
                             .advice = room->advice};
    report->checks[at] = &room->check;
    report->health.count++;
}

bool lk__info_value(const char *text, const char *key,
                    char value[LK__REPORT_VALUE])
{
    size_t size = strlen(key);
    const char *at = text;

    value[0] = '\0';
    while (at != NULL) {
        if (strncmp(at, key, size) == 0 && at[size] == ':') {
            at += size + 1;
            snprintf(value, LK__REPORT_VALUE, "%.*s", (int)strcspn(at, "\r\n"),
                     at);
            return true;
        }
        at = strchr(at, '\n');
        if (at != NULL)
            at++;
    }
    return false;
}
