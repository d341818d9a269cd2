/* SPDX-License-Identifier: MIT */

/* The import of each family: of those who have a text one gets the hold. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/rw_script.h"

extern const lk__script lk__script_rwlock_import;
extern const lk__script lk__script_siglock_acquire;
extern const lk__script lk__script_siglock_import;
extern const lk__script lk__script_siglock_release;

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

/* A fence as text. */
typedef struct number {
    char text[24];
} number;

static number text_of(long long value)
{
    number n;

    (void)snprintf(n.text, sizeof(n.text), "%lld", value);
    return n;
}

static long long value_of(const char *text)
{
    return strtoll(text, NULL, 10);
}

static const char *import_with(script_fixture *f, const lk__script *script,
                               const char *claim, number fence,
                               const char *inbox)
{
    return script_call(f, script, claim, fence.text, "60000", inbox, "v:9",
                       (char *)NULL);
}

/* The new fence of an import that has to succeed. */
static number imported(script_fixture *f, const lk__script *script,
                       const char *claim, number fence, const char *inbox)
{
    assert_like(import_with(f, script, claim, fence, inbox), "1 60000 * *");
    assert_true(script_item(f, 3) >= script_item(f, 2));
    return text_of(script_item(f, 2));
}

static void assert_refused(script_fixture *f, const lk__script *script,
                           number fence, const char *inbox, const char *answer)
{
    assert_like(import_with(f, script, "u:1", fence, inbox), answer);
}

/* Replaces the fence in the holders' records by one of an hour ahead. */
static number
fence_of_an_hour_ahead(script_fixture *f, const char *holders, number old)
{
    number ahead = text_of(value_of(old.text) + 3600000000LL);

    script_redis(f, "EVAL %s 1 %s %s %s",
                 "for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do"
                 " local record = redis.call('HGET', KEYS[1], id)"
                 " redis.call('HSET', KEYS[1], id,"
                 " (string.gsub(record, ARGV[1], ARGV[2]))) end",
                 holders, old.text, ahead.text);
    return ahead;
}

/* ---- the read-write lock ---- */

static void one_importer_has_the_read_write_lock(void **state)
{
    static const char *const modes[] = {"r", "u", "w"};
    script_fixture *f = *state;
    const lk__script *script = &lk__script_rwlock_import;

    for (size_t i = 0; i < 3; i++) {
        number old, fence, again;

        rw_acquire(f, "u:1", modes[i]);
        old = text_of(script_item(f, 1));
        fence = imported(f, script, "u:1", old, "in:v");
        assert_true(value_of(fence.text) > value_of(old.text));
        assert_string_equal(rw_fence(f, "u:1"), fence.text);
        again = imported(f, script, "u:1", old, "in:v");
        assert_string_equal(again.text, fence.text);
        assert_refused(f, script, old, "in:w", "0 3");
        assert_like(rw_confirm(f, "u:1", old.text, "90000"), "0 3");
        assert_like(rw_release(f, "u:1", old.text), "0 3");
        assert_held(f, i == 2 ? "u:1:write write" : "u:1 read");
        assert_like(rw_release(f, "u:1", fence.text), "1 0 0");
        assert_held(f, "");
        assert_like(rw_acquire(f, "u:2", "w"), "1 *");
        assert_true(script_item(f, 1) > value_of(fence.text));
        rw_release(f, "u:2", NULL);
        assert_refused(f, script, old, "in:v", "0 *");
    }
}

static void a_reader_beside_an_import_keeps_its_fence(void **state)
{
    script_fixture *f = *state;
    number old, other;

    rw_acquire(f, "u:1", "r");
    old = text_of(script_item(f, 1));
    rw_acquire(f, "u:2", "r");
    other = text_of(script_item(f, 1));
    (void)imported(f, &lk__script_rwlock_import, "u:1", old, "in:v");
    assert_like(rw_confirm(f, "u:2", other.text, "90000"), "1 90000 *");
    assert_like(rw_release(f, "u:2", other.text), "1 0 0");
    assert_held(f, "u:1 read");
}

static void a_reader_gets_a_higher_fence_without_state_and_clock(void **state)
{
    script_fixture *f = *state;
    number old;
    number fence;

    rw_acquire(f, "u:1", "r");
    old = text_of(script_item(f, 1));
    old = fence_of_an_hour_ahead(f, f->keys[KEY_HOLDERS], old);
    script_redis(f, "DEL %s", f->keys[KEY_STATE]);
    fence = imported(f, &lk__script_rwlock_import, "u:1", old, "in:v");
    assert_int_equal(value_of(fence.text), value_of(old.text) + 1);
}

static void what_is_not_held_to_read_or_write_is_not_imported(void **state)
{
    script_fixture *f = *state;
    const lk__script *script = &lk__script_rwlock_import;
    number fence = text_of(5);

    assert_refused(f, script, fence, "in:v", "0 0");
    rw_acquire(f, "u:2", "w");
    assert_refused(f, script, fence, "in:v", "0 2");
    rw_release(f, "u:2", NULL);
    rw_acquire(f, "u:1", "r");
    fence = text_of(script_item(f, 1));
    script_redis(f, "ZADD %s %lld u:1", f->keys[KEY_VOID],
                 script_now_ms(f) + 60000);
    assert_refused(f, script, fence, "in:v", "0 4");
    script_redis(f, "DEL %s %s", f->keys[KEY_VOID], f->keys[KEY_HOLDERS]);
    assert_refused(f, script, fence, "in:v", "0 0");
}

