/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CHECK_H
#define LK_TESTS_SUPPORT_CHECK_H

/* cmocka with the headers it wants first, and the library's own assertion. */

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <latchkey/hold.h>

#include <stdbool.h>

#include "support/wait.h"

/*
 * Both are an lk_status. They are compared by name, so that a failure reads
 * "EBUSY" != "OK". A macro for the sake of the caller's file and line.
 */
#define assert_status(actual, expected)                                        \
    _assert_string_equal(lk_status_name(actual), lk_status_name(expected),     \
                         __FILE__, __LINE__)

/* The same, and lk_last_error() tells of the word. */
#define assert_says(actual, expected, word)                                    \
    check_says((actual), (expected), (word), __FILE__, __LINE__)
/* The same of a command that a script may not call: newer servers name it, of others
   lk_last_error() says where they have its name. */
#define assert_denied(actual, expected, command)                               \
    check_denied((actual), (expected), (command), __FILE__, __LINE__)
/* A call that is refused for what it was given. */
#define assert_einval(actual, word) assert_says(actual, LK_EINVAL, word)
void check_says(lk_status actual, lk_status expected, const char *word,
                const char *file, int line);
void check_denied(lk_status actual, lk_status expected, const char *command,
                  const char *file, int line);

/* The condition is asked again and again, as wait_until() does, until it is true; the
   test fails when deadline_ms, scaled, have passed. */
#define assert_soon(condition, deadline_ms)                                    \
    for (wait_span span_ = wait_begin(deadline_ms); !(condition);              \
         check_goes_on(&span_, #condition, __FILE__, __LINE__))                \
    continue

/* Fails the test if the span is over. */
void check_goes_on(wait_span *span, const char *condition, const char *file,
                   int line);

/* An lk_loss: the server was not reached in time. Where threads wait for a processor,
   the loop of the library may have waited as well, which it says instead. */
#define assert_unreachable(loss) check_unreachable((loss), __FILE__, __LINE__)
void check_unreachable(lk_loss loss, const char *file, int line);

/* For wait_until(): whether this lk_hold is lost. */
bool hold_is_lost(void *hold);

/* The parameter of a test, a set-up or a teardown that has no use for its state. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration */
#define NO_STATE void **state __attribute__((unused))

/* A test of a list: a name of its own, what runs it, and its state. */
#define CHECK_CASE(title, run, state)                                          \
    {                                                                          \
        .name = #title, .test_func = (run), .initial_state = (state)           \
    }

/* Of the tests those for which the user of login.h has the rights. */
#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests(tests, setup, teardown)                         \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)              \
    check_run(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
int check_run(const char *group, const struct CMUnitTest *tests, size_t count,
              CMFixtureFunction setup, CMFixtureFunction teardown);

/* A test that is on its file's list. */
typedef struct check_test {
    struct CMUnitTest test;
    const char *file;
    int line;
    struct check_test *next;
} check_test;

/* Before main(). The test stays the caller's, and lives as long as the program. */
void check_add(check_test *test);
/* Runs those that this file has added, in the order of their lines. */
#define check_all(setup, teardown)                                             \
    check_added(__BASE_FILE__, (setup), (teardown))
int check_added(const char *file, CMFixtureFunction setup,
                CMFixtureFunction teardown);

/* What begins and ends the tests of a file, once for all of them; of a file without
   it nothing does. */
typedef struct check_group {
    const char *file;
    CMFixtureFunction setup, teardown;
    struct check_group *next;
} check_group;

void check_begin(check_group *group);
#define CHECK_GROUP(setup, teardown)                                           \
    __attribute__((constructor)) static void group_add(void)                   \
    {                                                                          \
        static check_group group = {__BASE_FILE__, setup, teardown, NULL};     \
                                                                               \
        check_begin(&group);                                                   \
    }

/* A file of tests in a program: its name for ctest, <kind>.<name>, and what runs
   them; NULL: those that test_<name>.c has added are run. */
typedef struct check_file {
    const char *name;
    int (*run)(void);
} check_file;

/*
 * The main() of a program of tests, whose files end with a NULL: argv[1] is the
 * name of the file to run, argv[2] the test in it, with the wildcards of cmocka.
 * Without a name, the names are printed.
 */
int check_main(const check_file *files, int argc, char **argv);

#define CHECK_ADD(name, run, setup, teardown)                                  \
    __attribute__((constructor)) static void name##_add(void)                  \
    {                                                                          \
        static check_test test = {{#name, run, setup, teardown, NULL},         \
                                  __BASE_FILE__,                               \
                                  __LINE__,                                    \
                                  NULL};                                       \
                                                                               \
        check_add(&test);                                                      \
    }

/*
 * A test of its file: its body follows, and no list has to name it. The second
 * one has a fixture, `type *f`, which setup leaves in *state. Most fixtures have a
 * macro of their own that says all but the name:
 *
 *     SCRIPT_TEST(a_free_lock_is_taken)
 *     {
 *         assert_like(sig_acquire(f, "u:1"), "1 30000");
 *     }
 */
#define CHECK_TEST(name)                                                       \
    static void name(void);                                                    \
    static void name##_run(void **state)                                       \
    {                                                                          \
        (void)state;                                                           \
        name();                                                                \
    }                                                                          \
    CHECK_ADD(name, name##_run, NULL, NULL)                                    \
    static void name(void)
#define CHECK_TEST_OF(name, fixture, setup, teardown)                          \
    static void name(fixture);                                                 \
    static void name##_run(void **state)                                       \
    {                                                                          \
        name(*state);                                                          \
    }                                                                          \
    CHECK_ADD(name, name##_run, setup, teardown)                               \
    static void name(fixture)

#endif /* LK_TESTS_SUPPORT_CHECK_H */
