/* SPDX-License-Identifier: MIT */

/* Statuses, and the words that go with the last failure. */

#include <latchkey/status.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "support/check.h"

CHECK_TEST(a_name_stands_for_its_value)
{
    assert_string_equal(lk_status_name(LK_OK), "OK");
    assert_string_equal(lk_status_name(LK_EBUSY), "EBUSY");
    assert_string_equal(lk_status_name(LK_ECALLBACK), "ECALLBACK");
}

CHECK_TEST(a_text_is_a_sentence_about_the_status)
{
    assert_string_equal(lk_status_text(LK_OK), "success");
    assert_string_equal(lk_status_text(LK_EURL), "the URL is not understood");
}

/* Callers of older releases have these values compiled in. */
CHECK_TEST(values_never_change)
{
    assert_int_equal(LK_OK, 0);
    assert_int_equal(LK_EINVAL, -1);
    assert_int_equal(LK_EBUSY, -5);
    assert_int_equal(LK_ETIMEDOUT, -6);
    assert_int_equal(LK_ELOST, -10);
    assert_int_equal(LK_EINDOUBT, -11);
    assert_int_equal(LK_EOFFLINE, -12);
    assert_int_equal(LK_ESERVER, -21);
    assert_int_equal(LK_ECALLBACK, -24);
    assert_int_equal(LK_EPENDING, -33);
}

CHECK_TEST(every_status_has_a_name_and_a_text_of_its_own)
{
    const lk_status all[] = {
#define X(name, value, retriable, text) LK_##name,
        LK_STATUS_MAP(X)
#undef X
    };
    const size_t count = sizeof(all) / sizeof(all[0]);

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(lk_status_name(all[i]),
                                    lk_status_name(all[j]));
            assert_string_not_equal(lk_status_text(all[i]),
                                    lk_status_text(all[j]));
        }
    }
}

CHECK_TEST(what_time_can_mend_may_be_repeated)
{
    assert_true(lk_status_is_retriable(LK_EBUSY));
    assert_true(lk_status_is_retriable(LK_EINDOUBT));
    assert_true(lk_status_is_retriable(LK_EOFFLINE));
    assert_true(lk_status_is_retriable(LK_EQUORUM));
    assert_false(lk_status_is_retriable(LK_OK));
    assert_false(lk_status_is_retriable(LK_EINVAL));
    assert_false(lk_status_is_retriable(LK_ELOST));
}

/* Not even where it would be the same again, and not where only another can change
   that. */
CHECK_TEST(what_is_done_twice_or_in_vain_is_not_repeated)
{
    assert_false(lk_status_is_retriable(LK_EPENDING));
    assert_false(lk_status_is_retriable(LK_EUNSET));
    assert_false(lk_status_is_retriable(LK_EPROTO));
    assert_false(lk_status_is_retriable(LK_EMISMATCH));
    assert_false(lk_status_is_retriable(LK_ERANGE));
    assert_false(lk_status_is_retriable(LK_ETYPE));
}

CHECK_TEST(a_status_of_a_newer_release_is_survived)
{
    lk_status newer = (lk_status)-1000;

    assert_string_equal(lk_status_name(newer), "UNKNOWN");
    assert_string_equal(lk_status_text(newer), "unknown status");
    assert_false(lk_status_is_retriable(newer));
}

CHECK_TEST(a_failure_leaves_its_words)
{
    assert_status(lk__fail(LK_EURL, "byte %d of %s", 7, "it"), LK_EURL);
    assert_string_equal(lk_last_error(), "byte 7 of it");
}

CHECK_TEST(the_words_of_an_earlier_failure_are_replaced)
{
    (void)lk__fail(LK_EURL, "a long text that stood here before");
    (void)lk__fail(LK_EINVAL, "short");
    assert_string_equal(lk_last_error(), "short");
}

CHECK_TEST(the_old_words_may_be_part_of_the_new)
{
    lk__error_set("inside");
    (void)lk__fail(LK_EINVAL, "outside (%s)", lk_last_error());
    assert_string_equal(lk_last_error(), "outside (inside)");
}

CHECK_TEST(words_that_are_cut_end_with_a_whole_character)
{
    char name[600];

    for (size_t i = 0; i + 3 < sizeof(name); i += 3)
        memcpy(name + i, "\346\227\245", 4);
    for (size_t i = 0; i < 3; i++) {
        const char *words = lk_last_error();

        (void)lk__fail(LK_EINVAL, "%.*s%s", (int)i, "aa", name);
        assert_in_range(strlen(words), 253, 255);
        assert_string_equal(words + strlen(words) - 3, "\346\227\245");
    }
}

CHECK_TEST(words_can_be_forgotten)
{
    lk__error_set("something");
    lk__error_clear();
    assert_string_equal(lk_last_error(), "");
    lk__error_set("something");
    lk__error_set(NULL);
    assert_string_equal(lk_last_error(), "");
}

CHECK_TEST(control_characters_do_not_reach_a_terminal)
{
    lk__error_set("a\033[2Jb\r\nc\177d\xc3\xa9");
    assert_string_equal(lk_last_error(), "a?[2Jb??c?d\xc3\xa9");
}

CHECK_TEST(long_words_are_cut)
{
    char words[1001];

    memset(words, 'x', sizeof(words) - 1);
    words[sizeof(words) - 1] = '\0';
    lk__error_set(words);
    assert_int_equal(strlen(lk_last_error()), 255);
    (void)lk__fail(LK_EINVAL, "%s", words);
    assert_int_equal(strlen(lk_last_error()), 255);
}

CHECK_TEST(a_failure_leaves_errno_alone)
{
    errno = ENOENT;
    (void)lk__fail(LK_EINVAL, "%d", 1);
    assert_int_equal(errno, ENOENT);
}

static void *fail_elsewhere(void *seen)
{
    *(size_t *)seen = strlen(lk_last_error());
    (void)lk__fail(LK_EINVAL, "elsewhere");
    return NULL;
}

CHECK_TEST(each_thread_has_words_of_its_own)
{
    size_t seen = 99;
    pthread_t thread;

    lk__error_set("here");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &seen), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(seen, 0);
    assert_string_equal(lk_last_error(), "here");
}
