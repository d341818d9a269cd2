/* SPDX-License-Identifier: MIT */

/*
 * A hold that replicas must have before it is reported: with one that follows, one
 * that stands still, and none. Of several at once: test_replicas_many.c.
 */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/proxy.h"
#include "support/replica.h"
#include "support/wait.h"

/* A WAIT may take 150 ms, so within 500 one is answered. */
enum { SOON_MS = 5000, BRIEF_MS = 100, ANSWERED_MS = 500, LONG_MS = 10000 };

static const lk_acquire_options two_brief = {LK_ACQUIRE_OPTIONS_INIT,
                                             .replicas = 2,
                                             .replica_ms = ANSWERED_MS};

/* Refused, in time, with these words; and given back. */
static void assert_refused(locking *f, lk_lock *lock,
                           const lk_acquire_options *options, const char *words)
{
    uint64_t began = wait_now_ms();
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(lock, 0, options, &none), LK_EREPLICAS);
    assert_string_equal(lk_last_error(), words);
    assert_null(none);
    assert_in_range(wait_now_ms() - began, options->replica_ms,
                    wait_allowed_ms(options->replica_ms +
                                    wait_scaled_ms(1000)));
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

/* ---- one replica ------------------------------------------------------------- */

REPLICA_TEST(what_is_reported_is_at_the_replica)
{
    lk_lock *lock = replica_lock(f, "n");

    for (int i = 0; i < 20; i++) {
        lk_hold *hold = replica_hold(lock, &replica_one);

        assert_true(replica_has("n"));
        assert_status(lk_hold_release(hold), LK_OK);
    }
    assert_status(lk_hold_release(replica_hold(lock, NULL)), LK_OK);
}

REPLICA_TEST(a_replica_that_stands_still_is_waited_for)
{
    lk_lock *lock = replica_lock(f, "n");
    call *c = locking_call(f);

    server_freeze(replica_server());
    assert_status(lk_lock_acquire_async(lock, 0, &replica_one, call_on_acquire,
                                        c),
                  LK_OK);
    locking_wait_integer(f, 1, "EXISTS %s", "n");
    locking_pass_time(BRIEF_MS);
    assert_int_equal(c->ends, 0);
    server_thaw(replica_server());
    assert_status(call_wait(c, NULL), LK_OK);
    assert_true(replica_has("n"));
    assert_status(replica_release(c), LK_OK);
}

REPLICA_TEST(too_few_in_time_is_told_and_given_back)
{
    lk_lock *lock = replica_lock(f, "n");

    assert_refused(f, lock, &two_brief, "1 of 2 replicas had it in time");
    server_freeze(replica_server());
    assert_refused(f, lock, &replica_one_brief,
                   "0 of 1 replicas had it in time");
    assert_int_equal(locking_stats(f->clients[0]).holding, 0);
}

REPLICA_TEST(without_a_replica_it_is_given_back)
{
    lk_lock *lock = replica_lock(f, "n");
    call *c = locking_call(f);

    replica_leave();
    assert_refused(f, lock, &replica_one_brief,
                   "0 of 1 replicas had it in time");
    assert_status(lk_lock_acquire_async(lock, 0, &replica_one_brief,
                                        call_on_acquire, c),
                  LK_OK);
    assert_status(call_wait(c, NULL), LK_EREPLICAS);
    assert_null(c->hold);
    assert_string_equal(c->words, "0 of 1 replicas had it in time");
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

/* A grant that comes as a message has been written by the one who released. */
REPLICA_TEST(a_hold_that_is_handed_over_is_waited_for)
{
    lk_hold *hold = replica_hold(replica_lock(f, "n"), NULL);
    lk_lock *lock = replica_lock(f, "n");
    taker *t = locking_take(f, lock, LK_FOREVER, &replica_one_brief);

    locking_wait_queued(f, "n", 1);
    server_freeze(replica_server());
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_EREPLICAS);
    locking_wait_integer(f, 0, "EXISTS %s", "n");

    server_thaw(replica_server());
    hold = replica_hold(f->handles[0], NULL);
    t = locking_take(f, lock, LK_FOREVER, &replica_one);
    locking_wait_queued(f, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_true(replica_has("n"));
    assert_in_range(lk_hold_remaining_ms(t->hold), 25000, 30000);
    assert_status(taker_release(t), LK_OK);
}

/* ---- the same claim ------------------------------------------------------------ */

REPLICA_TEST(who_enters_again_needs_no_second_wait)
{
    lk_lock *lock = replica_lock(f, "n");
    lk_hold *hold = replica_hold(lock, &replica_one);
    lk_hold *again = NULL;

    server_freeze(replica_server());
    again = replica_hold(lock, &replica_one);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, &two_brief, &again), LK_EREPLICAS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_release(hold), LK_OK);
}

