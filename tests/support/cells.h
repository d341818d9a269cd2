/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_CELLS_H
#define LK_TESTS_SUPPORT_CELLS_H

#include "support/locking.h"

/* For tests of cells: what only they have, beside locking.h. */

/* options may be NULL. */
lk_cell *cells_named(locking *f, lk_client *client, const char *name,
                     const lk_cell_options *options);
/* A write of text that must succeed; returns the version. */
uint64_t cells_set(lk_cell *cell, const char *text);

/* Fails the test unless the cell holds this text; NULL: it is unset. Returns
   the version. */
uint64_t cells_expect(lk_cell *cell, const char *text);

/* How an async call on a cell ended; see call.h. The value is freed. */
typedef struct cell_call {
    atomic_int ends;
    lk_status status;
    uint64_t version;
    char text[64];
    char words[160];
} cell_call;

void cell_on_read(lk_status status, lk_cell_value *value, void *data);
void cell_on_written(lk_status status, uint64_t version, void *data);

/* Waits for the end, 10 s at most (scaled), and returns the status. */
lk_status cell_call_wait(cell_call *c, lk_client *client);

#endif /* LK_TESTS_SUPPORT_CELLS_H */
