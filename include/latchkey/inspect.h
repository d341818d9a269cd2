/* SPDX-License-Identifier: MIT */
#ifndef LK_INSPECT_H
#define LK_INSPECT_H

/**
 * @file
 * Looking at a server: which names are in use and of what kind, who holds and
 * who waits, and whether the server is fit to keep locks. For operators and
 * their tools; a program that locks needs none of it.
 *
 * Promise: nothing here changes the server but the functions that say so.
 * Nothing uses KEYS, a long script or any other command that keeps the server
 * busy: names are found with SCAN in small steps, and each name is read with
 * a few short commands, of which a bounded number is under way at once.
 *
 * A name is recognised by its keys. What Latchkey has used has a record that
 * says what it is. What only other libraries use is known by its shape: the
 * locks, read-write locks and semaphores of leased permits of Redisson are.
 * Its bare counters and latches are a number under a name like any other.
 *
 * Threads: every function may be called from any thread; see client.h.
 */

#include <latchkey/hold.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a name is. A fair lock is a lock: they share their keys. */
typedef enum lk_kind {
    LK_KIND_NONE = 0,            /**< nothing that is known */
    LK_KIND_LOCK = 1,            /**< lock.h, fairlock.h */
    LK_KIND_RWLOCK = 2,          /**< rwlock.h */
    LK_KIND_SEMAPHORE = 3,       /**< semaphore.h */
    LK_KIND_PLAIN_SEMAPHORE = 4, /**< plain_semaphore.h */
    LK_KIND_LATCH = 5            /**< latch.h */
} lk_kind;

/** Returns "lock", "rwlock", "semaphore", "plain-semaphore", "latch"; "". */
LK_API const char *lk_kind_text(lk_kind kind);

/* ---- which names there are ------------------------------------------------------ */

/** Zero in any field means its default. */
typedef struct lk_list_options {
    size_t size;         /**< set by LK_LIST_OPTIONS_INIT */
    const char *pattern; /**< of names, as for Redis: * ? [a-z] \; all */
    uint64_t idle;  /**< 1: also names that nobody holds or waits for, of which
                         the server remembers the last fence */
    uint64_t ours;  /**< 1: only names that a Latchkey client has used; on a
                         server with many keys of others this is cheaper */
    uint64_t limit; /**< at most so many names are looked at; 1000000 */
} lk_list_options;

#define LK_LIST_OPTIONS_INIT LK_SIZED(lk_list_options)

/** One name. Strings are never NULL. */
typedef struct lk_entry {
    const char *name;
    lk_kind kind;
    bool ours;             /**< a Latchkey client has used the name */
    uint64_t holder_count; /**< who holds, or permits that are taken; of a plain
                                semaphore and a latch unknown: 0. A reader or a
                                permit whose lease has ended may be counted
                                until somebody comes across it */
    uint64_t waiter_count; /**< without Redisson's, but those of its fair lock;
                                one that was not heard of for 13 s does not
                                count, if it is among the first 1024 */
    bool has_value;        /**< a semaphore or a latch that is set */
    int64_t value;         /**< permits that are free; what a latch waits for */
    const lk_party *holder; /**< of a lock or read-write lock one of those who
                                 hold, a writer if there is one; else NULL */
} lk_entry;

/** What was found, in no order; each name as it was at a moment of its own. */
typedef struct lk_listing {
    size_t count;
    const lk_entry *const *entries;
    bool truncated;      /**< there are more names than the limit */
    const char *missing; /**< "": nothing; else, of a cluster: its masters that
                              did not answer, of whose names none or not all
                              are here, and why; or that slots moved on and on;
                              in words. With the URL of one node alone: that
                              the others were not asked */
} lk_listing;

/** Ends lk_list_async(). The callback owns listing, NULL unless LK_OK. */
typedef void (*lk_list_cb)(lk_status status, lk_listing *listing, void *data);

/**
 * Lists the names in use. It reads the whole key space in steps, as SCAN does:
 * a name that is in use from the begin to the end is in the list, once; one
 * that comes or goes meanwhile may be. In a cluster it reads the key spaces of
 * all masters at once, also while slots move. A master that is away is waited for,
 * as long as for other calls; then the rest is listed, and missing says which.
 *
 * @param wait_ms  for all of it, as for lk_lock_acquire(), but not 0
 * @param options  NULL: all defaults
 * @return LK_OK; LK_ETIMEDOUT; LK_EOFFLINE; or the server's refusal
 */
LK_API LK_NODISCARD lk_status lk_list(lk_client *client, int64_t wait_ms,
                                      const lk_list_options *options,
                                      lk_listing **ret_listing);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_list_async(lk_client *client, int64_t wait_ms,
                                            const lk_list_options *options,
                                            lk_list_cb cb, void *data);

/** Frees what lk_list() returned. NULL is allowed. */
LK_API void lk_listing_free(lk_listing *listing);

/* ---- one name ------------------------------------------------------------------ */

