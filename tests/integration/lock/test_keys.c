/* SPDX-License-Identifier: MIT */

/* What stands in Redis: which keys, for how long, and whose are not touched. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

static long long key_count(locking *f)
{
    return server_integer(f->server, "DBSIZE");
}

static void assert_refused(locking *f, const char *name, lk_status expected)
{
    lk_lock *lock = locking_lock(f, locking_open(f, NULL), name);
    lk_hold *none = NULL;
    lk_info *info = NULL;

    assert_status(lk_lock_acquire(lock, 0, NULL, &none), expected);
    assert_status(lk_lock_acquire(lock, (int64_t)wait_limit_ms(1000), NULL,
                                  &none),
                  expected);
    assert_true(strlen(lk_last_error()) > 0);
    assert_status(lk_lock_force_release(lock), expected);
    assert_status(lk_lock_info(lock, &info), expected);
    assert_null(none);
    assert_null(info);
}

/* ---- what is left ---- */

LOCKS_TEST(a_hold_is_redissons_hash)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    redisReply *reply = server_command(f->server, "HGETALL n");

    assert_int_equal(reply->elements, 2);
    assert_int_equal(strncmp(reply->element[0]->str, lk_client_id(client), 32),
                     0);
    assert_int_equal(reply->element[0]->str[32], ':');
    assert_string_equal(reply->element[1]->str, "1");
    freeReplyObject(reply);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* It keeps the fence, for an hour. */
LOCKS_TEST(only_the_record_is_left_of_an_uncontended_lock)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    const long long hour = 3600000;

    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    locking_wait_integer(f, 1, "DBSIZE", NULL);
    assert_in_range(locking_pttl(f, "latchkey:{n}:r"), hour / 2, hour + 30000);
}

LOCKS_TEST(of_a_contended_lock_no_more_is_left)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    taker *t = locking_take(f, locking_new(f, lk_lock), LK_FOREVER, NULL);

    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    for (size_t i = 0; i < 2; i++)
        assert_status(lk_client_shutdown(f->clients[i], 60000), LK_OK);
    locking_wait_integer(f, 1, "DBSIZE", NULL);
    assert_true(locking_pttl(f, "latchkey:{n}:r") > 0);
}

LOCKS_TEST(every_key_ends_by_itself)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    taker *t = locking_take(f, locking_new(f, lk_lock), LK_FOREVER, NULL);
    redisReply *keys;

    locking_wait_queued(f, "n", 1);
    keys = server_command(f->server, "KEYS *");
    assert_true(keys->elements >= 4);
    for (size_t i = 0; i < keys->elements; i++)
        assert_true(locking_pttl(f, keys->element[i]->str) > 0);
    freeReplyObject(keys);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(a_try_that_fails_writes_nothing)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    lk_lock *tried = locking_new(f, lk_lock);
    lk_hold *none = NULL;

    locking_wait_integer(f, 4, "DBSIZE", NULL); /* with two records */
    assert_status(lk_lock_acquire(tried, 0, NULL, &none), LK_EBUSY);
    assert_int_equal(key_count(f), 4);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- names ---- */

