/* SPDX-License-Identifier: MIT */
#ifndef LK_CELL_H
#define LK_CELL_H

/**
 * @file
 * A value with a version, for optimistic concurrency: read, think, and write
 * only if nobody has written in between. It is also where a fence is looked at:
 * a guarded write is made only by the newest holder of a lock.
 *
 * Promise: a write names the version that it replaces and is made if that is
 * still the one, in one step at the server, and once, however often the network
 * made it be said. Versions only grow, also over a delete, over the end of the
 * cell's time and over a flush of the server, as long as its clock is not set
 * back. So a version stands for one value and for no other.
 *
 * A write, a delete or an update that returns LK_EPENDING was sent, and no answer
 * came, or only a refusal when it was sent again: it may have been made. What is
 * read afterwards tells; to repeat it is to write a second time.
 *
 * Threads: a handle may be used from any thread. Nobody owns a cell.
 *
 * Lifetime: freeing the handle is local. What is read belongs to the caller.
 * The cell stays on the server until it is deleted or its ttl_ms ends.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_cell lk_cell;

/** For a version: that of a cell that is unset. */
#define LK_CELL_UNSET UINT64_C(0)

/** For a version: whatever it is. */
#define LK_CELL_ANY UINT64_MAX

/** The largest max_size there may be: 32 MiB. */
#define LK_CELL_SIZE_MAX UINT64_C(33554432)

/** Zero in any field means its default. */
typedef struct lk_cell_options {
    size_t size;       /**< set by LK_CELL_OPTIONS_INIT */
    uint64_t ttl_ms;   /**< what this handle writes ends so long after; never */
    uint64_t max_size; /**< bytes in a value that this handle writes; 1 MiB */
} lk_cell_options;

#define LK_CELL_OPTIONS_INIT LK_SIZED(lk_cell_options)

/** What a cell holds. */
typedef struct lk_cell_value {
    uint64_t version;  /**< never LK_CELL_UNSET */
    size_t size;       /**< bytes; 0 is a value, too */
    const void *bytes; /**< a NUL stands behind them */
} lk_cell_value;

/** Frees what was read. NULL is allowed. */
LK_API void lk_cell_value_free(lk_cell_value *value);

/**
 * Makes a handle on the cell called name; see lk_lock_new() for names. The cell
 * of a lock's name lies in the lock's slot, and so does any that has that name
 * in braces: "{orders:1}:total" for the lock "orders:1".
 */
LK_API LK_NODISCARD lk_status lk_cell_new(lk_cell **ret_cell, lk_client *client,
                                          const char *name,
                                          const lk_cell_options *options);

/** Frees the handle. NULL is allowed. No blocking call may be using it. */
LK_API void lk_cell_free(lk_cell *cell);

