/* SPDX-License-Identifier: MIT */

/* keep, renew, import: holds that go on. */

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/layout3.h"

/* ---- keep ---- */

L3_TEST(it_lengthens_and_never_shortens)
{
    l3_acquire_first(f, "a1");
    assert_like(l3_keep(f, "a1", "90000"), "90000");
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
    assert_in_range(l3_number(l3_keep(f, "a1", "1000")), 80000, 90000);
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
}

L3_TEST(a_hold_without_an_end_is_given_one)
{
    l3_acquire_first(f, "a1");
    script_redis(f, "PERSIST n");
    assert_like(l3_keep(f, "a1", "90000"), "90000");
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
}

L3_TEST(it_notes_what_operators_see)
{
    l3_acquire_first(f, "a1");
    l3_keep(f, "a1", "90000");
    assert_like(L3_REDIS(f, "HGET %s h", L3_SIDE), "a1 7 8 9 because");
    assert_true(script_pttl(f, L3_SIDE) > 4400000);
}

L3_TEST(without_info_nothing_is_noted)
{
    l3_acquire_first(f, "a1");
    assert_like(l3_run(f, "keep", "Nx", l3_claim("a1"), "90000", NULL),
                "90000");
    assert_like(script_redis(f, "EXISTS %s", L3_SIDE), "0");
}

L3_TEST(a_hold_that_is_gone_or_beside_another_is_lost)
{
    l3_acquire_first(f, "a1");
    assert_like(l3_keep(f, "b1", "90000"), "-3");
    script_redis(f, "HSET n %s 1", l3_claim("b1"));
    assert_like(l3_keep(f, "a1", "90000"), "-3");
    assert_in_range(script_pttl(f, "n"), 1, 60000);
    script_redis(f, "DEL n");
    assert_like(l3_keep(f, "a1", "90000"), "-1");
    assert_like(script_redis(f, "EXISTS n %s", L3_SIDE), "0");
}

/* ---- reserve ---- */

static const char *reserve(script_fixture *f, const char *claim)
{
    return l3_run(f, "reserve", "Nqr", l3_claim(claim), "90000", "100",
                  L3_CHANNEL, L3_FAIR, NULL);
}

L3_TEST(fences_are_drawn_for_a_hold_alone)
{
    l3_at(0);
    l3_acquire_first(f, "a1");
    assert_like(reserve(f, "a1"), "1764385200000116");
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
    assert_like(reserve(f, "b1"), "-3");
    assert_like(L3_REDIS(f, "GET %s", L3_FENCE), "1764385200000116");
    script_redis(f, "HSET n %s 2", l3_claim("a1"));
    assert_like(reserve(f, "a1"), "-2");
    script_redis(f, "DEL n");
    assert_like(reserve(f, "a1"), "-1");
}

/* Below 0: the fences are the hold's all the same. */
L3_TEST(whoever_else_waits_is_told_with_the_fences)
{
    l3_at(0);
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    assert_like(reserve(f, "a1"), "-1764385200000116");
    script_redis(f, "DEL %s", L3_LINE);
    script_redis(f, "RPUSH %s java", L3_FAIR);
    assert_like(reserve(f, "a1"), "-1764385200000216");
    script_redis(f, "DEL %s", L3_FAIR);
    script_listen(f, L3_CHANNEL);
    assert_like(reserve(f, "a1"), "-1764385200000316");
    script_deafen(f, L3_CHANNEL);
    assert_like(reserve(f, "a1"), "1764385200000416");
}

L3_TEST(a_lost_counter_has_no_fences_to_reserve)
{
    l3_acquire_first(f, "a1");
    script_redis(f, "DEL %s", L3_FENCE);
    assert_like(reserve(f, "a1"), "!LKRANGE *");
    script_redis(f, "SET %s 9007199254740980", L3_FENCE);
    assert_like(reserve(f, "a1"), "!LKRANGE *");
}

/* ---- drop ---- */

L3_TEST(a_hold_whose_close_was_refused_is_taken_away)
{
    l3_two_wait(f);
    assert_like(l3_run(f, "drop", "N", l3_claim("b1"), NULL), "0");
    assert_like(l3_run(f, "drop", "N", l3_claim("a1"), NULL), "6");
    assert_like(l3_holders(f), "");
    assert_like(l3_line(f), "b1 c1");
    assert_like(l3_heard(f), "");
    assert_like(l3_run(f, "drop", "N", l3_claim("a1"), NULL), "0");
}

/* ---- renew ---- */

static const char *
renew_way(script_fixture *f, const char *lease, const char *way)
{
    return l3_run(f, "renew", "N", lease, way, l3_claim("a1"), NULL);
}