LOCKS_TEST(a_tag_in_the_name_is_that_of_all_its_keys)
{
    lk_lock *lock = locking_lock(f, locking_open(f, NULL), "orders:{eu}:1");
    lk_hold *hold = locking_hold(lock);
    taker *t =
        locking_take(f, locking_lock(f, locking_open(f, NULL), "orders:{eu}:1"),
                     LK_FOREVER, NULL);

    assert_true(locking_exists(f, "orders:{eu}:1"));
    assert_true(locking_exists(f, "latchkey::orders:{eu}:1:r"));
    locking_wait_integer(f, 1, "ZCOUNT latchkey::%s:q 0 +inf", "orders:{eu}:1");
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

/* The one written with braces and the one without are two locks. */
LOCKS_TEST(a_name_in_braces_is_another_name)
{
    lk_hold *plain = locking_hold(locking_new(f, lk_lock));
    lk_hold *braced =
        locking_hold(locking_lock(f, locking_open(f, NULL), "{n}"));

    assert_true(locking_exists(f, "n"));
    assert_true(locking_exists(f, "{n}"));
    assert_status(lk_hold_check(plain), LK_OK);
    assert_status(lk_hold_check(braced), LK_OK);
    assert_status(lk_hold_release(plain), LK_OK);
    assert_true(locking_exists(f, "{n}"));
    assert_status(lk_hold_check(braced), LK_OK);
    assert_status(lk_hold_release(braced), LK_OK);
    assert_false(locking_exists(f, "{n}"));
}

LOCKS_TEST(a_name_may_hold_any_bytes)
{
    const char *const name = "a b\tc\r\n\"'%s\x80\xff]]--";
    lk_hold *hold = locking_hold(locking_lock(f, locking_open(f, NULL), name));
    taker *t = locking_take(f, locking_lock(f, locking_open(f, NULL), name),
                            LK_FOREVER, NULL);

    locking_wait_queued(f, name, 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    assert_false(locking_exists(f, name));
}

LOCKS_TEST(a_name_may_have_512_bytes)
{
    lk_client *client = locking_open(f, NULL);
    char name[514];
    lk_lock *lock = NULL;

    memset(name, 'n', sizeof(name));
    name[513] = '\0';
    assert_status(lk_lock_new(&lock, client, name, NULL), LK_EINVAL);
    name[512] = '\0';
    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, name))),
                  LK_OK);
}

/* ---- what is not ours ---- */

LOCKS_TEST(a_string_is_not_a_lock)
{
    char *value;

    free(server_string(f->server, "SET n precious"));
    assert_refused(f, "n", LK_ETYPE);
    value = server_string(f->server, "GET n");
    assert_string_equal(value, "precious");
    free(value);
    locking_wait_integer(f, 2, "DBSIZE", NULL); /* and the record */
}

LOCKS_TEST(a_read_write_lock_is_not_a_lock)
{
    assert_int_equal(server_integer(f->server, "HSET n mode read somebody:1 1"),
                     2);
    assert_refused(f, "n", LK_ETYPE);
    assert_int_equal(server_integer(f->server, "HLEN n"), 2);
    locking_wait_integer(f, 2, "DBSIZE", NULL);
}

LOCKS_TEST(a_state_that_is_not_ours_is_left_alone)
{
    free(server_string(f->server, "SET latchkey:{n}:r precious"));
    assert_refused(f, "n", LK_EMISMATCH);
    assert_false(locking_exists(f, "n"));
    locking_wait_integer(f, 2, "DBSIZE", NULL);
}

LOCKS_TEST(another_layout_is_a_mismatch)
{
    free(server_string(f->server, "SET latchkey:{n}:r %s",
                       "3l 7 0 0 - - - 0 - - - 0 0 - - "));
    assert_refused(f, "n", LK_EMISMATCH);
    assert_false(locking_exists(f, "n"));
    assert_true(locking_exists(f, "latchkey:{n}:r"));
}

/* What becomes wrong under a waiter ends its wait. */
LOCKS_TEST(a_waiter_is_refused_when_the_key_becomes_something_else)
{
    lk_hold *hold = locking_hold_for(locking_new(f, lk_lock), 60000);
    taker *t = locking_take(f, locking_new(f, lk_lock), LK_FOREVER, NULL);

    locking_wait_queued(f, "n", 1);
    free(server_string(f->server, "SET n precious"));
    assert_status(taker_join(t), LK_ETYPE);
    assert_non_null(strstr(t->words, "not a lock"));
    assert_true(locking_exists(f, "n"));
    (void)lk_hold_release(hold);
}

LOCKS_TEST(a_hold_whose_key_was_replaced_is_lost_at_its_release)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    uint64_t begin = wait_now_ms();
    char *value;

    free(server_string(f->server, "SET n precious"));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(500)));
    value = server_string(f->server, "GET n");
    assert_string_equal(value, "precious");
    free(value);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
