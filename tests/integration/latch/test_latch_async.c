/* SPDX-License-Identifier: MIT */

/* The latch's async calls, on the loop and in dispatch: each ends once. */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/latching.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

static lk_client *open_mode(locking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return locking_open(f, &options);
}

/* A call that is told a number. */
typedef struct counting {
    call call; /* first */
    uint64_t count;
} counting;

static void on_count(lk_status status, uint64_t count, void *data)
{
    ((counting *)data)->count = count;
    call_on_done(status, data);
}

static void begin_wait(lk_latch *latch, int64_t wait_ms,
                       const lk_acquire_options *options, call *c)
{
    assert_status(lk_latch_wait_async(latch, wait_ms, options, call_on_done, c),
                  LK_OK);
}

/* ---- each of them ---- */

/* A call that has begun ends so, and once. */
static void
ends(call *c, lk_client *client, lk_status begun, lk_status expected)
{
    assert_status(begun, LK_OK);
    assert_status(call_wait(c, client), expected);
    assert_int_equal(atomic_load(&c->ends), 1);
}

static void counts_by_async_calls(lk_client *client, lk_latch *latch)
{
    call c[5] = {{0}};
    counting counted = {{0}, 0};

    ends(&c[0], client,
         lk_latch_count_down_async(latch, 1, call_on_done, &c[0]), LK_EUNSET);
    ends(&c[1], client,
         lk_latch_try_set_count_async(latch, 2, call_on_done, &c[1]), LK_OK);
    ends(&c[2], client,
         lk_latch_try_set_count_async(latch, 2, call_on_done, &c[2]),
         LK_EALREADY);
    ends(&c[3], client,
         lk_latch_count_down_async(latch, 1, call_on_done, &c[3]), LK_OK);
    ends(&c[4], client,
         lk_latch_wait_async(latch, 0, NULL, call_on_done, &c[4]), LK_EBUSY);
    ends(&counted.call, client, lk_latch_count_async(latch, on_count, &counted),
         LK_OK);
    assert_int_equal(counted.count, 1);
}

/* One is left to count. */
static void meets_by_async_calls(lk_client *client, lk_latch *latch)
{
    call c[6] = {{0}};

    ends(&c[0], client,
         lk_latch_arrive_async(latch, 3, "m", call_on_done, &c[0]),
         LK_EMISMATCH);
    ends(&c[1], client, lk_latch_leave_async(latch, "m", call_on_locked, &c[1]),
         LK_OK);
    assert_false(c[1].locked);
    ends(&c[2], client,
         lk_latch_arrive_async(latch, 2, "m", call_on_done, &c[2]), LK_OK);
    ends(&c[3], client,
         lk_latch_wait_async(latch, LK_FOREVER, NULL, call_on_done, &c[3]),
         LK_OK);
    ends(&c[4], client, lk_latch_leave_async(latch, "m", call_on_locked, &c[4]),
         LK_OK);
    assert_true(c[4].locked);
    ends(&c[5], client, lk_latch_info_async(latch, call_on_info, &c[5]), LK_OK);
    assert_int_equal(c[5].info->holder_count, 1);
    lk_info_free(c[5].info);
}

static void ends_by_async_calls(lk_client *client, lk_latch *latch)
{
    call c[3] = {{0}};

    ends(&c[0], client, lk_latch_reset_async(latch, 1, call_on_done, &c[0]),
         LK_OK);
    ends(&c[1], client, lk_latch_delete_async(latch, call_on_done, &c[1]),
         LK_OK);
    ends(&c[2], client, lk_latch_delete_async(latch, call_on_done, &c[2]),
         LK_EUNSET);
}

LOCKS_TEST(each_call_has_an_async_twin)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_latch *latch = locking_of(f, lk_latch, client);

        counts_by_async_calls(client, latch);
        meets_by_async_calls(client, latch);
        ends_by_async_calls(client, latch);
    }
}

