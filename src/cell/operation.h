/* SPDX-License-Identifier: MIT */
#ifndef LK_CELL_OPERATION_H
#define LK_CELL_OPERATION_H

#include <latchkey/cell.h>

#include "cell_table.h"
#include "claims/place.h"

enum { LK__CELL_FIELD_SIZE = 96 };

/*
 * One request to the server. What changes a cell has a number that the server
 * remembers with its answer, so that it may be asked again within its call and
 * is made once. It does not persist: a caller in doubt reads and says it again,
 * and done late it would surprise.
 */
typedef struct lk__cell_order {
    const lk__signature *what; /* lk__cell_read, _write or _delete */
    uint64_t version;          /* expected */
    const void *bytes;
    size_t size;
    uint64_t ttl_ms;
    /* The guard: */
    uint64_t fence;                  /* 0: none */
    const lk__place *lock;           /* NULL: only the fence counts; borrowed */
    char field[LK__CELL_FIELD_SIZE]; /* in it; "": the same */
} lk__cell_order;

typedef struct lk__cell_result {
    uint64_t version;
    lk_cell_value *value; /* of a read; the receiver's */
    bool fenced;          /* with LK_ESTALE: by a newer fence */
} lk__cell_result;

/* Adds the guard: LK_OK; LK_EINVAL, LK_ELOST, LK_ENOTSUP, LK_EFORKED. Outside
   the monitor. */
lk_status lk__cell_guard(lk__cell_order *order, const lk__place *place,
                         const lk_hold *hold);

/* Asks and waits for the answer; enters the monitor. result may be NULL unless
   it reads. */
lk_status lk__cell_do(lk__place *place, const lk__cell_order *order,
                      lk__cell_result *result);

/* How an async one ends: one of these, the others are NULL. */
typedef struct lk__cell_end {
    lk_done_cb done;
    lk_cell_read_cb read;
    lk_cell_write_cb written;
    void (*step)(lk_status status, lk__cell_result *result, void *data);
    void *data;
} lk__cell_end;

/* Enters the monitor. */
lk_status lk__cell_do_async(lk__place *place, const lk__cell_order *order,
                            const lk__cell_end *end);

#endif /* LK_CELL_OPERATION_H */