/**
 * Asks what a name is, who holds and who waits: lk_lock_info() and its like,
 * for callers that do not know the kind. Free with lk_info_free().
 *
 * @param ret_kind  also set where the name is of a kind but not in use
 * @return LK_OK; LK_ENOTHELD: no such name; or as lk_lock_info()
 */
LK_API LK_NODISCARD lk_status lk_who(lk_client *client, const char *name,
                                     lk_kind *ret_kind, lk_info **ret_info);

/** Ends lk_who_async(). The callback owns info, NULL unless LK_OK. */
typedef void (*lk_who_cb)(lk_status status, lk_kind kind, lk_info *info,
                          void *data);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_who_async(lk_client *client, const char *name,
                                           lk_who_cb cb, void *data);

/**
 * Has the hold of one owner end, whatever the kind, and lets nobody else in
 * before it has: lk_lock_revoke() and its like. Called again and again it says
 * how long that takes at most. Changes the server.
 *
 * @param owner        as in lk_party
 * @param ret_left_ms  it ends within so long; LK_FOREVER: it is another
 *                     library's, which cannot be told, and nothing was changed;
 *                     or its key has no end
 * @return LK_OK: it holds still; LK_ENOTHELD: it does not, or not any more;
 *         LK_ENOTSUP: nothing of this kind is held by an owner; also after the
 *         end of a hold, if the name was a latch or plain semaphore before
 */
LK_API LK_NODISCARD lk_status lk_revoke(lk_client *client, const char *name,
                                        const char *owner,
                                        int64_t *ret_left_ms);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_revoke_async(lk_client *client,
                                              const char *name,
                                              const char *owner,
                                              lk_revoke_cb cb, void *data);

/**
 * Ends the hold of one owner at once, whatever the kind, and hands over to the
 * next: lk_lock_force_release_of() and its like. The holder is told, if it is a
 * Latchkey client, but nobody waits for it: its work may go on beside the
 * next one's. Changes the server.
 *
 * @param owner  as in lk_party
 * @return LK_OK; LK_ENOTHELD: that owner does not hold it, nothing was changed;
 *         LK_ENOTSUP: nothing of this kind is held by an owner; LK_EINDOUBT: no
 *         answer in time, call it again
 */
LK_API LK_NODISCARD lk_status lk_break(lk_client *client, const char *name,
                                       const char *owner);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_break_async(lk_client *client,
                                             const char *name,
                                             const char *owner, lk_done_cb cb,
                                             void *data);

/**
 * Removes what the server keeps of a name that nobody uses, so that any kind
 * may use it: the record, which may stay for a week, and what is left of
 * those who waited. Of a semaphore it removes the number of permits as well,
 * of a latch its count, also if others set them. Changes the server.
 *
 * It is refused while somebody holds it or waits for it, or did a moment ago,
 * and while a plain semaphore is set, whose holders nobody knows: then call
 * lk_plain_semaphore_delete() first, which asks nobody. A latch may be armed,
 * if nobody waits.
 *
 * Fences do not go back: the last one stays for an hour, and whoever uses the
 * name in that time goes on from there. After that they grow because the
 * server's clock does, and only because of that: if it was set back by more
 * than the name was forgotten, they are smaller than before. What else stays:
 * the keys of other libraries' locks; claims that were given up while a
 * request of theirs may be on its way; and for eleven minutes the memory of
 * changes that may be sent again, so that for so long a plain semaphore's name
 * cannot become a latch's, nor the other way round.
 *
 * @return LK_OK; LK_EBUSY: it is in use, lk_last_error() says by whom, and
 *         nothing was changed; LK_ENOTHELD: nothing is kept of it; LK_ETYPE:
 *         one of its keys is something else, and nothing was changed;
 *         LK_EINDOUBT: say it again; or as lk_who()
 */
LK_API LK_NODISCARD lk_status lk_forget(lk_client *client, const char *name);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_forget_async(lk_client *client,
                                              const char *name, lk_done_cb cb,
                                              void *data);

/* ---- what operators did ---------------------------------------------------------- */

/** So many events of a name are kept, for a week after the last one. */
#define LK_EVENTS_KEPT 32

/**
 * Something that was done to a name. Strings are never NULL. Whoever may write
 * the name's keys may write events of it: they say what was told, not what is
 * so.
 */
typedef struct lk_event {
    const char *name;
    const char *what;    /**< one word, as "revoked" */
    const char *owner;   /**< to whose hold, as in lk_party */
    const char *text;    /**< words about that */
    const char *host;    /**< of the process that did it; "" if unknown */
    const char *command; /**< program name */
    const char *user;    /**< user name of the process */
    uint64_t pid;        /**< 0 if unknown */
    uint64_t at_ms;      /**< when, by the server's clock: Unix time */
} lk_event;

/** Events, the oldest first. */
typedef struct lk_events {
    size_t count;
    const lk_event *const *entries;
    bool truncated;      /**< there are more than can be told */
    const char *missing; /**< as in lk_listing */
} lk_events;

