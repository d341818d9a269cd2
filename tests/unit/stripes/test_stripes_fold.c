/* SPDX-License-Identifier: MIT */

/* The stripe of a key is the same for ever: the vectors of docs/stripes.md. */

#include <stdio.h>

#include "stripes/fold.h"
#include "support/check.h"

CHECK_TEST(a_key_is_always_folded_onto_the_same_stripe)
{
    static const struct {
        const char *key;
        uint64_t of_64, of_100, of_65536;
    } vectors[] = {
        {"", 1, 45, 49089},        {"a", 0, 24, 12480},
        {"foobar", 25, 97, 9881},  {"user:1", 1, 53, 34369},
        {"user:2", 52, 60, 34100}, {"order:1000", 19, 3, 40915},
        {"\xc3\xa4", 5, 61, 1925},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const char *key = vectors[i].key;

        assert_int_equal(lk__stripes_fold(key, 64), vectors[i].of_64);
        assert_int_equal(lk__stripes_fold(key, 100), vectors[i].of_100);
        assert_int_equal(lk__stripes_fold(key, 65536), vectors[i].of_65536);
        assert_int_equal(lk__stripes_fold(key, 1), 0);
    }
}

/* Keys that differ in their upper bits alone, as digits and letters do. */
CHECK_TEST(keys_are_spread_evenly)
{
    enum { STRIPES = 64, KEYS = 64000, MEAN = KEYS / STRIPES };
    unsigned counts[STRIPES] = {0};

    for (unsigned i = 0; i < KEYS; i++) {
        char key[32];

        (void)snprintf(key, sizeof(key), "user:%u", i * 64);
        counts[lk__stripes_fold(key, STRIPES)]++;
    }
    for (unsigned i = 0; i < STRIPES; i++)
        assert_in_range(counts[i], MEAN * 8 / 10, MEAN * 12 / 10);
}
