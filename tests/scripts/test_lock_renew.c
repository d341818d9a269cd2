/* SPDX-License-Identifier: MIT */

/* lock_confirm and lock_renew: keeping what is held. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_lock_renew;

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* ---- confirm ---- */

static void a_confirmed_grant_gets_its_full_lease(void **state)
{
    script_fixture *f = *state;

    script_listen(f, "in:u:2");
    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    script_release(f, "u:1", NULL);
    assert_like(script_confirm(f, "u:2", NULL, "30000"), "1 30000 0 *");
    assert_in_range(number(script_redis(f, "PTTL n")), 29000, 30000);
}

/* A confirm that runs late must not cut what was promised since. */
static void a_confirm_never_shortens(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_confirm(f, "u:1", NULL, "1000");
    assert_in_range(script_item(f, 1), 29000, 30000);
    assert_in_range(number(script_redis(f, "PTTL n")), 29000, 30000);
}

static void a_confirm_gives_an_end_to_a_lock_without_one(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "PERSIST n");
    assert_like(script_confirm(f, "u:1", NULL, "5000"), "1 5000 0 *");
    assert_in_range(number(script_redis(f, "PTTL n")), 4000, 5000);
}

static void a_confirm_of_what_is_lost_changes_nothing(void **state)
{
    script_fixture *f = *state;

    assert_like(script_confirm(f, "u:1", "5", "9000"), "0 0");
    script_acquire(f, "u:1");
    assert_like(script_confirm(f, "u:2", NULL, "90000"), "0 2");
    assert_like(script_confirm(f, "u:1", "5", "90000"), "0 3");
    assert_in_range(number(script_redis(f, "PTTL n")), 29000, 30000);
}

static void a_confirm_keeps_the_state_for_another_week(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "HDEL %s kept", f->keys[KEY_STATE]);
    script_redis(f, "PEXPIRE %s 5000", f->keys[KEY_STATE]);
    script_confirm(f, "u:1", NULL, "30000");
    assert_true(number(script_redis(f, "PTTL %s", f->keys[KEY_STATE])) >
                600000000);
}

/* A client that hands over among its own threads must know of the others. */
static void a_confirm_tells_that_somebody_waits(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_acquire(f, "u:2");
    assert_like(script_confirm(f, "u:1", NULL, "30000"), "1 * 1 *");
}

static void a_confirm_tells_that_outsiders_wait(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "SET %s 1", f->keys[KEY_SPIN]);
    assert_like(script_confirm(f, "u:1", NULL, "30000"), "1 * 1 *");
    script_redis(f, "DEL %s", f->keys[KEY_SPIN]);
    assert_like(script_confirm(f, "u:1", NULL, "30000"), "1 * 0 *");
    script_redis(f, "RPUSH %s java:7", f->keys[KEY_FAIRQ]);
    assert_like(script_confirm(f, "u:1", NULL, "30000"), "1 * 0 *");
    script_listen(f, "redisson_lock__channel:{n}:java:7");
    assert_like(script_confirm(f, "u:1", NULL, "30000"), "1 * 1 *");
    script_redis(f, "DEL %s", f->keys[KEY_FAIRQ]);
    script_listen(f, f->channel);
    assert_like(script_confirm(f, "u:1", NULL, "30000"), "1 * 1 *");
    script_deafen(f, f->channel);
    f->interop = "1";
    assert_like(script_confirm(f, "u:1", NULL, "30000"), "1 * 1 *");
}

/* ---- renew ---- */

/* Names a, b and c, with their states. */
static const char *const batch_keys[] = {"a", "latchkey:state:{a}",
                                         "b", "latchkey:state:{b}",
                                         "c", "latchkey:state:{c}"};

/* u:1 holds a, u:2 b and u:3 c; fences gets what they were given. */
static void hold_all(script_fixture *f, char fences[3][24])
{
    static const char *const names[] = {"a", "b", "c"};
    static const char *const claims[] = {"u:1", "u:2", "u:3"};

    for (size_t i = 0; i < 3; i++) {
        script_set_name(f, names[i]);
        script_acquire(f, claims[i]);
        snprintf(fences[i], sizeof(fences[i]), "%lld", script_item(f, 1));
    }
}

static const char *
renew_all(script_fixture *f, char fences[3][24], const char *lease)
{
    const char *const args[] = {"u:1", fences[0], lease,     "u:2", fences[1],
                                lease, "u:3",     fences[2], lease, NULL};

    return script_run_keys(f, &lk__script_lock_renew, batch_keys, 6, args);
}

