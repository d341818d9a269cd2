/* SPDX-License-Identifier: MIT */

/*
 * Out of memory, and the end of the client, in the midst of looking: each call
 * with the n-th allocation failing, for each n until there is none left to
 * fail. What leaks or crashes is seen by the builds with sanitizers and by
 * valgrind.
 */

#include <latchkey/latchkey.h>

#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/memory.h"
#include "support/wait.h"

enum { LIST_MS = 10000, NAMES = 4 };

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

static int teardown(void **state)
{
    (void)memory_lasts();
    return locking_teardown(state);
}

/* ---- calls that either do what they should or say that there is no memory ---- */

static lk_status do_list(void *client)
{
    lk_list_options options = {LK_LIST_OPTIONS_INIT, .pattern = "n*"};
    lk_listing *listing = NULL;
    lk_status status = lk_list(client, LIST_MS, &options, &listing);

    if (status == LK_OK)
        assert_int_equal(listing->count, NAMES);
    lk_listing_free(listing);
    return status;
}

static void on_list(lk_status status, lk_listing *listing, void *data)
{
    lk_listing_free(listing);
    call_on_done(status, data);
}

static lk_status do_list_async(void *client)
{
    call c = {0};
    lk_status status = lk_list_async(client, LIST_MS, NULL, on_list, &c);

    return status == LK_OK ? call_wait(&c, NULL) : status;
}

static lk_status do_who(void *client)
{
    lk_info *info = NULL;
    lk_kind found;
    lk_status status = lk_who(client, "n0", &found, &info);

    lk_info_free(info);
    return status;
}

static void on_who(lk_status status, lk_kind found, lk_info *info, void *data)
{
    (void)found;
    lk_info_free(info);
    call_on_done(status, data);
}

static lk_status do_who_async(void *client)
{
    call c = {0};
    lk_status status = lk_who_async(client, "n0", on_who, &c);

    return status == LK_OK ? call_wait(&c, NULL) : status;
}

/* Nobody of that name holds it, so nothing is ended. */
static lk_status do_break(void *client)
{
    lk_status status = lk_break(client, "n0", "x:1");

    return status == LK_ENOTHELD ? LK_OK : status;
}

/* It is held, so it stays. */
static lk_status do_forget(void *client)
{
    lk_status status = lk_forget(client, "n0");

    return status == LK_EBUSY ? LK_OK : status;
}

static lk_status do_forget_async(void *client)
{
    call c = {0};
    lk_status status = lk_forget_async(client, "n0", call_on_done, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    return status == LK_EBUSY ? LK_OK : status;
}

static lk_status do_health(void *client)
{
    lk_health *health = NULL;
    lk_status status = lk_health_check(client, LIST_MS, &health);

    lk_health_free(health);
    return status;
}

static lk_hold *
read_hold(lk_client *client, const char *name, lk_rwlock **ret_rwlock)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .reason = "r"};
    lk_hold *hold = NULL;

    assert_status(lk_rwlock_new(ret_rwlock, client, name, NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(*ret_rwlock, 0, &options, &hold),
                  LK_OK);
    return hold;
}

static void an_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    static lk_status (*const acts[])(
        void *client) = {do_list,  do_list_async, do_who,          do_who_async,
                         do_break, do_forget,     do_forget_async, do_health};
    locking *f = *state;
    lk_client *client = locking_open_calm(f, NULL);
    lk_hold *holds[NAMES]; /* locks, and one that reads */
    lk_rwlock *rwlock = NULL;
    char name[8];

    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        holds[i] = i < NAMES - 1 ? locking_hold(locking_lock(f, client, name))
                                 : read_hold(client, name, &rwlock);
    }
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        memory_fails_each("a look", acts[i], NULL, client);
    for (int i = 0; i < NAMES; i++)
        assert_status(lk_hold_release(holds[i]), LK_OK);
    lk_rwlock_free(rwlock);
}

/* ---- the end of the client ---------------------------------------------------- */

static void looks_under_way_end_with_the_client(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    call list = {0}, who = {0};

    server_freeze(f->server);
    assert_status(lk_list_async(client, LK_FOREVER, NULL, on_list, &list),
                  LK_OK);
    assert_status(lk_who_async(client, "n", on_who, &who), LK_OK);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_status(call_wait(&list, NULL), LK_ECLOSED);
    assert_status(call_wait(&who, NULL), LK_ECLOSED);
    server_thaw(f->server);
}

static void a_client_freed_under_a_list_takes_it_along(void **state)
{
    locking *f = *state;
    lk_client *client = NULL;
    call list = {0};

    for (int i = 0; i < 500; i++)
        server_integer(f->server, "HSET j%d " JAVA " 1", i);
    assert_status(lk_client_open(&client, server_url(f->server), NULL), LK_OK);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(LIST_MS)),
                  LK_OK);
    assert_status(lk_list_async(client, LIST_MS, NULL, on_list, &list), LK_OK);
    lk_client_free(client);
    (void)call_wait(&list, NULL); /* whatever came first, once */
    assert_int_equal(atomic_load(&list.ends), 1);
}

/* ---- where looking is refused -------------------------------------------------- */

/* The status that all of them answer; another one fails. */
static bool all_answer(lk_client *client, lk_status status)
{
    lk_listing *listing = NULL;
    lk_health *health = NULL;
    lk_info *info = NULL;
    lk_kind found;

    return lk_list(client, LIST_MS, NULL, &listing) == status &&
           lk_who(client, "n", &found, &info) == status &&
           lk_break(client, "n", JAVA) == status &&
           lk_health_check(client, LIST_MS, &health) == status;
}

static void a_child_cannot_look_with_its_parents_client(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    lk_listing *listing;
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0)
        _exit(all_answer(client, LK_EFORKED) ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_status(lk_list(client, LIST_MS, NULL, &listing), LK_OK);
    lk_listing_free(listing);
}

typedef struct within {
    call call; /* first */
    lk_client *client;
    bool refused;
} within;

static void look_within(call *c)
{
    within *w = (within *)(void *)c;

    w->refused = all_answer(w->client, LK_ECALLBACK);
}

static void a_callback_cannot_wait_for_a_look(void **state)
{
    locking *f = *state;
    within w = {.call = {.act = look_within}};

    w.client = locking_open(f, NULL);
    assert_status(lk_list_async(w.client, LIST_MS, NULL, on_list, &w.call),
                  LK_OK);
    assert_status(call_wait(&w.call, NULL), LK_OK);
    assert_true(w.refused);
}

int test_inspect_memory(void)
{
#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, locking_setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_allocation_that_fails_is_told_or_made_up_for),
        TEST(looks_under_way_end_with_the_client),
        TEST(a_client_freed_under_a_list_takes_it_along),
        TEST(a_child_cannot_look_with_its_parents_client),
        TEST(a_callback_cannot_wait_for_a_look),
    };

    return cmocka_run_group_tests(tests, locking_start_server,
                                  locking_stop_server);
}