/* A lease that was lengthened already is written all the same. */
REPLICA_TEST(who_enters_again_may_need_more_than_before)
{
    lk_lock *lock = replica_lock(f, "n");
    lk_hold *hold = replica_hold(lock, NULL);
    lk_hold *again = NULL;
    long long left;

    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    server_freeze(replica_server());
    assert_status(lk_lock_acquire(lock, 0, &replica_one_brief, &again),
                  LK_EREPLICAS);
    server_thaw(replica_server());
    locking_pass_time(200);
    left = locking_pttl(f, "n");
    again = replica_hold(lock, &replica_one);
    assert_true(locking_pttl(f, "n") > left);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The lease runs on; what ended meanwhile is not reported. */
REPLICA_TEST(a_hold_that_ends_meanwhile_is_lost)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = wait_limit_ms(300),
                                        .replicas = 1,
                                        .replica_ms = wait_limit_ms(LONG_MS)};
    lk_lock *lock = replica_lock(f, "n");
    taker *t;

    server_freeze(replica_server());
    t = locking_take(f, lock, 0, &options);
    locking_wait_integer(f, 1, "EXISTS %s", "n");
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    server_thaw(replica_server());
    assert_status(taker_join(t), LK_ELOST);
    assert_null(t->hold);
}

/* And it is told as soon as a WAIT is answered, or when the time is over. */
REPLICA_TEST(a_hold_that_ends_is_told_before_the_time_is_over)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .lease_ms = wait_limit_ms(300), .replicas = 1,
                                  .replica_ms = wait_scaled_ms(30000)};
    lk_lock *lock = replica_lock(f, "n");
    uint64_t began = wait_now_ms();
    lk_hold *none = NULL;

    server_freeze(replica_server());
    assert_status(lk_lock_acquire(lock, 0, &options, &none), LK_ELOST);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(10000)));
    options.lease_ms = wait_limit_ms(100);
    options.replica_ms = options.lease_ms + 10;
    assert_status(lk_lock_acquire(lock, 0, &options, &none), LK_ELOST);
    assert_null(none);
    server_thaw(replica_server());
}

/* ---- cancel ------------------------------------------------------------------- */

REPLICA_TEST(a_cancel_ends_the_wait_for_replicas)
{
    lk_acquire_options options = replica_one;
    lk_lock *lock = replica_lock(f, "n");
    lk_cancel *cancel = NULL;
    uint64_t began = wait_now_ms();
    call *c = locking_call(f);
    taker *t;

    assert_status(lk_cancel_new(&cancel, f->clients[0]), LK_OK);
    options.cancel = cancel;
    options.replica_ms = wait_scaled_ms(60000);
    server_freeze(replica_server());
    t = locking_take(f, lock, 0, &options);
    locking_wait_integer(f, 1, "EXISTS %s", "n");
    assert_status(lk_lock_acquire_async(locking_lock(f, f->clients[0], "m"), 0,
                                        &options, call_on_acquire, c),
                  LK_OK);
    locking_wait_integer(f, 1, "EXISTS %s", "m");
    lk_cancel_fire(cancel);
    assert_status(taker_join(t), LK_ECANCELED);
    assert_null(t->hold);
    assert_status(call_wait(c, NULL), LK_ECANCELED);
    assert_null(c->hold);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(30000)));
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    locking_wait_integer(f, 0, "EXISTS %s", "m");
    lk_cancel_free(cancel);
    server_thaw(replica_server());
}

/* ---- faults ---------------------------------------------------------------------------- */

typedef struct renewing {
    lk_client *client;
    uint64_t renewals;
} renewing;

static bool has_renewed(void *data)
{
    const renewing *r = data;

    return locking_stats(r->client).renewals >= r->renewals;
}

/* WAIT counts what its own connection wrote, so a new one has to write as
   well. The connections of a client are: commands, inbox, lane. */
