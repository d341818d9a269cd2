/* SPDX-License-Identifier: MIT */

/* Export and import: a hold moves to another client or process as text. */

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LONG_MS = 10000, COMMAND_MS = 20000 };

/* ---- another process ---------------------------------------------------------- */

/* What the child tells the parent. */
typedef struct report {
    lk_status imported, checked, released;
    uint64_t fence;
} report;

/* Imports what comes through the pipe, outlives the lease, releases. Asserts
   nothing: it is not the test. */
static void child_run(report *r, const char *url, int in)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms(),
                                       .command_timeout_ms = COMMAND_MS};
    char text[LK_EXPORT_SIZE] = "";
    lk_client *client = NULL;
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    if (read(in, text, sizeof(text) - 1) <= 0 ||
        lk_client_open(&client, url, &options) != LK_OK ||
        lk_lock_new(&lock, client, "n", NULL) != LK_OK)
        return;
    r->imported = lk_lock_import(lock, text, NULL, &hold);
    r->fence = lk_hold_fence(hold);
    locking_pass_time(2 * wait_lease_ms());
    r->checked = lk_hold_check(hold);
    r->released = lk_hold_release(hold);
    lk_lock_free(lock);
    lk_client_free(client);
}

static pid_t child_start(locking *f, int *ret_in, int *ret_out)
{
    int in[2], out[2];
    pid_t pid;

    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        report r;

        memset(&r, 0, sizeof(r)); /* its padding goes along */
        r.imported = r.checked = r.released = LK_EINVAL;
        (void)alarm(60);
        (void)close(in[1]);
        child_run(&r, server_url(f->server), in[0]);
        _exit(write(out[1], &r, sizeof(r)) != (ssize_t)sizeof(r));
    }
    (void)close(in[0]);
    (void)close(out[1]);
    *ret_in = in[1];
    *ret_out = out[0];
    return pid;
}

/* The first one, as it forks: before there is any thread. The child's client is
   opened and asked at once, before it is connected. */
LOCKS_TEST(a_hold_moves_to_another_process)
{
    int in, out, status = -1;
    pid_t pid = child_start(f, &in, &out);
    lk_hold *hold =
        locking_hold(locking_lock(f, locking_open_watchdog(f), "n"));
    uint64_t fence = lk_hold_fence(hold);
    char text[LK_EXPORT_SIZE];
    report r = {LK_EINVAL, LK_EINVAL, LK_EINVAL, 0};

    locking_export(hold, text);
    assert_int_equal(write(in, text, strlen(text)), strlen(text));
    (void)close(in);
    assert_int_equal(read(out, &r, sizeof(r)), sizeof(r));
    (void)close(out);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_status(r.imported, LK_OK);
    assert_true(r.fence > fence);
    assert_status(r.checked, LK_OK);
    assert_status(r.released, LK_OK);
    assert_false(locking_exists(f, "n"));
}

/* ---- what goes along ------------------------------------------------------------ */

LOCKS_TEST(the_importer_renews_it)
{
    lk_hold *hold =
        locking_hold(locking_lock(f, locking_open_watchdog(f), "n"));
    lk_client *other = locking_open_watchdog(f);
    char text[LK_EXPORT_SIZE];

    locking_export(hold, text);
    hold = locking_import(locking_lock(f, other, "n"), text);
    assert_in_range(lk_hold_remaining_ms(hold), 1, wait_lease_ms());
    locking_pass_time(2 * wait_lease_ms());
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(locking_exists(f, "n"));
    assert_true(locking_stats(other).renewals > 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(nobody_renews_it_in_between)
{
    lk_client *client = locking_open_watchdog(f);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    char text[LK_EXPORT_SIZE];

    locking_export(hold, text);
    assert_int_equal(locking_stats(client).holding, 0);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    assert_status(lk_lock_import(locking_lock(f, locking_open_watchdog(f), "n"),
                                 text, NULL, &hold),
                  LK_ELOST);
}

LOCKS_TEST(a_fixed_lease_begins_anew_and_is_not_renewed)
{
    lk_client *other = locking_open(f, NULL);
    const unsigned lease_ms = wait_lease_ms();
    lk_hold *hold = locking_hold_for(locking_new(f, lk_lock), lease_ms);
    char text[LK_EXPORT_SIZE];

    locking_pass_time(lease_ms / 2);
    locking_export(hold, text);
    hold = locking_import(locking_lock(f, other, "n"), text);
    assert_in_range(lk_hold_remaining_ms(hold), lease_ms / 2 + 1, lease_ms);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_EXPIRED);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(it_may_come_home)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock);
    uint64_t fence = lk_hold_fence(hold);
    char text[LK_EXPORT_SIZE];

    locking_export(hold, text);
    hold = locking_import(lock, text);
    assert_true(lk_hold_fence(hold) > fence);
    fence = lk_hold_fence(hold);
    locking_export(hold, text);
    hold = locking_import(lock, text);
    assert_true(lk_hold_fence(hold) > fence);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_false(locking_exists(f, "n"));
}

