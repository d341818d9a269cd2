/* SPDX-License-Identifier: MIT */
#ifndef LK_RWLOCK_H
#define LK_RWLOCK_H

/**
 * @file
 * A lock that many readers share, or that one writer has alone; Redisson's
 * RReadWriteLock is the same lock.
 *
 * Promise: while a write hold is valid no other hold is, but for reads of its
 * own owner. Readers and writers take turns, so neither waits for more than
 * one turn of the others, as far as they are Latchkey's: Redisson's readers do
 * not queue. A dead reader keeps a writer out for no longer than its own lease.
 *
 * Threads: a handle may be used from any thread. The owner is the calling
 * thread unless the options name one. An owner may acquire again what it
 * holds, and read while it writes; to write while it reads, its read hold must
 * be an upgradeable one.
 *
 * Lifetime: freeing the handle is local; a hold outlives it.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lk_rwlock lk_rwlock;

/** Who goes first when both readers and writers wait. */
typedef enum lk_rwlock_order {
    LK_RWLOCK_TURNS = 0,         /**< a writer, then those who waited to read */
    LK_RWLOCK_READERS_FIRST = 1, /**< readers; writers may starve */
    LK_RWLOCK_WRITERS_FIRST = 2  /**< writers; readers may starve */
} lk_rwlock_order;

/** What the server says of the lock. */
typedef enum lk_rwlock_state {
    LK_RWLOCK_FREE = 0,
    LK_RWLOCK_READ = 1, /**< held by one reader or more */
    LK_RWLOCK_WRITE = 2 /**< held by the writer */
} lk_rwlock_state;

/** Zero in any field means its default. */
typedef struct lk_rwlock_options {
    size_t size;       /**< set by LK_RWLOCK_OPTIONS_INIT */
    uint64_t lease_ms; /**< for acquires that name none; default: watchdog */
    uint64_t order;    /**< an lk_rwlock_order; give all handles the same */
    uint64_t strategy; /**< an lk_lock_strategy, of all that this handle
                            acquires. Either side excludes the other; where
                            both wait they take turns */
    uint64_t spin_first_ms; /**< a pause is a random time below this at first
                                 and below twice as much each time; 1 */
    uint64_t spin_most_ms;  /**< and never longer than this; 128 */
} lk_rwlock_options;

#define LK_RWLOCK_OPTIONS_INIT LK_SIZED(lk_rwlock_options)

/** Makes a handle on the lock called name; see lk_lock_new() for names. */
LK_API LK_NODISCARD lk_status lk_rwlock_new(lk_rwlock **ret_rwlock,
                                            lk_client *client, const char *name,
                                            const lk_rwlock_options *options);

/** Frees the handle. NULL is allowed. No call may be using it. */
LK_API void lk_rwlock_free(lk_rwlock *rwlock);

/**
 * Acquires the lock for reading, beside other readers. The fence of a read
 * hold is shared with them and cannot guard a write. Readers of one client
 * whose leases the watchdog renews have one hold at the server between them.
 *
 * @param wait_ms   0 tries once; LK_FOREVER waits without limit
 * @param options   NULL: all defaults
 * @param ret_hold  untouched unless LK_OK
 * @return LK_OK; LK_EBUSY (wait_ms was 0); LK_ETIMEDOUT; LK_ECANCELED;
 *         LK_ECLOSED; LK_EOFFLINE; LK_EINDOUBT; or the server's refusal
 */
