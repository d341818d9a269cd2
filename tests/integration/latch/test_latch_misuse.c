/* SPDX-License-Identifier: MIT */

/* Calls of a latch that are wrong are refused, and say why. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/check.h"
#include "support/latching.h"

static void on_count(lk_status status, uint64_t count, void *data)
{
    (void)count;
    call_on_done(status, data);
}

/* ---- arguments ---- */

CHECK_TEST(a_latch_that_is_null_is_refused)
{
    lk_info *info;
    uint64_t count;
    bool open;
    call c = {0};

    assert_einval(lk_latch_try_set_count(NULL, 1), "NULL");
    assert_einval(lk_latch_count_down(NULL, 1), "NULL");
    assert_einval(lk_latch_arrive(NULL, 1, "m"), "NULL");
    assert_einval(lk_latch_leave(NULL, "m", &open), "NULL");
    assert_einval(lk_latch_wait(NULL, 0, NULL), "NULL");
    assert_einval(lk_latch_count(NULL, &count), "NULL");
    assert_einval(lk_latch_reset(NULL, 1), "NULL");
    assert_einval(lk_latch_delete(NULL), "NULL");
    assert_einval(lk_latch_info(NULL, &info), "NULL");
    assert_einval(lk_latch_delete_async(NULL, call_on_done, &c), "NULL");
    assert_einval(lk_latch_wait_async(NULL, 0, NULL, call_on_done, &c), "NULL");
    lk_latch_free(NULL);
}

LATCHING_TEST(a_result_needs_a_place)
{
    lk_latch *latch = latching_latch(f);

    assert_einval(lk_latch_new(NULL, latching_client(f, 0), "n", NULL), "NULL");
    assert_einval(lk_latch_leave(latch, "m", NULL), "ret_open");
    assert_einval(lk_latch_count(latch, NULL), "ret_count");
    assert_einval(lk_latch_info(latch, NULL), "NULL");
}

LATCHING_TEST(an_async_call_needs_a_callback)
{
    lk_latch *latch = latching_latch(f);

    assert_einval(lk_latch_try_set_count_async(latch, 1, NULL, NULL),
                  "callback");
    assert_einval(lk_latch_count_down_async(latch, 1, NULL, NULL), "callback");
    assert_einval(lk_latch_arrive_async(latch, 1, "m", NULL, NULL), "callback");
    assert_einval(lk_latch_leave_async(latch, "m", NULL, NULL), "callback");
    assert_einval(lk_latch_wait_async(latch, 0, NULL, NULL, NULL), "callback");
    assert_einval(lk_latch_count_async(latch, NULL, NULL), "callback");
    assert_einval(lk_latch_reset_async(latch, 1, NULL, NULL), "callback");
    assert_einval(lk_latch_delete_async(latch, NULL, NULL), "callback");
    assert_einval(lk_latch_info_async(latch, NULL, NULL), "callback");
}

LATCHING_TEST(a_count_of_zero_is_refused)
{
    lk_latch *latch = latching_latch(f);
    call c = {0};

    assert_einval(lk_latch_try_set_count(latch, 0), "count");
    assert_einval(lk_latch_count_down(latch, 0), "count");
    assert_einval(lk_latch_reset(latch, 0), "count");
    assert_einval(lk_latch_arrive(latch, 0, "m"), "count");
    assert_einval(lk_latch_reset_async(latch, 0, call_on_done, &c), "count");
    assert_int_equal(atomic_load(&c.ends), 0);
}

LATCHING_TEST(a_count_beyond_the_largest_is_refused)
{
    lk_latch *latch = latching_latch(f);
    const uint64_t counts[] = {LK_LATCH_COUNT_MAX + 1, INT64_MAX, UINT64_MAX};

    for (size_t i = 0; i < 3; i++) {
        assert_says(lk_latch_try_set_count(latch, counts[i]), LK_ERANGE,
                    "LK_LATCH_COUNT_MAX");
        assert_status(lk_latch_count_down(latch, counts[i]), LK_ERANGE);
        assert_status(lk_latch_reset(latch, counts[i]), LK_ERANGE);
        assert_status(lk_latch_arrive(latch, counts[i], "m"), LK_ERANGE);
    }
}

LATCHING_TEST(a_member_needs_a_name)
{
    lk_latch *latch = latching_latch(f);
    char name[202];
    bool open;

    memset(name, 'm', sizeof(name));
    name[201] = '\0';
    assert_einval(lk_latch_arrive(latch, 2, NULL), "name");
    assert_einval(lk_latch_arrive(latch, 2, ""), "name");
    assert_einval(lk_latch_arrive(latch, 2, name), "200");
    assert_einval(lk_latch_leave(latch, NULL, &open), "name");
    assert_einval(lk_latch_leave(latch, "", &open), "name");
    assert_einval(lk_latch_leave(latch, name, &open), "200");
    name[200] = '\0';
    assert_status(lk_latch_arrive(latch, 2, name), LK_OK);
}

LATCHING_TEST(a_wait_holds_nothing)
{
    lk_latch *latch = latching_latch(f);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 1000};
    lk_owner *owner;

    assert_einval(lk_latch_wait(latch, 0, &options), "lease");
    assert_status(lk_owner_new(&owner, latching_client(f, 0)), LK_OK);
    options.lease_ms = 0;
    options.owner = owner;
    assert_einval(lk_latch_wait(latch, 0, &options), "owner");
    lk_owner_free(owner);
}

LATCHING_TEST(a_time_out_of_all_bounds_is_refused)
{
    lk_latch *latch = latching_latch(f);
    const lk_latch_options options = {LK_LATCH_OPTIONS_INIT,
                                      .ttl_ms = UINT64_MAX};
    lk_latch *none = NULL;

    assert_einval(lk_latch_wait(latch, -2, NULL), "wait_ms");
    assert_einval(lk_latch_wait(latch, INT64_MAX, NULL), "wait_ms");
    assert_einval(lk_latch_new(&none, latching_client(f, 0), "n", &options),
                  "ttl_ms");
    assert_null(none);
}

