/* SPDX-License-Identifier: MIT */

/* The read-write lock without waiting: the twins of its calls, and crowds. */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

static lk_client *open_mode(locking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return locking_open(f, &options);
}

static lk_status acquire_async(lk_rwlock *lock, kind_id mode, int64_t wait_ms,
                               const lk_acquire_options *options, call *c)
{
    if (mode == KIND_READ)
        return lk_rwlock_acquire_read_async(lock, wait_ms, options,
                                            call_on_acquire, c);
    if (mode == KIND_WRITE)
        return lk_rwlock_acquire_write_async(lock, wait_ms, options,
                                             call_on_acquire, c);
    return lk_rwlock_acquire_upgradeable_async(lock, wait_ms, options,
                                               call_on_acquire, c);
}

/* ---- one call -------------------------------------------------------------- */

LOCKS_TEST(a_refusal_comes_by_the_callback_too)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_rwlock *lock = locking_of(f, lk_rwlock, client);
        const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                            .owner = locking_owner(f, lock)};
        lk_hold *hold = rwlocking_hold_of(lock, KIND_READ, options.owner);
        call c = {0}, busy = {0};

        assert_status(acquire_async(lock, KIND_WRITE, LK_FOREVER, &options, &c),
                      LK_OK);
        assert_status(call_wait(&c, client), LK_EUPGRADE);
        assert_status(acquire_async(lock, KIND_WRITE, 0, NULL, &busy), LK_OK);
        assert_status(call_wait(&busy, client), LK_EBUSY);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

/* ---- the twins -------------------------------------------------------------- */

struct state_call {
    call c;
    lk_rwlock_state state;
};

static void on_state(lk_status status, lk_rwlock_state state, void *data)
{
    struct state_call *asked = data;

    asked->state = state;
    call_on_done(status, &asked->c);
}

LOCKS_TEST(the_twins_answer_as_the_calls_do)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_rwlock *lock = locking_of(f, lk_rwlock, client);
        lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
        struct state_call asked = {.c = {0}};
        call down = {0}, info = {0}, force = {0}, again = {0};

        assert_status(lk_rwlock_state_get_async(lock, on_state, &asked), LK_OK);
        assert_status(call_wait(&asked.c, client), LK_OK);
        assert_int_equal(asked.state, LK_RWLOCK_WRITE);
        assert_status(lk_rwlock_downgrade_async(hold, call_on_done, &down),
                      LK_OK);
        assert_status(call_wait(&down, client), LK_OK);
        assert_status(lk_rwlock_info_async(lock, call_on_info, &info), LK_OK);
        assert_status(call_wait(&info, client), LK_OK);
        assert_int_equal(info.info->holder_count, 1);
        assert_string_equal(info.info->holders[0]->mode, "read");
        lk_info_free(info.info);
        assert_status(lk_rwlock_force_release_async(lock, call_on_done, &force),
                      LK_OK);
        assert_status(call_wait(&force, client), LK_OK);
        assert_status(lk_rwlock_force_release_async(lock, call_on_done, &again),
                      LK_OK);
        assert_status(call_wait(&again, client), LK_ENOTHELD);
        assert_status(lk_hold_release(hold), LK_ELOST);
    }
}

/* ---- crowds ------------------------------------------------------------------ */

struct crowd {
    atomic_int ended, failed, writers;
    atomic_bool overlapped;
};

static void end_of(struct crowd *crowd, lk_hold *hold)
{
    if (lk_hold_release_async(hold, NULL, NULL) != LK_OK)
        (void)atomic_fetch_add(&crowd->failed, 1);
    (void)atomic_fetch_add(&crowd->ended, 1);
}

/* Callbacks of one client come one after the other: whoever writes has begun
   and ended within its own, so nobody sees another one inside. */
static void on_reader(lk_status status, lk_hold *hold, void *data)
{
    struct crowd *crowd = data;

    if (status != LK_OK) {
        (void)atomic_fetch_add(&crowd->failed, 1);
        (void)atomic_fetch_add(&crowd->ended, 1);
        return;
    }
    end_of(crowd, hold);
}

static void on_writer(lk_status status, lk_hold *hold, void *data)
{
    struct crowd *crowd = data;

    if (status == LK_OK && atomic_fetch_add(&crowd->writers, 1) != 0)
        crowd->overlapped = true;
    if (status == LK_OK)
        (void)atomic_fetch_sub(&crowd->writers, 1);
    on_reader(status, hold, data);
}

LOCKS_TEST(hundreds_of_waits_of_both_sides_end)
{
    enum { CLIENTS = 4, WAITS = 300 };
    lk_rwlock *locks[CLIENTS];
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    static struct crowd crowd;

    for (int i = 0; i < CLIENTS; i++)
        locks[i] = locking_new(f, lk_rwlock);
    for (int i = 0; i < WAITS; i++) {
        lk_rwlock *lock = locks[i % CLIENTS];

        assert_status(i % 5 == 0
                          ? lk_rwlock_acquire_write_async(lock, LK_FOREVER,
                                                          NULL, on_writer,
                                                          &crowd)
                          : lk_rwlock_acquire_read_async(lock, LK_FOREVER, NULL,
                                                         on_reader, &crowd),
                      LK_OK);
    }
    assert_status(lk_hold_release(hold), LK_OK);
    call_wait_count(&crowd.ended, WAITS, NULL);
    assert_int_equal(crowd.failed, 0);
    assert_false(crowd.overlapped);
    locking_wait_clean(f, "n");
}

/* More than one call lets in: the client that released goes on. */
LOCKS_TEST(a_phase_of_hundreds_of_clients_comes_in)
{
    enum { WAITS = 150 };
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = 60000};
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);
    call *calls = calloc(WAITS, sizeof(*calls));
    uint64_t begin;

    assert_non_null(calls);
    for (int i = 0; i < WAITS; i++)
        assert_status(acquire_async(lock, KIND_READ, LK_FOREVER, &options,
                                    &calls[i]),
                      LK_OK);
    rwlocking_wait_queued(f, KIND_READ, WAITS);
    begin = wait_now_ms();
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITS; i++)
        assert_status(call_wait(&calls[i], NULL), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(700)));
    assert_int_equal(rwlocking_holders(f), WAITS);
    for (int i = 0; i < WAITS; i++)
        assert_status(lk_hold_release(calls[i].hold), LK_OK);
    locking_wait_clean(f, "n");
    free(calls);
}

int test_rwlock_async(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
