/* SPDX-License-Identifier: MIT */

/*
 * Deadlines over slow ways, on a virtual clock: where a request is long on its
 * way, or an answer, a hold lasts from when it was asked for, to the
 * nanosecond. What is said behind that time is not believed.
 */

#include "base/deadline.h"
#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

enum { LEASE_MS = 30000, GRANT_MS = 3000 };

/* How long each way takes in ms: one is slow, the other quick. */
typedef struct ways {
    uint64_t request_ms, reply_ms;
} ways;

static const ways slow[] = {{600, 1}, {1, 600}};

/* So slow that half of a pushed grant's lease has gone. */
static const ways slower[] = {{1700, 1}, {1, 1700}};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static uint64_t now(const played *p)
{
    return fake_world_now(p->world);
}

/* What is tried, and with which ways. */
typedef struct trial {
    const ways *list;
    size_t count;
    void (*run)(played *p, ways w);
} trial;

/* A test that runs its trial once with each pair of ways. */
static void each_way(void **state)
{
    const trial *t = *state;

    for (size_t i = 0; i < t->count; i++) {
        played *p = playing_calm();

        t->run(p, t->list[i]);
        played_free(p);
    }
}

#define EACH_WAY(list, run)                                                    \
    CHECK_CASE(run, each_way, (&(trial){list, COUNT(list), run}))

static void go(played *p, ways w)
{
    played_ways(p, w.request_ms, w.reply_ms);
}

static void go_quickly(played *p)
{
    played_ways(p, 1, 1);
}

/* The hold ends when a lease does that was asked for at that time. */
static void
assert_lasts(played *p, const lk_hold *hold, uint64_t sent, uint64_t lease_ms)
{
    uint64_t deadline = lk__deadline_ns(sent, lease_ms);

    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(lk_hold_remaining_ms(hold),
                     lk__remaining_ms(now(p), deadline));
}

/* Lets things happen until the script has arrived so often. */
static void run_until_count(played *p, played_script script, unsigned count)
{
    while (p->counts[script] < count)
        assert_true(fake_world_step(p->world));
}

static lk_hold *take(played *p)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    return hold;
}

static void give(played *p, lk_hold *hold)
{
    go_quickly(p);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void begin_to_wait(played *p, call *c)
{
    p->is_held = true;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, c),
                  LK_OK);
}

/* Begins a wait that is queued at the server. */
static void queue_up(played *p, call *c)
{
    begin_to_wait(p, c);
    played_run_ms(p, 5);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1);
    assert_int_equal(atomic_load(&c->ends), 0);
}

static lk_hold *granted(call *c)
{
    assert_int_equal(atomic_load(&c->ends), 1);
    assert_status(c->status, LK_OK);
    return c->hold;
}

/* ---- acquire and look ------------------------------------------------------ */

static void a_hold_lasts_from_when_the_acquire_was_sent(played *p, ways w)
{
    uint64_t sent = now(p);
    lk_hold *hold;

    go(p, w);
    hold = take(p);
    assert_true(now(p) == sent + (w.request_ms + w.reply_ms) * FAKE_MS);
    assert_lasts(p, hold, sent, LEASE_MS);
    give(p, hold);
}

static void a_hold_lasts_from_when_the_look_was_sent(played *p, ways w)
{
    call c = {0};

    queue_up(p, &c);
    go(p, w);
    p->is_held = false;
    run_until_count(p, PLAYED_RECHECK, 1);
    played_run_ms(p, w.reply_ms);
    assert_lasts(p, granted(&c),
                 p->times[PLAYED_RECHECK] - w.request_ms * FAKE_MS, LEASE_MS);
    give(p, c.hold);
}

/* The server's word is not taken for more than was asked of it, nor for less
   than nothing. */
static void a_lease_is_never_longer_than_it_was_asked_for(NO_STATE)
{
    played *p = playing_calm();
    uint64_t sent = now(p);
    lk_hold *hold;

    p->answers[PLAYED_ACQUIRE] = PLAYED_GRANTED("5000", "90000");
    hold = take(p);
    assert_lasts(p, hold, sent, LEASE_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    p->answers[PLAYED_ACQUIRE] = PLAYED_GRANTED("6000", "-1");
    hold = NULL;
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_EINDOUBT);
    assert_null(hold);
    played_free(p);
}

/* ---- pushed grants --------------------------------------------------------- */

static void
a_pushed_grant_lasts_from_when_the_acquire_was_sent(played *p, ways w)
{
    uint64_t sent = now(p);
    call c = {0};

    go(p, w);
    begin_to_wait(p, &c);
    played_run_ms(p, w.request_ms + w.reply_ms);
    go_quickly(p);
    played_grant(p, p->ticket, 5000, GRANT_MS);
    played_run_ms(p, 1);
    assert_lasts(p, granted(&c), sent, GRANT_MS);
    give(p, c.hold);
}

