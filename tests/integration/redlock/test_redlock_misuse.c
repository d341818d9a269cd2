/* SPDX-License-Identifier: MIT */

/* The lock over several servers: what it refuses, and how it ends. */

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/redlocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

/* ---- handles ------------------------------------------------------------------- */

static lk_status make(lk_client *const *clients, size_t count, const char *name)
{
    lk_redlock *lock = NULL;
    lk_status status = lk_redlock_new(&lock, clients, count, name, NULL);

    lk_redlock_free(lock);
    return status;
}

REDLOCKING_TEST(a_list_of_clients_is_checked)
{
    const lk_client_options with = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *c[10];
    lk_client *twice[3], *mixed[3], *missing[3];

    for (size_t i = 0; i < 10; i++)
        c[i] = redlocking_open(f, i % REDLOCKING_SERVERS, NULL);
    twice[0] = twice[2] = mixed[0] = missing[0] = c[0];
    twice[1] = mixed[1] = missing[1] = c[1];
    mixed[2] = redlocking_open(f, 2, &with);
    missing[2] = NULL;

    assert_status(make(c, 3, "n"), LK_OK);
    assert_status(make(c, 9, "n"), LK_OK);
    assert_status(make(c, 0, "n"), LK_EINVAL);
    assert_status(make(NULL, 3, "n"), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "no clients"));
    assert_status(make(c, 2, "n"), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "even"));
    assert_status(make(c, 11, "n"), LK_EINVAL);
    assert_status(make(twice, 3, "n"), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "0 and 2 are the same"));
    assert_status(make(mixed, 3, "n"), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "dispatch"));
    assert_status(make(missing, 3, "n"), LK_EINVAL);
    assert_status(make(c, 3, NULL), LK_EINVAL);
    assert_status(make(c, 3, ""), LK_EINVAL);
    assert_status(lk_redlock_new(NULL, c, 3, "n", NULL), LK_EINVAL);
    lk_redlock_free(NULL);
}

static lk_status make_with(locking *f, lk_redlock_options options)
{
    lk_client *client =
        f->client_count == 0 ? redlocking_open(f, 0, NULL) : f->clients[0];
    lk_redlock *lock = NULL;
    lk_status status = lk_redlock_new(&lock, &client, 1, "n", &options);

    lk_redlock_free(lock);
    return status;
}

REDLOCKING_TEST(options_are_checked)
{
    const lk_redlock_options usual = {LK_REDLOCK_OPTIONS_INIT};
    lk_redlock_options bad;

    assert_status(make_with(f, usual), LK_OK);
    bad = usual;
    bad.size = 3;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad = usual;
    bad.lease_ms = UINT64_MAX;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad = usual;
    bad.lease_ms = 50;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad = usual;
    bad.node_timeout_ms = 30000;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad = usual;
    bad.useful_ms = 30000;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad.useful_ms = 29699; /* one more than is ever valid of the lease */
    assert_status(make_with(f, bad), LK_EINVAL);
    bad.useful_ms = 29698;
    assert_status(make_with(f, bad), LK_OK);
    bad = usual;
    bad.lease_ms = 2; /* the allowance for clocks takes all of it */
    bad.node_timeout_ms = 1;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad = usual;
    bad.longest_lease_ms = 29999;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad = usual;
    bad.durable = 2;
    assert_status(make_with(f, bad), LK_EINVAL);
    bad = usual;
    bad.retry_ms = UINT64_MAX;
    assert_status(make_with(f, bad), LK_EINVAL);
}

/* It would be granted and given back for ever. */
REDLOCKING_TEST(a_lease_that_is_never_useful_is_refused)
{
    lk_redlock_options useful = redlocking_options();
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = NULL;
    lk_redlock *lock;

    useful.node_timeout_ms = 1;
    useful.useful_ms = 1000;
    lock = redlocking_make(f, 1, &useful);
    options.lease_ms = 1000;
    assert_status(lk_redlock_acquire(lock, 200, &options, &hold), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "useful_ms"));
}

/* ---- calls ----------------------------------------------------------------------- */

