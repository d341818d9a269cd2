/* SPDX-License-Identifier: MIT */

/*
 * Numbers at their end. Lua tells whole numbers apart up to 2^53 - 1. No clock
 * comes there before the year 2255, but anybody may set a counter to it: then
 * nothing is granted, for the next grants would all have one fence.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/latch_script.h"
#include "support/rw_script.h"
#include "support/script.h"

#define LAST "9007199254740991"

static const char ended[] = "!LKRANGE *";

/* ---- the read-write lock ---- */

RW_TEST(a_writer_has_no_fence_beyond_the_last)
{
    assert_like(rw_acquire(f, "w:1", "w"), "1 *");
    rw_release(f, "w:1", NULL);
    rw_set_fence(f, LAST);
    assert_like(rw_acquire(f, "w:2", "w"), ended);
    f->interop = "1"; /* not by the quick road */
    assert_like(rw_acquire(f, "w:3", "w"), ended);
    assert_like(script_redis(f, "EXISTS n"), "0");
}

/* ---- the latch ---- */

SCRIPT_TEST(a_latch_has_no_generation_beyond_the_last)
{
    assert_like(latch_set(f, "op:1", "2"), "1 0");
    latch_put(f, "gen", strtoll(LAST, NULL, 10));
    assert_like(latch_reset(f, "op:2", "2"), ended);
}

/* ---- what is forgotten in one call ---- */

/* Changes of an hour ago, by many clients. */
static void fill(script_fixture *f, const char *key)
{
    script_redis(f, "EVAL %s 1 %s %lld",
                 "for i = 1, 10000 do redis.call('HSET', KEYS[1], 'old:' .. i,"
                 " ARGV[1] .. ' done') end",
                 key, script_now_ms(f) - 3600000);
}

static void forgets_few(script_fixture *f)
{
    latch_set(f, "op:1", "2");
    fill(f, LATCH_MEMO);
    script_redis(f, "HSET %s # %s", LATCH_MEMO, "1 0"); /* a sweep is due */
    assert_like(latch_down(f, "op:2", "1"), "1 0");
    assert_in_range(script_number(f, "HLEN %s", LATCH_MEMO), 9700, 9990);
}

SCRIPT_TEST(a_count_forgets_few_of_many_old_ones)
{
    forgets_few(f);
}

/* All of it is answered at once, more than Lua takes as arguments. */
SCRIPT_TEST(so_it_does_where_they_are_kept_in_one_piece)
{
    script_redis(f, "CONFIG SET hash-max-ziplist-entries 20000");
    forgets_few(f);
    script_redis(f, "CONFIG SET hash-max-ziplist-entries 128");
}

CHECK_GROUP(script_start_server, script_stop_server)