/* A newer release's struct, with a field that this one does not know. */
struct newer_latch_options {
    lk_latch_options known;
    uint64_t unknown;
};

LATCHING_TEST(options_that_are_not_understood_are_refused)
{
    lk_client *client = latching_open(f, NULL);
    struct newer_latch_options newer = {.known = {.size = sizeof(newer)},
                                        .unknown = 1};
    const lk_latch_options bad = {.size = 3};
    lk_latch *latch = NULL;

    assert_einval(lk_latch_new(&latch, client, "n", &bad), "size");
    assert_says(lk_latch_new(&latch, client, "n", &newer.known), LK_ENOTSUP,
                "release");
    assert_einval(lk_latch_new(&latch, client, "a{b", NULL), "name");
    assert_einval(lk_latch_new(&latch, client, "", NULL), "name");
    assert_einval(lk_latch_new(&latch, NULL, "n", NULL), "NULL");
    assert_null(latch);
}

LATCHING_TEST(a_refused_call_sends_nothing)
{
    lk_latch *latch = latching_latch(f);
    uint64_t commands = latching_stats(latching_client(f, 0)).commands;

    assert_status(lk_latch_reset(latch, 0), LK_EINVAL);
    assert_status(lk_latch_arrive(latch, 1, ""), LK_EINVAL);
    assert_status(lk_latch_wait(latch, -2, NULL), LK_EINVAL);
    assert_int_equal(latching_stats(latching_client(f, 0)).commands, commands);
}

/* ---- names that hold something else ---- */

static void all_say(lk_latch *latch, lk_status status)
{
    lk_info *info = NULL;
    uint64_t count;
    bool open;

    assert_status(lk_latch_try_set_count(latch, 1), status);
    assert_status(lk_latch_count_down(latch, 1), status);
    assert_status(lk_latch_arrive(latch, 1, "m"), status);
    assert_status(lk_latch_leave(latch, "m", &open), status);
    assert_status(lk_latch_wait(latch, 0, NULL), status);
    assert_status(lk_latch_wait(latch, LK_FOREVER, NULL), status);
    assert_status(lk_latch_count(latch, &count), status);
    assert_status(lk_latch_reset(latch, 1), status);
    assert_status(lk_latch_delete(latch), status);
    assert_status(lk_latch_info(latch, &info), status);
}

LATCHING_TEST(a_key_of_another_type_is_refused)
{
    lk_latch *latch = latching_latch(f);

    freeReplyObject(server_command(f->server, "SET n text"));
    all_say(latch, LK_ETYPE);
    freeReplyObject(server_command(f->server, "DEL n"));
    freeReplyObject(server_command(f->server, "RPUSH n x"));
    all_say(latch, LK_ETYPE);
}

LATCHING_TEST(a_lock_is_no_latch)
{
    lk_latch *latch = latching_latch(f);
    lk_lock *lock;
    lk_hold *hold;

    assert_status(lk_lock_new(&lock, latching_client(f, 0), "n", NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_OK);
    all_say(latch, LK_ETYPE);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

LATCHING_TEST(a_latch_is_no_lock)
{
    lk_latch *latch = latching_latch(f);
    lk_lock *lock;
    lk_hold *hold;

    latching_arm(latch, 1);
    assert_status(lk_lock_new(&lock, latching_client(f, 0), "n", NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), LK_ETYPE);
    assert_int_equal(latching_count(latch), 1);
    lk_lock_free(lock);
}

LATCHING_TEST(another_layout_is_refused)
{
    lk_latch *latch = latching_latch(f);

    freeReplyObject(server_command(f->server, "SET latchkey:{n}:r x"));
    all_say(latch, LK_EMISMATCH);
}

/* ---- at the wrong time ---- */

LATCHING_TEST(nothing_is_done_after_the_shutdown)
{
    lk_latch *latch = latching_latch(f);

    assert_status(lk_client_shutdown(latching_client(f, 0), 1000), LK_OK);
    all_say(latch, LK_ECLOSED);
}

static void blocks_in_callback(call *c)
{
    lk_latch *latch = c->data;
    uint64_t count;

    assert_status(lk_latch_wait(latch, 0, NULL), LK_ECALLBACK);
    assert_status(lk_latch_count(latch, &count), LK_ECALLBACK);
    assert_status(lk_latch_count_down(latch, 1), LK_ECALLBACK);
}

LATCHING_TEST(a_blocking_call_from_a_callback_is_refused)
{
    lk_latch *latch = latching_latch(f);
    call c = {.act = blocks_in_callback, .data = latch};

    assert_status(lk_latch_count_async(latch, on_count, &c), LK_OK);
    assert_status(call_wait(&c, NULL), LK_EUNSET);
}

/* The child is killed when it is content: no tool looks for leaks there. */
LATCHING_TEST(a_child_may_only_free)
{
    lk_latch *latch = latching_latch(f);
    int status;
    pid_t pid;

    latching_arm(latch, 1);
    pid = fork();
    if (pid == 0) {
        uint64_t count;
        bool right = lk_latch_wait(latch, 0, NULL) == LK_EFORKED &&
                     lk_latch_count(latch, &count) == LK_EFORKED &&
                     lk_latch_count_down(latch, 1) == LK_EFORKED;

        lk_latch_free(latch);
        (void)raise(right ? SIGKILL : SIGABRT);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(latching_count(latch), 1);
}

int main(void)
{
    return check_all(latching_start_server, latching_stop_server);
}
