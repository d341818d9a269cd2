/* SPDX-License-Identifier: MIT */

/* When one member of a multilock is lost, all are, and the holder is told. */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <stdio.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/wait.h"

enum { NOW = 0, SOON_MS = 5000 };

/* What a lost callback was told. */
typedef struct news {
    atomic_int notices, losses;
    atomic_uint_fast64_t remaining_ms;
} news;

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    news *n = data;

    (void)hold;
    atomic_store(&n->remaining_ms, remaining_ms);
    (void)atomic_fetch_add(remaining_ms > 0 ? &n->notices : &n->losses, 1);
}

/* Soon, or now. */
static bool is_readable(int fd, unsigned wait_ms)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    return poll(&ready, 1, wait_ms == NOW ? 0 : (int)wait_limit_ms(wait_ms)) ==
           1;
}

/* A client that finds out within a second what it has lost. */
static lk_client *open_quick(locking *f, uint64_t dispatch)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = dispatch,
                                       .watchdog_ms =
                                           UINT64_C(2) * wait_lease_ms()};

    return locking_open_calm(f, &options);
}

/* The key of one member goes. */
static void take_away(locking *f, const char *name)
{
    char command[32];

    (void)snprintf(command, sizeof(command), "DEL %s", name);
    assert_int_equal(server_integer(f->server, command), 1);
}

LOCKS_TEST(the_loss_of_one_is_the_loss_of_all)
{
    lk_client *client = open_quick(f, 0);
    lk_hold *hold = locking_hold(multi_of(f, client, "abc"));
    uint64_t fence = lk_multilock_fence(hold, 1);
    int fd = lk_hold_fd(hold);
    news n = {0};

    assert_true(fd >= 0 && !is_readable(fd, NOW));
    assert_int_equal(lk_hold_fd(hold), fd);
    assert_status(lk_hold_on_lost(hold, 0, on_lost, &n), LK_OK);
    take_away(f, "b");
    call_wait_count(&n.losses, 1, NULL);
    assert_says(lk_hold_check(hold), LK_ELOST, "no longer knows it");
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_true(is_readable(fd, SOON_MS));
    multi_assert_free(f, "abc"); /* though nobody has released yet */
    assert_true(is_readable(fd, NOW));
    assert_true(lk_hold_lost_for_ms(hold) < wait_limit_ms(SOON_MS));
    assert_int_equal(lk_multilock_fence(hold, 1), fence);
    assert_says(lk_hold_extend(hold, 1000), LK_ELOST, "no longer knows it");
    assert_says(lk_hold_release(hold), LK_ELOST, "no longer knows it");
    assert_int_equal(n.losses, 1);
    assert_int_equal(n.notices, 0);
}

LOCKS_TEST(with_dispatch_the_others_are_released_at_once)
{
    lk_client *client = open_quick(f, 1);
    lk_hold *hold = locking_hold(multi_of(f, client, "abc"));
    news n = {0};

    assert_status(lk_hold_on_lost(hold, 0, on_lost, &n), LK_OK);
    take_away(f, "c");
    multi_assert_free(f, "abc"); /* nobody dispatches */
    assert_int_equal(n.losses, 0);
    assert_true(is_readable(lk_client_fd(client), SOON_MS));
    call_wait_count(&n.losses, 1, client);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_loss_in_one_client_releases_what_another_holds)
{
    lk_client *one = open_quick(f, 0);
    lk_client *two = open_quick(f, 0);
    lk_multilock *set = multi_of(f, one, "a");
    lk_hold *hold;

    assert_status(lk_multilock_add_all(set, multi_of(f, two, "b")), LK_OK);
    hold = locking_hold(set);
    take_away(f, "b");
    multi_assert_free(f, "ab");
    assert_status(lk_hold_release(hold), LK_ELOST);

    hold = locking_hold(set);
    assert_status(lk_client_shutdown(two, SOON_MS), LK_OK);
    multi_assert_free(f, "ab");
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_CLOSED);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

LOCKS_TEST(an_end_of_a_lease_is_a_loss_by_the_clock)
{
    lk_client *client = locking_open_calm(f, NULL);
    unsigned lease_ms = wait_lease_ms();
    lk_hold *hold = locking_hold_for(multi_of(f, client, "ab"), lease_ms);
    int fd = lk_hold_fd(hold);
    uint64_t begin = wait_now_ms();
    news n = {0};

    assert_status(lk_hold_on_lost(hold, lease_ms / 2, on_lost, &n), LK_OK);
    call_wait_count(&n.notices, 1, NULL);
    assert_in_range(n.remaining_ms, 1, lease_ms / 2);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(is_readable(fd, SOON_MS));
    assert_true(wait_now_ms() - begin >= lease_ms / 2);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_EXPIRED);
    call_wait_count(&n.losses, 1, NULL);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_int_equal(n.notices, 1);
    assert_int_equal(n.losses, 1);
}

