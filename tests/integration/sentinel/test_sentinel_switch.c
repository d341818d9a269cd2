/* SPDX-License-Identifier: MIT */

/*
 * What holds and waits come to when the sentinels name another master, when theirs
 * begins anew, and when too few of them are there. Each test has a group of its own.
 */

#include <latchkey/latchkey.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/made.h"
#include "support/sentinels.h"
#include "support/wait.h"

enum { LONG_MS = 60000, BELIEF_MS = 3000 };

static sentinels *group;

static int start(NO_STATE)
{
    group = sentinels_start();
    return group != NULL ? 0 : -1;
}

static int stop(void **state)
{
    (void)made_end(state);
    sentinels_stop(group);
    group = NULL;
    return 0;
}

/* options: NULL: rides out what a busy machine makes of a failover. */
static lk_client *open_client(const lk_client_options *options)
{
    static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                              .offline_ms = LONG_MS};

    return made_client(group->url, options != NULL ? options : &patient);
}

/* ---- the next master -------------------------------------------------------- */

/* The replicas have it. */
static void wait_replicated(const char *key)
{
    server_wait_copied(group->servers[0], key, 2);
    assert_int_equal(server_integer(group->servers[1], "EXISTS %s", key), 1);
}

typedef struct move {
    lk_client *client;
    const server *to;
} move;

static bool has_moved(void *data)
{
    const move *m = data;
    lk_master master = {.size = sizeof(master)};
    char port[16];
    const char *colon;

    (void)snprintf(port, sizeof(port), ":%u", server_port(m->to));
    assert_status(lk_master_get(m->client, &master), LK_OK);
    colon = strrchr(master.address, ':');
    return colon != NULL && strcmp(colon, port) == 0;
}

/* The client has gone to the next master, and nobody believes the one before.
   Until then it may go on taking locks there. */
