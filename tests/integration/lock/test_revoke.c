/* SPDX-License-Identifier: MIT */

/* Revoking: a hold ends, and nobody else is let in before it has. */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { SOON_MS = 10000 };

/* The id of whoever holds "n", whatever the kind. */
static const char *holder_of(lk_client *client)
{
    static char owner[80];
    lk_kind found;
    lk_info *info = NULL;

    assert_status(lk_who(client, "n", &found, &info), LK_OK);
    assert_int_equal(info->holder_count, 1);
    (void)snprintf(owner, sizeof(owner), "%s", info->holders[0]->owner);
    lk_info_free(info);
    return owner;
}

static void assert_revoked(lk_hold *hold)
{
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
}

/* Until nobody holds "n" any more. */
static void wait_over(lk_client *client, const char *owner)
{
    int64_t left_ms = 0;

    assert_soon(lk_revoke(client, "n", owner, &left_ms) == LK_ENOTHELD,
                SOON_MS);
}

/* A client whose watchdog finds out soon. */
static lk_client *open_quick(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};

    return locking_open(f, &options);
}

/* ---- a lock ---- */

static void count(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    if (remaining_ms == 0)
        atomic_fetch_add((atomic_int *)data, 1);
}

LOCKS_TEST(a_revoked_hold_is_told_in_every_way)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    struct pollfd fd = {.fd = lk_hold_fd(hold), .events = POLLIN};
    atomic_int losses = 0;
    int64_t left_ms = 0;

    assert_status(lk_hold_on_lost(hold, 0, count, &losses), LK_OK);
    assert_status(lk_revoke(other, "n", holder_of(other), &left_ms), LK_OK);
    assert_in_range(left_ms, 1, 30000);
    assert_revoked(hold);
    assert_int_equal(poll(&fd, 1, SOON_MS), 1);
    assert_soon(atomic_load(&losses) == 1, SOON_MS);
    assert_non_null(
        strstr(lk_hold_release(hold) == LK_ELOST ? lk_last_error() : "",
               "an operator ended it"));
}

/* What was held is free when its holder says so, and not before. */
LOCKS_TEST(nobody_is_let_in_before_the_holder_has_let_go)
{
    lk_client *other = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, other, "n");
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    int64_t left_ms = 0;
    char owner[80];
    taker *t;

    (void)snprintf(owner, sizeof(owner), "%s", holder_of(other));
    t = locking_take(f, lock, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    assert_status(lk_lock_revoke(lock, owner, &left_ms), LK_OK);
    assert_revoked(hold);
    assert_status(lk_lock_revoke(lock, owner, &left_ms), LK_OK);
    assert_false(atomic_load(&t->done));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(taker_join(t), LK_OK);
    assert_status(lk_lock_revoke(lock, owner, &left_ms), LK_ENOTHELD);
    assert_status(lk_hold_check(t->hold), LK_OK);
}

/* It spins, so that it has no inbox. */
LOCKS_TEST(a_holder_that_no_message_reaches_finds_out_when_it_renews)
{
    lk_client *client = open_quick(f);
    lk_client *other = locking_open(f, NULL);
    const lk_lock_options spins = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};
    lk_lock *lock = NULL;
    lk_hold *hold;
    int64_t left_ms = 0;

    assert_status(lk_lock_new(&lock, client, "n", &spins), LK_OK);
    hold = locking_hold(lock);
    assert_status(lk_revoke(other, "n", holder_of(other), &left_ms), LK_OK);
    assert_in_range(left_ms, 1, wait_lease_ms());
    assert_revoked(hold);
    assert_int_equal(locking_stats(client).renewals, 0);
    lk_lock_free(lock);
    assert_status(lk_hold_release(hold), LK_ELOST);
    wait_over(other, JAVA);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

LOCKS_TEST(a_revoked_hold_is_not_extended)
{
    lk_client *client = locking_open(f, NULL);
    lk_client *other = locking_open(f, NULL);
    const lk_lock_options spins = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN};
    lk_lock *lock = NULL;
    lk_hold *hold;
    int64_t left_ms = 0;

    assert_status(lk_lock_new(&lock, client, "n", &spins), LK_OK);
    hold = locking_hold(lock);
    assert_status(lk_revoke(other, "n", holder_of(other), &left_ms), LK_OK);
    assert_status(lk_hold_extend(hold, 90000), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_in_range(locking_pttl(f, "n"), 1, 30000);
    lk_lock_free(lock);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* Nobody lets go: the lease is what ends it, and is not renewed. */
LOCKS_TEST(a_holder_that_never_lets_go_keeps_it_for_its_lease)
{
    lk_client *other = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, open_quick(f), "n"));
    char owner[80];

    (void)snprintf(owner, sizeof(owner), "%s", holder_of(other));
    wait_over(other, owner);
    assert_false(locking_exists(f, "n"));
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(an_exported_hold_is_lost_to_who_imports_it)
{
    lk_client *other = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, other, "n");
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    char text[LK_EXPORT_SIZE];
    int64_t left_ms = 0;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_revoke(other, "n", holder_of(other), &left_ms), LK_OK);
    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_ELOST);
    assert_true(locking_exists(f, "n"));
}

