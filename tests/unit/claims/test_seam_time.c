/* SPDX-License-Identifier: MIT */

/*
 * The client on a virtual clock: everything that it promises about time, to
 * the millisecond, over hours that pass in no time.
 */

#include <errno.h>
#include <string.h>

#include "base/deadline.h"
#include "engine/client.h"
#include "handle/open.h"
#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

#define SECOND UINT64_C(1000)
#define HOUR   (3600 * SECOND)

static lk_hold *hold_for(played *p, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, &options, &hold), LK_OK);
    return hold;
}

/* ---- waits --------------------------------------------------------------------- */

CALM_TEST(a_blocking_wait_ends_at_its_time)
{
    uint64_t began = fake_world_now(p->world);
    lk_hold *hold = NULL;

    p->is_held = true;
    assert_status(lk_lock_acquire(p->lock, (int64_t)HOUR, NULL, &hold),
                  LK_ETIMEDOUT);
    assert_int_equal(fake_world_now(p->world) - began, HOUR * FAKE_MS);
    assert_null(hold);
    played_run_ms(p, 10);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
}

CALM_TEST(an_async_wait_ends_at_its_time)
{
    call c = {0};

    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, (int64_t)HOUR, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, HOUR - 1);
    assert_int_equal(atomic_load(&c.ends), 0);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_ETIMEDOUT);
}

/* About once a second, and not in step with others. */
CALM_TEST(a_wait_looks_about_every_second)
{
    lk_hold *hold = NULL;

    p->is_held = true;
    assert_status(lk_lock_acquire(p->lock, (int64_t)HOUR, NULL, &hold),
                  LK_ETIMEDOUT);
    assert_in_range(p->counts[PLAYED_RECHECK], 3600, 4800);
    assert_in_range(fake_world_now(p->world) - p->times[PLAYED_RECHECK], 0,
                    SECOND * FAKE_MS);
}

CALM_TEST(a_try_without_an_answer_takes_the_commands_time)
{
    uint64_t began = fake_world_now(p->world);
    unsigned connects = p->connects;
    lk_hold *hold = NULL;

    p->answers[PLAYED_ACQUIRE] = played_silence;
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_EINDOUBT);
    assert_int_equal(fake_world_now(p->world) - began, 2 * SECOND * FAKE_MS);
    /* Behind it nothing can be answered, so the connection is made again, and
       what was asked for is taken back. */
    played_run_ms(p, 100);
    assert_int_equal(p->connects, connects + 1);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
}

/* ---- answers that are slower than the lease ---- */

static const lk_acquire_options short_lease = {LK_ACQUIRE_OPTIONS_INIT,
                                               .lease_ms = 100};

CALM_TEST(a_try_that_is_answered_too_late_holds_nothing)
{
    lk_hold *hold = NULL;

    played_ways(p, 0, 300);
    assert_status(lk_lock_acquire(p->lock, 0, &short_lease, &hold),
                  LK_EINDOUBT);
    assert_non_null(strstr(lk_last_error(), "before the answer came"));
    assert_null(hold);
    assert_int_equal(played_stats(p).holding, 0);
    /* The server may keep it for longer than it is believed here. */
    played_run_ms(p, SECOND);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
}