/**
 * Reads value and version. Free with lk_cell_value_free().
 *
 * @return LK_OK; LK_EUNSET; LK_EOFFLINE; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_cell_read(lk_cell *cell,
                                           lk_cell_value **ret_value);

/** Ends lk_cell_read_async(). The callback owns value, NULL unless LK_OK. */
typedef void (*lk_cell_read_cb)(lk_status status, lk_cell_value *value,
                                void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_cell_read_async(lk_cell *cell,
                                                 lk_cell_read_cb cb,
                                                 void *data);

/**
 * Sets the cell if it is of this version: compare and set.
 *
 * @param version      LK_CELL_UNSET: only if it is unset; LK_CELL_ANY: whatever
 *                     was there is overwritten
 * @param ret_version  may be NULL
 * @return LK_OK; LK_ESTALE: it is of another version, which lk_last_error()
 *         names; LK_ERANGE: more than max_size bytes; LK_EPENDING; LK_EOFFLINE;
 *         or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_cell_write(lk_cell *cell, uint64_t version,
                                            const void *bytes, size_t size,
                                            uint64_t *ret_version);

/** Ends an async write; version means nothing unless LK_OK. */
typedef void (*lk_cell_write_cb)(lk_status status, uint64_t version,
                                 void *data);

/** The same without waiting; the bytes are copied. */
LK_API LK_NODISCARD lk_status
lk_cell_write_async(lk_cell *cell, uint64_t version, const void *bytes,
                    size_t size, lk_cell_write_cb cb, void *data);

/**
 * The same for the holder of a lock: the write is made only if no newer fence
 * has written, and if the hold is of this client and its lock lies in the
 * cell's slot, only if the lock is still held at the server.
 *
 * What is guarded so must not be written without a hold as well: such writes
 * look at the version alone.
 *
 * @param hold  of a lock, a fair lock, or a read-write lock for writing;
 *              others are LK_ENOTSUP: their fences are not of one holder alone
 * @return as above; LK_ESTALE: a newer holder has written, or the version is
 *         another; LK_ELOST: the hold is lost. Nothing was written
 */
LK_API LK_NODISCARD lk_status
lk_cell_write_guarded(lk_cell *cell, lk_hold *hold, uint64_t version,
                      const void *bytes, size_t size, uint64_t *ret_version);

/** The same without waiting. The hold may be released before cb is called. */
LK_API LK_NODISCARD lk_status lk_cell_write_guarded_async(
    lk_cell *cell, lk_hold *hold, uint64_t version, const void *bytes,
    size_t size, lk_cell_write_cb cb, void *data);

/**
 * Makes the cell unset if it is of this version. A fence that has written stays
 * known for a week.
 *
 * @return LK_OK; LK_EUNSET: it was unset; LK_ESTALE; LK_EPENDING; LK_EOFFLINE;
 *         or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_cell_delete(lk_cell *cell, uint64_t version);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_cell_delete_async(lk_cell *cell,
                                                   uint64_t version,
                                                   lk_done_cb cb, void *data);

/* ---- update ---------------------------------------------------------------- */

/** What the cell shall hold next; within an lk_cell_update_fn. */
typedef struct lk_cell_draft lk_cell_draft;

/**
 * Sets what is to be written; a later call replaces it. Bytes are copied.
 *
 * @return LK_OK; LK_ERANGE: more than the handle's max_size; LK_ENOMEM
 */
LK_API LK_NODISCARD lk_status lk_cell_draft_set(lk_cell_draft *draft,
                                                const void *bytes, size_t size);

/**
 * Makes the next value out of the present one. It may be called several times,
 * so it should do nothing else. Without a draft, nothing is written.
 *
 * @param old  borrowed; NULL: the cell is unset
 * @return LK_OK; anything else ends the update with that status
 */
typedef lk_status (*lk_cell_update_fn)(const lk_cell_value *old,
                                       lk_cell_draft *draft, void *data);

/** Zero in any field means its default. */
typedef struct lk_cell_update_options {
    size_t size;    /**< set by LK_CELL_UPDATE_OPTIONS_INIT */
    uint64_t tries; /**< at most so many writes; 16 */
    lk_hold *hold;  /**< guards each write, must outlive the call; none */
} lk_cell_update_options;

#define LK_CELL_UPDATE_OPTIONS_INIT LK_SIZED(lk_cell_update_options)

/**
 * Reads, calls fn, and writes if nobody has written since; else it pauses for a
 * random time, of up to 1 ms at first and 64 ms at last, and begins again. Each
 * read and each write takes at most the client's command_timeout_ms.
 *
 * @param ret_version  of what is there now, LK_CELL_UNSET if nothing is; may be
 *                     NULL
 * @return LK_OK; what fn returned; LK_ESTALE: others were faster each time, or
 *         a newer holder has written; LK_EPENDING: the last write may have been
 *         made; or as for a read and a write
 */
LK_API LK_NODISCARD lk_status
lk_cell_update(lk_cell *cell, const lk_cell_update_options *options,
               lk_cell_update_fn fn, void *data, uint64_t *ret_version);

/** The same without waiting. fn is called where callbacks are, with cb's data,
    and so may not block. */
LK_API LK_NODISCARD lk_status
lk_cell_update_async(lk_cell *cell, const lk_cell_update_options *options,
                     lk_cell_update_fn fn, lk_cell_write_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_CELL_H */
