/* SPDX-License-Identifier: MIT */

/* Slots as the library knows them are those that a server tells. */

#include <stdlib.h>

#include "base/slot.h"
#include "support/check.h"
#include "support/server.h"

enum { NAMES = 5000, MOST = 40 };

static server *node;

static int start(NO_STATE)
{
    node = server_start_node(NULL);
    return node != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    server_stop(node);
    return 0;
}

static void assert_agreed(const char *key, size_t size)
{
    long long theirs = server_integer(node, "CLUSTER KEYSLOT %b", key, size);

    if (theirs == lk__slot_of(key, size))
        return;
    for (size_t i = 0; i < size; i++)
        print_error("%02x ", (unsigned char)key[i]);
    print_error("\n");
    assert_int_equal(lk__slot_of(key, size), theirs);
}

CHECK_TEST(they_agree_on_any_bytes)
{
    unsigned seed = 1;
    char key[MOST];

    for (int i = 0; i < NAMES; i++) {
        size_t size = (size_t)rand_r(&seed) % (MOST + 1);

        for (size_t j = 0; j < size; j++)
            key[j] = (char)(rand_r(&seed) & 255);
        assert_agreed(key, size);
    }
}

/* Where braces are rare, tags are. */
CHECK_TEST(they_agree_where_braces_are_many)
{
    static const char bytes[] = {'{', '}', '{', '}', 'a', 'b', '\0', '\xff'};
    unsigned seed = 2;
    char key[MOST];

    for (int i = 0; i < NAMES; i++) {
        size_t size = (size_t)rand_r(&seed) % 10;

        for (size_t j = 0; j < size; j++)
            key[j] = bytes[(unsigned)rand_r(&seed) % sizeof(bytes)];
        assert_agreed(key, size);
    }
}

CHECK_TEST(they_agree_on_each_single_byte)
{
    for (int byte = 0; byte < 256; byte++) {
        char key = (char)byte;

        assert_agreed(&key, 1);
    }
}

CHECK_GROUP(start, stop)
