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
static void assert_refused(siglocking *f, lk_lock *lock,
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
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
}

/* ---- one replica ------------------------------------------------------------- */

static void what_is_reported_is_at_the_replica(void **state)
{
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");

    for (int i = 0; i < 20; i++) {
        lk_hold *hold = replica_hold(lock, &replica_one);

        assert_true(replica_has("n"));
        assert_status(lk_hold_release(hold), LK_OK);
    }
    assert_status(lk_hold_release(replica_hold(lock, NULL)), LK_OK);
}

static void a_replica_that_stands_still_is_waited_for(void **state)
{
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    call *c = replica_call(f);

    server_freeze(replica_server());
    assert_status(lk_lock_acquire_async(lock, 0, &replica_one, call_on_acquire,
                                        c),
                  LK_OK);
    locking_wait_integer(f->base, 1, "EXISTS %s", "n");
    locking_pass_time(BRIEF_MS);
    assert_int_equal(c->ends, 0);
    server_thaw(replica_server());
    assert_status(call_wait(c, NULL), LK_OK);
    assert_true(replica_has("n"));
    assert_status(replica_release(c), LK_OK);
}

static void too_few_in_time_is_told_and_given_back(void **state)
{
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");

    assert_refused(f, lock, &two_brief, "1 of 2 replicas had it in time");
    server_freeze(replica_server());
    assert_refused(f, lock, &replica_one_brief,
                   "0 of 1 replicas had it in time");
    assert_int_equal(locking_stats(f->base->clients[0]).holding, 0);
}

static void without_a_replica_it_is_given_back(void **state)
{
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    call *c = replica_call(f);

    replica_leave();
    assert_refused(f, lock, &replica_one_brief,
                   "0 of 1 replicas had it in time");
    assert_status(lk_lock_acquire_async(lock, 0, &replica_one_brief,
                                        call_on_acquire, c),
                  LK_OK);
    assert_status(call_wait(c, NULL), LK_EREPLICAS);
    assert_null(c->hold);
    assert_string_equal(c->words, "0 of 1 replicas had it in time");
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
}

/* A grant that comes as a message has been written by the one who released. */
static void a_hold_that_is_handed_over_is_waited_for(void **state)
{
    siglocking *f = *state;
    lk_hold *hold = replica_hold(replica_lock(f, "n"), NULL);
    lk_lock *lock = replica_lock(f, "n");
    taker *t = locking_take(f->base, lock, LK_FOREVER, &replica_one_brief);

    locking_wait_queued(f->base, "n", 1);
    server_freeze(replica_server());
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_EREPLICAS);
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");

    server_thaw(replica_server());
    hold = replica_hold(f->base->locks[0], NULL);
    t = locking_take(f->base, lock, LK_FOREVER, &replica_one);
    locking_wait_queued(f->base, "n", 1);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    assert_true(replica_has("n"));
    assert_in_range(lk_hold_remaining_ms(t->hold), 25000, 30000);
    assert_status(taker_release(t), LK_OK);
}

/* ---- the same claim ------------------------------------------------------------ */

static void who_enters_again_needs_no_second_wait(void **state)
{
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    lk_hold *hold = replica_hold(lock, &replica_one);
    lk_hold *again = NULL;

    server_freeze(replica_server());
    again = replica_hold(lock, &replica_one);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, &two_brief, &again), LK_EREPLICAS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(locking_exists(f->base, "n"));
    assert_status(lk_hold_release(hold), LK_OK);
}

/* A lease that was lengthened already is written all the same. */
static void who_enters_again_may_need_more_than_before(void **state)
{
    siglocking *f = *state;
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
    left = locking_pttl(f->base, "n");
    again = replica_hold(lock, &replica_one);
    assert_true(locking_pttl(f->base, "n") > left);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The lease runs on; what ended meanwhile is not reported. */
static void a_hold_that_ends_meanwhile_is_lost(void **state)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = 300, .replicas = 1,
                                        .replica_ms = LONG_MS};
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    taker *t;

    server_freeze(replica_server());
    t = locking_take(f->base, lock, 0, &options);
    locking_wait_integer(f->base, 1, "EXISTS %s", "n");
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
    server_thaw(replica_server());
    assert_status(taker_join(t), LK_ELOST);
    assert_null(t->hold);
}

/* And it is told as soon as a WAIT is answered, or when the time is over. */
static void a_hold_that_ends_is_told_before_the_time_is_over(void **state)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 300,
                                  .replicas = 1,
                                  .replica_ms = wait_scaled_ms(30000)};
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    uint64_t began = wait_now_ms();
    lk_hold *none = NULL;

    server_freeze(replica_server());
    assert_status(lk_lock_acquire(lock, 0, &options, &none), LK_ELOST);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(10000)));
    options.lease_ms = 100;
    options.replica_ms = 110;
    assert_status(lk_lock_acquire(lock, 0, &options, &none), LK_ELOST);
    assert_null(none);
    server_thaw(replica_server());
}

/* ---- cancel ------------------------------------------------------------------- */

