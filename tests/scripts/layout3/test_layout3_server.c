/* SPDX-License-Identifier: MIT */

/* A server that is full or a replica refuses each script at its first write, or not
   at all: nothing stops half-way. */

#include "support/check.h"
#include "support/layout3.h"

#define READONLY "!READONLY*"

/* ---- a full server ---- */

static void assert_takes_nothing(script_fixture *f, const char *dump)
{
    assert_like(l3_acquire(f, "a1"), "!OOM *");
    assert_like(l3_acquire_first(f, "a1"), "!OOM *");
    assert_like(l3_run(f, "lift", "r", NULL), "!OOM *");
    assert_like(script_redis(f, "DBSIZE"), dump);
}

L3_TEST(a_full_server_takes_nothing_new)
{
    script_fill_memory(f, true);
    assert_takes_nothing(f, "0");
    script_fill_memory(f, false);
    l3_acquire_first(f, "b1");
    script_fill_memory(f, true);
    assert_takes_nothing(f, "2");
    assert_like(l3_holders(f), "b1");
}

L3_TEST(on_a_full_server_what_is_there_goes_on)
{
    l3_two_wait(f);
    l3_acquire(f, "d1");
    script_fill_memory(f, true);
    assert_like(l3_keep(f, "a1", "90000"), "90000");
    assert_like(l3_run(f, "renew", "N", "90000", "", l3_claim("a1"), NULL),
                "0");
    assert_like(l3_touch(f, "b1"), "* 1");
    assert_like(l3_close(f, "a1"), "2");
    assert_like(l3_import(f, "b1", "b2"), "17*");
    assert_in_range(l3_number(
                        l3_run(f, "revoke", "N", l3_claim("b2"), "in:b", NULL)),
                    2, 3001);
    assert_like(l3_run(f, "force", "Nq", "", "in:", L3_CHANNEL, NULL), "11");
    assert_like(l3_next(f, "d1"), "2");
    assert_like(l3_park(f, "d1"), "0");
    assert_like(l3_give(f), "2");
    assert_like(l3_leave(f, "c1"), "5");
    assert_like(l3_close(f, "c1"), "1"); /* d is not heard */
    assert_like(l3_touch(f, "d1"), "-2 1");
    assert_like(l3_leave(f, "d1"), "-1");
    assert_like(l3_run(f, "forget", "Nqrx", L3_CHANNEL, L3_FAIR, NULL), "1");
}

/* ---- a replica ---- */

static void follow(script_fixture *f)
{
    script_redis(f, "REPLICAOF 127.0.0.1 1");
}

static void stop_following(script_fixture *f)
{
    script_redis(f, "REPLICAOF NO ONE");
}

static void assert_says_nothing(script_fixture *f)
{
    assert_like(l3_acquire(f, "d1"), READONLY);
    assert_like(l3_run(f, "lift", "r", NULL), READONLY);
    assert_like(l3_touch(f, "a1"), READONLY);
    assert_like(l3_touch(f, "b1"), READONLY);
    assert_like(l3_touch(f, "d1"), READONLY);
    assert_like(l3_next(f, "b1"), READONLY);
    assert_like(l3_park(f, "b1"), READONLY);
    assert_like(l3_give(f), READONLY);
    assert_like(l3_close(f, "a1"), READONLY);
    assert_like(l3_leave(f, "b1"), READONLY);
    assert_like(l3_keep(f, "a1", "90000"), READONLY);
    assert_like(l3_keep(f, "a1", "1"), READONLY);
    assert_like(l3_keep(f, "d1", "1"), READONLY);
    assert_like(l3_import(f, "a1", "d1"), READONLY);
    assert_like(l3_import(f, "d1", "d2"), READONLY);
    assert_like(l3_run(f, "renew", "N", "90000", "", l3_claim("a1"), NULL),
                READONLY);
    assert_like(l3_run(f, "renew", "N", "1", "", l3_claim("a1"), NULL),
                READONLY);
    assert_like(l3_run(f, "renew", "N", "1", "", l3_claim("d1"), NULL),
                READONLY);
    assert_like(l3_run(f, "revoke", "N", l3_claim("d1"), "in:d", NULL),
                READONLY);
    assert_like(l3_run(f, "force", "Nq", "", "in:", L3_CHANNEL, NULL),
                READONLY);
    assert_like(l3_run(f, "see", "Nqrx", L3_FAIR, NULL), READONLY);
    assert_like(l3_run(f, "forget", "Nqrx", L3_CHANNEL, L3_FAIR, NULL),
                READONLY);
}

/* Neither a hold nor a loss, nor that somebody waits: it may all be old. */
L3_TEST(a_replica_says_nothing_about_a_name)
{
    l3_two_wait(f);
    follow(f);
    assert_says_nothing(f);
    stop_following(f);
    assert_like(l3_holders(f), "a1");
    assert_like(l3_line(f), "b1 c1");
    assert_like(l3_heard(f), "");
    script_redis(f, "FLUSHALL");
    follow(f);
    assert_says_nothing(f);
    stop_following(f);
}

/* GT writes nothing where the end is further, and is refused all the same. */
L3_TEST(nor_does_it_renew_with_gt)
{
    l3_acquire_first(f, "a1");
    follow(f);
    assert_like(l3_run(f, "renew", "N", "1", "GT", l3_claim("a1"), NULL),
                "!*"); /* before 7.0 there is no GT */
    stop_following(f);
}

CHECK_GROUP(script_start_server, script_stop_server)
