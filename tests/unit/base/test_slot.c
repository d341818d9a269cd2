/* SPDX-License-Identifier: MIT */

/* Slots of keys; integration.keyslot asks a real server. */

#include <string.h>

#include "base/slot.h"
#include "support/check.h"

static unsigned slot(const char *key)
{
    return lk__slot_of(key, strlen(key));
}

/* The first is that of the specification of Redis Cluster. */
CHECK_TEST(slots_are_those_of_redis)
{
    assert_int_equal(slot("123456789"), 0x31c3);
    assert_int_equal(slot(""), 0);
    assert_int_equal(slot("foo"), 12182);
    assert_int_equal(slot("bar"), 5061);
    assert_int_equal(slot("hello"), 866);
    assert_int_equal(slot("{user1000}.following"), 3443);
    assert_int_equal(lk__slot_of("\xff\xfe\0\1", 4), 9169);
}

CHECK_TEST(the_first_tag_alone_counts)
{
    assert_int_equal(slot("x{a}b"), slot("a"));
    assert_int_equal(slot("{a}{b}"), slot("a"));
    assert_int_equal(slot("a}{b}"), slot("b"));
    assert_int_equal(slot("foo{{bar}}zap"), slot("{bar"));
}

CHECK_TEST(what_is_no_tag_is_hashed_as_a_whole)
{
    assert_int_not_equal(slot("{}x"), slot("x"));
    assert_int_not_equal(slot("{}x"), slot(""));
    assert_int_not_equal(slot("foo{}{bar}"), slot("bar"));
    assert_int_not_equal(slot("{a"), slot("a"));
    assert_int_not_equal(slot("}a{"), slot("a"));
}

CHECK_TEST(keys_share_a_slot_if_they_share_what_is_hashed)
{
    assert_true(lk__keys_share_slot("n", "latchkey:{n}:c"));
    assert_true(lk__keys_share_slot("n", "a{n}b{c}"));
    assert_true(lk__keys_share_slot("{a}x", "y{a}"));
    assert_false(lk__keys_share_slot("n", "m"));
    assert_false(lk__keys_share_slot("n", "nn"));
    assert_false(lk__keys_share_slot("n", "{}n"));
    assert_false(lk__keys_share_slot("n", "{n"));
    assert_true(lk__keys_share_slot("{}n", "{}n"));
}
