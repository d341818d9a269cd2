/* SPDX-License-Identifier: MIT */
#ifndef LK_CLI_VIEW_H
#define LK_CLI_VIEW_H

#include <stddef.h>

#include "cli/json.h"

/*
 * A view is described once, as a table of fields of a struct; it is written from
 * that as JSON, as text and as metrics.
 */

/* What stands in the struct, and when it is not known, which is null in JSON. */
typedef enum cli_unit {
    CLI_UNIT_STRING, /* const char *; never null */
    CLI_UNIT_WORDS,  /* const char *; "" or NULL */
    CLI_UNIT_COUNT,  /* uint64_t; never null */
    CLI_UNIT_SOME,   /* uint64_t; 0 */
    CLI_UNIT_MS,     /* int64_t, milliseconds; < 0 */
    CLI_UNIT_US,     /* int64_t, microseconds; never null */
    CLI_UNIT_TRUTH,  /* bool; never null */
    CLI_UNIT_MAYBE   /* int, 0 or 1; < 0 */
} cli_unit;

typedef struct cli_field {
    const char *key; /* NULL ends a table */
    cli_unit unit;
    size_t at;
    unsigned in; /* which documents have it, as bits; 0: text alone */
} cli_field;

/* A member of an open object. */
void cli_json_field(cli_json *json, const cli_field *field, const void *of);

/* An object of those in that document; of NULL: null. */
void cli_json_record(cli_json *json, const char *key, const cli_field *fields,
                     unsigned in, const void *of);

/*
 * Writes text in which {key} is a field's value, cleaned, and {key.8} eight columns
 * of it at most. What stands in brackets is left out where one of its fields is not
 * known, is "" or is false; [this|that]: then that stands there. A truth is written
 * as nothing: it says whether the rest of its brackets stands.
 */
void cli_put_view(FILE *to, const char *text, const cli_field *fields,
                  const void *of);

/* Writes a value as Prometheus has it, in seconds where it is a time. */
void cli_put_sample(FILE *to, const cli_field *field, const void *of);

#endif /* LK_CLI_VIEW_H */
