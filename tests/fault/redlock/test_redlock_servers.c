/* SPDX-License-Identifier: MIT */

/* The lock over several servers while some of them are dead, stopped, silent
   or new. */

#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/proxy.h"
#include "support/redlocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000, PATIENT_MS = 20000 };

/* What is left behind does not go by itself. */
static lk_redlock_options lasting(void)
{
    lk_redlock_options options = redlocking_options();

    options.lease_ms = 600000;
    options.node_timeout_ms = wait_lease_ms();
    return options;
}

/* Over clients that wait so long for an answer, and for a server for ever. */
static lk_redlock *make(locking *f, size_t count,
                        const lk_redlock_options *options, uint64_t answer_ms)
{
    const lk_client_options client = {LK_CLIENT_OPTIONS_INIT,
                                      .command_timeout_ms = answer_ms,
                                      .offline_ms = 600000};
    lk_client *clients[REDLOCKING_SERVERS];

    for (size_t i = 0; i < count; i++)
        clients[i] = redlocking_open(f, i, &client);
    return redlocking_make_of(f, clients, count, options);
}

static lk_redlock *make_lasting(locking *f, size_t count)
{
    lk_redlock_options options = lasting();

    return make(f, count, &options, 600000);
}

/* Whoever waits for a server does so for long. */
static lk_redlock *make_patient(locking *f, size_t count)
{
    lk_redlock_options options = lasting();

    options.node_timeout_ms = UINT64_C(3) * PATIENT_MS;
    return make(f, count, &options, PATIENT_MS);
}

/* The acquire has ended, and still nobody knows what these would say. */
static void assert_not_waited_for(lk_redlock *lock, size_t servers)
{
    for (size_t i = 0; i < servers; i++)
        assert_int_equal(redlocking_answer(lock, i), LK_REDLOCK_PENDING);
}

/* Fails, after node_timeout_ms and by nothing else. */
static void assert_waits_in_vain(lk_redlock *lock)
{
    lk_hold *hold = NULL;

    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EQUORUM);
    if (strstr(lk_last_error(), "node 0: no answer in time") == NULL &&
        strstr(lk_last_error(), "redis.sock cannot be reached") == NULL)
        fail_msg("%s", lk_last_error());
}

/* ---- dead and stopped servers ------------------------------------------------------ */

REDLOCKING_TEST(two_dead_servers_of_five_are_not_waited_for)
{
    lk_redlock *lock = make_patient(f, 5);
    lk_hold *hold;

    server_kill(redlocking_servers[0]);
    server_kill(redlocking_servers[1]);
    hold = locking_hold(lock);
    assert_not_waited_for(lock, 2);
    assert_int_equal(redlocking_planted(5), 3);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(5, 0);
}

REDLOCKING_TEST(two_stopped_servers_of_five_are_not_waited_for)
{
    lk_redlock *lock = make_patient(f, 5);
    lk_hold *hold;

    redlocking_freeze(0);
    redlocking_freeze(1);
    hold = locking_hold(lock);
    assert_not_waited_for(lock, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_thaw(0);
    redlocking_thaw(1);
    redlocking_wait_planted(5, 0);
}

/* Those who split the votes of the rest go on at once; at first, when their
   slowness is not known yet, after node_timeout_ms. */
REDLOCKING_TEST(stopped_servers_do_not_put_off_a_refusal)
{
    lk_redlock *lock = make_lasting(f, 5);
    lk_hold *hold = NULL;

    free(server_string(redlocking_servers[2], "SET n another's"));
    redlocking_freeze(0);
    redlocking_freeze(1);
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(redlocking_answer(lock, i), LK_REDLOCK_UNREACHABLE);
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    assert_not_waited_for(lock, 2);
}

REDLOCKING_TEST(with_three_dead_servers_it_fails_and_leaves_nothing)
{
    lk_redlock *lock = make_lasting(f, 5);

    for (size_t i = 0; i < 3; i++)
        server_kill(redlocking_servers[i]);
    assert_waits_in_vain(lock);
    assert_non_null(strstr(lk_last_error(), "2 of 5 servers granted it"));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(redlocking_answer(lock, i), LK_REDLOCK_UNREACHABLE);
    for (size_t i = 3; i < 5; i++)
        assert_int_equal(redlocking_answer(lock, i), LK_REDLOCK_GRANTED);
    redlocking_wait_planted(5, 0);
    for (size_t i = 0; i < 3; i++)
        assert_true(server_restart(redlocking_servers[i]));
    redlocking_wait_planted(5, 0);
}

/* The script's calls of SET, and of GET. */
static bool has_run_both(void *data)
{
    char *stats = server_string(data, "INFO commandstats");
    bool both = strstr(stats, "cmdstat_set:") != NULL &&
                strstr(stats, "cmdstat_get:") != NULL;

    free(stats);
    return both;
}

/* What is waiting for it when the server wakes up: the acquire, and behind it
   its delete. */
REDLOCKING_TEST(a_stopped_server_that_wakes_keeps_nothing)
{
    lk_redlock_options options = lasting();
    lk_redlock *lock = make_lasting(f, 5);
    uint64_t begin;

    for (size_t i = 0; i < 3; i++)
        redlocking_freeze(i);
    begin = wait_now_ms();
    assert_waits_in_vain(lock);
    assert_true(wait_now_ms() - begin >= options.node_timeout_ms);
    redlocking_wait_planted(5, 0);
    for (size_t i = 0; i < 3; i++)
        redlocking_thaw(i);
    for (size_t i = 0; i < 3; i++)
        assert_true(wait_until(has_run_both, redlocking_servers[i], SOON_MS));
    redlocking_wait_planted(5, 0);
}

/* One question and eight attempts: there is room for the last acquire, and none
   for its delete. */
REDLOCKING_TEST(a_delete_that_found_no_room_is_sent_later)
{
    const lk_client_options narrow = {LK_CLIENT_OPTIONS_INIT,
                                      .command_timeout_ms = 600000,
                                      .max_pending = 16};
    lk_redlock_options options = lasting();
    lk_client *clients[3];
    lk_lock *locks[2];
    call questions[2] = {{0}};
    lk_redlock *lock;
    lk_hold *hold;

    options.node_timeout_ms = 10;
    for (size_t i = 0; i < 3; i++)
        clients[i] = redlocking_open(f, i, i < 2 ? &narrow : NULL);
    lock = redlocking_make_of(f, clients, 3, &options);
    for (size_t i = 0; i < 2; i++) {
        redlocking_freeze(i);
        assert_status(lk_lock_new(&locks[i], clients[i], "m", NULL), LK_OK);
        assert_status(lk_lock_is_locked_async(locks[i], call_on_locked,
                                              &questions[i]),
                      LK_OK);
    }
    for (int i = 0; i < 8; i++)
        assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EQUORUM);
    for (size_t i = 0; i < 2; i++) {
        redlocking_thaw(i);
        assert_status(call_wait(&questions[i], NULL), LK_OK);
        lk_lock_free(locks[i]);
    }
    redlocking_wait_planted(3, 0);
}

