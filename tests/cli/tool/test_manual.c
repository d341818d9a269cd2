/* SPDX-License-Identifier: MIT */

/* The man pages and docs/cli.md name every command and option, and no other. */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tool.h"

enum { WORD = 64, TEXT = 1 << 18 };

static char page[TEXT];   /* the source of latchkey(1), made by the tool */
static char pages[TEXT];  /* those of all pages */
static char names[TEXT];  /* of the pages of commands, a line each */
static char guide[TEXT];  /* docs/cli.md */
static char wanted[TEXT]; /* what the tool says, a line each */
static char common[TEXT]; /* the options of every command */

static void run(char *to, const char *const *arguments)
{
    tool *t = tool_start_list(NULL, arguments);

    if (tool_wait(t, 10000) != 0)
        fail_msg("%s", tool_err(t));
    (void)snprintf(to, TEXT, "%s", tool_out(t));
    tool_free(t);
}

/* Appends the pages of the commands. */
static void pages_make(void)
{
    static const char *const list[] = {"__manual", NULL};
    static char text[TEXT];
    size_t used = strlen(page);

    run(names, list);
    (void)snprintf(pages, TEXT, "%s", page);
    for (const char *at = names; *at != '\0'; at += strcspn(at, "\n") + 1) {
        char name[WORD];
        const char *const arguments[] = {"__manual", name, NULL};

        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "\n"), at);
        run(text, arguments);
        assert_true(used + strlen(text) < TEXT);
        (void)snprintf(pages + used, TEXT - used, "%s", text);
        used += strlen(text);
    }
}

static int texts_make(NO_STATE)
{
    static const char *const manual[] = {"__manual",
                                         LK_SOURCE_DIR "/docs/latchkey.1.in",
                                         NULL};
    static const char *const options[] = {"__complete", "-", NULL};
    FILE *file = fopen(LK_SOURCE_DIR "/docs/cli.md", "re");

    assert_non_null(file);
    guide[fread(guide, 1, TEXT - 1, file)] = '\0';
    (void)fclose(file);
    run(page, manual);
    run(common, options);
    pages_make();
    return 0;
}

/* Cuts the next line of *at down to its first word. NULL: there is none. */
static char *word_next(char **at)
{
    char *line = strsep(at, "\n");

    if (line == NULL || line[0] == '\0')
        return NULL;
    line[strcspn(line, "\t")] = '\0';
    return line;
}

/* Whether a text has word with nothing before and behind that could belong to
   it. */
static bool has_word(const char *text, const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz-_";
    const size_t size = strlen(word);
    const char *at = text;

    while ((at = strstr(at, word)) != NULL) {
        if (strchr(letters, at[size]) == NULL &&
            (at == text || strchr(letters, at[-1]) == NULL))
            return true;
        at++;
    }
    return false;
}

/* A text as it stands in a man page between changes of the font. */
static void set_bold(char to[4 * WORD], const char *text)
{
    size_t used = (size_t)snprintf(to, WORD, "\\fB");

    for (; *text != '\0' && used < (size_t)3 * WORD; text++) {
        if (*text == '-')
            to[used++] = '\\';
        to[used++] = *text;
    }
    (void)snprintf(to + used, WORD, "\\fR");
}

/* ---- what the tool has -------------------------------------------------- */

/* The page of a command, which latchkey(1) names. */
static void page_of(const char *command, char text[TEXT])
{
    const char *const arguments[] = {"__manual", command, NULL};
    char name[2 * WORD];
    char mark[4 * WORD];
    char head[6 * WORD];

    run(text, arguments);
    (void)snprintf(name, sizeof(name), "latchkey-%s", command);
    set_bold(mark, name);
    (void)snprintf(head, sizeof(head), "\n.TP\n%s(1)\n", mark);
    if (strstr(page, head) == NULL)
        fail_msg("latchkey(1) does not name %s(1)", name);
    (void)snprintf(name, sizeof(name), "latchkey %s", command);
    set_bold(mark, name);
    (void)snprintf(head, sizeof(head), "\n.SH SYNOPSIS\n%s ", mark);
    if (strstr(text, head) == NULL)
        fail_msg("the page of %s does not begin with it", command);
}

static void check_options(const char *command)
{
    const char *const arguments[] = {"__complete", command, "-", NULL};
    static char options[TEXT];
    static char text[TEXT];
    char mark[4 * WORD];
    char *at = options;
    char *option;

    page_of(command, text);
    run(options, arguments);
    while ((option = word_next(&at)) != NULL) {
        set_bold(mark, option);
        /* This one is latchkey(1)'s to tell of. */
        if (strcmp(option, "--help") != 0 && strstr(text, mark) == NULL)
            fail_msg("latchkey-%s(1) lacks %s", command, option);
        if (!has_word(guide, option))
            fail_msg("docs/cli.md lacks %s %s", command, option);
    }
}

CHECK_TEST(every_command_and_option_is_told_of)
{
    static const char *const arguments[] = {"__complete", "", NULL};
    char *at = wanted;
    char *command;

    run(wanted, arguments);
    while ((command = word_next(&at)) != NULL) {
        char usage[2 * WORD];
        char code[2 * WORD];

        (void)snprintf(usage, sizeof(usage), "latchkey %s", command);
        (void)snprintf(code, sizeof(code), "`%s", command);
        if (!has_word(guide, usage) && !has_word(guide, code))
            fail_msg("docs/cli.md does not say `%s`", usage);
        check_options(command);
    }
}