static void
a_pushed_grant_lasts_from_when_the_last_look_was_sent(played *p, ways w)
{
    uint64_t sent;
    call c = {0};

    queue_up(p, &c);
    go(p, w);
    run_until_count(p, PLAYED_RECHECK, 1);
    sent = p->times[PLAYED_RECHECK] - w.request_ms * FAKE_MS;
    played_run_ms(p, w.reply_ms);
    go_quickly(p);
    played_grant(p, p->ticket, 5000, GRANT_MS);
    played_run_ms(p, 1);
    assert_lasts(p, granted(&c), sent, GRANT_MS);
    give(p, c.hold);
}

/* A look is under way, which proves nothing yet. */
static void
a_look_without_an_answer_does_not_lengthen_a_grant(played *p, ways w)
{
    uint64_t sent = now(p);
    call c = {0};

    queue_up(p, &c);
    go(p, w);
    while (played_stats(p).rechecks == 0)
        assert_true(fake_world_step(p->world));
    go_quickly(p);
    played_grant(p, p->ticket, 5000, 30000);
    played_run_ms(p, 1);
    assert_lasts(p, granted(&c), sent, 30000);
    give(p, c.hold);
}

static void a_grant_is_late_by_when_the_acquire_was_sent(played *p, ways w)
{
    call c = {0};

    go(p, w);
    begin_to_wait(p, &c);
    played_run_ms(p, w.request_ms + w.reply_ms);
    go_quickly(p);
    played_grant(p, p->ticket, 5000, GRANT_MS);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(played_stats(p).grants_late, 1);
    played_run_ms(p, 2);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    give(p, granted(&c));
}

static void a_grant_is_late_by_when_the_look_was_sent(played *p, ways w)
{
    call c = {0};

    queue_up(p, &c);
    go(p, w);
    run_until_count(p, PLAYED_RECHECK, 1);
    played_run_ms(p, w.reply_ms);
    go_quickly(p);
    played_grant(p, p->ticket, 5000, GRANT_MS);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(played_stats(p).grants_late, 1);
    played_run_ms(p, 2000);
    give(p, granted(&c));
}

/*
 * The first acquire ran, unanswered, and the grant may be to that one, or
 * forged: no ticket is known yet. The claim looks as soon as one is.
 */
static void a_grant_before_its_ticket_is_known_is_looked_after(NO_STATE)
{
    played *p = playing_calm();
    call c = {0};

    p->answers[PLAYED_ACQUIRE] = played_silence;
    begin_to_wait(p, &c);
    run_until_count(p, PLAYED_ACQUIRE, 2);
    played_grant(p, 7, 5000, GRANT_MS);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(p->counts[PLAYED_RECHECK], 0);
    p->is_held = false; /* by another: it is granted to this one */
    fake_say(p->silent, PLAYED_QUEUED("3000", "7", "0"));
    p->silent = NULL;
    played_run_ms(p, 10);
    assert_int_equal(p->counts[PLAYED_RECHECK], 1);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 0);
    assert_int_equal(played_stats(p).grants, 0);
    give(p, granted(&c));
    played_free(p);
}

static void a_late_grant_lasts_from_when_the_confirm_was_sent(played *p, ways w)
{
    call c = {0};

    queue_up(p, &c);
    played_grant(p, p->ticket, 5000, GRANT_MS);
    fake_world_freeze(p->world, 2000 * FAKE_MS);
    go(p, w);
    run_until_count(p, PLAYED_CONFIRM, 1);
    played_run_ms(p, w.reply_ms);
    assert_lasts(p, granted(&c),
                 p->times[PLAYED_CONFIRM] - w.request_ms * FAKE_MS, LEASE_MS);
    give(p, c.hold);
}

static void a_pushed_lease_is_never_longer_than_it_was_asked_for(NO_STATE)
{
    played *p = playing_calm();
    uint64_t sent = now(p);
    call c = {0};

    queue_up(p, &c);
    played_grant(p, p->ticket, 5000, 90000);
    played_run_ms(p, 1);
    assert_lasts(p, granted(&c), sent, LEASE_MS);
    give(p, c.hold);
    played_free(p);
}

/* ---- renewals, extensions, imports, passes ---------------------------------- */

static void a_hold_lasts_from_when_its_renewal_was_sent(played *p, ways w)
{
    lk_hold *hold = take(p);

    go(p, w);
    run_until_count(p, PLAYED_RENEW, 1);
    played_run_ms(p, w.reply_ms);
    assert_lasts(p, hold, p->times[PLAYED_RENEW] - w.request_ms * FAKE_MS,
                 LEASE_MS);
    give(p, hold);
}

