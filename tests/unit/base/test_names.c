/* SPDX-License-Identifier: MIT */

/* Names, the keys made from them, and the bounds of times. */

#include <latchkey/client.h>

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "support/check.h"

CHECK_TEST(plain_names_are_taken)
{
    assert_status(lk__name_check("lk"), LK_OK);
    assert_status(lk__name_check("orders:1234"), LK_OK);
    assert_status(lk__name_check(" with\nany \xff byte"), LK_OK);
}

CHECK_TEST(a_name_has_1_to_512_bytes)
{
    char name[514];

    memset(name, 'n', sizeof(name));
    name[513] = '\0';
    assert_status(lk__name_check(NULL), LK_EINVAL);
    assert_status(lk__name_check(""), LK_EINVAL);
    assert_status(lk__name_check(name), LK_EINVAL);
    name[512] = '\0';
    assert_status(lk__name_check(name), LK_OK);
}

CHECK_TEST(a_tag_anywhere_is_taken)
{
    assert_status(lk__name_check("{a}"), LK_OK);
    assert_status(lk__name_check("{a}b"), LK_OK);
    assert_status(lk__name_check("x{a}b"), LK_OK);
}

/* Redis looks at the first '{' and the '}' after it, and at nothing else. */
CHECK_TEST(only_the_first_tag_counts)
{
    assert_status(lk__name_check("{a}{b}"), LK_OK);
    assert_status(lk__name_check("{a}{}"), LK_OK);
    assert_status(lk__name_check("{{a}}"), LK_OK);
    assert_status(lk__name_check("a}{b}"), LK_OK);
    assert_status(lk__name_check("{}{a}"), LK_EINVAL);
}

CHECK_TEST(names_that_a_cluster_would_scatter_are_refused)
{
    assert_status(lk__name_check("a{b"), LK_EINVAL);
    assert_status(lk__name_check("{}x"), LK_EINVAL);
    assert_status(lk__name_check("a}b"), LK_EINVAL);
    assert_status(lk__name_check("a}b{c"), LK_EINVAL);
    assert_status(lk__name_check("{"), LK_EINVAL);
    assert_status(lk__name_check("}"), LK_EINVAL);
}

/* A lock called as the record or the queue of another would be written into it;
   a name that only has the word in it is no key of ours. */
CHECK_TEST(names_of_the_librarys_own_keys_are_refused)
{
    assert_status(lk__name_check("latchkey:{zz}:r"), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "latchkey:"));
    assert_status(lk__name_check("latchkey::a{b}:q"), LK_EINVAL);
    assert_status(lk__name_check("latchkey:"), LK_EINVAL);
    assert_status(lk__name_check_own("latchkey:void:{n"), LK_EINVAL);
    assert_status(lk__name_check("latchkey"), LK_OK);
    assert_status(lk__name_check("latchkeys:x"), LK_OK);
    assert_status(lk__name_check("x:latchkey:{zz}:r"), LK_OK);
}

static void
assert_keys(const char *name, const char *prefixed, const char *suffixed)
{
    char *before = lk__key_make("prefix", name);
    char *after = lk__key_make("{N}:suffix", name);

    assert_string_equal(before, prefixed);
    assert_string_equal(after, suffixed);
    lk__free(before);
    lk__free(after);
}

CHECK_TEST(a_name_without_a_tag_is_wrapped)
{
    assert_keys("lk", "prefix:{lk}", "{lk}:suffix");
}

CHECK_TEST(a_name_with_a_tag_stands_as_it_is)
{
    assert_keys("{a}b", "prefix:{a}b", "{a}b:suffix");
    assert_keys("x{a}b", "prefix:x{a}b", "x{a}b:suffix");
}

static void assert_key(const char *form, const char *name, const char *key)
{
    char *made = lk__key_make(form, name);

    assert_string_equal(made, key);
    lk__free(made);
}

/* Redisson makes `prefix:{n}` of both. */
CHECK_TEST(a_name_in_braces_shares_no_key_of_ours_with_the_one_without)
{
    assert_key("latchkey:void", "n", "latchkey:void:{n}");
    assert_key("latchkey:void", "{n}", "latchkey:void::{n}");
    assert_key("latchkey:void", ":{n}", "latchkey:void:::{n}");
    assert_key("latchkey:void", "x{n}y", "latchkey:void::x{n}y");
    assert_key("redisson_lock_queue", "n", "redisson_lock_queue:{n}");
    assert_key("redisson_lock_queue", "{n}", "redisson_lock_queue:{n}");
}

static void assert_claim_key(const char *name, const char *key)
{
    char made[LK__CLAIM_KEY_SIZE];

    lk__key_write_of_claim(made, "<claim>:rest:1", name, "c:7");
    assert_string_equal(made, key);
}

CHECK_TEST(a_form_says_where_the_name_stands)
{
    assert_key("N", "n", "n");
    assert_key("N", "{n}", "{n}");
    assert_key(":r", "n", "latchkey:{n}:r");
    assert_key(":r", "{n}", "latchkey::{n}:r");
    assert_key("a:*", "n", "a:n");
    assert_key("a:*", "{n}", "a:{n}");
    assert_key("a{*}", "n", "a{n}");
    assert_key("a{*}", "{n}", "a{{n}}");
    assert_false(lk__key_is_of_claim("{N}:claim"));
    assert_true(lk__key_is_of_claim("<claim>:rest:1"));
    assert_claim_key("n", "{n}:c:7:rest:1");
    assert_claim_key("x{n}y", "x{n}y:c:7:rest:1");
}

