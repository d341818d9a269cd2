/* SPDX-License-Identifier: MIT */

/*
 * A wait without a limit beside a server that is away for longer than offline_ms:
 * it goes on, and ends with what it waits for. One that has a limit ends.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "support/check.h"
#include "support/login.h"
#include "support/one_server.h"
#include "support/wait.h"

enum { COMMAND_MS = 100, OFFLINE_MS = 200, LONG_MS = 60000, SOON_MS = 10000 };
enum { LEASE_MS = 3600000 }; /* nothing is free because a lease has ended */

typedef struct scene {
    lk_client *client; /* whose waits are looked at */
    lk_client *other;  /* has what is waited for, and time */
    lk_cancel *cancel;
    lk_lock *probe;
    bool keeps;             /* what is got is kept for a second outage, */
    atomic_uint granted;    /* so many have it, */
    atomic_uint pending;    /* so many could not give it back in it, */
    atomic_bool gives_back; /* which has begun */
} scene;

/* Makes its handle, waits with it, and gives back what it got: the answer is that of
   the wait. */
typedef lk_status wait_function(scene *s);

typedef struct waiter {
    pthread_t thread;
    scene *scene;
    wait_function *wait;
    atomic_bool is_done;
    lk_status status;
    char words[200];
} waiter;

static lk_client *client_open(const lk_client_options *options)
{
    lk_client *client = NULL;

    assert_status(lk_client_open(&client, server_url(redis), options), LK_OK);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    return client;
}

static void scene_open(scene *s)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .command_timeout_ms = COMMAND_MS,
                                     .offline_ms = OFFLINE_MS,
                                     .watchdog_ms = LEASE_MS};
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = LONG_MS};

    *s = (scene){.client = client_open(&brief), .other = client_open(&patient)};
    assert_status(lk_lock_new(&s->probe, s->client, "probe", NULL), LK_OK);
    assert_status(lk_cancel_new(&s->cancel, s->client), LK_OK);
}

static void scene_close(scene *s)
{
    lk_lock_free(s->probe);
    (void)lk_client_shutdown(s->client, SOON_MS);
    lk_cancel_free(s->cancel);
    lk_client_free(s->client);
    lk_client_free(s->other);
}

static void *run(void *data)
{
    waiter *w = data;

    w->status = w->wait(w->scene);
    (void)strncpy(w->words, lk_last_error(), sizeof(w->words) - 1);
    atomic_store(&w->is_done, true);
    return NULL;
}

static void waiter_start(waiter *w, scene *s, wait_function *wait)
{
    *w = (waiter){.scene = s, .wait = wait};
    assert_int_equal(pthread_create(&w->thread, NULL, run, w), 0);
}

static bool is_done(void *data)
{
    return atomic_load(&((waiter *)data)->is_done);
}

static lk_status waiter_join(waiter *w)
{
    assert_true(wait_until(is_done, w, SOON_MS));
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    return w->status;
}

/* ---- what is waited for ----------------------------------------------------- */

static bool is_told_to(void *data)
{
    return atomic_load(&((scene *)data)->gives_back);
}

static void keep(scene *s)
{
    s->granted++;
    if (s->keeps)
        (void)wait_until(is_told_to, s, LONG_MS);
}

/* Unlike the wait, a release has a limit. Behind that it goes on by itself. */
static lk_status given_back(scene *s, lk_status status)
{
    if (status != LK_EPENDING)
        return status;
    s->pending++;
    return LK_OK;
}

static lk_status give_back(scene *s, lk_status status, lk_hold *hold)
{
    if (status != LK_OK)
        return status;
    keep(s);
    return given_back(s, lk_hold_release(hold));
}

static lk_status wait_lock(scene *s)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .cancel = s->cancel};
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_lock_new(&lock, s->client, "lock", NULL);

    if (status == LK_OK)
        status = lk_lock_acquire(lock, LK_FOREVER, &options, &hold);
    lk_lock_free(lock);
    return give_back(s, status, hold);
}

static lk_status wait_rwlock(scene *s)
{
    lk_rwlock *lock = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_rwlock_new(&lock, s->client, "rwlock", NULL);

    if (status == LK_OK)
        status = lk_rwlock_acquire_write(lock, LK_FOREVER, NULL, &hold);
    lk_rwlock_free(lock);
    return give_back(s, status, hold);
}

