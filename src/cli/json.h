/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_JSON_H
#define LK_CLI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes JSON as it comes. Names in Redis are bytes, JSON is characters: a byte
 * that is not UTF-8 is written as U+FFFD. What a terminal would obey is escaped,
 * see cli_utf8_is_control().
 *
 * Every function takes the member's key, NULL within an array and at the top.
 * Errors of the stream show in cli_finish().
 */
typedef struct cli_json {
    FILE *to;
    bool needs_comma;
    unsigned depth;
} cli_json;

/* The outermost that is closed ends the document, and its line. */
void cli_json_open(cli_json *json, const char *key, char bracket);
void cli_json_close(cli_json *json, char bracket);
void cli_json_text(cli_json *json, const char *key, const char *text);
/* Null if it is not known. */
void cli_json_known(cli_json *json, const char *key, bool is_known,
                    int64_t number);

/* Null if it is NULL or empty. */
void cli_json_words(cli_json *json, const char *key, const char *text);
void cli_json_count(cli_json *json, const char *key, uint64_t number);
void cli_json_number(cli_json *json, const char *key, int64_t number);
void cli_json_real(cli_json *json, const char *key, double number);
void cli_json_bool(cli_json *json, const char *key, bool is_true);
void cli_json_null(cli_json *json, const char *key);

#endif /* LK_CLI_JSON_H */
