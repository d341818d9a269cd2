/* SPDX-License-Identifier: MIT */

/* Listing names, who has them, ending a hold by its owner, and the server. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LIST_MS = 10000, SOON_MS = 3000 };

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

static lk_listing *
list(lk_client *client, const char *pattern, uint64_t idle, uint64_t ours)
{
    lk_list_options options = {LK_LIST_OPTIONS_INIT, .pattern = pattern,
                               .idle = idle, .ours = ours};
    lk_listing *listing = NULL;

    assert_status(lk_list(client, LIST_MS, &options, &listing), LK_OK);
    assert_non_null(listing);
    return listing;
}

static const lk_entry *entry_of(const lk_listing *listing, const char *name)
{
    const lk_entry *found = NULL;

    for (size_t i = 0; i < listing->count; i++) {
        if (strcmp(listing->entries[i]->name, name) != 0)
            continue;
        assert_null(found); /* each name once */
        found = listing->entries[i];
    }
    return found;
}

/* ---- lists ---- */

static void an_empty_server_has_no_names(void **state)
{
    locking *f = *state;
    lk_listing *listing = list(locking_open(f, NULL), NULL, 1, 0);

    assert_int_equal(listing->count, 0);
    assert_false(listing->truncated);
    lk_listing_free(listing);
}

static void a_lock_is_listed_with_its_holder(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .reason = "nightly run"};
    const lk_entry *entry;
    lk_listing *listing;
    lk_hold *hold;

    assert_status(lk_lock_acquire(locking_lock(f, client, "a{tag}"), 0,
                                  &options, &hold),
                  LK_OK);
    listing = list(locking_open(f, NULL), NULL, 0, 0);
    entry = entry_of(listing, "a{tag}");
    assert_non_null(entry);
    assert_int_equal(listing->count, 1);
    assert_int_equal(entry->kind, LK_KIND_LOCK);
    assert_true(entry->ours);
    assert_int_equal(entry->holder_count, 1);
    assert_int_equal(entry->waiter_count, 0);
    assert_false(entry->has_value);
    assert_non_null(entry->holder);
    assert_int_equal(strncmp(entry->holder->owner, lk_client_id(client), 36),
                     0);
    assert_int_equal(entry->holder->fence, lk_hold_fence(hold));
    assert_string_equal(entry->holder->reason, "nightly run");
    assert_true(entry->holder->lease_ms > 0);
    assert_true(entry->holder->since_ms < wait_scaled_ms(SOON_MS));
    assert_int_equal(entry->holder->pid, getpid());
    assert_non_null(strstr(entry->holder->command, "inspect"));
    lk_listing_free(listing);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void waiters_are_counted(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_listing *listing;

    for (long long i = 1; i <= 2; i++) {
        locking_take(f, locking_lock(f, locking_open(f, NULL), "n"), LK_FOREVER,
                     NULL);
        locking_wait_queued(f, "n", i);
    }
    listing = list(client, NULL, 0, 0);
    assert_int_equal(entry_of(listing, "n")->waiter_count, 2);
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
    lk_listing *listing = list(client, NULL, 0, 0);
    lk_info *info;
    lk_kind kind;

    assert_int_equal(entry_of(listing, "n")->waiter_count, count);
    lk_listing_free(listing);
    assert_status(lk_who(client, "n", &kind, &info), LK_OK);
    assert_int_equal(info->waiter_count, count);
    assert_int_equal(info->listed_count, count);
    lk_info_free(info);
}

