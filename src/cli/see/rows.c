/* SPDX-License-Identifier: MIT */

/* Names as a table. */

#include "cli/see/rows.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/utf8.h"

bool see_rows_make(see_rows *ret_rows, lk_listing *listing, bool is_idle)
{
    see_rows rows = {.listing = listing, .count = listing->count};

    rows.rows = calloc(rows.count + 1, sizeof(*rows.rows));
    if (rows.rows == NULL) {
        lk_listing_free(listing);
        return false;
    }
    for (size_t i = 0; i < rows.count; i++)
        rows.rows[i] = (see_row){.entry = rows.listing->entries[i], .rate = -1};
    if (!is_idle)
        see_rows_drop_free(&rows);
    *ret_rows = rows;
    return true;
}

lk_status see_rows_list(lk_client *client, int64_t wait_ms,
                        const lk_list_options *what, see_rows *ret_rows)
{
    lk_listing *listing;
    lk_status status = lk_list(client, wait_ms, what, &listing);

    if (status == LK_OK && !see_rows_make(ret_rows, listing, what->idle != 0))
        status = LK_ENOMEM;
    if (status == LK_OK)
        see_rows_sort(ret_rows, SEE_BY_NAME);
    return status;
}

int see_rows_get(const cli *c, lk_client *client, const lk_list_options *what,
                 see_rows *ret_rows)
{
    lk_status status = see_rows_list(client, SEE_WAIT_MS, what, ret_rows);

    return status == LK_OK ? 0 : cli_fail_call(c, status, "listing names");
}

bool see_rows_are_all(const see_rows *rows)
{
    return !rows->listing->truncated && rows->listing->missing[0] == '\0';
}

int see_missing(const cli *c, const char *missing)
{
    return missing[0] == '\0'
               ? CLI_OK
               : cli_fail(c, CLI_UNAVAILABLE, "not looked at: %s", missing);
}

void see_rows_free(see_rows *rows)
{
    for (size_t i = 0; i < rows->listing->count; i++) {
        lk_info_free(rows->rows[i].info);
        free(rows->rows[i].unread);
    }
    lk_listing_free(rows->listing);
    free(rows->rows);
}

bool see_knows_held(const lk_entry *entry)
{
    return entry->holder != NULL && !see_is_foreign(entry->kind, entry->holder);
}

uint64_t see_held_ms(const lk_entry *entry)
{
    return see_knows_held(entry) ? entry->holder->since_ms : 0;
}

bool see_needs_asking(const lk_entry *entry)
{
    return entry->waiter_count > 0 || entry->holder_count > 1 ||
           (entry->holder_count == 1 && entry->holder == NULL);
}

/* ---- the table ------------------------------------------------------------------ */

/* The widths of many rows are taken from the first of them. */
enum {
    CELL = 2560, /* bytes of a cell; no name and no reason is as long */
    NARROW = 56, /* columns of a cell that the others make room for */
    INDENT = 2,  /* of a second line of a row */
    NAME_LEAST = 12,
    LOOKED_AT = 2000
};

/* WHO and what follows it tell of the holder. They stand in a line of their own
   where one line has no room. */
enum { NAME, KIND, HOLD, WAIT, SINCE, LEASE, RATE, WHO, USER, WHY, COLUMNS };

static const char *const heads[COLUMNS] = {"NAME",  "KIND",  "HOLD", "WAIT",
                                           "SINCE", "LEASE", "RATE", "WHO",
                                           "USER",  "WHY"};
static const bool is_number[COLUMNS] = {false, false, true,  true,  true,
                                        true,  true,  false, false, false};

static const lk_party *holder_of(const see_row *row)
{
    return row->info != NULL && row->info->holder_count > 0
               ? row->info->holders[0]
               : row->entry->holder;
}

