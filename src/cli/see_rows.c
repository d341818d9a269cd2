/* SPDX-License-Identifier: MIT */

/* Names as a table. */

#include "cli/see_rows.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/utf8.h"

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
        return cli_fail_call(c, status, "listing names");
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
enum {
    COLUMNS = 10,
    CELL = 2560, /* bytes of a cell; no name and no reason is as long */
    NARROW = 56, /* columns of a cell where the width is bound */
    NAME_LEAST = 16,
    LOOKED_AT = 2000
};

static const char *const heads[COLUMNS] = {"NAME",  "KIND",  "HOLD", "WAIT",
                                           "SINCE", "LEASE", "RATE", "WHO",
                                           "USER",  "WHY"};
static const bool is_number[COLUMNS] = {false, false, true,  true,  true,
                                        true,  true,  false, false, false};

static void cell_who(char cell[CELL], const lk_entry *entry)
{
    const lk_party *holder = entry->holder;
    char text[512];

    if (holder == NULL)
        text[0] = '\0';
    else if (holder->pid == 0)
        (void)snprintf(text, sizeof(text), "%.200s%s", holder->owner,
                       see_is_foreign(entry->kind, holder) ? " Redisson" : "");
    else
        (void)snprintf(text, sizeof(text), "%.200s:%" PRIu64 " %.200s",
                       holder->host, holder->pid, see_program(holder));
    cli_clean(cell, CELL, text);
}

/* Whether a name would be taken for several words, or for something else. */
static bool needs_quotes(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        if (strchr(" \"\\", *at) != NULL)
            return true;
    }
    return !cli_utf8_is_plain(name);
}

/* A name is one word: if it has blanks, control characters or quotes in it, it
   stands in quotes, with escapes as C has them. */
static void cell_name(char cell[CELL], const char *name)
{
    size_t used = 1;

    if (!needs_quotes(name)) {
        cli_clean(cell, CELL, name);
        return;
    }
    cell[0] = '"';
    while (*name != '\0' && used < CELL - 2 - CLI_UTF8_SHOWN) {
        if (*name == '"' || *name == '\\')
            cell[used++] = '\\';
        used += cli_utf8_show(&name, cell + used);
    }
    (void)snprintf(cell + used, CELL - used, "\"");
}

static void cell_time(char cell[CELL], bool is_known, uint64_t ms)
{
    char time[CLI_TIME_SIZE];

    (void)snprintf(cell, CELL, "%s", is_known ? cli_time_words(time, ms) : "");
}

/* All permits, as the server counts them: whatever it says is shown, and what
   no number holds is the largest. */
static int64_t all_permits(const lk_entry *entry)
{
    int64_t all;

    if (entry->holder_count > INT64_MAX ||
        __builtin_add_overflow((int64_t)entry->holder_count, entry->value,
                               &all))
        return INT64_MAX;
    return all;
}

/* Holders, or what is left of what is counted down. */
static void cell_holds(char cell[CELL], const lk_entry *entry)
{
    if (entry->has_value && entry->holder_count > 0)
        (void)snprintf(cell, CELL, "%" PRIu64 "/%" PRId64, entry->holder_count,
                       all_permits(entry));
    else if (entry->has_value)
        (void)snprintf(cell, CELL, "%" PRId64 " left", entry->value);
    else
        (void)snprintf(cell, CELL, "%" PRIu64, entry->holder_count);
}

