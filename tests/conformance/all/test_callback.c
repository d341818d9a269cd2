/* SPDX-License-Identifier: MIT */

/*
 * What may be done within a callback of every primitive, on the loop and where the
 * test dispatches: all but wait.
 */

#include "support/async.h"
#include "support/check.h"
#include "support/descriptors.h"

static bool is_whole_and_alone(const kind *k)
{
    return async_is_whole(k) && async_is_alone(k);
}

/* What is done there, and what comes of it. */
typedef struct scene {
    party *party;
    lk_cancel *cancel;
    call first, second, third, fourth;
    lk_status begun[4];
    int ends_on_return;
} scene;

static void scene_begin(scene *sc, party *p, void (*act)(call *c))
{
    *sc = (scene){.party = p};
    sc->first.act = act;
    sc->first.data = sc;
    async_begin(p, STAND_MS, NULL, &sc->first);
}

static lk_status release_in(scene *sc, lk_hold *hold, call *c)
{
    const kind *k = sc->party->stand->kind;

    if (k->release_async != NULL)
        return k->release_async(sc->party->handle, hold, call_on_done, c);
    call_on_done(LK_OK, c);
    return LK_OK;
}

static lk_status
acquire_in(scene *sc, const lk_acquire_options *options, call *c)
{
    return sc->party->stand->kind->acquire_async(sc->party->handle, LK_FOREVER,
                                                 options, call_on_acquire, c);
}

static void acquire_and_release(call *c)
{
    scene *sc = c->data;

    sc->begun[0] = acquire_in(sc, NULL, &sc->second);
    sc->ends_on_return = atomic_load(&sc->second.ends);
    sc->begun[1] = release_in(sc, c->hold, &sc->third);
}

/* And what it begins ends after it has returned. */
static void it_may_acquire_again_and_release(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        scene sc;

        party_shut(p);
        party_open(p);
        scene_begin(&sc, p, acquire_and_release);
        assert_status(async_end_of(p, &sc.first), LK_OK);
        assert_status(async_end_of(p, &sc.second), LK_OK);
        assert_status(async_end_of(p, &sc.third), LK_OK);
        assert_int_equal(sc.ends_on_return, 0);
        async_give_back(p, &sc.second);
        party_end(p);
        async_ends_once(&sc.first);
        async_ends_once(&sc.second);
        async_ends_once(&sc.third);
    }
    stand_is_clean(s);
}

static void ask_everything(call *c)
{
    scene *sc = c->data;
    party *p = sc->party;

    if (p->stand->kind->info != NULL)
        sc->begun[0] = async_begin_info(p, NULL, &sc->second);
    if (p->stand->kind->ask != NULL)
        sc->begun[1] = async_begin_ask(p, call_on_done, &sc->third);
    if (p->stand->kind->has_hold)
        sc->begun[2] = lk_hold_extend_async(c->hold, p->site.lease_ms,
                                            call_on_done, &sc->fourth);
}

static void it_may_ask(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        scene sc;

        party_shut(p);
        party_open(p);
        scene_begin(&sc, p, ask_everything);
        assert_status(async_end_of(p, &sc.first), LK_OK);
        if (s->kind->info != NULL)
            assert_status(async_end_of(p, &sc.second), LK_OK);
        if (s->kind->ask != NULL)
            assert_status(async_end_of(p, &sc.third), LK_OK);
        if (s->kind->has_hold)
            assert_status(async_end_of(p, &sc.fourth), LK_OK);
        if (s->kind->has_hold && s->kind->info != NULL)
            assert_int_equal(sc.second.info->holder_count, 1);
        lk_info_free(sc.second.info);
        async_give_back(p, &sc.first);
        party_end(p);
    }
    stand_is_clean(s);
}

static void release_plainly(call *c)
{
    scene *sc = c->data;

    sc->begun[0] = sc->party->stand->kind->release(sc->party->handle, c->hold);
}

static void a_plain_release_there_does_not_wait(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        scene sc;

        scene_begin(&sc, p, release_plainly);
        assert_status(async_end_of(p, &sc.first), LK_OK);
        assert_status(sc.begun[0], LK_EPENDING);
        party_end(p);
        stand_is_clean(s);
    }
}

static void cancel_the_next(call *c)
{
    scene *sc = c->data;
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .cancel = sc->cancel};

    sc->begun[0] = acquire_in(sc, &options, &sc->second);
    lk_cancel_fire(sc->cancel);
}

static void it_may_cancel(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        lk_cancel *cancel = NULL;
        scene sc = {.party = p, .first = {.act = cancel_the_next, .data = &sc}};

        party_shut(p);
        party_open(p);
        assert_status(lk_cancel_new(&cancel, p->site.clients[0]), LK_OK);
        sc.cancel = cancel;
        async_begin(p, STAND_MS, NULL, &sc.first);
        assert_status(async_end_of(p, &sc.first), LK_OK);
        if (async_end_of(p, &sc.second) != LK_OK || s->kind->room == 1)
            assert_status(sc.second.status, LK_ECANCELED);
        async_give_back(p, &sc.second);
        async_give_back(p, &sc.first);
        lk_cancel_free(cancel);
        party_end(p);
    }
    stand_is_clean(s);
}

