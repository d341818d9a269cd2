/* SPDX-License-Identifier: MIT */

/*
 * Locks on a Redis Cluster: their names on all masters, and what holds and waits
 * come to when a slot or a master is another one.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/ringed.h"
#include "support/wait.h"

enum { NAMES = 30, ONES = 3 };

/* ---- where names are ------------------------------------------------------------- */

MADE_TEST(names_are_at_their_masters)
{
    lk_client *client = ringed_open(NULL);
    lk_lock *locks[NAMES];
    lk_hold *holds[NAMES] = {NULL};
    char name[RINGED_NAME];

    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "name%u", i);
        locks[i] = made_lock(client, name);
        assert_status(lk_lock_acquire(locks[i], RINGED_LONG_MS, NULL,
                                      &holds[i]),
                      LK_OK);
        assert_int_equal(server_integer(ringed_master(name), "EXISTS %s", name),
                         1);
        assert_status(lk_hold_check(holds[i]), LK_OK);
    }
    for (unsigned i = 0; i < NAMES; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
}

MADE_TEST(holds_at_all_masters_are_renewed)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = wait_lease_ms()};
    lk_client *client = ringed_open(&brief);
    lk_lock *locks[NAMES];
    lk_hold *holds[NAMES];
    char name[RINGED_NAME];

    for (unsigned i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "renewed%u", i);
        locks[i] = made_lock(client, name);
        holds[i] = made_hold(locks[i]);
    }
    ringed_wait_renewals(client, UINT64_C(4) * NAMES);
    for (unsigned i = 0; i < NAMES; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
}

MADE_TEST(a_waiter_is_handed_the_name)
{
    lk_client *holder = ringed_open(NULL), *waiter = ringed_open(NULL);

    for (size_t i = 0; i < RINGED_MASTERS; i++) {
        char name[RINGED_NAME];
        lk_lock *held =
            made_lock(holder, ringed_name(name, "handed", ringed()->nodes[i]));
        lk_lock *wanted = made_lock(waiter, name);
        lk_hold *hold = NULL;
        lk_client_stats before, after;
        call c = {0};
        uint64_t fence;

        assert_status(lk_lock_acquire(held, RINGED_LONG_MS, NULL, &hold),
                      LK_OK);
        fence = lk_hold_fence(hold);
        ringed_take(&c, wanted);
        ringed_wait_line(ringed()->nodes[i], name, 1);
        locking_wait_calm(waiter); /* it has heard that it is queued */
        before = locking_stats(waiter);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(call_wait(&c, waiter), LK_OK);
        assert_true(lk_hold_fence(c.hold) > fence);
        assert_status(lk_hold_release(c.hold), LK_OK);
        /* It was told, or looked just then. */
        after = locking_stats(waiter);
        assert_true(after.grants > before.grants ||
                    after.rechecks > before.rechecks);
    }
}

/* ---- slots that move ---------------------------------------------------------------- */

static void
go_along(const char *name, void (*move)(cluster *c, unsigned slot, server *to))
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = wait_lease_ms()};
    lk_client *holder = ringed_open(&brief), *waiter = ringed_open(NULL);
    lk_lock *held = made_lock(holder, name), *wanted = made_lock(waiter, name);
    server *to = ringed_other(name);
    lk_hold *hold = NULL;
    call c = {0};
    uint64_t fence;

    assert_status(lk_lock_acquire(held, RINGED_LONG_MS, NULL, &hold), LK_OK);
    fence = lk_hold_fence(hold);
    ringed_take(&c, wanted);
    ringed_wait_line(ringed_master(name), name, 1);
    move(ringed(), ringed_slot(name), to);
    ringed_wait_renewals(holder, 3);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(server_integer(to, "EXISTS %s", name), 1);
    assert_int_equal(c.ends, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, waiter), LK_OK);
    assert_true(lk_hold_fence(c.hold) > fence);
    assert_status(lk_hold_release(c.hold), LK_OK);
    assert_int_equal(server_integer(to, "EXISTS %s", name), 0);
}

MADE_TEST(a_hold_and_a_wait_move_with_their_slot)
{
    go_along("moving", cluster_move);
}

MADE_TEST(they_do_so_when_it_moves_at_once)
{
    if (!cluster_moves_whole(ringed()))
        skip();
    go_along("leaping", cluster_move_whole);
}

