/* SPDX-License-Identifier: MIT */

/*
 * The quick roads through lock_acquire and lock_release: they are taken where
 * everything is plain, and leave, say and answer what the long ones do.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/script.h"

/* What a hand-over or a place in the queue leaves behind, but for times. */
typedef struct traces {
    char answer[256];
    char lock[64];
    char state[1024];
    char line[256];
    char heard[512];
    int published;
} traces;

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* The state hash but for the times in it; text is the caller's. */
static void state_text(script_fixture *f, char *text, size_t size)
{
    snprintf(text, size, "%s | ",
             script_redis(f,
                          "HMGET %s v claim ticket lease inbox reason open "
                          "until",
                          f->keys[KEY_STATE]));
    text += strlen(text);
    snprintf(text, size / 2, "%s, %lld",
             script_redis(f, "HLEN %s", f->keys[KEY_STATE]),
             strtoll(script_redis(f, "PTTL %s", f->keys[KEY_STATE]), NULL, 10) /
                 100000);
}

/* With a tombstone of somebody's in the way the long road is taken. */
static void the_quick_road_leaves_what_the_long_one_does(void **state)
{
    script_fixture *f = *state;
    char quick[2048] = "";
    char thorough[2048] = "";

    script_acquire_with(f, "u:1", "40000", "1", "in", "why", "1");
    state_text(f, quick, sizeof(quick));
    script_redis(f, "FLUSHALL");
    script_redis(f, "ZADD %s 9 somebody", f->keys[KEY_VOID]);
    script_acquire_with(f, "u:1", "40000", "1", "in", "why", "1");
    state_text(f, thorough, sizeof(thorough));
    assert_string_equal(quick, thorough);
    assert_int_equal(script_item(f, 3) - script_item(f, 1), 63);
}

static void the_quick_road_goes_on_with_the_fences(void **state)
{
    script_fixture *f = *state;
    long long ahead;

    script_acquire(f, "u:1");
    ahead = script_now_ms(f) * 1000 + 3600000000LL;
    script_redis(f, "HSET %s fence %lld top %lld", f->keys[KEY_STATE], ahead,
                 ahead + 9);
    script_expire(f);
    script_acquire(f, "u:2");
    assert_int_equal(script_item(f, 1), ahead + 10);
    assert_int_equal(script_item(f, 3), ahead + 10);
}

/* ---- handing over ---- */

