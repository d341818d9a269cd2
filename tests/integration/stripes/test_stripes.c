/* SPDX-License-Identifier: MIT */

/* Stripes: keys folded onto locks, one number of them for all processes. */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/multilocking.h"
#include "support/wait.h"

enum { SOON_MS = 5000 };

#define KEY "latchkey:stripes:{n}"

static lk_stripes *stripes_of(lk_client *client, uint64_t count)
{
    const lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT,
                                        .count = count};
    lk_stripes *stripes = NULL;

    assert_status(lk_stripes_new(&stripes, client, "n", &options), LK_OK);
    return stripes;
}

static lk_hold *hold_of(lk_stripes *stripes, const char *key)
{
    lk_hold *hold = NULL;

    assert_status(lk_stripes_acquire(stripes, key, 0, NULL, &hold), LK_OK);
    return hold;
}

/* ---- keys ---- */

/* Of 4 stripes, a, e and i have number 0, b has 1, c has 2. */
LOCKS_TEST(a_key_is_the_lock_of_its_stripe)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open_calm(f, NULL);
    lk_stripes *mine = stripes_of(client, 4);
    lk_stripes *theirs = stripes_of(other, 4);
    lk_hold *hold = hold_of(mine, "a");
    lk_hold *none = NULL, *b;
    uint64_t index = 99;

    assert_status(lk_stripes_index(mine, "a", &index), LK_OK);
    assert_int_equal(index, 0);
    assert_true(lk_hold_fence(hold) > 0);
    assert_true(locking_exists(f, "n:stripe:0"));
    assert_status(lk_stripes_acquire(theirs, "a", 0, NULL, &none), LK_EBUSY);
    assert_status(lk_stripes_acquire(theirs, "e", 0, NULL, &none), LK_EBUSY);
    b = hold_of(theirs, "b");
    assert_true(locking_exists(f, "n:stripe:1"));
    lk_stripes_free(mine);
    assert_status(lk_hold_check(hold), LK_OK); /* it outlives the handle */
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(b), LK_OK);
    assert_status(lk_hold_release(hold_of(theirs, "i")), LK_OK);
    lk_stripes_free(theirs);
}

