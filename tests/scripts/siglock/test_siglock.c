/* SPDX-License-Identifier: MIT */

/* The siglock's scripts, key by key. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/sig_script.h"

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

/* One signal lies there, for a second. */
static void assert_told(script_fixture *f)
{
    assert_like(script_redis(f, "LRANGE lock-signal:n 0 -1"), "1");
    assert_in_range(script_pttl(f, "lock-signal:n"), 1, 1000);
}

static void assert_not_told(script_fixture *f)
{
    assert_like(script_redis(f, "EXISTS lock-signal:n"), "0");
}

/* ---- acquire ---- */

SCRIPT_TEST(a_free_lock_is_taken_with_a_lease)
{
    assert_like(sig_acquire(f, "u:1"), "1 30000");
    assert_like(script_redis(f, "GET lock:n"), "u:1");
    assert_in_range(script_pttl(f, "lock:n"), 29000, 30000);
    assert_like(script_redis(f, "DBSIZE"), "1");
}

SCRIPT_TEST(acquiring_again_changes_nothing)
{
    sig_acquire(f, "u:1");
    script_redis(f, "PEXPIRE lock:n 5000");
    sig_acquire(f, "u:1");
    assert_int_equal(script_item(f, 0), 1);
    assert_in_range(script_item(f, 1), 4000, 5000);
    assert_in_range(script_pttl(f, "lock:n"), 4000, 5000);
}

SCRIPT_TEST(a_lock_that_is_held_tells_how_long)
{
    sig_acquire(f, "u:1");
    sig_acquire(f, "u:2");
    assert_int_equal(script_item(f, 0), 2);
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_like(script_redis(f, "GET lock:n"), "u:1");
    script_redis(f, "SET lock:n theirs");
    assert_like(sig_acquire(f, "u:2"), "2 -1");
}

SCRIPT_TEST(keys_that_hold_something_else_are_told)
{
    script_redis(f, "HSET lock:n a b");
    assert_like(sig_acquire(f, "u:1"), "!WRONGTYPE*");
    script_redis(f, "DEL lock:n");
    script_redis(f, "SET lock-signal:n a");
    assert_like(sig_acquire(f, "u:1"), "!WRONGTYPE*");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    script_redis(f, "SET lock:n theirs");
    assert_like(sig_acquire(f, "u:1"), "!WRONGTYPE*");
}

SCRIPT_TEST(a_full_server_refuses_to_lock_and_nothing_else)
{
    sig_acquire(f, "u:1");
    script_fill_memory(f, true);
    assert_like(sig_release(f, "u:1"), "1 1");
    assert_like(sig_acquire(f, "u:2"), "!OOM*");
    script_fill_memory(f, false);
    assert_told(f);
    sig_acquire(f, "u:2");
    script_fill_memory(f, true);
    assert_like(sig_renew(f, "u:2", 60000), "1 ()");
    assert_like(sig_leave(f, "u:3", 60000), "1 0");
    assert_like(sig_leave(f, "u:2", 0), "1 1");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
}

/* ---- release and force ---- */

SCRIPT_TEST(a_release_leaves_one_signal_for_a_second)
{
    script_redis(f, "RPUSH lock-signal:n 1 1 1");
    sig_acquire(f, "u:1");
    assert_like(sig_release(f, "u:1"), "1 1");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    assert_told(f);
}

SCRIPT_TEST(who_does_not_hold_releases_nothing)
{
    assert_like(sig_release(f, "u:1"), "1 0");
    sig_acquire(f, "u:2");
    assert_like(sig_release(f, "u:1"), "1 0");
    assert_like(script_redis(f, "GET lock:n"), "u:2");
    assert_not_told(f);
}

SCRIPT_TEST(force_ends_whoever_holds)
{
    assert_like(sig_force(f, ""), "1 0");
    script_redis(f, "SET lock:n theirs");
    assert_like(sig_force(f, "others"), "1 0");
    assert_not_told(f);
    assert_like(script_redis(f, "GET lock:n"), "theirs");
    assert_like(sig_force(f, "theirs"), "1 1");
    script_redis(f, "SET lock:n theirs");
    assert_like(sig_force(f, ""), "1 1");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    assert_told(f);
}

