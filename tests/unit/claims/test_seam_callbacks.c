/* SPDX-License-Identifier: MIT */

/* What callbacks ask for, when many of them are due: on a virtual clock. */

#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

enum { COUNT = 40, AT_ONCE = 32 };

typedef struct asker {
    played *p;
    call again;
} asker;

static void ask(lk_status status, bool locked, void *data)
{
    asker *a = data;

    (void)status;
    (void)locked;
    assert_status(lk_lock_is_locked_async(a->p->lock, call_on_locked,
                                          &a->again),
                  LK_OK);
}

/* The last of them has nobody behind it, and sends for all that are left. */
CHECK_TEST(many_send_together)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    played *p = played_new(1, &options);
    asker askers[COUNT];
    uint64_t writes;

    for (int i = 0; i < COUNT; i++) {
        askers[i] = (asker){.p = p};
        assert_status(lk_lock_is_locked_async(p->lock, ask, &askers[i]), LK_OK);
    }
    played_run_ms(p, 20);
    writes = played_stats(p).writes;
    assert_status(lk_client_dispatch(p->client), LK_OK);
    assert_int_equal(played_stats(p).writes - writes,
                     (COUNT + AT_ONCE - 1) / AT_ONCE);
    played_run_ms(p, 20);
    assert_status(lk_client_dispatch(p->client), LK_OK);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(atomic_load(&askers[i].again.ends), 1);
    played_free(p);
}

CHECK_TEST(one_alone_sends_at_once)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    played *p = played_new(1, &options);
    asker a = {.p = p};
    uint64_t writes;

    assert_status(lk_lock_is_locked_async(p->lock, ask, &a), LK_OK);
    played_run_ms(p, 20);
    writes = played_stats(p).writes;
    assert_status(lk_client_dispatch(p->client), LK_OK);
    assert_int_equal(played_stats(p).writes - writes, 1);
    played_run_ms(p, 20);
    assert_status(lk_client_dispatch(p->client), LK_OK);
    assert_int_equal(atomic_load(&a.again.ends), 1);
    played_free(p);
}

static played *noted;

static void take_long(lk_status status, bool locked, void *data)
{
    const asker *a = data;

    (void)status;
    (void)locked;
    fake_world_freeze(a->p->world, 2 * FAKE_MS);
}

static void note_writes(lk_status status, bool locked, void *data)
{
    uint64_t *writes = data;

    (void)status;
    (void)locked;
    *writes = played_stats(noted).writes;
}

/* What the first asks for is on its way before the third runs. */
CHECK_TEST(one_that_takes_long_keeps_nothing_back_any_longer)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    played *p = played_new(1, &options);
    asker a = {.p = p}, slow = {.p = p};
    uint64_t before, after = 0;

    noted = p;
    assert_status(lk_lock_is_locked_async(p->lock, ask, &a), LK_OK);
    assert_status(lk_lock_is_locked_async(p->lock, take_long, &slow), LK_OK);
    assert_status(lk_lock_is_locked_async(p->lock, note_writes, &after), LK_OK);
    played_run_ms(p, 20);
    before = played_stats(p).writes;
    assert_status(lk_client_dispatch(p->client), LK_OK);
    assert_int_equal(after - before, 1);
    played_run_ms(p, 20);
    assert_status(lk_client_dispatch(p->client), LK_OK);
    assert_int_equal(atomic_load(&a.again.ends), 1);
    played_free(p);
}

static int ended(const call *calls)
{
    int count = 0;

    for (int i = 0; i < COUNT; i++)
        count += atomic_load(&calls[i].ends);
    return count;
}

/* What has come meanwhile is looked at in between. */
CHECK_TEST(the_loop_runs_no_more_than_so_many_at_once)
{
    played *p = played_new(1, NULL);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_cancel *cancel;
    call calls[COUNT] = {{.ends = 0}};

    assert_status(lk_cancel_new(&cancel, p->client), LK_OK);
    options.cancel = cancel;
    p->is_held = true;
    for (int i = 0; i < COUNT; i++)
        assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, &options,
                                            call_on_acquire, &calls[i]),
                      LK_OK);
    played_run_ms(p, 20);
    lk_cancel_fire(cancel);
    while (ended(calls) == 0)
        assert_true(fake_world_step(p->world));
    assert_int_equal(ended(calls), AT_ONCE);
    played_run_ms(p, 1);
    assert_int_equal(ended(calls), COUNT);
    lk_cancel_free(cancel);
    played_free(p);
}
