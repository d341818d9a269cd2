/* SPDX-License-Identifier: MIT */

/* The tables of the manual say what the code does. */

#include <latchkey/status.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/options.h"
#include "settings/url.h"
#include "support/check.h"
#include "support/paths.h"

/* Reads a file of docs/. Free it. */
static char *read_page(const char *name)
{
    char path[1024];
    char *page = calloc(1, 65536);
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/docs/%s", LK_SOURCE_DIR, name);
    file = fopen(path, "r");
    assert_non_null(page);
    assert_non_null(file);
    assert_in_range(fread(page, 1, 65535, file), 1, 65534);
    assert_int_equal(fclose(file), 0);
    return page;
}

static void assert_has(const char *page, const char *part)
{
    if (strstr(page, part) == NULL)
        fail_msg("not in the page: %s", part);
}

/* How many lines of the page begin so. */
static size_t count_lines(const char *page, const char *begin)
{
    size_t count = 0;

    for (const char *at = page; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        count += strncmp(at, begin, strlen(begin)) == 0;
    }
    return count;
}

CHECK_TEST(errors_md_has_the_table_of_statuses)
{
    static const lk_status all[] = {
#define X(name, value, retriable, text) LK_##name,
        LK_STATUS_MAP(X)
#undef X
    };
    const size_t count = sizeof(all) / sizeof(all[0]);
    char *page = read_page("errors.md");

    for (size_t i = 0; i < count; i++) {
        char line[512];

        (void)snprintf(line, sizeof(line), "\n| `LK_%s` | %d | %s | %s |\n",
                       lk_status_name(all[i]), (int)all[i],
                       lk_status_is_retriable(all[i]) ? "yes" : "no",
                       lk_status_text(all[i]));
        assert_has(page, line);
    }
    /* Each has a second line, on what to do. */
    assert_int_equal(count_lines(page, "| `LK_"), 2 * count);
    free(page);
}

/* Writes an option's line of the table: its words or its numbers. */
static void option_line(const lk__option *option, char *line, size_t size)
{
    const char *kind = "number";

    if (option->kind == LK__OPTION_CHOICE) {
        (void)snprintf(line, size, "\n| `%s` | `%s`", option->key,
                       option->choices[0].word);
        return;
    }
    if (option->kind == LK__OPTION_STRING) {
        (void)snprintf(line, size,
                       "\n| `%s` | text | %s | %" PRIu64 " | %" PRIu64 " |\n",
                       option->key,
                       strcmp(option->key, "name") == 0 ? "the program's name"
                                                        : "none",
                       option->min, option->max);
        return;
    }
    if (option->kind == LK__OPTION_MS)
        kind = "time";
    else if (option->kind == LK__OPTION_FLAG)
        kind = "flag";
    (void)snprintf(line, size,
                   "\n| `%s` | %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64
                   " |\n",
                   option->key, kind, option->initial, option->min,
                   option->max);
}

CHECK_TEST(url_md_has_the_table_of_options)
{
    char *page = read_page("url.md");
    char *table = strstr(page, "| option | kind |");

    assert_non_null(table);
    for (size_t i = 0; i < lk__option_count; i++) {
        char line[512];

        option_line(&lk__options[i], line, sizeof(line));
        assert_has(table, line);
    }
    assert_int_equal(count_lines(table, "| `"), lk__option_count);
    free(page);
}

CHECK_TEST(url_md_names_every_word_of_a_choice)
{
    char *page = read_page("url.md");

    for (size_t i = 0; i < lk__option_count; i++) {
        const lk__option *option = &lk__options[i];
        const lk__choice *choice = option->choices;
        char begin[64];
        const char *row;

        if (option->kind != LK__OPTION_CHOICE)
            continue;
        (void)snprintf(begin, sizeof(begin), "\n| `%s` |", option->key);
        row = strstr(page, begin);
        assert_non_null(row);
        for (; choice->word != NULL; choice++) {
            char word[64];

            (void)snprintf(word, sizeof(word), "`%s`", choice->word);
            assert_has(row, word);
            if (choice->value != option->initial)
                continue;
            (void)snprintf(word, sizeof(word), "| `%s` | | |\n", choice->word);
            assert_has(row, word);
        }
    }
    free(page);
}

/* The examples in the page's second table, as they stand there. */
CHECK_TEST(the_examples_of_url_md_are_understood)
{
    char *page = read_page("url.md");
    char *end = strstr(page, "## Spellings");
    size_t examples = 0;

    assert_non_null(end);
    *end = '\0';
    for (char *at = strstr(page, "\n| `"); at != NULL;
         at = strstr(at, "\n| `")) {
        lk__url parsed;
        char *url = at + 4;

        at = strchr(url, '`');
        assert_non_null(at);
        *at++ = '\0';
        assert_status(lk__url_parse(&parsed, url), LK_OK);
        lk__url_done(&parsed);
        examples++;
    }
    assert_true(examples >= 8);
    free(page);
}
