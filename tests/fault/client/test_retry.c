/* SPDX-License-Identifier: MIT */

/*
 * What lk_status_is_retriable() invites to: a loop that repeats a call until it
 * says no more, beside a server that is stopped or gone. It does nothing twice,
 * and does not spin.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"

enum { COMMAND_MS = 100, OFFLINE_MS = 200, LOOP_MS = 250, PACE_MS = 50 };

typedef struct things {
    lk_client *client;
    lk_lock *lock;
    lk_rwlock *rwlock;
    lk_semaphore *semaphore;
    lk_plain_semaphore *plain;
    lk_latch *latch;
    lk_leader *leader;
    lk_multilock *multilock;
    lk_stripes *stripes;
    lk_flight *flight;
    lk_cell *cell;
    lk_siglock *siglock;
    lk_redlock *redlock;
    lk_hold *hold; /* what a call brought */
} things;

static void things_make(things *t, uint64_t command_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = command_ms,
                                       .offline_ms = OFFLINE_MS};
    const lk_semaphore_options permits = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 3};

    *t = (things){.client = NULL};
    assert_status(lk_client_open(&t->client, server_url(redis), &options),
                  LK_OK);
    assert_status(lk_client_wait_ready(t->client,
                                       (int64_t)wait_limit_ms(10000)),
                  LK_OK);
    assert_status(lk_lock_new(&t->lock, t->client, "lock", NULL), LK_OK);
    assert_status(lk_rwlock_new(&t->rwlock, t->client, "rwlock", NULL), LK_OK);
    assert_status(lk_semaphore_new(&t->semaphore, t->client, "sem", &permits),
                  LK_OK);
    assert_status(lk_plain_semaphore_new(&t->plain, t->client, "plain"), LK_OK);
    assert_status(lk_latch_new(&t->latch, t->client, "latch", NULL), LK_OK);
    assert_status(lk_leader_new(&t->leader, t->client, "leader", NULL), LK_OK);
    assert_status(lk_multilock_new(&t->multilock), LK_OK);
    assert_status(lk_multilock_add_lock(t->multilock, t->lock), LK_OK);
    assert_status(lk_multilock_add_read(t->multilock, t->rwlock), LK_OK);
    assert_status(lk_stripes_new(&t->stripes, t->client, "stripes", NULL),
                  LK_OK);
    assert_status(lk_flight_new(&t->flight, t->client, "flight", NULL), LK_OK);
    assert_status(lk_cell_new(&t->cell, t->client, "cell", NULL), LK_OK);
    assert_status(lk_siglock_new(&t->siglock, t->client, "siglock", NULL),
                  LK_OK);
    assert_status(lk_redlock_new(&t->redlock, &t->client, 1, "redlock", NULL),
                  LK_OK);
}

static void things_free(things *t)
{
    lk_redlock_free(t->redlock);
    lk_siglock_free(t->siglock);
    lk_cell_free(t->cell);
    lk_flight_free(t->flight);
    lk_stripes_free(t->stripes);
    lk_multilock_free(t->multilock);
    lk_leader_free(t->leader);
    lk_latch_free(t->latch);
    lk_plain_semaphore_free(t->plain);
    lk_semaphore_free(t->semaphore);
    lk_rwlock_free(t->rwlock);
    lk_lock_free(t->lock);
    lk_client_free(t->client);
}

/* ---- every call that needs the server ------------------------------------- */

enum { LONG_MS = 60000, LIST_MS = 100 };

#define CALL(name, expression)                                                 \
    static lk_status call_##name(things *t)                                    \
    {                                                                          \
        lk_info *info __attribute__((unused)) = NULL;                          \
        bool is __attribute__((unused));                                       \
        int64_t number __attribute__((unused));                                \
        uint64_t count __attribute__((unused));                                \
                                                                               \
        return (expression);                                                   \
    }

static lk_status landed(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "v", 1);
}

static lk_status
changed(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    (void)old;
    (void)data;
    return lk_cell_draft_set(draft, "v", 1);
}

static lk_status do_flight(things *t, int64_t wait_ms)
{
    lk_flight_value *value = NULL;

    return lk_flight_do(t->flight, "key", wait_ms, NULL, landed, NULL, &value);
}

static lk_status do_list(const things *t)
{
    lk_listing *listing = NULL;

    return lk_list(t->client, LIST_MS, NULL, &listing);
}

static lk_status do_who(const things *t)
{
    lk_info *info = NULL;
    lk_kind kind;

    return lk_who(t->client, "lock", &kind, &info);
}

