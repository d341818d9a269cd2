/* SPDX-License-Identifier: MIT */

/*
 * All keys that the scripts' tables have for a name lie in the name's own slot.
 * cluster.* runs the scripts where no other slot is.
 */

#include <string.h>

#include "base/names.h"
#include "base/slot.h"
#include "cell_table.h"
#include "flight_table.h"
#include "latch_table.h"
#include "lock_table.h"
#include "plain_semaphore_table.h"
#include "redlock_table.h"
#include "rwlock_table.h"
#include "semaphore_table.h"
#include "siglock_table.h"
#include "support/check.h"

typedef struct family {
    const char *word;
    const char *const *forms;
    size_t count;
} family;

static const family families[] = {
    {"lock", lk__lock_keys, LK__LOCK_KEYS},
    {"rwlock", lk__rwlock_keys, LK__RWLOCK_KEYS},
    {"semaphore", lk__semaphore_keys, LK__SEMAPHORE_KEYS},
    {"plain_semaphore", lk__plain_semaphore_keys, LK__PLAIN_SEMAPHORE_KEYS},
    {"latch", lk__latch_keys, LK__LATCH_KEYS},
    {"flight", lk__flight_keys, LK__FLIGHT_KEYS},
    {"redlock", lk__redlock_keys, LK__REDLOCK_KEYS},
    {"cell", lk__cell_keys, LK__CELL_KEYS},
};

/* All that begin a tag, end one or have one, and that may be names. */
static const char *const names[] = {"x",     "{x}",   "a{b}c",  "{a}{b}",
                                    "a}{b}", "{{a}}", "x{y}{}", "orders:1",
                                    "a b",   "\xff"};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static unsigned slot(const char *key)
{
    return lk__slot_of(key, strlen(key));
}

static unsigned slot_of_form(const char *form, const char *name)
{
    char key[LK__CLAIM_KEY_SIZE];

    if (lk__key_is_of_claim(form))
        lk__key_write_of_claim(key, form, name, "0123-45:6");
    else
        assert_in_range(lk__key_write(form, name, key, sizeof(key)), 1,
                        sizeof(key) - 1);
    return slot(key);
}

CHECK_TEST(the_keys_of_a_name_share_its_slot)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        for (size_t j = 0; j < families[i].count * NAMES; j++) {
            const char *form = families[i].forms[j / NAMES];
            const char *name = names[j % NAMES];

            assert_status(lk__name_check_slot(name), LK_OK);
            if (slot_of_form(form, name) != slot(name))
                print_error("%s: '%s' of '%s'\n", families[i].word, form, name);
            assert_int_equal(slot_of_form(form, name), slot(name));
        }
    }
}

/* Others than the library chose its keys. */
CHECK_TEST(the_keys_of_a_siglock_do_if_the_name_has_a_tag)
{
    for (size_t i = 0; i < LK__SIGLOCK_KEYS * (size_t)NAMES; i++) {
        const char *name = names[i % NAMES];

        if (strchr(name, '{') != NULL)
            assert_int_equal(slot_of_form(lk__siglock_keys[i / NAMES], name),
                             slot(name));
    }
    assert_int_not_equal(slot_of_form(lk__siglock_keys[LK__SIGLOCK_KEY_LOCK],
                                      "x"),
                         slot("x"));
}
