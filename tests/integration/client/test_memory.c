/* SPDX-License-Identifier: MIT */

/*
 * Out of memory: a fixed piece of work, with the n-th allocation failing, for
 * each n until there is none left to fail. What leaks or crashes is seen by
 * the builds with sanitizers and by valgrind.
 */

#include "support/check.h"
#include "support/locking.h"
#include "support/memory.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

static int teardown(void **state)
{
    (void)memory_lasts();
    return locking_teardown(state);
}

/* ---- pieces of work ---- */

/* How far a piece of work came; LK_OK for all that went well. */
typedef struct outcome {
    lk_status open, new, acquire, release;
} outcome;

/* Times that let a call wait for a second attempt, but not for long. */
static const lk_client_options hasty = {LK_CLIENT_OPTIONS_INIT,
                                        .connect_timeout_ms = 1000,
                                        .command_timeout_ms = 300,
                                        .offline_ms = 100};

static const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT};

static outcome
do_work(locking *f, int64_t wait_ms, const lk_client_options *options)
{
    outcome done = {LK_OK, LK_OK, LK_OK, LK_OK};
    const lk_acquire_options how = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 60000,
                                    .reason = "test"};
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    done.open = lk_client_open(&client, server_url(f->server), options);
    if (done.open != LK_OK)
        return done;
    done.new = lk_lock_new(&lock, client, "n", NULL);
    if (done.new == LK_OK) {
        done.acquire = lk_lock_acquire(lock, wait_ms, &how, &hold);
        if (done.acquire == LK_OK)
            done.release = lk_hold_release(hold);
        lk_lock_free(lock);
    }
    (void)lk_client_shutdown(client, 1000);
    lk_client_free(client);
    return done;
}

static bool is_clean(outcome done)
{
    return done.open == LK_OK &&
           done.new == LK_OK &&done.acquire == LK_OK &&done.release == LK_OK;
}

static bool is_one_of(lk_status status, const lk_status *allowed)
{
    while (*allowed != LK_OK && *allowed != status)
        allowed++;
    return status == LK_OK || *allowed == status;
}

/* ---- tests ---- */

/* One failure is told, or made up for. */
static void one_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    static const lk_status allowed[] = {LK_ENOMEM, LK_OK};
    locking *f = *state;
    int failures = 0;
    int n = 0;

    do {
        outcome done;

        memory_fails_at(++n);
        done = do_work(f, wait_scaled_ms(SOON_MS), &patient);
        (void)memory_lasts();
        if (!is_one_of(done.open, allowed) || !is_one_of(done.new, allowed) ||
            !is_one_of(done.acquire, allowed) || done.release != LK_OK)
            fail_msg("%d: %s %s %s %s", n, lk_status_name(done.open),
                     lk_status_name(done.new), lk_status_name(done.acquire),
                     lk_status_name(done.release));
        failures += !is_clean(done);
        locking_wait_integer(f, 0, "EXISTS %s", "n");
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
    assert_true(failures > 5);
}

