/* SPDX-License-Identifier: MIT */

/* The latch's async calls, on the loop and in dispatch: each ends once. */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/latching.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

static lk_client *open_mode(latching *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return latching_open(f, &options);
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

LATCHING_TEST(each_call_has_an_async_twin)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_latch *latch = latching_latch_for(f, client, 0);

        counts_by_async_calls(client, latch);
        meets_by_async_calls(client, latch);
        ends_by_async_calls(client, latch);
    }
}

/* ---- waits ---- */

/* One opens for all; each is told once. */
LATCHING_TEST(many_waits_end_together)
{
    enum { WAITS = 1000, CALLS = 5 };
    static call calls[WAITS];
    lk_latch *latch = latching_latch(f);

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_latch *other = latching_latch_for(f, client, 0);

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
        assert_int_equal(latching_stats(client).waiting, 0);
    }
}

LATCHING_TEST(a_wait_ends_by_its_time)
{
    latching_arm(latching_latch(f), 1);
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        const unsigned limit = wait_scaled_ms(150);
        uint64_t began = wait_now_ms();
        call c = {0};

        begin_wait(latching_latch_for(f, client, 0), limit, NULL, &c);
        assert_status(call_wait(&c, client), LK_ETIMEDOUT);
        assert_in_range(wait_now_ms() - began, limit,
                        wait_allowed_ms(limit + wait_scaled_ms(400)));
    }
    latching_wait_listed(f, 0);
}

LATCHING_TEST(a_token_ends_the_waits_that_name_it)
{
    lk_latch *latch = latching_latch(f);

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_latch *other = latching_latch_for(f, client, 0);
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
        call named = {0}, after = {0}, unnamed = {0};

        assert_status(lk_latch_reset(latch, 1), LK_OK);
        assert_status(lk_cancel_new(&options.cancel, client), LK_OK);
        begin_wait(other, LK_FOREVER, &options, &named);
        begin_wait(other, LK_FOREVER, NULL, &unnamed);
        latching_wait_listed(f, 1);
        lk_cancel_fire(options.cancel);
        assert_status(call_wait(&named, client), LK_ECANCELED);
        begin_wait(other, LK_FOREVER, &options, &after);
        assert_status(call_wait(&after, client), LK_ECANCELED);
        assert_int_equal(atomic_load(&unnamed.ends), 0);
        latching_down(latch, 1);
        assert_status(call_wait(&unnamed, client), LK_OK);
        lk_cancel_free(options.cancel);
    }
}

LATCHING_TEST(a_blocking_wait_can_be_canceled)
{
    lk_latch *latch = latching_latch(f);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    waiter *w;

    assert_status(lk_cancel_new(&options.cancel, latching_client(f, 0)), LK_OK);
    latching_arm(latch, 1);
    w = latching_wait(f, latch, LK_FOREVER, &options);
    latching_wait_listed(f, 1);
    lk_cancel_fire(options.cancel);
    assert_status(waiter_status(w), LK_ECANCELED);
    latching_wait_listed(f, 0);
    lk_cancel_free(options.cancel);
}

LATCHING_TEST(the_callback_finds_the_words_of_the_server)
{
    lk_latch *latch = latching_latch(f);
    call wait = {0}, down = {0};

    freeReplyObject(server_command(f->server, "SET n text"));
    begin_wait(latch, LK_FOREVER, NULL, &wait);
    assert_status(call_wait(&wait, NULL), LK_ETYPE);
    assert_non_null(strstr(wait.words, "the key is not a count"));
    assert_status(lk_latch_count_down_async(latch, 1, call_on_done, &down),
                  LK_OK);
    assert_status(call_wait(&down, NULL), LK_ETYPE);
    assert_non_null(strstr(down.words, "the key is not a count"));
}

/* ---- the end of the client ---- */

LATCHING_TEST(the_shutdown_ends_every_call_once)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_latch *latch = latching_latch_for(f, client, 0);
        call waits[10] = {0}, down = {0};

        for (int i = 0; i < 10; i++)
            begin_wait(latch, LK_FOREVER, NULL, &waits[i]);
        latching_wait_listed(f, 1);
        assert_status(lk_latch_count_down_async(latch, 1, call_on_done, &down),
                      LK_OK);
        assert_status(lk_client_shutdown(client, 1000), LK_OK);
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
LATCHING_TEST(a_callback_may_free_the_latch)
{
    lk_client *client = latching_open(f, NULL);
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

/* The handle may go while its calls are under way. */
LATCHING_TEST(a_call_outlives_its_handle)
{
    lk_client *client = latching_open(f, NULL);
    lk_latch *latch;
    call down = {0}, wait = {0};

    latching_arm(latching_latch(f), 1);
    assert_status(lk_latch_new(&latch, client, "n", NULL), LK_OK);
    begin_wait(latch, LK_FOREVER, NULL, &wait);
    assert_status(lk_latch_count_down_async(latch, 1, call_on_done, &down),
                  LK_OK);
    lk_latch_free(latch);
    assert_status(call_wait(&down, NULL), LK_OK);
    assert_status(call_wait(&wait, NULL), LK_OK);
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

LATCHING_TEST(a_callback_may_wait_again)
{
    enum { TIMES = 100 };
    lk_latch *latch = latching_latch(f);
    chain ch = {.call = {.act = go_on}, .latch = latch, .left = TIMES};

    assert_status(lk_latch_arrive(latch, 1, "m"), LK_OK);
    begin_wait(latch, LK_FOREVER, NULL, &ch.call);
    call_wait_count(&ch.call.ends, TIMES, NULL);
    assert_status(ch.call.status, LK_OK);
}

int main(void)
{
    return check_all(latching_start_server, latching_stop_server);
}
