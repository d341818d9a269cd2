/* SPDX-License-Identifier: MIT */

/* import, revoke and forget: holds that change hands, that are to end, and
   semaphores that nobody uses. And the last numbers, and a replica. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

static const char java[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/* ---- import ---- */

/* The new fence of an import of two permits that has to succeed. */
static int64_t
imported(script_fixture *f, const char *from, int64_t fence, const char *to)
{
    assert_like(permits_import(f, from, fence, to), "1 * 60000 2");
    return script_item(f, 1);
}

/* u1:1 has two of three. Returns its fence. */
static int64_t two_are_held(script_fixture *f)
{
    permits_set(f, 3);
    assert_like(permits_acquire(f, "u1:1", 2), "1 *");
    return script_item(f, 1);
}

PERMITS_TEST(one_importer_has_the_permits)
{
    int64_t old = two_are_held(f), fence;

    fence = imported(f, "u1:1", old, "v:9");
    assert_true(fence > old);
    assert_int_equal(permits_fence(f, "v:9"), fence);
    assert_like(permits_import(f, "u1:1", old, "v:9"), "1 * *");
    assert_true(script_item(f, 1) == fence);
    assert_like(permits_import(f, "u1:1", old, "w:9"), "2 0");
    assert_like(permits_keep(f, "u1:1", old, 90000), "2 0");
    assert_like(permits_release(f, "u1:1", old), "2 0");
    assert_books(f, 3, 1);
    assert_int_equal(permits_left(f, "u1:1", 1), 0);
    assert_in_range(permits_left(f, "v:9", 2), 59000, 60000);
    assert_like(permits_acquire(f, "u2:1", 1), "1 *");
    assert_true(script_item(f, 1) > fence);
    assert_like(permits_release(f, "v:9", fence), "1 2 *");
    assert_books(f, 3, 2);
    assert_like(permits_import(f, "u1:1", old, "v:9"), "2 0");
}

PERMITS_TEST(another_fence_is_not_imported)
{
    int64_t old = two_are_held(f);

    assert_like(permits_import(f, "u1:1", old + 1, "v:9"), "2 3");
    assert_in_range(permits_left(f, "u1:1", 1), 29000, 30000);
}

PERMITS_TEST(an_import_only_lengthens_a_lease)
{
    permits_set(f, 3);
    permits_acquire_with(f, "u1:1", 2, (permits_wish){.lease = 90000});
    assert_like(permits_import(f, "u1:1", script_item(f, 1), "v:9"),
                "1 * [89]???? 2");
    assert_in_range(permits_left(f, "v:9", 1), 80000, 90000);
}

/* Nobody is without permits in between: the new ones are paid by the old. */
PERMITS_TEST(an_import_changes_no_count)
{
    int64_t old = two_are_held(f);

    script_deny(f, "incrby");
    (void)imported(f, "u1:1", old, "v:9");
    assert_books(f, 3, 1);
}

PERMITS_TEST(permits_get_a_higher_fence_without_record_and_clock)
{
    int64_t old = two_are_held(f);

    script_redis(f, "EVAL %s 1 %s %lld %lld",
                 "for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do"
                 " local text = redis.call('HGET', KEYS[1], id)"
                 " redis.call('HSET', KEYS[1], id,"
                 " (string.gsub(text, ARGV[1], ARGV[2]))) end",
                 f->keys[PERMITS_HOLDERS], (long long)old,
                 (long long)old + 3600000000LL);
    script_redis(f, "DEL %s", f->keys[PERMITS_RECORD]);
    old += 3600000000LL;
    assert_true(imported(f, "u1:1", old, "v:9") == old + 1);
}

PERMITS_TEST(permits_that_are_revoked_are_not_imported)
{
    int64_t old = two_are_held(f);

    permits_revoke(f, "u1:1");
    assert_like(permits_import(f, "u1:1", old, "v:9"), "2 4");
}

/* As where the answer to its acquire was lost. */
PERMITS_TEST(who_does_not_know_of_revoked_permits_is_void)
{
    two_are_held(f);
    permits_revoke(f, "u1:1");
    assert_like(permits_acquire(f, "u1:1", 2), "!LKVOID *");
    assert_like(permits_look(f, "u1:1"), "!LKVOID *");
}

/* As long as nobody has taken them. */
PERMITS_TEST(permits_whose_lease_has_ended_are_not_imported)
{
    int64_t old;

    permits_set(f, 1);
    permits_acquire(f, "u1:1", 1);
    old = script_item(f, 1);
    permits_expire(f, 1);
    assert_like(permits_import(f, "u1:1", old, "v:9"), "2 0");
    assert_like(permits_acquire(f, "u2:2", 1), "1 *");
}

PERMITS_TEST(permits_are_imported_from_a_full_server)
{
    int64_t old = two_are_held(f);

    script_fill_memory(f, true);
    (void)imported(f, "u1:1", old, "v:9");
    script_fill_memory(f, false);
    assert_books(f, 3, 1);
}

