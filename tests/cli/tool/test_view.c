/* SPDX-License-Identifier: MIT */

/* One description of a view: its text, its JSON and its samples. */

#include <stdio.h>
#include <stdlib.h>

#include "cli/view.h"
#include "support/check.h"

typedef struct thing {
    const char *name, *words;
    uint64_t count, some;
    int64_t ms, us;
    bool is_so;
    int maybe;
} thing;

static const cli_field fields[] = {
    {"name", CLI_UNIT_STRING, offsetof(thing, name), 3},
    {"words", CLI_UNIT_WORDS, offsetof(thing, words), 1},
    {"count", CLI_UNIT_COUNT, offsetof(thing, count), 1},
    {"some", CLI_UNIT_SOME, offsetof(thing, some), 1},
    {"ms", CLI_UNIT_MS, offsetof(thing, ms), 2},
    {"us", CLI_UNIT_US, offsetof(thing, us), 2},
    {"is_so", CLI_UNIT_TRUTH, offsetof(thing, is_so), 1},
    {"maybe", CLI_UNIT_MAYBE, offsetof(thing, maybe), 1},
    {.key = NULL},
};

static const thing none = {.name = "", .ms = -1, .maybe = -1};
static const thing all = {"a\nb", "w", 0, 7, 1500, -2500000, true, 0};

typedef struct sheet {
    FILE *to;
    char *text;
    size_t size;
} sheet;

static void sheet_open(sheet *s)
{
    s->to = open_memstream(&s->text, &s->size);
    assert_non_null(s->to);
}

static void assert_written(sheet *s, const char *wanted)
{
    assert_int_equal(fclose(s->to), 0);
    assert_string_equal(s->text, wanted);
    free(s->text);
}

static void assert_text(const char *view, const thing *of, const char *wanted)
{
    sheet s;

    sheet_open(&s);
    cli_put_view(s.to, view, fields, of);
    assert_written(&s, wanted);
}

CHECK_TEST(brackets_stand_where_all_in_them_is_known)
{
    static const char view[] = "[{words}, ][{words} {some}, ][so{is_so}, "
                               "][is{maybe}, ][{ms}|never], {count}";

    assert_text(view, &all, "w, w 7, so, 1.50 s, 0");
    assert_text(view, &none, "never, 0");
    assert_text("[{words}{some}|{name}-]", &none, "-");
}

CHECK_TEST(what_others_wrote_is_cleaned_and_cut)
{
    assert_text("{name}|{name.2}", &all, "a\\x0ab|…b");
}

static void assert_json(unsigned in, const thing *of, const char *wanted)
{
    sheet s;
    cli_json json;

    sheet_open(&s);
    json = (cli_json){.to = s.to};
    cli_json_open(&json, NULL, '{');
    cli_json_record(&json, "of", fields, in, of);
    cli_json_close(&json, '}');
    assert_written(&s, wanted);
}

CHECK_TEST(a_document_has_its_members)
{
    assert_json(1, &none,
                "{\"of\":{\"name\":\"\",\"words\":null,\"count\":0,"
                "\"some\":null,\"is_so\":false,\"maybe\":null}}\n");
    assert_json(1, &all,
                "{\"of\":{\"name\":\"a\\nb\",\"words\":\"w\",\"count\":0,"
                "\"some\":7,\"is_so\":true,\"maybe\":false}}\n");
    assert_json(2, &all,
                "{\"of\":{\"name\":\"a\\nb\",\"ms\":1500,\"us\":-2500000}}\n");
    assert_json(1, NULL, "{\"of\":null}\n");
}

CHECK_TEST(a_sample_of_a_time_is_in_seconds)
{
    sheet s;

    sheet_open(&s);
    for (size_t i = 2; i < 6; i++)
        cli_put_sample(s.to, &fields[i], &all);
    assert_written(&s, "0\n7\n1.500\n-2.500000\n");
}
