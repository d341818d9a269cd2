/* SPDX-License-Identifier: MIT */

/* The rows of a table: in which order they stand, and which. */

#include <stdlib.h>
#include <string.h>

#include "cli/see/rows.h"

/* ---- order ------------------------------------------------------------------ */

static int by_name(const void *left, const void *right)
{
    const see_row *a = left, *b = right;

    return strcmp(a->entry->name, b->entry->name);
}

/* What nobody waits for is of more interest if it is held at least. */
static int by_waiters(const void *left, const void *right)
{
    const see_row *a = left, *b = right;
    bool is_held = a->entry->holder_count > 0;

    if (a->entry->waiter_count != b->entry->waiter_count)
        return a->entry->waiter_count < b->entry->waiter_count ? 1 : -1;
    if (is_held != (b->entry->holder_count > 0))
        return is_held ? -1 : 1;
    return by_name(left, right);
}

static int by_held(const void *left, const void *right)
{
    const see_row *a = left, *b = right;
    uint64_t first = see_held_ms(a->entry), second = see_held_ms(b->entry);

    if (first != second)
        return first < second ? 1 : -1;
    return by_name(left, right);
}

static int by_rate(const void *left, const void *right)
{
    const see_row *a = left, *b = right;

    if (a->rate < b->rate || a->rate > b->rate)
        return a->rate < b->rate ? 1 : -1;
    return by_name(left, right);
}

void see_rows_sort(see_rows *rows, see_order order)
{
    static int (*const compare[])(const void *,
                                  const void *) = {[SEE_BY_NAME] = by_name,
                                                   [SEE_BY_WAITERS] =
                                                       by_waiters,
                                                   [SEE_BY_HELD] = by_held,
                                                   [SEE_BY_RATE] = by_rate};

    qsort(rows->rows, rows->count, sizeof(*rows->rows), compare[order]);
}

/* ---- semaphores ------------------------------------------------------------- */

static bool is_free_semaphore(const lk_entry *entry)
{
    return entry->kind == LK_KIND_SEMAPHORE && entry->holder_count == 0 &&
           entry->waiter_count == 0;
}

void see_rows_drop_free(see_rows *rows)
{
    size_t kept = 0;

    for (size_t i = 0; i < rows->count; i++) {
        see_row row = rows->rows[i];

        /* What is behind the last one still owns what it has. */
        rows->rows[i] = rows->rows[kept];
        rows->rows[kept] = row;
        kept += !is_free_semaphore(row.entry);
    }
    rows->count = kept;
}

void see_rows_ask(lk_client *client, see_rows *rows)
{
    enum { ASKED_AT_MOST = 64 };
    size_t asked = 0;

    for (size_t i = 0; i < rows->count && asked < ASKED_AT_MOST; i++) {
        see_row *row = &rows->rows[i];
        const char *unread;
        lk_status status;
        lk_kind kind;

        if (row->entry->kind != LK_KIND_SEMAPHORE ||
            row->entry->holder_count == 0)
            continue;
        asked++;
        status = lk_who(client, row->entry->name, &kind, &row->info);
        unread = see_unread_words(status);
        if (status != LK_OK)
            row->info = NULL;
        if (unread != NULL)
            row->unread = strdup(unread);
    }
}