REDLOCKING_TEST(an_acquire_is_checked)
{
    lk_redlock *lock = redlocking_make(f, 1, NULL);
    lk_client *stranger = redlocking_open(f, 1, NULL);
    lk_redlock_outcome outcome = {.size = sizeof(outcome)};
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = NULL;
    lk_owner *owner = NULL;

    assert_status(lk_redlock_outcome_get(lock, 0, &outcome), LK_ENOTHELD);
    assert_status(lk_redlock_outcome_get(lock, 1, &outcome), LK_EINVAL);
    assert_status(lk_redlock_outcome_get(lock, 0, NULL), LK_EINVAL);
    assert_status(lk_redlock_outcome_get(NULL, 0, &outcome), LK_EINVAL);
    assert_status(lk_redlock_acquire(NULL, 0, NULL, &hold), LK_EINVAL);
    assert_status(lk_redlock_acquire(lock, 0, NULL, NULL), LK_EINVAL);
    assert_status(lk_redlock_acquire(lock, -2, NULL, &hold), LK_EINVAL);
    assert_status(lk_redlock_acquire_async(lock, 0, NULL, NULL, NULL),
                  LK_EINVAL);
    assert_status(lk_redlock_run(lock, 0, NULL, NULL, NULL), LK_EINVAL);

    assert_status(lk_owner_new(&owner, f->clients[0]), LK_OK);
    options.owner = owner;
    assert_status(lk_redlock_acquire(lock, 0, &options, &hold), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "not re-entered"));
    lk_owner_free(owner);
    options.owner = NULL;

    assert_status(lk_cancel_new(&options.cancel, stranger), LK_OK);
    assert_status(lk_redlock_acquire(lock, 0, &options, &hold), LK_EINVAL);
    lk_cancel_free(options.cancel);
    options.cancel = NULL;

    options.replicas = 1;
    assert_status(lk_redlock_acquire(lock, 0, &options, &hold), LK_EINVAL);
    options.replicas = 0;

    options.lease_ms = 2 * (uint64_t)wait_lease_ms() + 1;
    assert_status(lk_redlock_acquire(lock, 0, &options, &hold), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "longest_lease_ms"));
    options.lease_ms = 1;
    assert_status(lk_redlock_acquire(lock, 0, &options, &hold), LK_EINVAL);
    assert_null(hold);
    assert_int_equal(redlocking_planted(1), 0);
}

/* ---- ends --------------------------------------------------------------------------- */

CHECK_TEST_OF(a_hold_outlives_its_handle_and_its_clients, NO_STATE,
              redlocking_setup, redlocking_teardown)
{
    lk_client *clients[3];
    lk_redlock *lock = NULL;
    const lk_redlock_options options = redlocking_options();
    lk_hold *hold = NULL;

    for (size_t i = 0; i < 3; i++)
        assert_status(lk_client_open(&clients[i],
                                     server_url(redlocking_servers[i]), NULL),
                      LK_OK);
    assert_status(lk_redlock_new(&lock, clients, 3, "n", &options), LK_OK);
    assert_status(lk_redlock_acquire(lock, (int64_t)wait_limit_ms(SOON_MS),
                                     NULL, &hold),
                  LK_OK);
    lk_redlock_free(lock);
    assert_status(lk_hold_check(hold), LK_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_status(lk_client_shutdown(clients[i],
                                         (int64_t)wait_limit_ms(SOON_MS)),
                      LK_OK);
        lk_client_free(clients[i]);
    }
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_CLOSED);
    assert_int_equal(redlocking_planted(3), 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static bool is_granted_by_three(void *lock)
{
    size_t granted = 0;

    for (size_t i = 0; i < 3; i++)
        granted += redlocking_answer(lock, i) == LK_REDLOCK_GRANTED;
    return granted == 3;
}

REDLOCKING_TEST(the_shutdown_of_one_client_takes_one_vote)
{
    lk_redlock *lock = redlocking_make(f, 3, NULL);
    lk_hold *hold = locking_hold(lock);

    assert_true(wait_until(is_granted_by_three, lock, SOON_MS));
    assert_status(lk_client_shutdown(f->clients[0], SOON_MS), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(redlocking_planted(3), 2);
    assert_status(lk_hold_extend(hold, wait_lease_ms()), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    redlocking_wait_planted(3, 0);

    hold = locking_hold(lock);
    assert_int_equal(redlocking_answer(lock, 0), LK_REDLOCK_ERROR);
    assert_status(lk_client_shutdown(f->clients[1], SOON_MS), LK_OK);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_CLOSED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    redlocking_wait_planted(3, 0);
    assert_status(lk_redlock_acquire(lock, LK_FOREVER, NULL, &hold),
                  LK_ECLOSED);
}

int test_redlock_misuse(void)
{
    return check_all(redlocking_start_servers, redlocking_stop_servers);
}