static lk_status do_events(const things *t)
{
    lk_events *events = NULL;

    return lk_events_get(t->client, LIST_MS, "lock", &events);
}

CALL(lock_try, lk_lock_acquire(t->lock, 0, NULL, &t->hold))
CALL(lock_wait, lk_lock_acquire(t->lock, LONG_MS, NULL, &t->hold))
CALL(lock_is_locked, lk_lock_is_locked(t->lock, &is))
CALL(lock_info, lk_lock_info(t->lock, &info))
CALL(lock_revoke, lk_lock_revoke(t->lock, "x:1", &number))
CALL(lock_force, lk_lock_force_release(t->lock))
CALL(rwlock_read, lk_rwlock_acquire_read(t->rwlock, LONG_MS, NULL, &t->hold))
CALL(rwlock_write, lk_rwlock_acquire_write(t->rwlock, 0, NULL, &t->hold))
CALL(semaphore_wait,
     lk_semaphore_acquire(t->semaphore, 1, LONG_MS, NULL, &t->hold))
CALL(semaphore_try, lk_semaphore_acquire(t->semaphore, 1, 0, NULL, &t->hold))
CALL(semaphore_count, lk_semaphore_count(t->semaphore, &count, &number))
CALL(semaphore_resize, lk_semaphore_resize(t->semaphore, 3))
CALL(plain_wait, lk_plain_semaphore_acquire(t->plain, 1, LONG_MS, NULL))
CALL(plain_try, lk_plain_semaphore_acquire(t->plain, 1, 0, NULL))
CALL(plain_set, lk_plain_semaphore_try_set(t->plain, 3, 0))
CALL(plain_release, lk_plain_semaphore_release(t->plain, 1))
CALL(plain_add, lk_plain_semaphore_add(t->plain, 1))
CALL(plain_drain, lk_plain_semaphore_drain(t->plain, &number))
CALL(plain_count, lk_plain_semaphore_count(t->plain, &number))
CALL(plain_delete, lk_plain_semaphore_delete(t->plain))
CALL(latch_set, lk_latch_try_set_count(t->latch, 3))
CALL(latch_down, lk_latch_count_down(t->latch, 1))
CALL(latch_arrive, lk_latch_arrive(t->latch, 3, "m"))
CALL(latch_leave, lk_latch_leave(t->latch, "m", &is))
CALL(latch_wait, lk_latch_wait(t->latch, LONG_MS, NULL))
CALL(latch_try, lk_latch_wait(t->latch, 0, NULL))
CALL(latch_count, lk_latch_count(t->latch, &count))
CALL(latch_reset, lk_latch_reset(t->latch, 3))
CALL(latch_delete, lk_latch_delete(t->latch))
CALL(leader_campaign, lk_leader_campaign(t->leader, LONG_MS, NULL, &t->hold))
CALL(leader_get, lk_leader_get(t->leader, &info))
CALL(leader_observe, lk_leader_observe(t->leader, 0, LONG_MS, NULL, &info))
CALL(leader_try, lk_leader_observe(t->leader, 0, 0, NULL, &info))
CALL(multilock_wait,
     lk_multilock_acquire(t->multilock, LONG_MS, NULL, &t->hold))
CALL(multilock_try, lk_multilock_acquire(t->multilock, 0, NULL, &t->hold))
CALL(stripes_wait,
     lk_stripes_acquire(t->stripes, "key", LONG_MS, NULL, &t->hold))
CALL(stripes_try, lk_stripes_acquire(t->stripes, "key", 0, NULL, &t->hold))
CALL(flight_wait, do_flight(t, LONG_MS))
CALL(flight_try, do_flight(t, 0))
CALL(cell_write, lk_cell_write(t->cell, LK_CELL_ANY, "v", 1, NULL))
CALL(cell_update, lk_cell_update(t->cell, NULL, changed, NULL, NULL))
CALL(cell_delete, lk_cell_delete(t->cell, LK_CELL_ANY))
CALL(siglock_wait, lk_siglock_acquire(t->siglock, LONG_MS, NULL, &t->hold))
CALL(siglock_try, lk_siglock_acquire(t->siglock, 0, NULL, &t->hold))
CALL(redlock_wait, lk_redlock_acquire(t->redlock, LONG_MS, NULL, &t->hold))
CALL(redlock_try, lk_redlock_acquire(t->redlock, 0, NULL, &t->hold))
CALL(list, do_list(t))
CALL(who, do_who(t))
CALL(events, do_events(t))
CALL(revoke, lk_revoke(t->client, "lock", "x:1", &number))
CALL(break, lk_break(t->client, "lock", "x:1"))
CALL(forget, lk_forget(t->client, "lock"))
CALL(note, lk_event_note(t->client, "lock", "what", "x:1", "text"))