/* A server before 7.0 knows no GT, and newer ones do without it. */
static bool knows_gt(script_fixture *f)
{
    return strstr(script_redis(f, "PEXPIRE other 1 GT"), "!") == NULL;
}

static void assert_renews(script_fixture *f, const char *way)
{
    l3_acquire_first(f, "a1");
    assert_like(renew_way(f, "90000", way), "0");
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
    assert_like(renew_way(f, "1000", way), "0");
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
    script_redis(f, "DEL n");
    assert_like(renew_way(f, "90000", way), "1");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

L3_TEST(renew_lengthens_and_never_shortens)
{
    assert_renews(f, "");
    if (knows_gt(f))
        assert_renews(f, "GT");
}

/* Three names, of which the second is another's and the third no hash. */
L3_TEST(renew_tells_the_places_of_the_lost)
{
    static const char *const keys[] = {"n", "m{n}", "o{n}", "p{n}"};
    const char *args[] =
        {"90000",        "",  l3_claim("a1"), l3_claim("a2"), l3_claim("a3"),
         l3_claim("a4"), NULL};

    script_redis(f, "HSET n %s 1", l3_claim("a1"));
    script_redis(f, "HSET m{n} %s 1", l3_claim("b1"));
    script_redis(f, "SET o{n} 1");
    script_redis(f, "HSET p{n} %s 1", l3_claim("a4"));
    for (int i = 0; i < 4; i++)
        script_redis(f, "PEXPIRE %s 3000", keys[i]);
    assert_like(l3_run_keys(f, "renew", keys, 4, args), "2 3");
    assert_true(script_pttl(f, "n") > 50000);
    assert_in_range(script_pttl(f, "m{n}"), 1, 3000);
    assert_true(script_pttl(f, "p{n}") > 50000);
}

/* ---- revoked holds ---- */

L3_TEST(a_revoked_hold_is_neither_kept_nor_renewed_nor_imported)
{
    l3_acquire_first(f, "a1");
    script_redis(f, "HSET n %s 2", l3_claim("a1"));
    assert_like(l3_keep(f, "a1", "90000"), "-2");
    assert_like(renew_way(f, "90000", ""), "1");
    assert_like(l3_import(f, "a1", "b1"), "-2");
    assert_in_range(script_pttl(f, "n"), 1, 60000);
    assert_like(l3_holders(f), "a1");
    assert_like(l3_close(f, "a1"), "1");
}

/* ---- import ---- */

L3_TEST(an_imported_hold_is_the_new_claims_alone)
{
    l3_at(0);
    l3_hear(f, "ab");
    l3_acquire_first(f, "a1");
    assert_like(l3_import(f, "a1", "b1"), "1764385200000032");
    assert_like(l3_holders(f), "b1");
    assert_like(L3_REDIS(f, "HVALS n"), "1");
    assert_like(l3_heard(f), "in:a ra1 3 n\n");
    assert_like(L3_REDIS(f, "HGET %s h", L3_SIDE),
                "b1 1764385200000017 8 9 because");
    assert_true(script_pttl(f, L3_SIDE) > 4400000);
    assert_like(l3_import(f, "a1", "c1"), "-1");
    assert_like(l3_keep(f, "b1", "90000"), "90000");
}

L3_TEST(an_import_lengthens_to_three_seconds_and_shortens_nothing)
{
    l3_acquire_first(f, "a1");
    script_redis(f, "PEXPIRE n 500");
    l3_import(f, "a1", "b1");
    assert_in_range(script_pttl(f, "n"), 2000, 3000);
    l3_keep(f, "b1", "90000");
    l3_import(f, "b1", "c1");
    assert_in_range(script_pttl(f, "n"), 80000, 90000);
}

L3_TEST(what_stands_beside_another_is_not_imported)
{
    l3_acquire_first(f, "a1");
    script_redis(f, "HSET n %s 1", l3_claim("b1"));
    assert_like(l3_import(f, "a1", "c1"), "-1");
    assert_like(l3_holders(f), "a1 b1");
}

L3_TEST(an_import_goes_on_from_the_clock)
{
    l3_acquire_first(f, "a1");
    script_redis(f, "DEL %s", L3_FENCE);
    l3_at(2);
    assert_like(l3_import(f, "a1", "b1"), "1764385200002016");
    assert_true(script_pttl(f, L3_FENCE) > 4400000);
    script_redis(f, "SET %s 9007199254740980", L3_FENCE);
    assert_like(l3_import(f, "b1", "c1"), "!LKRANGE *");
    assert_like(l3_holders(f), "b1");
}

CHECK_GROUP(script_start_server, script_stop_server)
