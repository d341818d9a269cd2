/* SPDX-License-Identifier: MIT */

/* A late acquire where CLIENT ID is denied: nobody knows what to kill. */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/wait.h"

enum { COMMAND = 0, TIMEOUT_MS = 300 };

static void a_late_acquire_meets_a_tombstone_where_ids_are_denied(void **state)
{
    locking *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word",
                                       .command_timeout_ms =
                                           wait_limit_ms(TIMEOUT_MS)};

    scene_command(f, "ACL SETUSER far on >word ~* &* +@all -client|id");
    scene_far(f, &options);
    proxy_hold(f->proxy, COMMAND, PROXY_REQUESTS);
    assert_status(lk_hold_release(scene_hold(f->far.lock, NULL)), LK_OK);
    proxy_release(f->proxy, COMMAND, PROXY_REQUESTS);
    assert_true(proxy_wait_open(f->proxy, 2, SCENE_MS));
    assert_int_equal(server_integer(f->server, "EXISTS job"), 0);
}

int test_denied_id(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        a_late_acquire_meets_a_tombstone_where_ids_are_denied, scene_setup,
        locking_teardown)};

    return cmocka_run_group_tests_name("denied id", tests, NULL, NULL);
}
