/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LAYOUT3_RWLOCK_H
#define LK_TESTS_SUPPORT_LAYOUT3_RWLOCK_H

#include "support/script.h"

/*
 * Runs the scripts of lua/layout3/rwlock alone, over a fixture of script.h, for the
 * name "n". Texts are short as in counting3.h: "b1" is a claim of the client b or its
 * member, "b2u" that of an upgrade.
 */

int rw3_setup(void **state);

#define RW3_TEST(name)                                                         \
    CHECK_TEST_OF(name, script_fixture *f, rw3_setup, script_teardown)

const char *rw3_claim(const char *claim);
const char *rw3_timeout_key(const char *claim);
/* ms that a reader's timeout key has. */
long long rw3_timeout(script_fixture *f, const char *claim);

/* For 3,000 ms. */
const char *rw3_read(script_fixture *f, const char *claim);
const char *
rw3_read_beside(script_fixture *f, const char *claim, const char *writer);
const char *rw3_write(script_fixture *f, const char *claim);
const char *rw3_up(script_fixture *f, const char *claim);
const char *rw3_close_read(script_fixture *f, const char *claim);
/* read: a read of its own; or NULL. */
const char *
rw3_close_write(script_fixture *f, const char *claim, const char *read);
const char *
rw3_keep_read(script_fixture *f, const char *claim, const char *lease);
const char *rw3_keep_write(script_fixture *f, const char *claim,
                           const char *lease, const char *read);
/* line: "2" writers, "3" readers, "6" upgradeable readers. */
const char *rw3_touch(script_fixture *f, const char *line, const char *member);
const char *rw3_next(script_fixture *f);
const char *rw3_admit(script_fixture *f);
const char *rw3_upgrade(script_fixture *f, const char *old, const char *claim);
const char *
rw3_downgrade(script_fixture *f, const char *old, const char *claim);

/* Sorted. */
const char *rw3_fields(script_fixture *f);
/* "<writers> | <readers> | <upgradeable readers>" */
const char *rw3_lines(script_fixture *f);
/* These clients, a letter each, listen from now on. */
void rw3_hear(script_fixture *f, const char *clients);
const char *rw3_heard(script_fixture *f);

#endif /* LK_TESTS_SUPPORT_LAYOUT3_RWLOCK_H */
