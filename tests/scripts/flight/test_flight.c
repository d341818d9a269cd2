/* SPDX-License-Identifier: MIT */

/* The flight's scripts, key by key. */

#include <string.h>

#include "flight_table.h"
#include "support/check.h"
#include "support/script.h"
#include "support/table.h"

enum { RESULT, CLAIM };

static const script_layout layout = {
    .count = 2,
    .keys = {"latchkey:flight", "latchkey:flight-claim"},
    .channel = "latchkey:flight-news",
};

static int setup(void **state)
{
    int result = script_setup(state);

    if (result == 0)
        script_set_layout(*state, &layout);
    return result;
}

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static const char *join(script_fixture *f, const char *claim)
{
    const lk__flight_join_args args = {.own = text_of(claim), .lease = 3000};

    return table_run(f, &lk__flight_join, lk__flight_keys,
                     LK__FLIGHT_JOIN_WHOLE, &args);
}

static const char *land_for(script_fixture *f, const char *claim, int64_t ttl,
                            int64_t status, const char *words,
                            const char *value)
{
    const lk__flight_land_args args = {
        .own = text_of(claim),
        .channel = text_of(f->channel),
        .ttl = ttl,
        .status = status,
        .words = text_of(words),
        .value = text_of(value),
        .most = 8,
    };

    return table_run(f, &lk__flight_land, lk__flight_keys,
                     LK__FLIGHT_LAND_WHOLE, &args);
}

static const char *land(script_fixture *f, const char *claim, const char *value)
{
    return land_for(f, claim, 60000, 0, "", value);
}

static const char *leave(script_fixture *f, const char *claim)
{
    const lk__flight_leave_args args = {.own = text_of(claim),
                                        .channel = text_of(f->channel)};

    return table_run(f, &lk__flight_leave, lk__flight_keys,
                     LK__FLIGHT_LEAVE_WHOLE, &args);
}

#define FLIGHT_TEST(name)                                                      \
    CHECK_TEST_OF(name, script_fixture *f, setup, script_teardown)

FLIGHT_TEST(the_first_computes)
{
    assert_like(join(f, "u:1"), "3");
    assert_like(script_redis(f, "GET %s", f->keys[CLAIM]), "u:1");
    assert_in_range(script_key_pttl(f, CLAIM), 2000, 3000);
}

FLIGHT_TEST(the_others_learn_who_does)
{
    join(f, "u:1");
    assert_like(join(f, "u:2"), "2 * u:1");
    assert_in_range(script_item(f, 1), 2000, 3000);
    assert_like(script_redis(f, "GET %s", f->keys[CLAIM]), "u:1");
}

FLIGHT_TEST(who_joins_again_renews_its_lease)
{
    join(f, "u:1");
    script_redis(f, "PEXPIRE %s 500", f->keys[CLAIM]);
    assert_like(join(f, "u:1"), "3");
    assert_in_range(script_key_pttl(f, CLAIM), 2000, 3000);
}

FLIGHT_TEST(a_lease_that_ended_is_anybodys)
{
    join(f, "u:1");
    script_redis(f, "DEL %s", f->keys[CLAIM]);
    assert_like(join(f, "u:2"), "3");
    assert_like(join(f, "u:1"), "2 * u:2");
}

FLIGHT_TEST(a_landing_is_told_and_can_be_had)
{
    join(f, "u:1");
    script_listen(f, f->channel);
    assert_like(land(f, "u:1", "value"), "1");
    assert_string_equal(script_heard(f),
                        "latchkey:flight-news:{n} u:1 0 0 value\n");
    assert_like(join(f, "u:2"), "1 0 \"\" value");
    assert_in_range(script_key_pttl(f, RESULT), 50000, 60000);
    assert_like(script_redis(f, "EXISTS %s", f->keys[CLAIM]), "0");
}

FLIGHT_TEST(a_large_value_has_to_be_read)
{
    join(f, "u:1");
    script_listen(f, f->channel);
    assert_like(land(f, "u:1", "123456789"), "1");
    assert_string_equal(script_heard(f), "latchkey:flight-news:{n} u:1 look\n");
    assert_like(join(f, "u:2"), "1 0 \"\" 123456789");
}

FLIGHT_TEST(an_error_lands_with_its_words)
{
    join(f, "u:1");
    script_listen(f, f->channel);
    assert_like(land_for(f, "u:1", 60000, -26, "it is no more", ""), "1");
    assert_string_equal(script_heard(f), "latchkey:flight-news:{n} u:1 -26 13 "
                                         "it is no more\n");
    assert_like(join(f, "u:2"), "1 -26 it is no more \"\"");
}

FLIGHT_TEST(a_landing_that_is_sent_again_changes_nothing)
{
    join(f, "u:1");
    land(f, "u:1", "value");
    script_redis(f, "PEXPIRE %s 500", f->keys[RESULT]);
    script_listen(f, f->channel);
    assert_like(land(f, "u:1", "value"), "1");
    assert_string_equal(script_heard(f), "");
    assert_in_range(script_key_pttl(f, RESULT), 0, 500);
}