/* Finds what Redis hashes of a key; see its cluster specification. */
static void
find_hashed(const char *key, const char **ret_begin, size_t *ret_size)
{
    const char *open = strchr(key, '{');
    const char *close = open == NULL ? NULL : strchr(open, '}');

    *ret_begin = key;
    *ret_size = strlen(key);
    if (close != NULL && close > open + 1) {
        *ret_begin = open + 1;
        *ret_size = (size_t)(close - open - 1);
    }
}

static bool is_same_slot(const char *a, const char *b)
{
    const char *a_begin;
    const char *b_begin;
    size_t a_size;
    size_t b_size;

    find_hashed(a, &a_begin, &a_size);
    find_hashed(b, &b_begin, &b_size);
    return a_size == b_size && memcmp(a_begin, b_begin, a_size) == 0;
}

/* Every name of up to six letters out of "{", "}" and "a". */
CHECK_TEST(a_name_is_taken_if_and_only_if_its_keys_share_its_slot)
{
    size_t taken = 0;

    for (unsigned size = 1, count = 3; size <= 6; size++, count *= 3) {
        for (unsigned number = 0; number < count; number++) {
            char name[7] = "";
            unsigned rest = number;
            char *before;
            char *after;

            for (unsigned i = 0; i < size; i++, rest /= 3)
                name[i] = "{}a"[rest % 3];
            before = lk__key_make("p", name);
            after = lk__key_make("{N}:s", name);
            assert_int_equal(lk__name_check(name) == LK_OK,
                             is_same_slot(before, name) &&
                                 is_same_slot(after, name));
            taken += lk__name_check(name) == LK_OK;
            lk__free(before);
            lk__free(after);
        }
    }
    assert_in_range(taken, 100, 900);
}

static bool always(void)
{
    return true;
}

CHECK_TEST(without_memory_there_is_no_key)
{
    char *before;
    char *after;

    lk__mem_fail(always);
    before = lk__key_make("p", "n");
    after = lk__key_make("{N}:s", "n");
    lk__mem_fail(NULL);
    assert_null(before);
    assert_null(after);
}

CHECK_TEST(a_wait_is_for_ever_or_up_to_ten_years)
{
    assert_status(lk__wait_check(LK_FOREVER), LK_OK);
    assert_status(lk__wait_check(0), LK_OK);
    assert_status(lk__wait_check((int64_t)LK__TIME_MAX_MS), LK_OK);
    assert_status(lk__wait_check((int64_t)LK__TIME_MAX_MS + 1), LK_EINVAL);
    assert_status(lk__wait_check(-2), LK_EINVAL);
    assert_status(lk__wait_check(INT64_MIN), LK_EINVAL);
    assert_status(lk__wait_check(INT64_MAX), LK_EINVAL);
}

CHECK_TEST(a_lease_is_1_ms_to_ten_years)
{
    assert_status(lk__lease_check(0), LK_EINVAL);
    assert_status(lk__lease_check(1), LK_OK);
    assert_status(lk__lease_check(LK__TIME_MAX_MS), LK_OK);
    assert_status(lk__lease_check(LK__TIME_MAX_MS + 1), LK_EINVAL);
    assert_status(lk__lease_check(UINT64_MAX), LK_EINVAL);
}

/* ---- keys that are read again ---- */

static void assert_read(const char *form, const char *text, const char *name)
{
    const char *key = text;
    size_t size = strlen(text);

    assert_int_equal(lk__key_read(form, &key, &size), name != NULL);
    assert_int_equal(size, strlen(name != NULL ? name : text));
    assert_memory_equal(key, name != NULL ? name : text, size);
}

CHECK_TEST(a_key_is_read_as_it_was_written)
{
    static const char *const names[] = {"n",     "a:b",    ":r",    "{a}b",
                                        "{{a}}", "x{a}b:", "{a}{b}"};
    static const char *const forms[] = {":r", ":e", "{N}:timeout"};
    char key[LK__KEY_SIZE];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t j = 0; j < sizeof(forms) / sizeof(forms[0]); j++) {
            (void)lk__key_write(forms[j], names[i], key, sizeof(key));
            assert_read(forms[j], key, names[i]);
        }
    }
}

CHECK_TEST(a_key_says_its_name_and_its_form)
{
    assert_read(":r", "latchkey::{a}:r", "{a}");
    assert_read("{N}:timeout", "{a}:timeout", "a"); /* it is that of both */
    assert_read(":r", "latchkey:n:r", NULL);
    assert_read(":r", "latchkey:{n}:q", NULL);
    assert_read(":r", "latchkey::r", NULL);
    assert_read(":r", "latchkey:::r", NULL);
    assert_read(":r", "{n}:r", NULL);
    assert_read(":r", "", NULL);
    assert_read("{N}:timeout", ":timeout", NULL);
    assert_read("a{*}", "a{n}", NULL);
}
