/* SPDX-License-Identifier: MIT */

/* The siglock's scripts, key by key. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_siglock_acquire;
extern const lk__script lk__script_siglock_confirm;
extern const lk__script lk__script_siglock_force;
extern const lk__script lk__script_siglock_info;
extern const lk__script lk__script_siglock_leave;
extern const lk__script lk__script_siglock_release;
extern const lk__script lk__script_siglock_renew;
extern const lk__script lk__script_siglock_revoke;

static const script_layout layout = {
    .count = 3,
    .keys = {"lock:*", "lock-signal:*", "latchkey:void"},
    .channel = "",
};

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

static int setup(void **state)
{
    int result = script_setup(state);

    if (result == 0)
        script_set_layout(*state, &layout);
    return result;
}

#define SIG_SCRIPT_TEST(f)                                                     \
    cmocka_unit_test_setup_teardown(f, setup, script_teardown)

static const char *acquire(script_fixture *f, const char *claim)
{
    return script_call(f, &lk__script_siglock_acquire, claim, "30000", "0",
                       "in", "why", "1", (char *)NULL);
}

static const char *release(script_fixture *f, const char *claim)
{
    return script_call(f, &lk__script_siglock_release, claim, "0",
                       (char *)NULL);
}

static const char *
leave(script_fixture *f, const char *claim, const char *tombstone_ms)
{
    return script_call(f, &lk__script_siglock_leave, claim, tombstone_ms,
                       (char *)NULL);
}

static const char *
confirm(script_fixture *f, const char *claim, const char *lease)
{
    return script_call(f, &lk__script_siglock_confirm, claim, "0", lease, "0",
                       (char *)NULL);
}

static const char *revoke(script_fixture *f, const char *owner)
{
    return script_call(f, &lk__script_siglock_revoke, owner, (char *)NULL);
}

static const char *force(script_fixture *f, const char *owner)
{
    return script_call(f, &lk__script_siglock_force, owner, (char *)NULL);
}

static const char *info(script_fixture *f)
{
    return script_call(f, &lk__script_siglock_info, "", (char *)NULL);
}

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* One signal lies there, for a second. */
static void assert_told(script_fixture *f)
{
    assert_like(script_redis(f, "LRANGE lock-signal:n 0 -1"), "1");
    assert_in_range(number(script_redis(f, "PTTL lock-signal:n")), 1, 1000);
}

static void assert_not_told(script_fixture *f)
{
    assert_like(script_redis(f, "EXISTS lock-signal:n"), "0");
}

/* ---- acquire ---- */

static void a_free_lock_is_taken_with_a_lease(void **state)
{
    script_fixture *f = *state;

    assert_like(acquire(f, "u:1"), "1 0 30000 0");
    assert_like(script_redis(f, "GET lock:n"), "u:1");
    assert_in_range(number(script_redis(f, "PTTL lock:n")), 29000, 30000);
    assert_like(script_redis(f, "DBSIZE"), "1");
}

static void acquiring_again_changes_nothing(void **state)
{
    script_fixture *f = *state;

    acquire(f, "u:1");
    script_redis(f, "PEXPIRE lock:n 5000");
    acquire(f, "u:1");
    assert_int_equal(script_item(f, 0), 1);
    assert_in_range(script_item(f, 2), 4000, 5000);
    assert_in_range(number(script_redis(f, "PTTL lock:n")), 4000, 5000);
}

static void a_lock_that_is_held_tells_how_long(void **state)
{
    script_fixture *f = *state;

    acquire(f, "u:1");
    acquire(f, "u:2");
    assert_int_equal(script_item(f, 0), 2);
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_like(script_redis(f, "GET lock:n"), "u:1");
    script_redis(f, "SET lock:n theirs");
    assert_like(acquire(f, "u:2"), "2 -1");
}

static void keys_that_hold_something_else_are_told(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "HSET lock:n a b");
    assert_like(acquire(f, "u:1"), "!WRONGTYPE*");
    script_redis(f, "DEL lock:n");
    script_redis(f, "SET lock-signal:n a");
    assert_like(acquire(f, "u:1"), "!WRONGTYPE*");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    script_redis(f, "SET lock:n theirs");
    assert_like(acquire(f, "u:1"), "!WRONGTYPE*");
}

static void a_full_server_refuses_to_lock_and_nothing_else(void **state)
{
    script_fixture *f = *state;

    acquire(f, "u:1");
    script_fill_memory(f, true);
    assert_like(release(f, "u:1"), "1 0 0");
    assert_like(acquire(f, "u:2"), "!OOM*");
    script_fill_memory(f, false);
    assert_told(f);
    acquire(f, "u:2");
    script_fill_memory(f, true);
    assert_like(confirm(f, "u:2", "60000"), "1 60000 1 0");
    assert_like(leave(f, "u:2", "0"), "2 0 0");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
}