LOCKS_TEST(many_keys_are_held_at_once)
{
    static const char *const keys[] = {"c", "a", "e", "b"};
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *stripes = stripes_of(client, 4);
    lk_hold *hold = NULL;

    assert_status(lk_stripes_acquire_many(stripes, keys, 4, 0, NULL, &hold),
                  LK_OK);
    assert_int_equal(locking_stats(client).holding, 3);
    for (size_t i = 0; i < 4; i++)
        assert_true(lk_multilock_fence(hold, i) > 0);
    assert_int_equal(lk_multilock_fence(hold, 1), lk_multilock_fence(hold, 2));
    assert_int_equal(lk_multilock_fence(hold, 4), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_integer(f, 0, "EXISTS n:stripe:0 n:stripe:1 %s", "n:stripe:2");
    lk_stripes_free(stripes);
}

LOCKS_TEST(a_wait_is_that_of_a_lock)
{
    static const char *const keys[] = {"a", "b"};
    lk_client *client = locking_open_calm(f, NULL);
    lk_client *other = locking_open_calm(f, NULL);
    lk_stripes *mine = stripes_of(client, 4);
    lk_stripes *theirs = stripes_of(other, 4);
    lk_hold *none = NULL, *hold = hold_of(theirs, "b");
    uint64_t begin = wait_now_ms();

    assert_status(lk_stripes_acquire(mine, "b", wait_scaled_ms(300), NULL,
                                     &none),
                  LK_ETIMEDOUT);
    assert_status(lk_stripes_acquire_many(mine, keys, 2, wait_scaled_ms(300),
                                          NULL, &none),
                  LK_ETIMEDOUT);
    assert_true(wait_now_ms() - begin >= 200);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_stripes_acquire_many(mine, keys, 2, 100, NULL, &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_stripes_free(mine);
    lk_stripes_free(theirs);
}

/* ---- without waiting ---- */

LOCKS_TEST(a_callback_brings_the_hold)
{
    static const char *const keys[] = {"a", "e"};

    for (uint64_t dispatch = 0; dispatch < 2; dispatch++) {
        const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                           .dispatch = dispatch};
        lk_client *client = locking_open_calm(f, &options);
        lk_stripes *stripes = stripes_of(client, 4);
        call one = {0}, many = {0}, busy = {0};

        assert_status(lk_stripes_acquire_async(stripes, "b", 0, NULL,
                                               call_on_acquire, &one),
                      LK_OK);
        /* The acquire needs nobody who dispatches. */
        locking_wait_integer(f, 1, "EXISTS %s", "n:stripe:1");
        assert_status(call_wait(&one, client), LK_OK);
        assert_status(lk_stripes_acquire_many_async(stripes, keys, 2, 0, NULL,
                                                    call_on_acquire, &many),
                      LK_OK);
        assert_status(call_wait(&many, client), LK_OK);
        assert_status(lk_stripes_acquire_async(stripes, "b", 0, NULL,
                                               call_on_acquire, &busy),
                      LK_OK);
        lk_stripes_free(stripes); /* a call under way outlives it */
        assert_status(call_wait(&busy, client), LK_EBUSY);
        assert_status(lk_hold_release(one.hold), LK_OK);
        assert_status(lk_hold_release(many.hold), LK_OK);
    }
}

/* Its owner may be freed before the numbers are compared; and the options may
   be those of the first release. */
LOCKS_TEST(what_a_call_was_told_is_kept)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *stripes = stripes_of(client, 4);
    lk_acquire_options options = {.size =
                                      offsetof(lk_acquire_options, replicas)};
    lk_status status;
    call c = {0};

    assert_status(lk_owner_new(&options.owner, client), LK_OK);
    server_freeze(f->server);
    status = lk_stripes_acquire_async(stripes, "a", SOON_MS, &options,
                                      call_on_acquire, &c);
    lk_owner_free(options.owner);
    server_thaw(f->server);
    lk_stripes_free(stripes);
    assert_status(status, LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* ---- the number of stripes ---- */

LOCKS_TEST(the_number_is_kept_at_the_server)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *stripes = stripes_of(client, 0);
    char *text;

    assert_false(locking_exists(f, KEY));
    assert_status(lk_hold_release(hold_of(stripes, "a")), LK_OK);
    text = server_string(f->server, "GET " KEY);
    assert_string_equal(text, "64");
    free(text);
    assert_in_range(locking_pttl(f, KEY), 604000000, 604800000);
    lk_stripes_free(stripes);
}

LOCKS_TEST(who_comes_with_another_number_is_refused)
{
    static const char *const keys[] = {"a", "b"};
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *first = stripes_of(client, 4);
    lk_stripes *second = stripes_of(client, 8);
    lk_hold *none = NULL;
    call c = {0};

    assert_status(lk_hold_release(hold_of(first, "a")), LK_OK);
    assert_says(lk_stripes_acquire(second, "a", 0, NULL, &none), LK_EMISMATCH,
                KEY " says that there are not 8");
    assert_status(lk_stripes_acquire_many(second, keys, 2, 0, NULL, &none),
                  LK_EMISMATCH);
    assert_status(lk_stripes_acquire_async(second, "a", 0, NULL,
                                           call_on_acquire, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_EMISMATCH);
    assert_non_null(strstr(c.words, "there are not 8"));
    assert_int_equal(locking_stats(client).holding, 0);
    /* Nobody uses it any more: the number may change. */
    assert_int_equal(server_integer(f->server, "DEL " KEY), 1);
    assert_status(lk_hold_release(hold_of(second, "a")), LK_OK);
    lk_stripes_free(first);
    lk_stripes_free(second);
}

/* A comparison is a request more, and the next acquire has none. */
LOCKS_TEST(it_is_not_compared_each_time)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *stripes = stripes_of(client, 4);
    uint64_t before;

    assert_status(lk_hold_release(hold_of(stripes, "a")), LK_OK);
    before = locking_stats(client).commands;
    assert_status(lk_hold_release(hold_of(stripes, "a")), LK_OK);
    assert_int_equal(locking_stats(client).commands - before, 2);
    lk_stripes_free(stripes);
}

/* What is there already is made to live on, by whoever comes. */
LOCKS_TEST(a_number_that_is_there_lives_on)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *stripes = stripes_of(client, 4);

    free(server_string(f->server, "SET " KEY " 4 PX 100000"));
    assert_status(lk_hold_release(hold_of(stripes, "a")), LK_OK);
    assert_in_range(locking_pttl(f, KEY), 604000000, 604800000);
    lk_stripes_free(stripes);
}

LOCKS_TEST(something_else_in_its_place_is_refused)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *stripes = stripes_of(client, 4);
    lk_hold *none = NULL;

    assert_int_equal(server_integer(f->server, "LPUSH " KEY " x"), 1);
    assert_status(lk_stripes_acquire(stripes, "a", 0, NULL, &none), LK_ETYPE);
    assert_int_equal(server_integer(f->server, "DEL " KEY), 1);
    free(server_string(f->server, "SET " KEY " four"));
    assert_status(lk_stripes_acquire(stripes, "a", 0, NULL, &none),
                  LK_EMISMATCH);
    lk_stripes_free(stripes);
}

