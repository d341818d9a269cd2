/* SPDX-License-Identifier: MIT */

/*
 * What is told of a name's holder, how an owner ends a hold, and how the calls that
 * look end. test_inspect_list.c has what is listed.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/inspecting.h"
#include "support/locking.h"
#include "support/wait.h"

enum { LIST_MS = 10000, SOON_MS = 3000 };

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

/* ---- who ---- */

LOCKS_TEST(who_finds_the_kind_by_itself)
{
    static const struct {
        const char *name;
        lk_kind found;
        size_t holders;
    } cases[] = {{"n", LK_KIND_LOCK, 1},
                 {"rw", LK_KIND_RWLOCK, 1},
                 {"sem", LK_KIND_SEMAPHORE, 1},
                 {"plain", LK_KIND_PLAIN_SEMAPHORE, 0},
                 {"latch", LK_KIND_LATCH, 0},
                 {"jlock", LK_KIND_LOCK, 1}};
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_hold *holds[3];

    inspecting_make(client, holds);
    server_integer(f->server, "HSET jlock " JAVA " 1");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        lk_info *info = NULL;
        lk_kind found = LK_KIND_NONE;

        assert_status(lk_who(client, cases[i].name, &found, &info), LK_OK);
        assert_int_equal(found, cases[i].found);
        assert_int_equal(info->holder_count, cases[i].holders);
        lk_info_free(info);
    }
    for (size_t i = 0; i < 3; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

LOCKS_TEST(a_lock_on_the_name_of_a_former_latch_is_a_lock)
{
    lk_client *client = locking_open(f, NULL);
    lk_latch *latch = NULL;
    lk_listing *listing = NULL;
    lk_info *info = NULL;
    lk_kind found;

    assert_status(lk_latch_new(&latch, client, "n", NULL), LK_OK);
    assert_status(lk_latch_try_set_count(latch, 1), LK_OK);
    assert_status(lk_latch_count_down(latch, 1), LK_OK);
    lk_latch_free(latch);
    assert_status(lk_hold_release(locking_hold(locking_lock(f, client, "n"))),
                  LK_OK);
    assert_status(lk_who(client, "n", &found, &info), LK_OK);
    assert_int_equal(found, LK_KIND_LOCK);
    lk_info_free(info);
    listing = inspecting_list(client, NULL, 1, 0);
    assert_int_equal(inspecting_entry(listing, "n")->kind, LK_KIND_LOCK);
    lk_listing_free(listing);
}

LOCKS_TEST(who_of_an_unknown_name_says_so)
{
    lk_client *client = locking_open(f, NULL);
    lk_info *info = NULL;
    lk_kind found = LK_KIND_LATCH;

    assert_status(lk_who(client, "n", &found, &info), LK_ENOTHELD);
    server_integer(f->server, "HSET user name Ann");
    assert_status(lk_who(client, "user", &found, &info), LK_ENOTHELD);
    assert_int_equal(found, LK_KIND_LATCH);
    assert_null(info);
    assert_status(lk_who(client, "{", &found, &info), LK_EINVAL);
    assert_status(lk_who(client, "n", NULL, &info), LK_EINVAL);
    assert_status(lk_who(NULL, "n", &found, &info), LK_EINVAL);
}

/* The rights of docs/lock.md, which do not reach to a semaphore's leases. */
LOCKS_TEST(the_rights_of_a_lock_are_enough_for_who)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                       .password = "secret"};
    lk_client *client;
    lk_hold *hold;
    lk_kind found;
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
    assert_status(lk_who(client, "orders:1", &found, &info), LK_OK);
    assert_int_equal(found, LK_KIND_LOCK);
    assert_int_equal(info->holder_count, 1);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_OK);

    assert_status(lk_who(client, "orders:2", &found, &info), LK_EDENIED);
    assert_non_null(strstr(lk_last_error(), "ACL LOG"));
    assert_status(lk_who(client, "others:1", &found, &info), LK_EDENIED);
    assert_non_null(strstr(lk_last_error(), "ACL LOG"));
}

/* ---- break ---- */

LOCKS_TEST(a_hold_is_broken_only_if_it_is_the_owners)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    lk_info *info;
    lk_kind found;

    assert_status(lk_break(client, "n", JAVA), LK_ENOTHELD);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_who(client, "n", &found, &info), LK_OK);
    assert_status(lk_break(client, "n", info->holders[0]->owner), LK_OK);
    assert_true(wait_until(hold_is_lost, hold, SOON_MS));
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_REVOKED);
    assert_status(lk_break(client, "n", info->holders[0]->owner), LK_ENOTHELD);
    lk_info_free(info);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(every_kind_that_has_holders_can_be_broken)
{
    static const char *const names[] = {"rw", "sem"};
    lk_client *client = locking_open(f, NULL);
    lk_hold *holds[3];

    inspecting_make(client, holds);
    for (size_t i = 0; i < 2; i++) {
        lk_info *info;
        lk_kind found;

        assert_status(lk_break(client, names[i], JAVA), LK_ENOTHELD);
        assert_status(lk_who(client, names[i], &found, &info), LK_OK);
        assert_status(lk_break(client, names[i], info->holders[0]->owner),
                      LK_OK);
        lk_info_free(info);
        assert_status(lk_who(client, names[i], &found, &info), LK_OK);
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
    lk_kind found;
} seen;

static void on_list(lk_status status, lk_listing *listing, void *data)
{
    ((seen *)data)->listing = listing;
    call_on_done(status, data);
}

static void on_who(lk_status status, lk_kind found, lk_info *info, void *data)
{
    ((seen *)data)->found = found;
    call_on_info(status, info, data);
}

static void on_health(lk_status status, lk_health *health, void *data)
{
    ((seen *)data)->health = health;
    call_on_done(status, data);
}

LOCKS_TEST(the_async_forms_call_back_once)
{
    lk_client *client = locking_open(f, NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    seen list = {.listing = NULL}, who = {.found = LK_KIND_NONE};
    seen health = {.health = NULL}, end = {.found = LK_KIND_NONE};

    assert_status(lk_list_async(client, LIST_MS, NULL, on_list, &list), LK_OK);
    assert_status(lk_who_async(client, "n", on_who, &who), LK_OK);
    assert_status(lk_health_check_async(client, LIST_MS, on_health, &health),
                  LK_OK);
    assert_status(call_wait(&list.call, NULL), LK_OK);
    assert_status(call_wait(&who.call, NULL), LK_OK);
    assert_status(call_wait(&health.call, NULL), LK_OK);
    assert_int_equal(list.listing->count, 1);
    assert_int_equal(who.found, LK_KIND_LOCK);
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

LOCKS_TEST(the_async_forms_tell_what_is_wrong)
{
    lk_client *client = locking_open(f, NULL);
    seen who = {.found = LK_KIND_LOCK}, end = {.found = LK_KIND_NONE};

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

LOCKS_TEST(a_list_ends_when_its_time_is_over)
{
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing = NULL;

    server_freeze(f->server);
    assert_status(lk_list(client, 100, NULL, &listing), LK_ETIMEDOUT);
    server_thaw(f->server);
    assert_null(listing);
    assert_status(lk_list(client, LIST_MS, NULL, &listing), LK_OK);
    lk_listing_free(listing);
}

LOCKS_TEST(a_list_ends_when_its_connection_breaks)
{
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

LOCKS_TEST(a_shut_client_lists_nothing)
{
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

CHECK_GROUP(locking_start_server, locking_stop_server)