/** Ends lk_events_get_async(). The callback owns events, NULL unless LK_OK. */
typedef void (*lk_events_cb)(lk_status status, lk_events *events, void *data);

/**
 * Notes that this process did something to a name, for those who ask later what
 * happened. lk_revoke() and lk_break() do not do it by themselves. Changes the
 * server.
 *
 * @param what   1 to 32 bytes
 * @param owner  as in lk_party
 * @param text   at most 300 bytes are kept
 * @return LK_OK, also if only what would end it in a week was refused; LK_ETYPE:
 *         its key is something else; LK_EPENDING: it may have been noted, and
 *         called again it stands there twice; or as lk_who()
 */
LK_API LK_NODISCARD lk_status lk_event_note(lk_client *client, const char *name,
                                            const char *what, const char *owner,
                                            const char *text);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_event_note_async(
    lk_client *client, const char *name, const char *what, const char *owner,
    const char *text, lk_done_cb cb, void *data);

/**
 * Reads what was noted of a name, or of every name: then it reads the whole key
 * space in steps, as lk_list() does. At most 10000 events are told.
 *
 * @param wait_ms  for all of it, as for lk_lock_acquire(), but not 0
 * @param name     NULL: of every name
 * @return LK_OK, also if there are none; LK_ETIMEDOUT; LK_EOFFLINE; LK_ETYPE:
 *         the key of the name's events is something else; or the server's
 *         refusal
 */
LK_API LK_NODISCARD lk_status lk_events_get(lk_client *client, int64_t wait_ms,
                                            const char *name,
                                            lk_events **ret_events);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_events_get_async(lk_client *client,
                                                  int64_t wait_ms,
                                                  const char *name,
                                                  lk_events_cb cb, void *data);

/** Frees what lk_events_get() returned. NULL is allowed. */
LK_API void lk_events_free(lk_events *events);

/* ---- the server ---------------------------------------------------------------- */

/** What a check came to. */
typedef enum lk_check_level {
    LK_CHECK_OK = 0,     /**< as it should be */
    LK_CHECK_NOTE = 1,   /**< to be known */
    LK_CHECK_WARN = 2,   /**< works, but can go wrong */
    LK_CHECK_FAIL = 3,   /**< locks will not work, or not hold */
    LK_CHECK_UNKNOWN = 4 /**< could not be found out */
} lk_check_level;

/** One check. Strings are never NULL. */
typedef struct lk_check {
    const char *id; /**< one word, stable: "version", "eviction", ... */
    lk_check_level level;
    const char *text;   /**< what is so */
    const char *advice; /**< what to do; "" if nothing */
} lk_check;

/** What was found out about the server. Times are in microseconds. */
typedef struct lk_health {
    size_t count;
    const lk_check *const *checks;
    uint64_t samples; /**< round trips that were measured */
    uint64_t rtt_min_us;
    uint64_t rtt_median_us;
    uint64_t rtt_max_us;
    int64_t clock_ahead_us; /**< server's clock less this host's */
    const char *version;    /**< of the server; "" if it does not say */
} lk_health;

/** Ends lk_health_check_async(). The callback owns health. */
typedef void (*lk_health_cb)(lk_status status, lk_health *health, void *data);

/**
 * Checks a server: version, eviction, persistence, replication, memory,
 * clients, round trips, its clock, and whether its access rules allow what the
 * library needs. Tries the rights by commands that change nothing, and one
 * message to nobody.
 *
 * @return LK_OK, whatever was found; LK_ETIMEDOUT; LK_EOFFLINE; or the server's
 *         refusal of everything, such as LK_EAUTH
 */
LK_API LK_NODISCARD lk_status lk_health_check(lk_client *client,
                                              int64_t wait_ms,
                                              lk_health **ret_health);

/** The same without waiting. */
LK_API LK_NODISCARD lk_status lk_health_check_async(lk_client *client,
                                                    int64_t wait_ms,
                                                    lk_health_cb cb,
                                                    void *data);

/** Frees what lk_health_check() returned. NULL is allowed. */
LK_API void lk_health_free(lk_health *health);

/**
 * Where the master is, as the sentinels of the client's URL say: what the client
 * itself goes by. With failover=safe a majority of all sentinels has to name it.
 */
typedef struct lk_master {
    size_t size;        /**< set by the caller: sizeof(lk_master) */
    const char *name;   /**< as in the URL; the client's, until it is freed */
    uint64_t sentinels; /**< all of them; those that the URL lacks, too, as far
                               as the others tell of them */
    uint64_t answering; /**< of these, those that answer the client */
    uint64_t naming;    /**< of these, those that name this master */
    char address[264];  /**< host:port; "": too few of them name one */
} lk_master;

/**
 * Tells where the master is, as known now; asks nobody.
 *
 * @return LK_OK; LK_ENOTSUP: the URL names no sentinels; LK_EINVAL; LK_EFORKED
 */
LK_API LK_NODISCARD lk_status lk_master_get(lk_client *client,
                                            lk_master *master);

#ifdef __cplusplus
}
#endif

#endif /* LK_INSPECT_H */