LOCKS_TEST(the_longest_name_fits_the_text)
{
    char name[513], text[LK_EXPORT_SIZE];
    lk_lock *lock;
    lk_hold *hold;

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    lock = locking_lock(f, locking_open(f, NULL), name);
    hold = locking_hold_for(lock, 315576000000);
    locking_export(hold, text);
    hold = locking_import(lock, text);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- the old handle ---------------------------------------------------------------- */

LOCKS_TEST(who_has_exported_it_holds_it_no_more)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);
    char text[LK_EXPORT_SIZE];

    locking_export(hold, text);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_EBUSY);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_true(locking_exists(f, "n"));
    hold = locking_import(locking_new(f, lk_lock), text);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(what_is_not_exported_is_still_held)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold(lock), *again = locking_hold(lock);
    char text[LK_EXPORT_SIZE];

    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_EINVAL);
    assert_status(lk_hold_export(again, text, sizeof(text)), LK_EINVAL);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_hold_export(hold, text, 20), LK_EINVAL);
    assert_status(lk_hold_export(hold, text, 0), LK_EINVAL);
    assert_status(lk_hold_export(hold, NULL, LK_EXPORT_SIZE), LK_EINVAL);
    assert_status(lk_hold_export(NULL, text, sizeof(text)), LK_EINVAL);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_lost_hold_is_not_exported)
{
    lk_lock *lock = locking_new(f, lk_lock);
    lk_hold *hold = locking_hold_for(lock, 50);
    char text[LK_EXPORT_SIZE] = "untouched";

    assert_true(wait_until(hold_is_lost, hold, LONG_MS));
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_ELOST);
    assert_string_equal(text, "untouched");
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)hold;
    (void)remaining_ms;
    (void)atomic_fetch_add((atomic_int *)data, 1);
}

LOCKS_TEST(an_exported_hold_calls_nobody)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold =
        locking_hold_for(locking_lock(f, client, "n"), wait_lease_ms());
    char text[LK_EXPORT_SIZE];
    atomic_int calls = 0;

    assert_status(lk_hold_on_lost(hold, 0, on_lost, &calls), LK_OK);
    locking_export(hold, text);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_int_equal(atomic_load(&calls), 0);
}

LOCKS_TEST(a_refused_export_keeps_the_callback_that_is_due)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *client = locking_open(f, &options);
    lk_hold *hold = locking_hold_for(locking_lock(f, client, "n"), 50);
    char text[LK_EXPORT_SIZE];
    atomic_int calls = 0;

    assert_status(lk_hold_on_lost(hold, 0, on_lost, &calls), LK_OK);
    while (locking_stats(client).losses == 0)
        locking_pass_time(1);
    assert_status(lk_hold_export(hold, text, sizeof(text)), LK_ELOST);
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&calls), 1);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* ---- the importer among others --------------------------------------------------------- */

LOCKS_TEST(its_release_hands_over_to_those_who_wait)
{
    lk_client *clients[3] = {locking_open(f, NULL), locking_open(f, NULL),
                             locking_open(f, NULL)};
    lk_lock *locks[3];
    lk_hold *hold;
    taker *takers[3];
    char text[LK_EXPORT_SIZE];
    uint64_t fence;

    for (int i = 0; i < 3; i++)
        locks[i] = locking_lock(f, clients[i], "n");
    hold = locking_hold(locks[0]);
    fence = lk_hold_fence(hold);
    takers[2] = locking_take(f, locks[2], LONG_MS, NULL);
    locking_wait_queued(f, "n", 1);
    locking_export(hold, text);
    hold = locking_import(locks[1], text);
    takers[0] = locking_take(f, locks[0], LONG_MS, NULL);
    locking_wait_queued(f, "n", 2);
    takers[1] = locking_take(f, locks[1], LONG_MS, NULL);
    locking_wait_waiting(clients[1], 1);
    locking_pass_time(20); /* beyond the budget of a local hand-over */
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < 3; i++) {
        assert_status(taker_join(takers[(i + 2) % 3]), LK_OK);
        assert_true(lk_hold_fence(takers[(i + 2) % 3]->hold) > fence);
        assert_status(taker_release(takers[(i + 2) % 3]), LK_OK);
    }
    assert_false(locking_exists(f, "n"));
}

LOCKS_TEST(a_wait_behind_it_queues_when_it_is_exported)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);
    taker *t = locking_take(f, lock, LONG_MS, NULL);
    char text[LK_EXPORT_SIZE];

    locking_wait_waiting(client, 1);
    locking_export(hold, text);
    locking_wait_queued(f, "n", 1);
    hold = locking_import(locking_new(f, lk_lock), text);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

LOCKS_TEST(the_owner_named_at_the_import_re_enters)
{
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_hold *hold = locking_hold(locking_new(f, lk_lock));
    lk_hold *again = NULL;
    char text[LK_EXPORT_SIZE];

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    locking_export(hold, text);
    assert_status(lk_lock_import(lock, text, &options, &hold), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &again), LK_EBUSY);
    assert_status(lk_lock_acquire(lock, 0, &options, &again), LK_OK);
    assert_int_equal(lk_hold_fence(again), lk_hold_fence(hold));
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_owner_free(options.owner);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
