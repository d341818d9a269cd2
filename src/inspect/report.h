/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_REPORT_H
#define LK_INSPECT_REPORT_H

#include <latchkey/inspect.h>

/*
 * A health report while it is made, in one block: what lk_health_free() frees.
 */

enum { LK__REPORT_TEXT = 400, LK__REPORT_VALUE = 64 };

typedef struct lk__report {
    lk_health health; /* first: what the caller gets */
    size_t most;
    const lk_check **checks;
    struct lk__report_room {
        lk_check check;
        char text[LK__REPORT_TEXT];
        char advice[LK__REPORT_TEXT];
    } * rooms;
    char version[LK__REPORT_VALUE];
} lk__report;

/* With room for so many lines. NULL: no memory. */
lk__report *lk__report_new(size_t most);

/* What has no room is left out. */
void lk__report_add(lk__report *report, const char *id, lk_check_level level,
                    const char *advice, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* A value of an answer of lines `key:value`, as INFO's; text NULL: there is none. */
bool lk__info_value(const char *text, const char *key,
                    char value[LK__REPORT_VALUE]);

#endif /* LK_INSPECT_REPORT_H */
