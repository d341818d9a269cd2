/* SPDX-License-Identifier: MIT */

/*
 * Terminals of 80 and of 60 columns: no line is wider, and each command that
 * tells of a holder still says which program it is, whose, and why.
 */

#include <locale.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "support/check.h"
#include "support/server.h"
#include "support/tool.h"

#define WIDE_NAME                                                              \
    "\345\220\215\345\211\215\345\220\215\345\211\215\345\220\215\345\211\215" \
    "\345\220\215\345\211\215\345\220\215\345\211\215\345\220\215\345\211\215"
#define LONG_NAME "backup:eu-west-1:database-primary-of-the-ledger:full"
#define REASON    "deploy 4.2 of the payments, with e\314\201clat \360\237\232\200"

enum { SOON_MS = 10000 };

static const unsigned short all_columns[] = {80, 60};
static const char *const names[] = {WIDE_NAME, LONG_NAME, "deploy"};

static server *redis;
static tool *holders[sizeof(names) / sizeof(names[0])];
static const char *user;

static int start(NO_STATE)
{
    const struct passwd *me = getpwuid(geteuid());
    tool_how how;

    redis = server_start(NULL);
    if (redis == NULL || me == NULL || setlocale(LC_CTYPE, "C.UTF-8") == NULL)
        return -1;
    user = me->pw_name;
    how = (tool_how){.url = server_url(redis)};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        holders[i] = tool_start(&how, "lock", "--why", REASON, names[i], "--",
                                "sleep", "1000", NULL);
        while (server_integer(redis, "EXISTS %s", names[i]) == 0)
            continue; /* the test's time limit ends it */
    }
    return 0;
}

static int end(NO_STATE)
{
    tool_free_all();
    server_stop(redis);
    return 0;
}

/* Leaves out what a terminal obeys; the end of a line stays. */
static void keep_text(char *text)
{
    char *to = text;

    for (const char *at = text; *at != '\0'; at++) {
        if (at[0] == '\033' && at[1] == '[') {
            at += 2 + strspn(at + 2, "?0123456789;");
            continue;
        }
        *to++ = *at == '\r' ? '\n' : *at;
    }
    *to = '\0';
}

/* Counted by the C library, character by character. */
static int columns_of(const char *line)
{
    wchar_t wide[1024];
    size_t count = mbstowcs(wide, line, 1024);
    int columns = 0;

    if (count >= 1024)
        fail_msg("no characters: %s", line);
    for (size_t i = 0; i < count; i++)
        columns += wcwidth(wide[i]);
    return columns;
}

/* What comes behind the last end of a line may still grow. */
static void assert_narrow(const char *written, int columns)
{
    char *text = strdup(written);
    char *rest = text;
    char *line;

    assert_non_null(text);
    keep_text(text);
    while ((line = strsep(&rest, "\n")) != NULL && rest != NULL) {
        if (columns_of(line) > columns)
            fail_msg("wider than %d columns: %s", columns, line);
    }
    free(text);
}

static void assert_said(const char *text, const char *word)
{
    if (strstr(text, word) == NULL)
        fail_msg("'%s' is not in: %s", word, text);
}

/* The reason may be shortened, and its words may stand in two lines. */
static void assert_told(const char *text, int columns)
{
    assert_narrow(text, columns);
    assert_said(text, "sleep");
    assert_said(text, user);
    assert_said(text, "deploy 4.2");
    assert_said(text, "e\314\201clat");
    assert_said(text, "\360\237\232\200");
}

static tool_how terminal(unsigned short columns)
{
    return (tool_how){.url = server_url(redis),
                      .has_terminal = true,
                      .columns = columns};
}

/* Runs it to its end on terminals of both widths. */
static void check(const char *command, const char *name)
{
    for (size_t i = 0; i < 2; i++) {
        const tool_how how = terminal(all_columns[i]);
        tool *t = tool_start(&how, command, name, NULL);

        assert_int_equal(tool_wait(t, SOON_MS), 0);
        assert_told(tool_out(t), all_columns[i]);
        tool_free(t);
    }
}