LOCKS_TEST(the_time_limit_holds_though_the_server_does_not_answer)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_stripes *stripes = stripes_of(client, 4);
    lk_hold *none = NULL;
    uint64_t begin = wait_now_ms();
    lk_status blocking, async;
    uint64_t took_ms;
    call c = {0};

    server_freeze(f->server);
    blocking = lk_stripes_acquire(stripes, "a", 150, NULL, &none);
    async =
        lk_stripes_acquire_async(stripes, "a", 150, NULL, call_on_acquire, &c);
    lk_stripes_free(stripes);
    if (async == LK_OK)
        async = call_wait(&c, NULL);
    took_ms = wait_now_ms() - begin;
    server_thaw(f->server);
    assert_status(blocking, LK_ETIMEDOUT);
    assert_status(async, LK_ETIMEDOUT);
    assert_in_range(took_ms, 300, wait_allowed_ms(300 + wait_scaled_ms(1500)));
}

/* ---- what is wrong ---- */

LOCKS_TEST(what_is_wrong_is_refused)
{
    static const char *const keys[] = {"a", NULL};
    lk_client *client = locking_open_calm(f, NULL);
    const lk_stripes_options many = {LK_STRIPES_OPTIONS_INIT,
                                     .count = LK_STRIPES_MAX + 1};
    const lk_stripes_options lease = {LK_STRIPES_OPTIONS_INIT,
                                      .lease_ms = UINT64_MAX};
    const lk_acquire_options no_size = {.lease_ms = 1};
    lk_stripes *stripes = stripes_of(client, 4), *none = NULL;
    lk_hold *hold = NULL;
    char name[482];
    uint64_t index;

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_says(lk_stripes_new(NULL, client, "n", NULL), LK_EINVAL, "NULL");
    assert_says(lk_stripes_new(&none, NULL, "n", NULL), LK_EINVAL, "NULL");
    assert_says(lk_stripes_new(&none, client, NULL, NULL), LK_EINVAL, "name");
    assert_says(lk_stripes_new(&none, client, name, NULL), LK_EINVAL, "480");
    assert_says(lk_stripes_new(&none, client, "a{b", NULL), LK_EINVAL, "'}'");
    assert_says(lk_stripes_new(&none, client, "n", &many), LK_EINVAL, "65536");
    assert_says(lk_stripes_new(&none, client, "n", &lease), LK_EINVAL, "lease");
    assert_says(lk_stripes_index(NULL, "a", &index), LK_EINVAL, "NULL");
    assert_says(lk_stripes_index(stripes, NULL, &index), LK_EINVAL, "NULL");
    assert_says(lk_stripes_acquire(NULL, "a", 0, NULL, &hold), LK_EINVAL,
                "NULL");
    assert_says(lk_stripes_acquire(stripes, NULL, 0, NULL, &hold), LK_EINVAL,
                "NULL");
    assert_says(lk_stripes_acquire(stripes, "a", 0, NULL, NULL), LK_EINVAL,
                "result");
    assert_says(lk_stripes_acquire(stripes, "a", -2, NULL, &hold), LK_EINVAL,
                "wait_ms");
    assert_says(lk_stripes_acquire(stripes, "a", 0, &no_size, &hold), LK_EINVAL,
                "size");
    assert_says(lk_stripes_acquire_many(stripes, keys, 2, 0, NULL, &hold),
                LK_EINVAL, "a key is NULL");
    assert_says(lk_stripes_acquire_many(stripes, keys, 0, 0, NULL, &hold),
                LK_EINVAL, "1 to 1024 keys");
    assert_says(lk_stripes_acquire_async(stripes, "a", 0, NULL, NULL, NULL),
                LK_EINVAL, "callback");
    assert_says(lk_stripes_acquire_async(stripes, "a", 0, &no_size,
                                         call_on_acquire, NULL),
                LK_EINVAL, "size");
    lk_stripes_free(NULL);
    assert_status(lk_client_shutdown(client, SOON_MS), LK_OK);
    assert_status(lk_stripes_acquire(stripes, "a", 0, NULL, &hold), LK_ECLOSED);
    assert_status(lk_stripes_new(&none, client, "n", NULL), LK_ECLOSED);
    lk_stripes_free(stripes);
}

LOCKS_TEST(a_forked_child_is_refused)
{
    lk_stripes *stripes = stripes_of(locking_open_calm(f, NULL), 4);
    lk_hold *hold = hold_of(stripes, "a");
    pid_t pid = fork();
    int status = 0;

    if (pid == 0) {
        lk_hold *none = NULL;

        if (lk_stripes_acquire(stripes, "b", 0, NULL, &none) != LK_EFORKED)
            _exit(1);
        lk_stripes_free(stripes);
        (void)raise(SIGKILL); /* no tool looks for leaks here */
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_stripes_free(stripes);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
