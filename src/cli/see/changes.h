/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_CHANGES_H
#define LK_CLI_SEE_CHANGES_H

#include "cli/see/rows.h"

/*
 * How often names change hands, from one look to the next. Zero at the start.
 */
typedef struct see_change {
    char *name;
    char *owner; /* "" if nobody holds it */
    uint64_t fence;
    uint64_t changes;
    uint64_t since_ms; /* it is in the list */
} see_change;

typedef struct see_changes {
    see_change *items; /* by name */
    size_t count;
    bool has_looked;
    uint64_t all; /* changes of all names, of those that are gone as well, and
                     names that came with a holder */
} see_changes;

/* Compares rows, which are in the order of their names, with what was noted,
   notes them, and fills in their rates. False: no memory. */
bool see_changes_note(see_changes *changes, see_rows *rows, uint64_t now_ms);

void see_changes_done(see_changes *changes);

#endif /* LK_CLI_SEE_CHANGES_H */
