/* SPDX-License-Identifier: MIT */

/*
 * Every primitive without blocking, on the loop and where the test dispatches: each
 * call ends once, in its time and on the right thread, whatever ends meanwhile; and a
 * callback may do all but wait.
 */

#include <poll.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/descriptors.h"
#include "support/stand.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };
enum { LIMIT_MS = 200, WAITS = 40, ROUNDS = 20 };

static party *party_in(stand *s, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return party_near(s, &options);
}

/* ---- calls ----------------------------------------------------------------------- */

static bool is_over(void *data)
{
    return atomic_load(&((call *)data)->ends) > 0;
}

typedef struct expected {
    party *party;
    bool (*is)(void *data);
    void *data;
} expected;

static bool comes(void *data)
{
    expected *e = data;

    if (e->party != NULL && !e->is(e->data))
        party_dispatch(e->party);
    return e->is(e->data);
}

/* The party dispatches meanwhile. NULL: there is nothing to dispatch any more. */
static void comes_to(party *p, bool (*is)(void *data), void *data)
{
    expected e = {p, is, data};

    assert_true(wait_until(comes, &e, STAND_MS));
}

static lk_status end_of(party *p, call *c)
{
    comes_to(p, is_over, c);
    return c->status;
}

static void
begin(party *p, int64_t wait_ms, const lk_acquire_options *options, call *c)
{
    assert_status(p->stand->kind->acquire_async(p->handle, wait_ms, options,
                                                call_on_acquire, c),
                  LK_OK);
}

static void ends_once(const call *c)
{
    assert_int_equal(atomic_load(&c->ends), 1);
}

/* With what it got, if it got something. */
static void give_back(party *p, call *c)
{
    if (c->status == LK_OK)
        assert_status(p->stand->kind->release(p->handle, c->hold), LK_OK);
}

static bool is_mine(const call *c)
{
    return pthread_equal(c->thread, pthread_self()) != 0;
}

/* ---- each call ------------------------------------------------------------------- */

/* The party has shut the name. In an order in which each can be made. */
typedef lk_status beginner(party *p, lk_done_cb cb, call *c);

static lk_status begin_ready(party *p, lk_done_cb cb, call *c)
{
    return lk_client_wait_ready_async(p->site.clients[0], STAND_MS, cb, c);
}

static lk_status begin_acquire(party *p, lk_done_cb cb, call *c)
{
    (void)cb;
    return p->stand->kind->acquire_async(p->handle, 0, NULL, call_on_acquire,
                                         c);
}

static lk_status begin_extend(party *p, lk_done_cb cb, call *c)
{
    return lk_hold_extend_async(p->hold, p->site.lease_ms, cb, c);
}

static lk_status begin_ask(party *p, lk_done_cb cb, call *c)
{
    return p->stand->kind->ask_async(p->handle, cb, c);
}

static lk_status begin_info(party *p, lk_done_cb cb, call *c)
{
    (void)cb;
    return p->stand->kind->info_async(p->handle, call_on_info, c);
}

static lk_status begin_open(party *p, lk_done_cb cb, call *c)
{
    lk_hold *hold = p->hold;

    p->hold = NULL;
    return p->stand->kind->open_async(p->handle, hold, cb, c);
}

static lk_status begin_force(party *p, lk_done_cb cb, call *c)
{
    return p->stand->kind->force_async(p->handle, NULL, cb, c);
}

static lk_status begin_shutdown(party *p, lk_done_cb cb, call *c)
{
    return lk_client_shutdown_async(p->site.clients[0], STAND_MS, cb, c);
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
    {begin_ready, NULL, LK_OK},
    {begin_acquire, NULL, LK_EBUSY},
    {begin_extend, stand_is_held, LK_OK},
    {begin_ask, asks, LK_OK},
    {begin_info, has_info, LK_OK},
    {begin_open, NULL, LK_OK},
    {begin_force, has_force, LK_ENOTHELD},
    {begin_shutdown, NULL, LK_OK},
};

enum { CALLS = sizeof(all) / sizeof(all[0]) };

static bool is_for(size_t i, const party *p)
{
    return all[i].is_for == NULL || all[i].is_for(p->stand->kind);
}

