/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_RW_ROADS_H
#define LK_TESTS_SUPPORT_RW_ROADS_H

#include "support/rw_script.h"

/*
 * The two roads of rwlock_acquire and rwlock_close, the short one before their rest
 * and the long one, and what can be seen of what each does.
 */

enum { RW_SEEN = 16384 };

/* From now on a script goes the long road, or whichever it takes. The clock stands
   still, so many ms behind a full second; what is left of a life is rounded up. */
void rw_take_road(script_fixture *f, bool is_long, int ms);
/* Adds to seen an answer without the place in the script where an error arose, all
   keys with what they hold and for how many seconds they live, rounded up to five,
   and what was heard. */
void rw_note(script_fixture *f, char *seen, const char *answer);
/* Whether the server ran this command since its statistics began. */
bool rw_was_called(script_fixture *f, const char *command);

#endif /* LK_TESTS_SUPPORT_RW_ROADS_H */