static lk_status wait_semaphore(scene *s)
{
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = 1};
    lk_semaphore *semaphore = NULL;
    lk_hold *hold = NULL;
    lk_status status =
        lk_semaphore_new(&semaphore, s->client, "semaphore", &options);

    if (status == LK_OK)
        status = lk_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL, &hold);
    lk_semaphore_free(semaphore);
    return give_back(s, status, hold);
}

static lk_status wait_plain(scene *s)
{
    lk_plain_semaphore *plain = NULL;
    lk_status status = lk_plain_semaphore_new(&plain, s->client, "plain");

    if (status == LK_OK)
        status = lk_plain_semaphore_acquire(plain, 1, LK_FOREVER, NULL);
    if (status == LK_OK) {
        keep(s);
        status = given_back(s, lk_plain_semaphore_release(plain, 1));
    }
    lk_plain_semaphore_free(plain);
    return status;
}

static lk_status wait_latch(scene *s)
{
    lk_latch *latch = NULL;
    lk_status status = lk_latch_new(&latch, s->client, "latch", NULL);

    if (status == LK_OK)
        status = lk_latch_wait(latch, LK_FOREVER, NULL);
    lk_latch_free(latch);
    return status;
}

static lk_status wait_election(scene *s)
{
    lk_leader *leader = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_leader_new(&leader, s->client, "leader", NULL);

    if (status == LK_OK)
        status = lk_leader_campaign(leader, LK_FOREVER, NULL, &hold);
    lk_leader_free(leader);
    return give_back(s, status, hold);
}

/* Somebody leads already. */
static lk_status wait_leader(scene *s)
{
    lk_leader *leader = NULL;
    lk_info *info = NULL;
    lk_status status = lk_leader_new(&leader, s->client, "led", NULL);

    if (status == LK_OK)
        status = lk_leader_observe(leader, 0, LK_FOREVER, NULL, &info);
    lk_info_free(info);
    lk_leader_free(leader);
    return status;
}

static lk_status wait_multilock(scene *s)
{
    lk_multilock *set = NULL;
    lk_lock *a = NULL, *b = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_multilock_new(&set);

    if (status == LK_OK)
        status = lk_lock_new(&a, s->client, "a", NULL);
    if (status == LK_OK)
        status = lk_lock_new(&b, s->client, "b", NULL);
    if (status == LK_OK)
        status = lk_multilock_add_lock(set, a);
    if (status == LK_OK)
        status = lk_multilock_add_lock(set, b);
    if (status == LK_OK)
        status = lk_multilock_acquire(set, LK_FOREVER, NULL, &hold);
    status = give_back(s, status, hold);
    lk_multilock_free(set);
    lk_lock_free(a);
    lk_lock_free(b);
    return status;
}

static lk_status wait_stripes(scene *s)
{
    lk_stripes *stripes = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_stripes_new(&stripes, s->client, "stripes", NULL);

    if (status == LK_OK)
        status = lk_stripes_acquire(stripes, "key", LK_FOREVER, NULL, &hold);
    lk_stripes_free(stripes);
    return give_back(s, status, hold);
}

static void on_hold(lk_status status, lk_hold *hold, void *data)
{
    waiter *w = data;

    w->status =
        status == LK_OK ? lk_hold_release_async(hold, NULL, NULL) : status;
    atomic_store(&w->is_done, true);
}

static lk_status wait_stripes_async(scene *s)
{
    lk_stripes *stripes = NULL;
    waiter inner = {.scene = s};
    lk_status status = lk_stripes_new(&stripes, s->client, "async", NULL);

    if (status == LK_OK)
        status = lk_stripes_acquire_async(stripes, "key", LK_FOREVER, NULL,
                                          on_hold, &inner);
    if (status == LK_OK) {
        (void)wait_until(is_done, &inner, LONG_MS);
        status = inner.status;
    }
    lk_stripes_free(stripes);
    return status;
}

static lk_status landed(lk_flight_ticket *ticket, void *data)
{
    (void)data;
    return lk_flight_ticket_set(ticket, "v", 1);
}

