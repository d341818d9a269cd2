/* SPDX-License-Identifier: MIT */

/* The multilock without waiting, and without a thread that dispatches. */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, LOOP = 0, DISPATCH = 1, MODES = 2 };

static lk_client *open_mode(locking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return locking_open_calm(f, &options);
}

static void begin(lk_multilock *set, int64_t wait_ms, call *c)
{
    assert_status(lk_multilock_acquire_async(set, wait_ms, NULL,
                                             call_on_acquire, c),
                  LK_OK);
}

static void a_callback_brings_the_hold_of_all(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_multilock *set = multi_of(f, client, "abc");
        call first = {0}, second = {0}, extended = {0}, released = {0};

        begin(set, 0, &first);
        assert_status(call_wait(&first, client), LK_OK);
        begin(set, LK_FOREVER, &second); /* it acts for itself: it waits */
        locking_wait_queued(f, "a", 0);
        assert_int_equal(second.ends, 0);
        assert_status(lk_hold_extend_async(first.hold, 60000, call_on_done,
                                           &extended),
                      LK_OK);
        assert_status(call_wait(&extended, client), LK_OK);
        assert_in_range(lk_hold_remaining_ms(first.hold), 50000, 60000);
        assert_status(lk_hold_release_async(first.hold, call_on_done,
                                            &released),
                      LK_OK);
        assert_status(call_wait(&released, client), LK_OK);
        assert_status(call_wait(&second, client), LK_OK);
        assert_status(lk_hold_release_async(second.hold, NULL, NULL), LK_OK);
        multi_assert_free(f, "abc");
        assert_int_equal(first.ends + second.ends, 2);
    }
}

/* Whoever dispatches may be the very thread that blocks. */
static void a_blocking_call_needs_no_dispatch(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, DISPATCH);
    lk_client *other = locking_open(f, NULL);
    lk_multilock *set = multi_of(f, client, "abc");
    lk_hold *b = locking_hold(locking_lock(f, other, "b"));
    taker *t = locking_take(f, set, LK_FOREVER, NULL);

    locking_wait_queued(f, "b", 1);
    assert_status(lk_hold_release(b), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_hold_extend(t->hold, 60000), LK_OK);
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abc");
}

static void a_refusal_comes_by_the_callback(void **state)
{
    locking *f = *state;
    lk_client *other = locking_open(f, NULL);
    lk_hold *b = locking_hold(locking_lock(f, other, "b"));

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_multilock *set = multi_of(f, client, "abc");
        call busy = {0}, late = {0};
        uint64_t start = wait_now_ms();

        begin(set, 0, &busy);
        assert_status(call_wait(&busy, client), LK_EBUSY);
        assert_null(busy.hold);
        assert_string_equal(busy.words, "b: not free now; not held by the "
                                        "caller");
        begin(set, 200, &late);
        assert_status(call_wait(&late, client), LK_ETIMEDOUT);
        assert_true(wait_now_ms() - start >= 200);
        multi_assert_free(f, "ac");
    }
    assert_status(lk_hold_release(b), LK_OK);
}

static void the_set_may_be_freed_during_the_call(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, LOOP);
    lk_client *other = locking_open(f, NULL);
    lk_hold *a = locking_hold(locking_lock(f, other, "a"));
    lk_multilock *set = NULL;
    call c = {0};

    assert_status(lk_multilock_new(&set), LK_OK);
    assert_status(lk_multilock_add_all(set, multi_of(f, client, "ab")), LK_OK);
    begin(set, LK_FOREVER, &c);
    lk_multilock_free(set);
    locking_wait_queued(f, "a", 1);
    assert_status(lk_hold_release(a), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

static void note_order(call *c)
{
    atomic_int *order = c->data;

    c->locked = atomic_fetch_add(order, 1) == 1; /* the second one */
}

/* Nothing has to be said to the server: it is over at once. */
static void the_end_of_a_shutdown_comes_last(void **state)
{
    locking *f = *state;

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                           .offline_ms = 60000,
                                           .dispatch = mode};
        lk_client *client = locking_open_url(f, "unix:/nonexistent", &options);
        atomic_int order = 0;
        call wait = {.act = note_order, .data = &order};
        call end = {.act = note_order, .data = &order};

        begin(multi_of(f, client, "b"), LK_FOREVER, &wait);
        locking_wait_waiting(client, 1);
        assert_status(lk_client_shutdown_async(client, SOON_MS, call_on_done,
                                               &end),
                      LK_OK);
        assert_status(call_wait(&end, client), LK_OK);
        assert_status(call_wait(&wait, client), LK_ECLOSED);
        assert_true(end.locked);
    }
}

