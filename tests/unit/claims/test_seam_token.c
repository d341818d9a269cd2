/* SPDX-License-Identifier: MIT */

/*
 * A redlock's hold over slow ways, on a virtual clock: it lasts from when its
 * vote was asked for, and no late answer brings it back. And what its release
 * tells when the server has the token no longer.
 */

#include <latchkey/redlock.h>

#include "base/deadline.h"
#include "support/check.h"
#include "support/played.h"

enum { LEASE_MS = 30000 };

typedef struct ways {
    uint64_t request_ms, reply_ms;
} ways;

static const ways slow[] = {{600, 1}, {1, 600}};

/* One server: its vote is the quorum. */
static played *p;
static lk_redlock *redlock;

static int begin(NO_STATE)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .node_timeout_ms = 1500};

    p = played_new(1, NULL);
    redlock = NULL;
    assert_status(lk_redlock_new(&redlock, &p->client, 1, "token", &options),
                  LK_OK);
    return 0;
}

static int end(NO_STATE)
{
    lk_redlock_free(redlock);
    played_free(p);
    return 0;
}

/* A trial is made with each pair of ways. */
typedef struct trial {
    void (*run)(ways w);
} trial;

static void each_way(void **state)
{
    const trial *t = *state;

    for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
        (void)begin(NULL);
        t->run(slow[i]);
        (void)end(NULL);
    }
}

static uint64_t now(void)
{
    return fake_world_now(p->world);
}

static void go(ways w)
{
    played_ways(p, w.request_ms, w.reply_ms);
}

static lk_hold *take(void)
{
    lk_hold *hold = NULL;

    assert_status(lk_redlock_acquire(redlock, 0, NULL, &hold), LK_OK);
    return hold;
}

