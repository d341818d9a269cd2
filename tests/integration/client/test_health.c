/* SPDX-License-Identifier: MIT */

/* What a check of a server tells. */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/locking.h"

enum { LIST_MS = 10000 };

static const lk_check *check_of(const lk_health *health, const char *id)
{
    for (size_t i = 0; i < health->count; i++) {
        if (strcmp(health->checks[i]->id, id) == 0)
            return health->checks[i];
    }
    fail_msg("no check %s", id);
    return NULL;
}

LOCKS_TEST(a_check_of_the_server_tells_what_is_so)
{
    lk_client *client = locking_open(f, NULL);
    lk_health *health;

    assert_status(lk_health_check(client, LIST_MS, &health), LK_OK);
    assert_int_equal(check_of(health, "version")->level, LK_CHECK_OK);
    assert_int_equal(check_of(health, "eviction")->level, LK_CHECK_OK);
    assert_int_equal(check_of(health, "persistence")->level, LK_CHECK_WARN);
    assert_int_equal(check_of(health, "rights")->level, LK_CHECK_OK);
    assert_int_equal(check_of(health, "clock")->level, LK_CHECK_OK);
    assert_true(health->samples > 10);
    assert_true(health->rtt_max_us > 0);
    assert_true(health->rtt_min_us <= health->rtt_median_us);
    lk_health_free(health);
    assert_int_equal(server_integer(f->server, "DBSIZE"), 1); /* the record */
}

LOCKS_TEST(a_right_that_is_missing_is_found)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "poor",
                                 .password = "p"};
    lk_health *health;

    freeReplyObject(server_command(f->server,
                                   "ACL SETUSER poor reset on >p ~* &* +@all "
                                   "-publish -config -scan"));
    assert_status(lk_health_check(locking_open(f, &options), LIST_MS, &health),
                  LK_OK);
    assert_int_equal(check_of(health, "rights")->level, LK_CHECK_WARN);
    assert_non_null(strstr(check_of(health, "rights")->advice, "+publish"));
    assert_int_equal(check_of(health, "clock")->level, LK_CHECK_OK);
    lk_health_free(health);
    assert_int_equal(server_integer(f->server, "ACL DELUSER poor"), 1);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
