/* SPDX-License-Identifier: MIT */

/*
 * A redlock's hold over slow ways, on a virtual clock: it lasts from when its
 * vote was asked for, and no late answer brings it back. And what its release
 * tells when the server has the token no longer.
 */

#include <latchkey/redlock.h>

#include "base/deadline.h"
#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

enum { LEASE_MS = 30000 };

typedef struct ways {
    uint64_t request_ms, reply_ms;
} ways;

static const ways slow[] = {{600, 1}, {1, 600}};

/* One server: its vote is the quorum. */
typedef struct scene {
    played *p;
    lk_redlock *redlock;
} scene;

static void scene_begin(scene *s)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT,
                                        .node_timeout_ms = 1500};

    s->p = played_new(1, NULL);
    s->redlock = NULL;
    assert_status(lk_redlock_new(&s->redlock, &s->p->client, 1, "token",
                                 &options),
                  LK_OK);
}

static void scene_end(scene *s)
{
    lk_redlock_free(s->redlock);
    played_free(s->p);
}

static void each_way(void (*test)(scene *s, ways w))
{
    for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
        scene s;

        scene_begin(&s);
        test(&s, slow[i]);
        scene_end(&s);
    }
}

static uint64_t now(const scene *s)
{
    return fake_world_now(s->p->world);
}

static void go(scene *s, ways w)
{
    played_ways(s->p, w.request_ms, w.reply_ms);
}

static lk_hold *take(scene *s)
{
    lk_hold *hold = NULL;

    assert_status(lk_redlock_acquire(s->redlock, 0, NULL, &hold), LK_OK);
    return hold;
}