/* ---- a crowd ---- */

enum { CROWD = 60, TURNS = 5 };

typedef struct crowd {
    lk_multilock *sets[6];
    atomic_int inside[4]; /* who holds each letter */
    atomic_int overlaps, ends, failures;
} crowd;

typedef struct member {
    crowd *crowd;
    unsigned set, turns;
} member;

/* Which letters each set has. */
static const char *const subsets[6] = {"ab", "cb", "cad", "dc", "bcda", "ad"};

static void member_on_grant(lk_status status, lk_hold *hold, void *data);

static void member_next(member *m)
{
    m->set = (m->set + 1) % 6;
    if (m->turns-- == 0)
        (void)atomic_fetch_add(&m->crowd->ends, 1);
    else if (lk_multilock_acquire_async(m->crowd->sets[m->set], LK_FOREVER,
                                        NULL, member_on_grant, m) != LK_OK)
        (void)atomic_fetch_add(&m->crowd->failures, 1);
}

static void member_on_release(lk_status status, void *data)
{
    member *m = data;

    if (status != LK_OK)
        (void)atomic_fetch_add(&m->crowd->failures, 1);
    member_next(m);
}

/* Inside from here to the release: the callbacks of two clients overlap. */
static void member_on_grant(lk_status status, lk_hold *hold, void *data)
{
    member *m = data;
    crowd *c = m->crowd;

    if (status != LK_OK) {
        (void)atomic_fetch_add(&c->failures, 1);
        return;
    }
    for (const char *at = subsets[m->set]; *at != '\0'; at++)
        (void)atomic_fetch_add(&c->overlaps,
                               atomic_fetch_add(&c->inside[*at - 'a'], 1) == 0
                                   ? 0
                                   : 1);
    for (const char *at = subsets[m->set]; *at != '\0'; at++)
        (void)atomic_fetch_sub(&c->inside[*at - 'a'], 1);
    if (lk_hold_release_async(hold, member_on_release, m) != LK_OK)
        (void)atomic_fetch_add(&c->failures, 1);
}

static void a_crowd_without_threads_comes_to_its_end(void **state)
{
    locking *f = *state;
    crowd crowds[2] = {0};
    member *members = calloc(CROWD, sizeof(*members));

    assert_non_null(members);
    for (unsigned side = 0; side < 2; side++) {
        lk_client *client = open_mode(f, LOOP);

        for (unsigned i = 0; i < 6; i++)
            crowds[side].sets[i] = multi_of(f, client, subsets[i]);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        members[i] = (member){&crowds[i % 2], i, TURNS};
        member_next(&members[i]);
    }
    for (unsigned side = 0; side < 2; side++) {
        call_wait_count(&crowds[side].ends, CROWD / 2, NULL);
        assert_int_equal(crowds[side].overlaps, 0);
        assert_int_equal(crowds[side].failures, 0);
    }
    multi_assert_free(f, "abcd");
    free(members);
}

/* ---- a server that stands still ---- */

static void the_time_limit_holds_though_the_server_does_not_answer(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, LOOP);
    lk_multilock *set = multi_of(f, client, "ab");
    lk_multilock *other = multi_of(f, client, "cd");
    uint64_t start = wait_now_ms();
    lk_status status, late;
    taker *t;
    call c = {0};

    server_freeze(f->server);
    t = locking_take(f, set, 200, NULL);
    status = taker_join(t);
    begin(other, 200, &c);
    late = call_wait(&c, NULL);
    server_thaw(f->server);
    assert_status(status, LK_ETIMEDOUT);
    assert_in_range(t->took_ms, 200,
                    wait_allowed_ms(200 + wait_scaled_ms(800)));
    assert_status(late, LK_ETIMEDOUT);
    assert_in_range(wait_now_ms() - start, 400,
                    wait_allowed_ms(400 + wait_scaled_ms(1600)));
    multi_assert_free(f, "abcd");
    assert_status(lk_hold_release(locking_hold(set)), LK_OK);
}

int test_multilock_async(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(a_callback_brings_the_hold_of_all),
        LOCKING_TEST(a_blocking_call_needs_no_dispatch),
        LOCKING_TEST(a_refusal_comes_by_the_callback),
        LOCKING_TEST(the_set_may_be_freed_during_the_call),
        LOCKING_TEST(the_end_of_a_shutdown_comes_last),
        LOCKING_TEST(a_crowd_without_threads_comes_to_its_end),
        LOCKING_TEST(the_time_limit_holds_though_the_server_does_not_answer),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
