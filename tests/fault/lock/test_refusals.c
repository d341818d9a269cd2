/* SPDX-License-Identifier: MIT */

/*
 * A server that refuses for a while: another's script runs for long, it cannot
 * save, too few replicas are there. That is ridden out within each call's time.
 */

#include <latchkey/latch.h>

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

static void set(locking *f, const char *option, const char *value)
{
    free(server_string(f->server, "CONFIG SET %s %s", option, value));
}

/* How often the server has refused with this word. */
static long long refusals(locking *f, const char *word)
{
    char *info = server_string(f->server, "INFO errorstats");
    char key[64];
    const char *at;
    long long count;

    snprintf(key, sizeof(key), "errorstat_%s:count=", word);
    at = strstr(info, key);
    count = at == NULL ? 0 : strtoll(at + strlen(key), NULL, 10);
    free(info);
    return count;
}

/* Waits until the server has refused two more times: one that was told goes on
   asking. */
static void wait_refused(locking *f, const char *word)
{
    long long least = refusals(f, word) + 2;

    assert_soon(refusals(f, word) >= least, 5000);
}

static int reset(void **state)
{
    locking *f = *state;

    set(f, "min-replicas-to-write", "0");
    set(f, "stop-writes-on-bgsave-error", "no");
    return locking_teardown(state);
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, reset)

/* ---- too few replicas ---- */

TEST(an_acquire_waits_for_replicas)
{
    lk_lock *lock = locking_calm(f, lk_lock);
    taker *t;

    set(f, "min-replicas-to-write", "1");
    t = locking_take(f, lock, 60000, NULL);
    wait_refused(f, "NOREPLICAS");
    assert_false(t->done);
    set(f, "min-replicas-to-write", "0");
    assert_status(taker_release(t), LK_OK);
}

TEST(an_acquire_that_is_refused_to_its_end_says_why)
{
    const int64_t limit_ms = (int64_t)wait_limit_ms(300);
    lk_lock *lock = locking_calm(f, lk_lock);
    taker *t;

    set(f, "min-replicas-to-write", "1");
    t = locking_take(f, lock, limit_ms, NULL);
    assert_status(taker_join(t), LK_ESERVER);
    assert_true((int64_t)t->took_ms >= limit_ms);
    assert_non_null(strstr(t->words, "NOREPLICAS"));
    t = locking_take(f, lock, 0, NULL);
    assert_status(taker_join(t), LK_ESERVER);
    assert_non_null(strstr(t->words, "NOREPLICAS"));
}

TEST(one_that_is_queued_keeps_its_place)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *hold = locking_hold(locking_calm(f, lk_lock));
    taker *t = locking_take(f, locking_lock(f, client, "n"), 60000, NULL);

    locking_wait_queued(f, "n", 1);
    set(f, "min-replicas-to-write", "1");
    wait_refused(f, "NOREPLICAS");
    locking_wait_queued(f, "n", 1);
    assert_false(t->done);
    set(f, "min-replicas-to-write", "0");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

TEST(a_hold_is_renewed_and_released_when_that_is_over)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT};
    lk_client *client;
    lk_hold *hold;

    options.watchdog_ms = wait_lease_ms();
    client = locking_open_calm(f, &options);
    hold = locking_hold(locking_lock(f, client, "n"));
    set(f, "min-replicas-to-write", "1");
    wait_refused(f, "NOREPLICAS");
    set(f, "min-replicas-to-write", "0");
    locking_pass_time(wait_lease_ms());
    assert_status(lk_hold_check(hold), LK_OK);

    set(f, "min-replicas-to-write", "1");
    lk_hold_release(hold);
    set(f, "min-replicas-to-write", "0");
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

static void note_status(lk_status status, void *data)
{
    atomic_store((atomic_int *)data, (int)status);
}

TEST(a_count_is_counted_when_that_is_over)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_latch *latch = locking_named(f, lk_latch, client, "g");
    atomic_int status = 1;

    assert_status(lk_latch_try_set_count(latch, 1), LK_OK);
    set(f, "min-replicas-to-write", "1");
    assert_status(lk_latch_count_down_async(latch, 1, note_status, &status),
                  LK_OK);
    wait_refused(f, "NOREPLICAS");
    set(f, "min-replicas-to-write", "0");
    assert_soon(atomic_load(&status) == LK_OK, 5000);
}

/* ---- it cannot save ---- */

static bool has_failed_to_save(void *data)
{
    char *info = server_string(data, "INFO persistence");
    bool has = strstr(info, "rdb_last_bgsave_status:err") != NULL;

    free(info);
    return has;
}

TEST(an_acquire_waits_until_the_server_can_save)
{
    lk_lock *lock = locking_calm(f, lk_lock);
    char path[200], *socket = strdup(server_socket(f->server));
    taker *t;

    /* A file cannot take the place of a directory. */
    snprintf(path, sizeof(path), "%s/dump.rdb", dirname(socket));
    free(socket);
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
    set(f, "save", "3600 1");
    free(server_string(f->server, "BGSAVE"));
    assert_true(wait_until(has_failed_to_save, f->server, 5000));
    set(f, "stop-writes-on-bgsave-error", "yes");

    t = locking_take(f, lock, 60000, NULL);
    wait_refused(f, "MISCONF");
    assert_false(t->done);
    set(f, "stop-writes-on-bgsave-error", "no");
    assert_status(taker_release(t), LK_OK);
    set(f, "save", "");
    rmdir(path);
}

/* ---- a script of others runs ---- */

static bool is_busy(void *data)
{
    redisReply *reply = server_command(data, "PING");
    bool busy =
        reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY", 4) == 0;

    freeReplyObject(reply);
    return busy;
}

TEST(an_acquire_waits_for_the_end_of_anothers_script)
{
    lk_lock *lock = locking_calm(f, lk_lock);
    redisContext *other = redisConnectUnix(server_socket(f->server));
    taker *t;

    set(f, "lua-time-limit", "20");
    redisAppendCommand(other, "EVAL %s 0",
                       "local function ms() local t = redis.call('TIME') "
                       "return t[1] * 1000 + t[2] / 1000 end "
                       "local from = ms() "
                       "while ms() - from < 1000 do end return 1");
    for (int done = 0; !done;)
        assert_int_equal(redisBufferWrite(other, &done), REDIS_OK);
    assert_true(wait_until(is_busy, f->server, 5000));
    t = locking_take(f, lock, 60000, NULL);
    assert_status(taker_release(t), LK_OK);
    redisFree(other);
    set(f, "lua-time-limit", "5000");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
