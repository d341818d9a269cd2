/* SPDX-License-Identifier: MIT */

/*
 * Every primitive where a process that holds it, or waits for it, is killed or
 * stands still: the living wait for a lease or a look and for no longer, and
 * one that stood still knows what it has lost.
 *
 * A worker is one process with some waits of owners of their own; it begins
 * when it is told to, since it is forked before this process has any thread.
 */

#include <signal.h>

#include "support/check.h"
#include "support/stand.h"
#include "support/wait.h"
#include "support/worker.h"

/* In a queue more than a script looks at in one call. */
enum { WAITS = 70, FEW_WAITS = 4 };

/* What a worker does, when it is told to. */
typedef enum part {
    HOLDS = 1, /* acquires */
    SHUTS,     /* has all others wait */
    WAITS_FOR  /* has many waits, and keeps what the first of them gets */
} part;

/* What a worker tells. */
enum {
    TOLD_ASKED,
    TOLD_IN,
    TOLD_FENCE,
    TOLD_CHECK,
    TOLD_LOSS,
    TOLD_WRITTEN,
    TOLD_RELEASE
};
/* In the row of nobody: the part that it plays, and what the name guards. */
enum { NOBODY = WORKER_MAX - 1, PART = 0, GUARDED = 1 };

static lk_client_options watched(void)
{
    return (lk_client_options){LK_CLIENT_OPTIONS_INIT,
                               .watchdog_ms = wait_lease_ms(),
                               .offline_ms = wait_limit_ms(STAND_MS)};
}

/* ---- the worker --------------------------------------------------------------------- */

static bool is_told(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) != 0;
}

static bool is_over(void *data)
{
    return atomic_load(&((worker_shared *)data)->is_over);
}

/* Of some waits the first that gets in; the others are not wanted any more. */
typedef struct waits {
    call calls[WAITS];
    unsigned count;
    party *party;
    unsigned first;
} waits;

static bool has_one(void *data)
{
    waits *w = data;

    for (w->first = 0; w->first < w->count; w->first++)
        if (atomic_load(&w->calls[w->first].ends) > 0)
            return true;
    return false;
}

static void wait_often(waits *w, _Atomic uint64_t *ret_asked)
{
    party *p = w->party;

    w->count = p->stand->kind->is_queued ? WAITS : FEW_WAITS;
    p->replies = party_stats(p).replies;
    for (unsigned i = 0; i < w->count; i++)
        assert_status(p->stand->kind->acquire_async(p->handle, LK_FOREVER, NULL,
                                                    call_on_acquire,
                                                    &w->calls[i]),
                      LK_OK);
    party_asked(p);
    *ret_asked = 1;
    assert_true(wait_until(has_one, w, 2 * STAND_MS));
    p->hold = w->calls[w->first].hold;
    w->calls[w->first].hold = NULL;
}

static bool has_ended(void *data)
{
    return atomic_load(&((call *)data)->ends) > 0;
}

/* A callback of the loop may run a moment behind the shutdown. */
static void waits_end(waits *w)
{
    for (unsigned i = 0; i < w->party->stand->kind->servers; i++)
        (void)lk_client_shutdown(w->party->site.clients[i], STAND_MS);
    for (unsigned i = 0; i < w->count; i++) {
        assert_true(wait_until(has_ended, &w->calls[i], STAND_MS));
        (void)lk_hold_release(w->calls[i].hold);
    }
}

/* What the name guards refuses a fence that is smaller than the last one. */
static bool writes(worker_shared *shared, const lk_hold *hold)
{
    _Atomic uint64_t *last = &shared->counters[NOBODY][GUARDED];
    uint64_t seen = atomic_load(last);

    while (lk_hold_fence(hold) >= seen)
        if (atomic_compare_exchange_weak(last, &seen, lk_hold_fence(hold)))
            return true;
    return false;
}

