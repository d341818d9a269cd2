/* SPDX-License-Identifier: MIT */
#include "support/check.h"

#include <latchkey/hold.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/login.h"
#include "support/paths.h"
#include "support/server.h"
#include "support/wait.h"

void check_unreachable(lk_loss loss, const char *file, int line)
{
    if (loss != LK_LOSS_STOPPED || wait_allowed_ms(1000) == 1000)
        _assert_int_equal(loss, LK_LOSS_UNREACHABLE, file, line);
}

bool hold_is_lost(void *hold)
{
    return lk_hold_check(hold) == LK_ELOST;
}

void check_says(lk_status actual, lk_status expected, const char *word,
                const char *file, int line)
{
    _assert_string_equal(lk_status_name(actual), lk_status_name(expected), file,
                         line);
    if (strstr(lk_last_error(), word) != NULL)
        return;
    print_error("\"%s\" does not tell of \"%s\"\n", lk_last_error(), word);
    _fail(file, line);
}

void check_goes_on(wait_span *span, const char *condition, const char *file,
                   int line)
{
    _assert_true(wait_goes_on(span), condition, file, line);
}

void check_denied(lk_status actual, lk_status expected, const char *command,
                  const char *file, int line)
{
    const bool is_named = strstr(lk_last_error(), "ACL LOG") == NULL;

    check_says(actual, expected, is_named ? command : "ACL LOG", file, line);
}

/* The file that runs: one for each process. */
static const char *running = "";

/* One line of the list: a file, its test or *, and why. */
static bool is_of(const char *line, const char *test)
{
    char words[2][128];

    return sscanf(line, "%127s %127s", words[0], words[1]) == 2 &&
           strcmp(words[0], running) == 0 &&
           (strcmp(words[1], "*") == 0 || strcmp(words[1], test) == 0);
}

/* Whether it needs more rights than a program does, which is told. */
static bool needs_more(const char *test)
{
    FILE *list = fopen(LK_SOURCE_DIR "/tests/more_rights.txt", "re");
    char line[256];
    bool does = false;

    assert_non_null(list);
    while (!does && fgets(line, sizeof(line), list) != NULL)
        does = is_of(line, test);
    (void)fclose(list);
    if (does)
        print_message("not run: %s", line);
    return does;
}

static check_test *added;

void check_add(check_test *test)
{
    check_test **place = &added;

    while (*place != NULL && (*place)->line < test->line)
        place = &(*place)->next;
    test->next = *place;
    *place = test;
}

/* Without it all would be well with tests that nobody runs. An assertion of cmocka
   says nothing outside a test. */
static void must(bool is_so, const char *otherwise)
{
    if (is_so)
        return;
    (void)fprintf(stderr, "%s: %s\n", running, otherwise);
    exit(EXIT_FAILURE);
}

/* Moves the tests of a file off the list. At most count of them. */
static size_t take(const char *file, struct CMUnitTest *tests, size_t count)
{
    check_test **place = &added;
    size_t n = 0;

    while (*place != NULL) {
        if (n < count && strcmp((*place)->file, file) == 0) {
            tests[n++] = (*place)->test;
            *place = (*place)->next;
        } else {
            place = &(*place)->next;
        }
    }
    return n;
}

int check_added(const char *file, CMFixtureFunction setup,
                CMFixtureFunction teardown)
{
    struct CMUnitTest *tests;
    size_t count = 0;
    int failed;

    for (const check_test *t = added; t != NULL; t = t->next)
        count++;
    tests = calloc(count + 1, sizeof(*tests));
    assert_non_null(tests);
    count = take(file, tests, count);
    must(count > 0, "no test was added");
    failed = check_run(running, tests, count, setup, teardown);
    free(tests);
    return failed;
}

int check_run(const char *group, const struct CMUnitTest *tests, size_t count,
              CMFixtureFunction setup, CMFixtureFunction teardown)
{
    struct CMUnitTest *kept = calloc(count, sizeof(*kept));
    size_t n = 0;
    int failed;

    must(count > 0, "the list has no test");
    assert_non_null(kept);
    for (size_t i = 0; i < count; i++) {
        if (login_text()[0] == '\0' || !needs_more(tests[i].name))
            kept[n++] = tests[i];
    }
    failed = n > 0 ? _cmocka_run_group_tests(group, kept, n, setup, teardown)
                   : SERVER_LACKS;
    free(kept);
    return failed;
}

static check_group *groups;

void check_begin(check_group *group)
{
    group->next = groups;
    groups = group;
}

/* Whether it is the file test_<name>.c, of the one that runs. */
static bool runs(const char *file)
{
    const char *slash = strrchr(file, '/');
    char expected[128];

    (void)snprintf(expected, sizeof(expected), "test_%s.c",
                   strchr(running, '.') + 1);
    return strcmp(slash != NULL ? slash + 1 : file, expected) == 0;
}

static int run_file(void)
{
    const check_test *t = added;
    const check_group *g = groups;

    while (t != NULL && !runs(t->file))
        t = t->next;
    while (g != NULL && !runs(g->file))
        g = g->next;
    must(t != NULL, "no test was added");
    return check_added(t->file, g != NULL ? g->setup : NULL,
                       g != NULL ? g->teardown : NULL);
}

int check_main(const check_file *files, int argc, char **argv)
{
    const check_file *f = files;

    if (argc < 2) {
        for (; f->name != NULL; f++)
            (void)puts(f->name);
        return EXIT_SUCCESS;
    }
    while (f->name != NULL && strcmp(f->name, argv[1]) != 0)
        f++;
    running = argv[1];
    must(f->name != NULL, "no such file of tests in this program");
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return f->run != NULL ? f->run() : run_file();
}