static const struct {
    const char *name;
    lk_status (*make)(things *t);
} calls[] = {
#define ONE(name)                                                              \
    {                                                                          \
#name, call_##name                                                     \
    }
    ONE(lock_try),
    ONE(lock_wait),
    ONE(lock_is_locked),
    ONE(lock_info),
    ONE(lock_revoke),
    ONE(lock_force),
    ONE(rwlock_read),
    ONE(rwlock_write),
    ONE(semaphore_wait),
    ONE(semaphore_try),
    ONE(semaphore_count),
    ONE(semaphore_resize),
    ONE(plain_wait),
    ONE(plain_try),
    ONE(plain_set),
    ONE(plain_release),
    ONE(plain_add),
    ONE(plain_drain),
    ONE(plain_count),
    ONE(plain_delete),
    ONE(latch_set),
    ONE(latch_down),
    ONE(latch_arrive),
    ONE(latch_leave),
    ONE(latch_wait),
    ONE(latch_try),
    ONE(latch_count),
    ONE(latch_reset),
    ONE(latch_delete),
    ONE(leader_campaign),
    ONE(leader_get),
    ONE(leader_observe),
    ONE(leader_try),
    ONE(multilock_wait),
    ONE(multilock_try),
    ONE(stripes_wait),
    ONE(stripes_try),
    ONE(flight_wait),
    ONE(flight_try),
    ONE(cell_write),
    ONE(cell_update),
    ONE(cell_delete),
    ONE(siglock_wait),
    ONE(siglock_try),
    ONE(redlock_wait),
    ONE(redlock_try),
    ONE(list),
    ONE(who),
    ONE(events),
    ONE(revoke),
    ONE(break),
    ONE(forget),
    ONE(note),
#undef ONE
};

/* ---- the loop --------------------------------------------------------------- */

/* For so long; returns how often it was called, and why it ended. */
static unsigned
repeat(things *t, lk_status (*make)(things *t), lk_status *ret_status)
{
    uint64_t until = wait_now_ms() + LOOP_MS;
    unsigned count = 0;

    do {
        *ret_status = make(t);
        count++;
    } while (lk_status_is_retriable(*ret_status) && wait_now_ms() < until);
    return count;
}

static unsigned calls_that_spin(things *t)
{
    unsigned spun = 0;

    /* The client knows that the server is away, and has waited for it. */
    assert_soon(lk_lock_acquire(t->lock, LONG_MS, NULL, &t->hold) ==
                    LK_EOFFLINE,
                10000);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        lk_status status;
        unsigned count = repeat(t, calls[i].make, &status);

        if (count <= LOOP_MS / PACE_MS + 2 && status != LK_OK)
            continue;
        print_error("%s: %u calls, LK_%s: %s\n", calls[i].name, count,
                    lk_status_name(status), lk_last_error());
        spun++;
    }
    return spun;
}

FLUSHED_TEST(beside_a_server_that_is_gone_no_call_spins)
{
    things t;

    things_make(&t, COMMAND_MS);
    server_kill(redis);
    assert_int_equal(calls_that_spin(&t), 0);
    things_free(&t);
}

FLUSHED_TEST(beside_a_server_that_is_stopped_no_call_spins)
{
    unsigned spun;
    things t;

    things_make(&t, COMMAND_MS);
    server_freeze(redis);
    spun = calls_that_spin(&t);
    server_thaw(redis);
    assert_int_equal(spun, 0);
    things_free(&t);
}

/* ---- an event that counts once ------------------------------------------------ */

static lk_status repeat_beside_a_stop(things *t, lk_status (*make)(things *t))
{
    uint64_t until = wait_now_ms() + LOOP_MS;
    bool is_stopped = true;
    lk_status status;

    server_freeze(redis);
    do {
        status = make(t);
        if (is_stopped && wait_now_ms() >= until)
            server_thaw(redis);
        is_stopped = server_is_frozen(redis);
    } while (lk_status_is_retriable(status));
    if (is_stopped)
        server_thaw(redis);
    return status;
}

static bool is_ready(void *data)
{
    return lk_client_wait_ready(((things *)data)->client, 0) == LK_OK;
}

