/* SPDX-License-Identifier: MIT */

/* The end of a client, in whatever state it is. */

#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000 };

static lk_client *open_to_nobody(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = 60000};

    return locking_open_url(f, "unix:/nowhere/redis.sock", &options);
}

/* Shuts it down, which has to be quick, and to succeed. */
static void shut_down(lk_client *client)
{
    uint64_t begin = wait_now_ms();

    assert_status(lk_client_shutdown(client, 10000), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(500)));
}

/* ---- each state ---- */

LOCKS_TEST(an_idle_client_is_shut_down)
{
    shut_down(locking_open(f, NULL));
}

LOCKS_TEST(a_client_that_was_just_opened_is_shut_down)
{
    for (int i = 0; i < 10; i++) {
        lk_client *client = locking_open_url(f, server_url(f->server), NULL);

        shut_down(client);
        locking_free_client(f, client);
    }
}

LOCKS_TEST(a_client_that_finds_no_server_is_shut_down)
{
    shut_down(open_to_nobody(f));
}

LOCKS_TEST(a_client_that_resolves_a_name_is_shut_down)
{
    shut_down(locking_open_url(f, "redis://name.invalid", NULL));
}

LOCKS_TEST(to_shut_down_again_is_harmless)
{
    lk_client *client = locking_open(f, NULL);

    for (int i = 0; i < 3; i++) {
        assert_status(lk_client_shutdown(client, 60000), LK_OK);
        assert_status(lk_client_shutdown(client, 0), LK_OK);
    }
}

LOCKS_TEST(holds_are_released_at_the_server)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *one = locking_hold(locking_lock(f, client, "one"));
    lk_hold *two = locking_hold(locking_lock(f, client, "two"));
    lk_hold *again = locking_hold((lk_lock *)f->handles[1]);

    shut_down(client);
    assert_false(locking_exists(f, "one"));
    assert_false(locking_exists(f, "two"));
    assert_status(lk_hold_check(one), LK_ELOST);
    assert_int_equal(lk_hold_loss(one), LK_LOSS_CLOSED);
    assert_int_equal(lk_hold_remaining_ms(two), 0);
    assert_status(lk_hold_release(one), LK_ECLOSED);
    assert_status(lk_hold_release(two), LK_ECLOSED);
    assert_status(lk_hold_release(again), LK_ECLOSED);
}

/* The server may close the connection before it has read the release. */
LOCKS_TEST(a_shutdown_without_a_wait_leaves_nothing_beyond_its_lease)
{
    lk_client *client = locking_open_calm(f, NULL);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = wait_lease_ms()};
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(locking_lock(f, client, "n"),
                                  (int64_t)wait_limit_ms(SOON_MS), &options,
                                  &hold),
                  LK_OK);
    (void)lk_client_shutdown(client, 0);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

LOCKS_TEST(a_release_at_shutdown_hands_over)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    taker *t = locking_take(f, locking_new(f, lk_lock), LK_FOREVER, NULL);

    locking_wait_queued(f, "n", 1);
    shut_down(client);
    assert_status(taker_join(t), LK_OK);
    assert_true(t->took_ms < wait_limit_ms(SOON_MS));
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

