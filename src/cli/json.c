/* SPDX-License-Identifier: MIT */

#include "cli/json.h"

#include <inttypes.h>
#include <string.h>

#include "cli/utf8.h"

static void put_escape(FILE *to, uint32_t code)
{
    static const char letters[] = "\"\\\b\f\n\r\t";
    static const char names[] = "\"\\bfnrt";
    const char *found = code < 0x80 ? strchr(letters, (int)code) : NULL;

    if (found != NULL)
        (void)fprintf(to, "\\%c", names[found - letters]);
    else
        (void)fprintf(to, "\\u%04" PRIx32, code);
}

static void put_string(FILE *to, const char *text)
{
    (void)fputc('"', to);
    while (*text != '\0') {
        uint32_t code = 0;
        size_t length = cli_utf8_read(text, &code);

        if (length == 0) {
            (void)fputs("\\ufffd", to);
            length = 1;
        } else if (cli_utf8_is_control(code) || code == '"' || code == '\\') {
            put_escape(to, code);
        } else {
            (void)fwrite(text, 1, length, to);
        }
        text += length;
    }
    (void)fputc('"', to);
}

static void begin(cli_json *json, const char *key)
{
    if (json->needs_comma)
        (void)fputc(',', json->to);
    json->needs_comma = true;
    if (key != NULL) {
        put_string(json->to, key);
        (void)fputc(':', json->to);
    }
}

void cli_json_open(cli_json *json, const char *key, char bracket)
{
    begin(json, key);
    (void)fputc(bracket, json->to);
    json->needs_comma = false;
    json->depth++;
}

void cli_json_close(cli_json *json, char bracket)
{
    (void)fputc(bracket, json->to);
    json->needs_comma = --json->depth > 0;
    if (!json->needs_comma)
        (void)fputc('\n', json->to);
}

void cli_json_text(cli_json *json, const char *key, const char *text)
{
    begin(json, key);
    put_string(json->to, text);
}

void cli_json_words(cli_json *json, const char *key, const char *text)
{
    if (text == NULL || text[0] == '\0')
        cli_json_null(json, key);
    else
        cli_json_text(json, key, text);
}

void cli_json_count(cli_json *json, const char *key, uint64_t number)
{
    begin(json, key);
    (void)fprintf(json->to, "%" PRIu64, number);
}

void cli_json_number(cli_json *json, const char *key, int64_t number)
{
    begin(json, key);
    (void)fprintf(json->to, "%" PRId64, number);
}

void cli_json_known(cli_json *json, const char *key, bool is_known,
                    int64_t number)
{
    if (is_known)
        cli_json_number(json, key, number);
    else
        cli_json_null(json, key);
}

void cli_json_real(cli_json *json, const char *key, double number)
{
    begin(json, key);
    (void)fprintf(json->to, "%.3f", number);
}

void cli_json_bool(cli_json *json, const char *key, bool is_true)
{
    begin(json, key);
    (void)fputs(is_true ? "true" : "false", json->to);
}

void cli_json_null(cli_json *json, const char *key)
{
    begin(json, key);
    (void)fputs("null", json->to);
}