/* "web-3:4121 make", or "e446ca3e" of what no process keeps, and " +2" where two more are known: of what is too wide the host is shortened first. */
static void cell_who(char cell[CELL], const see_row *row, int columns)
{
    enum { HOST_LEAST = 6 };
    const lk_entry *entry = row->entry;
    const lk_party *holder = holder_of(row);
    char host[CELL / 2] = "", program[CELL / 2] = "";
    size_t used = 0;

    if (holder == NULL) {
        cell[0] = '\0';
        return;
    }
    if (holder->pid != 0) {
        used =
            (size_t)snprintf(program, CELL / 4, ":%" PRIu64 " ", holder->pid);
        (void)cli_clean(program + used, CELL / 4, see_program(holder));
    } else if (see_is_foreign(entry->kind, holder)) {
        (void)snprintf(program, sizeof(program), " Redisson");
    }
    if (row->info != NULL && row->info->holder_count > 1) {
        used = strlen(program);
        (void)snprintf(program + used, CELL / 4, " +%zu",
                       row->info->holder_count - 1);
    }
    cli_clean(host, sizeof(host) - CLI_UTF8_SHOWN,
              holder->pid != 0 ? holder->host : holder->owner);
    /* The reason says more than the whole id, which `who` shows. */
    if (!see_is_kept(holder) && holder->reason[0] != '\0')
        host[cli_utf8_cut(host, SEE_ID_BEGIN)] = '\0';
    if (cli_utf8_width(host) + cli_utf8_width(program) > columns) {
        cli_utf8_shorten(program, columns - HOST_LEAST);
        cli_utf8_shorten(host, columns - cli_utf8_width(program));
    }
    (void)snprintf(cell, CELL, "%s%s", host, program);
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

/* What is to end soon says so first. */
static void cell_why(char cell[CELL], const lk_party *holder)
{
    const char *reason = holder != NULL ? holder->reason : "";
    const char *first = holder == NULL || !holder->revoked ? ""
                        : reason[0] == '\0'                ? "revoked"
                                                           : "revoked; ";
    const size_t used = strlen(first);

    (void)snprintf(cell, CELL, "%s", first);
    (void)cli_clean(cell + used, CELL - used, reason);
}

static void cells_fill(char cells[COLUMNS][CELL], const see_row *row, int who)
{
    const lk_entry *entry = row->entry;
    const lk_party *holder = holder_of(row);
    char reason[CELL / 2];

    cell_name(cells[NAME], entry->name);
    (void)snprintf(cells[KIND], CELL, "%s", lk_kind_text(entry->kind));
    cell_holds(cells[HOLD], entry);
    (void)snprintf(cells[WAIT], CELL, "%" PRIu64, entry->waiter_count);
    cell_time(cells[SINCE],
              holder != NULL && !see_is_foreign(entry->kind, holder),
              holder != NULL ? holder->since_ms : 0);
    cell_time(cells[LEASE], holder != NULL && holder->lease_ms >= 0,
              holder != NULL ? (uint64_t)holder->lease_ms : 0);
    cells[RATE][0] = '\0';
    if (row->rate >= 0)
        (void)snprintf(cells[RATE], CELL, "%.1f/s", row->rate);
    cell_who(cells[WHO], row, who);
    cli_clean(cells[USER], CELL, holder != NULL ? holder->user : "");
    if (row->unread != NULL)
        (void)snprintf(cells[WHY], CELL, "cannot be read: %s",
                       cli_clean(reason, sizeof(reason), row->unread));
    else
        cell_why(cells[WHY], holder);
}

/* ---- the layout ------------------------------------------------------------ */

typedef struct layout {
    int columns;         /* CLI_UNBOUND: as many as there are */
    int widths[COLUMNS]; /* 0: empty everywhere, and left out */
    bool is_folded;      /* a row is two lines */
} layout;

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

static int widths_sum(const int widths[COLUMNS], int from, int to)
{
    int sum = 0;

    for (int i = from; i < to; i++)
        sum += widths[i] > 0 ? widths[i] + 2 : 0;
    return sum > 0 ? sum - 2 : 0;
}

/* Makes what may be shortened as narrow as it has to be. False: so many columns
   are too few even then. */
static bool squeeze(int widths[COLUMNS], int from, int to, int columns)
{
    static const struct {
        int at, least;
    } steps[] = {{WHY, 24}, {WHO, 28},  {NAME, 24}, {WHY, 12},
                 {WHO, 20}, {NAME, 16}, {USER, 8}};
    int over = widths_sum(widths, from, to) - columns;

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int *width = &widths[steps[i].at];
        int spare = *width - steps[i].least;

        if (over <= 0 || spare <= 0 || steps[i].at < from || steps[i].at >= to)
            continue;
        *width -= spare < over ? spare : over;
        over -= spare < over ? spare : over;
    }
    return over <= 0;
}

static void layout_fit(layout *l)
{
    int natural[COLUMNS];

    if (l->columns == CLI_UNBOUND)
        return;
    (void)memcpy(natural, l->widths, sizeof(natural));
    l->is_folded = !squeeze(l->widths, 0, COLUMNS, l->columns);
    if (!l->is_folded)
        return;
    (void)memcpy(l->widths, natural, sizeof(natural));
    if (!squeeze(l->widths, 0, WHO, l->columns))
        l->widths[NAME] = NAME_LEAST; /* no number is left out before that */
    (void)squeeze(l->widths, WHO, COLUMNS, l->columns - INDENT);
}

static void heads_fill(char cells[COLUMNS][CELL], const int widths[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++)
        (void)snprintf(cells[i], CELL, "%s",
                       widths[i] == 0 && i > WAIT ? "" : heads[i]);
}

static layout
layout_of(const see_rows *rows, size_t count, int columns, bool has_heads)
{
    layout l = {.columns = columns};
    char cells[COLUMNS][CELL];

    for (size_t i = 0; i < count && i < LOOKED_AT; i++) {
        cells_fill(cells, &rows->rows[i], NARROW);
        widths_grow(l.widths, cells);
    }
    if (has_heads) {
        heads_fill(cells, l.widths);
        widths_grow(l.widths, cells);
    }
    layout_fit(&l);
    return l;
}

