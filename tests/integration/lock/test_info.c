/* SPDX-License-Identifier: MIT */

/* What operators see: who holds, who waits, and which process that is. */

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 3000 };

static lk_info *info_of(lk_lock *lock)
{
    lk_info *info = NULL;

    assert_status(lk_lock_info(lock, &info), LK_OK);
    assert_non_null(info);
    return info;
}

static lk_lock *lock_of_client_named(locking *f, const char *name)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .name = name};

    return locking_lock(f, locking_open(f, &options), "n");
}

static void assert_belongs_to(const lk_party *party, const lk_client *client)
{
    const char *id = lk_client_id(client);

    assert_int_equal(strncmp(party->owner, id, strlen(id)), 0);
    assert_int_equal(party->owner[strlen(id)], ':');
}

static void assert_is_this_process(const lk_party *party)
{
    char host[65] = "";
    const struct passwd *user = getpwuid(geteuid());

    assert_non_null(user);
    assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
    assert_string_equal(party->host, host);
    assert_int_equal(party->pid, getpid());
    assert_int_equal(strncmp(party->command, program_invocation_short_name, 64),
                     0);
    assert_string_equal(party->user, user->pw_name);
}

/* ---- is it locked ---- */

LOCKS_TEST(is_locked_tells_what_the_server_says)
{
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_lock *other = lock_of_client_named(f, "b");
    bool locked = true;
    lk_hold *hold;

    assert_status(lk_lock_is_locked(lock, &locked), LK_OK);
    assert_false(locked);
    hold = locking_hold(lock);
    assert_status(lk_lock_is_locked(other, &locked), LK_OK);
    assert_true(locked);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_lock_is_locked(other, &locked), LK_OK);
    assert_false(locked);
}

/* ---- holders ---- */

LOCKS_TEST(a_free_lock_has_neither_holder_nor_waiters)
{
    lk_info *info = info_of(lock_of_client_named(f, "a"));

    assert_int_equal(info->holder_count, 0);
    assert_int_equal(info->waiter_count, 0);
    assert_int_equal(info->listed_count, 0);
    lk_info_free(info);
}

LOCKS_TEST(the_holder_is_told_with_all_that_is_known)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "nightly report, part 2"};
    lk_lock *lock = lock_of_client_named(f, "reporter");
    lk_hold *hold = NULL;
    lk_info *info;
    const lk_party *holder;

    assert_status(lk_lock_acquire(lock, 0, &options, &hold), LK_OK);
    locking_pass_time(60);
    info = info_of(lock_of_client_named(f, "b"));
    assert_int_equal(info->holder_count, 1);
    holder = info->holders[0];
    assert_belongs_to(holder, f->clients[0]);
    assert_is_this_process(holder);
    assert_string_equal(holder->name, "reporter");
    assert_string_equal(holder->reason, "nightly report, part 2");
    assert_int_equal(holder->fence, lk_hold_fence(hold));
    assert_in_range(holder->since_ms, 50, 60 + wait_limit_ms(SOON_MS));
    assert_in_range(holder->lease_ms, 20000, 30000);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_holder_without_a_reason_has_an_empty_one)
{
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_hold *hold = locking_hold(lock);
    lk_info *info = info_of(lock);

    assert_string_equal(info->holders[0]->reason, "");
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(two_hundred_bytes_of_a_reason_are_kept)
{
    char reason[301];
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = reason};
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_hold *hold = NULL;
    lk_info *info;

    memset(reason, 'r', sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    reason[7] = '\n';
    reason[8] = '\x80';
    assert_status(lk_lock_acquire(lock, 0, &options, &hold), LK_OK);
    info = info_of(lock);
    assert_int_equal(strlen(info->holders[0]->reason), 200);
    assert_memory_equal(info->holders[0]->reason, reason, 200);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_holder_of_another_library_is_told_by_its_id)
{
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_info *info;
    const lk_party *holder;

    assert_int_equal(
        server_integer(f->server,
                       "HSET n 6f0829ed-bfd3-4e6f-bba3-6f3d66cd176c:57 2"),
        1);
    info = info_of(lock);
    assert_int_equal(info->holder_count, 1);
    holder = info->holders[0];
    assert_string_equal(holder->owner,
                        "6f0829ed-bfd3-4e6f-bba3-6f3d66cd176c:57");
    assert_string_equal(holder->host, "");
    assert_string_equal(holder->command, "");
    assert_string_equal(holder->reason, "");
    assert_int_equal(holder->pid, 0);
    assert_int_equal(holder->fence, 0);
    assert_int_equal(holder->lease_ms, -1);
    lk_info_free(info);
    assert_int_equal(server_integer(f->server, "PEXPIRE n 40000"), 1);
    info = info_of(lock);
    assert_in_range(info->holders[0]->lease_ms, 30000, 40000);
    lk_info_free(info);
}

/* What is written of a grant concerns the one that was granted. */
LOCKS_TEST(of_two_holders_only_ours_is_told_of)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = "ours"};
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_hold *hold = NULL;
    lk_info *info;

    assert_status(lk_lock_acquire(lock, 0, &options, &hold), LK_OK);
    assert_int_equal(server_integer(f->server, "HSET n foreign:7 1"), 1);
    info = info_of(lock);
    assert_int_equal(info->holder_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const lk_party *holder = info->holders[i];
        bool is_ours = strcmp(holder->owner, "foreign:7") != 0;

        assert_string_equal(holder->reason, is_ours ? "ours" : "");
        assert_int_equal(holder->fence, is_ours ? lk_hold_fence(hold) : 0);
    }
    lk_info_free(info);
    (void)lk_hold_release(hold);
}