static void tell_end(worker_shared *shared, _Atomic uint64_t *told, party *p)
{
    if (!p->stand->kind->has_hold)
        return;
    told[TOLD_CHECK] = (uint64_t)-lk_hold_check(p->hold);
    told[TOLD_LOSS] = lk_hold_loss(p->hold);
    told[TOLD_WRITTEN] = writes(shared, p->hold);
    told[TOLD_RELEASE] = (uint64_t)-p->stand->kind->release(p->handle, p->hold);
    p->hold = NULL;
}

/* A failed assertion aborts it. */
static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    const lk_client_options options = watched();
    _Atomic uint64_t *told = shared->counters[index];
    _Atomic uint64_t *given = &shared->counters[NOBODY][PART];
    static waits w;
    party *p;

    assert_true(wait_until(is_told, given, STAND_MS));
    p = party_near(data, &options);
    w.party = p;
    if (*given == HOLDS)
        party_acquire(p);
    else if (*given == SHUTS)
        party_shut(p);
    else
        wait_often(&w, &told[TOLD_ASKED]);
    told[TOLD_FENCE] = lk_hold_fence(p->hold);
    told[TOLD_IN] = 1;
    assert_true(wait_until(is_over, shared, 2 * STAND_MS));
    tell_end(shared, told, p);
    waits_end(&w);
    party_end(p);
    return 0;
}

static workers *worker_new(stand *s)
{
    workers *w = workers_start(1, worker_run, s);

    assert_non_null(w);
    return w;
}

static _Atomic uint64_t *told_by(workers *w)
{
    return workers_shared(w)->counters[0];
}

static void begin(workers *w, part what)
{
    workers_shared(w)->counters[NOBODY][PART] = what;
}

static void gets_in(workers *w)
{
    assert_true(wait_until(is_told, &told_by(w)[TOLD_IN], STAND_MS));
}

/* It is told to end, and ends well. */
static void end_well(workers *w)
{
    workers_end(w);
    assert_true(workers_wait(w, STAND_MS));
    assert_int_equal(workers_exit(w, 0), 0);
}

/* ---- whom a test sees --------------------------------------------------------------- */

static party *live_party(stand *s)
{
    const lk_client_options options = watched();

    return party_near(s, &options);
}

static bool somebody_waits(void *data)
{
    return stand_waiting(data) > 0;
}

/* ---- holders ------------------------------------------------------------------------- */

/* Nobody renews for the dead: the lease bounds the wait. */
static void a_killed_holder_is_followed_within_its_lease(stand *s)
{
    workers *dead = worker_new(s);
    party *live = live_party(s);
    uint64_t killed_at;

    begin(dead, SHUTS);
    gets_in(dead);
    party_queue(live);
    killed_at = wait_now_ms();
    workers_kill(dead, 0, SIGKILL);
    assert_status(party_ends(live), LK_OK);
    assert_in_range(wait_now_ms() - killed_at, 0,
                    wait_allowed_ms(wait_lease_ms() + STAND_LOOK_MS +
                                    wait_scaled_ms(STAND_SLACK_MS)));
    if (s->kind->is_fenced)
        assert_true(lk_hold_fence(live->hold) > told_by(dead)[TOLD_FENCE]);
    party_release(live);
    workers_free(dead);
    stand_is_clean(s);
}

/* The first check after it goes on tells, by the clock, before any reply; whoever
   does not check is refused for the fence; and nothing is taken from the next one. */
static void a_holder_stopped_beyond_its_lease_knows_at_once(stand *s)
{
    workers *stopped = worker_new(s);
    party *live = live_party(s);

    begin(stopped, SHUTS);
    gets_in(stopped);
    workers_kill(stopped, 0, SIGSTOP);
    party_acquire(live);
    assert_true(writes(workers_shared(stopped), live->hold));
    workers_end(stopped);
    workers_kill(stopped, 0, SIGCONT);
    end_well(stopped);
    assert_int_equal(told_by(stopped)[TOLD_CHECK], -LK_ELOST);
    assert_int_not_equal(told_by(stopped)[TOLD_LOSS], LK_LOSS_NONE);
    if (s->kind->is_fenced)
        assert_int_equal(told_by(stopped)[TOLD_WRITTEN], 0);
    assert_int_equal(told_by(stopped)[TOLD_RELEASE], -LK_ELOST);
    party_assert_in(live);
    party_release(live);
    workers_free(stopped);
    stand_is_clean(s);
}