/* Without any memory from some point on every call still ends in time. */
static void without_memory_every_call_ends_in_time(void **state)
{
    static const lk_status allowed[] = {LK_ENOMEM, LK_EOFFLINE, LK_EINDOUBT,
                                        LK_EBUSY, LK_OK};
    locking *f = *state;
    int n = 0;

    do {
        uint64_t begin = wait_now_ms();
        outcome done;

        memory_fails_from(++n);
        done = do_work(f, 0, &hasty);
        (void)memory_lasts();
        assert_in_range(wait_now_ms() - begin, 0,
                        wait_allowed_ms(1800 + wait_scaled_ms(300)));
        if (!is_one_of(done.open, allowed) || !is_one_of(done.new, allowed) ||
            !is_one_of(done.acquire, allowed) ||
            !is_one_of(done.release, allowed))
            fail_msg("%d: %s %s %s %s", n, lk_status_name(done.open),
                     lk_status_name(done.new), lk_status_name(done.acquire),
                     lk_status_name(done.release));
        if (done.acquire == LK_EINDOUBT || done.release != LK_OK)
            server_flush(f->server); /* it stays for its lease */
        locking_wait_integer(f, 0, "EXISTS %s", "n");
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
}

/* Somebody else holds it for a moment: with a queue and an inbox. */
static void the_same_goes_for_a_wait_in_the_queue(void **state)
{
    static const lk_status allowed[] = {LK_ENOMEM, LK_OK};
    locking *f = *state;
    int n = 0;

    do {
        outcome done;

        assert_int_equal(server_integer(f->server, "HSET n other:1 1"), 1);
        assert_int_equal(server_integer(f->server, "PEXPIRE n 30"), 1);
        memory_fails_at(++n);
        done = do_work(f, wait_scaled_ms(SOON_MS), &patient);
        (void)memory_lasts();
        if (!is_one_of(done.open, allowed) || !is_one_of(done.new, allowed) ||
            !is_one_of(done.acquire, allowed) || done.release != LK_OK)
            fail_msg("%d: %s %s %s %s", n, lk_status_name(done.open),
                     lk_status_name(done.new), lk_status_name(done.acquire),
                     lk_status_name(done.release));
        locking_wait_integer(f, 0, "EXISTS %s", "n");
        locking_wait_queued(f, "n", 0);
    } while (memory_was_short(n));
    assert_in_range(n, 20, MEMORY_MOST - 1);
}

static void assert_no_memory(lk_status status)
{
    assert_status(status, LK_ENOMEM);
    assert_string_equal(lk_last_error(), lk_status_text(LK_ENOMEM));
}

/* What is asked of a client that works. The words of the failure before are
   not those of this one. */
static void without_memory_a_call_says_so(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);
    lk_lock *no_lock = NULL;
    lk_info *no_info = NULL;
    lk_owner *owner = NULL;
    lk_cancel *cancel = NULL;
    bool locked;

    assert_status(lk_lock_acquire(NULL, 0, NULL, NULL), LK_EINVAL);
    memory_fails_from(1);
    assert_no_memory(lk_lock_new(&no_lock, client, "m", NULL));
    assert_no_memory(lk_lock_info(lock, &no_info));
    assert_no_memory(lk_lock_is_locked(lock, &locked));
    assert_no_memory(lk_lock_force_release(lock));
    assert_no_memory(lk_hold_extend(hold, 60000));
    assert_no_memory(lk_owner_new(&owner, client));
    assert_no_memory(lk_cancel_new(&cancel, client));
    (void)memory_lasts();
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Each of the many allocations of one answer. */
static void an_answer_is_told_whole_or_not_at_all(void **state)
{
    locking *f = *state;
    lk_lock *lock = locking_lock(f, locking_open_calm(f, NULL), "n");
    lk_hold *hold = locking_hold(lock);
    lk_status status = LK_ENOMEM;
    lk_info *info = NULL;
    int n = 0;

    while (status == LK_ENOMEM && n < MEMORY_MOST) {
        assert_null(info);
        memory_fails_at(++n);
        status = lk_lock_info(lock, &info);
        (void)memory_lasts();
    }
    assert_status(status, LK_OK);
    assert_in_range(n, 5, MEMORY_MOST - 1);
    assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The watchdog cannot renew for a while, and makes up for it. */
static void a_hold_outlives_a_shortage(void **state)
{
    locking *f = *state;
    const unsigned lease_ms = 1000 + wait_scaled_ms(500);
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = lease_ms};
    lk_client *client = locking_open(f, &options);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    memory_fails_from(1);
    locking_pass_time(lease_ms / 2);
    (void)memory_lasts();
    locking_pass_time(lease_ms);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_status(lk_hold_release(hold), LK_OK);
}

int main(void)
{
#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, locking_setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_allocation_that_fails_is_told_or_made_up_for),
        TEST(without_memory_every_call_ends_in_time),
        TEST(the_same_goes_for_a_wait_in_the_queue),
        TEST(without_memory_a_call_says_so),
        TEST(an_answer_is_told_whole_or_not_at_all),
        TEST(a_hold_outlives_a_shortage),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