static bool is_broken(void *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats.disconnects > 0;
}

/* It breaks its connection meanwhile: the delete comes over the next one. */
REDLOCKING_TEST(a_server_stopped_for_longer_keeps_nothing_either)
{
    const lk_client_options impatient = {LK_CLIENT_OPTIONS_INIT,
                                         .command_timeout_ms = 300,
                                         .connect_timeout_ms = 300,
                                         .offline_ms = 500};
    lk_redlock_options options = lasting();
    lk_client *clients[3];
    lk_redlock *lock;
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 3; i++)
        clients[i] = redlocking_open(f, i, i < 2 ? &impatient : NULL);
    lock = redlocking_make_of(f, clients, 3, &options);
    redlocking_freeze(0);
    redlocking_freeze(1);
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EQUORUM);
    assert_true(wait_until(is_broken, clients[0], SOON_MS));
    redlocking_thaw(0);
    redlocking_thaw(1);
    for (size_t i = 0; i < 2; i++)
        assert_status(lk_client_wait_ready(clients[i],
                                           (int64_t)wait_limit_ms(SOON_MS)),
                      LK_OK);
    redlocking_wait_planted(3, 0);
    assert_status(lk_redlock_acquire(lock, (int64_t)wait_limit_ms(SOON_MS),
                                     NULL, &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(3, 0);
}

REDLOCKING_TEST(a_wait_goes_on_until_enough_servers_are_back)
{
    lk_redlock_options options = lasting();
    lk_redlock *lock = make_lasting(f, 3);
    lk_hold *hold = NULL;

    server_kill(redlocking_servers[0]);
    server_kill(redlocking_servers[1]);
    assert_status(lk_redlock_acquire(lock, (int64_t)options.node_timeout_ms * 3,
                                     NULL, &hold),
                  LK_EQUORUM);
    assert_true(server_restart(redlocking_servers[0]));
    assert_status(lk_redlock_acquire(lock, (int64_t)wait_limit_ms(SOON_MS),
                                     NULL, &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(3, 0);
}

REDLOCKING_TEST(a_wait_for_servers_that_are_away_for_good_ends)
{
    const lk_client_options impatient = {LK_CLIENT_OPTIONS_INIT,
                                         .offline_ms = wait_scaled_ms(200)};
    lk_client *clients[3];
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 3; i++)
        clients[i] = redlocking_open(f, i, &impatient);
    server_kill(redlocking_servers[1]);
    server_kill(redlocking_servers[2]);
    assert_status(lk_redlock_acquire(redlocking_make_of(f, clients, 3, NULL),
                                     60000, NULL, &hold),
                  LK_EQUORUM);
    redlocking_wait_planted(3, 0);
}

/* ---- restarts ------------------------------------------------------------------------ */

REDLOCKING_TEST(a_server_started_lately_has_no_vote)
{
    lk_redlock_options options = redlocking_options();
    lk_redlock *lock;
    lk_hold *hold = NULL;

    options.durable = 0;
    options.longest_lease_ms = 3600000;
    lock = redlocking_make(f, 3, &options);
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EQUORUM);
    assert_non_null(strstr(lk_last_error(), "longest lease"));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(redlocking_answer(lock, i), LK_REDLOCK_QUARANTINED);
    assert_int_equal(redlocking_planted(3), 0);
}

static bool is_back(void *client)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    return stats.connects >= 2;
}