/* The same for what goes on until it is stopped, once it has said this. */
static void check_live(const char *command, const char *name, const char *last)
{
    for (size_t i = 0; i < 2; i++) {
        const tool_how how = terminal(all_columns[i]);
        tool *t = tool_start(&how, command, name, NULL);

        tool_wait_out(t, last, SOON_MS);
        assert_told(tool_out(t), all_columns[i]);
        tool_free(t);
    }
}

CHECK_TEST(a_list_keeps_what_a_holder_is)
{
    check("ls", "*");
}

CHECK_TEST(one_name_keeps_what_its_holder_is)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        check("who", names[i]);
        check("why", names[i]);
    }
}

CHECK_TEST(live_pictures_keep_what_a_holder_is)
{
    check_live("watch", "deploy", "\360\237\232\200\r\n");
    check_live("top", "*", "q quits");
}

/* The rate stands last in the row, and is cut before anything else is. */
CHECK_TEST(no_number_of_a_name_is_left_out)
{
    const tool_how how = terminal(60);
    tool *t = tool_start(&how, "top", "*", NULL);

    tool_wait_out(t, "q quits", SOON_MS);
    assert_said(tool_out(t), " RATE");
    assert_said(tool_out(t), "0.0/s");
    tool_free(t);
}

/* Every word of it, in lines that fit. */
CHECK_TEST(help_is_filled_into_the_columns_there_are)
{
    static const char *const subjects[] = {"lock", "break", "config",
                                           "metrics"};

    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        const tool_how plain = {.url = server_url(redis)};
        const tool_how how = terminal(60);
        tool *wide = tool_start(&plain, "help", subjects[i], NULL);
        tool *t = tool_start(&how, "help", subjects[i], NULL);
        char *end = NULL, *words = NULL, *word;

        assert_int_equal(tool_wait(wide, SOON_MS), 0);
        assert_int_equal(tool_wait(t, SOON_MS), 0);
        if (strcmp(subjects[i], "config") !=
            0) /* has a word of its own width */
            assert_narrow(tool_out(t), 60);
        words = strdup(tool_out(t));
        assert_non_null(words);
        word = strtok_r(words, " \r\n", &end);
        for (const char *at = tool_out(wide);
             *(at += strspn(at, " \n")) != '\0'; at += strcspn(at, " \n")) {
            assert_non_null(word);
            assert_int_equal(strncmp(at, word, strcspn(at, " \n")), 0);
            word = strtok_r(NULL, " \r\n", &end);
        }
        assert_null(word);
        free(words);
        tool_free(wide);
        tool_free(t);
    }
}

/* A paragraph is filled to its end, and a table keeps its columns. */
CHECK_TEST(help_keeps_paragraphs_and_columns)
{
    static const char *const env[] = {"COLUMNS=60", NULL};
    const tool_how how = {.url = server_url(redis), .env = env};

    assert_tool(&how, 0,
                "Waits until nobody else holds NAME, runs COMMAND, and "
                "exits\nas it did. The lease",
                "", "help", "lock", NULL);
    assert_tool(&how, 0,
                "      --time-limit TIME     end the command after that; exit\n"
                "                            code 124",
                "", "help", "lock", NULL);
}

/* Two looks: the lines of the first are drawn over. */
CHECK_TEST(a_wait_keeps_what_the_holder_is)
{
    for (size_t i = 0; i < 2; i++) {
        const tool_how how = terminal(all_columns[i]);
        tool *t = tool_start(&how, "lock", LONG_NAME, "true", NULL);

        tool_wait_out(t, "Awaiting for ", SOON_MS);
        tool_wait_out(t, "gives up\033[K\r\033[", SOON_MS);
        assert_told(tool_out(t), all_columns[i]);
        assert_said(tool_out(t), "the-ledger:full:");
        assert_said(tool_out(t), "position ");
        assert_said(tool_out(t), " lease");
        tool_free(t);
    }
}

