/* SPDX-License-Identifier: MIT */

/* The cell's scripts, key by key. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cell_table.h"
#include "support/check.h"
#include "support/script.h"
#include "support/table.h"

enum { CELL, MEMO, MARK };

static const script_layout layout = {
    .count = 3,
    .keys = {":c", ":m", ":k"},
    .channel = "",
};

static int setup(void **state)
{
    int result = script_setup(state);

    if (result == 0)
        script_set_layout(*state, &layout);
    return result;
}

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static const char *read_it(script_fixture *f)
{
    return table_run(f, &lk__cell_read, lk__cell_keys, LK__CELL_READ_WHOLE,
                     NULL);
}

/* The arguments of a write that differ. */
typedef struct writing {
    const char *op, *expected, *value, *settled, *field;
    int64_t ttl, fence;
} writing;

static lk__text or_else(const char *text, const char *otherwise)
{
    return text_of(text != NULL ? text : otherwise);
}

/* The lock is n. */
static const char *write_with(script_fixture *f, const writing *w)
{
    const lk__cell_write_args args = {
        .op = text_of(w->op),
        .expected = or_else(w->expected, ""),
        .ttl = w->ttl,
        .settled = or_else(w->settled, ""),
        .fence = w->fence,
        .field = or_else(w->field, ""),
        .value = or_else(w->value, "val"),
    };

    return table_run(f, &lk__cell_write, lk__cell_keys, LK__CELL_WRITE_WHOLE,
                     &args);
}

static const char *write_for(script_fixture *f, const char *op,
                             const char *expected, const char *value,
                             int64_t ttl, int64_t fence)
{
    const writing w = {.op = op,
                       .expected = expected,
                       .value = value,
                       .ttl = ttl,
                       .fence = fence};

    return write_with(f, &w);
}

static const char *write_it(script_fixture *f, const char *op,
                            const char *expected, const char *value)
{
    return write_for(f, op, expected, value, 0, 0);
}

static const char *
delete_it(script_fixture *f, const char *op, const char *expected)
{
    const lk__cell_delete_args args = {.op = text_of(op),
                                       .expected = text_of(expected),
                                       .settled = text_of("")};

    return table_run(f, &lk__cell_delete, lk__cell_keys, LK__CELL_DELETE_WHOLE,
                     &args);
}

/* The same text, kept: the version that is recorded, plus more. */
static const char *version(script_fixture *f, int more)
{
    static char text[32];

    (void)snprintf(text, sizeof(text), "%lld",
                   script_number(f, "HGET %s version", f->keys[CELL]) + more);
    return text;
}

#define CELL_TEST(name)                                                        \
    CHECK_TEST_OF(name, script_fixture *f, setup, script_teardown)

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