/* Its claim is the exporter's, and yet the message finds it. */
LOCKS_TEST(an_imported_hold_is_told_at_once)
{
    lk_client *client = locking_open_calm(f, NULL);
    /* The hold that made it calm may have been renewed when the inbox came. */
    uint64_t renewals = locking_stats(client).renewals;
    lk_client *other = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(locking_lock(f, other, "n"));
    char text[LK_EXPORT_SIZE];
    int64_t left_ms = 0;

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_OK);
    assert_status(lk_revoke(other, "n", holder_of(other), &left_ms), LK_OK);
    assert_revoked(hold);
    assert_int_equal(locking_stats(client).renewals, renewals);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_false(locking_exists(f, "n"));
}

/* It comes back to the client that exported it. */
LOCKS_TEST(one_that_came_home_is_told_as_well)
{
    /* Not asked for again before it has to be told. */
    const lk_acquire_options fixed = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = 60000};
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = NULL;
    char text[LK_EXPORT_SIZE];
    int64_t left_ms = 0;

    assert_status(lk_lock_acquire(lock, 0, &fixed, &hold), LK_OK);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_OK);
    assert_status(lk_revoke(other, "n", holder_of(other), &left_ms), LK_OK);
    assert_revoked(hold);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_client_that_is_shut_down_lets_go)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    int64_t left_ms = 0;

    assert_status(lk_revoke(other, "n", holder_of(other), &left_ms), LK_OK);
    assert_revoked(hold);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_client_shutdown(client, SOON_MS), LK_OK);
    assert_false(locking_exists(f, "n"));
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

/* ---- other kinds ---- */

/* A hold of "n", to which this happened, is over once it is released. */
static void revoke_and_release(locking *f, lk_hold *hold)
{
    lk_client *other = locking_open(f, NULL);
    char owner[80];
    int64_t left_ms = 0;

    (void)snprintf(owner, sizeof(owner), "%s", holder_of(other));
    assert_status(lk_revoke(other, "n", owner, &left_ms), LK_OK);
    assert_revoked(hold);
    assert_status(lk_revoke(other, "n", owner, &left_ms), LK_OK);
    assert_in_range(left_ms, 1, 30000);
    assert_status(lk_hold_release(hold), LK_ELOST);
    wait_over(other, owner);
}

LOCKS_TEST(a_fair_lock_is_revoked)
{
    lk_fairlock *fairlock = locking_of(f, lk_fairlock, locking_open(f, NULL));
    lk_hold *hold = NULL;
    int64_t left_ms = 0;

    assert_status(lk_fairlock_acquire(fairlock, 0, NULL, &hold), LK_OK);
    revoke_and_release(f, hold);
    assert_status(lk_fairlock_revoke(fairlock, JAVA, &left_ms), LK_ENOTHELD);
}

LOCKS_TEST(readers_and_writers_are_revoked)
{
    lk_rwlock *rwlock = locking_of(f, lk_rwlock, locking_open(f, NULL));
    lk_hold *hold = NULL;

    assert_status(lk_rwlock_acquire_read(rwlock, 0, NULL, &hold), LK_OK);
    revoke_and_release(f, hold);
    assert_status(lk_rwlock_acquire_write(rwlock,
                                          (int64_t)wait_limit_ms(SOON_MS), NULL,
                                          &hold),
                  LK_OK);
    revoke_and_release(f, hold);
    assert_status(lk_rwlock_acquire_upgradeable(rwlock, SOON_MS, NULL, &hold),
                  LK_OK);
    revoke_and_release(f, hold);
}

LOCKS_TEST(permits_are_revoked)
{
    const lk_semaphore_options two = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 2};
    lk_semaphore *semaphore = NULL;
    lk_hold *hold = NULL;
    uint64_t permits = 0;
    int64_t available = 0;

    assert_status(lk_semaphore_new(&semaphore, locking_open(f, NULL), "n",
                                   &two),
                  LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 2, 0, NULL, &hold), LK_OK);
    revoke_and_release(f, hold);
    assert_status(lk_semaphore_count(semaphore, &permits, &available), LK_OK);
    assert_int_equal(available, 2);
    lk_semaphore_free(semaphore);
}

