/* SPDX-License-Identifier: MIT */

/* The read-write lock of layout 3: who comes in beside whom, upgrade, downgrade. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/layout3_rwlock.h"

/* ---- coming in ---- */

RW3_TEST(readers_share_a_name)
{
    assert_like(rw3_read(f, "a1"), "3");
    assert_like(rw3_read(f, "b1"), "3");
    assert_like(rw3_fields(f), "a1 b1 mode");
    assert_true(script_pttl(f, "n") > 2000);
    assert_true(rw3_timeout(f, "a1") > 2000);
    assert_like(rw3_write(f, "c1"), "-2");
    assert_like(rw3_read(f, "d1"), "-2"); /* a writer waits */
}

RW3_TEST(a_writer_is_alone)
{
    assert_like(rw3_write(f, "a1"), "1*");
    assert_like(rw3_fields(f), "a1:write mode");
    assert_like(rw3_read(f, "b1"), "-2");
    assert_like(rw3_write(f, "c1"), "-2");
}

RW3_TEST(a_writer_may_read_beside_itself)
{
    rw3_write(f, "a1");
    assert_like(rw3_read_beside(f, "a2", "a1"), "1*");
    assert_like(rw3_keep_write(f, "a1", "9000", "a2"), "9000");
    assert_like(rw3_keep_write(f, "a1", "9000", NULL), "-1");
    assert_like(rw3_close_write(f, "a1", "a2"), "1");
    assert_like(rw3_fields(f), "a2 mode");
    assert_like(rw3_keep_read(f, "a2", "9000"), "9000");
}

RW3_TEST(a_name_of_another_kind_is_told)
{
    script_redis(f, "HSET n a 1");
    assert_like(rw3_read(f, "a1"), "!LKKIND *");
    assert_like(rw3_write(f, "a1"), "!LKKIND *");
    assert_like(rw3_next(f), "!LKKIND *");
    assert_like(rw3_fields(f), "a");
}

/* ---- handing over ---- */

RW3_TEST(the_last_reader_lets_the_first_writer_in)
{
    rw3_hear(f, "cd");
    rw3_read(f, "a1");
    rw3_read(f, "b1");
    rw3_write(f, "c1");
    rw3_write(f, "d1");
    assert_like(rw3_close_read(f, "a1"), "1");
    assert_like(rw3_close_read(f, "b1"), "2");
    assert_like(rw3_heard(f), "in:c gc1 1* n\n");
    assert_like(rw3_fields(f), "c1:write mode");
    assert_like(rw3_close_read(f, "b1"), "0");
}

RW3_TEST(a_writer_lets_all_readers_in)
{
    rw3_hear(f, "bcd");
    rw3_write(f, "a1");
    rw3_read(f, "b1");
    rw3_read(f, "c1");
    rw3_write(f, "d1");
    assert_like(rw3_close_write(f, "a1", NULL), "2");
    assert_like(rw3_heard(f), "in:b gb1 1* n\nin:c gc1 1* n\n");
    assert_like(rw3_fields(f), "b1 c1 mode");
    assert_true(rw3_timeout(f, "c1") > 2000);
    assert_like(rw3_close_read(f, "b1"), "1");
    assert_like(rw3_close_read(f, "c1"), "2");
    assert_like(rw3_fields(f), "d1:write mode");
}

RW3_TEST(unheard_ones_are_parked_and_come_back)
{
    rw3_hear(f, "c");
    rw3_write(f, "a1");
    rw3_read(f, "b1");
    rw3_read(f, "c1");
    assert_like(rw3_close_write(f, "a1", NULL), "2");
    assert_like(rw3_fields(f), "c1 mode");
    assert_like(rw3_touch(f, "3", "b1"), "* 3");
    assert_like(rw3_touch(f, "3", "b1"), "* 2"); /* no writer waits: next */
    rw3_hear(f, "b");
    assert_like(rw3_next(f), "4");
    assert_like(rw3_admit(f), "2");
    assert_like(rw3_fields(f), "b1 c1 mode");
}