PERMITS_TEST(permits_that_are_denied_keep_their_owner)
{
    static const char *const commands[] = {"hset", "zadd", "zrem", "set"};
    int64_t old = two_are_held(f);

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        script_deny(f, commands[i]);
        assert_like(permits_import(f, "u1:1", old, "v:9"), cannot);
        script_deny(f, NULL);
        assert_int_equal(permits_fence(f, "u1:1"), old);
        assert_true(permits_left(f, "u1:1", 2) > 0);
        assert_int_equal(permits_left(f, "v:9", 1), 0);
        assert_books(f, 3, 1);
    }
}

/* ---- revoke ---- */

PERMITS_TEST(revoked_permits_stay_taken)
{
    int64_t fence = two_are_held(f);

    script_listen(f, "latchkey:in::u1");
    permits_acquire(f, "u2:1", 1);
    assert_like(permits_revoke(f, "u1:1"), "1 * 1");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_like(script_heard(f), "latchkey:in::u1 revoked 0 semaphore u1:1 "
                                 "0123456789abcdef * n\n");
    assert_books(f, 3, 0);
    assert_like(permits_keep(f, "u1:1", fence, 90000), "2 4");
    assert_in_range(permits_left(f, "u1:1", 1), 20000, 30000);
    assert_like(permits_keep(f, "u2:1", 0, 30000), "1 *");
    assert_like(permits_revoke(f, "u1:1"), "1 * 1"); /* once more: the same */
    assert_like(permits_release(f, "u1:1", fence), "1 2 *");
    assert_books(f, 3, 2);
    assert_like(permits_revoke(f, "u1:1"), "2");
}

PERMITS_TEST(a_look_does_not_lengthen_revoked_permits)
{
    permits_set(f, 1);
    permits_acquire_with(f, "u1:1", 1, (permits_wish){.lease = 3000});
    assert_like(permits_revoke(f, "u1:1"), "1 * 1");
    assert_like(permits_look(f, "u1:1"), "!LKVOID *");
    assert_in_range(permits_left(f, "u1:1", 1), 1, 3000);
}

PERMITS_TEST(redissons_permit_is_left_alone)
{
    permits_set(f, 2);
    permits_java_take(f, 'a', 20000);
    assert_like(permits_revoke(f, java), "1 * 0");
    assert_books(f, 2, 1);
    assert_like(script_redis(f, "DBSIZE"), "2");
}

PERMITS_TEST(permits_of_nobody_are_not_revoked)
{
    permits_set(f, 2);
    assert_like(permits_revoke(f, "u1:1"), "2");
    permits_acquire(f, "u1:1", 1);
    permits_expire(f, 5);
    assert_like(permits_revoke(f, "u1:1"), "2");
}

PERMITS_TEST(a_full_server_revokes_permits)
{
    (void)two_are_held(f);
    script_fill_memory(f, true);
    assert_like(permits_revoke(f, "u1:1"), "1 * 1");
    script_fill_memory(f, false);
    assert_like(permits_keep(f, "u1:1", 0, 90000), "2 4");
}

/* ---- forget ---- */

static void use_permits(script_fixture *f)
{
    permits_resize(f, 4);
    permits_acquire(f, "u1:1", 2);
    permits_acquire(f, "u2:1", 3);
    permits_leave(f, "u2:1", false);
    permits_release(f, "u1:1", 0);
}

/* The fence alone is left, for an hour. */
static void assert_only_fence(script_fixture *f, int64_t fence)
{
    lk__record_text record;

    assert_like(script_redis(f, "KEYS *"), f->keys[PERMITS_RECORD]);
    assert_true(permits_record(f, &record));
    assert_memory_equal(record.layout.bytes, "2-", 2);
    assert_true(record.fence >= fence);
    assert_in_range(script_key_pttl(f, PERMITS_RECORD), 3540000, 3600000);
}

/* Forgetting says so and changes nothing at all. */
static void assert_stays(script_fixture *f, const char *answer)
{
    static const char dump[] =
        "local all = redis.call('KEYS', '*') table.sort(all) for i, k in "
        "ipairs(all) do all[i] = k .. redis.sha1hex(redis.call('DUMP', k)) end "
        "return table.concat(all, ' ')";
    char before[4096];

    (void)snprintf(before, sizeof(before), "%s",
                   script_redis(f, "EVAL %s 0", dump));
    assert_like(permits_forget(f), answer);
    assert_string_equal(script_redis(f, "EVAL %s 0", dump), before);
}

PERMITS_TEST(a_semaphore_with_all_permits_free_is_forgotten)
{
    lk__record_text record;

    use_permits(f);
    assert_like(script_redis(f, "GET n"), "4");
    assert_true(permits_record(f, &record));
    assert_like(permits_forget(f), "2");
    assert_only_fence(f, record.fence);
    assert_stays(f, "1");
    permits_resize(f, 9);
    assert_like(permits_acquire(f, "u2:1", 1), "1 *");
    assert_true(script_item(f, 1) > record.fence);
    assert_like(script_redis(f, "GET n"), "8");
}