static void give(lk_hold *hold)
{
    played_ways(p, 1, 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void assert_lasts(const lk_hold *hold, uint64_t sent)
{
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(lk_hold_remaining_ms(hold),
                     lk__remaining_ms(now(), lk__deadline_ns(sent, LEASE_MS)));
}

static void run_until_renewed(unsigned count)
{
    while (p->counts[PLAYED_TOKEN_RENEW] < count)
        assert_true(fake_world_step(p->world));
}

static void a_token_lasts_from_when_it_was_asked_for(ways w)
{
    uint64_t sent = now();
    lk_hold *hold;

    go(w);
    hold = take();
    assert_lasts(hold, sent);
    give(hold);
}

static void a_token_lasts_from_when_its_renewal_was_sent(ways w)
{
    lk_hold *hold = take();

    go(w);
    run_until_renewed(1);
    played_run_ms(p, w.reply_ms);
    assert_lasts(hold, p->times[PLAYED_TOKEN_RENEW] - w.request_ms * FAKE_MS);
    give(hold);
}

static void a_token_lasts_from_when_its_extension_was_sent(ways w)
{
    lk_hold *hold = take();
    uint64_t sent;

    played_run_ms(p, 5000);
    go(w);
    sent = now();
    assert_status(lk_hold_extend(hold, LEASE_MS), LK_OK);
    assert_lasts(hold, sent);
    give(hold);
}

/* The answer lies in the socket while the process stands still beyond the
   deadline: it would have moved that on. */
static void a_late_answer_does_not_bring_a_token_back(NO_STATE)
{
    lk_hold *hold;

    hold = take();
    run_until_renewed(1);
    fake_world_freeze(p->world, 25000 * FAKE_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    played_run_ms(p, 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    played_run_ms(p, 60000);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

static void assert_released(unsigned scripts, unsigned commands)
{
    assert_int_equal(p->counts[PLAYED_TOKEN_RELEASE], scripts);
    assert_int_equal(p->delifeqs, commands);
}

#define GONE "*3\r\n:1\r\n:0\r\n:0\r\n"

static void say_gone(void *data)
{
    (void)data;
    p->answers[PLAYED_TOKEN_RELEASE] = GONE;
}

/* The first release took the token away, and its answer was lost. */
static void a_release_that_is_sent_again_finds_no_loss(NO_STATE)
{
    lk_hold *hold;

    hold = take();
    p->answers[PLAYED_TOKEN_RELEASE] = played_end;
    fake_world_at(p->world, now() + 2 * FAKE_MS, say_gone, NULL);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_released(2, 0);
}

static void a_release_that_is_sent_once_finds_the_loss(NO_STATE)
{
    lk_hold *hold;

    hold = take();
    p->answers[PLAYED_TOKEN_RELEASE] = GONE;
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_released(1, 0);
}

/* ---- DELIFEQ --------------------------------------------------------------- */

#define HAS_IT    "*3\r\n:1\r\n:1\r\n:1\r\n"
#define LACKS_IT  "*3\r\n:1\r\n:1\r\n:0\r\n"
#define NO_RIGHT  "-NOPERM User app has no permissions to run 'delifeq'\r\n"
#define NO_STRING "-WRONGTYPE Operation against a key\r\n"

/* The first release has the script ask, and the server has it. */
static void begin_with(const char *answer)
{
    p->delifeq_answer = answer;
    p->answers[PLAYED_TOKEN_RELEASE] = HAS_IT;
    assert_status(lk_hold_release(take()), LK_OK);
    assert_released(1, 0);
}

static void a_release_asks_once_for_delifeq_and_uses_it(NO_STATE)
{
    begin_with(":1\r\n");
    assert_status(lk_hold_release(take()), LK_OK);
    assert_status(lk_hold_release(take()), LK_OK);
    assert_released(1, 2);
    p->delifeq_answer = ":0\r\n";
    assert_status(lk_hold_release(take()), LK_ELOST);
    assert_released(1, 3);
}

static void a_server_without_delifeq_is_not_sent_it(NO_STATE)
{
    p->answers[PLAYED_TOKEN_RELEASE] = LACKS_IT;
    for (unsigned i = 1; i <= 3; i++) {
        assert_status(lk_hold_release(take()), LK_OK);
        assert_released(i, 0);
    }
    /* It was not asked, so this is not believed. */
    p->answers[PLAYED_TOKEN_RELEASE] = HAS_IT;
    for (unsigned i = 4; i <= 6; i++) {
        assert_status(lk_hold_release(take()), LK_OK);
        assert_released(i, 0);
    }
}

/* The same release goes on with the script, behind what was sent before. */
static void a_denied_delifeq_is_said_once(NO_STATE)
{
    begin_with(NO_RIGHT);
    for (unsigned i = 2; i <= 4; i++) {
        assert_status(lk_hold_release(take()), LK_OK);
        assert_released(i, 1);
    }
    assert_int_equal(p->links[PLAYED_TOKEN_RELEASE], p->delifeq_link);
}

static void a_key_of_another_type_is_a_loss_by_either(NO_STATE)
{
    begin_with(NO_STRING);
    p->answers[PLAYED_TOKEN_RELEASE] = GONE;
    assert_status(lk_hold_release(take()), LK_ELOST);
    assert_released(2, 1);
    p->delifeq_answer = ":1\r\n";
    assert_status(lk_hold_release(take()), LK_OK);
    assert_released(2, 2);
}

static void say_zero(void *data)
{
    (void)data;
    p->delifeq_answer = ":0\r\n";
}

/* Another server may be there now: the script is sent again. */
static void a_delifeq_in_doubt_goes_on_as_a_script(NO_STATE)
{
    lk_hold *hold;

    begin_with(played_end);
    p->answers[PLAYED_TOKEN_RELEASE] = GONE;
    hold = take();
    fake_world_at(p->world, now() + 2 * FAKE_MS, say_zero, NULL);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_released(2, 1);
    p->answers[PLAYED_TOKEN_RELEASE] = HAS_IT;
    assert_status(lk_hold_release(take()), LK_OK);
    assert_status(lk_hold_release(take()), LK_ELOST);
    assert_released(3, 2);
}

static void what_is_no_answer_of_delifeq_is_not_believed(NO_STATE)
{
    static const char *const answers[] = {":2\r\n", ":-1\r\n", "+OK\r\n",
                                          "*3\r\n:1\r\n:1\r\n:1\r\n"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        (void)begin(NULL);
        begin_with(answers[i]);
        assert_status(lk_hold_release(take()), LK_EPENDING);
        (void)end(NULL);
    }
}

int test_seam_token(void)
{
#define TEST(f)       cmocka_unit_test_setup_teardown(f, begin, end)
#define EACH_WAY(run) CHECK_CASE(run, each_way, (&(trial){run}))
    const struct CMUnitTest tests[] = {
        EACH_WAY(a_token_lasts_from_when_it_was_asked_for),
        EACH_WAY(a_token_lasts_from_when_its_renewal_was_sent),
        EACH_WAY(a_token_lasts_from_when_its_extension_was_sent),
        TEST(a_late_answer_does_not_bring_a_token_back),
        TEST(a_release_that_is_sent_again_finds_no_loss),
        TEST(a_release_that_is_sent_once_finds_the_loss),
        TEST(a_release_asks_once_for_delifeq_and_uses_it),
        TEST(a_server_without_delifeq_is_not_sent_it),
        TEST(a_denied_delifeq_is_said_once),
        TEST(a_key_of_another_type_is_a_loss_by_either),
        TEST(a_delifeq_in_doubt_goes_on_as_a_script),
        cmocka_unit_test(what_is_no_answer_of_delifeq_is_not_believed),
    };

    return cmocka_run_group_tests_name("seam_token", tests, NULL, NULL);
}