CALM_TEST(a_wait_that_is_answered_too_late_goes_on)
{
    call c = {0};

    played_ways(p, 0, 300);
    assert_status(lk_lock_acquire_async(p->lock, (int64_t)HOUR, &short_lease,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, SECOND);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_in_range(p->counts[PLAYED_ACQUIRE], 2, 5);
    assert_in_range(p->counts[PLAYED_LEAVE], p->counts[PLAYED_ACQUIRE] - 1,
                    p->counts[PLAYED_ACQUIRE]);
    played_ways(p, 0, 10);
    p->is_held = false; /* the lease has ended at the server as well */
    for (int i = 0; i < 2000 && atomic_load(&c.ends) == 0; i++)
        played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_OK);
    assert_status(lk_hold_check(c.hold), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* ---- leases ---------------------------------------------------------------------- */

CALM_TEST(a_watchdog_hold_is_renewed_at_every_third_for_hours)
{
    lk_hold *hold = NULL;
    unsigned renewals = 0;
    uint64_t last;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    last = fake_world_now(p->world);
    for (uint64_t ms = 0; ms < 3 * HOUR; ms += 50) {
        played_run_ms(p, 50);
        assert_status(lk_hold_check(hold), LK_OK);
        if (played_renewals(p) == renewals)
            continue;
        assert_int_equal(played_renewals(p), renewals + 1);
        assert_in_range(played_renewed_at(p) - last, 9900 * FAKE_MS,
                        10010 * FAKE_MS);
        last = played_renewed_at(p);
        renewals++;
    }
    assert_in_range(renewals, 1075, 1095);
    assert_int_equal(played_stats(p).losses, 0);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* When a callback came, and with what. */
typedef struct sight {
    played *p;
    int calls;
    uint64_t at[4];
    uint64_t remaining_ms[4];
} sight;

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    sight *s = data;

    (void)hold;
    s->at[s->calls] = fake_world_now(s->p->world);
    s->remaining_ms[s->calls] = remaining_ms;
    s->calls++;
}

CALM_TEST(a_fixed_lease_ends_less_the_drift_and_says_so_then)
{
    sight s = {.p = p};
    uint64_t sent = fake_world_now(p->world);
    lk_hold *hold = hold_for(p, HOUR);
    uint64_t deadline = lk__deadline_ns(sent, HOUR);

    assert_status(lk_hold_on_lost(hold, 5000, on_lost, &s), LK_OK);
    fake_world_run(p->world, deadline - 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.at[0], deadline - 5000 * FAKE_MS);
    assert_int_equal(s.remaining_ms[0], 5000);
    fake_world_run(p->world, deadline);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(s.calls, 2);
    assert_int_equal(s.at[1], deadline);
    assert_int_equal(s.remaining_ms[1], 0);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_EXPIRED);
    assert_int_equal(p->counts[PLAYED_RENEW], 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

CALM_TEST(without_answers_a_hold_is_lost_at_its_deadline)
{
    sight s = {.p = p};
    uint64_t sent = fake_world_now(p->world);
    uint64_t deadline = lk__deadline_ns(sent, 30 * SECOND);
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_on_lost(hold, 0, on_lost, &s), LK_OK);
    p->is_mute = true;
    fake_world_run(p->world, deadline - 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(s.calls, 0);
    fake_world_run(p->world, deadline);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.at[0], deadline);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static void is_locked(played *p, call *c)
{
    assert_status(lk_lock_is_locked_async(p->lock, call_on_locked, c), LK_OK);
}

/* What a server that has much to do answers late is answered all the same. */
CALM_TEST(a_connection_is_kept_as_long_as_answers_come)
{
    enum { ASKED = 4 };
    fake_link *commands = fake_world_link(p->world, 0);
    call calls[ASKED] = {{0}};

    p->exists_answer = played_silence;
    for (int i = 0; i < ASKED; i++)
        is_locked(p, &calls[i]);
    for (int i = 0; i < ASKED - 1; i++) {
        played_run_ms(p, 1900);
        fake_say(commands, ":1\r\n");
    }
    played_run_ms(p, 1900);
    assert_int_equal(played_stats(p).disconnects, 0);
    assert_int_equal(played_stats(p).pending, 1);
    played_run_ms(p, 200);
    assert_int_equal(played_stats(p).disconnects, 1);
    for (int i = 0; i < ASKED; i++)
        assert_int_equal(atomic_load(&calls[i].ends), 1);
}

/* A renewal is tried again until the deadline, not only once. */
CALM_TEST(a_hold_survives_an_outage_shorter_than_its_lease)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(p, 9 * SECOND);
    p->is_mute = true;
    played_run_ms(p, 16 * SECOND);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 1, 5 * SECOND);
    p->is_mute = false;
    played_run_ms(p, 4 * SECOND);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 20 * SECOND, 30 * SECOND);
    assert_status(lk_hold_release(hold), LK_OK);
}

CALM_TEST(a_process_that_was_stopped_beyond_the_lease_has_lost_it)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    fake_world_freeze(p->world, 31 * SECOND * FAKE_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    played_run_ms(p, 100);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

CALM_TEST(a_release_without_an_answer_takes_the_commands_time)
{
    lk_hold *hold = hold_for(p, HOUR);
    uint64_t began = fake_world_now(p->world);

    p->answers[PLAYED_RELEASE] = played_silence;
    assert_status(lk_hold_release(hold), LK_EPENDING);
    assert_int_equal(fake_world_now(p->world) - began, 2 * SECOND * FAKE_MS);
    p->answers[PLAYED_RELEASE] = NULL;
    played_run_ms(p, 10 * SECOND);
    assert_false(p->is_held);
}

/* ---- connections ------------------------------------------------------------------- */

/* One that has a limit; not one without. */
CALM_TEST(an_outage_ends_waits_after_offline_ms)
{
    static call c, forever;

    c = forever = (call){0};
    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &forever),
                  LK_OK);
    assert_status(lk_lock_acquire_async(p->lock, (int64_t)HOUR, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 100);
    p->connect_answer = -ECONNREFUSED;
    played_break(p);
    played_run_ms(p, 1); /* until the client knows */
    played_run_ms(p, 5 * SECOND - 1);
    assert_int_equal(atomic_load(&c.ends), 0);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_EOFFLINE);
    played_run_ms(p, 100 * SECOND);
    assert_int_equal(atomic_load(&forever.ends), 0);
    p->connect_answer = 0;
    p->is_held = false;
    played_run_ms(p, 2 * SECOND);
    assert_int_equal(atomic_load(&forever.ends), 1);
    assert_status(forever.status, LK_OK);
    assert_status(lk_hold_release(forever.hold), LK_OK);
}

