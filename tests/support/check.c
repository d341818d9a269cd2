/* SPDX-License-Identifier: MIT */
#include "support/check.h"

#include <latchkey/hold.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/login.h"
#include "support/server.h"

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

/* One line of the list: a program, its test or *, and why. */
static bool is_of(const char *line, const char *program, const char *test)
{
    char words[2][128];

    return sscanf(line, "%127s %127s", words[0], words[1]) == 2 &&
           strcmp(words[0], program) == 0 &&
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
        does = is_of(line, program_invocation_short_name, test);
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

/* Else all would be well with tests that nobody runs. An assertion of cmocka says
   nothing outside a test. */
static void must(bool is_so, const char *otherwise)
{
    if (is_so)
        return;
    (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, otherwise);
    exit(EXIT_FAILURE);
}

int check_all(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    struct CMUnitTest *tests;
    size_t count = 0;
    size_t n = 0;
    int failed;

    for (const check_test *t = added; t != NULL; t = t->next)
        count++;
    must(count > 0, "no test was added");
    tests = calloc(count, sizeof(*tests));
    assert_non_null(tests);
    for (const check_test *t = added; t != NULL; t = t->next)
        tests[n++] = t->test;
    added = NULL;
    failed =
        check_run(program_invocation_short_name, tests, count, setup, teardown);
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
    must(added == NULL, "the list lacks the tests that were added");
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
