/* SPDX-License-Identifier: MIT */

/* The import of a siglock: of those that have a text one gets the hold. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_siglock_acquire;
extern const lk__script lk__script_siglock_import;
extern const lk__script lk__script_siglock_release;

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

static long long value_of(const char *text)
{
    return strtoll(text, NULL, 10);
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
        SIG_TEST(one_importer_has_the_siglock),
        SIG_TEST(a_siglock_that_is_revoked_is_not_imported),
        SIG_TEST(a_siglock_is_imported_from_a_full_server),
        SIG_TEST(a_siglock_that_is_denied_stays_what_it_was),
    };

    return cmocka_run_group_tests_name("import", tests, script_start_server,
                                       script_stop_server);
}
