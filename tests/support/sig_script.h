/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_SIG_SCRIPT_H
#define LK_TESTS_SUPPORT_SIG_SCRIPT_H

#include "siglock_table.h"
#include "support/script.h"

/*
 * Runs the siglock's scripts alone, over a fixture of script.h, for the name "n".
 * Keys, arguments and answers go through what was made of the table. Texts are as
 * in script.h.
 */

#define SIG_VOID "latchkey:void:{n}"

/* For a lease of 30000. */
const char *sig_acquire(script_fixture *f, const char *claim);

const char *sig_release(script_fixture *f, const char *claim);
/* stone_ms: for so long it may not acquire any more; 0: it may. */
const char *sig_leave(script_fixture *f, const char *claim, int64_t stone_ms);
/* claim "": whoever holds. */
const char *sig_force(script_fixture *f, const char *claim);

const char *sig_renew(script_fixture *f, const char *claim, int64_t lease);
const char *sig_see(script_fixture *f);

/* The hold of a claim becomes that of another one, for 60000 ms. */
const char *sig_import(script_fixture *f, const char *claim, const char *own);
const char *sig_revoke(script_fixture *f, const char *claim);

#endif /* LK_TESTS_SUPPORT_SIG_SCRIPT_H */