static void answer_waits(played *p, const char *answer)
{
    p->answers[PLAYED_ACQUIRE] = answer;
    p->answers[PLAYED_RECHECK] = answer;
    p->answers[PLAYED_TOUCH] = answer;
}

/* By a server that takes connections and serves none of them: it is away once the one
   ends that stood when offline_ms were over. */
CALM_TEST(an_outage_ends_waits_though_it_was_connected_when_their_time_came)
{
    static call c, forever;

    c = forever = (call){0};
    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &forever),
                  LK_OK);
    assert_status(lk_lock_acquire_async(p->lock, (int64_t)HOUR, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 100);
    answer_waits(p, "-LOADING Redis is loading the dataset in memory\r\n");
    played_break(p);
    played_run_ms(p, 3500);
    answer_waits(p, played_silence);
    played_run_ms(p, 1900);
    assert_int_equal(atomic_load(&c.ends), 0);
    p->connect_answer = -ECONNREFUSED;
    played_break(p);
    played_run_ms(p, 2 * SECOND + 1);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_EOFFLINE);
    assert_int_equal(atomic_load(&forever.ends), 0);
}

/* To the millisecond: a wait and a question alike, each time. */
CALM_TEST(a_call_in_an_outage_waits_for_the_commands_time)
{
    lk_hold *none = NULL;
    bool is_locked;

    p->connect_answer = -ECONNREFUSED;
    played_break(p);
    played_run_ms(p, 10 * SECOND);
    for (int i = 0; i < 3; i++) {
        uint64_t began = fake_world_now(p->world);

        assert_status(lk_lock_acquire(p->lock, (int64_t)HOUR, NULL, &none),
                      LK_EOFFLINE);
        assert_int_equal(fake_world_now(p->world) - began,
                         2 * SECOND * FAKE_MS);
        assert_status(lk_lock_acquire(p->lock, 0, NULL, &none), LK_EOFFLINE);
        assert_int_equal(fake_world_now(p->world) - began,
                         4 * SECOND * FAKE_MS);
        assert_status(lk_lock_is_locked(p->lock, &is_locked), LK_EOFFLINE);
        assert_int_equal(fake_world_now(p->world) - began,
                         6 * SECOND * FAKE_MS);
        played_run_ms(p, 10 * SECOND);
        began = fake_world_now(p->world);
        assert_status(lk_lock_acquire(p->lock, 500, NULL, &none), LK_ETIMEDOUT);
        assert_int_equal(fake_world_now(p->world) - began, 500 * FAKE_MS);
        played_run_ms(p, 10 * SECOND);
    }
}

