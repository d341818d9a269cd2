/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_TABLE_H
#define LK_TESTS_SUPPORT_TABLE_H

#include "server/shape.h"
#include "support/script.h"

/*
 * Runs a script of a table alone, over a fixture of script.h: keys, arguments and
 * answers go through what was made of the table, so that both of its sides are
 * tested.
 */

/* With the first key_count keys of the fixture's name, of a family's forms; args
   is the script's struct, or NULL. Fails the test if the answer is neither one of
   the table's nor an error. */
const char *table_run(script_fixture *f, const lk__signature *signature,
                      const char *const *forms, size_t key_count,
                      const void *args);

/* The same; the keys that are a claim's are those of these claims, in turn. */
const char *table_run_for(script_fixture *f, const lk__signature *signature,
                          const char *const *forms, size_t key_count,
                          const char *const *claims, const void *args);

/* Fails the test unless the last answer is one of these, or an error. */
void table_check(const script_fixture *f, const lk__answers *answers);

#endif /* LK_TESTS_SUPPORT_TABLE_H */