static void free_the_handle(call *c)
{
    async_free_handle(((scene *)c->data)->party);
}

static void it_may_free_the_handle(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        scene sc;

        party_shut(p);
        party_open(p);
        scene_begin(&sc, p, free_the_handle);
        assert_status(async_end_of(p, &sc.first), LK_OK);
        if (s->kind->has_hold)
            assert_status(lk_hold_check(sc.first.hold), LK_OK);
        async_make_again(p);
        async_give_back(p, &sc.first);
        party_end(p);
    }
    stand_is_clean(s);
}

/* A client that goes in its own callback is not dispatched any more. */
static void run_out(party *p, lk_client *client, call *c, uint64_t mode)
{
    while (mode == ASYNC_DISPATCH && p->site.clients[0] != NULL &&
           atomic_load(&c->ends) == 0)
        assert_status(lk_client_dispatch(client), LK_OK);
    async_comes_to(NULL, async_is_over, c);
}

static void end_everything(call *c)
{
    scene *sc = c->data;
    party *p = sc->party;

    sc->begun[0] = acquire_in(sc, NULL, &sc->second);
    sc->begun[1] = release_in(sc, c->hold, &sc->third);
    async_free_handle(p);
    sc->begun[2] = async_begin_shutdown(p, call_on_done, &sc->fourth);
    async_free_clients(p);
}

static bool is_told_of_an_end(lk_status status)
{
    return status == LK_OK || status == LK_EPENDING || status == LK_ETIMEDOUT ||
           status == LK_ECLOSED;
}

static void it_may_acquire_release_shut_down_and_free_in_one_go(stand *s)
{
    int before = descriptors_count();

    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        lk_client *client = p->site.clients[0];
        scene sc;

        party_shut(p);
        party_open(p);
        scene_begin(&sc, p, end_everything);
        run_out(p, client, &sc.first, mode);
        run_out(p, client, &sc.second, mode);
        run_out(p, client, &sc.third, mode);
        run_out(p, client, &sc.fourth, mode);
        assert_status(sc.first.status, LK_OK);
        for (size_t i = 0; i < 3; i++)
            assert_status(sc.begun[i], LK_OK);
        assert_true(is_told_of_an_end(sc.second.status));
        assert_true(is_told_of_an_end(sc.third.status));
        assert_true(is_told_of_an_end(sc.fourth.status));
        (void)lk_hold_release(sc.second.hold);
        party_end(p);
        async_ends_once(&sc.first);
        async_ends_once(&sc.second);
        async_ends_once(&sc.third);
        async_ends_once(&sc.fourth);
        stand_flush(s);
    }
    assert_true(descriptors_fall_to(before));
}

/* Each callback makes the next call; the last one frees the client. */
static void chain_end(call *c)
{
    scene *sc = c->data;

    async_free_handle(sc->party);
    async_free_clients(sc->party);
}

static void chain_shutdown(call *c)
{
    scene *sc = c->data;

    sc->begun[2] = async_begin_shutdown(sc->party, call_on_done, &sc->fourth);
}

static void chain_release(call *c)
{
    scene *sc = c->data;

    sc->begun[1] = release_in(sc, c->hold, &sc->third);
}

static void chain_acquire(call *c)
{
    scene *sc = c->data;

    sc->begun[0] = acquire_in(sc, NULL, &sc->second);
}

static void a_life_may_pass_in_callbacks_alone(stand *s)
{
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        lk_client *client = p->site.clients[0];
        scene sc = {.party = p,
                    .first = {.act = chain_acquire, .data = &sc},
                    .second = {.act = chain_release, .data = &sc},
                    .third = {.act = chain_shutdown, .data = &sc},
                    .fourth = {.act = chain_end, .data = &sc}};

        party_shut(p);
        party_open(p);
        assert_status(async_begin_ready(p, call_on_done, &sc.first), LK_OK);
        run_out(p, client, &sc.fourth, mode);
        assert_status(sc.first.status, LK_OK);
        assert_status(sc.second.status, LK_OK);
        assert_status(sc.third.status, LK_OK);
        assert_status(sc.fourth.status, LK_OK);
        party_end(p);
    }
    stand_is_clean(s);
}

int test_callback(void)
{
    const stand_test tests[] = {
        STAND_TEST(it_may_acquire_again_and_release, NULL),
        STAND_TEST(it_may_ask, NULL),
        STAND_TEST(a_plain_release_there_does_not_wait, stand_is_held),
        STAND_TEST(it_may_cancel, NULL),
        STAND_TEST(it_may_free_the_handle, async_is_whole),
        STAND_TEST(it_may_acquire_release_shut_down_and_free_in_one_go,
                   is_whole_and_alone),
        STAND_TEST(a_life_may_pass_in_callbacks_alone, is_whole_and_alone),
    };

    return stand_run("callback", tests, sizeof(tests) / sizeof(tests[0]));
}