/* ---- leave ---- */

SCRIPT_TEST(who_leaves_while_it_holds_releases)
{
    sig_acquire(f, "u:1");
    assert_like(sig_leave(f, "u:1", 0), "1 1");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
    assert_told(f);
}

/* It may have popped the signal of the release. */
SCRIPT_TEST(who_leaves_a_free_lock_tells_the_next)
{
    assert_like(sig_leave(f, "u:1", 0), "1 0");
    assert_told(f);
}

SCRIPT_TEST(who_leaves_what_another_holds_tells_nobody)
{
    sig_acquire(f, "u:2");
    assert_like(sig_leave(f, "u:1", 0), "1 0");
    assert_like(script_redis(f, "GET lock:n"), "u:2");
    assert_not_told(f);
}

SCRIPT_TEST(a_claim_that_was_given_up_is_refused)
{
    assert_like(sig_leave(f, "u:1", 60000), "1 0");
    assert_in_range(script_pttl(f, SIG_VOID), 59000, 60000);
    assert_like(sig_acquire(f, "u:1"), "!LKVOID*");
    assert_like(sig_acquire(f, "u:2"), "1 30000");
}

/* ---- leases ---- */

SCRIPT_TEST(a_lease_is_only_lengthened)
{
    sig_acquire(f, "u:1");
    assert_like(sig_renew(f, "u:1", 60000), "1 ()");
    assert_in_range(script_pttl(f, "lock:n"), 59000, 60000);
    assert_like(sig_renew(f, "u:1", 5000), "1 ()");
    assert_in_range(script_pttl(f, "lock:n"), 59000, 60000);
    script_redis(f, "PERSIST lock:n");
    assert_like(sig_renew(f, "u:1", 5000), "1 ()");
    assert_in_range(script_pttl(f, "lock:n"), 4000, 5000);
    assert_like(sig_renew(f, "u:2", 5000), "1 (2 2)");
    script_redis(f, "DEL lock:n");
    assert_like(sig_renew(f, "u:1", 5000), "1 (2 0)");
    assert_like(script_redis(f, "EXISTS lock:n"), "0");
}

SCRIPT_TEST(many_leases_are_lengthened_at_once)
{
    const char *keys[] = {"void", "lock:a", "void", "lock:b",
                          "void", "lock:c", "text", "lock:d"};
    const char *args[] = {"60000", "-u:1", "u:1",  "-u:2", "u:2",
                          "-u:3",  "u:3",  "-u:4", "u:4",  NULL};

    script_redis(f, "SET lock:a u:1 PX 1000");
    script_redis(f, "SET lock:b theirs");
    script_redis(f, "HSET lock:c u:3 1");
    assert_like(script_run_keys(f, lk__siglock_renew.script, keys, 8, args),
                "1 (4 2 6 2 8 0)");
    assert_in_range(script_pttl(f, "lock:a"), 59000, 60000);
    assert_like(script_redis(f, "PTTL lock:b"), "-1");
    assert_like(script_redis(f, "EXISTS lock:d"), "0");
}

/* As in a slot that moves, where they may be at two nodes. */
SCRIPT_TEST(each_key_is_looked_at_by_itself)
{
    const char *lock[] = {"lock:n"}, *voids[] = {SIG_VOID};
    const char *claim[] = {"60000", "u:1", NULL};
    const char *voided[] = {"60000", "-u:1", NULL};

    sig_acquire(f, "u:1");
    assert_like(script_run_keys(f, lk__siglock_renew.script, lock, 1, claim),
                "1 ()");
    assert_in_range(script_pttl(f, "lock:n"), 59000, 60000);
    assert_like(script_run_keys(f, lk__siglock_renew.script, voids, 1, voided),
                "1 ()");
    script_redis(f, "ZADD " SIG_VOID " 1 u:1");
    assert_like(script_run_keys(f, lk__siglock_renew.script, voids, 1, voided),
                "1 (1 4)");
}

