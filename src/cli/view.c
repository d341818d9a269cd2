/* SPDX-License-Identifier: MIT */

/* Views, as JSON, as text and as metrics. */

#include "cli/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

/* What a field is of, whatever its unit; the rest is 0. */
typedef struct value {
    const char *text; /* never NULL */
    uint64_t count;
    int64_t number;
    bool is_true, is_known;
} value;

static value value_of(const cli_field *field, const void *of)
{
    const void *at = (const char *)of + field->at;
    value v = {.text = NULL};
    int maybe;

    switch (field->unit) {
    case CLI_UNIT_STRING:
    case CLI_UNIT_WORDS:
        memcpy(&v.text, at, sizeof(v.text));
        break;
    case CLI_UNIT_COUNT:
    case CLI_UNIT_SOME:
        memcpy(&v.count, at, sizeof(v.count));
        break;
    case CLI_UNIT_MS:
    case CLI_UNIT_US:
        memcpy(&v.number, at, sizeof(v.number));
        break;
    case CLI_UNIT_TRUTH:
        memcpy(&v.is_true, at, sizeof(v.is_true));
        break;
    case CLI_UNIT_MAYBE:
        memcpy(&maybe, at, sizeof(maybe));
        v.number = maybe;
        v.is_true = maybe > 0;
        break;
    }
    v.text = v.text != NULL ? v.text : "";
    v.is_known = field->unit == CLI_UNIT_COUNT || field->unit == CLI_UNIT_US ||
                 (field->unit == CLI_UNIT_MS && v.number >= 0) ||
                 v.text[0] != '\0' || v.count != 0 || v.is_true;
    return v;
}

/* ---- JSON ------------------------------------------------------------------ */

void cli_json_field(cli_json *json, const cli_field *field, const void *of)
{
    const value v = value_of(field, of);

    if (field->unit == CLI_UNIT_TRUTH ||
        (field->unit == CLI_UNIT_MAYBE && v.number >= 0))
        cli_json_bool(json, field->key, v.is_true);
    else if (field->unit == CLI_UNIT_STRING)
        cli_json_text(json, field->key, v.text);
    else if (field->unit == CLI_UNIT_WORDS)
        cli_json_words(json, field->key, v.text);
    else if (!v.is_known)
        cli_json_null(json, field->key);
    else if (field->unit == CLI_UNIT_COUNT || field->unit == CLI_UNIT_SOME)
        cli_json_count(json, field->key, v.count);
    else
        cli_json_number(json, field->key, v.number);
}

void cli_json_record(cli_json *json, const char *key, const cli_field *fields,
                     unsigned in, const void *of)
{
    if (of == NULL) {
        cli_json_null(json, key);
        return;
    }
    cli_json_open(json, key, '{');
    for (; fields->key != NULL; fields++) {
        if ((fields->in & in) != 0)
            cli_json_field(json, fields, of);
    }
    cli_json_close(json, '}');
}

/* ---- text ------------------------------------------------------------------ */

/* A text of a view names fields that there are, or it is a defect. */
static const cli_field *
field_named(const cli_field *fields, const char *key, size_t size)
{
    while (strncmp(fields->key, key, size) != 0 || fields->key[size] != '\0')
        fields++;
    return fields;
}

/* columns 0: as many as it takes. */
static void
put_value(FILE *to, const cli_field *field, const void *of, int columns)
{
    const value v = value_of(field, of);
    char time[CLI_TIME_SIZE], part[256];

    if (columns > 0)
        (void)fputs(cli_clean_part(part, sizeof(part), v.text, columns), to);
    else if (field->unit == CLI_UNIT_STRING || field->unit == CLI_UNIT_WORDS)
        cli_put_clean(to, v.text);
    else if (field->unit == CLI_UNIT_COUNT || field->unit == CLI_UNIT_SOME)
        (void)fprintf(to, "%" PRIu64, v.count);
    else if (field->unit == CLI_UNIT_MS)
        (void)fputs(cli_time_words(time, (uint64_t)v.number), to);
}

/* What is between two places of a text. to NULL: only whether all is known. */
static bool put_part(FILE *to, const char *at, const char *end,
                     const cli_field *fields, const void *of)
{
    bool is_known = true;

    for (; at < end; at++) {
        const size_t size = *at == '{' ? strcspn(at, "}.") : 0;
        const cli_field *field;

        if (size == 0) {
            if (to != NULL)
                (void)fputc(*at, to);
            continue;
        }
        field = field_named(fields, at + 1, size - 1);
        is_known &= value_of(field, of).is_known;
        at += size;
        if (to != NULL)
            put_value(to, field, of,
                      *at == '.' ? (int)strtol(at + 1, NULL, 10) : 0);
        at = strchr(at, '}');
    }
    return is_known;
}

void cli_put_view(FILE *to, const char *text, const cli_field *fields,
                  const void *of)
{
    while (*text != '\0') {
        const char *end = text + strcspn(text, "[");
        const char *other;

        (void)put_part(to, text, end, fields, of);
        if (*end == '\0')
            return;
        text = end + 1;
        end = strchr(text, ']');
        other = memchr(text, '|', (size_t)(end - text));
        if (put_part(NULL, text, other != NULL ? other : end, fields, of))
            (void)put_part(to, text, other != NULL ? other : end, fields, of);
        else if (other != NULL)
            (void)put_part(to, other + 1, end, fields, of);
        text = end + 1;
    }
}

/* ---- metrics --------------------------------------------------------------- */

void cli_put_sample(FILE *to, const cli_field *field, const void *of)
{
    const value v = value_of(field, of);

    if (field->unit == CLI_UNIT_MS)
        (void)fprintf(to, "%.3f\n", (double)v.number / 1e3);
    else if (field->unit == CLI_UNIT_US)
        (void)fprintf(to, "%.6f\n", (double)v.number / 1e6);
    else
        (void)fprintf(to, "%" PRIu64 "\n", v.count);
}