CELL_TEST(an_unset_cell_says_so)
{
    assert_like(read_it(f), "2");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

CELL_TEST(a_cell_begins_at_the_servers_clock)
{
    long long before = script_now_ms(f);

    assert_like(write_it(f, "u:1", "0", "one"), "1 *");
    assert_in_range(number(version(f, 0)) / 1000, before, script_now_ms(f));
    assert_like(script_redis(f, "HMGET %s v value ttl", f->keys[CELL]),
                "1 one 0");
    assert_int_equal(script_key_pttl(f, CELL), -1);
}

CELL_TEST(a_version_grows_by_one)
{
    char written[64], expected[80];

    write_it(f, "u:1", "", "one");
    (void)snprintf(written, sizeof(written), "1 %s", version(f, 1));
    assert_like(write_it(f, "u:2", version(f, 0), "two"), written);
    (void)snprintf(expected, sizeof(expected), "%s two", written);
    assert_like(read_it(f), expected);
}

CELL_TEST(another_version_is_refused)
{
    char expected[64];

    assert_like(write_it(f, "u:1", "77", "one"), "2 0");
    assert_like(script_redis(f, "DBSIZE"), "0");
    write_it(f, "u:2", "", "one");
    (void)snprintf(expected, sizeof(expected), "2 %s", version(f, 0));
    assert_like(write_it(f, "u:3", "0", "two"), expected);
    assert_like(write_it(f, "u:3", version(f, -1), "two"), expected);
    assert_like(write_it(f, "u:3", version(f, 1), "two"), expected);
    assert_like(script_redis(f, "HGET %s value", f->keys[CELL]), "one");
}

/* Also when others have written in between. */
CELL_TEST(a_write_that_is_sent_again_answers_the_same)
{
    char first[64], read[64];

    write_it(f, "u:1", "", "one");
    (void)snprintf(first, sizeof(first), "%s",
                   write_it(f, "u:2", version(f, 0), "two"));
    write_it(f, "u:3", "", "three");
    (void)snprintf(read, sizeof(read), "%s", read_it(f));
    assert_like(write_it(f, "u:2", "1", "two"), first);
    assert_like(read_it(f), read);
}

CELL_TEST(what_is_settled_is_forgotten)
{
    write_it(f, "u:1", "", "one");
    write_it(f, "u:2", "", "two");
    assert_like(script_redis(f, "HLEN %s", f->keys[MEMO]), "3");
    write_with(f, &(writing){.op = "u:3", .settled = "1 2 "});
    assert_like(script_redis(f, "HEXISTS %s u:1", f->keys[MEMO]), "0");
    assert_like(script_redis(f, "HLEN %s", f->keys[MEMO]), "2");
    assert_in_range(script_key_pttl(f, MEMO), 600000, 660000);
}

CELL_TEST(a_value_is_bytes)
{
    script_redis(f, "HSET %s v 1 version 5 value %b", f->keys[CELL], "a\0b",
                 (size_t)3);
    read_it(f);
    assert_int_equal(f->answer->element[2]->len, 3);
    assert_memory_equal(f->answer->element[2]->str, "a\0b", 3);
}

CELL_TEST(a_cell_lives_as_long_as_its_last_writer_says)
{
    write_for(f, "u:1", "", "one", 60000, 0);
    assert_in_range(script_key_pttl(f, CELL), 50000, 60000);
    write_it(f, "u:2", "", "two");
    assert_int_equal(script_key_pttl(f, CELL), -1);
}

CELL_TEST(a_deleted_cell_comes_back_higher)
{
    char expected[64];

    script_redis(f, "HSET %s v 1 version 9007199254740000 value x",
                 f->keys[CELL]);
    assert_like(delete_it(f, "u:1", "9007199254740000"), "1 9007199254740000");
    assert_like(read_it(f), "2");
    assert_like(script_redis(f, "HGET %s version", f->keys[MARK]),
                "9007199254740000");
    (void)snprintf(expected, sizeof(expected), "1 %s", "9007199254740001");
    assert_like(write_it(f, "u:2", "0", "y"), expected);
}

CELL_TEST(a_delete_of_another_version_is_refused)
{
    assert_like(delete_it(f, "u:1", ""), "3");
    script_redis(f, "HSET %s v 1 version 7 value x", f->keys[CELL]);
    assert_like(delete_it(f, "u:1", "6"), "2 7");
    assert_like(read_it(f), "1 7 x");
}

CELL_TEST(a_delete_that_is_sent_again_deletes_once)
{
    script_redis(f, "HSET %s v 1 version 7 value x", f->keys[CELL]);
    assert_like(delete_it(f, "u:1", ""), "1 7");
    write_it(f, "u:2", "", "new");
    assert_like(delete_it(f, "u:1", ""), "1 7");
    assert_like(script_redis(f, "HGET %s value", f->keys[CELL]), "new");
}

CELL_TEST(an_older_fence_is_refused)
{
    assert_like(write_for(f, "u:1", "", "one", 0, 10), "1 *");
    assert_like(write_for(f, "u:2", "", "two", 0, 10), "1 *");
    assert_like(write_for(f, "u:3", "", "old", 0, 9), "3 10");
    assert_like(script_redis(f, "HGET %s value", f->keys[CELL]), "two");
    assert_like(write_for(f, "u:4", "", "three", 0, 11), "1 *");
    assert_in_range(script_key_pttl(f, MARK), 6 * 86400000, 7 * 86400000);
}

CELL_TEST(a_fence_outlives_its_cell)
{
    write_for(f, "u:1", "", "one", 0, 10);
    delete_it(f, "u:2", "");
    assert_like(write_for(f, "u:3", "", "old", 0, 9), "3 10");
    script_redis(f, "DEL %s", f->keys[CELL]);
    assert_like(write_for(f, "u:4", "", "old", 0, 9), "3 10");
    assert_like(read_it(f), "2");
}

static const char *
write_held(script_fixture *f, const char *op, const char *field)
{
    return write_with(f, &(writing){.op = op, .fence = 5, .field = field});
}

CELL_TEST(a_lock_in_the_slot_is_looked_at)
{
    script_redis(f, "HSET n u:8 1");
    assert_like(write_held(f, "u:1", "u:7"), "4");
    assert_like(script_redis(f, "DBSIZE"), "1");
    assert_like(write_held(f, "u:2", "u:8"), "1 *");
    script_redis(f, "DEL n");
    assert_like(write_held(f, "u:3", "u:8"), "4");
    assert_like(write_held(f, "u:2", "u:8"), "1 *"); /* was made before */
}

CELL_TEST(a_full_server_refuses_a_write_and_lets_delete)
{
    write_it(f, "u:1", "", "one");
    script_redis(f, "DEL %s", f->keys[MEMO]);
    script_fill_memory(f, true);
    assert_like(write_it(f, "u:2", "", "two"), "!*OOM*");
    assert_like(script_redis(f, "HGET %s value", f->keys[CELL]), "one");
    assert_like(delete_it(f, "u:3", ""), "1 *");
    assert_like(write_it(f, "u:4", "", "three"), "!*OOM*");
    script_fill_memory(f, false);
    assert_like(read_it(f), "2");
}

CELL_TEST(a_key_of_another_kind_is_not_touched)
{
    script_redis(f, "SET %s x", f->keys[CELL]);
    assert_like(read_it(f), "!LKTYPE *");
    assert_like(write_it(f, "u:1", "", "x"), "!LKTYPE *");
    assert_like(delete_it(f, "u:1", ""), "!LKTYPE *");
    script_redis(f, "DEL %s", f->keys[CELL]);
    script_redis(f, "HSET %s v 2", f->keys[CELL]);
    assert_like(write_it(f, "u:1", "", "x"), "!LKLAYOUT *");
    script_redis(f, "HSET %s v 1 version 7x", f->keys[CELL]);
    assert_like(read_it(f), "!LKTYPE *");
    assert_like(write_it(f, "u:1", "", "x"), "!LKTYPE *");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* ---- rights ---- */

/* Every command that changes something, or is met before that. */
static const char *const commands[] = {"hmget", "hget", "hset", "pexpire",
                                       "hdel",  "time", "del",  "persist"};

/* Whoever lacks a right either changes all or nothing. */
CELL_TEST(a_write_that_is_denied_changes_nothing)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char before[64];
        bool denied;

        script_deny(f, NULL);
        script_redis(f, "FLUSHALL");
        write_for(f, "u:1", "", "one", 60000, 5);
        (void)snprintf(before, sizeof(before), "%s", read_it(f));
        script_deny(f, commands[i]);
        denied = write_for(f, "u:2", "", "two", 0, 6)[0] == '!';
        script_deny(f, NULL);
        if (denied)
            assert_like(read_it(f), before);
        assert_like(script_redis(f, "HEXISTS %s u:2", f->keys[MEMO]),
                    denied ? "0" : "1");
    }
}

CELL_TEST(a_new_cell_that_is_denied_is_not_left_behind)
{
    script_deny(f, "pexpire");
    assert_like(write_it(f, "u:1", "", "one"), "!*");
    assert_like(script_redis(f, "DBSIZE"), "0");
    script_deny(f, NULL);
    write_it(f, "u:2", "", "one");
    script_deny(f, "del");
    assert_like(delete_it(f, "u:3", ""), "!*");
    assert_like(script_redis(f, "HEXISTS %s u:3", f->keys[MEMO]), "0");
    assert_like(script_redis(f, "HGET %s value", f->keys[CELL]), "one");
}

/* Else one version would be had twice, and a change be lost. */
CELL_TEST(a_cell_has_no_version_beyond_the_last)
{
    write_it(f, "op:1", "", "a");
    script_redis(f, "HSET %s version 9007199254740991", f->keys[CELL]);
    assert_like(write_it(f, "op:2", "", "b"), "!LKRANGE *");
    assert_like(script_redis(f, "HGET %s value", f->keys[CELL]), "a");
}

CHECK_GROUP(script_start_server, script_stop_server)