/* ---- revoke ---- */

SCRIPT_TEST(a_revoked_lock_stands_and_is_not_renewed)
{
    static const char owner[] =
        "0123456789abcdef0123456789abcdef:0000000000000007";

    sig_acquire(f, owner);
    assert_like(sig_revoke(f, "u:1"), "2");
    assert_like(sig_revoke(f, owner), "1 ????? 1");
    assert_like(script_redis(f, "GET lock:n"), owner);
    assert_like(sig_renew(f, owner, 60000), "1 (1 4)");
    assert_in_range(script_pttl(f, "lock:n"), 20000, 30000);
    assert_like(sig_release(f, owner), "1 1");
    assert_like(sig_revoke(f, owner), "2");
}

/* python-redis-lock has ids of its own. */
SCRIPT_TEST(a_foreign_hold_is_not_revoked)
{
    script_redis(f, "SET lock:n Zm9vYmFy PX 20000");
    assert_like(sig_revoke(f, "Zm9vYmFy"), "1 ????? 0");
    assert_like(script_redis(f, "EXISTS " SIG_VOID), "0");
}

/* ---- info ---- */

SCRIPT_TEST(info_names_the_holder)
{
    assert_like(sig_see(f), "1 0 () ()");
    script_redis(f, "SET lock:n theirs");
    assert_like(sig_see(f), "1 0 (theirs 1 0 0 -1 \"\" x) ()");
    assert_like(script_redis(f, "DBSIZE"), "1");
}

/* ---- rights ---- */

/* Without a right nothing is taken that was not there, and what is released is
   released, or not. */
SCRIPT_TEST(a_missing_right_leaves_no_half)
{
    script_deny(f, "set");
    assert_like(sig_acquire(f, "u:1"), cannot);
    script_deny(f, NULL);
    assert_like(script_redis(f, "DBSIZE"), "0");

    sig_acquire(f, "u:1");
    script_deny(f, "del");
    assert_like(sig_release(f, "u:1"), cannot);
    assert_like(sig_leave(f, "u:1", 0), cannot);
    script_deny(f, NULL);
    assert_like(script_redis(f, "GET lock:n"), "u:1");
    assert_not_told(f);

    script_deny(f, "lpush");
    assert_like(sig_release(f, "u:1"), "1 1");
    script_deny(f, NULL);
    assert_like(script_redis(f, "DBSIZE"), "0");
}

SCRIPT_TEST(a_right_that_renewing_lacks_is_told)
{
    sig_acquire(f, "u:1");
    script_deny(f, "pexpire");
    assert_like(sig_renew(f, "u:1", 60000), cannot);
    assert_like(sig_release(f, "u:1"), "1 1"); /* the signal stays, then */
    script_deny(f, NULL);
    assert_like(script_redis(f, "LLEN lock-signal:n"), "1");
}

/* Half of it would be a claim that is void for ever. */
SCRIPT_TEST(a_claim_that_cannot_be_void_is_told)
{
    static const char owner[] =
        "0123456789abcdef0123456789abcdef:0000000000000007";
    static const char *const rights[] = {"zadd", "pexpire"};

    sig_acquire(f, owner);
    for (size_t i = 0; i < 2; i++) {
        script_deny(f, rights[i]);
        assert_like(sig_revoke(f, owner), cannot);
        assert_like(sig_leave(f, "u:2", 60000), cannot);
        script_deny(f, NULL);
        assert_like(script_redis(f, "EXISTS " SIG_VOID), "0");
        assert_like(sig_renew(f, owner, 30000), "1 ()");
    }
}

/* What is over is dropped by whoever adds one. */
SCRIPT_TEST(void_claims_do_not_pile_up)
{
    script_redis(f, "ZADD " SIG_VOID " 1 u:1 %lld u:2",
                 script_now_ms(f) + 60000);
    sig_leave(f, "u:3", 60000);
    assert_like(script_redis(f, "ZRANGE " SIG_VOID " 0 -1"), "u:2 u:3");
}

CHECK_GROUP(script_start_server, script_stop_server)