/* ---- release and force ---- */

static void a_release_leaves_one_signal_for_a_second(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "RPUSH lock-signal:n 1 1 1");
    acquire(f, "u:1");
    assert_like(release(f, "u:1"), "1 0 0");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    assert_told(f);
}

static void who_does_not_hold_releases_nothing(void **state)
{
    script_fixture *f = *state;

    assert_like(release(f, "u:1"), "0 0");
    acquire(f, "u:2");
    assert_like(release(f, "u:1"), "0 2");
    assert_like(script_redis(f, "GET lock:n"), "u:2");
    assert_not_told(f);
}

static void force_ends_whoever_holds(void **state)
{
    script_fixture *f = *state;

    assert_like(force(f, ""), "0");
    script_redis(f, "SET lock:n theirs");
    assert_like(force(f, "others"), "0");
    assert_not_told(f);
    assert_like(script_redis(f, "GET lock:n"), "theirs");
    assert_like(force(f, "theirs"), "1 0 0");
    script_redis(f, "SET lock:n theirs");
    assert_like(force(f, ""), "1 0 0");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    assert_told(f);
}

/* ---- leave ---- */

static void who_leaves_while_it_holds_releases(void **state)
{
    script_fixture *f = *state;

    acquire(f, "u:1");
    assert_like(leave(f, "u:1", "0"), "2 0 0");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    assert_told(f);
}

/* It may have popped the signal of the release. */
static void who_leaves_a_free_lock_tells_the_next(void **state)
{
    script_fixture *f = *state;

    assert_like(leave(f, "u:1", "0"), "0 0 0");
    assert_told(f);
}

static void who_leaves_what_another_holds_tells_nobody(void **state)
{
    script_fixture *f = *state;

    acquire(f, "u:2");
    assert_like(leave(f, "u:1", "0"), "0 0 0");
    assert_like(script_redis(f, "GET lock:n"), "u:2");
    assert_not_told(f);
}

static void a_claim_that_was_given_up_is_refused(void **state)
{
    script_fixture *f = *state;

    assert_like(leave(f, "u:1", "60000"), "0 0 0");
    assert_in_range(number(script_redis(f, "PTTL latchkey:void:{n}")), 59000,
                    60000);
    assert_like(acquire(f, "u:1"), "!LKVOID*");
    assert_like(acquire(f, "u:2"), "1 0 30000 0");
}

/* ---- leases ---- */

static void a_lease_is_only_lengthened(void **state)
{
    script_fixture *f = *state;

    acquire(f, "u:1");
    assert_like(confirm(f, "u:1", "60000"), "1 60000 1 0");
    assert_in_range(number(script_redis(f, "PTTL lock:n")), 59000, 60000);
    confirm(f, "u:1", "5000");
    assert_in_range(script_item(f, 1), 59000, 60000);
    script_redis(f, "PERSIST lock:n");
    assert_like(confirm(f, "u:1", "5000"), "1 5000 1 0");
    assert_like(confirm(f, "u:2", "5000"), "0 2");
    script_redis(f, "DEL lock:n");
    assert_like(confirm(f, "u:1", "5000"), "0 0");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
}

static void many_leases_are_lengthened_at_once(void **state)
{
    script_fixture *f = *state;
    const char *keys[] = {"lock:a", "void", "lock:b", "void",
                          "lock:c", "void", "lock:d", "text"};
    const char *args[] = {"u:1",   "0",     "60000", "u:2",   "0",
                          "60000", "u:3",   "0",     "60000", "u:4",
                          "0",     "60000", NULL};

    script_redis(f, "SET lock:a u:1 PX 1000");
    script_redis(f, "SET lock:b theirs");
    script_redis(f, "HSET lock:c u:3 1");
    assert_like(script_run_keys(f, &lk__script_siglock_renew, keys, 8, args),
                "2 2 3 2 4 0");
    assert_in_range(number(script_redis(f, "PTTL lock:a")), 59000, 60000);
    assert_like(script_redis(f, "PTTL lock:b"), "-1");
    assert_like(script_redis(f, "EXISTS lock:d"), "0");
    assert_like(script_run_keys(f, &lk__script_siglock_renew, keys, 2, args),
                "");
}

/* ---- revoke ---- */