LOCKS_TEST(a_queued_wait_ends_and_leaves_the_queue)
{
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    lk_client *client = locking_open(f, NULL);
    taker *t = locking_take(f, locking_lock(f, client, "n"), LK_FOREVER, NULL);

    locking_wait_queued(f, "n", 1);
    shut_down(client);
    assert_status(taker_join(t), LK_ECLOSED);
    assert_int_equal(server_integer(f->server, SERVER_WAITERS("n")), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(locking_exists(f, "n"));
}

LOCKS_TEST(a_line_of_waits_ends)
{
    enum { WAITS = 10 };
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);

    for (int i = 0; i < WAITS; i++)
        locking_take(f, lock, LK_FOREVER, NULL);
    locking_wait_waiting(client, WAITS);
    shut_down(client);
    for (int i = 0; i < WAITS; i++)
        assert_status(taker_join(f->takers.all[i]), LK_ECLOSED);
    assert_false(locking_exists(f, "n"));
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

LOCKS_TEST(a_wait_without_a_server_ends)
{
    lk_client *client = open_to_nobody(f);
    taker *t = locking_take(f, locking_lock(f, client, "n"), LK_FOREVER, NULL);

    locking_wait_waiting(client, 1);
    shut_down(client);
    assert_status(taker_join(t), LK_ECLOSED);
}

/* ---- calls that block in other threads ---- */

struct blocked {
    void *object;
    lk_status (*call)(void *object);
    atomic_bool begun;
    lk_status status;
};

static void *blocked_run(void *data)
{
    struct blocked *blocked = data;

    atomic_store(&blocked->begun, true);
    blocked->status = blocked->call(blocked->object);
    return NULL;
}

static lk_status wait_ready(void *client)
{
    return lk_client_wait_ready(client, LK_FOREVER);
}

static lk_status extend(void *hold)
{
    return lk_hold_extend(hold, 60000);
}

static lk_status ask_locked(void *lock)
{
    bool locked;

    return lk_lock_is_locked(lock, &locked);
}

/* What a call says when the client is shut down under it. */
static lk_status
status_of_blocked(lk_client *client, lk_status (*ask)(void *), void *object)
{
    struct blocked blocked = {.object = object, .call = ask};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, blocked_run, &blocked), 0);
    assert_soon(atomic_load(&blocked.begun), SOON_MS);
    locking_pass_time(30);
    (void)lk_client_shutdown(client, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return blocked.status;
}

LOCKS_TEST(who_waits_for_the_server_is_told)
{
    lk_client *client = open_to_nobody(f);

    assert_status(status_of_blocked(client, wait_ready, client), LK_ECLOSED);
}

/* They were sent, and perhaps done. */
LOCKS_TEST(who_waits_for_an_answer_is_in_doubt)
{
    lk_client *clients[2] = {locking_open(f, NULL), locking_open(f, NULL)};
    lk_lock *lock = locking_lock(f, clients[1], "m");
    lk_hold *hold = locking_hold_for(locking_lock(f, clients[0], "n"), 30000);
    lk_status extended, asked;

    server_freeze(f->server);
    extended = status_of_blocked(clients[0], extend, hold);
    asked = status_of_blocked(clients[1], ask_locked, lock);
    server_thaw(f->server);
    assert_true(extended == LK_EINDOUBT || extended == LK_ECLOSED);
    assert_true(asked == LK_EINDOUBT || asked == LK_ECLOSED);
    (void)lk_hold_release(hold);
}

/* Whether its release was sent before the time ended is not promised: it ends with
   that or with its lease. */
LOCKS_TEST(a_shutdown_that_gets_no_answer_ends_in_time)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = wait_lease_ms()};
    lk_client *client = locking_open(f, &brief);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    uint64_t begin;

    server_freeze(f->server);
    begin = wait_now_ms();
    assert_status(lk_client_shutdown(client, 300), LK_ETIMEDOUT);
    assert_non_null(strstr(lk_last_error(), "not all releases"));
    assert_in_range(wait_now_ms() - begin, 300,
                    wait_allowed_ms(300 + wait_scaled_ms(150)));
    assert_status(lk_hold_check(hold), LK_ELOST);
    server_thaw(f->server);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

/* ---- afterwards ---- */

