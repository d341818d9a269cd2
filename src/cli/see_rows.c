/* SPDX-License-Identifier: MIT */

/* Names as a table. */

#include "cli/see_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

bool see_rows_make(see_rows *ret_rows, lk_listing *listing)
{
    see_rows rows = {.listing = listing, .count = listing->count};

    rows.rows = calloc(rows.count + 1, sizeof(*rows.rows));
    if (rows.rows == NULL) {
        lk_listing_free(listing);
        return false;
    }
    for (size_t i = 0; i < rows.count; i++)
        rows.rows[i] = (see_row){.entry = rows.listing->entries[i], .rate = -1};
    *ret_rows = rows;
    return true;
}

int see_rows_get(const cli *c, lk_client *client, const lk_list_options *what,
                 see_rows *ret_rows)
{
    lk_listing *listing;
    lk_status status = lk_list(client, SEE_WAIT_MS, what, &listing);

    if (status != LK_OK)
        return cli_fail_status(c, status, "listing names");
    if (!see_rows_make(ret_rows, listing))
        return cli_fail(c, CLI_INTERNAL, "out of memory");
    return 0;
}

void see_rows_free(see_rows *rows)
{
    lk_listing_free(rows->listing);
    free(rows->rows);
}

uint64_t see_held_ms(const lk_entry *entry)
{
    return entry->holder != NULL && !see_is_foreign(entry->kind, entry->holder)
               ? entry->holder->since_ms
               : 0;
}

/* ---- order ------------------------------------------------------------------ */

static int by_name(const void *left, const void *right)
{
    const see_row *a = left, *b = right;

    return strcmp(a->entry->name, b->entry->name);
}

