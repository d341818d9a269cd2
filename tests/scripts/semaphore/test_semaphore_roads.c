/* SPDX-License-Identifier: MIT */

/* The short roads of semaphore_acquire and semaphore_close: a free permit, a place
   behind ours, the end of a hold, and a hand-over. Whatever is tried goes down both
   roads, and leaves the same. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/permits.h"

enum { SEEN = 16384, STEPS = 5 };

/* Has a script find, for its short road alone, that there is no number: which each
   asks for first. */
#define LONG_CALL                                                              \
    "if name == 'MGET' and not seen then seen = true return {false} end "
#define LONG_PCALL                                                             \
    "if name == 'MGET' and not seen then seen = true return {false} end "

/* The clock stands still, and what is left of a life is told in tens of seconds. */
static void take_road(script_fixture *f, bool is_long, bool closes)
{
    snprintf(f->stamp, sizeof(f->stamp),
             "local R, seen = redis, false local redis = setmetatable({call = "
             "function(name, ...) %sif name == 'TIME' then return {1700000000, "
             "123456} end local all = R.call(name, ...) if name == 'PTTL' and "
             "all > 0 then all = math.floor(all / 10000 + 0.5) * 10000 end "
             "return all end, pcall = "
             "function(name, ...) %sreturn R.pcall(name, ...) end}, "
             "{__index = R}) ",
             is_long && !closes ? LONG_CALL : "",
             is_long && closes ? LONG_PCALL : "");
}

/* Adds an answer without the place in the script where an error arose, all keys
   but a queue that has marks alone, which the long road deletes, with what they hold and for how many times ten seconds they live, and what was heard. */
static void note(script_fixture *f, char *seen, const char *answer)
{
    size_t used = strlen(seen);
    const char *place = strstr(answer, " script:");
    int length = (int)(place != NULL ? place - answer : (long)strlen(answer));

    used +=
        (size_t)snprintf(seen + used, SEEN - used, "%.*s\n", length, answer);
    used += (size_t)snprintf(
        seen + used, SEEN - used, "%s\n",
        script_redis(
            f, "EVAL %s 0",
            "local all, told = redis.call('KEYS', '*'), {} table.sort(all) "
            "for _, key in ipairs(all) do "
            "local kind, value = redis.call('TYPE', key).ok, '' "
            "if kind == 'hash' then value = redis.call('HGETALL', key) "
            "elseif kind == 'string' then value = {redis.call('GET', key)} "
            "else value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') end "
            "local text = string.gsub(table.concat(value, ','), '[^%w%p ]', "
            "'_') "
            "if not string.find(key, ':q$') or kind ~= 'zset' or redis.call("
            "'ZCOUNT', key, 0, '+inf') > 0 then "
            "told[#told + 1] = key .. ' = ' .. text .. ' ' .. "
            "math.floor(redis.call('PTTL', key) / 10000 + 0.5) end end "
            "return table.concat(told, '; ')"));
    snprintf(seen + used, SEEN - used, "%s", script_heard(f));
}

/* How many permits there are, and what is done: three ask one after the other, and
   two give back. Before each step a command may be given, behind the back of all;
   one step may lack a right. */
typedef struct trial {
    int n;
    permits_wish wish;
    int need; /* 0: one */
    const char *before[STEPS];
    const char *record; /* NULL: as it is */
    int record_at;
    const char *denied;
    int denied_at;
    const char *member; /* one more, before the first gives back; NULL: none */
    const char *score;
    int64_t fence; /* of what is given back; 0: its own */
    bool interop;
    bool is_deaf;    /* nobody listens to the second */
    bool asks_again; /* the second, in the place of the third */
} trial;

static const char *do_step(script_fixture *f, const trial *t, int step)
{
    static const char *const claims[] = {"u0:1", "u1:1", "u2:1"};
    int need = step == 1 && t->need != 0 ? t->need : 1;
    /* The first one makes the record, of whatever number there is. */
    permits_wish wish =
        step > 0 ? t->wish : (permits_wish){.lease = t->wish.lease};

    if (step == 2 && t->asks_again)
        return permits_acquire_with(f, claims[1], need, wish);
    if (step < 3)
        return permits_acquire_with(f, claims[step], need, wish);
    return permits_release(f, claims[step - 3],
                           t->fence != 0 ? t->fence
                                         : permits_fence(f, claims[step - 3]));
}