/* ---- waiters ---- */

LOCKS_TEST(waiters_are_told_in_order)
{
    enum { WAITERS = 3 };
    const char *const names[WAITERS] = {"one", "two", "three"};
    lk_hold *hold = locking_hold(lock_of_client_named(f, "holder"));
    lk_info *info;

    for (int i = 0; i < WAITERS; i++) {
        const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                            .reason = names[i]};

        locking_take(f, lock_of_client_named(f, names[i]), LK_FOREVER,
                     &options);
        locking_wait_queued(f, "n", i + 1);
    }
    locking_pass_time(60);
    info = info_of(f->handles[0]);
    assert_int_equal(info->waiter_count, WAITERS);
    assert_int_equal(info->listed_count, WAITERS);
    for (int i = 0; i < WAITERS; i++) {
        const lk_party *waiter = info->waiters[i];

        assert_belongs_to(waiter, f->clients[i + 1]);
        assert_is_this_process(waiter);
        assert_string_equal(waiter->name, names[i]);
        assert_string_equal(waiter->reason, names[i]);
        assert_int_equal(waiter->fence, 0);
        assert_int_equal(waiter->lease_ms, 0);
        assert_in_range(waiter->since_ms, 50, wait_limit_ms(SOON_MS));
    }
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
    for (int i = 0; i < WAITERS; i++)
        assert_status(taker_release(f->takers.all[i]), LK_OK);
}