/* Each member has a notice of its own; the holder is told once for all. */
LOCKS_TEST(a_notice_comes_again_after_an_extension)
{
    lk_client *client = locking_open_calm(f, NULL);
    unsigned lease_ms = wait_lease_ms();
    lk_hold *hold = locking_hold_for(multi_of(f, client, "abcd"), lease_ms);
    news n = {0};

    assert_status(lk_hold_on_lost(hold, lease_ms / 2, on_lost, &n), LK_OK);
    call_wait_count(&n.notices, 1, NULL);
    assert_status(lk_hold_extend(hold, lease_ms), LK_OK);
    assert_int_equal(n.notices, 1);
    call_wait_count(&n.notices, 2, NULL);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(n.losses, 0);
}

static void lock_with_lease(locking *f, lk_multilock *set, const char *name,
                            unsigned lease_ms)
{
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT,
                                     .lease_ms = lease_ms};
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, f->clients[0], name, &options), LK_OK);
    (void)locking_keep(f, kinds[KIND_LOCK], NULL, lock);
    assert_status(lk_multilock_add_lock(set, lock), LK_OK);
}

/* b's end draws near as well before a's has come. */
LOCKS_TEST(the_notice_of_another_member_is_no_news)
{
    unsigned lease_ms = wait_lease_ms();
    lk_multilock *set = multi_empty(f);
    lk_hold *hold;
    news n = {0};

    (void)locking_open_calm(f, NULL);
    lock_with_lease(f, set, "a", lease_ms);
    lock_with_lease(f, set, "b", lease_ms / 10 * 13);
    hold = locking_hold(set);
    assert_status(lk_hold_on_lost(hold, lease_ms * UINT64_C(8) / 10, on_lost,
                                  &n),
                  LK_OK);
    call_wait_count(&n.losses, 1, NULL);
    assert_int_equal(n.notices, 1);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_callback_is_told_of_what_was_lost_before)
{
    lk_client *client = open_quick(f, 0);
    lk_hold *hold = locking_hold(multi_of(f, client, "ab"));
    news n = {0}, later = {0};

    assert_status(lk_hold_on_lost(hold, 0, on_lost, &n), LK_OK);
    assert_status(lk_hold_on_lost(hold, 0, NULL, NULL), LK_OK);
    take_away(f, "a");
    multi_assert_free(f, "ab");
    assert_true(is_readable(lk_hold_fd(hold), NOW));
    assert_status(lk_hold_on_lost(hold, 0, on_lost, &later), LK_OK);
    call_wait_count(&later.losses, 1, NULL);
    assert_int_equal(n.losses, 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static void release_within(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    news *n = data;

    (void)remaining_ms;
    if (lk_hold_release(hold) == LK_ELOST)
        (void)atomic_fetch_add(&n->losses, 1);
}

LOCKS_TEST(the_callback_of_a_loss_may_release)
{
    lk_client *client = open_quick(f, 0);
    lk_hold *hold = locking_hold(multi_of(f, client, "ab"));
    news n = {0};

    assert_status(lk_hold_on_lost(hold, 0, release_within, &n), LK_OK);
    take_away(f, "a");
    call_wait_count(&n.losses, 1, NULL);
    multi_assert_free(f, "ab");
}

/* ---- while others are waited for ---- */

LOCKS_TEST(what_is_lost_during_the_wait_is_acquired_again)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open_calm(f, NULL);
    lk_lock *a = locking_lock(f, other, "a");
    lk_hold *b = locking_hold(locking_lock(f, other, "b"));
    taker *t = locking_take(f, multi_of(f, client, "abc"), LK_FOREVER, NULL);
    taker *thief;

    locking_wait_queued(f, "b", 1);
    thief = locking_take(f, a, LK_FOREVER, NULL);
    locking_wait_queued(f, "a", 1);
    assert_status(lk_lock_force_release(a), LK_OK);
    assert_status(taker_join(thief), LK_OK);
    locking_wait_queued(f, "b", 0); /* it does not wait with nothing */
    locking_wait_queued(f, "a", 1);
    assert_status(taker_release(thief), LK_OK);
    locking_wait_queued(f, "b", 1);
    assert_status(lk_hold_release(b), LK_OK);
    assert_status(taker_join(t), LK_OK);
    multi_assert_held(f, "abc");
    assert_status(lk_hold_check(t->hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    multi_assert_free(f, "abc");
}

LOCKS_TEST(the_shutdown_of_one_client_ends_the_wait_in_another)
{
    for (uint64_t dispatch = 0; dispatch < 2; dispatch++) {
        const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                           .dispatch = dispatch};
        lk_client *one = locking_open(f, &options);
        lk_client *two = locking_open_calm(f, NULL);
        lk_client *other = locking_open(f, NULL);
        lk_hold *b = locking_hold(locking_lock(f, other, "b"));
        lk_multilock *set = multi_of(f, one, "a");
        call c = {0};

        assert_status(lk_multilock_add_all(set, multi_of(f, two, "b")), LK_OK);
        assert_status(lk_multilock_acquire_async(set, LK_FOREVER, NULL,
                                                 call_on_acquire, &c),
                      LK_OK);
        locking_wait_queued(f, "b", 1);
        locking_free_client(f, one);
        assert_status(call_wait(&c, NULL), LK_ECLOSED);
        locking_wait_queued(f, "b", 0);
        assert_status(lk_hold_release(b), LK_OK);
        multi_assert_free(f, "ab");
    }
}

CHECK_GROUP(locking_start_server, locking_stop_server)