static lk_status wait_flight(scene *s)
{
    lk_flight *flight = NULL;
    lk_flight_value *value = NULL;
    lk_status status = lk_flight_new(&flight, s->client, "flight", NULL);

    if (status == LK_OK)
        status =
            lk_flight_do(flight, "key", LK_FOREVER, NULL, landed, NULL, &value);
    lk_flight_value_free(value);
    lk_flight_free(flight);
    return status;
}

static lk_status wait_siglock(scene *s)
{
    lk_siglock *lock = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_siglock_new(&lock, s->client, "siglock", NULL);

    if (status == LK_OK)
        status = lk_siglock_acquire(lock, LK_FOREVER, NULL, &hold);
    lk_siglock_free(lock);
    return give_back(s, status, hold);
}

static lk_status wait_redlock(scene *s)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .lease_ms = LEASE_MS,
                                        .longest_lease_ms = LEASE_MS,
                                        .durable = 1};
    lk_redlock *lock = NULL;
    lk_hold *hold = NULL;
    lk_status status =
        lk_redlock_new(&lock, &s->client, 1, "redlock", &options);

    if (status == LK_OK)
        status = lk_redlock_acquire(lock, LK_FOREVER, NULL, &hold);
    lk_redlock_free(lock);
    return give_back(s, status, hold);
}

static wait_function *const waits[] = {
    wait_lock,          wait_rwlock,   wait_semaphore, wait_plain,
    wait_latch,         wait_election, wait_leader,    wait_multilock,
    wait_stripes_async, wait_stripes,  wait_flight,    wait_siglock,
    wait_redlock,
};

enum { WAITS = sizeof(waits) / sizeof(waits[0]) };

/* ---- tests -------------------------------------------------------------------- */

/* What is there when they come. */
static void set_up(const scene *s, lk_hold **ret_lead)
{
    lk_plain_semaphore *plain = NULL;
    lk_latch *latch = NULL;
    lk_leader *leader = NULL;

    assert_status(lk_plain_semaphore_new(&plain, s->other, "plain"), LK_OK);
    assert_status(lk_plain_semaphore_try_set(plain, 1, 0), LK_OK);
    lk_plain_semaphore_free(plain);
    assert_status(lk_latch_new(&latch, s->other, "latch", NULL), LK_OK);
    assert_status(lk_latch_try_set_count(latch, 1), LK_OK);
    assert_status(lk_latch_count_down(latch, 1), LK_OK);
    lk_latch_free(latch);
    assert_status(lk_leader_new(&leader, s->other, "led", NULL), LK_OK);
    assert_status(lk_leader_campaign(leader, 0, NULL, ret_lead), LK_OK);
    lk_leader_free(leader);
}

/* The server was away for offline_ms by then, as one that has a limit tells. */
static bool is_offline(void *data)
{
    lk_hold *hold = NULL;

    return lk_lock_acquire(((scene *)data)->probe, LONG_MS, NULL, &hold) ==
           LK_EOFFLINE;
}

static void pass_an_outage(scene *s)
{
    assert_true(wait_until(is_offline, s, SOON_MS));
    assert_true(wait_until(is_offline, s, SOON_MS));
}

static unsigned count_done(waiter *all)
{
    unsigned count = 0;

    for (size_t i = 0; i < WAITS; i++) {
        count += is_done(&all[i]);
        if (is_done(&all[i]))
            print_error("wait %zu: LK_%s: %s\n", i,
                        lk_status_name(all[i].status), all[i].words);
    }
    return count;
}

static void begin_in_an_outage(scene *s, waiter *all)
{
    unsigned ended;

    server_freeze(redis);
    pass_an_outage(s);
    for (size_t i = 0; i < WAITS; i++)
        waiter_start(&all[i], s, waits[i]);
    pass_an_outage(s);
    ended = count_done(all);
    server_thaw(redis);
    assert_int_equal(ended, 0);
}

static void join_all(waiter *all)
{
    unsigned failed = 0;

    for (size_t i = 0; i < WAITS; i++) {
        if (waiter_join(&all[i]) == LK_OK)
            continue;
        failed++;
        print_error("wait %zu: LK_%s: %s\n", i, lk_status_name(all[i].status),
                    all[i].words);
    }
    assert_int_equal(failed, 0);
}

