/* SPDX-License-Identifier: MIT */

/* The public headers: what one include brings, and what callers compile in. */

#include <latchkey/latchkey.h>

/* Each comes a second time: the guards hold. */
#include <latchkey/client.h>
#include <latchkey/hold.h>
#include <latchkey/lock.h>
#include <latchkey/status.h>
#include <latchkey/version.h>

#include "support/check.h"

/* Without holes, and in this order for ever: new fields come at the end. */
CHECK_TEST(the_client_options_are_laid_out_as_in_the_first_release)
{
    assert_int_equal(offsetof(lk_client_options, size), 0);
    assert_int_equal(offsetof(lk_client_options, name), 8);
    assert_int_equal(offsetof(lk_client_options, user), 16);
    assert_int_equal(offsetof(lk_client_options, password), 24);
    assert_int_equal(offsetof(lk_client_options, db), 32);
    assert_int_equal(offsetof(lk_client_options, connect_timeout_ms), 40);
    assert_int_equal(offsetof(lk_client_options, command_timeout_ms), 48);
    assert_int_equal(offsetof(lk_client_options, offline_ms), 56);
    assert_int_equal(offsetof(lk_client_options, watchdog_ms), 64);
    assert_int_equal(offsetof(lk_client_options, max_pending), 72);
    assert_int_equal(offsetof(lk_client_options, interop), 80);
    assert_int_equal(offsetof(lk_client_options, dispatch), 88);
    assert_int_equal(offsetof(lk_client_options, log), 96);
    assert_int_equal(offsetof(lk_client_options, log_data), 104);
    assert_int_equal(offsetof(lk_client_options, log_level), 112);
    assert_int_equal(offsetof(lk_client_options, fence_keep_ms), 120);
    assert_int_equal(offsetof(lk_client_options, tls_ca_file), 128);
    assert_int_equal(offsetof(lk_client_options, tls_ca_dir), 136);
    assert_int_equal(offsetof(lk_client_options, tls_cert_file), 144);
    assert_int_equal(offsetof(lk_client_options, tls_key_file), 152);
    assert_int_equal(offsetof(lk_client_options, tls_server_name), 160);
    assert_int_equal(offsetof(lk_client_options, tls_verify), 168);
    assert_int_equal(offsetof(lk_client_options, under), 176);
}

CHECK_TEST(the_acquire_options_are_laid_out_as_in_the_first_release)
{
    assert_int_equal(offsetof(lk_acquire_options, size), 0);
    assert_int_equal(offsetof(lk_acquire_options, owner), 8);
    assert_int_equal(offsetof(lk_acquire_options, cancel), 16);
    assert_int_equal(offsetof(lk_acquire_options, lease_ms), 24);
    assert_int_equal(offsetof(lk_acquire_options, reason), 32);
}

CHECK_TEST(an_init_macro_sets_the_size_and_nothing_else)
{
    lk_client_options client = {LK_CLIENT_OPTIONS_INIT};
    lk_acquire_options acquire = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 5};
    lk_lock_options lock = {LK_LOCK_OPTIONS_INIT};

    assert_int_equal(client.size, sizeof(client));
    assert_int_equal(client.db, 0);
    assert_int_equal(acquire.size, sizeof(acquire));
    assert_int_equal(acquire.lease_ms, 5);
    assert_null(acquire.owner);
    assert_int_equal(lock.size, sizeof(lock));
}

CHECK_TEST(enumerators_keep_their_values)
{
    assert_int_equal(LK_FOREVER, -1);
    assert_int_equal(LK_LOG_ERROR, 1);
    assert_int_equal(LK_LOG_DEBUG, 4);
    assert_int_equal(LK_INTEROP_AUTO, 0);
    assert_int_equal(LK_INTEROP_REDISSON, 1);
    assert_int_equal(LK_LOSS_NONE, 0);
    assert_int_equal(LK_LOSS_EXPIRED, 1);
    assert_int_equal(LK_LOSS_CLOSED, 6);
    assert_int_equal(LK_LOSS_DENIED, 7);
}