static void play(script_fixture *f, const trial *t, bool is_long, char *seen)
{
    seen[0] = '\0';
    script_redis(f, "FLUSHALL");
    script_redis(f, "SET n %d", t->n);
    f->interop = t->interop ? "1" : "0";
    script_listen(f, t->is_deaf ? "latchkey:in::u7" : "latchkey:in::u1");
    script_listen(f, "latchkey:in::u2");
    for (int step = 0; step < STEPS; step++) {
        take_road(f, is_long, step >= 3);
        if (t->before[step] != NULL)
            script_redis(f, t->before[step]);
        if (t->record != NULL && t->record_at == step)
            script_redis(f, "SET latchkey:{n}:r %s PX 3600000", t->record);
        if (t->member != NULL && step == 3)
            script_redis(f, "ZADD latchkey:{n}:q %s %s", t->score, t->member);
        script_deny(f, t->denied_at == step ? t->denied : NULL);
        note(f, seen, do_step(f, t, step));
        script_deny(f, NULL);
    }
    script_listen(f, "aside");
    script_deafen(f, t->is_deaf ? "latchkey:in::u7" : "latchkey:in::u1");
    script_deafen(f, "latchkey:in::u2");
    f->interop = "0";
}

static void compare(script_fixture *f, trial t)
{
    static char quick[SEEN], whole[SEEN];

    for (t.n = 1; t.n <= 3; t.n++) {
        play(f, &t, false, quick);
        play(f, &t, true, whole);
        assert_string_equal(quick, whole);
    }
}

PERMITS_TEST(whatever_is_asked_both_roads_do_the_same)
{
    static const char sets[] = "-scr";

    compare(f, (trial){.fence = 77});
    compare(f, (trial){.is_deaf = true});
    compare(f, (trial){.asks_again = true});
    compare(f, (trial){.asks_again = true,
                       .before = {[2] = "DEL latchkey:{n}:h"}});
    compare(f, (trial){.interop = true});
    /* The leases have ended, but for the skew. */
    compare(f, (trial){.interop = true,
                       .before = {[2] = "ZUNIONSTORE {n}:timeout 1 {n}:timeout "
                                        "WEIGHTS 0.99999998"}});
    compare(f, (trial){.need = 2});
    compare(f, (trial){.wish = {.tries = true}});
    compare(f, (trial){.wish = {.lease = 1000}});
    compare(f, (trial){.wish = {.lease = 10000000, .reason = "a b"}});
    for (size_t i = 0; sets[i] != '\0'; i++) {
        compare(f, (trial){.wish = {.sets = sets[i], .number = 2}});
    }
}

/* Records that the second finds. */
#define MEMBER     "u8:1 0123456789abcdef p 1 5000 - p why"
#define OLD_LAYOUT "1p 500 0 7 - - 1,5 1700000000000 " MEMBER

PERMITS_TEST(whatever_the_record_says_both_roads_do_the_same)
{
    static const char *const records[] = {
        "2p 500 0 7 - - 2,1700000009000 1700000000000 " MEMBER,
        "2p 500 3 9999999999999 v - 2,1800000000000 1700000000000 " MEMBER,
        "2p 500 0 7 - - 9,1700000009000 1700000000000 " MEMBER,
        "2p 500 0 7 - - - 1700000000000 " MEMBER,
        "2p 9007199254740991 0 7 - - 2,1700000009000 1700000000000 " MEMBER,
        "2p 500 0 281474976710655 - - 2,5 1700000000000 " MEMBER,
        "2p 500 0 106250000000000 - - 2,5 1700000000000 " MEMBER,
        "2p 500 0 106260000000000 - - 2,5 1700000000000 " MEMBER,
        "2p 500 0 7 - o,1700000000000,500,0,0 2,5 1700000000000 " MEMBER,
        "2p 500 0 7 - t,1700000000000,-1,0,0 2,5 1700000000000 " MEMBER,
        "2w 500 63 7 - - - 1700000000000 " MEMBER,
        "2w 500 63 999999999999999 - - 2,5 1700000000000 " MEMBER,
    };

    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        for (int step = 1; step < STEPS; step++)
            compare(f, (trial){.record = records[i], .record_at = step});
    }
    /* There are fewer than the second needs. */
    compare(f, (trial){.record = "2p 500 0 7 - - 0,5 1700000000000 " MEMBER,
                       .record_at = 1,
                       .before = {[1] = "DECRBY n 1"}});
    compare(f, (trial){.record = OLD_LAYOUT,
                       .record_at = 1,
                       .before = {[3] = "DEL latchkey:{n}:r"}});
    for (int step = 1; step < STEPS; step++)
        compare(f, (trial){.record = OLD_LAYOUT, .record_at = step});
    compare(f, (trial){.record = "nonsense",
                       .record_at = 1,
                       .before = {[3] = "DEL latchkey:{n}:r"}});
}