/* ---- what the pages have ------------------------------------------------ */

/* The pages without what sets them. */
static void pages_text(char *to)
{
    const char *from = pages;

    while (*from != '\0') {
        if (from[0] == '\\' && from[1] == 'f')
            from += 3;
        else if (from[0] == '\\' && from[1] == '-')
            from++;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

static void all_options(char *to)
{
    static const char *const arguments[] = {"__complete", "", NULL};
    size_t used = (size_t)snprintf(to, TEXT, "%s\n--version\n", common);
    char *at = wanted;
    char *command;

    run(wanted, arguments);
    while ((command = word_next(&at)) != NULL) {
        const char *const options[] = {"__complete", command, "-", NULL};

        run(to + used, options);
        used += strlen(to + used);
    }
}

static void check_words(const char *text, const char *where)
{
    static char options[4 * TEXT];
    const char *at = text;
    char word[WORD];

    all_options(options);
    while ((at = strstr(at, "--")) != NULL) {
        const size_t size = strspn(at, "-abcdefghijklmnopqrstuvwxyz");

        (void)snprintf(word, sizeof(word), "%.*s", (int)size, at);
        if (strspn(word, "-") == 2 && size > 2 && !has_word(options, word))
            fail_msg("%s says %s, and the tool has no such option", where,
                     word);
        at += size;
    }
    at = text;
    while ((at = strstr(at, "latchkey ")) != NULL) {
        at += strlen("latchkey ");
        (void)snprintf(word, sizeof(word), "%.*s",
                       (int)strspn(at, "abcdefghijklmnopqrstuvwxyz"), at);
        if (word[0] != '\0' && tool_code(NULL, "help", word, NULL) != 0)
            fail_msg("%s says latchkey %s, and the tool has no such command",
                     where, word);
    }
}

CHECK_TEST(no_other_command_or_option_is_told_of)
{
    static char text[TEXT];

    pages_text(text);
    check_words(text, "a man page");
    check_words(guide, "docs/cli.md");
}

/* ---- exit codes --------------------------------------------------------- */

/* The numbers behind each mark at the begin of a line, with commas. */
static void codes_of(const char *text, const char *mark, char to[WORD * 2])
{
    to[0] = '\0';
    while ((text = strstr(text, mark)) != NULL) {
        size_t size;

        text += strlen(mark);
        size = strspn(text, "0123456789");
        if (size >= 2)
            (void)snprintf(to + strlen(to), (size_t)WORD * 2 - strlen(to),
                           "%.*s,", (int)size, text);
    }
}

CHECK_TEST(all_tables_of_exit_codes_are_the_same)
{
    static const char *const arguments[] = {"help", NULL};
    static char help[TEXT];
    char expected[WORD * 2];
    char actual[WORD * 2];

    run(help, arguments);
    codes_of(guide, "\n| ", expected);
    assert_string_equal(expected, "64,69,70,74,75,77,78,124,126,127,");
    codes_of(page, "\n.B ", actual);
    assert_string_equal(actual, expected);
    for (const char *at = expected; *at != '\0'; at += strcspn(at, ",") + 1) {
        (void)snprintf(actual, sizeof(actual), "\n  %3.*s  ",
                       (int)strcspn(at, ","), at);
        assert_non_null(strstr(help, actual));
    }
}

/* ---- the form ----------------------------------------------------------- */

/* Whether each line is the one that groff 1.23 has of a page with a version in
   place of a date. */
static bool asks_for_a_date_alone(const char *lines)
{
    const char *end;

    for (; *lines != '\0'; lines = end + 1) {
        const char *found = strstr(lines, ".TH missing third argument");

        end = strchr(lines, '\n');
        if (end == NULL || found == NULL || found > end)
            return false;
    }
    return true;
}

static void groff_takes(const char *text, const char *width, const char *name)
{
    const int fd = memfd_create("page", MFD_CLOEXEC);
    const tool_how how = {.program = "groff", .in = fd};
    const char *const arguments[] = {"-man",   "-ww",    "-z",
                                     "-Tutf8", "-Kutf8", "-rCHECKSTYLE=3",
                                     width,    NULL};
    tool *t;

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    t = tool_start_list(&how, arguments);
    if (tool_wait(t, 60000) != 0 || !asks_for_a_date_alone(tool_err(t)))
        fail_msg("%s, %s: %s", name, width, tool_err(t));
    tool_free(t);
    (void)close(fd);
}

CHECK_TEST(groff_finds_no_fault_with_the_pages)
{
    const tool_how look = {.program = "groff"};

    if (tool_code(&look, "-v", NULL) != 0)
        skip();
    groff_takes(page, "-rLL=60n", "latchkey(1)");
    groff_takes(page, "-rLL=80n", "latchkey(1)");
    for (const char *at = names; *at != '\0'; at += strcspn(at, "\n") + 1) {
        static char text[TEXT];
        char name[WORD];
        const char *const arguments[] = {"__manual", name, NULL};

        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "\n"), at);
        run(text, arguments);
        if (strncmp(text, ".so ", 4) == 0)
            continue;
        groff_takes(text, "-rLL=60n", name);
        groff_takes(text, "-rLL=80n", name);
    }
}

CHECK_TEST(what_is_for_shells_and_the_build_has_no_page)
{
    assert_true(has_word(names, "semaphore"));
    assert_false(has_word(names, "__manual"));
}

CHECK_GROUP(texts_make, NULL)
