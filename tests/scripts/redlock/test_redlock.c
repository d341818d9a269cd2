/* SPDX-License-Identifier: MIT */

/* redlock_acquire, redlock_renew, redlock_release: a token under a plain key. */

#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_redlock_acquire;
extern const lk__script lk__script_redlock_renew;
extern const lk__script lk__script_redlock_release;

static const script_layout plain = {.count = 1, .keys = {""}, .channel = ":c"};

static int setup(void **state)
{
    int result = script_setup(state);

    if (result == 0)
        script_set_layout(*state, &plain);
    return result;
}

static const char *acquire(script_fixture *f, const char *token)
{
    const char *const args[] = {token, "30000", NULL};

    return script_run(f, &lk__script_redlock_acquire, args);
}

static const char *
renew(script_fixture *f, const char *token, const char *lease)
{
    const char *const args[] = {token, lease, NULL};

    return script_run(f, &lk__script_redlock_renew, args);
}

static const char *release(script_fixture *f, const char *token)
{
    const char *const args[] = {token, NULL};

    return script_run(f, &lk__script_redlock_release, args);
}

static long long ttl(script_fixture *f)
{
    return strtoll(script_redis(f, "PTTL n"), NULL, 10);
}

/* ---- acquire ------------------------------------------------------------------- */

static void a_free_name_gets_the_token_and_nothing_else(void **state)
{
    script_fixture *f = *state;

    assert_string_equal(acquire(f, "t1"), "1");
    assert_string_equal(script_redis(f, "GET n"), "t1");
    assert_in_range(ttl(f), 29000, 30000);
    assert_string_equal(script_redis(f, "DBSIZE"), "1");
}

static void a_name_with_anothers_token_is_left_alone(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET n other PX 5000");
    assert_like(acquire(f, "t1"), "0 *");
    assert_in_range(script_item(f, 1), 4000, 5000);
    assert_string_equal(script_redis(f, "GET n"), "other");
    assert_in_range(ttl(f), 4000, 5000);
}

static void another_without_an_end_says_so(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET n other");
    assert_string_equal(acquire(f, "t1"), "0 -1");
}

static void an_acquire_said_twice_does_no_more_than_once(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    script_redis(f, "PEXPIRE n 7000");
    assert_string_equal(acquire(f, "t1"), "1");
    assert_in_range(ttl(f), 6000, 7000);
}

static void an_acquire_does_not_touch_what_is_no_string(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "RPUSH n x");
    assert_like(acquire(f, "t1"), "!WRONGTYPE*");
    assert_string_equal(script_redis(f, "LLEN n"), "1");
}

static void a_full_server_refuses_an_acquire(void **state)
{
    script_fixture *f = *state;

    script_fill_memory(f, true);
    assert_like(acquire(f, "t1"), "!*OOM*");
    script_fill_memory(f, false);
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
}

static void a_denied_command_leaves_the_name_as_it_was(void **state)
{
    script_fixture *f = *state;

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

static void a_token_that_stands_gets_a_longer_lease(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    assert_string_equal(renew(f, "t1", "60000"), "1");
    assert_in_range(ttl(f), 59000, 60000);
}

static void a_renewal_never_shortens(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    assert_string_equal(renew(f, "t1", "5000"), "1");
    assert_in_range(ttl(f), 29000, 30000);
}

static void a_renewal_gives_an_end_to_a_key_without_one(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    script_redis(f, "PERSIST n");
    assert_string_equal(renew(f, "t1", "5000"), "1");
    assert_in_range(ttl(f), 4000, 5000);
}

static void a_renewal_never_makes_a_key(void **state)
{
    script_fixture *f = *state;

    assert_string_equal(renew(f, "t1", "5000"), "0 0");
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
}

static void a_renewal_leaves_what_is_anothers(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET n other PX 5000");
    assert_string_equal(renew(f, "t1", "60000"), "0 2");
    assert_in_range(ttl(f), 4000, 5000);
    script_redis(f, "DEL n");
    script_redis(f, "RPUSH n x");
    assert_string_equal(renew(f, "t1", "60000"), "0 2");
    assert_string_equal(script_redis(f, "PTTL n"), "-1");
}

static void a_full_server_renews(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    script_fill_memory(f, true);
    assert_string_equal(renew(f, "t1", "60000"), "1");
    script_fill_memory(f, false);
    assert_in_range(ttl(f), 59000, 60000);
}

static void a_denied_renewal_is_an_error_and_no_loss(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    script_deny(f, "get");
    assert_like(renew(f, "t1", "60000"), "!*");
    script_deny(f, NULL);
}

/* ---- release ----------------------------------------------------------------------- */

static void a_release_takes_the_token_away(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    assert_string_equal(release(f, "t1"), "1");
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
    assert_string_equal(release(f, "t1"), "0 0");
}

static void a_release_leaves_what_is_anothers(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t2");
    assert_string_equal(release(f, "t1"), "0 2");
    assert_string_equal(script_redis(f, "GET n"), "t2");
    script_redis(f, "DEL n");
    script_redis(f, "RPUSH n x");
    assert_string_equal(release(f, "t1"), "0 2");
    assert_string_equal(script_redis(f, "LLEN n"), "1");
}

static void a_full_server_releases(void **state)
{
    script_fixture *f = *state;

    acquire(f, "t1");
    script_fill_memory(f, true);
    assert_string_equal(release(f, "t1"), "1");
    script_fill_memory(f, false);
    assert_string_equal(script_redis(f, "EXISTS n"), "0");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, script_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_free_name_gets_the_token_and_nothing_else),
        TEST(a_name_with_anothers_token_is_left_alone),
        TEST(another_without_an_end_says_so),
        TEST(an_acquire_said_twice_does_no_more_than_once),
        TEST(an_acquire_does_not_touch_what_is_no_string),
        TEST(a_full_server_refuses_an_acquire),
        TEST(a_denied_command_leaves_the_name_as_it_was),
        TEST(a_token_that_stands_gets_a_longer_lease),
        TEST(a_renewal_never_shortens),
        TEST(a_renewal_gives_an_end_to_a_key_without_one),
        TEST(a_renewal_never_makes_a_key),
        TEST(a_renewal_leaves_what_is_anothers),
        TEST(a_full_server_renews),
        TEST(a_denied_renewal_is_an_error_and_no_loss),
        TEST(a_release_takes_the_token_away),
        TEST(a_release_leaves_what_is_anothers),
        TEST(a_full_server_releases),
    };

    return cmocka_run_group_tests(tests, script_start_server,
                                  script_stop_server);
}