static void each_call_ends_once_on_the_right_thread(stand *s)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        call calls[CALLS] = {{0}};

        party_shut(p);
        for (size_t i = 0; i < CALLS; i++) {
            if (!is_for(i, p))
                continue;
            assert_status(all[i].begin(p, call_on_done, &calls[i]), LK_OK);
            assert_status(end_of(p, &calls[i]), all[i].end);
            assert_int_equal(is_mine(&calls[i]), mode == DISPATCH);
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
        if (calls[i].data != NULL && !is_over(&calls[i]))
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

static void free_clients(party *p)
{
    for (unsigned i = 0; i < p->stand->kind->servers; i++) {
        lk_client_free(p->site.clients[i]);
        p->site.clients[i] = NULL;
    }
}

static void calls_made_at_once_end_once(stand *s)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        call calls[CALLS] = {{0}};

        party_shut(p);
        begin_all(p, calls);
        comes_to(p, all_are_over, calls);
        party_end(p);
        each_has_ended_once(calls);
        stand_flush(s);
    }
}

static void a_client_that_is_freed_ends_what_is_under_way_once(stand *s)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        call calls[CALLS] = {{0}};

        party_shut(p);
        begin_all(p, calls);
        free_clients(p);
        comes_to(NULL, all_are_over, calls);
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

/* Calls on several clients go on being dispatched until they have ended. */
static bool is_alone(const kind *k)
{
    return k->acquire != NULL && k->servers == 1;
}

/* A multilock's members have to live longer than its calls. */
static bool is_whole(const kind *k)
{
    return k->acquire != NULL && k->history != HISTORY_MULTILOCK;
}

static bool is_whole_and_alone(const kind *k)
{
    return is_whole(k) && is_alone(k);
}

static void nothing_ends_before_the_dispatch(stand *s)
{
    party *p = party_in(s, DISPATCH);
    int fd = lk_client_fd(p->site.clients[0]);
    call c = {0};

    party_shut(p);
    party_open(p);
    begin(p, STAND_MS, NULL, &c);
    assert_true(is_readable(fd, wait_scaled_ms(STAND_MS)));
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_status(end_of(p, &c), LK_OK);
    ends_once(&c);
    give_back(p, &c);
    stand_is_clean(s);
}

/* ---- waits ----------------------------------------------------------------------- */

static void a_wait_ends_by_its_time(stand *s)
{
    party *near = party_near(s, NULL);

    party_shut(near);
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        const uint64_t limit = wait_limit_ms(LIMIT_MS);
        call c = {0}, busy = {0};
        uint64_t began = wait_now_ms();

        begin(p, (int64_t)limit, NULL, &c);
        if (end_of(p, &c) != LK_EINDOUBT ||
            s->kind->is_queued) /* it was just asking */
            assert_status(c.status, LK_ETIMEDOUT);
        assert_in_range(wait_now_ms() - began, limit,
                        wait_allowed_ms(limit +
                                        wait_scaled_ms(STAND_SLACK_MS)));
        begin(p, 0, NULL, &busy);
        assert_status(end_of(p, &busy), LK_EBUSY);
        assert_null(c.hold);
        assert_null(busy.hold);
        assert_true(c.words[0] != '\0' && busy.words[0] != '\0');
        party_end(p);
    }
    party_open(near);
    stand_is_clean(s);
}

/* A wait that blocks. */
typedef struct blocked {
    pthread_t thread;
    party *party;
    const lk_acquire_options *options;
    lk_status status;
} blocked;

static void *blocked_run(void *data)
{
    blocked *b = data;
    lk_hold *hold = NULL;

    b->status = b->party->stand->kind->acquire(b->party->handle, LK_FOREVER,
                                               b->options, &hold);
    return NULL;
}

/* No client counts the waits of a redlock. */
static bool is_waiting(void *data)
{
    const party *p = data;

    return p->stand->kind->servers > 1 || party_stats(p).waiting >= 3;
}

