/* SPDX-License-Identifier: MIT */

/*
 * Cells: a hash with a version and a value, a memo of the changes that were
 * made (claims/settled.h), and a mark of the fence that outlives the hash.
 */

#include "cell/cell.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/protocol.h"
#include "claims/settled.h"

enum { SIZE_DEFAULT = 1024 * 1024 };

/* It has no claims. */
static const lk__kind kind = {
    .word = "cell",
    .family = "cell",
    .holdless = true,
    .key_count = LK__CELL_KEYS,
    .keys = lk__cell_keys,
    .channel = "",
    .own_free = lk__settled_free,
};

void lk_cell_value_free(lk_cell_value *value)
{
    lk__free(value);
}

/* ---- new and free ------------------------------------------------------------ */

static lk_status
options_take(lk_cell_options *copy, const lk_cell_options *options)
{
    lk_status status = lk__options_copy(copy, sizeof(*copy), options);

    if (status == LK_OK && copy->ttl_ms > LK__TIME_MAX_MS)
        status = lk__fail(LK_EINVAL, "ttl_ms is longer than ten years");
    if (status == LK_OK && copy->max_size > LK_CELL_SIZE_MAX)
        status = lk__fail(LK_EINVAL, "max_size is more than LK_CELL_SIZE_MAX");
    if (copy->max_size == 0)
        copy->max_size = SIZE_DEFAULT;
    return status;
}

lk_status lk_cell_new(lk_cell **ret_cell, lk_client *client, const char *name,
                      const lk_cell_options *options)
{
    lk_cell_options copy;
    lk__handle *handle;
    lk_status status = options_take(&copy, options);

    if (ret_cell == NULL)
        return lk__fail(LK_EINVAL, "ret_cell is NULL");
    if (status == LK_OK)
        status = lk__handle_new(&handle, sizeof(lk_cell), client, &kind, name);
    if (status != LK_OK)
        return status;
    *ret_cell = (lk_cell *)(void *)handle;
    (*ret_cell)->options = copy;
    return LK_OK;
}

void lk_cell_free(lk_cell *cell)
{
    lk__handle_free((lk__handle *)(void *)cell);
}

/* ---- checks ------------------------------------------------------------------ */

lk_status lk__cell_check(const lk_cell *cell)
{
    return lk__handle_check((const lk__handle *)(const void *)cell, cell);
}

static lk_status check_async(const lk_cell *cell, bool has_cb)
{
    lk_status status = lk__cell_check(cell);

    if (status == LK_OK && !has_cb)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    return status;
}

lk_status
lk__cell_check_value(uint64_t max_size, const void *bytes, size_t size)
{
    if (bytes == NULL && size != 0)
        return lk__fail(LK_EINVAL, "the bytes are NULL");
    if (size > max_size)
        return lk__fail(LK_ERANGE,
                        "the value has %zu bytes; max_size is %" PRIu64, size,
                        max_size);
    return LK_OK;
}

/* ---- reading ----------------------------------------------------------------- */

lk_status lk_cell_read(lk_cell *cell, lk_cell_value **ret_value)
{
    const lk__cell_order order = {.what = &lk__cell_read};
    lk__cell_result result = {0};
    lk_status status = lk__cell_check(cell);

    if (status != LK_OK)
        return status;
    if (ret_value == NULL)
        return lk__fail(LK_EINVAL, "ret_value is NULL");
    status = lk__cell_do(cell->handle.place, &order, &result);
    if (status == LK_OK)
        *ret_value = result.value;
    return status;
}

lk_status lk_cell_read_async(lk_cell *cell, lk_cell_read_cb cb, void *data)
{
    const lk__cell_order order = {.what = &lk__cell_read};
    const lk__cell_end end = {.read = cb, .data = data};
    lk_status status = check_async(cell, cb != NULL);

    return status != LK_OK
               ? status
               : lk__cell_do_async(cell->handle.place, &order, &end);
}

/* ---- writing ----------------------------------------------------------------- */

static lk_status order_write(lk__cell_order *ret_order, const lk_cell *cell,
                             uint64_t version, const void *bytes, size_t size)
{
    *ret_order = (lk__cell_order){.what = &lk__cell_write,
                                  .version = version,
                                  .bytes = bytes,
                                  .size = size,
                                  .ttl_ms = cell->options.ttl_ms};
    return lk__cell_check_value(cell->options.max_size, bytes, size);
}

/* hold: only if guarded. */
static lk_status write_blocking(lk_cell *cell, const lk_hold *hold,
                                bool guarded, uint64_t version,
                                const void *bytes, size_t size,
                                uint64_t *ret_version)
{
    lk__cell_order order;
    lk__cell_result result = {0};
    lk_status status = lk__cell_check(cell);

    if (status == LK_OK)
        status = order_write(&order, cell, version, bytes, size);
    if (status == LK_OK && guarded)
        status = lk__cell_guard(&order, cell->handle.place, hold);
    if (status == LK_OK)
        status = lk__cell_do(cell->handle.place, &order, &result);
    if (status == LK_OK && ret_version != NULL)
        *ret_version = result.version;
    return status;
}

static lk_status write_async(lk_cell *cell, const lk_hold *hold, bool guarded,
                             uint64_t version, const void *bytes, size_t size,
                             const lk__cell_end *end)
{
    lk__cell_order order;
    lk_status status = check_async(cell, end->written != NULL);

    if (status == LK_OK)
        status = order_write(&order, cell, version, bytes, size);
    if (status == LK_OK && guarded)
        status = lk__cell_guard(&order, cell->handle.place, hold);
    return status != LK_OK ? status
                           : lk__cell_do_async(cell->handle.place, &order, end);
}

lk_status lk_cell_write(lk_cell *cell, uint64_t version, const void *bytes,
                        size_t size, uint64_t *ret_version)
{
    return write_blocking(cell, NULL, false, version, bytes, size, ret_version);
}

lk_status lk_cell_write_async(lk_cell *cell, uint64_t version,
                              const void *bytes, size_t size,
                              lk_cell_write_cb cb, void *data)
{
    const lk__cell_end end = {.written = cb, .data = data};

    return write_async(cell, NULL, false, version, bytes, size, &end);
}

lk_status lk_cell_write_guarded(lk_cell *cell, lk_hold *hold, uint64_t version,
                                const void *bytes, size_t size,
                                uint64_t *ret_version)
{
    return write_blocking(cell, hold, true, version, bytes, size, ret_version);
}

lk_status lk_cell_write_guarded_async(lk_cell *cell, lk_hold *hold,
                                      uint64_t version, const void *bytes,
                                      size_t size, lk_cell_write_cb cb,
                                      void *data)
{
    const lk__cell_end end = {.written = cb, .data = data};

    return write_async(cell, hold, true, version, bytes, size, &end);
}

/* ---- deleting ---------------------------------------------------------------- */

lk_status lk_cell_delete(lk_cell *cell, uint64_t version)
{
    const lk__cell_order order = {.what = &lk__cell_delete, .version = version};
    lk_status status = lk__cell_check(cell);

    return status != LK_OK ? status
                           : lk__cell_do(cell->handle.place, &order, NULL);
}

lk_status
lk_cell_delete_async(lk_cell *cell, uint64_t version, lk_done_cb cb, void *data)
{
    const lk__cell_order order = {.what = &lk__cell_delete, .version = version};
    const lk__cell_end end = {.done = cb, .data = data};
    lk_status status = check_async(cell, cb != NULL);

    return status != LK_OK
               ? status
               : lk__cell_do_async(cell->handle.place, &order, &end);
}