static void a_full_server_does_not_refuse_a_reader_or_a_writer(void **state)
{
    static const char *const modes[] = {"r", "w"};
    script_fixture *f = *state;

    for (size_t i = 0; i < 2; i++) {
        number old;

        rw_acquire(f, "u:1", modes[i]);
        old = text_of(script_item(f, 1));
        script_fill_memory(f, true);
        (void)imported(f, &lk__script_rwlock_import, "u:1", old, "in:v");
        script_fill_memory(f, false);
        rw_release(f, "u:1", NULL);
    }
}

static void a_reader_that_is_denied_keeps_its_fence(void **state)
{
    static const char *const commands[] = {"hset", "pexpire"};
    script_fixture *f = *state;
    number old;

    rw_acquire(f, "u:1", "r");
    old = text_of(script_item(f, 1));
    for (size_t i = 0; i < 2; i++) {
        script_deny(f, commands[i]);
        assert_refused(f, &lk__script_rwlock_import, old, "in:v", cannot);
        script_deny(f, NULL);
    }
    assert_string_equal(rw_fence(f, "u:1"), old.text);
}

/* ---- the siglock ---- */

static const script_layout sig_layout = {
    .count = 3,
    .keys = {"lock:*", "lock-signal:*", "latchkey:void"},
    .channel = "",
};

static int sig_setup(void **state)
{
    int result = script_setup(state);

    if (result == 0)
        script_set_layout(*state, &sig_layout);
    return result;
}

#define SIG_TEST(f)                                                            \
    cmocka_unit_test_setup_teardown(f, sig_setup, script_teardown)

static const char *
sig_import(script_fixture *f, const char *claim, const char *id)
{
    return script_call(f, &lk__script_siglock_import, claim, "0", "60000", "in",
                       id, (char *)NULL);
}

static void sig_acquire(script_fixture *f)
{
    assert_like(script_call(f, &lk__script_siglock_acquire, "u:1", "30000", "0",
                            "in", "why", "1", (char *)NULL),
                "1 *");
}

static void one_importer_has_the_siglock(void **state)
{
    script_fixture *f = *state;

    assert_like(sig_import(f, "u:1", "v:1"), "0 0");
    sig_acquire(f);
    assert_like(sig_import(f, "u:1", "v:1"), "1 60000 0 0");
    assert_like(script_redis(f, "GET lock:n"), "v:1");
    assert_in_range(value_of(script_redis(f, "PTTL lock:n")), 59000, 60000);
    assert_like(sig_import(f, "u:1", "v:1"), "1 * 0 0");
    assert_like(sig_import(f, "u:1", "w:1"), "0 2");
    assert_like(script_call(f, &lk__script_siglock_release, "u:1", "0",
                            (char *)NULL),
                "0 2");
    assert_like(script_redis(f, "GET lock:n"), "v:1");
}

static void a_siglock_that_is_revoked_is_not_imported(void **state)
{
    script_fixture *f = *state;

    sig_acquire(f);
    script_redis(f, "ZADD latchkey:void:{n} %lld u:1",
                 script_now_ms(f) + 60000);
    assert_like(sig_import(f, "u:1", "v:1"), "0 4");
    assert_like(script_redis(f, "GET lock:n"), "u:1");
}

static void a_siglock_is_imported_from_a_full_server(void **state)
{
    script_fixture *f = *state;

    sig_acquire(f);
    script_fill_memory(f, true);
    assert_like(sig_import(f, "u:1", "v:1"), "1 60000 0 0");
    script_fill_memory(f, false);
}

static void a_siglock_that_is_denied_stays_what_it_was(void **state)
{
    script_fixture *f = *state;

    sig_acquire(f);
    script_deny(f, "set");
    assert_like(sig_import(f, "u:1", "v:1"), cannot);
    script_deny(f, NULL);
    assert_like(script_redis(f, "GET lock:n"), "u:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RW_TEST(one_importer_has_the_read_write_lock),
        RW_TEST(a_reader_beside_an_import_keeps_its_fence),
        RW_TEST(a_reader_gets_a_higher_fence_without_state_and_clock),
        RW_TEST(what_is_not_held_to_read_or_write_is_not_imported),
        RW_TEST(a_full_server_does_not_refuse_a_reader_or_a_writer),
        RW_TEST(a_reader_that_is_denied_keeps_its_fence),
        SIG_TEST(one_importer_has_the_siglock),
        SIG_TEST(a_siglock_that_is_revoked_is_not_imported),
        SIG_TEST(a_siglock_is_imported_from_a_full_server),
        SIG_TEST(a_siglock_that_is_denied_stays_what_it_was),
    };

    return cmocka_run_group_tests_name("import", tests, script_start_server,
                                       script_stop_server);
}