static int by_waiters(const void *left, const void *right)
{
    const see_row *a = left, *b = right;

    if (a->entry->waiter_count != b->entry->waiter_count)
        return a->entry->waiter_count < b->entry->waiter_count ? 1 : -1;
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

/* ---- the table ------------------------------------------------------------------ */

/* The widths of many rows are taken from the first of them. */
enum { COLUMNS = 10, CELL = 56, LOOKED_AT = 2000 };

static const char *const heads[COLUMNS] = {"NAME",  "KIND",  "HOLD", "WAIT",
                                           "SINCE", "LEASE", "RATE", "WHO",
                                           "USER",  "WHY"};
static const bool is_number[COLUMNS] = {false, false, true,  true,  true,
                                        true,  true,  false, false, false};

static void cell_who(char cell[CELL], const lk_entry *entry)
{
    const lk_party *holder = entry->holder;
    char text[3 * CELL];

    if (holder == NULL)
        text[0] = '\0';
    else if (holder->pid == 0)
        (void)snprintf(text, sizeof(text), "%.40s%s", holder->owner,
                       see_is_foreign(entry->kind, holder) ? " Redisson" : "");
    else
        (void)snprintf(text, sizeof(text), "%.64s:%" PRIu64 " %.64s",
                       holder->host, holder->pid, see_program(holder));
    cli_clean(cell, CELL, text);
}

static void cell_time(char cell[CELL], bool is_known, uint64_t ms)
{
    char time[CLI_TIME_SIZE];

    (void)snprintf(cell, CELL, "%s", is_known ? cli_time_words(time, ms) : "");
}

/* Holders, or what is left of what is counted down. */
static void cell_holds(char cell[CELL], const lk_entry *entry)
{
    if (entry->has_value && entry->holder_count > 0)
        (void)snprintf(cell, CELL, "%" PRIu64 "/%" PRId64, entry->holder_count,
                       (int64_t)entry->holder_count + entry->value);
    else if (entry->has_value)
        (void)snprintf(cell, CELL, "%" PRId64 " left", entry->value);
    else
        (void)snprintf(cell, CELL, "%" PRIu64, entry->holder_count);
}

static void cells_fill(char cells[COLUMNS][CELL], const see_row *row)
{
    const lk_entry *entry = row->entry;
    const lk_party *holder = entry->holder;

    cli_clean(cells[0], CELL, entry->name);
    (void)snprintf(cells[1], CELL, "%s", lk_kind_text(entry->kind));
    cell_holds(cells[2], entry);
    (void)snprintf(cells[3], CELL, "%" PRIu64, entry->waiter_count);
    cell_time(cells[4], holder != NULL && !see_is_foreign(entry->kind, holder),
              see_held_ms(entry));
    cell_time(cells[5], holder != NULL && holder->lease_ms >= 0,
              holder != NULL ? (uint64_t)holder->lease_ms : 0);
    cells[6][0] = '\0';
    if (row->rate >= 0)
        (void)snprintf(cells[6], CELL, "%.1f/s", row->rate);
    cell_who(cells[7], entry);
    cli_clean(cells[8], CELL, holder != NULL ? holder->user : "");
    cli_clean(cells[9], CELL, holder != NULL ? holder->reason : "");
}

/* Characters of UTF-8 text, which is what a terminal counts, more or less. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void widths_grow(int widths[COLUMNS], char cells[COLUMNS][CELL])
{
    for (int i = 0; i < COLUMNS; i++) {
        int width = width_of(cells[i]);

        if (width > widths[i])
            widths[i] = width;
    }
}

/* Makes one line; a column that is empty everywhere is left out. */
static void put_line(FILE *to, const int widths[COLUMNS],
                     char cells[COLUMNS][CELL], int most)
{
    int at = 0; /* characters so far */
    int owed = 0;

    for (int i = 0; i < COLUMNS && at < most; i++) {
        int width = width_of(cells[i]);
        int blanks = widths[i] - width;

        if (widths[i] == 0)
            continue;
        if (is_number[i])
            owed += blanks;
        if (width > 0 && at + owed + width <= most) {
            (void)fprintf(to, "%*s%s", owed, "", cells[i]);
            at += owed + width;
            owed = 0;
        } else {
            owed += width;
        }
        owed += (is_number[i] ? 0 : blanks) + 2;
    }
    (void)fputc('\n', to);
}

void see_put_rows(const cli *c, FILE *to, const see_rows *rows, size_t most,
                  int columns)
{
    char cells[COLUMNS][CELL];
    int widths[COLUMNS] = {0};
    size_t count = rows->count < most ? rows->count : most;

    for (size_t i = 0; i < count && i < LOOKED_AT; i++) {
        cells_fill(cells, &rows->rows[i]);
        widths_grow(widths, cells);
    }
    for (int i = 0; i < COLUMNS; i++) {
        (void)snprintf(cells[i], CELL, "%s", heads[i]);
        if (widths[i] == 0 && i > 3)
            cells[i][0] = '\0';
    }
    widths_grow(widths, cells);
    cli_paint(c, to, CLI_FAINT);
    put_line(to, widths, cells, columns);
    cli_paint(c, to, CLI_PLAIN);
    for (size_t i = 0; i < count; i++) {
        cells_fill(cells, &rows->rows[i]);
        put_line(to, widths, cells, columns);
    }
}

/* ---- JSON ----------------------------------------------------------------- */

static void json_row(cli_json *json, const see_row *row)
{
    const lk_entry *entry = row->entry;

    cli_json_open(json, NULL, '{');
    cli_json_text(json, "name", entry->name);
    cli_json_text(json, "kind", lk_kind_text(entry->kind));
    cli_json_bool(json, "ours", entry->ours);
    cli_json_count(json, "holder_count", entry->holder_count);
    cli_json_count(json, "waiter_count", entry->waiter_count);
    if (entry->has_value)
        cli_json_number(json, "value", entry->value);
    else
        cli_json_null(json, "value");
    if (entry->holder != NULL)
        see_json_holder(json, "holder", entry->kind, entry->holder);
    else
        cli_json_null(json, "holder");
    cli_json_close(json, '}');
}

void see_json_rows(FILE *to, const see_rows *rows)
{
    cli_json json = {.to = to};

    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "names", '[');
    for (size_t i = 0; i < rows->count; i++)
        json_row(&json, &rows->rows[i]);
    cli_json_close(&json, ']');
    cli_json_bool(&json, "truncated", rows->listing->truncated);
    cli_json_close(&json, '}');
    cli_json_line(&json);
}
