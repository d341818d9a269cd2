/* SPDX-License-Identifier: MIT */

/* The hash table with its links in the entries. */

#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "support/check.h"

enum { MANY = 1000 };

typedef struct item {
    lk__entry entry;
    bool is_in;
} item;

static item items[MANY];

/* A sequence that looks random and is always the same. */
static size_t next_number(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return (size_t)(*state >> 33);
}

CHECK_TEST(an_empty_table_has_nothing)
{
    lk__table table = {0};

    assert_null(lk__table_find(&table, 1));
    lk__table_done(&table);
}

CHECK_TEST(what_was_added_is_found_until_it_is_removed)
{
    lk__table table = {0};
    size_t count = 0;
    uint64_t random = 1;

    memset(items, 0, sizeof(items));
    for (int step = 0; step < 20 * MANY; step++) {
        size_t i = next_number(&random) % MANY;

        if (items[i].is_in)
            lk__table_remove(&table, &items[i].entry);
        else
            assert_true(lk__table_add(&table, &items[i].entry, i * i));
        count += items[i].is_in ? (size_t)-1 : 1;
        items[i].is_in = !items[i].is_in;
        assert_int_equal(table.count, count);
    }
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(lk__table_find(&table, i * i),
                         items[i].is_in ? &items[i].entry : NULL);
    lk__table_done(&table);
}

CHECK_TEST(entries_of_one_hash_are_all_found)
{
    lk__table table = {0};
    size_t found = 0;

    memset(items, 0, sizeof(items));
    for (size_t i = 0; i < 10; i++)
        assert_true(lk__table_add(&table, &items[i].entry, 7 + 64 * (i / 5)));
    for (const lk__entry *entry = lk__table_find(&table, 7); entry != NULL;
         entry = lk__table_find_next(entry))
        found++;
    assert_int_equal(found, 5);
    lk__table_done(&table);
}

static bool always(void)
{
    return true;
}

CHECK_TEST(without_memory_a_table_stays_usable)
{
    lk__table table = {0};

    memset(items, 0, sizeof(items));
    lk__mem_fail(always);
    assert_false(lk__table_add(&table, &items[0].entry, 0));
    lk__mem_fail(NULL);
    assert_true(lk__table_add(&table, &items[0].entry, 0));
    lk__mem_fail(always);
    for (size_t i = 1; i < MANY; i++)
        assert_true(lk__table_add(&table, &items[i].entry, i));
    lk__mem_fail(NULL);
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(lk__table_find(&table, i), &items[i].entry);
    lk__table_done(&table);
}

CHECK_TEST(texts_differ_by_their_hash)
{
    assert_true(lk__table_hash("a") != lk__table_hash("b"));
    assert_true(lk__table_hash("ab") != lk__table_hash("ba"));
    assert_true(lk__table_hash("") != lk__table_hash("a"));
    assert_int_equal(lk__table_hash("orders") == lk__table_hash("orders"), 1);
}