PERMITS_TEST(whatever_is_denied_both_roads_do_the_same)
{
    static const char *const commands[] = {"zadd", "hset",   "pexpire",
                                           "set",  "zrem",   "incrby",
                                           "hdel", "publish"};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        for (int step = 1; step < STEPS; step++)
            compare(f, (trial){.denied = commands[i], .denied_at = step});
    }
}

/* Tickets and scores of the clock that stands still. */
#define TICKET     "387724976710656" /* of 1700000000000 ms, in band 1 */
#define OLD_TICKET "387724976085656" /* of 10 s before that */

PERMITS_TEST(whatever_changed_meanwhile_both_roads_do_the_same)
{
    static const char *const spoils[] = {
        "DEL {n}:timeout",
        "DEL latchkey:{n}:h",
        "DEL latchkey:{n}:q",
        "DEL latchkey:{n}:r",
        "COPY latchkey:{n}:h latchkey:{n}:r REPLACE",
        "DEL n",
        "INCRBY n 1",
        "DECRBY n 3",
        "SET n 0x1",
        "PEXPIRE n 50000",
        "SET latchkey:{n}:h text",
        "SET {n}:timeout text",
        "SET latchkey:{n}:q text",
        "PEXPIRE latchkey:{n}:h 9000000",
        "HSET latchkey:{n}:h stale 1",
        "ZUNIONSTORE {n}:timeout 1 {n}:timeout WEIGHTS 0.5",
        "ZUNIONSTORE {n}:timeout 1 {n}:timeout WEIGHTS 20",
        "ZADD {n}:timeout 1699999999000 theirs",
        "ZADD {n}:timeout 1700000000123 theirs",
        "ZADD {n}:timeout 1700000000124 theirs",
        "ZADD {n}:timeout 1800000000000 theirs",
        "ZADD {n}:timeout 99999999999999 theirs",
        ("ZADD latchkey:{n}:q " TICKET " stranger"),
        "ZADD latchkey:{n}:q 9007199254740000 void",
        "ZADD latchkey:{n}:q -1600000000000 u9",
    };

    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        for (int step = 1; step < STEPS; step++) {
            trial t = {.n = 0};

            t.before[step] = spoils[i];
            compare(f, t);
        }
    }
}

PERMITS_TEST(whoever_stands_first_both_roads_do_the_same)
{
    static const char *const members[] = {
        "u1:5 0123456789abcdef p 1 5000 - p a reason",
        "u1:5 0123456789abcdef p 1 5000 s p ",
        "u1:5 0123456789abcdef p 1 1000 - p ",
        "u1:5 0123456789abcdef p 2 5000 - p ",
        "u1:5 0123456789abcdef l 1 5000 - p ",
        "u1:5 0123456789abcdef p 1 1234567890123 - p ",
        "u1 0123456789abcdef p 1 5000 - p ",
        "u7:5 0123456789abcdef p 1 5000 - p ",
        "u0:1 0123456789abcdef p 1 5000 - p ",
    };
    static const char *const scores[] = {TICKET, OLD_TICKET};
    static const char *const marks[] =
        {NULL, "ZADD latchkey:{n}:q -1700000000100 u1",
         "ZADD latchkey:{n}:q -1700000005000 u1",
         "ZADD latchkey:{n}:q -1699999900000 u1"};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        for (int k = 0; k < 8; k++) {
            trial t = {.member = members[i], .score = scores[k / 4]};

            t.before[3] = marks[k % 4];
            compare(f, t);
        }
    }
}

PERMITS_TEST(beside_redisson_both_roads_do_the_same)
{
    script_listen(f, f->channel);
    compare(f, (trial){.n = 0});
    compare(f, (trial){.interop = true});
    script_deafen(f, f->channel);
}

static bool was_called(script_fixture *f, const char *command)
{
    char line[64];

    snprintf(line, sizeof(line), "cmdstat_%s:", command);
    return strstr(script_redis(f, "INFO commandstats"), line) != NULL;
}

