/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_SEE_ROWS_H
#define LK_CLI_SEE_ROWS_H

#include "cli/see/see.h"

/*
 * A list of names as a table: for ls and top.
 */

typedef enum see_order {
    SEE_BY_NAME,
    SEE_BY_WAITERS, /* most first */
    SEE_BY_HELD,    /* longest first */
    SEE_BY_RATE     /* most changes first */
} see_order;

typedef struct see_row {
    const lk_entry *entry;
    double rate; /* changes of the holder a second that were seen; < 0: none
                    were looked for */
    /* Owned by the rows, of a semaphore that see_rows_ask() has asked for; else
       NULL: */
    lk_info *info;
    char *unread; /* why it cannot be read */
} see_row;

typedef struct see_rows {
    lk_listing *listing;
    see_row *rows;
    size_t count;
} see_rows;

/* Makes rows of a listing, which they then own, with is_idle of semaphores as well
   that nobody uses: they are no names in use. False: no memory; it is freed. */
bool see_rows_make(see_rows *ret_rows, lk_listing *listing, bool is_idle);

/* Lists names, what->idle as above, in the order of names. */
lk_status see_rows_list(lk_client *client, int64_t wait_ms,
                        const lk_list_options *what, see_rows *ret_rows);

/* The same. 0, or the exit code having complained. */
int see_rows_get(const cli *c, lk_client *client, const lk_list_options *what,
                 see_rows *ret_rows);
void see_rows_free(see_rows *rows);

/* No name is missing. */
bool see_rows_are_all(const see_rows *rows);

/* Says what a listing, or a log, is without. Returns the exit code. */
int see_missing(const cli *c, const char *missing);

void see_rows_sort(see_rows *rows, see_order order);

/* Leaves out the semaphores that nobody uses. */
void see_rows_drop_free(see_rows *rows);

/* A list knows nobody who holds permits: asks for those of the first 64 semaphores
   that are in use, one by one. */
void see_rows_ask(lk_client *client, see_rows *rows);

/*
 * At most so many names, below a headline if so, within so many columns. What is too
 * wide is shortened in its middle; where even that is not enough, what is known
 * of the holder stands in a second line. CLI_UNBOUND: nothing is shortened.
 */
void see_put_rows(const cli *c, FILE *to, const see_rows *rows, size_t most,
                  int columns, bool has_heads);

/* How many lines a name takes then. */
int see_row_lines(const see_rows *rows, size_t most, int columns);

/* Writes them to standard output, asked about and with the master that sentinels
   name, as text or JSON; frees them. Returns the exit code. */
int see_rows_show(const cli *c, lk_client *client, see_rows *rows,
                  bool has_heads);

/* All of it as one document. client: whose sentinels say where the master is, or
   NULL. */
void see_json_rows(FILE *to, const see_rows *rows, lk_client *client);

/* One row: members of an open object. */
void see_json_row(cli_json *json, const see_row *row);

/* Whether there is more to be known than a list has: that has all of a name that
   one owner holds, and nobody waits for. */
bool see_needs_asking(const lk_entry *entry);

/* How long it has been held, by the holder that is shown; 0: not known. */
uint64_t see_held_ms(const lk_entry *entry);

/* Whether that is known. */
bool see_knows_held(const lk_entry *entry);

#endif /* LK_CLI_SEE_ROWS_H */
