/* SPDX-License-Identifier: MIT */

/*
 * Holds over a server that is restarted: whoever has one is told of its loss as
 * soon as there is an answer, also with a lease that nobody renews, and though
 * the client has no inbox; and is told nothing if the data is still there.
 */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/server.h"
#include "support/wait.h"

/* Longer than the test: no renewal falls due, and no lease ends. */
enum { LEASE_MS = 600000, SOON_MS = 20000 };

typedef struct fixture {
    server *server;
    lk_client *client;
    lk_hold *hold;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = LEASE_MS};

    *state = f;
    f->server = server_start(NULL);
    if (f->server == NULL)
        return -1;
    return lk_client_open(&f->client, server_url(f->server), &options) == LK_OK
               ? 0
               : -1;
}

static int teardown(void **state)
{
    fixture *f = *state;

    if (f->hold != NULL)
        (void)lk_hold_release(f->hold);
    lk_client_free(f->client);
    server_stop(f->server);
    free(f);
    return 0;
}

#define TEST(name) CHECK_TEST_OF(name, fixture *f, setup, teardown)

static uint64_t connections(fixture *f)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(f->client, &stats), LK_OK);
    return stats.connects;
}

static bool is_lost(void *data)
{
    return lk_hold_check(((fixture *)data)->hold) == LK_ELOST;
}

static void assert_told(fixture *f)
{
    assert_int_equal(connections(f), 1);
    assert_true(server_restart(f->server));
    assert_true(wait_until(is_lost, f, SOON_MS));
    assert_int_equal(lk_hold_loss(f->hold), LK_LOSS_DELETED);
}

/* ---- who has no inbox -------------------------------------------------------- */

static lk_hold *spinning_hold(fixture *f, uint64_t lease_ms)
{
    const lk_lock_options options = {LK_LOCK_OPTIONS_INIT, .strategy = LK_SPIN,
                                     .lease_ms = lease_ms};
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, f->client, "n", &options), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &f->hold), LK_OK);
    lk_lock_free(lock);
    return f->hold;
}

TEST(a_lock_with_a_watchdog)
{
    spinning_hold(f, 0);
    assert_told(f);
}

TEST(a_lock_with_a_lease)
{
    spinning_hold(f, LEASE_MS);
    assert_told(f);
}

TEST(a_write_lock_with_a_lease)
{
    const lk_rwlock_options options = {LK_RWLOCK_OPTIONS_INIT,
                                       .strategy = LK_SPIN,
                                       .lease_ms = LEASE_MS};
    lk_rwlock *lock = NULL;

    assert_status(lk_rwlock_new(&lock, f->client, "n", &options), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, 0, NULL, &f->hold), LK_OK);
    lk_rwlock_free(lock);
    assert_told(f);
}

TEST(a_siglock_with_a_lease)
{
    const lk_siglock_options options = {LK_SIGLOCK_OPTIONS_INIT,
                                        .lease_ms = LEASE_MS};
    lk_siglock *lock = NULL;

    assert_status(lk_siglock_new(&lock, f->client, "n", &options), LK_OK);
    assert_status(lk_siglock_acquire(lock, 0, NULL, &f->hold), LK_OK);
    lk_siglock_free(lock);
    assert_told(f);
}

/* ---- the data is there ---------------------------------------------------------- */

/* Of a server that has just been started. */
static bool has_looked(fixture *f)
{
    char *counts = server_string(f->server, "INFO %s", "commandstats");
    bool has = strstr(counts, "cmdstat_eval") != NULL;

    free(counts);
    return has;
}

TEST(a_hold_that_is_still_there_is_kept)
{
    spinning_hold(f, LEASE_MS);
    freeReplyObject(server_command(f->server, "SAVE"));
    assert_true(server_restart(f->server));
    assert_int_equal(server_integer(f->server, "EXISTS n"), 1);
    assert_soon(has_looked(f), SOON_MS);
    assert_status(lk_hold_check(f->hold), LK_OK);
    assert_status(lk_hold_release(f->hold), LK_OK);
    f->hold = NULL;
}

/* ---- the same process with other data --------------------------------------------- */

static bool has_followed(server *s)
{
    char *info = server_string(s, "INFO replication");
    bool follows = strstr(info, "master_link_status:up") != NULL;

    free(info);
    return follows && server_integer(s, "EXISTS n") == 0;
}

/* It was another's replica for a while, of which the client has seen nothing. */
TEST(a_hold_that_a_replication_has_removed)
{
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0",
                                          NULL};
    server *other = server_start_tcp(at_once);

    assert_non_null(other);
    spinning_hold(f, LEASE_MS);
    freeReplyObject(server_command(f->server, "REPLICAOF 127.0.0.1 %d",
                                   (int)server_port(other)));
    assert_soon(has_followed(f->server), SOON_MS);
    freeReplyObject(server_command(f->server, "REPLICAOF NO ONE"));
    assert_int_equal(connections(f), 1);
    freeReplyObject(server_command(f->server, "CLIENT KILL TYPE normal"));
    assert_true(wait_until(is_lost, f, SOON_MS));
    assert_int_equal(lk_hold_loss(f->hold), LK_LOSS_DELETED);
    server_stop(other);
}
