/* SPDX-License-Identifier: MIT */

/*
 * What holds and waits come to when the sentinels name another master, when theirs
 * begins again, and when too few of them are there. Each test has a group of its own.
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

enum { LONG_MS = 60000, BELIEF_MS = 3000, TRIES = 4 };

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
                                              .command_timeout_ms = LONG_MS,
                                              .offline_ms = LONG_MS};

    return made_client(group->url, options != NULL ? options : &patient);
}

/*
 * A hold outlives a failover if a majority, and the next master behind it, are heard
 * within three seconds of the last majority. Where the machine had no time for that,
 * a scene says so, and is played again with another group.
 */
static void play(bool (*scene)(void), int (*begin)(void **state))
{
    for (int tries = 1; !scene(); tries++) {
        if (tries == TRIES)
            fail_msg("the machine had no time for it, %d times", TRIES);
        (void)stop(NULL);
        assert_int_equal(begin(NULL), 0);
    }
}

/* Nothing else takes it away. */
static bool is_kept(const lk_hold *hold)
{
    if (lk_hold_check(hold) == LK_OK)
        return true;
    assert_unreachable(lk_hold_loss(hold));
    return false;
}

/* Extends it at this master, if it is kept. */
static void extend_at(lk_hold *hold, server *master, const char *key)
{
    if (lk_hold_extend(hold, LONG_MS) == LK_OK)
        assert_int_equal(server_integer(master, "EXISTS %s", key), 1);
    else
        assert_false(is_kept(hold));
}