static void a_cancel_ends_the_wait_for_replicas(void **state)
{
    lk_acquire_options options = replica_one;
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    lk_cancel *cancel = NULL;
    uint64_t began = wait_now_ms();
    call *c = replica_call(f);
    taker *t;

    assert_status(lk_cancel_new(&cancel, f->base->clients[0]), LK_OK);
    options.cancel = cancel;
    options.replica_ms = wait_scaled_ms(60000);
    server_freeze(replica_server());
    t = locking_take(f->base, lock, 0, &options);
    locking_wait_integer(f->base, 1, "EXISTS %s", "n");
    assert_status(lk_lock_acquire_async(locking_lock(f->base,
                                                     f->base->clients[0], "m"),
                                        0, &options, call_on_acquire, c),
                  LK_OK);
    locking_wait_integer(f->base, 1, "EXISTS %s", "m");
    lk_cancel_fire(cancel);
    assert_status(taker_join(t), LK_ECANCELED);
    assert_null(t->hold);
    assert_status(call_wait(c, NULL), LK_ECANCELED);
    assert_null(c->hold);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(30000)));
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
    locking_wait_integer(f->base, 0, "EXISTS %s", "m");
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
static void a_connection_that_breaks_meanwhile_costs_nothing(void **state)
{
    siglocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = locking_open_url(f->base, proxy_url(p), NULL);
    renewing r = {client, 0};
    lk_lock *lock = locking_lock(f->base, client, "n");
    call *c = replica_call(f);

    assert_status(lk_hold_release(replica_hold(lock, NULL)), LK_OK);
    locking_wait_connects(client, 2);
    r.renewals = locking_stats(client).renewals + 1;
    server_freeze(replica_server());
    assert_status(lk_lock_acquire_async(lock, SOON_MS, &replica_one,
                                        call_on_acquire, c),
                  LK_OK);
    locking_wait_integer(f->base, 1, "EXISTS %s", "n");
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
static void what_was_known_of_replicas_ends_with_the_connection(void **state)
{
    siglocking *f = *state;
    proxy *p = locking_proxy(f->base);
    lk_client *client = locking_open_url(f->base, proxy_url(p), NULL);
    lk_lock *lock = locking_lock(f->base, client, "n");
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

static void a_shutdown_ends_the_wait(void **state)
{
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    taker *t;
    call *c = replica_call(f);

    server_freeze(replica_server());
    t = locking_take(f->base, lock, 0, &replica_one);
    locking_wait_integer(f->base, 1, "EXISTS %s", "n");
    assert_status(lk_lock_acquire_async(locking_lock(f->base,
                                                     f->base->clients[0], "m"),
                                        0, &replica_one, call_on_acquire, c),
                  LK_OK);
    locking_wait_integer(f->base, 1, "EXISTS %s", "m");
    assert_status(lk_client_shutdown(f->base->clients[0], SOON_MS), LK_OK);
    assert_status(taker_join(t), LK_ECLOSED);
    assert_status(call_wait(c, NULL), LK_ECLOSED);
    assert_false(locking_exists(f->base, "n"));
    assert_false(locking_exists(f->base, "m"));
}

static void a_right_that_is_missing_is_told(void **state)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};
    siglocking *f = *state;
    lk_lock *lock;
    lk_hold *none = NULL;

    freeReplyObject(
        server_command(f->base->server,
                       "ACL SETUSER far reset on >word ~* &* +@all -wait"));
    lock = locking_lock(f->base, locking_open(f->base, &options), "n");
    assert_status(lk_lock_acquire(lock, 0, &replica_one, &none), LK_EDENIED);
    assert_non_null(strstr(lk_last_error(), "wait"));
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
}

static void what_makes_no_sense_is_refused(void **state)
{
    const lk_acquire_options many = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1001};
    const lk_acquire_options time = {LK_ACQUIRE_OPTIONS_INIT, .replica_ms = 5};
    const lk_acquire_options ages = {LK_ACQUIRE_OPTIONS_INIT, .replicas = 1,
                                     .replica_ms = UINT64_MAX};
    siglocking *f = *state;
    lk_lock *lock = replica_lock(f, "n");
    lk_plain_semaphore *plain = NULL;
    lk_hold *none = NULL;

    assert_status(lk_lock_acquire(lock, 0, &many, &none), LK_EINVAL);
    assert_status(lk_lock_acquire(lock, 0, &time, &none), LK_EINVAL);
    assert_status(lk_lock_acquire(lock, 0, &ages, &none), LK_EINVAL);
    assert_status(lk_plain_semaphore_new(&plain, f->base->clients[0], "p"),
                  LK_OK);
    assert_status(lk_plain_semaphore_acquire(plain, 1, 0, &replica_one),
                  LK_EINVAL);
    lk_plain_semaphore_free(plain);
}

/* A caller of the first release has a shorter struct. */
static void options_of_the_first_release_are_taken(void **state)
{
    const lk_acquire_options options = {.size = offsetof(lk_acquire_options,
                                                         replicas),
                                        .replicas = 7};
    siglocking *f = *state;

    assert_status(lk_hold_release(replica_hold(replica_lock(f, "n"), &options)),
                  LK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPLICA_TEST(what_is_reported_is_at_the_replica),
        REPLICA_TEST(a_replica_that_stands_still_is_waited_for),
        REPLICA_TEST(too_few_in_time_is_told_and_given_back),
        REPLICA_TEST(without_a_replica_it_is_given_back),
        REPLICA_TEST(a_hold_that_is_handed_over_is_waited_for),
        REPLICA_TEST(who_enters_again_needs_no_second_wait),
        REPLICA_TEST(who_enters_again_may_need_more_than_before),
        REPLICA_TEST(a_hold_that_ends_meanwhile_is_lost),
        REPLICA_TEST(a_hold_that_ends_is_told_before_the_time_is_over),
        REPLICA_TEST(a_cancel_ends_the_wait_for_replicas),
        REPLICA_TEST(a_connection_that_breaks_meanwhile_costs_nothing),
        REPLICA_TEST(what_was_known_of_replicas_ends_with_the_connection),
        REPLICA_TEST(a_shutdown_ends_the_wait),
        REPLICA_TEST(a_right_that_is_missing_is_told),
        REPLICA_TEST(what_makes_no_sense_is_refused),
        REPLICA_TEST(options_of_the_first_release_are_taken),
    };

    return cmocka_run_group_tests(tests, replica_start, replica_stop);
}