/* Numbers of so many digits, which depend on the time, become a '#'. */
static void blur(char *text, size_t least)
{
    char *to = text;

    for (const char *from = text; *from != '\0';) {
        size_t digits = strspn(from, "0123456789");

        if (digits >= least) {
            *to++ = '#';
            from += digits;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static void traces_take(script_fixture *f, traces *t)
{
    snprintf(t->answer, sizeof(t->answer), "%s", f->answer_text);
    snprintf(t->lock, sizeof(t->lock), "%s, %lld", script_redis(f, "HGETALL n"),
             (number(script_redis(f, "PTTL n")) + 500) / 1000);
    state_text(f, t->state, sizeof(t->state));
    snprintf(t->line, sizeof(t->line), "%s, ",
             script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]));
    snprintf(t->line + strlen(t->line), sizeof(t->line) / 2, "%s",
             script_redis(f, "HVALS %s", f->keys[KEY_TICKETS]));
    snprintf(t->heard, sizeof(t->heard), "%s", script_heard(f));
    blur(t->answer, 5);
    blur(t->state, 9);
    blur(t->line, 9);
    blur(t->heard, 9);
}

static void assert_same_traces(const traces *a, const traces *b)
{
    assert_string_equal(a->answer, b->answer);
    assert_string_equal(a->lock, b->lock);
    assert_string_equal(a->state, b->state);
    assert_string_equal(a->line, b->line);
    assert_string_equal(a->heard, b->heard);
    assert_int_equal(a->published, b->published);
}

/* How often a command was called since the statistics were reset. */
static int calls(script_fixture *f, const char *command)
{
    char wanted[64];
    const char *found;

    snprintf(wanted, sizeof(wanted), "cmdstat_%s:calls=", command);
    found = strstr(script_redis(f, "INFO commandstats"), wanted);
    return found == NULL ? 0 : (int)number(found + strlen(wanted));
}

static void two_wait(script_fixture *f)
{
    script_acquire(f, "u:1");
    script_acquire_with(f, "u:2", "20000", "1", "in:u:2", "why not", "0");
    script_acquire(f, "u:3");
}

static void listen_to_all(script_fixture *f)
{
    script_listen(f, "in:u:2");
    script_listen(f, "in:u:3");
}

/* Releases what u:1 holds and says whether that was done quickly. */
static bool release_quickly(script_fixture *f, traces *t)
{
    bool quick;

    script_redis(f, "CONFIG RESETSTAT");
    script_release(f, "u:1", NULL);
    quick = calls(f, "hgetall") == 0; /* the long one reads the whole lock */
    t->published = calls(f, "publish");
    traces_take(f, t);
    return quick;
}

/* A state that was kept for less than a day has to be kept for longer. */
static void a_quick_hand_over_leaves_what_a_long_one_does(void **state)
{
    script_fixture *f = *state;
    traces quick;
    traces thorough;

    listen_to_all(f);
    two_wait(f);
    assert_true(release_quickly(f, &quick));
    script_redis(f, "FLUSHALL");
    two_wait(f);
    script_redis(f, "HSET %s kept 0", f->keys[KEY_STATE]);
    assert_false(release_quickly(f, &thorough));
    assert_same_traces(&quick, &thorough);
    assert_string_equal(quick.heard, "in:u:2 grant lock u:2 # # # 3000 n\n");
}

static void assert_left_to_the_long_road(script_fixture *f, const char *why)
{
    traces t;

    if (release_quickly(f, &t))
        fail_msg("a quick hand-over although %s", why);
    script_redis(f, "FLUSHALL");
    two_wait(f);
}

static void what_is_not_plain_is_left_to_the_long_road(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    two_wait(f);
    script_redis(f, "SET %s 1", f->keys[KEY_TOKEN]);
    assert_left_to_the_long_road(f, "Redisson counts");
    script_redis(f, "RPUSH %s java:1", f->keys[KEY_FAIRQ]);
    assert_left_to_the_long_road(f, "Redisson waits");
    script_redis(f, "SET %s 1 PX 60000", f->keys[KEY_SPIN]);
    assert_left_to_the_long_road(f, "somebody spins");
    script_redis(f, "HSET %s open 1", f->keys[KEY_STATE]);
    assert_left_to_the_long_road(f, "it is the others' turn");
    script_redis(f, "HSET %s v 2", f->keys[KEY_STATE]);
    assert_left_to_the_long_road(f, "the layout is another");
    script_redis(f, "HSET n u:1 2");
    assert_left_to_the_long_road(f, "the hold is none of ours");
    script_redis(f, "HDEL %s u:2", f->keys[KEY_TICKETS]);
    assert_left_to_the_long_road(f, "the first has no ticket");
    script_age(f, "u:2", 3100);
    assert_left_to_the_long_road(f, "the first was not heard of");
    f->interop = "1";
    assert_left_to_the_long_road(f, "Redisson is known to be there");
    f->interop = "0";
    script_deafen(f, "in:u:2");
    assert_left_to_the_long_road(f, "nobody listens for the first");
}

/* Whatever is denied in the middle, both roads end alike. */
static void a_quick_hand_over_that_is_denied_ends_as_a_long_one(void **state)
{
    static const char *const commands[] = {"del",  "hset", "pexpire", "zrem",
                                           "hdel", "zadd", "publish"};
    script_fixture *f = *state;
    traces quick;
    traces thorough;

    listen_to_all(f);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        script_redis(f, "FLUSHALL");
        two_wait(f);
        script_deny(f, commands[i]);
        assert_true(release_quickly(f, &quick));
        script_deny(f, NULL);
        script_redis(f, "FLUSHALL");
        two_wait(f);
        script_redis(f, "HSET %s kept 0", f->keys[KEY_STATE]);
        script_deny(f, commands[i]);
        assert_false(release_quickly(f, &thorough));
        script_deny(f, NULL);
        assert_same_traces(&quick, &thorough);
    }
}

/* ---- queueing ---- */

static bool queue_quickly(script_fixture *f, traces *t)
{
    bool quick;

    script_redis(f, "CONFIG RESETSTAT");
    script_acquire_with(f, "u:4", "12345", "1", "in:u:4", "a reason", "1");
    quick = calls(f, "zrangebyscore") + calls(f, "zrange") == 0;
    t->published = calls(f, "publish");
    traces_take(f, t);
    return quick;
}

/* With somebody in the zset of the skipped, the dead are swept out. */
static void a_quick_place_in_the_queue_is_what_a_long_one_is(void **state)
{
    script_fixture *f = *state;
    traces quick;
    traces thorough;

    listen_to_all(f);
    two_wait(f);
    assert_true(queue_quickly(f, &quick));
    script_redis(f, "FLUSHALL");
    two_wait(f);
    script_redis(f, "ZADD %s %lld u:9", f->keys[KEY_SKIPPED], script_now_ms(f));
    assert_false(queue_quickly(f, &thorough));
    assert_same_traces(&quick, &thorough);
    assert_string_equal(quick.answer, "0 # # 0");
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_QUEUE])),
                    59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL %s", f->keys[KEY_TICKETS])),
                    59000, 60000);
}

/* Its acquire may come after its tombstone. */
static void who_was_given_up_does_not_queue_quickly(void **state)
{
    script_fixture *f = *state;

    listen_to_all(f);
    two_wait(f);
    script_leave(f, "u:4", "60000");
    assert_like(script_acquire_with(f, "u:4", "12345", "1", "in:u:4", "", "1"),
                "!LKVOID *");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(the_quick_road_leaves_what_the_long_one_does),
        SCRIPT_TEST(the_quick_road_goes_on_with_the_fences),
        SCRIPT_TEST(a_quick_hand_over_leaves_what_a_long_one_does),
        SCRIPT_TEST(what_is_not_plain_is_left_to_the_long_road),
        SCRIPT_TEST(a_quick_hand_over_that_is_denied_ends_as_a_long_one),
        SCRIPT_TEST(a_quick_place_in_the_queue_is_what_a_long_one_is),
        SCRIPT_TEST(who_was_given_up_does_not_queue_quickly),
    };

    return cmocka_run_group_tests_name("lock_quick", tests, script_start_server,
                                       script_stop_server);
}