/* Whether it was kept all the time. */
static bool give_back(lk_hold *hold)
{
    lk_status status;

    (void)is_kept(hold);
    status = lk_hold_release(hold);
    if (status != LK_ELOST)
        assert_status(status, LK_OK);
    return status == LK_OK;
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

static bool has_moved(const move *m)
{
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

    assert_soon(has_moved(&m), LONG_MS);
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

static bool follow_by_name(void)
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
    extend_at(hold, next, "n");
    return give_back(hold);
}

static void a_master_that_has_a_name_is_followed(NO_STATE)
{
    play(follow_by_name, start_named);
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

/* What the old master gives after the next one takes writes, the next one never hears
   of. False: the client had gone to the next one by then. */
static bool is_at(server *old, server *next, const char *key)
{
    return server_integer(old, "EXISTS %s", key) == 1 &&
           server_integer(next, "EXISTS %s", key) == 0;
}

static void assert_taken_late(call *for_late, lk_lock *wanted, lk_hold *late)
{
    before then = {.hold = late};

    for_late->act = look_before;
    for_late->data = &then;
    acquire_later(for_late, wanted);
    assert_status(call_wait(for_late, NULL), LK_OK);
    assert_int_equal(then.status, LK_ELOST);
}

static bool go_to_the_next(void)
{
    lk_client *holder = open_client(NULL);
    lk_client *waiter = open_client(NULL);
    lk_lock *kept = made_lock(holder, "kept"),
            *late = made_lock(holder, "late");
    lk_lock *wants_kept = made_lock(waiter, "kept");
    lk_lock *wants_late = made_lock(waiter, "late");
    lk_hold *kept_hold = made_hold(kept), *late_hold = NULL;
    call for_kept = {0}, for_late = {0};
    server *next;
    bool was_late, was_kept;

    acquire_later(&for_kept, wants_kept);
    wait_replicated("kept");
    next = sentinels_failover(group);
    late_hold = made_hold(late);
    was_late = is_at(group->servers[0], next, "late");
    if (was_late) {
        assert_taken_late(&for_late, wants_late, late_hold);
        assert_int_equal(server_integer(next, "EXISTS late"), 1);
        assert_status(lk_hold_release(for_late.hold), LK_OK);
        assert_status(lk_hold_release(late_hold), LK_ELOST);
        extend_at(kept_hold, next, "kept");
    } else {
        (void)give_back(late_hold);
    }
    if (is_kept(kept_hold))
        assert_int_equal(for_kept.ends, 0);
    was_kept = give_back(kept_hold);
    assert_status(call_wait(&for_kept, NULL), LK_OK);
    assert_int_equal(server_integer(next, "EXISTS kept"), 1);
    assert_status(lk_hold_release(for_kept.hold), LK_OK);
    return was_late && was_kept;
}

static void holds_and_waits_go_to_the_next_master(NO_STATE)
{
    play(go_to_the_next, start);
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

/* Three clients wait, one after the other; what the replicas know of it is all. Each
   is granted at the next master when the one before has released. */
static bool stand_in_line(void)
{
    lk_client *holder = open_client(NULL), *clients[LINE];
    lk_fairlock *held = NULL, *wanted[LINE] = {NULL};
    lk_hold *hold = NULL;
    call calls[LINE] = {{0}};
    server *next;
    bool was_kept = true;

    assert_status(lk_fairlock_new(&held, holder, "line", NULL), LK_OK);
    assert_status(lk_fairlock_acquire(held, LONG_MS, NULL, &hold), LK_OK);
    for (size_t i = 0; i < LINE; i++) {
        clients[i] = open_client(NULL);
        assert_status(lk_fairlock_new(&wanted[i], clients[i], "line", NULL),
                      LK_OK);
        assert_status(lk_fairlock_acquire_async(wanted[i], LK_FOREVER, NULL,
                                                call_on_acquire, &calls[i]),
                      LK_OK);
        assert_soon(waiting_count(held) == i + 1, LONG_MS);
    }
    wait_replicated("line");
    next = sentinels_failover(group);
    assert_ptr_equal(sentinels_wait_other(group, group->servers[0]), next);
    wait_settled(holder, next);
    /* Their inboxes stand there, and the holder's: without one a ticket's turn is passed
       over. */
    assert_soon(server_integer(next, "EVAL %s 0",
                               "return #redis.call('PUBSUB', 'CHANNELS', "
                               "'latchkey:in:*')") == LINE + 1,
                LONG_MS);
    for (size_t i = 0; i < LINE; i++) {
        was_kept = give_back(hold) && was_kept;
        assert_status(call_wait(&calls[i], NULL), LK_OK);
        hold = calls[i].hold;
        for (size_t k = i + 1; k < LINE; k++)
            assert_int_equal(calls[k].ends, 0);
        assert_int_equal(server_integer(next, "EXISTS line"), 1);
    }
    was_kept = give_back(hold) && was_kept;
    lk_fairlock_free(held);
    for (size_t i = 0; i < LINE; i++)
        lk_fairlock_free(wanted[i]);
    return was_kept;
}

static void those_who_wait_keep_their_order(NO_STATE)
{
    play(stand_in_line, start);
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
                                            .watchdog_ms = BELIEF_MS - 200,
                                            .offline_ms = LONG_MS};
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

/* data: when it was not named yet. */
static bool is_named(void *data)
{
    uint64_t now = wait_now_ms();

    for (size_t i = 0; i < SENTINELS; i++) {
        if (sentinels_named_by(group, i) != group->servers[0])
            return true;
    }
    *(uint64_t *)data = now;
    return false;
}

/* It has not seen the master before; the sentinels say how old this one is. */
static void a_client_that_comes_after_the_switch_waits_as_well(NO_STATE)
{
    uint64_t unnamed_at = wait_now_ms();
    server *next = sentinels_failover(group);
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold = NULL;

    assert_true(wait_until(is_named, &unnamed_at, LONG_MS));
    sentinels_wait_other(group, group->servers[0]);
    client = open_client(NULL);
    lock = made_lock(client, "n");
    assert_status(lk_client_wait_ready(client, LONG_MS), LK_OK);
    hold = made_hold(lock);
    assert_true(wait_now_ms() - unnamed_at >= BELIEF_MS);
    assert_int_equal(server_integer(next, "EXISTS n"), 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* However long it takes to begin, it is not down. */
static int start_patient(NO_STATE)
{
    static const sentinels_options options = {
        .config = "sentinel down-after-milliseconds m 60000\n"};

    group = sentinels_start_with(&options);
    return group != NULL ? 0 : -1;
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
    static const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                            .offline_ms = LONG_MS};
    lk_client *client = open_client(&brief);
    lk_lock *lock = made_lock(client, "n");
    lk_hold *hold = NULL, *other = NULL;
    uint64_t began, told_at;
    struct pollfd readable = {.events = POLLIN};

    hold = made_hold(lock);
    readable.fd = lk_hold_fd(hold);
    server_freeze(group->sentinels[1]);
    server_freeze(group->sentinels[2]);
    began = wait_now_ms();
    assert_int_equal(poll(&readable, 1, LONG_MS), 1);
    told_at = wait_now_ms(); /* when the machine had time for that */
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_true(told_at <= began + BELIEF_MS + lk_hold_lost_for_ms(hold));
    assert_unreachable(lk_hold_loss(hold));
    assert_status(lk_lock_acquire(lock, 0, NULL, &other), LK_EOFFLINE);
    server_thaw(group->sentinels[1]);
    assert_status(lk_hold_release(hold), LK_ELOST);
    other = made_hold(lock);
    assert_status(lk_hold_release(other), LK_OK);
}

#define GROUP_TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int test_sentinel_switch(void)
{
    const struct CMUnitTest tests[] = {
        GROUP_TEST(without_a_majority_a_hold_is_lost_in_time),
        cmocka_unit_test_setup_teardown(a_master_that_has_a_name_is_followed,
                                        start_named, stop),
        GROUP_TEST(those_who_wait_keep_their_order),
        cmocka_unit_test_setup_teardown(
            a_master_that_begins_anew_gives_nothing_for_a_while, start_patient,
            stop),
        GROUP_TEST(holds_and_waits_go_to_the_next_master),
        GROUP_TEST(a_client_that_comes_after_the_switch_waits_as_well),
        GROUP_TEST(a_lease_gets_no_longer_until_nobody_believes_the_old_master),
    };

    if (getenv("LK_TEST_TLS") != NULL)
        return SERVER_LACKS;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
