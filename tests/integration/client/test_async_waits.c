/* SPDX-License-Identifier: MIT */

/* Async waits: every way in which they end, on the loop and in dispatch. */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

static lk_client *open_mode(locking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return locking_open(f, &options);
}

/* ---- by itself ------------------------------------------------------------ */

static void a_wait_ends_by_its_time(void **state)
{
    locking *f = *state;
    lk_lock *held = locking_lock(f, open_mode(f, LOOP), "n");
    lk_hold *hold = locking_hold(held);

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_lock *lock = locking_lock(f, client, "n");
        unsigned wait_ms = wait_scaled_ms(300);
        uint64_t began = wait_now_ms();
        call c = {0};

        assert_status(lk_lock_acquire_async(lock, wait_ms, NULL,
                                            call_on_acquire, &c),
                      LK_OK);
        assert_status(call_wait(&c, client), LK_ETIMEDOUT);
        assert_in_range(wait_now_ms() - began, wait_ms,
                        wait_allowed_ms(2 * (uint64_t)wait_ms));
        assert_null(c.hold);
        assert_string_equal(c.words, lk_status_text(LK_ETIMEDOUT));
    }
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_server_that_is_not_there_ends_a_wait_for_it(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open_url(f, "unix:/nowhere/at/all", NULL);
    call c = {0};

    assert_status(lk_client_wait_ready_async(client, 50, call_on_done, &c),
                  LK_OK);
    assert_status(call_wait(&c, client), LK_ETIMEDOUT);
    assert_int_equal(atomic_load(&c.ends), 1);
}

static void the_callback_finds_the_words_of_the_server(void **state)
{
    locking *f = *state;

    freeReplyObject(server_command(f->server, "SET n text"));
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_lock *lock = locking_lock(f, client, "n");
        call c = {0};

        assert_status(lk_lock_acquire_async(lock, 1000, NULL, call_on_acquire,
                                            &c),
                      LK_OK);
        assert_status(call_wait(&c, client), LK_ETYPE);
        if (strstr(c.words, "the key is not a lock") == NULL)
            fail_msg("%s", c.words);
        assert_null(c.hold);
    }
}

/* ---- cancel and shutdown --------------------------------------------------- */

static void a_token_ends_a_wait_once(void **state)
{
    locking *f = *state;
    lk_hold *hold = locking_hold(locking_lock(f, open_mode(f, LOOP), "n"));

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_lock *lock = locking_lock(f, client, "n");
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
        call during = {0}, after = {0}, other = {0};

        assert_status(lk_cancel_new(&options.cancel, client), LK_OK);
        assert_status(lk_lock_acquire_async(lock, LK_FOREVER, &options,
                                            call_on_acquire, &during),
                      LK_OK);
        assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL,
                                            call_on_acquire, &other),
                      LK_OK);
        locking_wait_queued(f, "n", 1);
        lk_cancel_fire(options.cancel);
        assert_status(call_wait(&during, client), LK_ECANCELED);
        assert_status(lk_lock_acquire_async(lock, LK_FOREVER, &options,
                                            call_on_acquire, &after),
                      LK_OK);
        assert_status(call_wait(&after, client), LK_ECANCELED);
        assert_int_equal(atomic_load(&other.ends), 0);
        assert_int_equal(locking_stats(client).waiting, 1);
        assert_status(lk_client_shutdown(client, 1000), LK_OK);
        assert_status(call_wait(&other, client), LK_ECLOSED);
        lk_cancel_free(options.cancel);
        assert_int_equal(atomic_load(&during.ends), 1);
        assert_int_equal(atomic_load(&after.ends), 1);
        assert_int_equal(atomic_load(&other.ends), 1);
    }
    assert_status(lk_hold_release(hold), LK_OK);
}

enum { WAITS = 100 };

/* Notes how many of the waits had ended when the shutdown did. */
typedef struct closing {
    call waits[WAITS];
    call end;
    int ended_before;
} closing;

static void count_ended(call *c)
{
    closing *all = c->data;

    for (size_t i = 0; i < WAITS; i++)
        all->ended_before += atomic_load(&all->waits[i].ends);
}

static void a_shutdown_ends_every_wait_before_itself(void **state)
{
    locking *f = *state;
    lk_hold *hold = locking_hold(locking_lock(f, open_mode(f, LOOP), "n"));

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_lock *lock = locking_lock(f, client, "n");
        static closing all;

        all = (closing){.end = {.act = count_ended, .data = &all}};
        for (size_t i = 0; i < WAITS; i++)
            assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL,
                                                call_on_acquire, &all.waits[i]),
                          LK_OK);
        assert_status(lk_client_shutdown_async(client, 2000, call_on_done,
                                               &all.end),
                      LK_OK);
        assert_status(call_wait(&all.end, client), LK_OK);
        assert_int_equal(all.ended_before, WAITS);
        locking_free_client(f, client);
        for (size_t i = 0; i < WAITS; i++) {
            assert_int_equal(atomic_load(&all.waits[i].ends), 1);
            assert_status(all.waits[i].status, LK_ECLOSED);
            assert_null(all.waits[i].hold);
        }
        assert_int_equal(atomic_load(&all.end.ends), 1);
    }
    locking_wait_queued(f, "n", 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- owners ------------------------------------------------------------------ */

static void without_an_owner_it_never_re_enters(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, LOOP);
    lk_lock *lock = locking_lock(f, client, "n");
    call first = {0}, second = {0};

    assert_status(lk_lock_acquire_async(lock, 0, NULL, call_on_acquire, &first),
                  LK_OK);
    assert_status(call_wait(&first, client), LK_OK);
    assert_status(lk_lock_acquire_async(lock, 0, NULL, call_on_acquire,
                                        &second),
                  LK_OK);
    assert_status(call_wait(&second, client), LK_EBUSY);
    assert_status(lk_hold_release(first.hold), LK_OK);
}

static void with_an_owner_it_re_enters(void **state)
{
    locking *f = *state;
    lk_client *client = open_mode(f, LOOP);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call first = {0}, second = {0};

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    assert_status(lk_lock_acquire_async(lock, 0, &options, call_on_acquire,
                                        &first),
                  LK_OK);
    assert_status(call_wait(&first, client), LK_OK);
    assert_status(lk_lock_acquire_async(lock, 0, &options, call_on_acquire,
                                        &second),
                  LK_OK);
    assert_status(call_wait(&second, client), LK_OK);
    assert_int_equal(lk_hold_fence(first.hold), lk_hold_fence(second.hold));
    assert_status(lk_hold_release(first.hold), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_release(second.hold), LK_OK);
    assert_false(locking_exists(f, "n"));
    lk_owner_free(options.owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(a_wait_ends_by_its_time),
        LOCKING_TEST(a_server_that_is_not_there_ends_a_wait_for_it),
        LOCKING_TEST(the_callback_finds_the_words_of_the_server),
        LOCKING_TEST(a_token_ends_a_wait_once),
        LOCKING_TEST(a_shutdown_ends_every_wait_before_itself),
        LOCKING_TEST(without_an_owner_it_never_re_enters),
        LOCKING_TEST(with_an_owner_it_re_enters),
    };

    return cmocka_run_group_tests_name("async_waits", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
