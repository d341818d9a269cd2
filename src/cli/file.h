/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_FILE_H
#define LK_CLI_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct cli;

/* Whom a file has to keep out. */
typedef enum cli_file_kind {
    CLI_FILE_TRUSTED, /* nobody else may write to it */
    CLI_FILE_SECRET   /* nor read it */
} cli_file_kind;

/*
 * Reads all of a regular file of the user's or root's, as text that ends with a
 * 0. size: of text; a file of as many bytes is too large. It is opened without
 * waiting: a pipe would keep the tool until somebody writes to it. 0, an errno
 * if it cannot be opened, or an exit code, negative, having complained. Whoever
 * calls wipes the text.
 */
int cli_file_read(const struct cli *c, const char *path, cli_file_kind kind,
                  char *text, size_t size);

/* Writes a file that everybody may read: a reader finds the old one or this one,
   never a part. False: errno says why. */
bool cli_file_put(const char *path, const char *text);

#endif /* LK_CLI_FILE_H */