static void wait_settled(lk_client *client, const server *next)
{
    move m = {client, next};
    lk_lock *lock = made_lock(client, "later");
    lk_hold *hold = NULL;

    assert_true(wait_until(has_moved, &m, LONG_MS));
    hold = made_hold(lock);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- names in the place of addresses -------------------------------------------- */

static int start_named(NO_STATE)
{
    static const sentinels_options options = {.has_names = true};

    group = sentinels_start_with(&options);
    return group != NULL ? 0 : -1;
}

static void assert_master(lk_client *client, const server *expected)
{
    lk_master master = {.size = sizeof(master)};
    char address[64];

    (void)snprintf(address, sizeof(address), "localhost:%u",
                   server_port(expected));
    assert_status(lk_master_get(client, &master), LK_OK);
    assert_string_equal(master.address, address);
}

static void a_master_that_has_a_name_is_followed(NO_STATE)
{
    lk_client *client = open_client(NULL);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = made_hold(lock);
    server *next;

    assert_master(client, group->servers[0]);
    wait_replicated("n");
    next = sentinels_failover(group);
    sentinels_wait_other(group, group->servers[0]);
    wait_settled(client, next);
    assert_master(client, next);
    assert_status(lk_hold_extend(hold, LONG_MS), LK_OK);
    assert_int_equal(server_integer(next, "EXISTS n"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- a failover that is asked for: both servers take writes for ten seconds ------ */

/* How a hold stands when another is granted. */
typedef struct before {
    const lk_hold *hold;
    lk_status status;
} before;

static void look_before(call *c)
{
    before *b = c->data;

    b->status = lk_hold_check(b->hold);
}

static void acquire_later(call *c, lk_lock *lock)
{
    assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL, call_on_acquire,
                                        c),
                  LK_OK);
}

static void holds_and_waits_go_to_the_next_master(NO_STATE)
{
    lk_client *holder = open_client(NULL);
    lk_client *waiter = open_client(NULL);
    lk_lock *kept = made_lock(holder, "kept"),
            *late = made_lock(holder, "late");
    lk_lock *wants_kept = made_lock(waiter, "kept");
    lk_lock *wants_late = made_lock(waiter, "late");
    lk_hold *kept_hold = NULL, *late_hold = NULL;
    call for_kept = {0}, for_late = {.act = look_before};
    before then = {0};
    server *next;

    kept_hold = made_hold(kept);
    acquire_later(&for_kept, wants_kept);
    wait_replicated("kept");

    /* The old master goes on and gives what the next one never hears of. */
    next = sentinels_failover(group);
    late_hold = made_hold(late);
    assert_int_equal(server_integer(group->servers[0], "EXISTS late"), 1);
    assert_int_equal(server_integer(next, "EXISTS late"), 0);
    then.hold = late_hold;
    for_late.data = &then;
    acquire_later(&for_late, wants_late);

    assert_status(call_wait(&for_late, NULL), LK_OK);
    assert_int_equal(then.status, LK_ELOST);
    assert_int_equal(server_integer(next, "EXISTS late"), 1);
    assert_status(lk_hold_check(kept_hold), LK_OK);
    assert_status(lk_hold_extend(kept_hold, LONG_MS), LK_OK);
    assert_int_equal(for_kept.ends, 0);
    assert_int_equal(server_integer(next, "EXISTS kept"), 1);
    assert_status(lk_hold_release(kept_hold), LK_OK);
    assert_status(call_wait(&for_kept, NULL), LK_OK);
    assert_int_equal(server_integer(next, "EXISTS kept"), 1);

    assert_status(lk_hold_release(late_hold), LK_ELOST);
    assert_status(lk_hold_release(for_late.hold), LK_OK);
    assert_status(lk_hold_release(for_kept.hold), LK_OK);
}

/* ---- the line ---------------------------------------------------------------------- */

enum { LINE = 3 };

static uint64_t waiting_count(lk_fairlock *fairlock)
{
    lk_info *info = NULL;
    uint64_t count;

    assert_status(lk_fairlock_info(fairlock, &info), LK_OK);
    count = info->waiter_count;
    lk_info_free(info);
    return count;
}

typedef struct line_end {
    lk_fairlock *fairlock;
    uint64_t count;
} line_end;

static bool has_come(void *data)
{
    const line_end *end = data;

    return waiting_count(end->fairlock) == end->count;
}

/* Three clients wait, one after the other; what the replicas know of it is all. Each
   is granted at the next master when the one before has released. */
static void those_who_wait_keep_their_order(NO_STATE)
{
    lk_client *holder = open_client(NULL), *clients[LINE];
    lk_fairlock *held = NULL, *wanted[LINE] = {NULL};
    lk_hold *hold = NULL;
    call calls[LINE] = {{0}};
    server *next;

    assert_status(lk_fairlock_new(&held, holder, "line", NULL), LK_OK);
    assert_status(lk_fairlock_acquire(held, LONG_MS, NULL, &hold), LK_OK);
    for (size_t i = 0; i < LINE; i++) {
        line_end end = {held, i + 1};

        clients[i] = open_client(NULL);
        assert_status(lk_fairlock_new(&wanted[i], clients[i], "line", NULL),
                      LK_OK);
        assert_status(lk_fairlock_acquire_async(wanted[i], LK_FOREVER, NULL,
                                                call_on_acquire, &calls[i]),
                      LK_OK);
        assert_true(wait_until(has_come, &end, LONG_MS));
    }
    wait_replicated("line");
    next = sentinels_failover(group);
    assert_ptr_equal(sentinels_wait_other(group, group->servers[0]), next);
    wait_settled(holder, next);
    for (size_t i = 0; i < LINE; i++) {
        assert_status(lk_hold_release(hold), LK_OK);
        assert_status(call_wait(&calls[i], NULL), LK_OK);
        hold = calls[i].hold;
        for (size_t k = i + 1; k < LINE; k++)
            assert_int_equal(calls[k].ends, 0);
        assert_int_equal(server_integer(next, "EXISTS line"), 1);
    }
    assert_status(lk_hold_release(hold), LK_OK);
    lk_fairlock_free(held);
    for (size_t i = 0; i < LINE; i++)
        lk_fairlock_free(wanted[i]);
}

/* So often that its caller reads its own answers. */
static void take_often(lk_lock *lock)
{
    lk_hold *hold = NULL;

    for (int i = 0; i < 50; i++) {
        hold = made_hold(lock);
        assert_status(lk_hold_release(hold), LK_OK);
    }
}

/* The next master keeps it, but prolongs nothing while the one before may be
   believed: there its lease ends. */
static void
a_lease_gets_no_longer_until_nobody_believes_the_old_master(NO_STATE)
{
    static const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                            .watchdog_ms = BELIEF_MS - 200};
    lk_client *client = open_client(&brief);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = NULL;
    server *next;

    take_often(lock);
    hold = made_hold(lock);
    wait_replicated("n");
    next = sentinels_failover(group);
    sentinels_wait_other(group, group->servers[0]);
    assert_true(wait_until(hold_is_lost, hold, LONG_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    hold = made_hold(lock);
    assert_int_equal(server_integer(next, "EXISTS n"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
    take_often(lock);
}

/* It has not seen the master before; the sentinels say how old this one is. */
static void a_client_that_comes_after_the_switch_waits_as_well(NO_STATE)
{
    server *next = sentinels_failover(group);
    uint64_t unnamed_at = wait_now_ms();
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold = NULL;

    sentinels_wait_other(group, group->servers[0]);
    client = open_client(NULL);
    lock = made_lock(client, "n");
    assert_status(lk_client_wait_ready(client, LONG_MS), LK_OK);
    hold = made_hold(lock);
    assert_true(wait_now_ms() - unnamed_at >= BELIEF_MS);
    assert_int_equal(server_integer(next, "EXISTS n"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The sentinels name it all the time. What it has forgotten somebody may believe. */
static void a_master_that_begins_anew_gives_nothing_for_a_while(NO_STATE)
{
    lk_client *client = open_client(NULL);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = NULL, *next = NULL;
    lk_client *late;
    uint64_t began;

    hold = made_hold(lock);
    began = wait_now_ms();
    assert_true(server_restart(group->servers[0]));
    assert_true(wait_until(hold_is_lost, hold, LONG_MS));
    late = open_client(NULL);
    lock = made_lock(late, "n");
    next = made_hold(lock);
    assert_true(wait_now_ms() - began >= BELIEF_MS);
    assert_status(lk_hold_release(next), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- without a majority ------------------------------------------------------------ */

/* Without a majority the server may have a successor that one does not know. */
static void without_a_majority_a_hold_is_lost_in_time(NO_STATE)
{
    lk_client *client = open_client(NULL);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = NULL, *other = NULL;
    uint64_t began;
    struct pollfd readable = {.events = POLLIN};

    hold = made_hold(lock);
    readable.fd = lk_hold_fd(hold);
    server_freeze(group->sentinels[1]);
    server_freeze(group->sentinels[2]);
    began = wait_now_ms();
    assert_int_equal(poll(&readable, 1, LONG_MS), 1);
    assert_true(wait_now_ms() - began <= BELIEF_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_lock_acquire(lock, 0, NULL, &other), LK_EOFFLINE);
    server_thaw(group->sentinels[1]);
    assert_status(lk_hold_release(hold), LK_ELOST);
    other = made_hold(lock);
    assert_status(lk_hold_release(other), LK_OK);
}

#define GROUP_TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(without_a_majority_a_hold_is_lost_in_time),
        cmocka_unit_test_setup_teardown(a_master_that_has_a_name_is_followed,
                                        start_named, stop),
        GROUP_TEST(those_who_wait_keep_their_order),
        GROUP_TEST(a_master_that_begins_anew_gives_nothing_for_a_while),
        GROUP_TEST(holds_and_waits_go_to_the_next_master),
        GROUP_TEST(a_client_that_comes_after_the_switch_waits_as_well),
        GROUP_TEST(a_lease_gets_no_longer_until_nobody_believes_the_old_master),
    };

    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
