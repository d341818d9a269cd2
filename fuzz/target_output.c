/* SPDX-License-Identifier: MIT */

/*
 * What the tool writes about names and people whom others have named: nothing
 * that a terminal obeys, nothing wider than it may be, and JSON that is JSON.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/output.h"
#include "cli/see/rows.h"
#include "cli/utf8.h"
#include "input.h"

enum { ROWS = 4, TEXTS = 9 };

static char *texts[TEXTS];

/* ---- what was written ----------------------------------------------------------- */

typedef struct sheet {
    char *text;
    size_t size;
    FILE *to;
} sheet;

static void sheet_open(sheet *s)
{
    s->text = NULL;
    s->to = open_memstream(&s->text, &s->size);
    if (s->to == NULL)
        input_fail("no memory");
}

static void sheet_close(sheet *s)
{
    if (fclose(s->to) != 0 || strlen(s->text) != s->size)
        input_fail("a NUL was written");
}

/* All but newlines is plain; columns of a line, 0 for any. */
static void check_lines(sheet *s, int columns)
{
    char *rest = s->text, *line;

    sheet_close(s);
    while ((line = strsep(&rest, "\n")) != NULL) {
        if (!cli_utf8_is_plain(line))
            input_fail("something that a terminal obeys was written");
        if (columns > 0 && cli_utf8_width(line) > columns)
            input_fail("a line is wider than it may be");
    }
    free(s->text);
}

/* ---- whether it is JSON ---------------------------------------------------------- */

static const char *json_skip_string(const char *at)
{
    static const char escapes[] = "\"\\/bfnrtu";

    for (at++; *at != '"'; at++) {
        if (*at == '\0' || (unsigned char)*at < ' ')
            input_fail("a JSON string without an end");
        if (*at == '\\' && (*++at == '\0' || strchr(escapes, *at) == NULL))
            input_fail("a JSON escape that there is not");
    }
    return at + 1;
}

enum { JSON_DEPTH = 32 };

/* Opens or closes one; any other character is let pass. Returns how many are
   open then. */
static size_t json_bracket(char open[JSON_DEPTH], size_t depth, char bracket)
{
    bool is_end = bracket == '}' || bracket == ']';

    if (bracket == '{' || bracket == '[') {
        if (depth == JSON_DEPTH)
            input_fail("JSON that is too deep");
        open[depth++] = bracket;
    } else if (is_end) {
        if (depth == 0 || open[--depth] != (bracket == '}' ? '{' : '['))
            input_fail("JSON brackets that do not match");
    }
    return depth;
}

/* Brackets that match, strings that end; numbers and words as they are. */
static void json_check(const char *at)
{
    char open[JSON_DEPTH];
    size_t depth = 0;

    while (*at != '\0') {
        if (*at == '"') {
            at = json_skip_string(at);
        } else {
            depth = json_bracket(open, depth, *at);
            at++;
        }
    }
    if (depth != 0)
        input_fail("JSON without an end");
}

static void check_json(sheet *s)
{
    size_t size = 0;

    sheet_close(s);
    json_check(s->text);
    for (const char *at = s->text; *at != '\0'; at += size) {
        uint32_t code = 0;

        size = cli_utf8_read(at, &code);
        if (size == 0 || (code != '\n' && cli_utf8_is_control(code)))
            input_fail("JSON that is not plain UTF-8");
    }
    free(s->text);
}

/* ---- people and names ------------------------------------------------------------- */

static lk_party party_make(input *in)
{
    return (lk_party){.owner = texts[0],
                      .host = texts[1],
                      .command = texts[2],
                      .user = texts[3],
                      .name = texts[4],
                      .reason = texts[5],
                      .pid = (uint64_t)input_number(in),
                      .mode = texts[6],
                      .count = (uint64_t)input_number(in),
                      .fence = (uint64_t)input_number(in),
                      .since_ms = (uint64_t)input_number(in),
                      .lease_ms = input_number(in),
                      .waits_for = texts[7]};
}

static void show_party(const cli *c, const lk_party *party)
{
    const lk_info info = {.holder_count = 1,
                          .holders = &party,
                          .waiter_count = 1,
                          .listed_count = 1,
                          .waiters = &party};
    lk_kind kind = (lk_kind)(party->count % 6);
    sheet s;
    cli_json json;

    sheet_open(&s);
    see_put_info(c, s.to, texts[8], kind, &info, "");
    see_put_party(s.to, party);
    check_lines(&s, 0);
    sheet_open(&s);
    json = (cli_json){.to = s.to};
    cli_json_open(&json, NULL, '{');
    see_json_info(&json, texts[8], kind, &info);
    cli_json_close(&json, '}');
    check_json(&s);
}

static void show_rows(const cli *c, const lk_party *party, input *in)
{
    lk_entry entries[ROWS];
    const lk_entry *pointers[ROWS];
    lk_listing listing = {.count = ROWS,
                          .entries = pointers,
                          .missing = texts[7]};
    see_row rows[ROWS];
    const see_rows all = {.listing = &listing, .rows = rows, .count = ROWS};
    int columns = 8 + (int)input_byte(in);
    sheet s;

    for (size_t i = 0; i < ROWS; i++) {
        entries[i] = (lk_entry){.name = texts[(i + 8) % TEXTS],
                                .kind = (lk_kind)input_below(in, 6),
                                .holder_count = (uint64_t)input_number(in),
                                .waiter_count = (uint64_t)input_number(in),
                                .has_value = i % 2 == 0,
                                .value = input_number(in),
                                .holder = i % 3 == 0 ? NULL : party};
        pointers[i] = &entries[i];
        rows[i] = (see_row){.entry = &entries[i], .rate = -1};
    }
    sheet_open(&s);
    see_put_rows(c, s.to, &all, ROWS, columns, true);
    check_lines(&s, columns);
    sheet_open(&s);
    see_put_rows(c, s.to, &all, ROWS, CLI_UNBOUND, true);
    check_lines(&s, 0);
    sheet_open(&s);
    see_json_rows(s.to, &all, NULL);
    check_json(&s);
}

static void show_text(const char *text, int columns)
{
    char clean[64];
    size_t fit = cli_utf8_fit(text, columns);

    if (fit > strlen(text))
        input_fail("more fits than there is");
    if (!cli_utf8_is_plain(cli_clean(clean, sizeof(clean), text)))
        input_fail("a clean text is not clean");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {.at = bytes, .left = size};
    const cli c = {.command = NULL, .color = 2}; /* never */
    lk_party party;

    for (size_t i = 0; i < TEXTS; i++)
        texts[i] = input_text(&in);
    party = party_make(&in);
    show_text(texts[0], input_byte(&in));
    show_party(&c, &party);
    show_rows(&c, &party, &in);
    for (size_t i = 0; i < TEXTS; i++)
        free(texts[i]);
    return 0;
}
