/* SPDX-License-Identifier: MIT */

/* The scripts of a redlock: a token under a plain key. */

#include <string.h>

#include "redlock_table.h"
#include "support/check.h"
#include "support/script.h"
#include "support/table.h"

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static const char *acquire(script_fixture *f, const char *token)
{
    const lk__redlock_acquire_args args = {.token = text_of(token),
                                           .lease = 30000};

    return table_run(f, &lk__redlock_acquire, lk__redlock_keys,
                     LK__REDLOCK_ACQUIRE_WHOLE, &args);
}

static const char *keep(script_fixture *f, const char *token, int64_t lease)
{
    const lk__redlock_keep_args args = {.token = text_of(token),
                                        .lease = lease};

    return table_run(f, &lk__redlock_keep, lk__redlock_keys,
                     LK__REDLOCK_KEEP_WHOLE, &args);
}

static const char *
release_asking(script_fixture *f, const char *token, int64_t asks)
{
    const lk__redlock_close_args args = {.token = text_of(token), .asks = asks};

    return table_run(f, &lk__redlock_close, lk__redlock_keys,
                     LK__REDLOCK_CLOSE_WHOLE, &args);
}

static const char *release(script_fixture *f, const char *token)
{
    return release_asking(f, token, 0);
}

/* ---- acquire ------------------------------------------------------------------- */

SCRIPT_TEST(a_free_name_gets_the_token_and_nothing_else)
{
    assert_string_equal(acquire(f, "t1"), "1");
    assert_string_equal(script_redis(f, "GET n"), "t1");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
    assert_string_equal(script_redis(f, "DBSIZE"), "1");
}

SCRIPT_TEST(a_name_with_anothers_token_is_left_alone)
{
    script_redis(f, "SET n other PX 5000");
    assert_like(acquire(f, "t1"), "2 *");
    assert_in_range(script_item(f, 1), 4000, 5000);
    assert_string_equal(script_redis(f, "GET n"), "other");
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
}

SCRIPT_TEST(another_without_an_end_says_so)
{
    script_redis(f, "SET n other");
    assert_string_equal(acquire(f, "t1"), "2 -1");
}

SCRIPT_TEST(an_acquire_said_twice_does_no_more_than_once)
{
    acquire(f, "t1");
    script_redis(f, "PEXPIRE n 7000");
    assert_string_equal(acquire(f, "t1"), "1");
    assert_in_range(script_pttl(f, "n"), 6000, 7000);
}

SCRIPT_TEST(an_acquire_does_not_touch_what_is_no_string)
{
    script_redis(f, "RPUSH n x");
    assert_like(acquire(f, "t1"), "!WRONGTYPE*");
    assert_string_equal(script_redis(f, "LLEN n"), "1");
}