static void a_token_ends_the_waits_that_name_it(stand *s)
{
    party *near = party_near(s, NULL);

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
        call named = {0}, other = {0}, after = {0};
        blocked b = {.party = p, .options = &options};

        party_shut(near);
        assert_status(lk_cancel_new(&options.cancel, p->site.clients[0]),
                      LK_OK);
        begin(p, LK_FOREVER, &options, &named);
        begin(p, LK_FOREVER, NULL, &other);
        assert_int_equal(pthread_create(&b.thread, NULL, blocked_run, &b), 0);
        assert_true(wait_until(is_waiting, p, STAND_MS));
        lk_cancel_fire(options.cancel);
        assert_status(end_of(p, &named), LK_ECANCELED);
        assert_int_equal(pthread_join(b.thread, NULL), 0);
        assert_status(b.status, LK_ECANCELED);
        begin(p, LK_FOREVER, &options, &after);
        assert_status(end_of(p, &after), LK_ECANCELED);
        assert_int_equal(atomic_load(&other.ends), 0);
        party_open(near);
        assert_status(end_of(p, &other), LK_OK);
        give_back(p, &other);
        ends_once(&named);
        ends_once(&after);
        lk_cancel_free(options.cancel);
        party_end(p);
    }
    stand_is_clean(s);
}

/* Whichever comes first: nothing is lost, and nothing is had twice. */
static void a_grant_that_meets_a_cancel_is_not_lost(stand *s)
{
    party *near = party_near(s, NULL), *p = party_near(s, NULL);

    for (int i = 0; i < ROUNDS; i++) {
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
        call opened = {0};
        lk_status status;

        party_shut(near);
        assert_status(lk_cancel_new(&options.cancel, p->site.clients[0]),
                      LK_OK);
        party_begin(p, LK_FOREVER, &options);
        party_waits(p);
        assert_status(begin_open(near, call_on_done, &opened), LK_OK);
        if (i % 2 == 0)
            assert_status(end_of(near, &opened), LK_OK);
        lk_cancel_fire(options.cancel);
        status = party_ends(p);
        if (status == LK_OK)
            party_release(p);
        else
            assert_status(status, LK_ECANCELED);
        assert_status(end_of(near, &opened), LK_OK);
        lk_cancel_free(options.cancel);
    }
    stand_is_clean(s);
}

/* ---- many at once ------------------------------------------------------------------ */

typedef struct crowd {
    party *party;
    atomic_int ended, released;
    int failed, late, stale;
    uint64_t fences[WAITS];
    uint64_t fence;
    struct member {
        struct crowd *crowd;
        int number;
    } members[WAITS];
} crowd;

static void on_left(lk_status status, void *data)
{
    crowd *c = data;

    c->failed += status != LK_OK;
    (void)atomic_fetch_add(&c->released, 1);
}

/* Whoever is in leaves at once; the callbacks of a client come one by one. */
static void on_turn(lk_status status, lk_hold *hold, void *data)
{
    struct member *m = data;
    crowd *c = m->crowd;
    const kind *k = c->party->stand->kind;

    c->failed += status != LK_OK;
    c->late += m->number != atomic_load(&c->ended);
    if (k->is_fenced)
        c->stale += lk_hold_fence(hold) <= c->fence;
    c->fence = lk_hold_fence(hold);
    c->fences[m->number] = c->fence;
    if (k->release_async == NULL)
        on_left(LK_OK, c);
    else if (status == LK_OK)
        c->failed +=
            k->release_async(c->party->handle, hold, on_left, c) != LK_OK;
    (void)atomic_fetch_add(&c->ended, 1);
}

static bool all_have_left(void *data)
{
    return atomic_load(&((crowd *)data)->released) == WAITS;
}

/* What a client makes when it first waits is there. */
static void wait_once(party *p, party *near)
{
    call c = {0};

    party_shut(near);
    begin(p, LK_FOREVER, NULL, &c);
    party_open(near);
    assert_status(end_of(p, &c), LK_OK);
    give_back(p, &c);
}

/* Of those that stand in a queue, in the order of their calls; where several are in
   at once, their fences are. */
static void many_waits_of_one_client_come_in(stand *s)
{
    party *near = party_near(s, NULL);

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        crowd *c = calloc(1, sizeof(*c));

        assert_non_null(c);
        c->party = p;
        wait_once(p, near);
        party_shut(near);
        for (int i = 0; i < WAITS; i++) {
            c->members[i] = (struct member){c, i};
            assert_status(s->kind->acquire_async(p->handle, LK_FOREVER, NULL,
                                                 on_turn, &c->members[i]),
                          LK_OK);
        }
        assert_int_equal(atomic_load(&c->ended), 0);
        party_open(near);
        comes_to(p, all_have_left, c);
        assert_int_equal(atomic_load(&c->ended), WAITS);
        assert_int_equal(c->failed, 0);
        assert_int_equal(c->stale, 0);
        for (int i = 1; s->kind->is_fair && i < WAITS; i++)
            assert_true(c->fences[i] > c->fences[i - 1]);
        if (s->kind->is_queued && !s->kind->is_joint && s->kind->room == 1)
            assert_int_equal(c->late, 0);
        party_end(p);
        free(c);
    }
    stand_is_clean(s);
}