/* Nobody came by who would have taken it out. */
static void who_has_died_does_not_wait(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    locking_take(f, locking_lock(f, locking_open(f, NULL), "n"), LK_FOREVER,
                 NULL);
    locking_wait_queued(f, "n", 1);
    add_silent(f, 3600000, 14000);
    assert_waiters(client, 1);
    add_silent(f, 3600000, 5000);
    assert_waiters(client, 2);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* One of each kind, by what it is called. */
static void make_one_of_each(lk_client *client, lk_hold *holds[3])
{
    lk_rwlock *rwlock;
    lk_semaphore *semaphore;
    lk_plain_semaphore *plain;
    lk_latch *latch;
    lk_semaphore_options permits = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 5};

    assert_status(lk_rwlock_new(&rwlock, client, "rw", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(rwlock, 0, NULL, &holds[0]), LK_OK);
    assert_status(lk_rwlock_acquire_read(rwlock, 0, NULL, &holds[1]), LK_OK);
    lk_rwlock_free(rwlock);
    assert_status(lk_semaphore_new(&semaphore, client, "sem", &permits), LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 2, 0, NULL, &holds[2]),
                  LK_OK);
    lk_semaphore_free(semaphore);
    assert_status(lk_plain_semaphore_new(&plain, client, "plain"), LK_OK);
    assert_status(lk_plain_semaphore_try_set(plain, 7, 0), LK_OK);
    lk_plain_semaphore_free(plain);
    assert_status(lk_latch_new(&latch, client, "latch", NULL), LK_OK);
    assert_status(lk_latch_try_set_count(latch, 3), LK_OK);
    lk_latch_free(latch);
}

static void each_kind_is_recognised(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;
    lk_hold *holds[3];

    make_one_of_each(client, holds);
    listing = list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 4);
    assert_int_equal(entry_of(listing, "rw")->kind, LK_KIND_RWLOCK);
    assert_int_equal(entry_of(listing, "rw")->holder_count, 1);
    assert_string_equal(entry_of(listing, "rw")->holder->mode, "read");
    assert_int_equal(entry_of(listing, "sem")->kind, LK_KIND_SEMAPHORE);
    assert_int_equal(entry_of(listing, "sem")->holder_count, 2);
    assert_int_equal(entry_of(listing, "sem")->value, 3);
    assert_int_equal(entry_of(listing, "plain")->kind, LK_KIND_PLAIN_SEMAPHORE);
    assert_int_equal(entry_of(listing, "plain")->value, 7);
    assert_int_equal(entry_of(listing, "latch")->kind, LK_KIND_LATCH);
    assert_int_equal(entry_of(listing, "latch")->value, 3);
    lk_listing_free(listing);
    for (size_t i = 0; i < 3; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
}

static void what_only_redisson_uses_is_recognised(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;

    server_integer(f->server, "HSET jlock " JAVA " 2");
    server_integer(f->server, "HSET jrw mode write " JAVA ":write 1");
    server_integer(f->server, "ZADD {jsem}:timeout 99999999999999 id");
    server_integer(f->server, "RPUSH redisson_lock_queue:{jlock} a b");
    server_integer(f->server, "HSET user name Ann");
    freeReplyObject(server_command(f->server, "SET jsem 4"));
    listing = list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 3);
    assert_int_equal(entry_of(listing, "jlock")->kind, LK_KIND_LOCK);
    assert_string_equal(entry_of(listing, "jlock")->holder->owner, JAVA);
    assert_int_equal(entry_of(listing, "jlock")->holder->count, 2);
    assert_int_equal(entry_of(listing, "jlock")->holder->lease_ms, -1);
    assert_int_equal(entry_of(listing, "jlock")->waiter_count, 2);
    assert_false(entry_of(listing, "jlock")->ours);
    assert_int_equal(entry_of(listing, "jrw")->kind, LK_KIND_RWLOCK);
    assert_string_equal(entry_of(listing, "jrw")->holder->owner, JAVA);
    assert_string_equal(entry_of(listing, "jrw")->holder->mode, "write");
    assert_int_equal(entry_of(listing, "jsem")->kind, LK_KIND_SEMAPHORE);
    assert_int_equal(entry_of(listing, "jsem")->value, 4);
    lk_listing_free(listing);
    listing = list(client, NULL, 0, 1);
    assert_int_equal(listing->count, 0);
    lk_listing_free(listing);
}

static void idle_names_are_listed_on_request(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;

    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
    listing = list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 0);
    lk_listing_free(listing);
    listing = list(client, NULL, 1, 0);
    assert_int_equal(listing->count, 1);
    assert_null(entry_of(listing, "n")->holder);
    lk_listing_free(listing);
}

