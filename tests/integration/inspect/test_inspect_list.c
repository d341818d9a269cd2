/* SPDX-License-Identifier: MIT */

/* Listing names: which there are, of what kind, and whoever holds and waits. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/inspecting.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LIST_MS = 10000, SOON_MS = 3000 };

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

LOCKS_TEST(an_empty_server_has_no_names)
{
    lk_listing *listing = inspecting_list(locking_open(f, NULL), NULL, 1, 0);

    assert_int_equal(listing->count, 0);
    assert_false(listing->truncated);
    lk_listing_free(listing);
}

LOCKS_TEST(a_lock_is_listed_with_its_holder)
{
    lk_client *client = locking_open(f, NULL);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .reason = "nightly run"};
    const lk_entry *entry;
    lk_listing *listing;
    lk_hold *hold;

    assert_status(lk_lock_acquire(locking_lock(f, client, "a{tag}"), 0,
                                  &options, &hold),
                  LK_OK);
    listing = inspecting_list(locking_open(f, NULL), NULL, 0, 0);
    entry = inspecting_entry(listing, "a{tag}");
    assert_non_null(entry);
    assert_int_equal(listing->count, 1);
    assert_int_equal(entry->kind, LK_KIND_LOCK);
    assert_true(entry->ours);
    assert_int_equal(entry->holder_count, 1);
    assert_int_equal(entry->waiter_count, 0);
    assert_false(entry->has_value);
    assert_non_null(entry->holder);
    assert_int_equal(strncmp(entry->holder->owner, lk_client_id(client), 32),
                     0);
    assert_int_equal(entry->holder->fence, lk_hold_fence(hold));
    assert_string_equal(entry->holder->reason, "nightly run");
    assert_true(entry->holder->lease_ms > 0);
    assert_true(entry->holder->since_ms < wait_limit_ms(SOON_MS));
    assert_int_equal(entry->holder->pid, getpid());
    assert_non_null(strstr(entry->holder->command, "inspect"));
    lk_listing_free(listing);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(waiters_are_counted)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_listing *listing;

    for (long long i = 1; i <= 2; i++) {
        locking_take(f, locking_new(f, lk_lock), LK_FOREVER, NULL);
        locking_wait_queued(f, "n", i);
    }
    listing = inspecting_list(client, NULL, 0, 0);
    assert_int_equal(inspecting_entry(listing, "n")->waiter_count, 2);
    lk_listing_free(listing);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Beside each who waits for n: another client's, of so many ms ago. It was heard
   of marked ms ago. */
static void add_silent(locking *f, int age_ms, int marked_ms)
{
    static const char script[] =
        "local t = redis.call('TIME') local ms = t[1] * 1000 + t[2] / 1000 "
        "local q = KEYS[1] local found = redis.call('ZRANGEBYSCORE', q, '0', "
        "'+inf', 'WITHSCORES') for i = 1, #found, 2 do "
        "redis.call('ZADD', q, string.format('%.0f', found[i + 1] - ARGV[1] * "
        "62.5), 'other:' .. string.match(found[i], ':(.*)$')) end "
        "return redis.call('ZADD', q, string.format('%.0f', ARGV[2] - ms), "
        "'other')";

    (void)server_integer(f->server, "EVAL %s 1 latchkey:{n}:q %d %d", script,
                         age_ms, marked_ms);
}

static void assert_waiters(lk_client *client, size_t count)
{
    lk_listing *listing = inspecting_list(client, NULL, 0, 0);
    lk_info *info;
    lk_kind found;

    assert_int_equal(inspecting_entry(listing, "n")->waiter_count, count);
    lk_listing_free(listing);
    assert_status(lk_who(client, "n", &found, &info), LK_OK);
    assert_int_equal(info->waiter_count, count);
    assert_int_equal(info->listed_count, count);
    lk_info_free(info);
}