/* Half of it is what a slot is for as long as its keys take to move. */
MADE_TEST(a_hold_outlives_a_slot_that_is_half_moved)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = wait_lease_ms()};
    lk_client *client = ringed_open(&brief), *waiter = ringed_open(NULL);
    lk_lock *lock = made_lock(client, "half"),
            *wanted = made_lock(waiter, "half"),
            *free_one = made_lock(waiter, "{half}free");
    server *to = ringed_other("half");
    lk_hold *hold = made_hold(lock);
    unsigned slot = ringed_slot("half");
    call c = {0}, other = {0};

    ringed_take(&c, wanted);
    ringed_wait_line(ringed_master("half"), "half", 1);
    cluster_move_begin(ringed(), slot, to);
    ringed_take(&other, free_one);
    ringed_wait_renewals(client, 6);
    assert_status(lk_hold_check(hold), LK_OK);
    (void)cluster_move_keys(ringed(), slot, to, 1000);
    ringed_wait_renewals(client, 6);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(c.ends, 0);
    cluster_move_end(ringed(), slot, to);
    ringed_wait_renewals(client, 3);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, waiter), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    assert_status(call_wait(&other, waiter), LK_OK);
    assert_status(lk_hold_release(other.hold), LK_OK);
}

/* A client's one hold, of a name in one slot. */
struct one {
    lk_client *client;
    lk_hold *hold;
    lk_hold *beside; /* of the same owner; NULL: none */
};

/* Several questions renew a hold, on a machine that may be busy: so its lease alone
   ends it, not that most masters were not heard for three seconds. */
static lk_client *open_brief(void)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms =
                                         UINT64_C(2) * wait_lease_ms(),
                                     .failover = LK_FAILOVER_FAST};

    return ringed_open(&brief);
}

static struct one one_reader(void)
{
    struct one one = {.client = open_brief()};
    lk_rwlock *lock = NULL;

    assert_status(lk_rwlock_new(&lock, one.client, "keys", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(lock, RINGED_LONG_MS, NULL, &one.hold),
                  LK_OK);
    lk_rwlock_free(lock);
    return one;
}

/* One that writes, and reads beside that: the server has said what keeps it. */
static struct one one_writer(void)
{
    struct one one = {.client = open_brief()};
    lk_rwlock *lock = NULL;

    assert_status(lk_rwlock_new(&lock, one.client, "{keys}both", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, RINGED_LONG_MS, NULL,
                                          &one.hold),
                  LK_OK);
    assert_status(lk_rwlock_acquire_read(lock, RINGED_LONG_MS, NULL,
                                         &one.beside),
                  LK_OK);
    ringed_wait_renewals(one.client, 4);
    lk_rwlock_free(lock);
    return one;
}

static struct one one_siglock(void)
{
    struct one one = {.client = open_brief()};
    lk_siglock *lock = NULL;