SCRIPT_TEST(a_full_server_refuses_an_acquire)
{
    script_fill_memory(f, true);
    assert_like(acquire(f, "t1"), "!*OOM*");
    script_fill_memory(f, false);
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(a_denied_command_leaves_the_name_as_it_was)
{
    script_deny(f, "set");
    assert_like(acquire(f, "t1"), "!*");
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
    script_deny(f, NULL);
    script_redis(f, "SET n other");
    script_deny(f, "get");
    assert_like(acquire(f, "t1"), "!*");
    script_deny(f, NULL);
    assert_string_equal(script_redis(f, "GET n"), "other");
}

/* ---- renew ------------------------------------------------------------------------ */

SCRIPT_TEST(a_token_that_stands_gets_a_longer_lease)
{
    acquire(f, "t1");
    assert_string_equal(keep(f, "t1", 60000), "1");
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

SCRIPT_TEST(a_renewal_never_shortens)
{
    acquire(f, "t1");
    assert_string_equal(keep(f, "t1", 5000), "1");
    assert_in_range(script_pttl(f, "n"), 29000, 30000);
}

SCRIPT_TEST(a_renewal_gives_an_end_to_a_key_without_one)
{
    acquire(f, "t1");
    script_redis(f, "PERSIST n");
    assert_string_equal(keep(f, "t1", 5000), "1");
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
}

SCRIPT_TEST(a_renewal_never_makes_a_key)
{
    assert_string_equal(keep(f, "t1", 5000), "2 0");
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
}

SCRIPT_TEST(a_renewal_leaves_what_is_anothers)
{
    script_redis(f, "SET n other PX 5000");
    assert_string_equal(keep(f, "t1", 60000), "2 2");
    assert_in_range(script_pttl(f, "n"), 4000, 5000);
    script_redis(f, "DEL n");
    script_redis(f, "RPUSH n x");
    assert_string_equal(keep(f, "t1", 60000), "2 2");
    assert_string_equal(script_redis(f, "PTTL n"), "-1");
}

SCRIPT_TEST(a_full_server_renews)
{
    acquire(f, "t1");
    script_fill_memory(f, true);
    assert_string_equal(keep(f, "t1", 60000), "1");
    script_fill_memory(f, false);
    assert_in_range(script_pttl(f, "n"), 59000, 60000);
}

SCRIPT_TEST(a_denied_renewal_is_an_error_and_no_loss)
{
    acquire(f, "t1");
    script_deny(f, "get");
    assert_like(keep(f, "t1", 60000), "!*");
    script_deny(f, NULL);
}

/* ---- release ----------------------------------------------------------------------- */

SCRIPT_TEST(a_release_takes_the_token_away)
{
    acquire(f, "t1");
    assert_string_equal(release(f, "t1"), "1 1 0");
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(release(f, "t1"), "1 0 0");
}

SCRIPT_TEST(a_release_leaves_what_is_anothers)
{
    acquire(f, "t2");
    assert_string_equal(release(f, "t1"), "1 0 0");
    assert_string_equal(script_redis(f, "GET n"), "t2");
    script_redis(f, "DEL n");
    script_redis(f, "RPUSH n x");
    assert_string_equal(release(f, "t1"), "1 0 0");
    assert_string_equal(script_redis(f, "LLEN n"), "1");
}

SCRIPT_TEST(a_full_server_releases)
{
    acquire(f, "t1");
    script_fill_memory(f, true);
    assert_string_equal(release(f, "t1"), "1 1 0");
    script_fill_memory(f, false);
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
}

static bool has_delifeq(script_fixture *f)
{
    return script_redis(f, "COMMAND GETKEYS delifeq n t1")[0] != '!';
}

/* Valkey's, from 9.0. */
SCRIPT_TEST(a_release_tells_whether_the_server_has_delifeq)
{
    bool has = has_delifeq(f);

    acquire(f, "t1");
    assert_string_equal(release_asking(f, "t1", 1), has ? "1 1 1" : "1 1 0");
    assert_string_equal(release_asking(f, "t1", 1), has ? "1 0 1" : "1 0 0");
    assert_string_equal(release(f, "t1"), "1 0 0");
}

SCRIPT_TEST(asking_for_a_right_that_is_denied_is_no_denial)
{
    if (!has_delifeq(f))
        skip();
    script_redis(f, "ACL LOG RESET");
    script_deny(f, "delifeq");
    acquire(f, "t1");
    assert_string_equal(release_asking(f, "t1", 1), "1 1 0");
    script_deny(f, NULL);
    assert_string_equal(script_redis(f, "ACL LOG"), "");
}

/* What stands in the place of the script does the same. */
SCRIPT_TEST(delifeq_does_what_the_release_does)
{
    if (!has_delifeq(f))
        skip();
    assert_string_equal(script_redis(f, "DELIFEQ n t1"), "0");
    acquire(f, "t2");
    assert_string_equal(script_redis(f, "DELIFEQ n t1"), "0");
    assert_string_equal(script_redis(f, "GET n"), "t2");
    script_fill_memory(f, true);
    assert_string_equal(script_redis(f, "DELIFEQ n t2"), "1");
    script_fill_memory(f, false);
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
    script_redis(f, "RPUSH n x");
    assert_like(script_redis(f, "DELIFEQ n t1"), "!WRONGTYPE*");
    assert_string_equal(script_redis(f, "LLEN n"), "1");
}

CHECK_GROUP(script_start_server, script_stop_server)
