/* SPDX-License-Identifier: MIT */

/* The text of an exported hold: for whom it is good, how often, and what is no such
   text. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { LONG_MS = 10000 };

/* ---- refused imports ------------------------------------------------------------------ */

LOCKS_TEST(a_released_hold_is_not_imported)
{
    lk_lock *first = locking_new(f, lk_lock);
    lk_lock *second = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(first), *stolen = NULL;
    char text[LK_EXPORT_SIZE];

    locking_export(hold, text);
    hold = locking_import(second, text);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_lock_import(first, text, NULL, &hold), LK_ELOST);
    hold = locking_hold(first);
    assert_status(lk_lock_import(second, text, NULL, &stolen), LK_ELOST);
    assert_null(stolen);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The first one has it, under a fence of its own, and alone lets it go. */
LOCKS_TEST(a_text_is_good_for_one_import)
{
    lk_hold *hold =
        locking_hold(locking_lock(f, locking_open_watchdog(f), "n"));
    uint64_t fence = lk_hold_fence(hold);
    lk_lock *second = locking_lock(f, locking_open_watchdog(f), "n");
    char text[LK_EXPORT_SIZE];
    lk_hold *none = NULL;

    locking_export(hold, text);
    hold = locking_import(locking_lock(f, locking_open_watchdog(f), "n"), text);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_lock_import(second, text, NULL, &none), LK_ELOST);
    assert_null(none);
    locking_pass_time(2 * wait_lease_ms());
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_hold(second);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(nor_is_it_good_for_two_in_one_client)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    char text[LK_EXPORT_SIZE];
    lk_hold *none = NULL;

    locking_export(hold, text);
    hold = locking_import(lock, text);
    assert_status(lk_lock_import(lock, text, NULL, &none), LK_ELOST);
    assert_null(none);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_lock_import(lock, text, NULL, &none), LK_ELOST);
}

/* To the server the one who asks again is the same who has taken it. */
LOCKS_TEST(a_text_from_before_an_export_is_worth_nothing)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    lk_lock *lock = locking_new(f, lk_lock);
    char text[LK_EXPORT_SIZE], again[LK_EXPORT_SIZE];
    lk_hold *none = NULL;

    locking_export(hold, text);
    locking_export(locking_import(lock, text), again);
    assert_status(lk_lock_import(lock, text, NULL, &none), LK_ELOST);
    assert_null(none);
    hold = locking_import(locking_new(f, lk_lock), again);
    assert_status(lk_lock_import(lock, again, NULL, &none), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The server has carried it out, and the client does not know. */
LOCKS_TEST(an_import_in_doubt_keeps_the_name_for_its_lease)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = wait_limit_ms(300),
                                       .offline_ms = 300};
    lk_hold *hold = locking_hold_for(locking_new(f, lk_lock), 60000);
    proxy *p = proxy_start(server_socket(f->server));
    lk_client *client = locking_open_url(f, proxy_url(p), &options);
    lk_lock *lock = locking_lock(f, client, "n");
    char text[LK_EXPORT_SIZE];

    locking_export(hold, text);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(LONG_MS)),
                  LK_OK);
    proxy_drop_replies(p, PROXY_ALL, false);
    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_EINDOUBT);
    proxy_heal(p);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(LONG_MS)),
                  LK_OK);
    assert_status(lk_lock_import(lock, text, NULL, &hold), LK_ELOST);
    assert_in_range(locking_pttl(f, "n"), 1, 60000);
    locking_free_client(f, client);
    proxy_stop(p);
}

/* ---- text ----------------------------------------------------------------- */

LOCKS_TEST(text_that_is_no_export_is_refused)
{
    static const char *const texts[] = {
        "",
        " ",
        "latchkey2",
        "latchkey2 lock",
        "latchkey2 lock id 1 1 1000",
        "latchkey2 lock id 1 1 1000 1",
        "latchkey1 lock - id 1 1 1000 1 n",
        "latchkey1 lock id 1 1 1000 1 n",
        "latchkey3 lock id 1 1 1000 1 n",
        "lock id 1 1 1000 1 n",
        "latchkey2 lock id 1 1 0 1 n",
        "latchkey2 lock id 1 1 1x00 1 n",
        "latchkey2 lock id 1 1 01000 1 n",
        "latchkey2 lock id 1 1 99999999999999999999 1 n",
        "latchkey2 lock id x 1 1000 1 n",
        "latchkey2 lock id 1x 1 1000 1 n",
        "latchkey2 lock id -1 1 1000 1 n",
        "latchkey2 lock id 1 1x 1000 1 n",
        "latchkey2 lock id 2 1 1000 1 n",
        "latchkey2 lock id 0 1 1000 1 n",
        "latchkey2 lock id 1 99999999999999999999 1000 1 n",
        "latchkey2 lock id 1 1 1000 2 n",
        "latchkey2 lock id 1 1 1000 x n",
        "latchkey2 lock id 1 1 1000 01 n",
        "latchkey2 lock id 1 1 1000  n",
        ("latchkey2 lock 01234567890123456789012345678901234567890123456789"
         "01234567890123 1 1 1000 1 n"),
        "{\"name\": \"n\"}",
    };
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = NULL;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (lk_lock_import(lock, texts[i], NULL, &hold) != LK_EINVAL)
            fail_msg("%s", texts[i]);
    }
    assert_status(lk_lock_import(lock, NULL, NULL, &hold), LK_EINVAL);
    assert_null(hold);
    assert_int_equal(locking_stats(f->clients[0]).holding, 0);
}

LOCKS_TEST(an_export_of_another_name_is_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock), *other = NULL;
    char text[LK_EXPORT_SIZE];

    locking_export(hold, text);
    assert_status(lk_lock_import(locking_lock(f, client, "m"), text, NULL,
                                 &other),
                  LK_EMISMATCH);
    assert_status(lk_lock_import(locking_lock(f, client, "nn"), text, NULL,
                                 &other),
                  LK_EMISMATCH);
    assert_null(other);
    hold = locking_import(lock, text);
    assert_status(lk_hold_release(hold), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