/* 64 in a call: the others are due before the writer that waits. */
RW3_TEST(readers_behind_the_64th_are_due)
{
    char claim[8];

    rw3_hear(f, "bd");
    rw3_write(f, "a1");
    for (int i = 1; i <= 66; i++) {
        snprintf(claim, sizeof(claim), "b%d", i);
        rw3_read(f, claim);
    }
    rw3_write(f, "d1");
    assert_like(rw3_close_write(f, "a1", NULL), "3");
    rw3_read(f, "c1"); /* behind the marker */
    assert_like(rw3_next(f), "4");
    assert_like(rw3_admit(f), "2");
    assert_like(script_redis(f, "HLEN n"), "67");
    assert_like(rw3_lines(f), "d1 | c1 |");
    assert_like(rw3_next(f), "0");
}

/* ---- the dead ---- */

RW3_TEST(a_dead_reader_keeps_no_writer_out)
{
    rw3_hear(f, "c");
    rw3_read(f, "a1");
    rw3_read(f, "b1");
    rw3_keep_read(f, "b1", "600000");
    rw3_write(f, "c1");
    script_redis(f, "DEL %s", rw3_timeout_key("b1"));
    assert_like(rw3_close_read(f, "a1"), "1");
    assert_like(rw3_touch(f, "2", "c1"), "* 2");
    assert_like(rw3_next(f), "2");
    assert_like(rw3_fields(f), "c1:write mode");
}

RW3_TEST(the_hash_lives_no_longer_than_its_readers)
{
    rw3_read(f, "a1");
    rw3_read(f, "b1");
    rw3_keep_read(f, "b1", "600000");
    rw3_close_read(f, "b1");
    assert_true(script_pttl(f, "n") > 500000);
    assert_like(rw3_next(f), "1");
    assert_true(script_pttl(f, "n") <= 3000);
    assert_like(rw3_fields(f), "a1 mode");
}