/* No message is sent: its client finds out when it renews. */
LOCKS_TEST(a_siglock_is_revoked)
{
    lk_siglock *siglock;
    lk_info *info = NULL;
    lk_hold *hold = NULL;
    int64_t left_ms = 0;
    char owner[80];

    siglock = locking_of(f, lk_siglock, open_quick(f));
    assert_status(lk_siglock_acquire(siglock, 0, NULL, &hold), LK_OK);
    assert_status(lk_siglock_info(siglock, &info), LK_OK);
    (void)snprintf(owner, sizeof(owner), "%s", info->holders[0]->owner);
    lk_info_free(info);
    assert_status(lk_siglock_revoke(siglock, owner, &left_ms), LK_OK);
    assert_in_range(left_ms, 1, wait_lease_ms());
    assert_revoked(hold);
    assert_status(lk_hold_release(hold), LK_ELOST);
    locking_wait_integer(f, 0, "EXISTS %s", "lock:n");
}

LOCKS_TEST(a_leader_is_revoked)
{
    lk_leader *leader = locking_of(f, lk_leader, locking_open(f, NULL));
    lk_hold *hold = NULL;

    assert_status(lk_leader_campaign(leader, 0, NULL, &hold), LK_OK);
    revoke_and_release(f, hold);
}

/* With one member all are lost, and given up together. */
LOCKS_TEST(a_member_of_a_multilock_is_revoked)
{
    lk_client *client = locking_open(f, NULL);
    lk_multilock *multilock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_multilock_new(&multilock), LK_OK);
    assert_status(lk_multilock_add_lock(multilock,
                                        locking_lock(f, client, "n")),
                  LK_OK);
    assert_status(lk_multilock_add_lock(multilock,
                                        locking_lock(f, client, "m")),
                  LK_OK);
    assert_status(lk_multilock_acquire(multilock, 0, NULL, &hold), LK_OK);
    revoke_and_release(f, hold);
    locking_wait_integer(f, 0, "EXISTS %s", "m");
    lk_multilock_free(multilock);
}

/* ---- async, others, misuse ---- */

typedef struct told {
    atomic_int ends;
    lk_status status;
    int64_t left_ms;
} told;

static void on_revoked(lk_status status, int64_t left_ms, void *data)
{
    told *t = data;

    t->status = status;
    t->left_ms = left_ms;
    atomic_fetch_add(&t->ends, 1);
}

static bool has_ended(void *data)
{
    return atomic_load(&((told *)data)->ends) == 1;
}

LOCKS_TEST(revoking_has_async_forms)
{
    lk_client *other = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, other, "n");
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    told first = {.status = LK_OK};
    told second = {.status = LK_OK};
    told third = {.status = LK_OK};

    assert_status(lk_lock_revoke_async(lock, holder_of(other), on_revoked,
                                       &first),
                  LK_OK);
    assert_true(wait_until(has_ended, &first, SOON_MS));
    assert_status(first.status, LK_OK);
    assert_in_range(first.left_ms, 1, 30000);
    assert_status(lk_revoke_async(other, "n", holder_of(other), on_revoked,
                                  &second),
                  LK_OK);
    assert_true(wait_until(has_ended, &second, SOON_MS));
    assert_status(second.status, LK_OK);
    assert_revoked(hold);
    assert_status(lk_revoke_async(other, "n", JAVA, on_revoked, &third), LK_OK);
    assert_true(wait_until(has_ended, &third, SOON_MS));
    assert_status(third.status, LK_ENOTHELD);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(another_librarys_hold_has_no_end_to_be_told)
{
    lk_client *client = locking_open(f, NULL);
    int64_t left_ms = 0;

    (void)server_integer(f->server, "HSET n " JAVA " 1");
    (void)server_integer(f->server, "PEXPIRE n 30000");
    assert_status(lk_revoke(client, "n", JAVA, &left_ms), LK_OK);
    assert_int_equal(left_ms, LK_FOREVER);
    assert_true(locking_exists(f, "n"));
}

LOCKS_TEST(wrong_calls_are_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    int64_t left_ms = 0;

    assert_status(lk_revoke(client, "n", NULL, &left_ms), LK_EINVAL);
    assert_status(lk_revoke(client, "n", JAVA, NULL), LK_EINVAL);
    assert_status(lk_revoke(client, "{", JAVA, &left_ms), LK_EINVAL);
    assert_status(lk_revoke_async(client, "n", JAVA, NULL, NULL), LK_EINVAL);
    assert_status(lk_lock_revoke(lock, "", &left_ms), LK_EINVAL);
    assert_status(lk_lock_revoke(lock, JAVA, NULL), LK_EINVAL);
    assert_status(lk_lock_revoke(NULL, JAVA, &left_ms), LK_EINVAL);
    assert_status(lk_lock_revoke_async(lock, JAVA, NULL, NULL), LK_EINVAL);
    assert_status(lk_revoke(client, "n", JAVA, &left_ms), LK_ENOTHELD);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
