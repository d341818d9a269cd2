/* SPDX-License-Identifier: MIT */

/* revoke, force, see, forget: what operators do with a name. */

#include <stdio.h>

#include "support/check.h"
#include "support/layout3.h"

static const char *revoke(script_fixture *f, const char *claim)
{
    char inbox[64];

    snprintf(inbox, sizeof(inbox), "in:%s", l3_client(claim));
    return l3_run(f, "revoke", "N", l3_claim(claim), inbox, NULL);
}

static const char *force(script_fixture *f, const char *claim)
{
    return l3_run(f, "force", "Nq", claim, "in:", L3_CHANNEL, NULL);
}

static const char *see(script_fixture *f)
{
    return l3_run(f, "see", "Nqrx", L3_FAIR, NULL);
}

static const char *forget(script_fixture *f)
{
    return l3_run(f, "forget", "Nqrx", L3_CHANNEL, L3_FAIR, NULL);
}

/* ---- revoke ---- */

L3_TEST(a_revoked_hold_is_told_and_stays)
{
    l3_two_wait(f);
    assert_in_range(l3_number(revoke(f, "a1")), 2, 60001);
    assert_like(l3_heard(f), "in:a ra1 1 n\n");
    assert_like(l3_holders(f), "a1");
    assert_like(L3_REDIS(f, "HVALS n"), "2");
    assert_in_range(script_pttl(f, "n"), 1, 60000);
    assert_like(l3_keep(f, "a1", "30000"), "-2");
    assert_like(l3_close(f, "a1"), "2");
}

L3_TEST(who_does_not_hold_is_not_revoked)
{
    l3_two_wait(f);
    assert_like(revoke(f, "b1"), "0");
    assert_like(L3_REDIS(f, "HVALS n"), "1");
    assert_like(l3_heard(f), "");
    script_redis(f, "HSET n " L3_JAVA " 1");
    assert_like(l3_run(f, "revoke", "N", L3_JAVA, "in:", NULL), "-1");
    assert_like(L3_REDIS(f, "HVALS n"), "1 1");
}

/* ---- force ---- */

L3_TEST(a_holder_is_forced_out_and_told)
{
    l3_two_wait(f);
    script_listen(f, L3_CHANNEL);
    assert_like(force(f, l3_claim("a1")), "11");
    assert_like(l3_holders(f), "");
    assert_like(l3_heard(f), "in:a ra1 2 n\n");
    assert_like(l3_line(f), "b1 c1");
    assert_like(force(f, l3_claim("a1")), "0");
    assert_like(l3_heard(f), "");
}

L3_TEST(all_that_stand_there_are_forced_out)
{
    l3_hear(f, "ab");
    script_listen(f, L3_CHANNEL);
    l3_acquire_first(f, "a1");
    script_redis(f, "HSET n %s 1 " L3_JAVA " 1", l3_claim("b1"));
    assert_like(force(f, ""), "13");
    assert_like(l3_heard(f), "*in:b rb1 2 n\n*" L3_CHANNEL " 0\n");
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(force(f, ""), "0");
}

L3_TEST(redissons_is_forced_out_as_well)
{
    script_redis(f, "HSET n " L3_JAVA " 1");
    script_listen(f, L3_CHANNEL);
    assert_like(force(f, L3_JAVA), "11");
    assert_like(script_heard(f), L3_CHANNEL " 0\n");
}

L3_TEST(another_kind_is_not_forced)
{
    script_redis(f, "HSET n name alice");
    assert_like(force(f, ""), "!LKKIND *");
    assert_like(force(f, "name"), "!LKKIND *");
    assert_like(script_redis(f, "HGET n name"), "alice");
    script_redis(f, "DEL n");
    script_redis(f, "HSET n mode read %s 1", l3_claim("a1"));
    for (int i = 0; i < 20; i++) /* which field is read is by chance */
        assert_like(force(f, ""), "!LKKIND *");
}

/* ---- see ---- */

L3_TEST(a_name_that_nobody_uses_is_seen)
{
    l3_at(3);
    assert_like(see(f), "-2 () \"\" \"\" 0 () () () 1764385200003 ()");
    assert_like(script_redis(f, "DBSIZE"), "0");
}

L3_TEST(holder_line_parked_and_marks_are_seen)
{
    l3_hear(f, "c");
    l3_at(3);
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
    l3_acquire(f, "d1");
    l3_close(f, "a1");
    l3_touch(f, "d1");
    l3_keep(f, "c1", "30000");
    script_redis(f, "LPUSH %s others", L3_LINE);
    script_redis(f, "RPUSH %s java", L3_FAIR);
    assert_like(see(f),
                "????? (c1 1) 1764385200003032 c1 7 8 9 because 2 "
                "(others d1) (b1) (0 1764385200003 0) 1764385200003 (java)");
}

L3_TEST(a_name_of_another_kind_is_seen_as_far_as_it_goes)
{
    script_redis(f, "SET n 3");
    script_redis(f, "SET %s 3", L3_FAIR);
    assert_like(see(f), "-1 () * ()");
}

/* ---- forget ---- */

L3_TEST(what_is_left_of_a_name_is_forgotten)
{
    l3_acquire_first(f, "a1");
    l3_keep(f, "a1", "30000");
    l3_close(f, "a1");
    script_redis(f, "LPUSH %s others", L3_LINE);
    assert_like(forget(f), "1");
    assert_like(script_redis(f, "EXISTS n %s %s", L3_LINE, L3_SIDE), "0");
    assert_in_range(script_pttl(f, L3_FENCE), 3500000, 3600000);
}

static void assert_stays(script_fixture *f, const char *expected)
{
    assert_like(forget(f), expected);
    assert_like(script_redis(f, "EXISTS %s", L3_SIDE), "1");
}

L3_TEST(a_name_in_use_is_not_forgotten)
{
    l3_acquire_first(f, "a1");
    l3_keep(f, "a1", "30000");
    assert_stays(f, "a1 *");
    l3_acquire(f, "b1");
    script_redis(f, "DEL n");
    assert_stays(f, "-1");
    script_redis(f, "DEL %s", L3_LINE);
    script_redis(f, "RPUSH %s java", L3_FAIR);
    assert_stays(f, "-1");
    script_redis(f, "DEL %s", L3_FAIR);
    script_listen(f, L3_CHANNEL);
    assert_stays(f, "-1");
    script_deafen(f, L3_CHANNEL);
    assert_like(forget(f), "1");
    assert_like(forget(f), "1"); /* the counter is there */
    script_redis(f, "DEL %s", L3_FENCE);
    assert_like(forget(f), "0");
}

CHECK_GROUP(script_start_server, script_stop_server)
