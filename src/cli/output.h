/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_OUTPUT_H
#define LK_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * What is written for people. Data goes to standard output, everything said
 * about the run itself to standard error.
 */

struct cli;

typedef enum cli_style {
    CLI_PLAIN, /* ends every other */
    CLI_BOLD,
    CLI_FAINT,
    CLI_RED,
    CLI_GREEN,
    CLI_YELLOW
} cli_style;

/*
 * Whether colours go to that stream: --color, else NO_COLOR and
 * CLICOLOR_FORCE, else whether it is a terminal that knows them.
 */
bool cli_color(const struct cli *c, FILE *to);

/* Writes the escape sequence of a style, or nothing; see cli_color(). */
void cli_paint(const struct cli *c, FILE *to, cli_style style);

/* The same run, as it is for what is written into memory first and then to that
   stream. */
struct cli cli_painting(const struct cli *c, FILE *to);

/* COLUMNS, else those of the terminal behind a stream; 80 if it is none. */
int cli_columns(FILE *to);

/* The same where lines are to be kept within them: on a terminal, or where
   COLUMNS says so. CLI_UNBOUND elsewhere: a program that reads it gets all. */
enum { CLI_UNBOUND = 0 };
int cli_columns_bound(FILE *to);

/*
 * Writes text of one or more lines. What is wider than so many columns is
 * continued, at a blank, in the next line, further in. A word is never broken.
 */
void cli_put_wrapped(FILE *to, const char *text, int columns);

/*
 * Writes a paragraph, and a newline: the cursor is in column at, and so do its
 * other lines begin. Line ends of the text are blanks like any other.
 */
void cli_put_filled(FILE *to, const char *text, int at, int columns);

/* Bytes that are enough for cli_time_words(). */
#define CLI_TIME_SIZE 24

/* Writes a time as people say it: 0.42 s, 0:26, 3:07, 2:14:05, 3d 4h. */
const char *cli_time_words(char text[CLI_TIME_SIZE], uint64_t ms);

/* Writes the local time, or day and time, as people and sort(1) read it. */
void cli_put_date(FILE *to, bool has_day, int64_t unix_ms);

/*
 * Copies text that others wrote for a terminal, which shows it as it is and
 * obeys nothing of it, see cli_utf8_show(). Always ended; cut at a whole
 * character. Returns to.
 */
const char *cli_clean(char *to, size_t size, const char *text);

/* The same of a part of a line, which has so many columns at most. */
const char *
cli_clean_part(char *to, size_t size, const char *text, int columns);

/* Writes cleaned text. */
void cli_put_clean(FILE *to, const char *text);

/* Flushes standard output. False: something of it was not written. */
bool cli_flush(void);

/*
 * Ends standard output: what was written has arrived, or the tool says that it
 * has not and the answer is CLI_LOST in the place of 0. A reader that went
 * away is not complained about.
 */
int cli_finish(int code);

#endif /* LK_CLI_OUTPUT_H */
