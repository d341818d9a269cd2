/* SPDX-License-Identifier: MIT */

/*
 * Every primitive without blocking, on the loop and where the test dispatches: each
 * call ends once, in its time and on the right thread, whatever ends meanwhile.
 */

#include <poll.h>

#include "support/async.h"
#include "support/check.h"
#include "support/wait.h"

/* ---- each call ------------------------------------------------------------------- */

static bool is_mine(const call *c)
{
    return pthread_equal(c->thread, pthread_self()) != 0;
}

/* The party has shut the name. In an order in which each can be made. */
typedef lk_status beginner(party *p, lk_done_cb cb, call *c);

static lk_status begin_acquire(party *p, lk_done_cb cb, call *c)
{
    (void)cb;
    return p->stand->kind->acquire_async(p->handle, 0, NULL, call_on_acquire,
                                         c);
}

static lk_status begin_force(party *p, lk_done_cb cb, call *c)
{
    return p->stand->kind->force_async(p->handle, NULL, cb, c);
}

static bool asks(const kind *k)
{
    return k->ask != NULL;
}

static bool has_info(const kind *k)
{
    return k->info != NULL;
}

static bool has_force(const kind *k)
{
    return k->force != NULL;
}

static const struct {
    beginner *begin;
    bool (*is_for)(const kind *k);
    lk_status end;
} all[] = {
    {async_begin_ready, NULL, LK_OK},
    {begin_acquire, NULL, LK_EBUSY},
    {async_begin_extend, stand_is_held, LK_OK},
    {async_begin_ask, asks, LK_OK},
    {async_begin_info, has_info, LK_OK},
    {async_begin_open, NULL, LK_OK},
    {begin_force, has_force, LK_ENOTHELD},
    {async_begin_shutdown, NULL, LK_OK},
};

enum { CALLS = sizeof(all) / sizeof(all[0]) };

static bool is_for(size_t i, const party *p)
{
    return all[i].is_for == NULL || all[i].is_for(p->stand->kind);
}

static void each_call_ends_once_on_the_right_thread(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        call calls[CALLS] = {{0}};

        party_shut(p);
        for (size_t i = 0; i < CALLS; i++) {
            if (!is_for(i, p))
                continue;
            assert_status(all[i].begin(p, call_on_done, &calls[i]), LK_OK);
            assert_status(async_end_of(p, &calls[i]), all[i].end);
            assert_int_equal(is_mine(&calls[i]), mode == ASYNC_DISPATCH);
            lk_info_free(calls[i].info);
        }
        party_end(p);
        for (size_t i = 0; i < CALLS; i++)
            assert_int_equal(atomic_load(&calls[i].ends),
                             calls[i].thread != 0 ? 1 : 0);
    }
    stand_is_clean(s);
}

static bool all_are_over(void *data)
{
    call *calls = data;

    for (size_t i = 0; i < CALLS; i++)
        if (calls[i].data != NULL && !async_is_over(&calls[i]))
            return false;
    return true;
}

/* A call that has begun has data. */
static void begin_all(party *p, call *calls)
{
    for (size_t i = 0; i < CALLS; i++) {
        if (!is_for(i, p))
            continue;
        calls[i].data = p;
        assert_status(all[i].begin(p, call_on_done, &calls[i]), LK_OK);
    }
}

static void each_has_ended_once(call *calls)
{
    for (size_t i = 0; i < CALLS; i++) {
        assert_int_equal(atomic_load(&calls[i].ends),
                         calls[i].data != NULL ? 1 : 0);
        (void)lk_hold_release(calls[i].hold);
        lk_info_free(calls[i].info);
    }
}

static void calls_made_at_once_end_once(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        call calls[CALLS] = {{0}};

        party_shut(p);
        begin_all(p, calls);
        async_comes_to(p, all_are_over, calls);
        party_end(p);
        each_has_ended_once(calls);
        stand_flush(s);
    }
}

static void a_client_that_is_freed_ends_what_is_under_way_once(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        call calls[CALLS] = {{0}};

        party_shut(p);
        begin_all(p, calls);
        async_free_clients(p);
        async_comes_to(NULL, all_are_over, calls);
        party_end(p);
        each_has_ended_once(calls);
        stand_flush(s);
    }
}

static bool is_readable(int fd, unsigned ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, (int)ms) == 1;
}

static void nothing_ends_before_the_dispatch(stand *s)
{
    party *p = async_party(s, ASYNC_DISPATCH);
    int fd = lk_client_fd(p->site.clients[0]);
    call c = {0};

    party_shut(p);
    party_open(p);
    async_begin(p, STAND_MS, NULL, &c);
    assert_true(is_readable(fd, wait_scaled_ms(STAND_MS)));
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_status(async_end_of(p, &c), LK_OK);
    async_ends_once(&c);
    async_give_back(p, &c);
    stand_is_clean(s);
}

/* ---- what ends meanwhile ------------------------------------------------------------- */

