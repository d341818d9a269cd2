/* SPDX-License-Identifier: MIT */

/* The import of a siglock: of those that have a text one gets the hold. */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/sig_script.h"

/* What a script is told that lacks a right. */
static const char cannot[] = "!DENIED *";

SCRIPT_TEST(one_importer_has_the_siglock)
{
    assert_like(sig_import(f, "u:1", "v:1"), "2 0");
    sig_acquire(f, "u:1");
    assert_like(sig_import(f, "u:1", "v:1"), "1 60000");
    assert_like(script_redis(f, "GET lock:n"), "v:1");
    assert_in_range(script_pttl(f, "lock:n"), 59000, 60000);
    assert_like(sig_import(f, "u:1", "v:1"), "1 *");
    assert_like(sig_import(f, "u:1", "w:1"), "2 2");
    assert_like(sig_release(f, "u:1"), "1 0");
    assert_like(script_redis(f, "GET lock:n"), "v:1");
}

SCRIPT_TEST(a_siglock_that_is_revoked_is_not_imported)
{
    sig_acquire(f, "u:1");
    script_redis(f, "ZADD latchkey:void:{n} %lld u:1",
                 script_now_ms(f) + 60000);
    assert_like(sig_import(f, "u:1", "v:1"), "2 4");
    assert_like(script_redis(f, "GET lock:n"), "u:1");
}

SCRIPT_TEST(a_siglock_is_imported_from_a_full_server)
{
    sig_acquire(f, "u:1");
    script_fill_memory(f, true);
    assert_like(sig_import(f, "u:1", "v:1"), "1 60000");
    script_fill_memory(f, false);
}

SCRIPT_TEST(a_siglock_that_is_denied_stays_what_it_was)
{
    sig_acquire(f, "u:1");
    script_deny(f, "set");
    assert_like(sig_import(f, "u:1", "v:1"), cannot);
    script_deny(f, NULL);
    assert_like(script_redis(f, "GET lock:n"), "u:1");
}

CHECK_GROUP(script_start_server, script_stop_server)