FLIGHT_TEST(who_was_taken_over_from_does_not_land)
{
    join(f, "u:1");
    script_redis(f, "DEL %s", f->keys[CLAIM]);
    join(f, "u:2");
    assert_like(land(f, "u:1", "late"), "2");
    assert_like(script_redis(f, "GET %s", f->keys[CLAIM]), "u:2");
    assert_like(land(f, "u:2", "value"), "1");
    assert_like(land(f, "u:1", "late"), "2");
    assert_like(join(f, "u:3"), "1 0 \"\" value");
}

FLIGHT_TEST(who_was_late_does_not_land_not_even_alone)
{
    join(f, "u:1");
    script_redis(f, "DEL %s", f->keys[CLAIM]);
    assert_like(land(f, "u:1", "late"), "2");
    assert_like(join(f, "u:2"), "3");
}

/* Its answer was lost, and its time was over when it was sent again. */
FLIGHT_TEST(a_landing_that_has_ended_does_not_come_back)
{
    join(f, "u:1");
    assert_like(land(f, "u:1", "value"), "1");
    script_redis(f, "DEL %s", f->keys[RESULT]);
    assert_like(land(f, "u:1", "value"), "2");
    assert_like(script_redis(f, "EXISTS %s", f->keys[RESULT]), "0");
    assert_like(join(f, "u:2"), "3");
}

FLIGHT_TEST(who_leaves_tells_the_others)
{
    join(f, "u:1");
    script_listen(f, f->channel);
    assert_like(leave(f, "u:2"), "2");
    assert_string_equal(script_heard(f), "");
    assert_like(leave(f, "u:1"), "1");
    assert_string_equal(script_heard(f), "latchkey:flight-news:{n} u:1 look\n");
    assert_like(join(f, "u:2"), "3");
}

FLIGHT_TEST(a_full_server_refuses_a_join_and_lets_land)
{
    join(f, "u:1");
    script_fill_memory(f, true);
    assert_like(join(f, "u:2"), "2 * u:1");
    assert_like(land(f, "u:1", "value"), "1");
    assert_like(join(f, "u:2"), "1 0 \"\" value");
    script_redis(f, "DEL %s", f->keys[RESULT]);
    assert_like(join(f, "u:2"), "!*OOM*");
    script_fill_memory(f, false);
}

FLIGHT_TEST(a_key_of_another_kind_is_not_touched)
{
    script_redis(f, "HSET %s a b", f->keys[CLAIM]);
    assert_like(join(f, "u:1"), "!LKTYPE *");
    assert_like(land(f, "u:1", "x"), "!LKTYPE *");
    assert_like(leave(f, "u:1"), "!LKTYPE *");
    script_redis(f, "DEL %s", f->keys[CLAIM]);
    script_redis(f, "SET %s x", f->keys[RESULT]);
    assert_like(join(f, "u:1"), "!LKTYPE *");
    script_redis(f, "DEL %s", f->keys[RESULT]);
    script_redis(f, "HSET %s v 2", f->keys[RESULT]);
    assert_like(join(f, "u:1"), "!LKLAYOUT *");
}

/* Whatever is missing, the value can be told once it is there. */
FLIGHT_TEST(who_lacks_a_right_lands_later)
{
    static const char *const commands[] = {"get", "hmget", "pexpire", "hset",
                                           "del"};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        script_redis(f, "FLUSHALL");
        join(f, "u:1");
        script_deny(f, commands[i]);
        assert_like(land(f, "u:1", "value"), "!DENIED *");
        script_deny(f, NULL);
        assert_like(script_redis(f, "EXISTS %s", f->keys[RESULT]), "0");
        assert_in_range(script_key_pttl(f, CLAIM), 2000, 3000);
        assert_like(land(f, "u:1", "value"), "1");
        assert_in_range(script_key_pttl(f, RESULT), 59000, 60000);
        assert_like(script_redis(f, "EXISTS %s", f->keys[CLAIM]), "0");
        assert_like(join(f, "u:2"), "1 0 \"\" value");
    }
}

FLIGHT_TEST(who_may_not_tell_lands_all_the_same)
{
    join(f, "u:1");
    script_deny(f, "publish");
    assert_like(land(f, "u:1", "value"), "1");
    assert_like(join(f, "u:2"), "1 0 \"\" value");
}

FLIGHT_TEST(half_a_value_is_replaced)
{
    join(f, "u:1");
    script_redis(f, "HSET %s v 1 by u:0", f->keys[RESULT]);
    assert_like(land(f, "u:1", "value"), "1");
    assert_like(join(f, "u:2"), "1 0 \"\" value");
}

CHECK_GROUP(script_start_server, script_stop_server)