static void a_hold_lasts_from_when_its_extension_was_sent(played *p, ways w)
{
    lk_hold *hold = take(p);
    uint64_t sent;

    p->answers[PLAYED_CONFIRM] = "*4\r\n:1\r\n:60000\r\n:0\r\n:63\r\n";
    go(p, w);
    sent = now(p);
    assert_status(lk_hold_extend(hold, 60000), LK_OK);
    assert_lasts(p, hold, sent, 60000);
    give(p, hold);
}

static void
an_imported_hold_lasts_from_when_it_was_asked_about(played *p, ways w)
{
    static const char text[] = "latchkey2 lock "
                               "00000000-0000-4000-8000-000000000000:7 "
                               "500 510 30000 1 n";
    uint64_t sent = now(p);
    lk_hold *hold = NULL;

    p->is_held = true;
    go(p, w);
    assert_status(lk_lock_import(p->lock, text, NULL, &hold), LK_OK);
    assert_lasts(p, hold, sent, LEASE_MS);
    give(p, hold);
}

/* One more waits in this client: the server is asked whether others do. */
static void a_hold_lasts_from_when_the_others_were_asked_for(played *p, ways w)
{
    lk_hold *hold = take(p);
    uint64_t sent;
    call c = {0};

    played_run_ms(p, 1000);
    go(p, w);
    sent = now(p);
    begin_to_wait(p, &c);
    played_run_ms(p, w.request_ms + w.reply_ms);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_lasts(p, hold, sent, LEASE_MS);
    /* "Nobody waits" was so when it was asked, too long ago. */
    assert_status(lk_hold_release_async(hold, NULL, NULL), LK_OK);
    played_run_ms(p, w.request_ms);
    assert_int_equal(p->counts[PLAYED_RELEASE], 1);
    assert_int_equal(played_stats(p).passes, 0);
    played_run_ms(p, 10000);
    give(p, granted(&c));
}

/* ---- what comes too late ---------------------------------------------------- */

/* The answer lies in the socket while the process stands still beyond the
   deadline: it would have moved that on. */
static void a_late_renewal_does_not_bring_a_hold_back(NO_STATE)
{
    played *p = playing_calm();
    lk_hold *hold = take(p);

    run_until_count(p, PLAYED_RENEW, 1);
    fake_world_freeze(p->world, 25000 * FAKE_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    played_run_ms(p, 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(played_stats(p).losses, 1);
    assert_status(lk_hold_release(hold), LK_ELOST);
    played_free(p);
}

static void a_late_extension_does_not_bring_a_hold_back(NO_STATE)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = 20000};
    played *p = playing_calm();
    lk_hold *hold = NULL;
    call c = {0};

    p->answers[PLAYED_CONFIRM] = "*4\r\n:1\r\n:60000\r\n:0\r\n:63\r\n";
    assert_status(lk_lock_acquire(p->lock, 0, &options, &hold), LK_OK);
    assert_status(lk_hold_extend_async(hold, 60000, call_on_done, &c), LK_OK);
    run_until_count(p, PLAYED_CONFIRM, 1);
    fake_world_freeze(p->world, 25000 * FAKE_MS);
    played_run_ms(p, 1);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_ELOST);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
    played_free(p);
}

int test_seam_ways(void)
{
    const struct CMUnitTest tests[] = {
        EACH_WAY(slow, a_hold_lasts_from_when_the_acquire_was_sent),
        EACH_WAY(slow, a_hold_lasts_from_when_the_look_was_sent),
        cmocka_unit_test(a_lease_is_never_longer_than_it_was_asked_for),
        EACH_WAY(slow, a_pushed_grant_lasts_from_when_the_acquire_was_sent),
        EACH_WAY(slow, a_pushed_grant_lasts_from_when_the_last_look_was_sent),
        EACH_WAY(slow, a_look_without_an_answer_does_not_lengthen_a_grant),
        EACH_WAY(slower, a_grant_is_late_by_when_the_acquire_was_sent),
        EACH_WAY(slower, a_grant_is_late_by_when_the_look_was_sent),
        cmocka_unit_test(a_grant_before_its_ticket_is_known_is_looked_after),
        EACH_WAY(slow, a_late_grant_lasts_from_when_the_confirm_was_sent),
        cmocka_unit_test(a_pushed_lease_is_never_longer_than_it_was_asked_for),
        EACH_WAY(slow, a_hold_lasts_from_when_its_renewal_was_sent),
        EACH_WAY(slow, a_hold_lasts_from_when_its_extension_was_sent),
        EACH_WAY(slow, an_imported_hold_lasts_from_when_it_was_asked_about),
        EACH_WAY(slow, a_hold_lasts_from_when_the_others_were_asked_for),
        cmocka_unit_test(a_late_renewal_does_not_bring_a_hold_back),
        cmocka_unit_test(a_late_extension_does_not_bring_a_hold_back),
    };

    return cmocka_run_group_tests_name("seam_ways", tests, NULL, NULL);
}
