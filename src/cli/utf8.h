/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_UTF8_H
#define LK_CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Text that others wrote: names in Redis are bytes, and what a terminal obeys
 * must not come from them.
 */

/* Bytes of the UTF-8 character that text begins with, and which it is; 0: it
   begins with none. ret_code may be NULL. */
size_t cli_utf8_read(const char *text, uint32_t *ret_code);

/*
 * Whether a terminal would obey a character and not show it: a control one (C0,
 * DEL, C1), one that ends a line, or one that turns the direction of the text
 * around it.
 */
bool cli_utf8_is_control(uint32_t code);

/* Whether a text has only characters, and none of these. */
bool cli_utf8_is_plain(const char *text);

/* Bytes that are enough for one character as it is shown. */
enum { CLI_UTF8_SHOWN = 8 };

/*
 * Takes one character, or one byte that belongs to none, off a text that is not
 * empty, and writes it so that a terminal shows it: as it is, else \x1b for a
 * byte, \u202e for a character. Ended; returns its bytes.
 */
size_t cli_utf8_show(const char **text, char shown[CLI_UTF8_SHOWN]);

/* Columns of a terminal that a text takes. */
int cli_utf8_width(const char *text);

/*
 * Bytes of as much of a text as takes so many columns, or has so many bytes, at
 * most. What is seen as one character is not parted: a letter and what stands
 * over it, a picture that is joined of several.
 */
size_t cli_utf8_fit(const char *text, int columns);
size_t cli_utf8_cut(const char *text, size_t most);

/* Takes off the end of a text what somebody who counts bytes has left of a
   character. */
void cli_utf8_finish(char *text);

/* What stands where something was left out, one column: an ellipsis, or ~ where
   the locale has none. */
const char *cli_utf8_mark(void);

/*
 * Makes a text no wider than so many columns, or than one: its middle is left
 * out, since names often differ at both ends. text has room for CLI_UTF8_SHOWN
 * more bytes.
 */
void cli_utf8_shorten(char *text, int columns);

#endif /* LK_CLI_UTF8_H */