PERMITS_TEST(a_semaphore_in_use_stays)
{
    permits_resize(f, 2);
    permits_acquire(f, "u1:1", 2);
    assert_stays(f, "3 u1:1 *");
    permits_acquire(f, "u2:1", 1);
    permits_expire(f, 9000); /* one of Redisson's may last still */
    assert_stays(f, "3 u1:1 0");
    permits_expire(f, 11000);
    assert_stays(f, "4 1");
    script_redis(f, "DEL %s", f->keys[PERMITS_QUEUE]);
    script_listen(f, f->channel);
    assert_stays(f, "4 1");
    script_deafen(f, f->channel);
    assert_like(permits_forget(f), "2");
    assert_only_fence(f, 1);
}

/* It may have a request on its way, whatever the name is used for then. */
PERMITS_TEST(a_void_claim_stays_void)
{
    use_permits(f);
    permits_leave(f, "u3:1", true);
    assert_like(permits_forget(f), "2");
    assert_like(permits_acquire_of(f, "u3:1", 1, 4, 's'), "!LKVOID*");
}

/* The permits come back at the next call, as their holder is still there. */
PERMITS_TEST(a_semaphore_whose_leases_were_deleted_is_held_still)
{
    permits_resize(f, 4);
    permits_acquire(f, "u1:1", 2);
    script_redis(f, "DEL %s", f->keys[PERMITS_ZSET]);
    assert_stays(f, "3 u1:1 *");
}

PERMITS_TEST(redissons_semaphore_stays)
{
    permits_set(f, 4);
    assert_stays(f, "1");
    permits_java_take(f, 'a', 30000);
    assert_stays(f, "3 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa *");
}

PERMITS_TEST(a_key_of_another_type_keeps_a_semaphore)
{
    for (int i = 0; i < PERMITS_KEYS; i++) {
        if (i == PERMITS_RECORD)
            continue; /* one that is no string counts as none */
        use_permits(f);
        script_redis(f, "DEL %s", f->keys[i]);
        script_redis(f,
                     i == PERMITS_COUNTER ? "RPUSH %s other" : "SET %s other",
                     f->keys[i]);
        assert_stays(f, "!*TYPE*");
        server_flush(f->server);
    }
    use_permits(f);
    script_deny(f, "del");
    assert_stays(f, cannot);
    script_deny(f, NULL);
    script_fill_memory(f, true);
    assert_like(permits_forget(f), "2");
    script_fill_memory(f, false);
}

/* ---- numbers, and a replica ---- */

PERMITS_TEST(a_permit_has_no_fence_beyond_the_last)
{
    static const char ended[] = "!LKRANGE *";

    permits_set(f, 3);
    assert_like(permits_acquire(f, "u1:1", 1), "1 *");
    permits_put_fence(f, 9007199254740991);
    assert_like(permits_acquire(f, "u2:1", 1), ended);
    assert_like(permits_acquire(f, "u3:1", 2), ended);
    assert_books(f, 3, 2);
}

/* Nobody gets them by that, but they are free. */
PERMITS_TEST(a_release_needs_no_fence)
{
    int64_t fence = two_are_held(f);

    script_listen(f, "latchkey:in::u2");
    permits_acquire(f, "u2:1", 2);
    permits_put_fence(f, 9007199254740991);
    assert_like(permits_release(f, "u1:1", fence), "1 2 0 1");
    assert_books(f, 3, 3);
    assert_like(script_heard(f), "latchkey:in::u2 open 0 semaphore u2:1 *");
}

PERMITS_TEST(a_member_that_needs_none_keeps_nobody)
{
    int64_t fence = two_are_held(f);

    script_redis(f, "ZADD %s %lld %s", f->keys[PERMITS_QUEUE],
                 (1LL << 48) + script_now_ms(f) * 1000 / 16 - 1000,
                 "u3:1 0123456789abcdef p 0 30000 - p ");
    script_listen(f, "latchkey:in::u2");
    script_listen(f, "latchkey:in::u3");
    permits_acquire(f, "u2:1", 2);
    assert_like(permits_release(f, "u1:1", fence), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:in::u2 grant 0 semaphore u2:1 *");
    assert_string_equal(permits_parked(f), "u3:1");
}

PERMITS_TEST(a_replica_is_not_asked)
{
    permits_set(f, 3);
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(permits_info(f), "!READONLY *");
    assert_like(permits_count(f), "!READONLY *");
    assert_like(permits_forget(f), "!READONLY *");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(permits_info(f), "3 0 *");
    assert_like(permits_count(f), "1 3 3");
    assert_like(permits_forget(f), "1");
}

CHECK_GROUP(script_start_server, script_stop_server)