static void give(scene *s, lk_hold *hold)
{
    played_ways(s->p, 1, 1);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void assert_lasts(const scene *s, const lk_hold *hold, uint64_t sent)
{
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(lk_hold_remaining_ms(hold),
                     lk__remaining_ms(now(s), lk__deadline_ns(sent, LEASE_MS)));
}

static void run_until_renewed(scene *s, unsigned count)
{
    while (s->p->counts[PLAYED_TOKEN_RENEW] < count)
        assert_true(fake_world_step(s->p->world));
}

static void acquire(scene *s, ways w)
{
    uint64_t sent = now(s);
    lk_hold *hold;

    go(s, w);
    hold = take(s);
    assert_lasts(s, hold, sent);
    give(s, hold);
}

static void a_token_lasts_from_when_it_was_asked_for(void **state)
{
    (void)state;
    each_way(acquire);
}

static void renewed(scene *s, ways w)
{
    lk_hold *hold = take(s);

    go(s, w);
    run_until_renewed(s, 1);
    played_run_ms(s->p, w.reply_ms);
    assert_lasts(s, hold,
                 s->p->times[PLAYED_TOKEN_RENEW] - w.request_ms * FAKE_MS);
    give(s, hold);
}

static void a_token_lasts_from_when_its_renewal_was_sent(void **state)
{
    (void)state;
    each_way(renewed);
}

static void extended(scene *s, ways w)
{
    lk_hold *hold = take(s);
    uint64_t sent;

    played_run_ms(s->p, 5000);
    go(s, w);
    sent = now(s);
    assert_status(lk_hold_extend(hold, LEASE_MS), LK_OK);
    assert_lasts(s, hold, sent);
    give(s, hold);
}

static void a_token_lasts_from_when_its_extension_was_sent(void **state)
{
    (void)state;
    each_way(extended);
}

/* The answer lies in the socket while the process stands still beyond the
   deadline: it would have moved that on. */
static void a_late_answer_does_not_bring_a_token_back(void **state)
{
    scene s;
    lk_hold *hold;

    (void)state;
    scene_begin(&s);
    hold = take(&s);
    run_until_renewed(&s, 1);
    fake_world_freeze(s.p->world, 25000 * FAKE_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    played_run_ms(s.p, 1);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_remaining_ms(hold), 0);
    played_run_ms(s.p, 60000);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_end(&s);
}

static void assert_released(const scene *s, unsigned scripts, unsigned commands)
{
    assert_int_equal(s->p->counts[PLAYED_TOKEN_RELEASE], scripts);
    assert_int_equal(s->p->delifeqs, commands);
}

#define GONE "*3\r\n:1\r\n:0\r\n:0\r\n"

static void say_gone(void *data)
{
    scene *s = data;

    s->p->answers[PLAYED_TOKEN_RELEASE] = GONE;
}

/* The first release took the token away, and its answer was lost. */
static void a_release_that_is_sent_again_finds_no_loss(void **state)
{
    scene s;
    lk_hold *hold;

    (void)state;
    scene_begin(&s);
    hold = take(&s);
    s.p->answers[PLAYED_TOKEN_RELEASE] = played_end;
    fake_world_at(s.p->world, now(&s) + 2 * FAKE_MS, say_gone, &s);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_released(&s, 2, 0);
    scene_end(&s);
}

static void a_release_that_is_sent_once_finds_the_loss(void **state)
{
    scene s;
    lk_hold *hold;

    (void)state;
    scene_begin(&s);
    hold = take(&s);
    s.p->answers[PLAYED_TOKEN_RELEASE] = GONE;
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_released(&s, 1, 0);
    scene_end(&s);
}

/* ---- DELIFEQ --------------------------------------------------------------- */

#define HAS_IT    "*3\r\n:1\r\n:1\r\n:1\r\n"
#define LACKS_IT  "*3\r\n:1\r\n:1\r\n:0\r\n"
#define NO_RIGHT  "-NOPERM User app has no permissions to run 'delifeq'\r\n"
#define NO_STRING "-WRONGTYPE Operation against a key\r\n"

/* The first release has the script ask, and the server has it. */
static void scene_begin_with(scene *s, const char *answer)
{
    scene_begin(s);
    s->p->delifeq_answer = answer;
    s->p->answers[PLAYED_TOKEN_RELEASE] = HAS_IT;
    assert_status(lk_hold_release(take(s)), LK_OK);
    assert_released(s, 1, 0);
}

static void a_release_asks_once_for_delifeq_and_uses_it(void **state)
{
    scene s;

    (void)state;
    scene_begin_with(&s, ":1\r\n");
    assert_status(lk_hold_release(take(&s)), LK_OK);
    assert_status(lk_hold_release(take(&s)), LK_OK);
    assert_released(&s, 1, 2);
    s.p->delifeq_answer = ":0\r\n";
    assert_status(lk_hold_release(take(&s)), LK_ELOST);
    assert_released(&s, 1, 3);
    scene_end(&s);
}

static void a_server_without_delifeq_is_not_sent_it(void **state)
{
    scene s;

    (void)state;
    scene_begin(&s);
    s.p->answers[PLAYED_TOKEN_RELEASE] = LACKS_IT;
    for (unsigned i = 1; i <= 3; i++) {
        assert_status(lk_hold_release(take(&s)), LK_OK);
        assert_released(&s, i, 0);
    }
    /* It was not asked, so this is not believed. */
    s.p->answers[PLAYED_TOKEN_RELEASE] = HAS_IT;
    for (unsigned i = 4; i <= 6; i++) {
        assert_status(lk_hold_release(take(&s)), LK_OK);
        assert_released(&s, i, 0);
    }
    scene_end(&s);
}

/* The same release goes on with the script, behind what was sent before. */
static void a_denied_delifeq_is_said_once(void **state)
{
    scene s;

    (void)state;
    scene_begin_with(&s, NO_RIGHT);
    for (unsigned i = 2; i <= 4; i++) {
        assert_status(lk_hold_release(take(&s)), LK_OK);
        assert_released(&s, i, 1);
    }
    assert_int_equal(s.p->links[PLAYED_TOKEN_RELEASE], s.p->delifeq_link);
    scene_end(&s);
}

static void a_key_of_another_type_is_a_loss_by_either(void **state)
{
    scene s;

    (void)state;
    scene_begin_with(&s, NO_STRING);
    s.p->answers[PLAYED_TOKEN_RELEASE] = GONE;
    assert_status(lk_hold_release(take(&s)), LK_ELOST);
    assert_released(&s, 2, 1);
    s.p->delifeq_answer = ":1\r\n";
    assert_status(lk_hold_release(take(&s)), LK_OK);
    assert_released(&s, 2, 2);
    scene_end(&s);
}

static void say_zero(void *data)
{
    scene *s = data;

    s->p->delifeq_answer = ":0\r\n";
}

/* Another server may be there now: the script is sent again. */
static void a_delifeq_in_doubt_goes_on_as_a_script(void **state)
{
    scene s;
    lk_hold *hold;

    (void)state;
    scene_begin_with(&s, played_end);
    s.p->answers[PLAYED_TOKEN_RELEASE] = GONE;
    hold = take(&s);
    fake_world_at(s.p->world, now(&s) + 2 * FAKE_MS, say_zero, &s);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_released(&s, 2, 1);
    s.p->answers[PLAYED_TOKEN_RELEASE] = HAS_IT;
    assert_status(lk_hold_release(take(&s)), LK_OK);
    assert_status(lk_hold_release(take(&s)), LK_ELOST);
    assert_released(&s, 3, 2);
    scene_end(&s);
}

static void what_is_no_answer_of_delifeq_is_not_believed(void **state)
{
    static const char *const answers[] = {":2\r\n", ":-1\r\n", "+OK\r\n",
                                          "*3\r\n:1\r\n:1\r\n:1\r\n"};

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        scene s;

        scene_begin_with(&s, answers[i]);
        assert_status(lk_hold_release(take(&s)), LK_EINDOUBT);
        scene_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_lasts_from_when_it_was_asked_for),
        cmocka_unit_test(a_token_lasts_from_when_its_renewal_was_sent),
        cmocka_unit_test(a_token_lasts_from_when_its_extension_was_sent),
        cmocka_unit_test(a_late_answer_does_not_bring_a_token_back),
        cmocka_unit_test(a_release_that_is_sent_again_finds_no_loss),
        cmocka_unit_test(a_release_that_is_sent_once_finds_the_loss),
        cmocka_unit_test(a_release_asks_once_for_delifeq_and_uses_it),
        cmocka_unit_test(a_server_without_delifeq_is_not_sent_it),
        cmocka_unit_test(a_denied_delifeq_is_said_once),
        cmocka_unit_test(a_key_of_another_type_is_a_loss_by_either),
        cmocka_unit_test(a_delifeq_in_doubt_goes_on_as_a_script),
        cmocka_unit_test(what_is_no_answer_of_delifeq_is_not_believed),
    };

    return cmocka_run_group_tests_name("seam_token", tests, NULL, NULL);
}
