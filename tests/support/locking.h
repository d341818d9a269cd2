/* SPDX-License-Identifier: MIT */
#ifndef LK_TESTS_SUPPORT_LOCKING_H
#define LK_TESTS_SUPPORT_LOCKING_H

#include <latchkey/latchkey.h>

#include <stdbool.h>

#include "support/call.h"
#include "support/kind.h"
#include "support/proxy.h"
#include "support/server.h"
#include "support/taker.h"

/*
 * For tests of clients at a real server: one server for the program, and for each
 * test the clients, handles, owners, calls and threads that it made, which end with
 * it, also when it failed. Whatever cannot be had fails the running test. What only
 * one primitive has is a header of its own beside this one, without a fixture.
 */

enum {
    LOCKING_CLIENTS = 32,
    LOCKING_HANDLES = 256,
    LOCKING_OWNERS = 32,
    LOCKING_CALLS = 256
};

/* Who plays in the scenes of scene.h and fairline.h: each wants "job". */
typedef struct actor {
    lk_client *client;
    lk_lock *lock;
    lk_fairlock *fairlock;
} actor;

typedef struct locking {
    server *server;
    lk_client *clients[LOCKING_CLIENTS];
    size_t client_count;
    void *handles[LOCKING_HANDLES];
    const kind *kinds[LOCKING_HANDLES];
    lk_client *makers[LOCKING_HANDLES]; /* the client of each handle */
    size_t handle_count;
    lk_owner *owners[LOCKING_OWNERS];
    size_t owner_count;
    call calls[LOCKING_CALLS];
    size_t call_count;
    taker_list takers;
    proxy *proxy; /* NULL until locking_proxy() */
    actor far, near, third;
} locking;

/*
 * For cmocka. The server has a TCP port as well. A test begins with no data, and
 * without a server when none was started; its teardown fails when a connection of the
 * test is left at a server that runs.
 */
int locking_start_server(void **state);
/* The same, and it has a port for TLS. */
int locking_start_tls(void **state);
int locking_stop_server(void **state);
int locking_setup(void **state);
int locking_teardown(void **state);

#define LOCKING_TEST(f)                                                        \
    cmocka_unit_test_setup_teardown(f, locking_setup, locking_teardown)

/* A test, whose fixture is a `locking *f`. */
#define LOCKS_TEST(name)                                                       \
    CHECK_TEST_OF(name, locking *f, locking_setup, locking_teardown)

/* For this test another server, before any client is opened; see server.h. */
void locking_own_server(locking *f, const char *const *extra_args);

/* Shuts all clients down, so that nobody waits any more, and ends the takers. */
void locking_end_waits(locking *f);
/* Whether they are to end; for what else waits in a thread of the test. */
bool locking_is_over(void);

/*
 * A client that is ready. options may be NULL. Unless they name a
 * command_timeout_ms, it is one that a machine without time keeps too.
 */
lk_client *locking_open(locking *f, const lk_client_options *options);
/* The same client, but opened with a URL of the test's and not waited for. */
lk_client *
locking_open_url(locking *f, const char *url, const lk_client_options *options);

/* The same, with a watchdog of wait_lease_ms(). */
lk_client *locking_open_watchdog(locking *f);

/* Options of a client that gives a request up after 300 ms, or what is as long on this
   machine: wait_limit_ms(). */
const lk_client_options *locking_hasty(void);

/*
 * The same, but a client that has used a lock before: its inbox stands, so
 * that it sends nothing but what the test has it do.
 */
lk_client *locking_open_calm(locking *f, const lk_client_options *options);

/*
 * A proxy before the server, from the first call on. It heals at the end of the test,
 * and is gone after the clients. The second one opens a client behind it that is ready.
 */
proxy *locking_proxy(locking *f);
lk_client *locking_open_far(locking *f, const lk_client_options *options);

/* Frees a client or a handle before the end of the test. */
void locking_free_client(locking *f, lk_client *client);
void locking_free(locking *f, void *handle);

/* ---- handles and owners ---- */

/* Keeps a handle of the kind, made with that client, till the end of the test. */
void *locking_keep(locking *f, const kind *k, lk_client *client, void *handle);
/* Makes one: locking_new(f, lk_fairlock). Without a name it is on n, without a client
   of one of its own that is ready, or whose inbox stands: that may queue at once. */
#define locking_named(f, type, client, name)                                   \
    ((type *)locking_make((f), LOCKING_KIND((type *)NULL), (client), (name)))
#define locking_of(f, type, client) locking_named(f, type, client, "n")
#define locking_new(f, type)        locking_of(f, type, locking_open(f, NULL))
#define locking_calm(f, type)       locking_of(f, type, locking_open_calm(f, NULL))
void *
locking_make(locking *f, const kind *k, lk_client *client, const char *name);
lk_lock *locking_lock(locking *f, lk_client *client, const char *name);