static void a_renewal_lengthens_every_lease(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    assert_string_equal(renew_all(f, fences, "60000"), "");
    assert_in_range(number(script_redis(f, "PTTL a")), 59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL b")), 59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL c")), 59000, 60000);
}

/* A renewal that runs late must not cut what was promised since. */
static void a_renewal_never_shortens(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    assert_string_equal(renew_all(f, fences, "1000"), "");
    assert_in_range(number(script_redis(f, "PTTL a")), 29000, 30000);
}

static void a_renewal_gives_an_end_to_a_lock_without_one(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    script_redis(f, "PERSIST b");
    assert_string_equal(renew_all(f, fences, "60000"), "");
    assert_in_range(number(script_redis(f, "PTTL b")), 59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL c")), 59000, 60000);
}

static void a_renewal_names_only_the_lost(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    script_redis(f, "DEL a");
    script_redis(f, "DEL c");
    script_redis(f, "HSET c java:7 1");
    assert_string_equal(renew_all(f, fences, "60000"), "1 0 3 2");
    assert_in_range(number(script_redis(f, "PTTL b")), 59000, 60000);
    assert_like(script_redis(f, "PTTL c"), "-1");
    assert_like(script_redis(f, "EXISTS a"), "0");
}

/* One claim granted twice: the first grant is over. */
static void a_renewal_under_another_fence_changes_nothing(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    script_redis(f, "HSET latchkey:state:{b} fence 77");
    assert_string_equal(renew_all(f, fences, "60000"), "2 3");
    assert_in_range(number(script_redis(f, "PTTL b")), 29000, 30000);
}

static void a_key_of_another_type_does_not_stop_the_others(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    script_redis(f, "SET a x");
    assert_string_equal(renew_all(f, fences, "60000"), "1 2");
    assert_in_range(number(script_redis(f, "PTTL c")), 59000, 60000);
}

/* The hash is the truth; a record that is gone or foreign is no loss. */
static void a_hold_without_a_record_is_renewed(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    script_redis(f, "DEL latchkey:state:{a}");
    script_redis(f, "SET latchkey:state:{b} x");
    script_redis(f, "HSET latchkey:state:{c} v 2 fence 5");
    assert_string_equal(renew_all(f, fences, "60000"), "");
    assert_in_range(number(script_redis(f, "PTTL a")), 59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL b")), 59000, 60000);
    assert_in_range(number(script_redis(f, "PTTL c")), 59000, 60000);
    assert_like(script_redis(f, "EXISTS latchkey:state:{a}"), "0");
}

static void a_renewal_keeps_the_state_as_long_as_the_hold(void **state)
{
    script_fixture *f = *state;
    char fences[3][24];

    hold_all(f, fences);
    script_redis(f, "PEXPIRE latchkey:state:{a} 90000");
    script_redis(f, "HSET latchkey:state:{a} kept %lld",
                 script_now_ms(f) + 90000);
    assert_string_equal(renew_all(f, fences, "60000"), "");
    assert_true(number(script_redis(f, "PTTL latchkey:state:{a}")) > 600000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(a_confirmed_grant_gets_its_full_lease),
        SCRIPT_TEST(a_confirm_never_shortens),
        SCRIPT_TEST(a_confirm_gives_an_end_to_a_lock_without_one),
        SCRIPT_TEST(a_confirm_of_what_is_lost_changes_nothing),
        SCRIPT_TEST(a_confirm_keeps_the_state_for_another_week),
        SCRIPT_TEST(a_confirm_tells_that_somebody_waits),
        SCRIPT_TEST(a_confirm_tells_that_outsiders_wait),
        SCRIPT_TEST(a_renewal_lengthens_every_lease),
        SCRIPT_TEST(a_renewal_never_shortens),
        SCRIPT_TEST(a_renewal_gives_an_end_to_a_lock_without_one),
        SCRIPT_TEST(a_renewal_names_only_the_lost),
        SCRIPT_TEST(a_renewal_under_another_fence_changes_nothing),
        SCRIPT_TEST(a_key_of_another_type_does_not_stop_the_others),
        SCRIPT_TEST(a_hold_without_a_record_is_renewed),
        SCRIPT_TEST(a_renewal_keeps_the_state_as_long_as_the_hold),
    };

    return cmocka_run_group_tests_name("lock_renew", tests, script_start_server,
                                       script_stop_server);
}
