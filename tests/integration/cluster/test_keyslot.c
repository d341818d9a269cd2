/* SPDX-License-Identifier: MIT */

/* Slots as the library knows them are those that a server tells. */

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

static void they_agree_on_any_bytes(NO_STATE)
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
static void they_agree_where_braces_are_many(NO_STATE)
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

static void they_agree_on_each_single_byte(NO_STATE)
{
    for (int byte = 0; byte < 256; byte++) {
        char key = (char)byte;

        assert_agreed(&key, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_agree_on_any_bytes),
        cmocka_unit_test(they_agree_where_braces_are_many),
        cmocka_unit_test(they_agree_on_each_single_byte),
    };

    return cmocka_run_group_tests_name("keyslot", tests, start, stop);
}
