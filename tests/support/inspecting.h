/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_INSPECTING_H
#define LK_TESTS_SUPPORT_INSPECTING_H

#include <latchkey/inspect.h>

/*
 * For tests of what a client sees of all names. Whatever cannot be had fails the running
 * test.
 */

/* What it lists with these options; the caller frees it. */
lk_listing *inspecting_list(lk_client *client, const char *pattern,
                            uint64_t idle, uint64_t ours);

/* What is listed of a name, once at most; NULL: nothing. */
const lk_entry *inspecting_entry(const lk_listing *listing, const char *name);

/* A name of each kind, by what that is called: rw, sem, plain, latch. The caller
   releases the holds of the first two kinds. */
void inspecting_make(lk_client *client, lk_hold *holds[3]);

#endif /* LK_TESTS_SUPPORT_INSPECTING_H */