RW3_TEST(mode_alone_is_nobody)
{
    rw3_write(f, "a1");
    script_redis(f, "HDEL n %s:write", rw3_claim("a1"));
    assert_like(rw3_next(f), "1");
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- what is told ---- */

RW3_TEST(a_reader_is_told_the_earlier_end)
{
    rw3_read(f, "a1");
    rw3_read(f, "b1");
    rw3_keep_read(f, "b1", "600000");
    rw3_touch(f, "3", "a1");
    assert_true(script_item(f, 0) <= 3000);
    script_redis(f, "PEXPIRE n 500");
    assert_like(rw3_keep_read(f, "a1", "9000"), "9000");
    assert_true(script_pttl(f, "n") > 8000);
}

RW3_TEST(a_touch_says_who_is_over)
{
    rw3_read(f, "a1");
    assert_like(rw3_touch(f, "3", "a1"), "* 3");
    script_redis(f, "DEL %s", rw3_timeout_key("a1"));
    assert_like(rw3_touch(f, "3", "a1"), "* 0");
    assert_like(rw3_touch(f, "2", "b1"), "* 0");
}

/* ---- upgrade and downgrade ---- */

RW3_TEST(one_upgradeable_reader_reads_beside_others)
{
    rw3_read(f, "a1");
    assert_like(rw3_up(f, "b1"), "3");
    assert_like(rw3_up(f, "c1"), "-2");
    assert_like(rw3_read(f, "d1"), "3");
    assert_like(rw3_lines(f), "| ups | c1");
    rw3_hear(f, "c");
    assert_like(rw3_close_read(f, "b1"), "1");
    assert_like(rw3_admit(f), "2");
    assert_like(rw3_fields(f), "a1 c1 d1 mode");
}

RW3_TEST(alone_it_is_upgraded_at_once)
{
    rw3_up(f, "a1");
    rw3_keep_read(f, "a1", "600000");
    assert_like(rw3_upgrade(f, "a1", "a2"), "1*");
    assert_like(rw3_fields(f), "a2:write mode");
    /* Its client may believe in its read: the hash is not shortened. */
    assert_true(script_pttl(f, "n") > 500000);
    assert_like(script_redis(f, "EXISTS %s", rw3_timeout_key("a1")), "0");
}

RW3_TEST(otherwise_it_waits_for_the_others_and_reads_on)
{
    rw3_hear(f, "a");
    rw3_up(f, "a1");
    rw3_read(f, "b1");
    assert_like(rw3_upgrade(f, "a1", "a2"), "0");
    assert_like(rw3_read(f, "c1"), "-2");
    assert_like(rw3_keep_read(f, "a1", "600000"), "600000");
    assert_like(rw3_close_read(f, "b1"), "3");
    assert_like(rw3_next(f), "2");
    assert_like(rw3_heard(f), "in:a ga2u 1* n\n");
    assert_like(rw3_fields(f), "a2:write mode");
    assert_true(script_pttl(f, "n") > 500000);
}

/* Undone, it would let another in beside a read that its client believes in. */
RW3_TEST(an_upgrade_that_nobody_heard_stays)
{
    rw3_up(f, "a1");
    rw3_read(f, "b1");
    rw3_upgrade(f, "a1", "a2");
    rw3_close_read(f, "b1");
    assert_like(rw3_next(f), "2");
    assert_like(rw3_fields(f), "a2:write mode");
    assert_like(rw3_touch(f, "2", "a2u"), "* 1*");
}

RW3_TEST(who_is_no_upgradeable_reader_is_not_upgraded)
{
    rw3_read(f, "a1");
    assert_like(rw3_upgrade(f, "a1", "a2"), "-1");
    rw3_up(f, "b1");
    script_redis(f, "DEL %s", rw3_timeout_key("b1"));
    assert_like(rw3_upgrade(f, "b1", "b2"), "-1");
    assert_like(rw3_lines(f), "| |");
}

RW3_TEST(an_upgrade_whose_reader_is_gone_is_over)
{
    rw3_up(f, "a1");
    rw3_read(f, "b1");
    rw3_upgrade(f, "a1", "a2");
    rw3_close_read(f, "a1");
    rw3_close_read(f, "b1");
    rw3_next(f);
    assert_like(script_redis(f, "EXISTS n"), "0");
    assert_like(rw3_lines(f), "| |");
}

RW3_TEST(a_downgrade_reads_and_lets_readers_in)
{
    rw3_hear(f, "b");
    rw3_write(f, "a1");
    rw3_keep_write(f, "a1", "600000", NULL);
    rw3_read(f, "b1");
    rw3_write(f, "c1");
    assert_like(rw3_downgrade(f, "a1", "a2"), "-1*");
    assert_like(rw3_fields(f), "a2 mode");
    assert_true(script_pttl(f, "n") > 500000);
    assert_like(rw3_admit(f), "2");
    assert_like(rw3_fields(f), "a2 b1 mode");
    assert_like(rw3_downgrade(f, "a1", "a3"), "0");
}

RW3_TEST(a_replica_says_nothing)
{
    rw3_write(f, "a1");
    script_redis(f, "REPLICAOF 127.0.0.1 1");
    assert_like(rw3_touch(f, "2", "b1"), "!READONLY*");
    assert_like(rw3_close_read(f, "b1"), "!READONLY*");
    assert_like(rw3_close_write(f, "b1", NULL), "!READONLY*");
    assert_like(rw3_keep_read(f, "b1", "1"), "!READONLY*");
    assert_like(rw3_keep_write(f, "b1", "1", NULL), "!READONLY*");
    assert_like(rw3_downgrade(f, "b1", "b2"), "!READONLY*");
    assert_like(rw3_upgrade(f, "b1", "b2"), "!READONLY*");
    script_redis(f, "REPLICAOF NO ONE");
    assert_like(rw3_fields(f), "a1:write mode");
}

int test_layout3_rwlock(void)
{
    return check_all(script_start_server, script_stop_server);
}
