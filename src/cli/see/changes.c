/* SPDX-License-Identifier: MIT */

/* How often names change hands. */

#include "cli/see/changes.h"

#include <stdlib.h>
#include <string.h>

static void change_free(see_change *change)
{
    free(change->name);
    free(change->owner);
}

void see_changes_done(see_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        change_free(&changes->items[i]);
    free(changes->items);
    *changes = (see_changes){.count = 0};
}

/* What is noted of an entry; old NULL: it is new. */
static bool change_make(see_change *made, const see_change *old,
                        const lk_entry *entry, uint64_t now_ms)
{
    const char *owner = entry->holder != NULL ? entry->holder->owner : "";
    uint64_t fence = entry->holder != NULL ? entry->holder->fence : 0;

    *made = (see_change){.name = strdup(entry->name),
                         .owner = strdup(owner),
                         .fence = fence,
                         .since_ms = now_ms};
    if (made->name == NULL || made->owner == NULL) {
        change_free(made);
        return false;
    }
    if (old != NULL) {
        made->since_ms = old->since_ms;
        made->changes = old->changes +
                        (old->fence != fence || strcmp(old->owner, owner) != 0);
    }
    return true;
}

static double rate_of(const see_change *change, uint64_t now_ms)
{
    uint64_t span = now_ms - change->since_ms;

    return span == 0 ? 0 : (double)change->changes * 1000 / (double)span;
}

bool see_changes_note(see_changes *changes, see_rows *rows, uint64_t now_ms)
{
    see_changes made = {.all = changes->all,
                        .has_looked = see_rows_are_all(rows)};
    /* Else a name that was not in the list may have been there all the time. */
    bool knows_all = changes->has_looked && see_rows_are_all(rows);
    size_t at = 0;

    made.items = calloc(rows->count + 1, sizeof(*made.items));
    if (made.items == NULL)
        return false;
    for (size_t i = 0; i < rows->count; i++) {
        const lk_entry *entry = rows->rows[i].entry;
        const see_change *old;
        int order = 1;

        while (at < changes->count &&
               (order = strcmp(changes->items[at].name, entry->name)) < 0)
            at++;
        old = at < changes->count && order == 0 ? &changes->items[at] : NULL;
        if (!change_make(&made.items[i], old, entry, now_ms)) {
            see_changes_done(&made);
            return false;
        }
        made.all += old != NULL ? made.items[i].changes - old->changes
                                : knows_all && entry->holder != NULL;
        made.count++;
        rows->rows[i].rate = rate_of(&made.items[i], now_ms);
    }
    see_changes_done(changes);
    *changes = made;
    return true;
}