LOCKS_TEST(every_call_says_that_it_is_closed)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);
    lk_lock *no_lock = NULL;
    lk_hold *no_hold = NULL;
    lk_info *no_info = NULL;
    bool locked;

    shut_down(client);
    assert_status(lk_client_wait_ready(client, 1000), LK_ECLOSED);
    assert_true(strlen(lk_last_error()) > 0);
    assert_status(lk_lock_new(&no_lock, client, "m", NULL), LK_ECLOSED);
    assert_status(lk_lock_acquire(lock, 0, NULL, &no_hold), LK_ECLOSED);
    assert_status(lk_lock_acquire(lock, 100, NULL, &no_hold), LK_ECLOSED);
    assert_status(lk_lock_force_release(lock), LK_ECLOSED);
    assert_status(lk_lock_is_locked(lock, &locked), LK_ECLOSED);
    assert_status(lk_lock_info(lock, &no_info), LK_ECLOSED);
    assert_status(lk_hold_extend(hold, 1000), LK_ECLOSED);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
    assert_null(no_lock);
    assert_null(no_hold);
    assert_null(no_info);
}

/* A lost hold needs no server to be let go of. */
LOCKS_TEST(what_was_lost_before_can_still_be_let_go_of)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold_for(locking_lock(f, client, "n"), 50);

    while (lk_hold_check(hold) == LK_OK)
        locking_pass_time(1);
    shut_down(client);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_true(lk_hold_release(hold) != LK_OK);
}

LOCKS_TEST(pointers_stay_valid)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_client_stats stats = {.size = sizeof(stats)};
    lk_owner *owner = NULL;
    lk_cancel *cancel = NULL;

    assert_status(lk_owner_new(&owner, client), LK_OK);
    assert_status(lk_cancel_new(&cancel, client), LK_OK);
    shut_down(client);
    assert_int_equal(strlen(lk_client_id(client)), 32);
    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    assert_int_equal(stats.holding, 0);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.pending, 0);
    assert_true(lk_hold_fence(hold) > 0);
    assert_true(lk_hold_fd(hold) >= 0);
    assert_int_equal(lk_client_fd(client), -1);
    lk_cancel_fire(cancel);
    lk_owner_free(owner);
    lk_cancel_free(cancel);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
}

/* ---- freeing ---- */

enum { THINGS = 5, ORDERS = 120 };

struct things {
    lk_client *client;
    lk_lock *lock;
    lk_hold *hold;
    lk_owner *owner;
    lk_cancel *cancel;
};

static void thing_free(const struct things *things, int which)
{
    switch (which) {
    case 0:
        lk_client_free(things->client);
        break;
    case 1:
        lk_lock_free(things->lock);
        break;
    case 2:
        (void)lk_hold_release(things->hold);
        break;
    case 3:
        lk_owner_free(things->owner);
        break;
    default:
        lk_cancel_free(things->cancel);
        break;
    }
}

/* The number-th permutation. */
static void free_in_order(const struct things *things, int number)
{
    int left[THINGS] = {0, 1, 2, 3, 4};

    for (int count = THINGS; count > 0; count--) {
        int at = number % count;

        number /= count;
        thing_free(things, left[at]);
        for (int i = at; i + 1 < count; i++)
            left[i] = left[i + 1];
    }
}

/* The client is the test's own; it is freed there. */
static void things_make(locking *f, struct things *things)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};

    things->client = locking_open_calm(f, NULL);
    f->client_count--;
    assert_status(lk_lock_new(&things->lock, things->client, "n", NULL), LK_OK);
    assert_status(lk_owner_new(&things->owner, things->client), LK_OK);
    assert_status(lk_cancel_new(&things->cancel, things->client), LK_OK);
    options.owner = things->owner;
    options.cancel = things->cancel;
    assert_status(lk_lock_acquire(things->lock, (int64_t)wait_limit_ms(SOON_MS),
                                  &options, &things->hold),
                  LK_OK);
}

LOCKS_TEST(all_may_be_freed_in_any_order)
{
    struct things things;

    for (int i = 0; i < ORDERS; i++) {
        things_make(f, &things);
        free_in_order(&things, i);
        locking_wait_integer(f, 0, "EXISTS %s", "n");
    }
}

LOCKS_TEST(to_free_a_client_shuts_it_down)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    locking_free_client(f, client);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ECLOSED);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
