/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_LINE_H
#define LK_CLI_LINE_H

/*
 * A line on the terminal behind standard error that is drawn again and again
 * while something is waited for. Where it is too long for the terminal it is
 * continued in the next ones, and all of them are drawn again.
 */

typedef struct cli_line {
    int drawn; /* lines that stand on the terminal; the cursor is in the last */
} cli_line;

/* Draws text, which holds nothing that a terminal would obey. */
void cli_line_draw(cli_line *line, const char *text);

/* Takes it away. */
void cli_line_clear(cli_line *line);

/* Lets it stand: something else was written, the next is drawn below. */
void cli_line_leave(cli_line *line);

#endif /* LK_CLI_LINE_H */