REPLICA_TEST(a_connection_that_breaks_meanwhile_costs_nothing)
{
    proxy *p = locking_proxy(f);
    lk_client *client = locking_open_url(f, proxy_url(p), NULL);
    renewing r = {client, 0};
    lk_lock *lock = locking_lock(f, client, "n");
    call *c = locking_call(f);

    assert_status(lk_hold_release(replica_hold(lock, NULL)), LK_OK);
    locking_wait_connects(client, 2);
    r.renewals = locking_stats(client).renewals + 1;
    server_freeze(replica_server());
    assert_status(lk_lock_acquire_async(lock, (int64_t)wait_limit_ms(SOON_MS),
                                        &replica_one, call_on_acquire, c),
                  LK_OK);
    locking_wait_integer(f, 1, "EXISTS %s", "n");
    assert_true(proxy_wait_accepted(p, 3, SOON_MS));
    assert_true(wait_until(has_renewed, &r, SOON_MS));
    r.renewals++;
    locking_pass_time(100);
    assert_false(has_renewed(&r));
    proxy_reset(p, 2);
    assert_true(wait_until(has_renewed, &r, SOON_MS));
    locking_pass_time(100);
    assert_int_equal(c->ends, 0);
    server_thaw(replica_server());
    assert_status(call_wait(c, NULL), LK_OK);
    assert_true(replica_has("n"));
    assert_status(replica_release(c), LK_OK);
}

/* Behind a new connection there may be another master, with other replicas. */
REPLICA_TEST(what_was_known_of_replicas_ends_with_the_connection)
{
    proxy *p = locking_proxy(f);
    lk_client *client = locking_open_url(f, proxy_url(p), NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = NULL, *again = NULL;

    assert_status(lk_hold_release(replica_hold(lock, NULL)), LK_OK);
    locking_wait_connects(client, 2);
    hold = replica_hold(lock, &replica_one);
    assert_true(proxy_wait_accepted(p, 3, SOON_MS));
    server_freeze(replica_server());
    assert_status(lk_hold_release(replica_hold(lock, &replica_one)), LK_OK);
    proxy_reset(p, 2);
    assert_true(proxy_wait_accepted(p, 4, SOON_MS));
    assert_status(lk_lock_acquire(lock, 0, &replica_one_brief, &again),
                  LK_EREPLICAS);
    assert_null(again);
    assert_status(lk_hold_check(hold), LK_OK);
    server_thaw(replica_server());
    assert_status(lk_lock_acquire(lock, 0, &replica_one, &again), LK_OK);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

REPLICA_TEST(a_shutdown_ends_the_wait)
{
    lk_lock *lock = replica_lock(f, "n");
    taker *t;
    call *c = locking_call(f);

    server_freeze(replica_server());
    t = locking_take(f, lock, 0, &replica_one);
    locking_wait_integer(f, 1, "EXISTS %s", "n");
    assert_status(lk_lock_acquire_async(locking_lock(f, f->clients[0], "m"), 0,
                                        &replica_one, call_on_acquire, c),
                  LK_OK);
    locking_wait_integer(f, 1, "EXISTS %s", "m");
    assert_status(lk_client_shutdown(f->clients[0], SOON_MS), LK_OK);
    assert_status(taker_join(t), LK_ECLOSED);
    assert_status(call_wait(c, NULL), LK_ECLOSED);
    assert_false(locking_exists(f, "n"));
    assert_false(locking_exists(f, "m"));
}

REPLICA_TEST(a_right_that_is_missing_is_told)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};
    lk_lock *lock;
    lk_hold *none = NULL;

    freeReplyObject(
        server_command(f->server,
                       "ACL SETUSER far reset on >word ~* &* +@all -wait"));
    lock = locking_lock(f, locking_open(f, &options), "n");
    assert_status(lk_lock_acquire(lock, 0, &replica_one, &none), LK_EDENIED);
    assert_non_null(strstr(lk_last_error(), "wait"));
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

REPLICA_TEST(what_makes_no_sense_is_refused)
{
    const lk_acquire_options many = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1001};
    const lk_acquire_options time = {LK_ACQUIRE_OPTIONS_INIT, .replica_ms = 5};
    const lk_acquire_options ages = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                     .replica_ms = UINT64_MAX};
    lk_lock *lock = replica_lock(f, "n");
    lk_plain_semaphore *plain;
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(lock, 0, &many, &none), LK_EINVAL);
    assert_status(lk_lock_acquire(lock, 0, &time, &none), LK_EINVAL);
    assert_status(lk_lock_acquire(lock, 0, &ages, &none), LK_EINVAL);
    plain = locking_named(f, lk_plain_semaphore, f->clients[0], "p");
    assert_status(lk_plain_semaphore_acquire(plain, 1, 0, &replica_one),
                  LK_EINVAL);
}

/* A caller of the first release has a shorter struct. */
REPLICA_TEST(options_of_the_first_release_are_taken)
{
    const lk_acquire_options options = {.size = offsetof(lk_acquire_options,
                                                         replicas),
                                        .replicas = 7};

    assert_status(lk_hold_release(replica_hold(replica_lock(f, "n"), &options)),
                  LK_OK);
}

CHECK_GROUP(replica_start, replica_stop)