/* ---- lines ------------------------------------------------------------------ */

static bool is_last(char cells[COLUMNS][CELL], int at, int to)
{
    for (int i = at + 1; i < to; i++) {
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
        (void)snprintf(cell, CELL, "%s", cli_utf8_mark());
    if (room < 2)
        line->owed = line->left - 1;
    cli_utf8_shorten(cell, line->left - line->owed);
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

/* Makes one line of the cells of a row from one column to another. */
static void put_line(FILE *to, const layout *l, char cells[COLUMNS][CELL],
                     int from, int end)
{
    struct line line = {.to = to,
                        .left =
                            l->columns != CLI_UNBOUND ? l->columns : INT_MAX,
                        .owed = from > 0 ? INDENT : 0};

    for (int i = from; i < end; i++) {
        int width = cli_utf8_width(cells[i]);
        int blanks = width < l->widths[i] ? l->widths[i] - width : 0;

        if (l->widths[i] == 0)
            continue;
        line.owed += is_number[i] ? blanks : 0;
        if (width > 0 && !line_fits(&line, width, is_last(cells, i, end))) {
            line_end(&line, cells[i], is_number[i]);
            break;
        }
        line_add(&line, cells[i], width);
        line.owed += (is_number[i] ? 0 : blanks) + 2;
    }
    (void)fputc('\n', to);
}

static void put_row(FILE *to, const layout *l, char cells[COLUMNS][CELL])
{
    put_line(to, l, cells, 0, l->is_folded ? WHO : COLUMNS);
    if (l->is_folded && !is_last(cells, RATE, COLUMNS))
        put_line(to, l, cells, WHO, COLUMNS);
}

static void
row_fill(char cells[COLUMNS][CELL], const see_row *row, const layout *l)
{
    static const int soft[] = {NAME, USER, WHY};

    if (l->columns == CLI_UNBOUND) {
        cells_fill(cells, row, CELL);
        return;
    }
    cells_fill(cells, row, l->widths[WHO]);
    for (size_t i = 0; i < sizeof(soft) / sizeof(soft[0]); i++)
        cli_utf8_shorten(cells[soft[i]], l->widths[soft[i]]);
}

void see_put_rows(const cli *c, FILE *to, const see_rows *rows, size_t most,
                  int columns, bool has_heads)
{
    char cells[COLUMNS][CELL];
    size_t count = rows->count < most ? rows->count : most;
    layout l = layout_of(rows, count, columns, has_heads);

    if (has_heads) {
        heads_fill(cells, l.widths);
        cli_paint(c, to, CLI_FAINT);
        put_row(to, &l, cells);
        cli_paint(c, to, CLI_PLAIN);
    }
    for (size_t i = 0; i < count; i++) {
        row_fill(cells, &rows->rows[i], &l);
        put_row(to, &l, cells);
    }
}

int see_row_lines(const see_rows *rows, size_t most, int columns)
{
    size_t count = rows->count < most ? rows->count : most;

    return layout_of(rows, count, columns, true).is_folded ? 2 : 1;
}

/* ---- JSON ----------------------------------------------------------------- */

void see_json_row(cli_json *json, const see_row *row)
{
    const lk_entry *entry = row->entry;
    const lk_party *holder = holder_of(row);

    cli_json_text(json, "name", entry->name);
    cli_json_text(json, "kind", lk_kind_text(entry->kind));
    cli_json_bool(json, "ours", entry->ours);
    cli_json_count(json, "holder_count", entry->holder_count);
    cli_json_count(json, "waiter_count", entry->waiter_count);
    cli_json_known(json, "value", entry->has_value, entry->value);
    see_json_party(json, "holder", entry->kind, holder, 0);
}

void see_json_rows(FILE *to, const see_rows *rows, lk_client *client)
{
    cli_json json = {.to = to};

    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "names", '[');
    for (size_t i = 0; i < rows->count; i++) {
        cli_json_open(&json, NULL, '{');
        see_json_row(&json, &rows->rows[i]);
        cli_json_words(&json, "unread", rows->rows[i].unread);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_bool(&json, "truncated", rows->listing->truncated);
    cli_json_words(&json, "missing", rows->listing->missing);
    see_json_master(&json, client);
    cli_json_close(&json, '}');
}

int see_rows_show(const cli *c, lk_client *client, see_rows *rows,
                  bool has_heads)
{
    int code;

    see_rows_ask(client, rows);
    if (c->json)
        see_json_rows(stdout, rows, client);
    else if (has_heads)
        see_put_master(c, stdout, "", client);
    if (!c->json)
        see_put_rows(c, stdout, rows, rows->count, cli_columns_bound(stdout),
                     has_heads);
    if (rows->listing->truncated)
        cli_note(c, "there are more names; give a pattern");
    code = see_missing(c, rows->listing->missing);
    see_rows_free(rows);
    return code;
}
