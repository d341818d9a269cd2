/* SPDX-License-Identifier: MIT */

/* How long a hold lasts, and how its holder learns that it does not. */

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

/* LATE_MS: from the end of a lease until the test has seen it; scaled. */
enum { SOON_MS = 3000, LATE_MS = 500 };

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* ---- a lease of the caller's ---- */

LOCKS_TEST(a_lease_ends_when_it_was_told_to)
{
    lk_lock *lock = locking_new(f, lk_lock);
    uint64_t begin = wait_now_ms(), lease = wait_lease_ms();
    lk_hold *hold = locking_hold_for(lock, lease);

    assert_in_range(lk_hold_remaining_ms(hold), 1, lease - lease / 100 - 2);
    assert_in_range(locking_pttl(f, "n"), 1, lease);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_in_range(wait_now_ms() - begin, lease - lease / 100 - 4,
                    wait_allowed_ms(lease + wait_scaled_ms(LATE_MS)));
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_EXPIRED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_non_null(strstr(lk_last_error(), "lease ended"));
    assert_non_null(strstr(lk_last_error(), " ms ago"));
}

/* The holder believes less than the server grants, and never more. */
LOCKS_TEST(a_hold_is_lost_before_the_server_drops_it)
{
    lk_lock *lock = locking_new(f, lk_lock);

    for (int i = 0; i < 5; i++) {
        lk_hold *hold = locking_hold_for(lock, 100);

        while (lk_hold_check(hold) == LK_OK) {
            bool exists = locking_exists(f, "n");

            assert_true(exists || lk_hold_check(hold) == LK_ELOST);
        }
        assert_status(lk_hold_release(hold), LK_ELOST);
        locking_wait_integer(f, 0, "EXISTS %s", "n");
    }
}

