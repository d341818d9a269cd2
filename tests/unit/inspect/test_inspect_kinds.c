/* SPDX-License-Identifier: MIT */

/* What keys and hashes say about names. */

#include <string.h>

#include "inspect/kinds.h"
#include "support/check.h"

static void assert_trace(const char *key, lk__trace trace, const char *name)
{
    const char *found = NULL;
    size_t size = 0;
    char text[600] = "";

    assert_int_equal(lk__trace_of(key, strlen(key), &found, &size), trace);
    if (trace == LK__TRACE_NONE)
        return;
    assert_true(size < sizeof(text));
    memcpy(text, found, size);
    assert_string_equal(text, name);
}

CHECK_TEST(a_name_is_found_in_each_of_its_keys)
{
    assert_trace("latchkey:{n}:r", LK__TRACE_RECORD, "n");
    assert_trace("latchkey:{a:b}:r", LK__TRACE_RECORD, "a:b");
    assert_trace("{n}:timeout", LK__TRACE_TIMEOUT, "n");
    assert_trace("n", LK__TRACE_NAME, "n");
}

CHECK_TEST(a_name_with_a_tag_keeps_its_braces)
{
    assert_trace("latchkey::a{tag}b:r", LK__TRACE_RECORD, "a{tag}b");
    assert_trace("latchkey::{tag}:r", LK__TRACE_RECORD, "{tag}");
    assert_trace("latchkey:::{tag}b:r", LK__TRACE_RECORD, ":{tag}b");
    assert_trace("{a}{b}:timeout", LK__TRACE_TIMEOUT, "{a}{b}");
    assert_trace("{tag}", LK__TRACE_NAME, "{tag}");
}

CHECK_TEST(keys_that_tell_of_no_name_are_passed_over)
{
    char many[600];

    assert_trace("latchkey:{n}:q", LK__TRACE_NONE, "");
    assert_trace("latchkey:client:1", LK__TRACE_NONE, "");
    assert_trace("redisson_lock_timeout:{n}", LK__TRACE_NONE, "");
    memset(many, 'n', sizeof(many));
    many[sizeof(many) - 1] = '\0';
    assert_trace(many, LK__TRACE_NONE, "");
}

static lk_kind kind_of(const char *layout)
{
    return lk__kind_of_layout((lk__text){layout, strlen(layout)});
}

CHECK_TEST(a_record_says_the_kind)
{
    assert_int_equal(kind_of("2l"), LK_KIND_LOCK);
    assert_int_equal(kind_of("2w"), LK_KIND_RWLOCK);
    assert_int_equal(kind_of("2p"), LK_KIND_SEMAPHORE);
    assert_int_equal(kind_of("2c"), LK_KIND_PLAIN_SEMAPHORE);
    assert_int_equal(kind_of("2t"), LK_KIND_LATCH);
    assert_int_equal(kind_of("2-"), LK_KIND_NONE);
    assert_int_equal(kind_of("1c"), LK_KIND_NONE);
    assert_int_equal(kind_of("2cc"), LK_KIND_NONE);
    assert_int_equal(kind_of(""), LK_KIND_NONE);
}

/* ---- hashes ---- */

#define UUID "01234567-89ab-cdef-0123-456789abcdef"
static const char first_field[] = UUID ":1";
static const char writer_field[] = UUID ":2:write";

/* Fields and values, ended by NULL, as the server would send them. */
static lk__fields read_fields(const char *const *texts)
{
    redisReply replies[8];
    redisReply *elements[8];
    redisReply array = {.type = REDIS_REPLY_ARRAY, .element = elements};
    lk__fields fields;

    memset(replies, 0, sizeof(replies));
    for (size_t i = 0; texts[i] != NULL; i++) {
        union {
            const char *text;
            char *str;
        } borrowed = {.text = texts[i]};

        replies[i].type = REDIS_REPLY_STRING;
        replies[i].str = borrowed.str;
        replies[i].len = strlen(texts[i]);
        elements[i] = &replies[i];
        array.elements++;
    }
    lk__fields_read(&fields, &array);
    return fields;
}

CHECK_TEST(a_hash_of_owners_is_a_lock)
{
    const char *const one[] = {UUID ":7", "2", NULL};
    lk__fields fields = read_fields(one);

    assert_int_equal(fields.kind, LK_KIND_LOCK);
    assert_int_equal(fields.count, 1);
    assert_int_equal(fields.entries, 2);
    assert_int_equal(fields.owner_size, strlen(UUID ":7"));
    assert_string_equal(fields.mode, "");
}

CHECK_TEST(a_hash_with_a_mode_is_a_read_write_lock)
{
    const char *const both[] = {"mode",       "write", first_field, "1",
                                writer_field, "1",     NULL};
    const char *const readers[] = {"mode", "read", first_field, "1", NULL};
    lk__fields fields = read_fields(both);

    assert_int_equal(fields.kind, LK_KIND_RWLOCK);
    assert_int_equal(fields.count, 2);
    assert_string_equal(fields.mode, "write");
    assert_memory_equal(fields.owner, UUID ":2", strlen(UUID ":2"));
    assert_int_equal(fields.owner_size, strlen(UUID ":2"));
    assert_string_equal(read_fields(readers).mode, "read");
}

CHECK_TEST(any_other_hash_is_no_lock)
{
    const char *const user[] = {"name", "Ann", NULL};
    const char *const mixed[] = {first_field, "1", "name", "Ann", NULL};
    const char *const mode[] = {"mode", "dark", NULL};
    const char *const empty[] = {NULL};
    const char *const almost[] = {UUID ":", "1", NULL};

    assert_int_equal(read_fields(user).kind, LK_KIND_NONE);
    assert_int_equal(read_fields(mixed).kind, LK_KIND_NONE);
    assert_int_equal(read_fields(mode).kind, LK_KIND_NONE);
    assert_int_equal(read_fields(empty).kind, LK_KIND_NONE);
    assert_int_equal(read_fields(almost).kind, LK_KIND_NONE);
}

/* ---- patterns ---- */

CHECK_TEST(patterns_match_as_they_do_in_redis)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"*", "", true},
        {"*", "anything", true},
        {"", "", true},
        {"", "a", false},
        {"a*c", "abbc", true},
        {"a*c", "abbd", false},
        {"*b*b*", "abab", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"[a-c]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[^a-c]x", "dx", true},
        {"[c-a]x", "bx", true},
        {"[ab", "a", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"[\\]]", "]", true},
        {"orders:*", "orders:1", true},
        {"orders:*", "order", false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (lk__glob(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
    }
}