static void a_revoked_lock_stands_and_is_not_renewed(void **state)
{
    static const char owner[] = "01234567-89ab-cdef-0123-456789abcdef:7";
    const char *const keys[] = {"lock:n", "latchkey:void:{n}"};
    const char *const args[] = {owner, "0", "60000", NULL};
    script_fixture *f = *state;

    acquire(f, owner);
    assert_like(revoke(f, "u:1"), "0");
    assert_like(revoke(f, owner), "1 ????? 1");
    assert_like(script_redis(f, "GET lock:n"), owner);
    assert_like(script_run_keys(f, &lk__script_siglock_renew, keys, 2, args),
                "1 4");
    assert_like(confirm(f, owner, "60000"), "0 4");
    assert_in_range(number(script_redis(f, "PTTL lock:n")), 20000, 30000);
    assert_like(release(f, owner), "1 0 0");
    assert_like(revoke(f, owner), "0");
}

/* python-redis-lock has ids of its own. */
static void a_foreign_hold_is_not_revoked(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET lock:n Zm9vYmFy PX 20000");
    assert_like(revoke(f, "Zm9vYmFy"), "1 ????? 0");
    assert_like(script_redis(f, "EXISTS latchkey:void:{n}"), "0");
}

/* ---- info ---- */

static void info_names_the_holder(void **state)
{
    script_fixture *f = *state;

    assert_like(info(f), "() 0 ()");
    script_redis(f, "SET lock:n theirs");
    assert_like(info(f), "(theirs 1 0 0 -1 \"\" x) 0 ()");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* ---- rights ---- */

/* Without a right nothing is taken that was not there, and what is released is
   released, or not. */
static void a_missing_right_leaves_no_half(void **state)
{
    script_fixture *f = *state;

    script_deny(f, "set");
    assert_like(acquire(f, "u:1"), cannot);
    script_deny(f, NULL);
    assert_like(script_redis(f, "DBSIZE"), "0");

    acquire(f, "u:1");
    script_deny(f, "del");
    assert_like(release(f, "u:1"), cannot);
    assert_like(leave(f, "u:1", "0"), cannot);
    script_deny(f, NULL);
    assert_like(script_redis(f, "GET lock:n"), "u:1");
    assert_not_told(f);

    script_deny(f, "lpush");
    assert_like(release(f, "u:1"), "1 0 1");
    script_deny(f, NULL);
    assert_like(script_redis(f, "DBSIZE"), "0");
}

static void a_right_that_renewing_lacks_is_told(void **state)
{
    script_fixture *f = *state;

    acquire(f, "u:1");
    script_deny(f, "pexpire");
    assert_like(confirm(f, "u:1", "60000"), cannot);
    assert_like(release(f, "u:1"), "1 0 0"); /* the signal stays, then */
    script_deny(f, NULL);
    assert_like(script_redis(f, "LLEN lock-signal:n"), "1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SIG_SCRIPT_TEST(a_revoked_lock_stands_and_is_not_renewed),
        SIG_SCRIPT_TEST(a_foreign_hold_is_not_revoked),
        SIG_SCRIPT_TEST(a_free_lock_is_taken_with_a_lease),
        SIG_SCRIPT_TEST(acquiring_again_changes_nothing),
        SIG_SCRIPT_TEST(a_lock_that_is_held_tells_how_long),
        SIG_SCRIPT_TEST(keys_that_hold_something_else_are_told),
        SIG_SCRIPT_TEST(a_full_server_refuses_to_lock_and_nothing_else),
        SIG_SCRIPT_TEST(a_release_leaves_one_signal_for_a_second),
        SIG_SCRIPT_TEST(who_does_not_hold_releases_nothing),
        SIG_SCRIPT_TEST(force_ends_whoever_holds),
        SIG_SCRIPT_TEST(who_leaves_while_it_holds_releases),
        SIG_SCRIPT_TEST(who_leaves_a_free_lock_tells_the_next),
        SIG_SCRIPT_TEST(who_leaves_what_another_holds_tells_nobody),
        SIG_SCRIPT_TEST(a_claim_that_was_given_up_is_refused),
        SIG_SCRIPT_TEST(a_lease_is_only_lengthened),
        SIG_SCRIPT_TEST(many_leases_are_lengthened_at_once),
        SIG_SCRIPT_TEST(info_names_the_holder),
        SIG_SCRIPT_TEST(a_missing_right_leaves_no_half),
        SIG_SCRIPT_TEST(a_right_that_renewing_lacks_is_told),
    };

    return cmocka_run_group_tests(tests, script_start_server,
                                  script_stop_server);
}