/* Beside others: their renewals do not keep the dead one alive. */
static void what_a_killed_one_has_beside_others_comes_back(stand *s)
{
    workers *dead = worker_new(s);
    party *beside = live_party(s);
    party *live = live_party(s);
    uint64_t killed_at;

    begin(dead, HOLDS);
    gets_in(dead);
    if (s->kind->room != 1)
        party_acquire(beside);
    workers_kill(dead, 0, SIGKILL);
    killed_at = wait_now_ms();
    if (s->kind->room != 1) {
        stand_pass_ms(wait_lease_ms());
        party_assert_in(beside);
        party_release(beside);
    }
    party_shut(live);
    assert_in_range(wait_now_ms() - killed_at, 0,
                    wait_allowed_ms(wait_lease_ms() + STAND_LOOK_MS +
                                    wait_scaled_ms(STAND_SLACK_MS)));
    party_open(live);
    workers_free(dead);
    stand_is_clean(s);
}

/* ---- waiters ------------------------------------------------------------------------- */

static bool all_of_it_stand(void *data)
{
    return stand_waiting(data) == WAITS;
}

/* Its waits have places: of a fair kind each its own. */
static void are_asked(stand *s, workers *w)
{
    assert_true(wait_until(is_told, &told_by(w)[TOLD_ASKED], STAND_MS));
    if (s->kind->is_fair)
        assert_true(wait_until(all_of_it_stand, s, STAND_MS));
}

/* All of a process' waits, and one behind them. Returns when the name was opened. */
static uint64_t opened_to(stand *s, workers *first, party *live, int signal)
{
    party *holder = party_near(s, NULL); /* whose lease nobody needs */

    party_shut(holder);
    begin(first, WAITS_FOR);
    are_asked(s, first);
    party_queue(live);
    workers_kill(first, 0, signal);
    party_open(holder);
    return wait_now_ms();
}

/* Nobody listens in its place, which is seen at once: whoever is handed a name need
   not look for it. */
static void killed_waiters_cost_the_next_one_nothing(stand *s)
{
    workers *dead = worker_new(s);
    party *live = live_party(s);
    uint64_t opened_at = opened_to(s, dead, live, SIGKILL);

    party_gets_in(live, opened_at, s->kind->is_queued ? 0 : STAND_LOOK_MS);
    workers_free(dead);
    stand_is_clean(s);
}

/* The first of them may be let in, and costs the time in which it could have
   taken that. */
static void stopped_waiters_together_cost_one_claim(stand *s)
{
    workers *stopped = worker_new(s);
    party *live = live_party(s);
    uint64_t opened_at = opened_to(s, stopped, live, SIGSTOP);

    party_gets_in(live, opened_at, STAND_CLAIM_MS + STAND_LOOK_MS);
    workers_kill(stopped, 0, SIGKILL);
    workers_free(stopped);
    stand_is_clean(s);
}

/* What lay in its socket beyond its time is not believed: it gets in behind the
   one that overtook it. */
static void a_stopped_waiter_that_goes_on_gets_in_behind_the_next(stand *s)
{
    workers *stopped = worker_new(s);
    party *live = live_party(s);
    uint64_t fence;

    (void)opened_to(s, stopped, live, SIGSTOP);
    assert_status(party_ends(live), LK_OK);
    fence = lk_hold_fence(live->hold);
    workers_kill(stopped, 0, SIGCONT);
    if (s->kind->room == 1) {
        stand_pass_ms(STAND_LOOK_MS / 2);
        assert_int_equal(told_by(stopped)[TOLD_IN], 0);
    }
    party_assert_in(live);
    party_release(live);
    gets_in(stopped);
    end_well(stopped);
    assert_int_equal(told_by(stopped)[TOLD_CHECK], 0);
    if (s->kind->is_fenced)
        assert_true(told_by(stopped)[TOLD_FENCE] > fence);
    workers_free(stopped);
    stand_is_clean(s);
}

static bool is_fair(const kind *k)
{
    return k->is_fair;
}