/* The client of a handle. */
lk_client *locking_maker(const locking *f, const void *handle);
/* An owner that may use the handle, which the fixture keeps. */
lk_owner *locking_owner(locking *f, const void *handle);

/* The row of kind.h of a handle; of a read-write lock that to write. */
/* clang-format off */
#define LOCKING_KIND(handle)                                                   \
    _Generic((handle),                                                         \
        lk_lock *: kinds[KIND_LOCK],                                           \
        lk_fairlock *: kinds[KIND_FAIRLOCK],                                   \
        lk_rwlock *: kinds[KIND_WRITE],                                        \
        lk_siglock *: kinds[KIND_SIGLOCK],                                     \
        lk_leader *: kinds[KIND_LEADER],                                       \
        lk_latch *: kinds[KIND_LATCH],                                         \
        lk_semaphore *: kinds[KIND_SEMAPHORE],                                 \
        lk_plain_semaphore *: kinds[KIND_PLAIN],                               \
        lk_cell *: kinds[KIND_CELL],                                           \
        lk_flight *: kinds[KIND_FLIGHT],                                       \
        lk_redlock *: kinds[KIND_REDLOCK],                                     \
        lk_multilock *: &locking_multilock)
/* clang-format on */

/* A multilock of the test's own members, which live until it is freed: the fixture
   frees those that it keeps first. It is acquired and freed, nothing more. */
extern const kind locking_multilock;

/* A hold on what must be free; options may be NULL. Where a lease may have ended
   before the answer came, it is tried again. */
lk_hold *locking_hold_as(const kind *k, void *handle, uint64_t count,
                         const lk_acquire_options *options);
lk_hold *locking_hold_leased(const kind *k, void *handle, uint64_t count,
                             uint64_t lease_ms);
#define locking_hold(handle)                                                   \
    locking_hold_as(LOCKING_KIND(handle), (handle), 1, NULL)
#define locking_hold_for(handle, lease_ms)                                     \
    locking_hold_leased(LOCKING_KIND(handle), (handle), 1, (lease_ms))

/* Exports a hold, which must be possible, and imports it. */
void locking_export(lk_hold *hold, char text[LK_EXPORT_SIZE]);
lk_hold *locking_import(lk_lock *lock, const char *text);

lk_client_stats locking_stats(lk_client *client);

/* ---- threads and calls ---- */

/* A thread that acquires; options may be NULL. What it got is released at the end of
   the test. */
taker *locking_take_as(locking *f, const kind *k, void *handle, uint64_t count,
                       int64_t wait_ms, const lk_acquire_options *options);
#define locking_take(f, handle, wait_ms, options)                              \
    locking_take_as((f), LOCKING_KIND(handle), (handle), 1, (wait_ms),         \
                    (options))
/* The same, without limit, and as the place-th in the server's queue of n. */
taker *locking_queue_up_as(locking *f, const kind *k, void *handle,
                           uint64_t count, long long place);
#define locking_queue_up(f, handle, place)                                     \
    locking_queue_up_as((f), LOCKING_KIND(handle), (handle), 1, (place))

/* A call that outlives a test that fails: the test's end waits for it, if it has
   begun, and releases its hold. */
call *locking_call(locking *f);
/* The same of an acquire that has begun; options may be NULL. */
call *locking_begin_as(locking *f, const kind *k, void *handle, int64_t wait_ms,
                       const lk_acquire_options *options);
#define locking_begin(f, handle, wait_ms, options)                             \
    locking_begin_as((f), LOCKING_KIND(handle), (handle), (wait_ms), (options))
/* Its hold, waited for; the caller releases it. */
lk_hold *locking_granted(call *c);
/* Waits for its hold and releases that. */
void locking_serve(call *c);

/* ---- what is to be waited for: 10 s at most (scaled), then the test fails ---- */

/* So many claims wait for the name at the server. */
void locking_wait_queued(locking *f, const char *name, long long count);
/* So many waits are under way in a client. */
void locking_wait_waiting(lk_client *client, uint64_t count);
/* A client has asked once more as a waiter, since now or more often than so, and what
   it learned is known to every wait that was under way in it. */
void locking_wait_looked(lk_client *client);
void locking_wait_looks(lk_client *client, uint64_t looks);
/* No request is under way in a client. */
void locking_wait_calm(lk_client *client);
/* So many connections were made by a client, or more. */
void locking_wait_connects(lk_client *client, uint64_t count);
/* A command that answers an integer answers this one. */
void locking_wait_integer(locking *f, long long expected, const char *format,
                          const char *argument);

/* Nobody has the name, and nobody waits for it, soon. */
void locking_wait_clean(locking *f, const char *name);

/* Milliseconds of life the key has left, as PTTL says it. */
long long locking_pttl(locking *f, const char *key);
bool locking_exists(locking *f, const char *key);

/* Sleeps so long, for what must not happen meanwhile. */
void locking_pass_time(unsigned ms);

#endif /* LK_TESTS_SUPPORT_LOCKING_H */
