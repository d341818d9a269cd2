/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_UTF8_H
#define LK_CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 character that text begins with; 0: it begins with none. */
size_t cli_utf8_length(const char *text);

/* Whether a valid character is a control one, C0, DEL or C1. */
bool cli_utf8_is_control(const char *text);

#endif /* LK_CLI_UTF8_H */
