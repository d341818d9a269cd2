/* SPDX-License-Identifier: MIT */
#ifndef LK_CELL_CELL_H
#define LK_CELL_CELL_H

#include <latchkey/cell.h>

#include "cell/operation.h"
#include "handle/handle.h"

struct lk_cell {
    lk__handle handle; /* first */
    lk_cell_options options;
};

/* The handle, and its size for a value; before anything is touched. */
lk_status lk__cell_check(const lk_cell *cell);
lk_status
lk__cell_check_value(uint64_t max_size, const void *bytes, size_t size);

#endif /* LK_CELL_CELL_H */