FLUSHED_TEST(one_that_begins_in_an_outage_rides_it_out)
{
    scene s;
    waiter all[WAITS];
    lk_hold *lead = NULL;

    scene_open(&s);
    set_up(&s, &lead);
    begin_in_an_outage(&s, all);
    join_all(all);
    (void)lk_hold_release(lead);
    scene_close(&s);
}

/* Another client gets all of it. */
static void wait_again(const scene *s)
{
    scene next = {.client = s->other};
    waiter all[WAITS];

    for (size_t i = 0; i < WAITS; i++)
        waiter_start(&all[i], &next, waits[i]);
    join_all(all);
}

/* It begins when the first of them is granted: questions of others are under way.
   What cannot be given back in it goes to the next all the same. */
FLUSHED_TEST(one_that_begins_in_an_outage_rides_out_a_second_one)
{
    scene s;
    waiter all[WAITS];
    lk_hold *lead = NULL;

    scene_open(&s);
    s.keeps = true;
    set_up(&s, &lead);
    begin_in_an_outage(&s, all);
    assert_soon(s.granted > 0, SOON_MS);
    server_freeze(redis);
    atomic_store(&s.gives_back, true);
    assert_soon(s.pending > 0, SOON_MS);
    pass_an_outage(&s);
    server_thaw(redis);
    join_all(all);
    wait_again(&s);
    (void)lk_hold_release(lead);
    scene_close(&s);
}

static lk_hold *hold_lock(const scene *s)
{
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_lock_new(&lock, s->other, "lock", NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_OK);
    lk_lock_free(lock);
    return hold;
}

/* Killed, it comes back without its data. */
FLUSHED_TEST(one_that_waits_when_the_server_goes_rides_it_out)
{
    scene s;
    lk_hold *hold;
    waiter w;

    scene_open(&s);
    hold = hold_lock(&s);
    waiter_start(&w, &s, wait_lock);
    assert_soon(server_integer(redis, SERVER_WAITERS("lock")) == 1, SOON_MS);
    server_kill(redis);
    pass_an_outage(&s);
    assert_false(is_done(&w));
    assert_true(server_restart(redis));
    assert_status(waiter_join(&w), LK_OK);
    (void)lk_hold_release(hold);
    scene_close(&s);
}

FLUSHED_TEST(one_that_rides_it_out_can_be_canceled)
{
    scene s;
    waiter w;

    scene_open(&s);
    server_kill(redis);
    pass_an_outage(&s);
    waiter_start(&w, &s, wait_lock);
    pass_an_outage(&s);
    assert_false(is_done(&w));
    lk_cancel_fire(s.cancel);
    assert_status(waiter_join(&w), LK_ECANCELED);
    scene_close(&s);
}

static bool is_refused(void *data)
{
    lk_hold *hold = NULL;

    return lk_lock_acquire(((scene *)data)->probe, LONG_MS, NULL, &hold) ==
           LK_EAUTH;
}

/* The server comes back with a password that the client does not have. What is sent
   before the client knows it would end in doubt. */
FLUSHED_TEST(what_does_not_pass_by_itself_ends_it)
{
    scene s;
    waiter w;

    scene_open(&s);
    server_freeze(redis);
    pass_an_outage(&s);
    waiter_start(&w, &s, wait_lock);
    pass_an_outage(&s);
    server_thaw(redis);
    freeReplyObject(server_command(redis, "ACL SETUSER %s resetpass >secret",
                                   login_user()));
    freeReplyObject(
        server_command(redis, "CLIENT KILL TYPE normal SKIPME yes"));
    (void)waiter_join(&w);
    assert_true(wait_until(is_refused, &s, SOON_MS));
    waiter_start(&w, &s, wait_lock);
    assert_status(waiter_join(&w), LK_EAUTH);
    freeReplyObject(
        server_command(redis, "ACL SETUSER %s %s", login_user(), login_rule()));
    scene_close(&s);
}

CHECK_GROUP(one_server_start, one_server_stop)