/* A language without blanks has no place where a line could end. */
CHECK_TEST(a_wait_tells_a_reason_without_blanks)
{
    static const char reason[] =
        "\346\227\245\346\234\254\350\252\236\346\227\245\346\234\254"
        "\350\252\236\346\227\245\346\234\254\350\252\236\346\227\245"
        "\346\234\254\350\252\236\346\227\245\346\234\254\350\252\236"
        "\346\227\245\346\234\254\350\252\236\346\227\245\346\234\254"
        "\350\252\236\346\227\245\346\234\254\350\252\236\346\227\245"
        "\346\234\254\350\252\236\346\227\245\347\265\202";
    const tool_how plain = {.url = server_url(redis)};
    const tool_how how = terminal(60);
    tool *holder = tool_start(&plain, "lock", "--why", reason, "wide", "-c",
                              "echo held=1; exec sleep 1000", NULL);
    tool *t;

    (void)tool_wait_number(holder, "held", SOON_MS);
    t = tool_start(&how, "lock", "wide", "true", NULL);
    tool_wait_out(t, "gives up\033[K", SOON_MS);
    assert_narrow(tool_out(t), 60);
    assert_said(tool_out(t), "\347\265\202"); /* the last of them */
    tool_free(t);
    tool_free(holder);
}

/* What was drawn is taken away, so that the command's output stands alone. */
CHECK_TEST(nothing_is_left_of_the_lines_of_a_wait)
{
    const tool_how plain = {.url = server_url(redis)};
    const tool_how how = terminal(60);
    tool *holder = tool_start(&plain, "lock", "--why", REASON, "n", "-c",
                              "echo child=$$; exec sleep 1000", NULL);
    pid_t child = (pid_t)tool_wait_number(holder, "child", SOON_MS);
    tool *t = tool_start(&how, "lock", "n", "echo", "mine", NULL);

    tool_wait_out(t, "gives up\033[K", SOON_MS);
    assert_int_equal(kill(child, SIGTERM), 0);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_said(tool_out(t), "A\033[Jmine\r\n");
    tool_free(t);
    tool_free(holder);
}

/* On standard output and on standard error. */
CHECK_TEST(advice_and_refusals_are_continued)
{
    static const char *const lines[][4] = {
        {"doctor", "--watch", "0.1", NULL},
        {"config", "--explain", NULL},
        {"release", NULL},
        {"lock", "-n", LONG_NAME, "true"},
    };
    static const char *const said[] = {"appendfsync", "tls-key-file",
                                       "evaluated?", "not obtained"};

    for (size_t i = 0; i < 4; i++) {
        const tool_how how = terminal(60);
        tool *t = tool_start(&how, lines[i][0], lines[i][1], lines[i][2],
                             lines[i][3], NULL);

        (void)tool_wait(t, SOON_MS);
        assert_narrow(tool_out(t), 60);
        assert_said(tool_out(t), said[i]);
        tool_free(t);
    }
}

/* Both ends of it, and how much is left out is what both ends leave. */
CHECK_TEST(a_long_name_can_be_told_by_both_ends)
{
    static const char *const env[] = {"LC_ALL=C.UTF-8", NULL};
    tool_how how = terminal(60);
    tool *t;

    how.env = env;
    t = tool_start(&how, "ls", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_narrow(tool_out(t), 60);
    assert_said(tool_out(t), "backup:eu-");
    assert_said(tool_out(t), "\342\200\246");
    assert_said(tool_out(t), "ledger:full  lock ");
    tool_free(t);
}

/* Colours are for terminals, unless somebody says otherwise. */
CHECK_TEST(colours_go_where_they_are_wanted)
{
    static const char *const none[] = {"NO_COLOR=1", NULL};
    const tool_how pipe = {.url = server_url(redis)};
    tool_how how = terminal(80);
    tool *t = tool_start(&how, "ls", NULL);

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_said(tool_out(t), "\033[2mNAME ");
    assert_tool(&how, 0, "\033[1mdeploy\033[0m: lock", NULL, "who", "deploy",
                NULL);
    assert_tool(&how, 0, "deploy: lock", NULL, "who", "deploy", "--color=never",
                NULL);
    how.env = none;
    assert_tool(&how, 0, "deploy: lock", NULL, "who", "deploy", NULL);
    assert_tool(&pipe, 0, "deploy: lock", "", "who", "deploy", NULL);
    assert_tool(&pipe, 0, "\033[1mdeploy\033[0m: lock", "", "who", "deploy",
                "--color=always", NULL);
    tool_free(t);
}

CHECK_GROUP(start, end)