static void a_handle_may_be_freed_before_its_calls_have_ended(stand *s)
{
    party *near = party_near(s, NULL);

    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        call wait = {0}, info = {0};

        party_shut(near);
        async_begin(p, LK_FOREVER, NULL, &wait);
        if (s->kind->info != NULL)
            assert_status(async_begin_info(p, NULL, &info), LK_OK);
        async_free_handle(p);
        if (s->kind->info != NULL)
            assert_status(async_end_of(p, &info), LK_OK);
        lk_info_free(info.info);
        party_open(near);
        assert_status(async_end_of(p, &wait), LK_OK);
        async_make_again(p);
        async_give_back(p, &wait);
        party_end(p);
    }
    stand_is_clean(s);
}

static void a_hold_outlives_its_handle_and_its_client(stand *s)
{
    party *p = party_near(s, NULL);
    lk_hold *hold;

    party_acquire(p);
    async_free_handle(p);
    party_assert_in(p);
    hold = p->hold;
    p->hold = NULL;
    async_free_clients(p);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_CLOSED);
    (void)lk_hold_release(hold);
    party_end(p);
    stand_flush(s); /* what nobody gave back stays for its lease */
}

static void a_hold_may_be_released_while_it_is_extended(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        call extended = {0}, released = {0};

        party_acquire(p);
        assert_status(async_begin_extend(p, call_on_done, &extended), LK_OK);
        assert_status(s->kind->release_async(p->handle, p->hold, call_on_done,
                                             &released),
                      LK_OK);
        p->hold = NULL;
        assert_status(async_end_of(p, &released), LK_OK);
        (void)async_end_of(p, &extended);
        assert_true(extended.status == LK_OK || extended.status == LK_ELOST);
        party_end(p);
    }
    stand_is_clean(s);
}

static void nobody_need_know_of_a_release(stand *s)
{
    party *p = party_near(s, NULL), *next = party_near(s, NULL);
    lk_hold *hold;

    party_acquire(p);
    hold = p->hold;
    p->hold = NULL;
    assert_status(s->kind->release_async(p->handle, hold, NULL, NULL), LK_OK);
    party_shut(next);
    party_open(next);
    stand_is_clean(s);
}

/* What is told of a loss. */
typedef struct loss {
    party *party;
    atomic_int tells;
    lk_status released;
} loss;

static void release_when_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    loss *l = data;

    (void)remaining_ms;
    l->released = l->party->stand->kind->release(l->party->handle, hold);
    (void)atomic_fetch_add(&l->tells, 1);
}

static bool is_told(void *data)
{
    return atomic_load(&((loss *)data)->tells) > 0;
}

static void a_hold_may_be_released_when_it_is_told_lost(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        loss l = {.party = p};
        lk_status begun;
        call c = {0};

        party_acquire(p);
        assert_status(lk_hold_on_lost(p->hold, 0, release_when_lost, &l),
                      LK_OK);
        stand_flush(s);
        begun = async_begin_extend(p, call_on_done, &c);
        if (begun != LK_ELOST) /* a renewal has found it already */
            assert_status(begun, LK_OK);
        async_comes_to(p, is_told, &l);
        p->hold = NULL;
        assert_status(l.released, LK_ELOST);
        if (begun == LK_OK &&
            async_end_of(p, &c) !=
                LK_EPENDING) /* its handle ended before the reply */
            assert_status(c.status, LK_ELOST);
        party_end(p);
        assert_int_equal(atomic_load(&l.tells), 1);
    }
    stand_is_clean(s);
}

/* ---- owners ------------------------------------------------------------------------- */

static bool reenters(const kind *k)
{
    return k->reenters && k->room == 1;
}

static void only_an_owner_that_is_named_enters_again(stand *s)
{
    party *p = party_near(s, NULL);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call first = {0}, again = {0}, other = {0};

    assert_status(lk_owner_new(&options.owner, p->site.clients[0]), LK_OK);
    async_begin(p, STAND_MS, &options, &first);
    assert_status(async_end_of(p, &first), LK_OK);
    async_begin(p, 0, &options, &again);
    assert_status(async_end_of(p, &again), LK_OK);
    assert_true(lk_hold_fence(first.hold) == lk_hold_fence(again.hold));
    async_begin(p, 0, NULL, &other);
    assert_status(async_end_of(p, &other), LK_EBUSY);
    async_give_back(p, &first);
    assert_status(lk_hold_check(again.hold), LK_OK);
    async_give_back(p, &again);
    lk_owner_free(options.owner);
    stand_is_clean(s);
}

int test_async(void)
{
    const stand_test tests[] = {
        STAND_TEST(each_call_ends_once_on_the_right_thread, NULL),
        STAND_TEST(calls_made_at_once_end_once, NULL),
        STAND_TEST(a_client_that_is_freed_ends_what_is_under_way_once,
                   async_is_alone),
        STAND_TEST(nothing_ends_before_the_dispatch, async_is_alone),
        STAND_TEST(a_handle_may_be_freed_before_its_calls_have_ended,
                   async_is_whole),
        STAND_TEST(a_hold_outlives_its_handle_and_its_client, stand_is_held),
        STAND_TEST(a_hold_may_be_released_while_it_is_extended, stand_is_held),
        STAND_TEST(nobody_need_know_of_a_release, stand_is_held),
        STAND_TEST(a_hold_may_be_released_when_it_is_told_lost, stand_is_held),
        STAND_TEST(only_an_owner_that_is_named_enters_again, reenters),
    };

    return stand_run("async", tests, sizeof(tests) / sizeof(tests[0]));
}
