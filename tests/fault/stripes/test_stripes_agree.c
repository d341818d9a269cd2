/* SPDX-License-Identifier: MIT */

/* The number of stripes, where it goes, may not be read, or cannot be set. */

#include <latchkey/latchkey.h>

#include <stdlib.h>

#include "stripes/agree.h"
#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/wait.h"

#define KEY "latchkey:stripes:{n}"
#define MS  UINT64_C(1000000)

static lk_status agree(lk__agreement *agreement)
{
    lk_status status = lk__client_enter_blocking(agreement->client);

    if (status != LK_OK)
        return status;
    status = lk__agree(agreement, LK__NEVER);
    lk__client_leave(agreement->client);
    return status;
}

static lk__agreement *agreement_of(lk_client *client, uint64_t count)
{
    lk__agreement *agreement = lk__agreement_new(client, "n", count);

    assert_non_null(agreement);
    return agreement;
}

static lk_status acquire(lk_client *client, uint64_t count)
{
    const lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT,
                                        .count = count};
    lk_stripes *stripes = NULL;
    lk_hold *hold = NULL;
    lk_status status;

    assert_status(lk_stripes_new(&stripes, client, "n", &options), LK_OK);
    status = lk_stripes_acquire(stripes, "a", 0, NULL, &hold);
    lk_stripes_free(stripes);
    return status != LK_OK ? status : lk_hold_release(hold);
}

/* ---- time ---- */

LOCKS_TEST(a_minute_later_it_is_compared_again)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk__agreement *agreement = agreement_of(client, 4);

    assert_false(lk__agreement_is_fresh(agreement));
    assert_status(agree(agreement), LK_OK);
    assert_true(lk__agreement_is_fresh(agreement));
    agreement->compared_at -= 58000 * MS;
    assert_true(lk__agreement_is_fresh(agreement));
    agreement->compared_at -= 2000 * MS;
    assert_false(lk__agreement_is_fresh(agreement));
    lk__agreement_unref(agreement);
}

/* It went, by whatever hand, and who uses it brings it back. */
LOCKS_TEST(a_number_that_went_is_set_again)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk__agreement *agreement = agreement_of(client, 4);

    assert_status(agree(agreement), LK_OK);
    server_flush(f->server);
    assert_status(agree(agreement), LK_OK);
    assert_status(acquire(client, 8), LK_EMISMATCH);
    lk__agreement_unref(agreement);
}

/* Comparing writes once a day. */
LOCKS_TEST(it_is_made_to_last_once_a_day)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk__agreement *agreement = agreement_of(client, 4);

    assert_status(agree(agreement), LK_OK);
    assert_int_equal(server_integer(f->server, "PEXPIRE " KEY " 100000"), 1);
    agreement->prolonged_at -= 86300000 * MS;
    assert_status(agree(agreement), LK_OK);
    assert_in_range(locking_pttl(f, KEY), 1, 100000);
    agreement->prolonged_at -= 200000 * MS;
    assert_status(agree(agreement), LK_OK);
    assert_in_range(locking_pttl(f, KEY), 604000000, 604800000);
    lk__agreement_unref(agreement);
}

/* ---- many at once ---- */

enum { CROWD = 20 };

/* Half of them say 4, half of them 8; keys do not meet. */
static void crowd_begin(locking *f, call calls[CROWD])
{
    lk_client *clients[] = {locking_open_calm(f, NULL),
                            locking_open_calm(f, NULL)};

    for (int i = 0; i < CROWD; i++) {
        const lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT,
                                            .count = i % 2 == 0 ? 4 : 8};
        lk_stripes *stripes = NULL;

        assert_status(lk_stripes_new(&stripes, clients[i % 2], "n", &options),
                      LK_OK);
        assert_status(lk_stripes_acquire_async(stripes, "a", 0, NULL,
                                               call_on_acquire, &calls[i]),
                      LK_OK);
        lk_stripes_free(stripes);
    }
}

/* A client that agrees may find the stripe taken by another that does. */
LOCKS_TEST(of_many_that_come_at_once_one_number_wins)
{
    call calls[CROWD] = {0};
    int refused[2] = {0};

    crowd_begin(f, calls);
    for (int i = 0; i < CROWD; i++) {
        lk_status status = call_wait(&calls[i], NULL);

        refused[i % 2] += status == LK_EMISMATCH;
        assert_true(status == LK_OK || status == LK_EBUSY ||
                    status == LK_EMISMATCH);
    }
    assert_int_equal(refused[0] + refused[1], CROWD / 2);
    assert_true(refused[0] == 0 || refused[1] == 0);
    for (int i = 0; i < CROWD; i++) {
        if (calls[i].hold != NULL)
            assert_status(lk_hold_release(calls[i].hold), LK_OK);
    }
}

/* ---- the server refuses ---- */

LOCKS_TEST(without_the_right_to_the_key_it_is_refused)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};
    lk_client *client;

    free(server_string(f->server,
                       "ACL SETUSER far on >word ~n:* ~calm &* +@all "
                       "~latchkey:{n* ~redisson_*"));
    client = locking_open(f, &options);
    assert_says(acquire(client, 4), LK_EDENIED, "NOPERM");
    free(server_string(f->server, "ACL SETUSER far ~latchkey:stripes:*"));
    assert_status(acquire(client, 4), LK_OK);
    assert_int_equal(server_integer(f->server, "ACL DELUSER far"), 1);
}

LOCKS_TEST(without_memory_at_the_server_it_is_compared_but_not_set)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk__agreement *known = agreement_of(client, 4);
    lk__agreement *fresh = agreement_of(client, 4);

    assert_status(agree(known), LK_OK);
    free(server_string(f->server, "CONFIG SET maxmemory 1"));
    assert_status(agree(known), LK_OK);
    assert_int_equal(server_integer(f->server, "DEL " KEY), 1);
    assert_status(agree(fresh), LK_ESERVERMEM);
    free(server_string(f->server, "CONFIG SET maxmemory 0"));
    assert_status(agree(fresh), LK_OK);
    lk__agreement_unref(known);
    lk__agreement_unref(fresh);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
