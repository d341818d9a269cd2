/* SPDX-License-Identifier: MIT */

/*
 * Handles and holds that somebody frees while a call of theirs sleeps: another
 * thread, or the callback that tells of a loss. The sanitizer says whether the
 * call touches them after that.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, LEASE_MS = 300, PATIENCE_MS = 1500 };

/* ---- a call that sleeps ------------------------------------------------------ */

typedef struct sleeper {
    pthread_t thread;
    lk_status (*call)(void *handle);
    void *handle;
    lk_status status;
} sleeper;

static void *sleep_in_call(void *data)
{
    sleeper *s = data;

    s->status = s->call(s->handle);
    return NULL;
}

static void
sleeper_begin(sleeper *s, lk_status (*ask)(void *handle), void *handle)
{
    s->call = ask;
    s->handle = handle;
    assert_int_equal(pthread_create(&s->thread, NULL, sleep_in_call, s), 0);
}

static lk_status sleeper_end(sleeper *s)
{
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    return s->status;
}

/* ---- handles ------------------------------------------------------------------ */

/* The call asks, the handle is freed, and then the server answers. */
static lk_status call_and_free(locking *f, lk_client *client,
                               lk_status (*ask)(void *handle), void *handle,
                               void (*free_it)(void *handle))
{
    uint64_t before = locking_stats(client).commands;
    sleeper s;

    server_freeze(f->server);
    sleeper_begin(&s, ask, handle);
    assert_soon(locking_stats(client).commands > before, SOON_MS);
    free_it(handle);
    server_thaw(f->server);
    return sleeper_end(&s);
}

/* Makes a handle of this kind, with the options that lk_..._new() takes behind the
   name, and frees it in the midst of each of these calls. */
#define ASSERT_FREED_DURING(kind, calls, expected, ...)                        \
    for (size_t i = 0; i < sizeof(calls) / sizeof((calls)[0]); i++) {          \
        lk_##kind *handle = NULL;                                              \
                                                                               \
        assert_status(lk_##kind##_new(&handle, client, __VA_ARGS__), LK_OK);   \
        assert_status(call_and_free(f, client, (calls)[i], handle,             \
                                    free_##kind),                              \
                      expected);                                               \
    }
#define FREES(kind)                                                            \
    static void free_##kind(void *handle)                                      \
    {                                                                          \
        lk_##kind##_free(handle);                                              \
    }

typedef lk_status (*const call_of)(void *handle);

FREES(semaphore)
FREES(plain_semaphore)
FREES(cell)
FREES(flight)
FREES(leader)
FREES(stripes)

static lk_status semaphore_resize(void *handle)
{
    return lk_semaphore_resize(handle, 3);
}

static lk_status plain_release(void *handle)
{
    return lk_plain_semaphore_release(handle, 1);
}

LOCKS_TEST(a_semaphore_may_be_freed_during_its_call)
{
    call_of calls[] = {semaphore_resize};
    call_of plain_calls[] = {plain_release};
    lk_client *client = locking_open_calm(f, NULL);
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 2};

    ASSERT_FREED_DURING(semaphore, calls, LK_OK, "n", &options);
    ASSERT_FREED_DURING(plain_semaphore, plain_calls, LK_EUNSET, "p");
}

static lk_status
draw(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    (void)old;
    (void)data;
    return lk_cell_draft_set(draft, "x", 1);
}

static lk_status cell_update(void *handle)
{
    return lk_cell_update(handle, NULL, draw, NULL, NULL);
}

LOCKS_TEST(a_cell_may_be_freed_during_its_call)
{
    call_of calls[] = {cell_update};
    lk_client *client = locking_open_calm(f, NULL);

    ASSERT_FREED_DURING(cell, calls, LK_OK, "n", NULL);
}

static lk_status compute(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "x", 1);
}

static lk_status flight_do(void *handle)
{
    lk_flight_value *value = NULL;
    lk_status status =
        lk_flight_do(handle, "k", SOON_MS, NULL, compute, NULL, &value);

    lk_flight_value_free(value);
    return status;
}

LOCKS_TEST(a_flight_may_be_freed_during_its_call)
{
    call_of calls[] = {flight_do};
    lk_client *client = locking_open_calm(f, NULL);

    ASSERT_FREED_DURING(flight, calls, LK_OK, "n", NULL);
}

static lk_status leader_observe(void *handle)
{
    lk_info *info = NULL;
    lk_status status = lk_leader_observe(handle, 1, 0, NULL, &info);

    lk_info_free(info);
    return status;
}

LOCKS_TEST(a_leader_may_be_freed_during_its_call)
{
    call_of calls[] = {leader_observe};
    lk_client *client = locking_open_calm(f, NULL);

    ASSERT_FREED_DURING(leader, calls, LK_OK, "n", NULL);
}

static lk_status stripes_acquire_many(void *handle)
{
    const char *const keys[] = {"k", "l"};
    lk_hold *hold = NULL;
    lk_status status =
        lk_stripes_acquire_many(handle, keys, 2, SOON_MS, NULL, &hold);

    return status == LK_OK ? lk_hold_release(hold) : status;
}

LOCKS_TEST(stripes_may_be_freed_during_their_call)
{
    call_of calls[] = {stripes_acquire_many};
    lk_client *client = locking_open_calm(f, NULL);

    ASSERT_FREED_DURING(stripes, calls, LK_OK, "n", NULL);
}

/* ---- holds ---------------------------------------------------------------------- */

/* For lk_hold_on_lost(): the holder is rid of it at once. */
static void release_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)remaining_ms;
    assert_status(lk_hold_release(hold), LK_ELOST);
    atomic_store((atomic_bool *)data, true);
}

/* One whose server does not answer: its lease ends in the middle of the call. */
static void
lose_during(locking *f, lk_status (*ask)(void *handle), lk_hold *hold)
{
    atomic_bool is_released = false;

    assert_status(lk_hold_on_lost(hold, 0, release_lost, &is_released), LK_OK);
    server_freeze(f->server);
    assert_int_not_equal(ask(hold), LK_OK);
    assert_true(atomic_load(&is_released));
    server_thaw(f->server);
}

static lk_client *open_impatient(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(PATIENCE_MS)};

    return locking_open_calm(f, &options);
}

static lk_status downgrade(void *hold)
{
    lk_status status = lk_rwlock_downgrade(hold);

    return status == LK_OK ? LK_EINDOUBT : status; /* it is as good as done */
}

LOCKS_TEST(a_hold_may_be_released_while_it_is_downgraded)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = LEASE_MS};
    lk_rwlock *lock;
    lk_hold *hold = NULL;

    lock = locking_of(f, lk_rwlock, open_impatient(f));
    assert_status(lk_rwlock_acquire_write(lock, 0, &options, &hold), LK_OK);
    lose_during(f, downgrade, hold);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