/* Notes how many of the waits had ended when the shutdown did. */
typedef struct closing {
    call waits[WAITS];
    call end;
    int ended_before;
} closing;

static void count_ended(call *c)
{
    closing *all_of_it = c->data;

    for (size_t i = 0; i < WAITS; i++)
        all_of_it->ended_before += atomic_load(&all_of_it->waits[i].ends);
}

static void a_shutdown_ends_every_wait_before_itself(stand *s)
{
    party *near = party_near(s, NULL);

    party_shut(near);
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        static closing c;

        c = (closing){.end = {.act = count_ended, .data = &c}};
        for (size_t i = 0; i < WAITS; i++)
            begin(p, LK_FOREVER, NULL, &c.waits[i]);
        assert_status(begin_shutdown(p, call_on_done, &c.end), LK_OK);
        assert_status(end_of(p, &c.end), LK_OK);
        assert_int_equal(c.ended_before, WAITS);
        for (size_t i = 0; i < WAITS; i++) {
            assert_status(end_of(p, &c.waits[i]), LK_ECLOSED);
            assert_null(c.waits[i].hold);
        }
        party_end(p);
        for (size_t i = 0; i < WAITS; i++)
            ends_once(&c.waits[i]);
        ends_once(&c.end);
    }
    party_open(near);
    stand_is_clean(s);
}

/* ---- what ends meanwhile ------------------------------------------------------------- */

static void free_handle(party *p)
{
    p->stand->kind->free(p->handle);
    p->handle = NULL;
}

static void make_again(party *p)
{
    assert_status(p->stand->kind->make(&p->handle, &p->site, STAND_NAME),
                  LK_OK);
}

static void a_handle_may_be_freed_before_its_calls_have_ended(stand *s)
{
    party *near = party_near(s, NULL);

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        call wait = {0}, info = {0};

        party_shut(near);
        begin(p, LK_FOREVER, NULL, &wait);
        if (s->kind->info != NULL)
            assert_status(begin_info(p, NULL, &info), LK_OK);
        free_handle(p);
        if (s->kind->info != NULL)
            assert_status(end_of(p, &info), LK_OK);
        lk_info_free(info.info);
        party_open(near);
        assert_status(end_of(p, &wait), LK_OK);
        make_again(p);
        give_back(p, &wait);
        party_end(p);
    }
    stand_is_clean(s);
}

static void a_hold_outlives_its_handle_and_its_client(stand *s)
{
    party *p = party_near(s, NULL);
    lk_hold *hold;

    party_acquire(p);
    free_handle(p);
    party_assert_in(p);
    hold = p->hold;
    p->hold = NULL;
    free_clients(p);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_CLOSED);
    (void)lk_hold_release(hold);
    party_end(p);
    stand_flush(s); /* what nobody gave back stays for its lease */
}

static void a_hold_may_be_released_while_it_is_extended(stand *s)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        call extended = {0}, released = {0};

        party_acquire(p);
        assert_status(begin_extend(p, call_on_done, &extended), LK_OK);
        assert_status(s->kind->release_async(p->handle, p->hold, call_on_done,
                                             &released),
                      LK_OK);
        p->hold = NULL;
        assert_status(end_of(p, &released), LK_OK);
        (void)end_of(p, &extended);
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
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        loss l = {.party = p};
        lk_status begun;
        call c = {0};

        party_acquire(p);
        assert_status(lk_hold_on_lost(p->hold, 0, release_when_lost, &l),
                      LK_OK);
        stand_flush(s);
        begun = begin_extend(p, call_on_done, &c);
        if (begun != LK_ELOST) /* a renewal has found it already */
            assert_status(begun, LK_OK);
        comes_to(p, is_told, &l);
        p->hold = NULL;
        assert_status(l.released, LK_ELOST);
        if (begun == LK_OK &&
            end_of(p, &c) !=
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
    begin(p, STAND_MS, &options, &first);
    assert_status(end_of(p, &first), LK_OK);
    begin(p, 0, &options, &again);
    assert_status(end_of(p, &again), LK_OK);
    assert_true(lk_hold_fence(first.hold) == lk_hold_fence(again.hold));
    begin(p, 0, NULL, &other);
    assert_status(end_of(p, &other), LK_EBUSY);
    give_back(p, &first);
    assert_status(lk_hold_check(again.hold), LK_OK);
    give_back(p, &again);
    lk_owner_free(options.owner);
    stand_is_clean(s);
}