LOCKS_TEST(of_many_waiters_the_first_64_are_listed)
{
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_hold *hold = locking_hold(lock);
    const long long now = (long long)time(NULL) * 1000000 / 16;
    lk_info *info;

    for (int i = 0; i < 70; i++) {
        assert_int_equal(server_integer(f->server,
                                        "ZADD latchkey:{n}:q %lld c:%d%s",
                                        SERVER_BAND + now + i, i,
                                        " 0123456789abcdef l 1 30000 - p "
                                        "why not"),
                         1);
    }
    info = info_of(lock);
    assert_int_equal(info->waiter_count, 70);
    assert_int_equal(info->listed_count, 64);
    assert_string_equal(info->waiters[0]->owner, "c:0");
    assert_string_equal(info->waiters[63]->owner, "c:63");
    assert_string_equal(info->waiters[63]->reason, "why not");
    assert_int_equal(info->waiters[63]->pid, 0);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- the record of a client ---- */

LOCKS_TEST(a_client_has_a_record_that_ends_with_it)
{
    lk_client *client = locking_open(f, NULL);
    char key[64];

    (void)snprintf(key, sizeof(key), "latchkey:client::%s",
                   lk_client_id(client));
    locking_wait_integer(f, 1, "EXISTS %s", key);
    assert_in_range(locking_pttl(f, key), 40000, 60000);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    locking_wait_integer(f, 0, "EXISTS %s", key);
}

LOCKS_TEST(without_its_record_a_holder_is_told_by_its_id)
{
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_hold *hold = locking_hold(lock);
    lk_info *info;

    locking_wait_integer(f, 1, "DEL latchkey:client::%s",
                         lk_client_id(f->clients[0]));
    info = info_of(lock);
    assert_int_equal(info->holder_count, 1);
    assert_belongs_to(info->holders[0], f->clients[0]);
    assert_string_equal(info->holders[0]->host, "");
    assert_int_equal(info->holders[0]->pid, 0);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- counters ---- */

LOCKS_TEST(counters_tell_what_is_there_now)
{
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_hold *hold = locking_hold(lock);
    lk_hold *second = locking_hold(lock);
    taker *t = locking_take(f, lock, LK_FOREVER, NULL);
    lk_client_stats stats;

    locking_wait_waiting(f->clients[0], 1);
    locking_wait_connects(f->clients[0], 2);
    stats = locking_stats(f->clients[0]);
    assert_int_equal(stats.size, sizeof(stats));
    assert_int_equal(stats.holding, 1);
    assert_int_equal(stats.waiting, 1);
    assert_int_equal(stats.connects, 2);
    assert_int_equal(stats.disconnects, 0);
    assert_int_equal(stats.losses, 0);
    assert_status(lk_hold_release(second), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(t), LK_OK);
    stats = locking_stats(f->clients[0]);
    assert_int_equal(stats.holding, 0);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.acquires, 2);
    assert_int_equal(stats.releases, 2);
    assert_int_equal(stats.commands, stats.replies + stats.pending);
}

LOCKS_TEST(a_forgotten_script_is_sent_again)
{
    lk_lock *lock = lock_of_client_named(f, "a");
    lk_hold *hold = locking_hold(lock);

    /* When the inbox comes the hold is looked at, as an extension does it. */
    assert_soon(locking_stats(f->clients[0]).renewals > 0, 10000);
    free(server_string(f->server, "SCRIPT FLUSH"));
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(locking_stats(f->clients[0]).scripts_lost, 0);
    hold = locking_hold(lock);
    assert_int_equal(locking_stats(f->clients[0]).scripts_lost, 1);
    free(server_string(f->server, "SCRIPT FLUSH"));
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    assert_int_equal(locking_stats(f->clients[0]).scripts_lost, 2);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_int_equal(locking_stats(f->clients[0]).scripts_lost, 3);
}

/* How often scripts were sent to the server with their text. */
static long long count_evals(locking *f)
{
    char *stats = server_string(f->server, "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_eval:calls=");
    long long count = at != NULL ? strtoll(strchr(at, '=') + 1, NULL, 10) : 0;

    free(stats);
    return count;
}

/* All that was under way when it was forgotten, and not for each of them. */
LOCKS_TEST(a_forgotten_script_is_sent_again_once_for_all)
{
    enum { ASKED = 100 };
    lk_client *client = locking_open_calm(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    call calls[ASKED] = {{0}};
    lk_info *info = NULL;
    long long evals;

    assert_status(lk_lock_info(lock, &info), LK_OK);
    lk_info_free(info);
    free(server_string(f->server, "SCRIPT FLUSH"));
    evals = count_evals(f);
    server_freeze(f->server);
    for (int i = 0; i < ASKED; i++)
        assert_status(lk_lock_info_async(lock, call_on_info, &calls[i]), LK_OK);
    server_thaw(f->server);
    for (int i = 0; i < ASKED; i++) {
        assert_status(call_wait(&calls[i], client), LK_OK);
        lk_info_free(calls[i].info);
    }
    assert_int_equal(count_evals(f) - evals, 1);
    assert_int_equal(locking_stats(client).scripts_lost, 1);
}

LOCKS_TEST(a_caller_of_an_older_release_gets_the_counters_it_knows)
{
    lk_client *client = locking_open(f, NULL);
    lk_client_stats stats;

    memset(&stats, 0xa5, sizeof(stats));
    stats.size = offsetof(lk_client_stats, writes);
    assert_status(lk_client_stats_get(client, &stats), LK_OK);
    assert_int_equal(stats.size, offsetof(lk_client_stats, writes));
    assert_in_range(stats.commands, 1, 100);
    assert_int_equal(stats.writes, 0xa5a5a5a5a5a5a5a5);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