CALM_TEST(a_short_outage_ends_nothing)
{
    call c = {0};

    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    for (int i = 0; i < 100; i++) {
        played_run_ms(p, 10 * SECOND);
        p->connect_answer = -ECONNREFUSED;
        played_break(p);
        played_run_ms(p, 3 * SECOND);
        p->connect_answer = 0;
    }
    assert_int_equal(atomic_load(&c.ends), 0);
    played_run_ms(p, 2 * SECOND);
    played_grant(p, p->ticket, 500000000, 3000);
    played_run_ms(p, 10);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

/* At once, then with jitter under a limit that doubles from 20 ms to 1 s. */
CALM_TEST(attempts_to_connect_come_ever_more_slowly)
{
    unsigned connects = p->connects;
    uint64_t began = fake_world_now(p->world), last = began;

    p->connect_answer = -ECONNREFUSED;
    played_break(p);
    played_run_ms(p, 2);
    assert_true(p->connects > connects);
    while (fake_world_now(p->world) < began + 2 * HOUR * FAKE_MS) {
        connects = p->connects;
        assert_true(fake_world_step(p->world));
        if (p->connects == connects)
            continue;
        assert_in_range(p->connected_at - last, 0, 1001 * FAKE_MS);
        last = p->connected_at;
    }
    /* Two connections, each about every half second. */
    assert_in_range(p->connects, 2 * 2 * 3600, 2 * 5 * 3600);
}

CALM_TEST(a_server_that_takes_no_stream_is_given_up_in_time)
{
    unsigned connects;

    p->connect_answer = SIM_SILENT;
    played_break(p);
    played_run_ms(p, 100);
    connects = p->connects;
    played_run_ms(p, 1800);
    assert_int_equal(p->connects, connects);
    played_run_ms(p, 300);
    assert_int_equal(p->connects, connects + 2);
}

CALM_TEST(an_idle_connection_is_asked_after_three_seconds)
{
    unsigned pings = p->pings;

    played_run_ms(p, 30 * SECOND);
    assert_in_range(p->pings - pings, 16, 20); /* two connections */
    assert_int_equal(p->connects, 2);
    p->is_mute = true;
    played_run_ms(p, 3 * SECOND + 2 * SECOND + 100);
    assert_in_range(p->connects, 4, 6);
}

/* ---- questions ----------------------------------------------------------------------- */

CALM_TEST(a_question_without_an_answer_takes_the_commands_time)
{
    uint64_t began = fake_world_now(p->world);
    bool locked = true;

    p->is_mute = true;
    assert_status(lk_lock_is_locked(p->lock, &locked), LK_EOFFLINE);
    assert_int_equal(fake_world_now(p->world) - began, 2 * SECOND * FAKE_MS);
    assert_true(locked);
}

static void come_back(void *data)
{
    played *p = data;

    p->connect_answer = 0;
}

/* It is sent when the connection is back, and its time is not prolonged. */
CALM_TEST(a_question_that_was_sent_late_is_in_doubt_at_its_time)
{
    uint64_t began = fake_world_now(p->world);

    p->answers[PLAYED_FORCE] = played_silence;
    p->connect_answer = -ECONNREFUSED;
    played_break(p);
    played_run_ms(p, 1); /* until the client knows */
    began += FAKE_MS;
    fake_world_at(p->world, began + 300 * FAKE_MS, come_back, p);
    assert_status(lk_lock_force_release(p->lock), LK_EPENDING);
    assert_int_equal(fake_world_now(p->world) - began, 2 * SECOND * FAKE_MS);
    assert_int_equal(p->counts[PLAYED_FORCE], 1);
}

/* ---- all of it ------------------------------------------------------------------------- */

/* A life with jitter, breaks and waits; returns its trace. */
static uint64_t life(uint64_t seed)
{
    played *p = played_new(seed, NULL);
    uint64_t trace;

    p->world->path->jitter_ns[SIM_THERE] = 5 * FAKE_MS;
    p->world->path->jitter_ns[SIM_BACK] = 5 * FAKE_MS;
    for (int i = 0; i < 20; i++) {
        lk_hold *hold = NULL;

        if (lk_lock_acquire(p->lock, 100, NULL, &hold) == LK_OK) {
            played_run_ms(p, fake_world_random(p->world, 20000));
            (void)lk_hold_release(hold);
        }
        if (fake_world_random(p->world, 3) == 0)
            played_break(p);
        p->is_held = fake_world_random(p->world, 4) == 0;
    }
    trace = p->world->schedule.trace;
    played_free(p);
    return trace;
}

CHECK_TEST(the_same_seed_gives_the_same_life)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_true(life(seed) == life(seed));
        assert_true(life(seed) != life(seed + 1));
    }
}

/* ---- the world's other gifts ------------------------------------------------------ */

/* Two clients with one id would be one to the server. */
CHECK_TEST(without_random_numbers_there_is_no_client)
{
    static const fake_server nobody = {0};
    fake_world *world = fake_world_new(1, &nobody, NULL);
    lk_client *client = NULL;

    world->process.no_random = true;
    assert_status(lk__client_open_in(&client, &world->process.base,
                                     "redis://server", NULL),
                  LK_ENOMEM);
    assert_non_null(strstr(lk_last_error(), "random"));
    assert_null(client);
    fake_world_free(world);
}

/* A redlock's token is one more id. */
CALM_TEST(without_random_numbers_there_is_no_token)
{
    lk_redlock *redlock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_redlock_new(&redlock, &p->client, 1, "r", NULL), LK_OK);
    p->world->process.no_random = true;
    assert_status(lk_redlock_acquire(redlock, 1000, NULL, &hold), LK_ENOMEM);
    lk_redlock_free(redlock);
}