LOCKS_TEST(a_lost_hold_tells_for_how_long)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, wait_limit_ms(100));
    uint64_t lost_at;

    assert_int_equal(lk_hold_lost_for_ms(hold), 0);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    lost_at = wait_now_ms();
    locking_pass_time(150);
    assert_in_range(lk_hold_lost_for_ms(hold), 145,
                    wait_now_ms() - lost_at + wait_limit_ms(LATE_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_lease_of_the_callers_is_never_renewed)
{
    const unsigned watchdog_ms = wait_lease_ms();
    uint64_t begin = wait_now_ms();
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = watchdog_ms};
    lk_client *client = locking_open_calm(f, &options);
    lk_hold *hold = locking_hold_for(locking_lock(f, client, "n"), watchdog_ms);
    lk_client_stats stats = locking_stats(client);
    long long before = locking_pttl(f, "n");

    locking_pass_time(watchdog_ms / 2);
    assert_true(locking_pttl(f, "n") <= before - watchdog_ms / 2 + 10);
    /* A connection that was idle for 3 s is asked for a PING. */
    assert_in_range(locking_stats(client).commands, stats.commands,
                    stats.commands + 2 * ((wait_now_ms() - begin) / 3000));
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    /* The check goes by the clock; the client's thread counts it thereafter. */
    assert_soon(locking_stats(client).losses == 1, SOON_MS);
    assert_int_equal(locking_stats(client).renewals, stats.renewals);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(the_lease_of_the_lock_is_that_of_its_acquires)
{
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .lease_ms = 20000};
    lk_lock *lock = NULL;
    lk_hold *hold;

    assert_status(lk_lock_new(&lock, locking_open(f, NULL), "n", &options),
                  LK_OK);
    hold = locking_hold(lock);
    assert_in_range(lk_hold_remaining_ms(hold), 1000, 19798);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_hold_for(lock, 60000);
    assert_in_range(lk_hold_remaining_ms(hold), 50000, 59398);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

LOCKS_TEST(a_lost_lock_is_free_for_others)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_lock *other = locking_new(f, lk_lock);
    uint64_t begin = wait_now_ms(), lease = wait_lease_ms();
    lk_hold *hold = locking_hold_for(lock, lease);
    taker *t = locking_take(f, other, 10000, NULL);

    assert_status(taker_join(t), LK_OK);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_in_range(wait_now_ms() - begin, lease - 2,
                    wait_allowed_ms(lease + wait_scaled_ms(LATE_MS)));
    assert_true(lk_hold_fence(t->hold) > lk_hold_fence(hold));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_hold_check(t->hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

/* What is lost cannot be re-entered: it is acquired again. */
LOCKS_TEST(a_lost_hold_is_not_re_entered)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *lost = locking_hold_for(lock, 50);
    lk_hold *fresh = NULL;

    assert_true(wait_until(hold_is_lost, lost, SOON_MS));
    assert_status(lk_lock_acquire(lock, (int64_t)wait_limit_ms(5000), NULL,
                                  &fresh),
                  LK_OK);
    assert_true(lk_hold_fence(fresh) > lk_hold_fence(lost));
    assert_status(lk_hold_release(lost), LK_ELOST);
    assert_status(lk_hold_check(fresh), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_release(fresh), LK_OK);
}

/* ---- the watchdog ---- */

LOCKS_TEST(the_watchdog_keeps_a_hold_alive)
{
    lk_client *client = locking_open_watchdog(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    uint64_t end = wait_now_ms() + 3 * (uint64_t)wait_lease_ms();

    while (wait_now_ms() < end) {
        assert_true(locking_pttl(f, "n") > 0);
        assert_status(lk_hold_check(hold), LK_OK);
        locking_pass_time(5);
    }
    assert_in_range(locking_stats(client).renewals, 6, 15);
    assert_int_equal(locking_stats(client).losses, 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(the_watchdog_keeps_a_thousand_holds_with_few_commands)
{
    enum { HOLDS = 1000 };
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_limit_ms(1250)};
    lk_client *client = locking_open(f, &options);
    static lk_hold *holds[HOLDS];
    lk_client_stats before, after;

    for (int i = 0; i < HOLDS; i++) {
        lk_lock *lock = NULL;
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        assert_status(lk_lock_new(&lock, client, name, NULL), LK_OK);
        holds[i] = locking_hold(lock);
        lk_lock_free(lock);
    }
    /* Each is looked at once by itself, with its record. */
    while (locking_stats(client).renewals < HOLDS)
        locking_pass_time(10);
    before = locking_stats(client);
    locking_pass_time((unsigned)options.watchdog_ms / 4 * 5);
    after = locking_stats(client);
    for (int i = 0; i < HOLDS; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
    assert_true(after.renewals - before.renewals >= 2 * (uint64_t)HOLDS);
    assert_true((after.renewals - before.renewals) /
                    (after.commands - before.commands) >=
                3);
}

LOCKS_TEST(a_hold_that_was_deleted_is_lost_at_the_next_renewal)
{
    lk_client *client = locking_open_watchdog(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_hold_that_somebody_else_has_is_lost_as_taken)
{
    lk_client *client = locking_open_watchdog(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    freeReplyObject(server_command(f->server, "MULTI"));
    freeReplyObject(server_command(f->server, "DEL n"));
    freeReplyObject(server_command(f->server, "HSET n somebody:1 1"));
    freeReplyObject(server_command(f->server, "EXEC"));
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_TAKEN);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_true(locking_exists(f, "n"));
}

LOCKS_TEST(without_an_answer_a_hold_is_lost_by_its_deadline)
{
    lk_client *client = locking_open_watchdog(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    uint64_t begin = wait_now_ms();

    server_freeze(f->server);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_lease_ms() + wait_scaled_ms(LATE_MS)));
    assert_unreachable(lk_hold_loss(hold));
    server_thaw(f->server);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- longer ---- */

LOCKS_TEST(to_extend_makes_a_lease_last_longer)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, wait_lease_ms());

    assert_status(lk_hold_extend(hold, 20000), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 15000, 19798);
    assert_in_range(locking_pttl(f, "n"), 15000, 20000);
    locking_pass_time(wait_lease_ms() + 100);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(to_extend_never_makes_a_lease_shorter)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 20000);

    assert_status(lk_hold_extend(hold, 100), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 15000, 19798);
    assert_in_range(locking_pttl(f, "n"), 15000, 20000);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_hold_under_watch_can_be_extended)
{
    const unsigned lease_ms = wait_lease_ms(), more_ms = 20 * lease_ms;
    lk_client *client = locking_open_watchdog(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    assert_status(lk_hold_extend(hold, more_ms), LK_OK);
    locking_pass_time(lease_ms);
    assert_in_range(lk_hold_remaining_ms(hold), 2 * lease_ms, more_ms);
    assert_in_range(locking_pttl(f, "n"), 2 * lease_ms, more_ms);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_lost_hold_cannot_be_extended)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 50);

    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_extend(hold, 1000), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

LOCKS_TEST(to_extend_finds_out_that_a_hold_is_gone)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 60000);

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_status(lk_hold_extend(hold, 1000), LK_ELOST);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_false(locking_exists(f, "n"));
}