static bool all_stand(void *data)
{
    return stand_waiting(data) == WAITS + 1;
}

/* Two clients wait, and the server has heard of both of them since. */
typedef struct since {
    stand *stand;
    uint64_t ms;
} since;

static bool both_are_heard(void *data)
{
    const since *then = data;

    return stand_heard(then->stand, then->ms) == 2;
}

/* It has its place when the server hears of it, and not when it goes on: a name that is
   opened in between is the next one's, by what is promised. */
static void goes_on(stand *s, workers *stopped)
{
    since then = {s, stand_clock_ms(s)};

    workers_kill(stopped, 0, SIGCONT);
    assert_true(wait_until(both_are_heard, &then, STAND_MS));
    assert_true(wait_until(all_stand, s, STAND_MS));
}

static void who_stood_still_while_nobody_came_in_has_its_place_again(stand *s)
{
    workers *stopped = worker_new(s);
    party *live = live_party(s);
    party *holder = party_near(s, NULL); /* whose lease nobody needs */

    party_shut(holder);
    begin(stopped, WAITS_FOR);
    are_asked(s, stopped);
    party_queue(live);
    workers_kill(stopped, 0, SIGSTOP);
    stand_pass_ms(STAND_SEEN_MS + STAND_LOOK_MS);
    goes_on(s, stopped);
    party_open(holder);
    gets_in(stopped);
    if (s->kind->room == 1)
        assert_false(party_has_ended(live));
    end_well(stopped);
    assert_status(party_ends(live), LK_OK);
    party_release(live);
    workers_free(stopped);
    stand_is_clean(s);
}

/* ---- one that waits for all, where there is room for some -------------------------------- */

static void waits_for_all(stand *s, int signal, uint64_t most_ms)
{
    workers *greedy = worker_new(s);
    party *in = live_party(s);
    party *live = live_party(s);
    uint64_t begin_at;

    party_acquire(in);
    begin(greedy, SHUTS);
    assert_true(wait_until(somebody_waits, s, STAND_MS));
    workers_kill(greedy, 0, signal);
    begin_at = wait_now_ms();
    party_begin(live, LK_FOREVER, NULL);
    party_gets_in(live, begin_at, most_ms);
    workers_kill(greedy, 0, SIGKILL);
    party_release(in);
    workers_free(greedy);
    stand_is_clean(s);
}

static void a_killed_one_that_waits_for_all_keeps_nobody_out(stand *s)
{
    waits_for_all(s, SIGKILL, STAND_LOOK_MS);
}

static void
a_stopped_one_that_waits_for_all_keeps_others_out_for_seconds(stand *s)
{
    waits_for_all(s, SIGSTOP, STAND_SEEN_MS + STAND_LOOK_MS);
}

/* What the dead have taken of a plain semaphore does not. */
static bool comes_back(const kind *k)
{
    return k->history != HISTORY_PLAIN;
}

static bool has_room(const kind *k)
{
    return k->room != 1 && stand_is_shared(k);
}

int test_dead(void)
{
    const stand_test tests[] = {
        STAND_TEST(a_killed_holder_is_followed_within_its_lease, stand_is_held),
        STAND_TEST(a_holder_stopped_beyond_its_lease_knows_at_once,
                   stand_is_held),
        STAND_TEST(what_a_killed_one_has_beside_others_comes_back,
                   stand_is_shared),
        STAND_TEST(killed_waiters_cost_the_next_one_nothing, NULL),
        STAND_TEST(stopped_waiters_together_cost_one_claim, comes_back),
        STAND_TEST(a_stopped_waiter_that_goes_on_gets_in_behind_the_next,
                   comes_back),
        STAND_TEST(who_stood_still_while_nobody_came_in_has_its_place_again,
                   is_fair),
        STAND_TEST(a_killed_one_that_waits_for_all_keeps_nobody_out, has_room),
        STAND_TEST(
            a_stopped_one_that_waits_for_all_keeps_others_out_for_seconds,
            has_room),
    };

    return stand_run("dead", tests, sizeof(tests) / sizeof(tests[0]));
}