/* Else the others here would be of the long roads alone. */
PERMITS_TEST(the_short_roads_are_gone)
{
    int64_t fence;

    script_listen(f, "latchkey:in::u1");
    permits_set(f, 2);
    permits_acquire(f, "u0:1", 1);
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(permits_acquire(f, "u0:2", 1), "1 * 30000");
    fence = script_item(f, 1);
    assert_like(permits_acquire(f, "u1:1", 1), "2 * 0");
    assert_like(permits_acquire(f, "u1:2", 1), "2 * 0");
    assert_false(was_called(f, "zscore"));
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(permits_release(f, "u0:2", fence), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:in::u1 grant *");
    assert_false(was_called(f, "zmscore"));
    permits_age(f, "u1:2", 5000);
    script_redis(f, "ZADD latchkey:{n}:q -%lld u1", script_now_ms(f));
    fence = permits_fence(f, "u0:1");
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(permits_release(f, "u0:1", fence), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:in::u1 grant *");
    assert_false(was_called(f, "zmscore"));
    assert_books(f, 2, 0);
}

PERMITS_TEST(a_record_of_another_layout_stops_a_hand_over)
{
    script_listen(f, "latchkey:in::u1");
    permits_set(f, 1);
    permits_acquire(f, "u0:1", 1);
    permits_acquire(f, "u1:1", 1);
    script_redis(f, "SET latchkey:{n}:r %s", OLD_LAYOUT);
    assert_like(permits_release(f, "u0:1", 0), "!LKLAYOUT *");
    assert_string_equal(script_heard(f), "");
    assert_like(permits_waiting(f), "u1:1");
    assert_books(f, 1, 0);
}

PERMITS_TEST(a_full_server_lets_a_hand_over_through_alone)
{
    script_listen(f, "latchkey:in::u1");
    permits_set(f, 1);
    permits_acquire(f, "u0:1", 1);
    permits_acquire(f, "u1:1", 1);
    script_fill_memory(f, true);
    assert_like(permits_acquire(f, "u1:2", 1), "!OOM*");
    assert_like(permits_release(f, "u0:1", 0), "1 2 0 0");
    assert_like(script_heard(f), "latchkey:in::u1 grant *");
    assert_like(permits_waiting(f), "");
    script_fill_memory(f, false);
    assert_books(f, 1, 0);
}

PERMITS_TEST(a_full_server_lets_a_permit_come_back)
{
    permits_set(f, 2);
    permits_acquire(f, "u0:1", 1);
    script_fill_memory(f, true);
    assert_like(permits_release(f, "u0:1", 0), "1 2 0 0");
    script_fill_memory(f, false);
    assert_books(f, 2, 2);
}

/* Whoever made the name a latch has one that is as it was. */
PERMITS_TEST(a_permit_does_not_come_back_to_another_kind)
{
    permits_set(f, 1);
    permits_acquire(f, "u0:1", 1);
    script_redis(f, "DEL n");
    script_redis(f, "SET n 3");
    permits_put_layout(f, "2t");
    assert_like(permits_release(f, "u0:1", 0), "!LKTYPE *");
    assert_like(script_redis(f, "GET n"), "3");
}

PERMITS_TEST(permits_without_a_record_come_back_by_the_short_road)
{
    int64_t fence;

    permits_set(f, 1);
    permits_acquire(f, "u0:1", 1);
    fence = script_item(f, 1);
    script_redis(f, "DEL latchkey:{n}:r");
    script_redis(f, "CONFIG RESETSTAT");
    assert_like(permits_release(f, "u0:1", fence), "1 2 0 0");
    assert_false(was_called(f, "zmscore"));
    assert_books(f, 1, 1);
}

/* What stopped the short road does not stop the other. */
PERMITS_TEST(a_hand_over_that_is_made_anew_keeps_the_number)
{
    script_listen(f, "latchkey:in::u1");
    permits_set(f, 1);
    permits_acquire(f, "u0:1", 1);
    permits_acquire(f, "u1:1", 1);
    snprintf(f->stamp, sizeof(f->stamp), "%s",
             "local R, seen = redis, false local redis = setmetatable({pcall = "
             "function(name, ...) if name == 'SET' and not seen then "
             "seen = true return {err = 'DENIED'} end "
             "return R.pcall(name, ...) end}, {__index = R}) ");
    assert_like(permits_release(f, "u0:1", 0), "1 2 0 0");
    f->stamp[0] = '\0';
    assert_like(permits_waiting(f), "");
    assert_like(script_redis(f, "GET latchkey:{n}:r"), "2p * 1,*");
    assert_books(f, 1, 0);
}

CHECK_GROUP(script_start_server, script_stop_server)