/* ---- the descriptor ---- */

LOCKS_TEST(the_descriptor_is_readable_when_the_lease_ends)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, wait_lease_ms());
    struct pollfd p = {.fd = lk_hold_fd(hold), .events = POLLIN};

    assert_true(p.fd >= 0);
    assert_int_equal(lk_hold_fd(hold), p.fd);
    assert_false(is_readable(p.fd));
    assert_int_equal(poll(&p, 1, (int)wait_limit_ms(SOON_MS)), 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_string_equal(lk_last_error(), "its lease ended");
    assert_in_range(lk_hold_lost_for_ms(hold), 0, wait_limit_ms(LATE_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(the_descriptor_follows_the_renewals)
{
    lk_client *client = locking_open_watchdog(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    struct pollfd p = {.fd = lk_hold_fd(hold), .events = POLLIN};

    assert_int_equal(poll(&p, 1, 2 * (int)wait_lease_ms()), 0);
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_int_equal(poll(&p, 1, (int)wait_limit_ms(SOON_MS)), 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(the_descriptor_of_a_lost_hold_is_readable)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 50);
    struct pollfd p = {.events = POLLIN};

    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    p.fd = lk_hold_fd(hold);
    assert_int_equal(poll(&p, 1, (int)wait_limit_ms(SOON_MS)), 1);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* Keeps the client's thread busy until it is told, or 5 s have passed. */
typedef struct business {
    atomic_bool is_over;
    atomic_bool has_ended;
} business;

static bool is_over(void *data)
{
    business *b = data;

    return atomic_load(&b->is_over);
}

static bool has_ended(void *data)
{
    business *b = data;

    return atomic_load(&b->has_ended);
}

static void stay_busy(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    business *b = data;

    (void)hold;
    (void)remaining_ms;
    (void)wait_until(is_over, b, 5000);
    atomic_store(&b->has_ended, true);
}

LOCKS_TEST(the_descriptor_needs_no_thread_of_the_clients)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *hold =
        locking_hold_for(locking_lock(f, client, "n"), wait_lease_ms());
    lk_hold *busy = locking_hold_for(locking_lock(f, client, "busy"), 60000);
    struct pollfd p = {.fd = lk_hold_fd(hold), .events = POLLIN};
    static business
        b; /* the callback's, also if the test fails before it ends */
    uint64_t lost_for_ms;
    int count;

    assert_status(lk_hold_on_lost(busy, 3600000, stay_busy, &b), LK_OK);
    count = poll(&p, 1, (int)wait_limit_ms(SOON_MS));
    lost_for_ms = lk_hold_lost_for_ms(hold);
    assert_false(atomic_load(&b.has_ended));
    atomic_store(&b.is_over, true);
    assert_true(wait_until(has_ended, &b, SOON_MS));
    assert_int_equal(count, 1);
    assert_in_range(lost_for_ms, 0, wait_limit_ms(LATE_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_hold_release(busy), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