/* ---- waits ---- */

/* One opens for all; each is told once. */
LOCKS_TEST(many_waits_end_together)
{
    enum { WAITS = 1000, CALLS = 5 };
    static call calls[WAITS];
    lk_latch *latch = locking_new(f, lk_latch);

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_latch *other = locking_of(f, lk_latch, client);

        memset(calls, 0, sizeof(calls));
        assert_status(lk_latch_reset(latch, CALLS), LK_OK);
        for (int i = 0; i < WAITS; i++)
            begin_wait(other, LK_FOREVER, NULL, &calls[i]);
        latching_wait_listed(f, 1);
        for (int i = 0; i < CALLS; i++)
            latching_down(latch, 1);
        for (int i = 0; i < WAITS; i++)
            assert_status(call_wait(&calls[i], client), LK_OK);
        for (int i = 0; i < WAITS; i++)
            assert_int_equal(atomic_load(&calls[i].ends), 1);
        assert_int_equal(locking_stats(client).waiting, 0);
    }
}

/* ---- the end of the client ---- */

LOCKS_TEST(the_shutdown_ends_every_call_once)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_latch *latch = locking_of(f, lk_latch, client);
        call waits[10] = {0}, down = {0};

        for (int i = 0; i < 10; i++)
            begin_wait(latch, LK_FOREVER, NULL, &waits[i]);
        latching_wait_listed(f, 1);
        assert_status(lk_latch_count_down_async(latch, 1, call_on_done, &down),
                      LK_OK);
        assert_status(lk_client_shutdown(client, 60000), LK_OK);
        for (int i = 0; i < 10; i++)
            assert_status(call_wait(&waits[i], client), LK_ECLOSED);
        (void)call_wait(&down, client);
        assert_int_equal(atomic_load(&down.ends), 1);
        assert_status(lk_latch_wait_async(latch, 0, NULL, call_on_done, &down),
                      LK_ECLOSED);
        freeReplyObject(server_command(f->server, "FLUSHALL"));
    }
}

static void free_all(call *c)
{
    lk_latch **latch = c->data;

    lk_latch_free(*latch);
    *latch = NULL;
}

/* The handle may go in the callback of its own call. */
LOCKS_TEST(a_callback_may_free_the_latch)
{
    lk_client *client = locking_open(f, NULL);
    lk_latch *latch;
    call c = {.act = free_all, .data = &latch};

    assert_status(lk_latch_new(&latch, client, "n", NULL), LK_OK);
    assert_status(lk_latch_reset_async(latch, 1, call_on_done, &c), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_null(latch);
    assert_status(lk_latch_new(&latch, client, "n", NULL), LK_OK);
    c = (call){.act = free_all, .data = &latch};
    assert_status(lk_latch_wait_async(latch, 0, NULL, call_on_done, &c), LK_OK);
    assert_status(call_wait(&c, NULL), LK_EBUSY);
    assert_null(latch);
}

/* Waits again in the callback, until it has done so often enough. */
typedef struct chain {
    call call; /* first */
    lk_latch *latch;
    int left;
} chain;

static void go_on(call *c)
{
    chain *ch = (chain *)(void *)c;

    if (--ch->left == 0)
        return;
    assert_status(lk_latch_wait_async(ch->latch, LK_FOREVER, NULL, call_on_done,
                                      c),
                  LK_OK);
}

LOCKS_TEST(a_callback_may_wait_again)
{
    enum { TIMES = 100 };
    lk_latch *latch = locking_new(f, lk_latch);
    chain ch = {.call = {.act = go_on}, .latch = latch, .left = TIMES};

    assert_status(lk_latch_arrive(latch, 1, "m"), LK_OK);
    begin_wait(latch, LK_FOREVER, NULL, &ch.call);
    call_wait_count(&ch.call.ends, TIMES, NULL);
    assert_status(ch.call.status, LK_OK);
}

int test_latch_async(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