/* How long a restart takes here, until somebody is connected. */
static uint64_t restart_ms(locking *f)
{
    uint64_t begin = wait_now_ms();

    assert_true(server_restart(redlocking_servers[1]));
    (void)redlocking_open(f, 1, NULL);
    return wait_now_ms() - begin;
}

/* A young server is not asked at all. How old one is, a client knows to a second
   only: what is old enough to one is not yet to another. */
static bool finds_all_busy(void *data)
{
    lk_hold *none = NULL;
    size_t busy = 0;

    if (lk_redlock_acquire(data, 0, NULL, &none) != LK_EBUSY)
        return false;
    for (size_t i = 0; i < 3; i++)
        busy += redlocking_answer(data, i) == LK_REDLOCK_BUSY;
    return busy == 3;
}

/* Two of three are old enough after a while; one is started again, has forgotten
   the token, and abstains: nobody else gets a majority. */
REDLOCKING_TEST(a_restart_does_not_give_the_lock_to_a_second_holder)
{
    lk_redlock_options options = redlocking_options();
    lk_client *theirs[3];
    lk_redlock *lock, *other;
    lk_hold *hold = NULL, *second = NULL;

    options.durable = 0;
    options.lease_ms = wait_lease_over_ms(restart_ms(f));
    options.node_timeout_ms = options.lease_ms / 2;
    lock = redlocking_make(f, 3, &options);
    for (size_t i = 0; i < 3; i++)
        theirs[i] = redlocking_open(f, i, NULL);
    other = redlocking_make_of(f, theirs, 3, &options);
    free(server_string(redlocking_servers[2], "SET n another's PX 600000"));
    assert_status(lk_redlock_acquire(lock, LK_FOREVER, NULL, &hold), LK_OK);
    assert_true(wait_until(finds_all_busy, other, SOON_MS));
    free(server_string(redlocking_servers[2], "SET n another's PX 1"));
    assert_true(server_restart(redlocking_servers[1]));
    assert_true(wait_until(is_back, theirs[1], SOON_MS));
    assert_status(lk_redlock_acquire(other, 0, NULL, &second), LK_EBUSY);
    assert_int_equal(redlocking_answer(other, 0), LK_REDLOCK_BUSY);
    assert_int_equal(redlocking_answer(other, 1), LK_REDLOCK_QUARANTINED);
    redlocking_wait_lost(hold);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- addresses --------------------------------------------------------------------------- */

REDLOCKING_TEST(two_addresses_of_one_server_are_one_vote)
{
    proxy *p = proxy_start(server_socket(redlocking_servers[0]));
    lk_client *clients[3];
    lk_redlock *lock;
    lk_hold *hold = NULL;

    clients[0] = redlocking_open(f, 0, NULL);
    clients[1] = redlocking_open_url(f, proxy_url(p), NULL);
    clients[2] = redlocking_open(f, 1, NULL);
    lock = redlocking_make_of(f, clients, 3, NULL);
    hold = locking_hold(lock);
    assert_int_equal(redlocking_answer(lock, 1), LK_REDLOCK_DUPLICATE);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(2, 0);

    server_kill(redlocking_servers[1]);
    assert_status(lk_redlock_acquire(lock, 0, NULL, &hold), LK_EQUORUM);
    redlocking_wait_planted(1, 0);
    proxy_stop(p);
}

REDLOCKING_TEST(three_addresses_of_one_server_are_refused_at_once)
{
    lk_client *clients[3];
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 3; i++)
        clients[i] = redlocking_open(f, 0, NULL);
    assert_status(lk_redlock_acquire(redlocking_make_of(f, clients, 3, NULL),
                                     LK_FOREVER, NULL, &hold),
                  LK_EQUORUM);
    assert_non_null(strstr(lk_last_error(), "the same server as node 0"));
    redlocking_wait_planted(1, 0);
}

/* ---- refusals ------------------------------------------------------------------------------ */

REDLOCKING_TEST(what_most_servers_refuse_it_with_is_told)
{
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 2; i++)
        assert_int_equal(server_integer(redlocking_servers[i], "RPUSH n x"), 1);
    assert_status(lk_redlock_acquire(lock, LK_FOREVER, NULL, &hold), LK_ETYPE);
    redlocking_wait_planted(3, 2);
    assert_int_equal(redlocking_answer(lock, 0), LK_REDLOCK_ERROR);
}

CHECK_GROUP(redlocking_start_servers, redlocking_stop_servers)