/* Nobody came by who would have taken it out. */
LOCKS_TEST(who_has_died_does_not_wait)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    locking_take(f, locking_new(f, lk_lock), LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    add_silent(f, 3600000, 14000);
    assert_waiters(client, 1);
    add_silent(f, 3600000, 5000);
    assert_waiters(client, 2);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(each_kind_is_recognised)
{
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;
    lk_hold *holds[3];

    inspecting_make(client, holds);
    listing = inspecting_list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 4);
    assert_int_equal(inspecting_entry(listing, "rw")->kind, LK_KIND_RWLOCK);
    assert_int_equal(inspecting_entry(listing, "rw")->holder_count, 1);
    assert_string_equal(inspecting_entry(listing, "rw")->holder->mode, "read");
    assert_int_equal(inspecting_entry(listing, "sem")->kind, LK_KIND_SEMAPHORE);
    assert_int_equal(inspecting_entry(listing, "sem")->holder_count, 2);
    assert_int_equal(inspecting_entry(listing, "sem")->value, 3);
    assert_int_equal(inspecting_entry(listing, "plain")->kind,
                     LK_KIND_PLAIN_SEMAPHORE);
    assert_int_equal(inspecting_entry(listing, "plain")->value, 7);
    assert_int_equal(inspecting_entry(listing, "latch")->kind, LK_KIND_LATCH);
    assert_int_equal(inspecting_entry(listing, "latch")->value, 3);
    lk_listing_free(listing);
    for (size_t i = 0; i < 3; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
}

LOCKS_TEST(what_only_redisson_uses_is_recognised)
{
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;

    server_integer(f->server, "HSET jlock " JAVA " 2");
    server_integer(f->server, "HSET jrw mode write " JAVA ":write 1");
    server_integer(f->server, "ZADD {jsem}:timeout 99999999999999 id");
    server_integer(f->server, "RPUSH redisson_lock_queue:{jlock} a b");
    server_integer(f->server, "HSET user name Ann");
    freeReplyObject(server_command(f->server, "SET jsem 4"));
    listing = inspecting_list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 3);
    assert_int_equal(inspecting_entry(listing, "jlock")->kind, LK_KIND_LOCK);
    assert_string_equal(inspecting_entry(listing, "jlock")->holder->owner,
                        JAVA);
    assert_int_equal(inspecting_entry(listing, "jlock")->holder->count, 2);
    assert_int_equal(inspecting_entry(listing, "jlock")->holder->lease_ms, -1);
    assert_int_equal(inspecting_entry(listing, "jlock")->waiter_count, 2);
    assert_false(inspecting_entry(listing, "jlock")->ours);
    assert_int_equal(inspecting_entry(listing, "jrw")->kind, LK_KIND_RWLOCK);
    assert_string_equal(inspecting_entry(listing, "jrw")->holder->owner, JAVA);
    assert_string_equal(inspecting_entry(listing, "jrw")->holder->mode,
                        "write");
    assert_int_equal(inspecting_entry(listing, "jsem")->kind,
                     LK_KIND_SEMAPHORE);
    assert_int_equal(inspecting_entry(listing, "jsem")->value, 4);
    lk_listing_free(listing);
    listing = inspecting_list(client, NULL, 0, 1);
    assert_int_equal(listing->count, 0);
    lk_listing_free(listing);
}

LOCKS_TEST(idle_names_are_listed_on_request)
{
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;

    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
    listing = inspecting_list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 0);
    lk_listing_free(listing);
    listing = inspecting_list(client, NULL, 1, 0);
    assert_int_equal(listing->count, 1);
    assert_null(inspecting_entry(listing, "n")->holder);
    lk_listing_free(listing);
}

LOCKS_TEST(a_pattern_is_of_the_name_alone)
{
    static const char *const names[] = {"orders:1", "orders:2", "old:orders:1",
                                        "state"};
    lk_client *client = locking_open(f, NULL);
    lk_hold *holds[4];
    lk_listing *listing;

    for (size_t i = 0; i < 4; i++)
        holds[i] = locking_hold(locking_lock(f, client, names[i]));
    server_integer(f->server, "HSET orders:java " JAVA " 1");
    listing = inspecting_list(client, "orders:*", 0, 0);
    assert_int_equal(listing->count, 3);
    assert_non_null(inspecting_entry(listing, "orders:1"));
    assert_non_null(inspecting_entry(listing, "orders:2"));
    assert_non_null(inspecting_entry(listing, "orders:java"));
    lk_listing_free(listing);
    listing = inspecting_list(client, "orders:[1]", 0, 1);
    assert_int_equal(listing->count, 1);
    lk_listing_free(listing);
    for (size_t i = 0; i < 4; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
}

LOCKS_TEST(more_names_than_the_limit_are_not_looked_at)
{
    lk_client *client = locking_open(f, NULL);
    lk_list_options options = {LK_LIST_OPTIONS_INIT, .limit = 10};
    lk_listing *listing;

    for (int i = 0; i < 30; i++)
        server_integer(f->server, "HSET j%d " JAVA " 1", i);
    assert_status(lk_list(client, LIST_MS, &options, &listing), LK_OK);
    assert_int_equal(listing->count, 10);
    assert_true(listing->truncated);
    lk_listing_free(listing);
}

/* More than one step, and more names than are read at once. */
LOCKS_TEST(a_thousand_names_are_each_listed_once)
{
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;
    char name[16];

    for (int i = 0; i < 1000; i++)
        server_integer(f->server, "HSET j%d " JAVA " 1", i);
    listing = inspecting_list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 1000);
    for (int i = 0; i < 1000; i += 100) {
        snprintf(name, sizeof(name), "j%d", i);
        assert_non_null(inspecting_entry(listing, name));
    }
    lk_listing_free(listing);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
