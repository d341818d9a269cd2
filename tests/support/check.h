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

#include <latchkey/status.h>

#include <stdbool.h>

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
/* A call that is refused for what it was given. */
#define assert_einval(actual, word) assert_says(actual, LK_EINVAL, word)
void check_says(lk_status actual, lk_status expected, const char *word,
                const char *file, int line);

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

/* A test that is on the program's list. */
typedef struct check_test {
    struct CMUnitTest test;
    int line;
    struct check_test *next;
} check_test;

/* Before main(). The test stays the caller's, and lives as long as the program. */
void check_add(check_test *test);
/* Runs those that were added, in the order of their lines. */
int check_all(CMFixtureFunction setup, CMFixtureFunction teardown);

#define CHECK_ADD(name, run, setup, teardown)                                  \
    __attribute__((constructor)) static void name##_add(void)                  \
    {                                                                          \
        static check_test test = {{#name, run, setup, teardown, NULL},         \
                                  __LINE__,                                    \
                                  NULL};                                       \
                                                                               \
        check_add(&test);                                                      \
    }

/*
 * A test for check_all(): its body follows, and no list has to name it. The second
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