/* ---- within a callback ----------------------------------------------------------------- */

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
    begin(p, STAND_MS, NULL, &sc->first);
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
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        scene sc;

        party_shut(p);
        party_open(p);
        scene_begin(&sc, p, acquire_and_release);
        assert_status(end_of(p, &sc.first), LK_OK);
        assert_status(end_of(p, &sc.second), LK_OK);
        assert_status(end_of(p, &sc.third), LK_OK);
        assert_int_equal(sc.ends_on_return, 0);
        give_back(p, &sc.second);
        party_end(p);
        ends_once(&sc.first);
        ends_once(&sc.second);
        ends_once(&sc.third);
    }
    stand_is_clean(s);
}

static void ask_everything(call *c)
{
    scene *sc = c->data;
    party *p = sc->party;

    if (p->stand->kind->info != NULL)
        sc->begun[0] = begin_info(p, NULL, &sc->second);
    if (p->stand->kind->ask != NULL)
        sc->begun[1] = begin_ask(p, call_on_done, &sc->third);
    if (p->stand->kind->has_hold)
        sc->begun[2] = lk_hold_extend_async(c->hold, p->site.lease_ms,
                                            call_on_done, &sc->fourth);
}

static void it_may_ask(stand *s)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        scene sc;

        party_shut(p);
        party_open(p);
        scene_begin(&sc, p, ask_everything);
        assert_status(end_of(p, &sc.first), LK_OK);
        if (s->kind->info != NULL)
            assert_status(end_of(p, &sc.second), LK_OK);
        if (s->kind->ask != NULL)
            assert_status(end_of(p, &sc.third), LK_OK);
        if (s->kind->has_hold)
            assert_status(end_of(p, &sc.fourth), LK_OK);
        if (s->kind->has_hold && s->kind->info != NULL)
            assert_int_equal(sc.second.info->holder_count, 1);
        lk_info_free(sc.second.info);
        give_back(p, &sc.first);
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
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        scene sc;

        scene_begin(&sc, p, release_plainly);
        assert_status(end_of(p, &sc.first), LK_OK);
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
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        lk_cancel *cancel = NULL;
        scene sc = {.party = p, .first = {.act = cancel_the_next, .data = &sc}};

        party_shut(p);
        party_open(p);
        assert_status(lk_cancel_new(&cancel, p->site.clients[0]), LK_OK);
        sc.cancel = cancel;
        begin(p, STAND_MS, NULL, &sc.first);
        assert_status(end_of(p, &sc.first), LK_OK);
        if (end_of(p, &sc.second) != LK_OK || s->kind->room == 1)
            assert_status(sc.second.status, LK_ECANCELED);
        give_back(p, &sc.second);
        give_back(p, &sc.first);
        lk_cancel_free(cancel);
        party_end(p);
    }
    stand_is_clean(s);
}

static void free_the_handle(call *c)
{
    free_handle(((scene *)c->data)->party);
}

static void it_may_free_the_handle(stand *s)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        scene sc;

        party_shut(p);
        party_open(p);
        scene_begin(&sc, p, free_the_handle);
        assert_status(end_of(p, &sc.first), LK_OK);
        if (s->kind->has_hold)
            assert_status(lk_hold_check(sc.first.hold), LK_OK);
        make_again(p);
        give_back(p, &sc.first);
        party_end(p);
    }
    stand_is_clean(s);
}