LK_API LK_NODISCARD lk_status
lk_rwlock_acquire_read(lk_rwlock *rwlock, int64_t wait_ms,
                       const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_acquire_read_async(
    lk_rwlock *rwlock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/**
 * As lk_rwlock_acquire_read(), for a reader that may go on to write: there is
 * one such hold at a time, beside plain ones. An owner with a plain read hold
 * is refused with LK_EUPGRADE.
 */
LK_API LK_NODISCARD lk_status lk_rwlock_acquire_upgradeable(
    lk_rwlock *rwlock, int64_t wait_ms, const lk_acquire_options *options,
    lk_hold **ret_hold);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_acquire_upgradeable_async(
    lk_rwlock *rwlock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/**
 * Acquires the lock for writing, alone. An owner with an upgradeable hold goes
 * before other writers: it waits for the readers to leave while new ones are
 * kept out. It then has two holds, and releasing this one is a downgrade.
 *
 * @return as lk_rwlock_acquire_read(); LK_EUPGRADE: the owner has a plain read
 *         hold, so that it would wait for itself; LK_ELOST: its upgradeable
 *         hold ended while it waited, so others may have written since; nothing
 *         was done
 */
LK_API LK_NODISCARD lk_status
lk_rwlock_acquire_write(lk_rwlock *rwlock, int64_t wait_ms,
                        const lk_acquire_options *options, lk_hold **ret_hold);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_acquire_write_async(
    lk_rwlock *rwlock, int64_t wait_ms, const lk_acquire_options *options,
    lk_acquire_cb cb, void *data);

/** Reads, or writes, around a call of fn; see lk_lock_run(). */
LK_API LK_NODISCARD lk_status
lk_rwlock_run_read(lk_rwlock *rwlock, int64_t wait_ms,
                   const lk_acquire_options *options, lk_run_fn fn, void *data);
LK_API LK_NODISCARD lk_status lk_rwlock_run_write(
    lk_rwlock *rwlock, int64_t wait_ms, const lk_acquire_options *options,
    lk_run_fn fn, void *data);

/**
 * Turns a write hold into a read hold in one step: readers come in, no writer
 * comes between. It is not an upgradeable one. A re-entered hold is turned
 * with its last handle.
 *
 * @return LK_OK, also when the server does not answer in time: it is asked
 *         again, and others come in later; LK_ELOST; LK_EINVAL: not a write
 *         hold; LK_EOFFLINE or the server's refusal: it is still a write hold
 */
LK_API LK_NODISCARD lk_status lk_rwlock_downgrade(lk_hold *hold);

/** The same without waiting. The hold may be released before cb is called. */
LK_API LK_NODISCARD lk_status lk_rwlock_downgrade_async(lk_hold *hold,
                                                        lk_done_cb cb,
                                                        void *data);

/**
 * Takes over a hold that another process has exported, for reading or writing
 * as the server knows it, whatever the text says; see lk_lock_import().
 */
LK_API LK_NODISCARD lk_status
lk_rwlock_import(lk_rwlock *rwlock, const char *text,
                 const lk_acquire_options *options, lk_hold **ret_hold);

/**
 * Has the hold of one owner end, of the writer with its owner's reads or of one
 * reader, and lets nobody in before it has; see lk_lock_revoke().
 */
LK_API LK_NODISCARD lk_status lk_rwlock_revoke(lk_rwlock *rwlock,
                                               const char *owner,
                                               int64_t *ret_left_ms);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_revoke_async(lk_rwlock *rwlock,
                                                     const char *owner,
                                                     lk_revoke_cb cb,
                                                     void *data);

/**
 * Ends the writer's hold, with reads of its owner, or the holds of all readers,
 * and lets the next in. The holders are told, if they are Latchkey clients.
 * For operators.
 *
 * @return LK_OK; LK_ENOTHELD: nobody held it
 */
LK_API LK_NODISCARD lk_status lk_rwlock_force_release(lk_rwlock *rwlock);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_force_release_async(lk_rwlock *rwlock,
                                                            lk_done_cb cb,
                                                            void *data);

/**
 * Ends the hold of one owner: of the writer, with its owner's reads, or of one
 * reader, and the others read on.
 *
 * @param owner  as in lk_party
 * @return LK_OK; LK_ENOTHELD: it does not hold the lock; nothing was changed
 */
LK_API LK_NODISCARD lk_status lk_rwlock_force_release_of(lk_rwlock *rwlock,
                                                         const char *owner);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_force_release_of_async(
    lk_rwlock *rwlock, const char *owner, lk_done_cb cb, void *data);

/** Asks the server how the lock is held. */
LK_API LK_NODISCARD lk_status lk_rwlock_state_get(lk_rwlock *rwlock,
                                                  lk_rwlock_state *ret_state);

/** Ends lk_rwlock_state_get_async(); state means nothing unless LK_OK. */
typedef void (*lk_rwlock_state_cb)(lk_status status, lk_rwlock_state state,
                                   void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_state_get_async(lk_rwlock *rwlock,
                                                        lk_rwlock_state_cb cb,
                                                        void *data);

/** Asks who holds the lock and who waits. Free with lk_info_free(). */
LK_API LK_NODISCARD lk_status lk_rwlock_info(lk_rwlock *rwlock,
                                             lk_info **ret_info);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_rwlock_info_async(lk_rwlock *rwlock,
                                                   lk_info_cb cb, void *data);

#ifdef __cplusplus
}
#endif

#endif /* LK_RWLOCK_H */
