/* SPDX-License-Identifier: MIT */

/* What is left of a latch that is forgotten, and which one is not. */

#include <stdio.h>

#include "support/check.h"
#include "support/latch_script.h"

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

static const char *dump(script_fixture *f)
{
    return script_redis(f, "EVAL %s 0",
                        "local all = redis.call('KEYS', '*') "
                        "table.sort(all) for i, k in ipairs(all) do "
                        "all[i] = k .. ' ' .. redis.sha1hex("
                        "redis.call('DUMP', k)) end return all");
}

/* Forgetting says so and changes nothing at all. */
static void assert_latch_stays(script_fixture *f, const char *answer)
{
    char before[2048];

    snprintf(before, sizeof(before), "%s", dump(f));
    assert_like(latch_forget(f), answer);
    assert_string_equal(dump(f), before);
}

SCRIPT_TEST(a_latch_that_is_open_is_forgotten)
{
    latch_arrive(f, "op:1", "1", "one");
    script_listen(f, LATCH_NEWS); /* a waiter hears that it is open */
    script_fill_memory(f, true);
    assert_like(latch_forget(f), "2");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "KEYS *"), LATCH_MEMO);
    assert_like(latch_try(f, "u:1"), "3 -1");
}

SCRIPT_TEST(an_armed_latch_is_forgotten_if_nobody_waits)
{
    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    assert_latch_stays(f, "3 1");
    latch_leave(f, "u:1");
    script_listen(f, LATCH_REDISSON);
    assert_latch_stays(f, "3 1");
    script_deafen(f, LATCH_REDISSON);
    script_listen(f, LATCH_NEWS);
    assert_latch_stays(f, "3 1");
    script_deafen(f, LATCH_NEWS);
    script_deny(f, "del");
    assert_latch_stays(f, cannot);
    script_deny(f, NULL);
    assert_like(latch_forget(f), "2");
    assert_like(script_redis(f, "KEYS *"), LATCH_MEMO);
    assert_like(latch_wait(f, "u:1"), "2 -1 * - 0 0"); /* unset, not open */
}

/* They learn it by looking, and nothing would be there to look at. */
SCRIPT_TEST(an_opening_is_not_taken_away_from_those_who_wait)
{
    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    redisson_down(f);
    assert_latch_stays(f, "3 1");
    latch_leave(f, "u:1");
    script_listen(f, LATCH_NEWS);
    assert_latch_stays(f, "3 1");
    assert_like(latch_look(f, "u:1"), "1 *");
    assert_like(latch_forget(f), "2");
}

/* Those who could not be told are in the list still. */
SCRIPT_TEST(nor_where_the_list_could_not_be_emptied)
{
    latch_set(f, "op:1", "1");
    latch_wait(f, "u:1");
    script_redis(f, "COPY " LATCH_QUEUE " kept:{n}");
    latch_down(f, "op:2", "1");
    script_redis(f, "RENAME kept:{n} " LATCH_QUEUE);
    assert_latch_stays(f, "3 1");
    latch_leave(f, "u:1");
    assert_like(latch_forget(f), "2");
}

/* More of them than are listed. */
SCRIPT_TEST(the_dead_do_not_keep_a_latch)
{
    char claim[16];

    latch_set(f, "op:1", "2");
    for (int i = 0; i < 100; i++) {
        (void)snprintf(claim, sizeof(claim), "u%d:1", i);
        latch_wait(f, claim);
        latch_age(f, claim, 14000);
    }
    latch_wait(f, "v:1");
    assert_latch_stays(f, "3 1");
    assert_like(latch_info(f), "3 1 () (v:1 1 0 * because \"\")");
    latch_leave(f, "v:1");
    assert_like(latch_forget(f), "2");
}

/* Of one who died a moment ago that is not known yet. */
SCRIPT_TEST(a_latchs_waiter_counts_for_thirteen_seconds)
{
    latch_set(f, "op:1", "2");
    latch_wait(f, "u:1");
    latch_age(f, "u:1", 5000);
    assert_latch_stays(f, "3 1");
    latch_age(f, "u:1", 14000);
    assert_like(latch_forget(f), "2");
}

SCRIPT_TEST(what_is_no_latch_of_ours_stays)
{
    static const char *const keys[] = {"n", LATCH_QUEUE, LATCH_ARRIVED};

    redisson_set(f, "3");
    assert_latch_stays(f, "1");
    server_flush(f->server);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        latch_set(f, "op:1", "2");
        script_redis(f, "DEL %s", keys[i]);
        script_redis(f, "RPUSH %s other", keys[i]);
        assert_latch_stays(f, "!*TYPE*");
        server_flush(f->server);
    }
}

/* Fences of another kind go on from there. */
SCRIPT_TEST(fences_outlive_the_latch)
{
    script_redis(f, "SET " LATCH_RECORD " %s",
                 "2l 77 63 0 - - - 0 - - - 0 0 - - ");
    latch_set(f, "op:1", "1");
    latch_down(f, "op:2", "1");
    assert_like(latch_forget(f), "2");
    assert_like(script_redis(f, "GET " LATCH_RECORD), "2- 77 63 *");
    assert_in_range(latch_pttl(f, LATCH_RECORD), 3500000, 3600000);
}

/* Of a slot that is half moved a master knows no key that is not there. */
SCRIPT_TEST(fences_outlive_it_while_the_slot_moves)
{
    script_redis(f, "SET " LATCH_RECORD " %s",
                 "2l 77 63 0 - - - 0 - - - 0 0 - - ");
    latch_set(f, "op:1", "1");
    snprintf(f->stamp, sizeof(f->stamp),
             "local R = redis local redis = setmetatable({pcall = "
             "function(what, key, ...) if what == 'SET' and R.call('EXISTS', "
             "key) == 0 then return R.error_reply('ERR a non local key') end "
             "return R.pcall(what, key, ...) end}, {__index = R}) ");
    assert_like(latch_forget(f), "2");
    f->stamp[0] = '\0';
    assert_like(script_redis(f, "GET " LATCH_RECORD), "2- 77 63 *");
}

SCRIPT_TEST(a_full_server_keeps_the_fences)
{
    script_redis(f, "SET " LATCH_RECORD " %s",
                 "2l 77 63 0 - - - 0 - - - 0 0 - - ");
    latch_set(f, "op:1", "1");
    script_fill_memory(f, true);
    assert_like(latch_forget(f), "2");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "GET " LATCH_RECORD), "2- 77 63 *");
}

CHECK_GROUP(script_start_server, script_stop_server)