    assert_status(lk_siglock_new(&lock, one.client, "{keys}", NULL), LK_OK);
    assert_status(lk_siglock_acquire(lock, RINGED_LONG_MS, NULL, &one.hold),
                  LK_OK);
    lk_siglock_free(lock);
    return one;
}

/* python-redis-lock's keys lie in one slot by the name's own tag alone. */
MADE_TEST(a_siglock_without_a_tag_is_refused_at_once)
{
    lk_client *client = ringed_open(NULL);
    lk_siglock *lock = NULL;

    assert_status(lk_siglock_new(&lock, client, "keys", NULL), LK_EINVAL);
    assert_null(lock);
    assert_non_null(strstr(lk_last_error(), "'{keys}'"));
}

/* Each of their holds twice, all meanwhile. */
static void assert_renewed(const struct one *ones, size_t count)
{
    uint64_t least[ONES];

    for (size_t i = 0; i < count; i++)
        least[i] = locking_stats(ones[i].client).renewals +
                   (ones[i].beside != NULL ? 4 : 2);
    for (size_t i = 0; i < count; i++) {
        uint64_t now = locking_stats(ones[i].client).renewals;

        if (now < least[i])
            ringed_wait_renewals(ones[i].client, least[i] - now);
        assert_status(lk_hold_check(ones[i].hold), LK_OK);
        if (ones[i].beside != NULL)
            assert_status(lk_hold_check(ones[i].beside), LK_OK);
    }
}

/* Wherever each of its keys is, and whether it is there at all. */
MADE_TEST(a_hold_of_several_keys_outlives_a_slot_that_is_half_moved)
{
    const struct one ones[ONES] = {one_reader(), one_siglock(), one_writer()};
    server *to = ringed_other("keys");
    unsigned slot = ringed_slot("keys");
    size_t steps = 0;

    cluster_move_begin(ringed(), slot, to);
    do {
        assert_renewed(ones, ONES);
        steps++;
    } while (cluster_move_keys(ringed(), slot, to, 1) > 0);
    assert_in_range(steps, 7, 14); /* of three names, with their records */
    cluster_move_end(ringed(), slot, to);
    assert_renewed(ones, ONES);
    for (size_t i = 0; i < ONES; i++) {
        if (ones[i].beside != NULL)
            assert_status(lk_hold_release(ones[i].beside), LK_OK);
        assert_status(lk_hold_release(ones[i].hold), LK_OK);
    }
}

/* It would be lost where the parts of its counter and of its leases are apart. */
MADE_TEST(a_permit_is_back_when_its_slot_is_there)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .command_timeout_ms = wait_limit_ms(500)};
    const lk_semaphore_options one = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 1};
    lk_client *client = ringed_open(&brief);
    lk_semaphore *permits = NULL;
    server *to = ringed_other("permits");
    unsigned slot = ringed_slot("permits");
    lk_hold *hold = NULL;
    call c = {0};

    assert_status(lk_semaphore_new(&permits, client, "permits", &one), LK_OK);
    assert_status(lk_semaphore_acquire(permits, 1, RINGED_LONG_MS, NULL, &hold),
                  LK_OK);
    cluster_move_begin(ringed(), slot, to);
    (void)cluster_move_keys(ringed(), slot, to, 1);
    assert_status(lk_hold_release(hold), LK_EPENDING);
    assert_status(lk_semaphore_acquire_async(permits, 1, RINGED_LONG_MS, NULL,
                                             call_on_acquire, &c),
                  LK_OK);
    (void)cluster_move_keys(ringed(), slot, to, 1000);
    cluster_move_end(ringed(), slot, to);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    lk_semaphore_free(permits);
}

/* ---- masters that are lost ------------------------------------------------------------ */

MADE_TEST(the_holds_of_a_lost_master_are_confirmed_or_told)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = RINGED_LONG_MS};
    lk_client *holder = ringed_open(NULL), *waiter = ringed_open(&patient);
    server *lost = ringed()->nodes[0], *next;
    char here[RINGED_NAME], there[RINGED_NAME];
    lk_lock *held = made_lock(holder, ringed_name(here, "lost", lost));
    lk_lock *other =
        made_lock(holder, ringed_name(there, "lost", ringed()->nodes[1]));
    lk_lock *wanted = made_lock(waiter, here);
    lk_hold *hold = NULL, *aside = NULL, *meanwhile = NULL;
    lk_lock *free_one;
    call c = {0};
    uint64_t fence;

    assert_status(lk_lock_acquire(held, RINGED_LONG_MS, NULL, &hold), LK_OK);
    assert_status(lk_lock_acquire(other, RINGED_LONG_MS, NULL, &aside), LK_OK);
    fence = lk_hold_fence(hold);
    ringed_take(&c, wanted);
    server_wait_copied(lost, here, 1);
    cluster_kill(ringed(), lost);

    /* The names of the others are there meanwhile. */
    free_one =
        made_lock(waiter, ringed_name(there, "meanwhile", ringed()->nodes[1]));
    assert_status(lk_lock_acquire(free_one, (int64_t)wait_limit_ms(2000), NULL,
                                  &meanwhile),
                  LK_OK);
    assert_status(lk_hold_release(meanwhile), LK_OK);

    next = cluster_wait_other(ringed(), ringed_slot(here), lost);
    if (lk_hold_check(hold) == LK_OK) {
        assert_int_equal(server_integer(next, "EXISTS %s", here), 1);
        assert_int_equal(c.ends, 0);
    }
    lk_hold_release(hold);
    assert_status(call_wait(&c, waiter), LK_OK);
    assert_true(lk_hold_fence(c.hold) > fence);
    assert_status(lk_hold_check(aside), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    assert_status(lk_hold_release(aside), LK_OK);
}

CHECK_GROUP(ringed_start, ringed_stop)