static long long counter(const char *key)
{
    char *text = server_string(redis, "GET %s", key);
    long long number = strtoll(text, NULL, 10);

    free(text);
    return number;
}

/* Behind it no call waits any more: whatever was to be repeated has been. */
static void settle(things *t)
{
    assert_true(wait_until(is_ready, t, 10000));
    assert_status(lk_client_shutdown(t->client, 10000), LK_OK);
}

FLUSHED_TEST(a_count_down_that_is_repeated_counts_once)
{
    things t;

    things_make(&t, wait_scaled_ms(COMMAND_MS));
    assert_status(lk_latch_try_set_count(t.latch, 10), LK_OK);
    assert_status(repeat_beside_a_stop(&t, call_latch_down), LK_EPENDING);
    assert_soon(counter("latch") == 9, 10000);
    settle(&t);
    assert_int_equal(counter("latch"), 9);
    things_free(&t);
}

FLUSHED_TEST(what_is_added_again_and_again_is_added_once)
{
    static lk_status (*const adds[])(things *) = {call_plain_release,
                                                  call_plain_add};

    for (size_t i = 0; i < 2; i++) {
        things t;

        assert_int_equal(one_server_flush(NULL), 0);
        things_make(&t, wait_scaled_ms(COMMAND_MS));
        assert_status(lk_plain_semaphore_try_set(t.plain, 10, 0), LK_OK);
        assert_status(repeat_beside_a_stop(&t, adds[i]), LK_EPENDING);
        assert_soon(counter("plain") == 11, 10000);
        settle(&t);
        assert_int_equal(counter("plain"), 11);
        things_free(&t);
    }
}

static lk_status
counted(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    char text[32];
    int length =
        snprintf(text, sizeof(text), "%ld", strtol(old->bytes, NULL, 10) + 1);

    (void)data;
    return lk_cell_draft_set(draft, text, (size_t)length);
}

/* It begins with a read, for which it waits: the server stops behind that. */
static lk_status
counted_and_stopped(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    lk_status status = counted(old, draft, data);

    server_freeze(redis);
    return status;
}

FLUSHED_TEST(an_update_that_may_have_been_made_is_not_to_be_repeated)
{
    lk_cell_value *value = NULL;
    lk_status status;
    things t;

    things_make(&t, wait_scaled_ms(COMMAND_MS));
    assert_status(lk_cell_write(t.cell, LK_CELL_UNSET, "1", 1, NULL), LK_OK);
    status = lk_cell_update(t.cell, NULL, counted_and_stopped, NULL, NULL);
    server_thaw(redis);
    assert_status(status, LK_EPENDING);
    assert_true(wait_until(is_ready, &t, 10000));
    assert_status(lk_cell_read(t.cell, &value), LK_OK);
    assert_int_equal(strtol(value->bytes, NULL, 10), 2);
    lk_cell_value_free(value);
    things_free(&t);
}

/* Whoever holds it may be another one by then. */
FLUSHED_TEST(a_force_that_may_have_been_made_is_not_to_be_repeated)
{
    lk_status status;
    things t;

    things_make(&t, wait_scaled_ms(COMMAND_MS));
    assert_status(lk_lock_acquire(t.lock, 0, NULL, &t.hold), LK_OK);
    server_freeze(redis);
    status = call_lock_force(&t);
    server_thaw(redis);
    assert_status(status, LK_EPENDING);
    (void)lk_hold_release(t.hold);
    things_free(&t);
}

/* ---- a release, whose handle is gone -------------------------------------------- */

static void assert_release_pends(const char *words)
{
    things t;
    lk_status status;

    things_make(&t, wait_scaled_ms(COMMAND_MS));
    assert_status(lk_lock_acquire(t.lock, 0, NULL, &t.hold), LK_OK);
    if (words == NULL)
        server_freeze(redis);
    else
        server_kill(redis);
    /* Of one that the client knows to be gone nothing is asked. */
    assert_soon(words == NULL || !is_ready(&t), 10000);
    status = lk_hold_release(t.hold);
    if (words == NULL)
        server_thaw(redis);
    assert_says(status, LK_EPENDING,
                words != NULL ? words : "end is not known");
    assert_false(lk_status_is_retriable(status));
    things_free(&t);
}

FLUSHED_TEST(a_release_without_an_answer_is_not_to_be_repeated)
{
    assert_release_pends(NULL);
}

FLUSHED_TEST(a_release_that_is_not_sent_yet_is_not_to_be_repeated)
{
    assert_release_pends("cannot be reached");
}

CHECK_GROUP(one_server_start, one_server_stop)
