/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_TEXT_H
#define LK_CLI_TEXT_H

#include "cli/subject.h"

/*
 * The text of a hold as `latchkey acquire` writes it: the library's, and before
 * it what is needed to make a handle:
 *
 *   <kind> <bytes of the name> <name> <text>
 */

enum {
    CLI_TEXT_NAME = 512, /* bytes of a name at most */
    CLI_TEXT_SIZE = LK_EXPORT_SIZE + CLI_TEXT_NAME + 64
};

void cli_text_make(char to[CLI_TEXT_SIZE], cli_kind_of kind, const char *name,
                   const char *text);

/* Takes one apart. Returns the library's part, which is of text; NULL: it is
   none. */
const char *cli_text_read(const char *text, char ret_name[CLI_TEXT_NAME + 1],
                          cli_kind_of *ret_kind);

#endif /* LK_CLI_TEXT_H */