static void cells_fill(char cells[COLUMNS][CELL], const see_row *row)
{
    const lk_entry *entry = row->entry;
    const lk_party *holder = entry->holder;

    cell_name(cells[0], entry->name);
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

/* A cell that is wider than all others are to be is not made room for. */
static void widths_grow(int widths[COLUMNS], char cells[COLUMNS][CELL])
{
    for (int i = 0; i < COLUMNS; i++) {
        int width = cli_utf8_width(cells[i]);

        if (width > NARROW)
            width = NARROW;
        if (width > widths[i])
            widths[i] = width;
    }
}

/* Leaves so many columns, the last of which says that there was more. */
static void cell_cut(char cell[CELL], int most)
{
    if (cli_utf8_width(cell) > most)
        (void)snprintf(cell + cli_utf8_fit(cell, most - 1), 2, "~");
}

/* Takes the middle out: names often differ at both ends. */
static void cell_shorten(char cell[CELL], int most)
{
    const char *tail = cell;
    int left = cli_utf8_width(cell) - most / 2;
    size_t head;

    if (cli_utf8_width(cell) <= most)
        return;
    head = cli_utf8_fit(cell, most - most / 2 - 1);
    tail += cli_utf8_fit(cell, left);
    if (cli_utf8_width(tail) > most / 2) /* half of a wide one is left over */
        tail += cli_utf8_read(tail, NULL);
    cell[head] = '~';
    (void)memmove(cell + head + 1, tail, strlen(tail) + 1);
}

static bool is_last(char cells[COLUMNS][CELL], int at)
{
    for (int i = at + 1; i < COLUMNS; i++) {
        if (cells[i][0] != '\0')
            return false;
    }
    return true;
}

struct line {
    FILE *to;
    int left; /* columns */
    int owed; /* blanks, once something follows */
};

/* What there is room for of a cell, and the mark that there is more. A part of a
   number would be another number. */
static void line_end(struct line *line, char cell[CELL], bool number)
{
    int room = line->left - line->owed;

    if (number || room < 2)
        (void)snprintf(cell, CELL, "~");
    if (room < 2)
        line->owed = line->left - 1;
    cell_cut(cell, line->left - line->owed);
    (void)fprintf(line->to, "%*s%s", line->owed, "", cell);
}

/* Two columns are kept for the mark, unless it is the last cell. */
static bool line_fits(const struct line *line, int width, bool last)
{
    return line->owed + width + (last ? 0 : 2) <= line->left;
}

static void line_add(struct line *line, const char *cell, int width)
{
    if (width == 0)
        return;
    (void)fprintf(line->to, "%*s%s", line->owed, "", cell);
    line->left -= line->owed + width;
    line->owed = 0;
}

/* Makes one line; a column that is empty everywhere is left out. */
static void put_line(FILE *to, const int widths[COLUMNS],
                     char cells[COLUMNS][CELL], int columns)
{
    struct line line = {.to = to,
                        .left = columns != SEE_UNBOUND ? columns : INT_MAX};

    for (int i = 0; i < COLUMNS; i++) {
        int width = cli_utf8_width(cells[i]);
        int blanks = width < widths[i] ? widths[i] - width : 0;

        if (widths[i] == 0)
            continue;
        line.owed += is_number[i] ? blanks : 0;
        if (width > 0 && !line_fits(&line, width, is_last(cells, i))) {
            line_end(&line, cells[i], is_number[i]);
            break;
        }
        line_add(&line, cells[i], width);
        line.owed += (is_number[i] ? 0 : blanks) + 2;
    }
    (void)fputc('\n', to);
}

/* A long name leaves room for the rest of its line. */
static int name_columns(int columns)
{
    int most = columns * 2 / 5;

    if (most < NAME_LEAST)
        return NAME_LEAST;
    return most < NARROW ? most : NARROW;
}

static void row_fill(char cells[COLUMNS][CELL], const see_row *row, int columns)
{
    cells_fill(cells, row);
    if (columns == SEE_UNBOUND)
        return;
    cell_shorten(cells[0], name_columns(columns));
    for (int i = 1; i < COLUMNS; i++)
        cell_cut(cells[i], NARROW);
}

static void put_heads(const cli *c, FILE *to, int widths[COLUMNS], int columns)
{
    char cells[COLUMNS][CELL];

    for (int i = 0; i < COLUMNS; i++)
        (void)snprintf(cells[i], CELL, "%s",
                       widths[i] == 0 && i > 3 ? "" : heads[i]);
    widths_grow(widths, cells);
    cli_paint(c, to, CLI_FAINT);
    put_line(to, widths, cells, columns);
    cli_paint(c, to, CLI_PLAIN);
}

static void put_rows(const cli *c, FILE *to, const see_rows *rows, size_t most,
                     int columns, bool has_heads)
{
    char cells[COLUMNS][CELL];
    int widths[COLUMNS] = {0};
    size_t count = rows->count < most ? rows->count : most;

    for (size_t i = 0; i < count && i < LOOKED_AT; i++) {
        row_fill(cells, &rows->rows[i], columns);
        widths_grow(widths, cells);
    }
    if (has_heads)
        put_heads(c, to, widths, columns);
    for (size_t i = 0; i < count; i++) {
        row_fill(cells, &rows->rows[i], columns);
        put_line(to, widths, cells, columns);
    }
}

void see_put_rows(const cli *c, FILE *to, const see_rows *rows, size_t most,
                  int columns)
{
    put_rows(c, to, rows, most, columns, true);
}

void see_put_bare_rows(const cli *c, FILE *to, const see_rows *rows,
                       size_t most, int columns)
{
    put_rows(c, to, rows, most, columns, false);
}

int see_columns(void)
{
    return isatty(STDOUT_FILENO) != 0 || getenv("COLUMNS") != NULL
               ? cli_columns(stdout)
               : SEE_UNBOUND;
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