static void a_pattern_is_of_the_name_alone(void **state)
{
    static const char *const names[] = {"orders:1", "orders:2", "old:orders:1",
                                        "state"};
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_hold *holds[4];
    lk_listing *listing;

    for (size_t i = 0; i < 4; i++)
        holds[i] = locking_hold(locking_lock(f, client, names[i]));
    server_integer(f->server, "HSET orders:java " JAVA " 1");
    listing = list(client, "orders:*", 0, 0);
    assert_int_equal(listing->count, 3);
    assert_non_null(entry_of(listing, "orders:1"));
    assert_non_null(entry_of(listing, "orders:2"));
    assert_non_null(entry_of(listing, "orders:java"));
    lk_listing_free(listing);
    listing = list(client, "orders:[1]", 0, 1);
    assert_int_equal(listing->count, 1);
    lk_listing_free(listing);
    for (size_t i = 0; i < 4; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
}

static void more_names_than_the_limit_are_not_looked_at(void **state)
{
    locking *f = *state;
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
static void a_thousand_names_are_each_listed_once(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;
    char name[16];

    for (int i = 0; i < 1000; i++)
        server_integer(f->server, "HSET j%d " JAVA " 1", i);
    listing = list(client, NULL, 0, 0);
    assert_int_equal(listing->count, 1000);
    for (int i = 0; i < 1000; i += 100) {
        snprintf(name, sizeof(name), "j%d", i);
        assert_non_null(entry_of(listing, name));
    }
    lk_listing_free(listing);
}

/* ---- who ---- */

static void who_finds_the_kind_by_itself(void **state)
{
    static const struct {
        const char *name;
        lk_kind kind;
        size_t holders;
    } cases[] = {{"n", LK_KIND_LOCK, 1},
                 {"rw", LK_KIND_RWLOCK, 1},
                 {"sem", LK_KIND_SEMAPHORE, 1},
                 {"plain", LK_KIND_PLAIN_SEMAPHORE, 0},
                 {"latch", LK_KIND_LATCH, 0},
                 {"jlock", LK_KIND_LOCK, 1}};
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_hold *holds[3];

    make_one_of_each(client, holds);
    server_integer(f->server, "HSET jlock " JAVA " 1");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        lk_info *info = NULL;
        lk_kind kind = LK_KIND_NONE;

        assert_status(lk_who(client, cases[i].name, &kind, &info), LK_OK);
        assert_int_equal(kind, cases[i].kind);
        assert_int_equal(info->holder_count, cases[i].holders);
        lk_info_free(info);
    }
    for (size_t i = 0; i < 3; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void a_lock_on_the_name_of_a_former_latch_is_a_lock(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_latch *latch = NULL;
    lk_listing *listing = NULL;
    lk_info *info = NULL;
    lk_kind kind;

    assert_status(lk_latch_new(&latch, client, "n", NULL), LK_OK);
    assert_status(lk_latch_try_set_count(latch, 1), LK_OK);
    assert_status(lk_latch_count_down(latch, 1), LK_OK);
    lk_latch_free(latch);
    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
    assert_status(lk_who(client, "n", &kind, &info), LK_OK);
    assert_int_equal(kind, LK_KIND_LOCK);
    lk_info_free(info);
    listing = list(client, NULL, 1, 0);
    assert_int_equal(entry_of(listing, "n")->kind, LK_KIND_LOCK);
    lk_listing_free(listing);
}

static void who_of_an_unknown_name_says_so(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_info *info = NULL;
    lk_kind kind = LK_KIND_LATCH;

    assert_status(lk_who(client, "n", &kind, &info), LK_ENOTHELD);
    server_integer(f->server, "HSET user name Ann");
    assert_status(lk_who(client, "user", &kind, &info), LK_ENOTHELD);
    assert_int_equal(kind, LK_KIND_LATCH);
    assert_null(info);
    assert_status(lk_who(client, "{", &kind, &info), LK_EINVAL);
    assert_status(lk_who(client, "n", NULL, &info), LK_EINVAL);
    assert_status(lk_who(NULL, "n", &kind, &info), LK_EINVAL);
}

/* ---- break ---- */

/* The rights of docs/lock.md, which do not reach to a semaphore's leases. */
static void the_rights_of_a_lock_are_enough_for_who(void **state)
{
    locking *f = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret"};
    lk_client *client;
    lk_hold *hold;
    lk_kind kind;
    lk_info *info = NULL;

    freeReplyObject(server_command(
        f->server,
        "ACL SETUSER app on >secret ~orders:* ~latchkey:{orders:* "
        "~latchkey:client:* ~redisson_lock_* "
        "resetchannels &latchkey:in:* &redisson_lock__channel:* -@all "
        "+@connection +@hash +@sortedset +get +mget +set +del +exists "
        "+pexpire +pttl +lindex +eval +evalsha +publish +subscribe "
        "+pubsub|numsub +time +info"));
    client = locking_open_url(f, server_url(f->server), &options);
    hold = locking_hold(locking_lock(f, client, "orders:1"));
    assert_status(lk_who(client, "orders:1", &kind, &info), LK_OK);
    assert_int_equal(kind, LK_KIND_LOCK);
    assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);

    assert_status(lk_who(client, "orders:2", &kind, &info), LK_EDENIED);
    assert_non_null(strstr(lk_last_error(), "ACL LOG"));
    assert_status(lk_who(client, "others:1", &kind, &info), LK_EDENIED);
    assert_non_null(strstr(lk_last_error(), "ACL LOG"));
}

static void a_hold_is_broken_only_if_it_is_the_owners(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_info *info;
    lk_kind kind;

    assert_status(lk_break(client, "n", JAVA), LK_ENOTHELD);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_who(client, "n", &kind, &info), LK_OK);
    assert_status(lk_break(client, "n", info->holders[0]->owner), LK_OK);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_break(client, "n", info->holders[0]->owner), LK_ENOTHELD);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static void every_kind_that_has_holders_can_be_broken(void **state)
{
    static const char *const names[] = {"rw", "sem"};
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_hold *holds[3];

    make_one_of_each(client, holds);
    for (size_t i = 0; i < 2; i++) {
        lk_info *info;
        lk_kind kind;

        assert_status(lk_break(client, names[i], JAVA), LK_ENOTHELD);
        assert_status(lk_who(client, names[i], &kind, &info), LK_OK);
        assert_status(lk_break(client, names[i], info->holders[0]->owner),
                      LK_OK);
        lk_info_free(info);
        assert_status(lk_who(client, names[i], &kind, &info), LK_OK);
        assert_int_equal(info->holder_count, 0);
        lk_info_free(info);
    }
    assert_status(lk_break(client, "plain", JAVA), LK_ENOTSUP);
    assert_status(lk_break(client, "latch", JAVA), LK_ENOTSUP);
    assert_status(lk_break(client, "none", JAVA), LK_ENOTHELD);
    assert_status(lk_break(client, "rw", ""), LK_EINVAL);
    assert_status(lk_break(client, "rw", NULL), LK_EINVAL);
    for (size_t i = 0; i < 3; i++)
        assert_true(lk_hold_release(holds[i]) == LK_ELOST);
}

/* ---- async, misuse, faults ---- */

typedef struct seen {
    call call; /* first: how it ended */
    lk_listing *listing;
    lk_health *health;
    lk_kind kind;
} seen;

static void on_list(lk_status status, lk_listing *listing, void *data)
{
    ((seen *)data)->listing = listing;
    call_on_done(status, data);
}

static void on_who(lk_status status, lk_kind kind, lk_info *info, void *data)
{
    ((seen *)data)->kind = kind;
    call_on_info(status, info, data);
}

static void on_health(lk_status status, lk_health *health, void *data)
{
    ((seen *)data)->health = health;
    call_on_done(status, data);
}

static void the_async_forms_call_back_once(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    seen list = {.listing = NULL}, who = {.kind = LK_KIND_NONE};
    seen health = {.health = NULL}, end = {.kind = LK_KIND_NONE};

    assert_status(lk_list_async(client, LIST_MS, NULL, on_list, &list), LK_OK);
    assert_status(lk_who_async(client, "n", on_who, &who), LK_OK);
    assert_status(lk_health_check_async(client, LIST_MS, on_health, &health),
                  LK_OK);
    assert_status(call_wait(&list.call, NULL), LK_OK);
    assert_status(call_wait(&who.call, NULL), LK_OK);
    assert_status(call_wait(&health.call, NULL), LK_OK);
    assert_int_equal(list.listing->count, 1);
    assert_int_equal(who.kind, LK_KIND_LOCK);
    assert_true(health.health->count > 0);
    assert_status(lk_break_async(client, "n", who.call.info->holders[0]->owner,
                                 call_on_done, &end.call),
                  LK_OK);
    assert_status(call_wait(&end.call, NULL), LK_OK);
    lk_info_free(who.call.info);
    lk_listing_free(list.listing);
    lk_health_free(health.health);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static void the_async_forms_tell_what_is_wrong(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    seen who = {.kind = LK_KIND_LOCK}, end = {.kind = LK_KIND_NONE};

    assert_status(lk_who_async(client, "n", on_who, &who), LK_OK);
    assert_status(call_wait(&who.call, NULL), LK_ENOTHELD);
    assert_null(who.call.info);
    assert_status(lk_break_async(client, "n", JAVA, call_on_done, &end.call),
                  LK_OK);
    assert_status(call_wait(&end.call, NULL), LK_ENOTHELD);
    assert_status(lk_who_async(client, "n", NULL, NULL), LK_EINVAL);
    assert_status(lk_list_async(client, 0, NULL, on_list, NULL), LK_EINVAL);
    assert_status(lk_list_async(client, LIST_MS, NULL, NULL, NULL), LK_EINVAL);
    assert_status(lk_health_check_async(client, LIST_MS, NULL, NULL),
                  LK_EINVAL);
    assert_status(lk_break_async(client, "n", "", call_on_done, NULL),
                  LK_EINVAL);
}

static void a_list_ends_when_its_time_is_over(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing = NULL;

    server_freeze(f->server);
    assert_status(lk_list(client, 100, NULL, &listing), LK_ETIMEDOUT);
    server_thaw(f->server);
    assert_null(listing);
    assert_status(lk_list(client, LIST_MS, NULL, &listing), LK_OK);
    lk_listing_free(listing);
}

static void a_list_ends_when_its_connection_breaks(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    seen list = {.listing = NULL};
    char number[32];

    snprintf(number, sizeof(number), "%lld",
             server_integer(f->server, "CLIENT ID"));
    server_freeze(f->server);
    assert_status(lk_list_async(client, LIST_MS, NULL, on_list, &list), LK_OK);
    server_kill(f->server);
    assert_status(call_wait(&list.call, NULL), LK_EOFFLINE);
    assert_null(list.listing);
    assert_true(server_restart(f->server));
}

static void a_shut_client_lists_nothing(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing = NULL;
    lk_health *health = NULL;

    assert_status(lk_client_shutdown(client, LIST_MS), LK_OK);
    assert_status(lk_list(client, LIST_MS, NULL, &listing), LK_ECLOSED);
    assert_status(lk_health_check(client, LIST_MS, &health), LK_ECLOSED);
    assert_status(lk_break(client, "n", JAVA), LK_ECLOSED);
    assert_status(lk_list(NULL, LIST_MS, NULL, &listing), LK_EINVAL);
    assert_status(lk_list(client, LIST_MS, NULL, NULL), LK_EINVAL);
    lk_listing_free(NULL);
    lk_health_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(an_empty_server_has_no_names),
        LOCKING_TEST(a_lock_is_listed_with_its_holder),
        LOCKING_TEST(waiters_are_counted),
        LOCKING_TEST(who_has_died_does_not_wait),
        LOCKING_TEST(each_kind_is_recognised),
        LOCKING_TEST(what_only_redisson_uses_is_recognised),
        LOCKING_TEST(idle_names_are_listed_on_request),
        LOCKING_TEST(a_pattern_is_of_the_name_alone),
        LOCKING_TEST(more_names_than_the_limit_are_not_looked_at),
        LOCKING_TEST(a_thousand_names_are_each_listed_once),
        LOCKING_TEST(who_finds_the_kind_by_itself),
        LOCKING_TEST(a_lock_on_the_name_of_a_former_latch_is_a_lock),
        LOCKING_TEST(who_of_an_unknown_name_says_so),
        LOCKING_TEST(the_rights_of_a_lock_are_enough_for_who),
        LOCKING_TEST(a_hold_is_broken_only_if_it_is_the_owners),
        LOCKING_TEST(every_kind_that_has_holders_can_be_broken),
        LOCKING_TEST(the_async_forms_call_back_once),
        LOCKING_TEST(the_async_forms_tell_what_is_wrong),
        LOCKING_TEST(a_list_ends_when_its_time_is_over),
        LOCKING_TEST(a_list_ends_when_its_connection_breaks),
        LOCKING_TEST(a_shut_client_lists_nothing),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
