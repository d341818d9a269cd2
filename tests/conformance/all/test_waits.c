/* SPDX-License-Identifier: MIT */

/*
 * Every primitive waited for without blocking, on the loop and where the test
 * dispatches: by one and by many at once, until a time, a token or a shutdown ends
 * that.
 */

#include <stdlib.h>

#include "support/async.h"
#include "support/check.h"
#include "support/wait.h"

enum { LIMIT_MS = 200, WAITS = 40, ROUNDS = 20 };

/* ---- waits ----------------------------------------------------------------------- */

static void a_wait_ends_by_its_time(stand *s)
{
    party *near = party_near(s, NULL);

    party_shut(near);
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        const uint64_t limit = wait_limit_ms(LIMIT_MS);
        call c = {0}, busy = {0};
        uint64_t began = wait_now_ms();

        async_begin(p, (int64_t)limit, NULL, &c);
        if (async_end_of(p, &c) != LK_EINDOUBT ||
            s->kind->is_queued) /* it was just asking */
            assert_status(c.status, LK_ETIMEDOUT);
        assert_in_range(wait_now_ms() - began, limit,
                        wait_allowed_ms(limit +
                                        wait_scaled_ms(STAND_SLACK_MS)));
        async_begin(p, 0, NULL, &busy);
        assert_status(async_end_of(p, &busy), LK_EBUSY);
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

    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
        call named = {0}, other = {0}, after = {0};
        blocked b = {.party = p, .options = &options};

        party_shut(near);
        assert_status(lk_cancel_new(&options.cancel, p->site.clients[0]),
                      LK_OK);
        async_begin(p, LK_FOREVER, &options, &named);
        async_begin(p, LK_FOREVER, NULL, &other);
        assert_int_equal(pthread_create(&b.thread, NULL, blocked_run, &b), 0);
        assert_true(wait_until(is_waiting, p, STAND_MS));
        lk_cancel_fire(options.cancel);
        assert_status(async_end_of(p, &named), LK_ECANCELED);
        assert_int_equal(pthread_join(b.thread, NULL), 0);
        assert_status(b.status, LK_ECANCELED);
        async_begin(p, LK_FOREVER, &options, &after);
        assert_status(async_end_of(p, &after), LK_ECANCELED);
        assert_int_equal(atomic_load(&other.ends), 0);
        party_open(near);
        assert_status(async_end_of(p, &other), LK_OK);
        async_give_back(p, &other);
        async_ends_once(&named);
        async_ends_once(&after);
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
        assert_status(async_begin_open(near, call_on_done, &opened), LK_OK);
        if (i % 2 == 0)
            assert_status(async_end_of(near, &opened), LK_OK);
        lk_cancel_fire(options.cancel);
        status = party_ends(p);
        if (status == LK_OK)
            party_release(p);
        else
            assert_status(status, LK_ECANCELED);
        assert_status(async_end_of(near, &opened), LK_OK);
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
    async_begin(p, LK_FOREVER, NULL, &c);
    party_open(near);
    assert_status(async_end_of(p, &c), LK_OK);
    async_give_back(p, &c);
}

/* Of those that stand in a queue, in the order of their calls; where several are in
   at once, their fences are. */
static void many_waits_of_one_client_come_in(stand *s)
{
    party *near = party_near(s, NULL);

    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
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
        async_comes_to(p, all_have_left, c);
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
    for (uint64_t mode = ASYNC_LOOP; mode < ASYNC_MODES; mode++) {
        party *p = async_party(s, mode);
        static closing c;

        c = (closing){.end = {.act = count_ended, .data = &c}};
        for (size_t i = 0; i < WAITS; i++)
            async_begin(p, LK_FOREVER, NULL, &c.waits[i]);
        assert_status(async_begin_shutdown(p, call_on_done, &c.end), LK_OK);
        assert_status(async_end_of(p, &c.end), LK_OK);
        assert_int_equal(c.ended_before, WAITS);
        for (size_t i = 0; i < WAITS; i++) {
            assert_status(async_end_of(p, &c.waits[i]), LK_ECLOSED);
            assert_null(c.waits[i].hold);
        }
        party_end(p);
        for (size_t i = 0; i < WAITS; i++)
            async_ends_once(&c.waits[i]);
        async_ends_once(&c.end);
    }
    party_open(near);
    stand_is_clean(s);
}

int test_waits(void)
{
    const stand_test tests[] = {
        STAND_TEST(a_wait_ends_by_its_time, NULL),
        STAND_TEST(a_token_ends_the_waits_that_name_it, NULL),
        STAND_TEST(a_grant_that_meets_a_cancel_is_not_lost, NULL),
        STAND_TEST(many_waits_of_one_client_come_in, NULL),
        STAND_TEST(a_shutdown_ends_every_wait_before_itself, async_is_alone),
    };

    return stand_run("waits", tests, sizeof(tests) / sizeof(tests[0]));
}