/* A client that goes in its own callback is not dispatched any more. */
static void run_out(party *p, lk_client *client, call *c, uint64_t mode)
{
    while (mode == DISPATCH && p->site.clients[0] != NULL &&
           atomic_load(&c->ends) == 0)
        assert_status(lk_client_dispatch(client), LK_OK);
    comes_to(NULL, is_over, c);
}

static void end_everything(call *c)
{
    scene *sc = c->data;
    party *p = sc->party;

    sc->begun[0] = acquire_in(sc, NULL, &sc->second);
    sc->begun[1] = release_in(sc, c->hold, &sc->third);
    free_handle(p);
    sc->begun[2] = begin_shutdown(p, call_on_done, &sc->fourth);
    free_clients(p);
}

static bool is_told_of_an_end(lk_status status)
{
    return status == LK_OK || status == LK_EPENDING || status == LK_ETIMEDOUT ||
           status == LK_ECLOSED;
}

static void it_may_acquire_release_shut_down_and_free_in_one_go(stand *s)
{
    int before = descriptors_count();

    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
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
        ends_once(&sc.first);
        ends_once(&sc.second);
        ends_once(&sc.third);
        ends_once(&sc.fourth);
        stand_flush(s);
    }
    assert_true(descriptors_fall_to(before));
}

/* Each callback makes the next call; the last one frees the client. */
static void chain_end(call *c)
{
    scene *sc = c->data;

    free_handle(sc->party);
    free_clients(sc->party);
}

static void chain_shutdown(call *c)
{
    scene *sc = c->data;

    sc->begun[2] = begin_shutdown(sc->party, call_on_done, &sc->fourth);
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
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        party *p = party_in(s, mode);
        lk_client *client = p->site.clients[0];
        scene sc = {.party = p,
                    .first = {.act = chain_acquire, .data = &sc},
                    .second = {.act = chain_release, .data = &sc},
                    .third = {.act = chain_shutdown, .data = &sc},
                    .fourth = {.act = chain_end, .data = &sc}};

        party_shut(p);
        party_open(p);
        assert_status(begin_ready(p, call_on_done, &sc.first), LK_OK);
        run_out(p, client, &sc.fourth, mode);
        assert_status(sc.first.status, LK_OK);
        assert_status(sc.second.status, LK_OK);
        assert_status(sc.third.status, LK_OK);
        assert_status(sc.fourth.status, LK_OK);
        party_end(p);
    }
    stand_is_clean(s);
}

int test_async(void)
{
    const stand_test tests[] = {
        STAND_TEST(each_call_ends_once_on_the_right_thread, NULL),
        STAND_TEST(calls_made_at_once_end_once, NULL),
        STAND_TEST(a_client_that_is_freed_ends_what_is_under_way_once,
                   is_alone),
        STAND_TEST(nothing_ends_before_the_dispatch, is_alone),
        STAND_TEST(a_wait_ends_by_its_time, NULL),
        STAND_TEST(a_token_ends_the_waits_that_name_it, NULL),
        STAND_TEST(a_grant_that_meets_a_cancel_is_not_lost, NULL),
        STAND_TEST(many_waits_of_one_client_come_in, NULL),
        STAND_TEST(a_shutdown_ends_every_wait_before_itself, is_alone),
        STAND_TEST(a_handle_may_be_freed_before_its_calls_have_ended, is_whole),
        STAND_TEST(a_hold_outlives_its_handle_and_its_client, stand_is_held),
        STAND_TEST(a_hold_may_be_released_while_it_is_extended, stand_is_held),
        STAND_TEST(nobody_need_know_of_a_release, stand_is_held),
        STAND_TEST(a_hold_may_be_released_when_it_is_told_lost, stand_is_held),
        STAND_TEST(only_an_owner_that_is_named_enters_again, reenters),
        STAND_TEST(it_may_acquire_again_and_release, NULL),
        STAND_TEST(it_may_ask, NULL),
        STAND_TEST(a_plain_release_there_does_not_wait, stand_is_held),
        STAND_TEST(it_may_cancel, NULL),
        STAND_TEST(it_may_free_the_handle, is_whole),
        STAND_TEST(it_may_acquire_release_shut_down_and_free_in_one_go,
                   is_whole_and_alone),
        STAND_TEST(a_life_may_pass_in_callbacks_alone, is_whole_and_alone),
    };

    return stand_run("async", tests, sizeof(tests) / sizeof(tests[0]));
}
