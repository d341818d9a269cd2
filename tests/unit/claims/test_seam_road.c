/* SPDX-License-Identifier: MIT */

/* The client on a virtual clock: the road of the renewals, and the acquires
   that stay behind late ones. */

#include <latchkey/redlock.h>

#include <errno.h>
#include <string.h>

#include "claims/node.h"
#include "engine/client.h"
#include "redlock/token.h"
#include "support/check.h"
#include "support/played.h"

enum {
    LEASE_MS = 3000,
    DUE_MS = LEASE_MS / 3,
    LONG_MS = 60000,
    SECOND_MS = 1000,
    COMMAND_LINK = 0,
    LANE_LINK = 2, /* the inbox is 1 */
    MANY = 100,
    WINDOW_LEAST = 32
};

/* To any name. */
static const char granted[] = PLAYED_GRANTED("500000", "3000");

/* ---- what the log says ------------------------------------------------------- */

struct told {
    unsigned held_back, go_on, among;
};

static void on_log(lk_log_level level, const char *text, void *data)
{
    struct told *told = data;

    (void)level;
    told->held_back += strstr(text, "acquires are held back") != NULL;
    told->go_on += strstr(text, "acquires go on") != NULL;
    told->among += strstr(text, "renewals go among the commands") != NULL;
}

/* ---- each test ----------------------------------------------------------------- */

static played *p;
static struct told told;
static lk_hold *hold;
static lk_redlock *redlock;

/* A client that is patient with a connection on which nothing comes. Its holds last
   for LEASE_MS, unless the test's state is how long. */
static int start(void **state)
{
    const unsigned *lease_ms = *state;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           lease_ms ? *lease_ms : LEASE_MS,
                                       .command_timeout_ms = LONG_MS,
                                       .log = on_log,
                                       .log_data = &told,
                                       .log_level = LK_LOG_INFO};

    told = (struct told){0};
    p = played_new(7, &options);
    return 0;
}

/* With a hold, and the inbox that it opens, whose coming renews it once. */
static int take(void **state)
{
    (void)start(state);
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(p, 100);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 1);
    assert_int_equal(p->links[PLAYED_CONFIRM], COMMAND_LINK);
    return 0;
}

/* With a hold on a redlock of one server. */
static int take_token(void **state)
{
    (void)start(state);
    assert_status(lk_redlock_new(&redlock, &p->client, 1, "token", NULL),
                  LK_OK);
    assert_status(lk_redlock_acquire(redlock, 0, NULL, &hold), LK_OK);
    return 0;
}

static int end(NO_STATE)
{
    if (hold != NULL)
        lk_hold_release(hold);
    hold = NULL;
    lk_redlock_free(redlock);
    redlock = NULL;
    played_free(p);
    return 0;
}

static void give_back(void)
{
    assert_status(lk_hold_release(hold), LK_OK);
    hold = NULL;
}

/* In each greeting to come. */
static void server_becomes(const char *run_id)
{
    (void)snprintf(p->run_id, sizeof(p->run_id), "%s", run_id);
}

/* ---- the lane ------------------------------------------------------------------ */

static void a_hold_of_moments_opens_no_third_connection(NO_STATE)
{
    played_run_ms(p, DUE_MS / 2);
    assert_int_equal(p->connects, 2);
    played_run_ms(p, DUE_MS);
    assert_int_equal(p->connects, 3);
    assert_int_equal(p->links[PLAYED_RENEW], LANE_LINK);
    give_back();
    assert_int_equal(p->links[PLAYED_RELEASE], COMMAND_LINK);
}

static void a_renewal_does_not_stand_behind_commands(NO_STATE)
{
    fake_stall(fake_world_link(p->world, COMMAND_LINK),
               fake_world_now(p->world) + LONG_MS * FAKE_MS);
    played_run_ms(p, UINT64_C(3) * LEASE_MS);
    assert_in_range(played_renewals(p), 8, 12);
    assert_status(lk_hold_check(hold), LK_OK);
}

static void without_a_lane_renewals_go_among_the_commands(NO_STATE)
{
    p->connect_answer = -ECONNREFUSED;
    played_run_ms(p, UINT64_C(3) * LEASE_MS);
    assert_int_equal(p->links[PLAYED_RENEW], COMMAND_LINK);
    assert_in_range(played_stats(p).renewals_shared, 6, 10);
    assert_int_equal(told.among, 1);
    p->connect_answer = 0;
    played_run_ms(p, LEASE_MS);
    assert_true(p->links[PLAYED_RENEW] > COMMAND_LINK);
    assert_int_equal(told.among, 1);
    give_back();
}

static void a_lane_that_does_not_come_is_not_waited_for(NO_STATE)
{
    p->connect_answer = SIM_SILENT;
    played_run_ms(p, DUE_MS + LEASE_MS / 16);
    assert_int_equal(played_renewals(p), 2);
    assert_int_equal(p->links[PLAYED_RENEW], COMMAND_LINK);
    give_back();
}

static void what_a_broken_lane_did_not_answer_is_renewed_again(NO_STATE)
{
    played_renew_so(p, played_silence);
    played_run_ms(p, DUE_MS);
    assert_int_equal(p->silent, fake_world_link(p->world, LANE_LINK));
    assert_int_equal(played_renewals(p), 2);
    played_renew_so(p, NULL);
    p->silent = NULL;
    fake_break(fake_world_link(p->world, LANE_LINK));
    played_run_ms(p, 200);
    assert_int_equal(played_renewals(p), 3);
    assert_true(lk_hold_remaining_ms(hold) > LEASE_MS * 8 / 10);
    give_back();
}

/* Another process says of every hold that there is none. */
static void a_lane_to_another_server_renews_nothing(NO_STATE)
{
    server_becomes("fedcba");
    played_run_ms(p, UINT64_C(3) * LEASE_MS);
    assert_true(p->connects > 3);
    assert_in_range(played_renewals(p), 8, 12);
    assert_int_equal(p->links[PLAYED_RENEW], COMMAND_LINK);
    server_becomes("abcdef");
    played_run_ms(p, LEASE_MS);
    assert_true(p->links[PLAYED_RENEW] > LANE_LINK);
    give_back();
}

/* A server that says nothing of itself is the same as no other. */
static void a_lane_to_a_nameless_server_renews_nothing(NO_STATE)
{
    unsigned renewals, connects;

    server_becomes("");
    played_break(p);
    played_run_ms(p, LEASE_MS);
    p->connect_answer = SIM_SILENT;
    fake_break(fake_world_link(p->world, played_renewed_over(p)));
    played_run_ms(p, 10);
    renewals = played_renewals(p);
    connects = p->connects;
    p->connect_answer = 0;
    played_run_ms(p, LEASE_MS / 2);
    assert_true(p->connects > connects);
    assert_int_equal(played_renewals(p), renewals);
}

/* The lane is at the server that the commands have left. */
static void a_lane_is_left_when_the_commands_go_elsewhere(NO_STATE)
{
    unsigned renewals;

    played_run_ms(p, DUE_MS);
    assert_int_equal(p->links[PLAYED_RENEW], LANE_LINK);
    server_becomes("fedcba");
    fake_break(fake_world_link(p->world, COMMAND_LINK));
    played_run_ms(p, 100);
    renewals = played_renewals(p);
    played_run_ms(p, LEASE_MS);
    assert_true(played_renewals(p) > renewals);
    assert_true(p->links[PLAYED_RENEW] > LANE_LINK);
}

static void a_lane_renews_on_while_the_commands_are_away(NO_STATE)
{
    played_run_ms(p, DUE_MS);
    p->connect_answer = -ECONNREFUSED;
    fake_break(fake_world_link(p->world, COMMAND_LINK));
    played_run_ms(p, UINT64_C(3) * LEASE_MS);
    assert_int_equal(p->links[PLAYED_RENEW], LANE_LINK);
    assert_status(lk_hold_check(hold), LK_OK);
}

static void a_released_hold_is_not_revived_by_a_late_answer(NO_STATE)
{
    uint64_t renewals;

    played_run_ms(p, DUE_MS);
    renewals = played_stats(p).renewals;
    fake_stall(fake_world_link(p->world, LANE_LINK),
               fake_world_now(p->world) + LEASE_MS / 2 * FAKE_MS);
    played_run_ms(p, DUE_MS);
    assert_int_equal(played_stats(p).pending, 1);
    give_back();
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    played_run_ms(p, LEASE_MS / 5);
    assert_int_equal(played_stats(p).pending, 0);
    assert_int_equal(played_stats(p).renewals, renewals);
    assert_int_equal(played_stats(p).holding, 1);
    give_back();
}

/* Its first renewal opens the lane, and does not wait for it. */
static void tokens_of_a_redlock_take_the_lane_too(NO_STATE)
{
    played_run_ms(p, UINT64_C(15) * SECOND_MS);
    assert_int_equal(p->counts[PLAYED_TOKEN_RENEW], 1);
    assert_int_equal(p->links[PLAYED_TOKEN_RENEW], COMMAND_LINK);
    fake_stall(fake_world_link(p->world, COMMAND_LINK),
               fake_world_now(p->world) + LONG_MS * FAKE_MS);
    played_run_ms(p, UINT64_C(45) * SECOND_MS);
    assert_in_range(p->counts[PLAYED_TOKEN_RENEW], 5, 6);
    assert_int_not_equal(p->links[PLAYED_TOKEN_RENEW], COMMAND_LINK);
    assert_status(lk_hold_check(hold), LK_OK);
}

static void tokens_are_renewed_while_the_commands_are_away(NO_STATE)
{
    played_run_ms(p, UINT64_C(25) * SECOND_MS);
    assert_int_equal(p->counts[PLAYED_TOKEN_RENEW], 2);
    assert_int_not_equal(p->links[PLAYED_TOKEN_RENEW], COMMAND_LINK);
    p->connect_answer = -ECONNREFUSED;
    fake_break(fake_world_link(p->world, COMMAND_LINK));
    played_run_ms(p, UINT64_C(45) * SECOND_MS);
    assert_in_range(p->counts[PLAYED_TOKEN_RENEW], 6, 7);
    assert_status(lk_hold_check(hold), LK_OK);
}

/* Commands that are given up say nothing of what is on its own road. */
static void a_renewal_under_way_outlives_the_commands(NO_STATE)
{
    played_run_ms(p, UINT64_C(29) * SECOND_MS);
    assert_int_equal(p->counts[PLAYED_TOKEN_RENEW], 2);
    fake_stall(fake_world_link(p->world, p->links[PLAYED_TOKEN_RENEW]),
               fake_world_now(p->world) + UINT64_C(8) * SECOND_MS * FAKE_MS);
    p->connect_answer = -ECONNREFUSED;
    fake_break(fake_world_link(p->world, COMMAND_LINK));
    played_run_ms(p, UINT64_C(9) * SECOND_MS);
    assert_int_equal(p->counts[PLAYED_TOKEN_RENEW], 3);
    assert_status(lk_hold_check(hold), LK_OK);
}

/* The commands are about to go to another process, which loads: what the lane
   says is still the old one's. Two votes of one process count as one. */
static void a_vote_is_of_the_server_that_renewed_it(NO_STATE)
{
    const lk__token *token;

    token = (const lk__token *)(const void *)hold;
    played_run_ms(p, UINT64_C(25) * SECOND_MS);
    server_becomes("fedcba");
    p->ping_answer = "-LOADING Redis is loading the dataset in memory\r\n";
    fake_break(fake_world_link(p->world, COMMAND_LINK));
    played_run_ms(p, UINT64_C(10) * SECOND_MS);
    assert_int_equal(p->counts[PLAYED_TOKEN_RENEW], 3);
    assert_string_equal(p->client->node->command_greeting.run_id, "fedcba");
    assert_string_equal(token->votes[0].server, "abcdef");
}

/* What the inbox missed is asked for after it has come back: a renewal that was
   sent before says nothing of it. */
static void an_inbox_that_comes_back_is_followed_by_a_renewal(NO_STATE)
{
    played_run_ms(p, UINT64_C(12) * DUE_MS);
    assert_int_equal(played_renewals(p), 2);
    fake_stall(fake_world_link(p->world, LANE_LINK),
               fake_world_now(p->world) + UINT64_C(12) * DUE_MS * FAKE_MS);
    played_run_ms(p, UINT64_C(10) * DUE_MS);
    fake_break(p->inbox_link);
    played_run_ms(p, DUE_MS);
    assert_int_equal(p->connects, 4);
    assert_int_equal(played_stats(p).renewals, 2);
    played_run_ms(p, UINT64_C(2) * DUE_MS);
    assert_int_equal(played_renewals(p), 4);
    assert_int_equal(p->counts[PLAYED_CONFIRM], 2); /* with its record */
    give_back();
}

/* ---- the pace ------------------------------------------------------------------- */

struct many {
    lk_lock *locks[MANY];
    lk_hold *holds[MANY];
    unsigned count, ended;
    lk_status last;
};

static void on_acquired(lk_status status, lk_hold *got, void *data)
{
    struct many *many = data;

    many->last = status;
    many->holds[many->ended++] = got;
}

static void ask(struct many *many, unsigned count, int64_t wait_ms)
{
    char name[32];

    for (unsigned i = 0; i < count; i++) {
        lk_lock **lock = &many->locks[many->count++];

        (void)snprintf(name, sizeof(name), "m%u", many->count);
        assert_status(lk_lock_new(lock, p->client, name, NULL), LK_OK);
        assert_status(lk_lock_acquire_async(*lock, wait_ms, NULL, on_acquired,
                                            many),
                      LK_OK);
    }
}

static void many_free(struct many *many)
{
    for (unsigned i = 0; i < many->count; i++) {
        lk_hold_release(many->holds[i]);
        lk_lock_free(many->locks[i]);
    }
}

static void acquires_stay_here_while_a_renewal_is_late(NO_STATE)
{
    struct many many = {.count = 0};

    p->answers[PLAYED_ACQUIRE] = granted;
    played_renew_so(p, played_silence);
    played_run_ms(p, UINT64_C(10) * DUE_MS);
    assert_int_equal(played_stats(p).renewals_late, 0);
    played_run_ms(p, 5 * LEASE_MS / 4);
    assert_int_equal(played_stats(p).renewals_late, 1);
    assert_int_equal(told.held_back, 1);

    ask(&many, 3, LK_FOREVER);
    played_run_ms(p, DUE_MS);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1);
    assert_int_equal(played_stats(p).holding_back, 3);

    played_renew_so(p, NULL);
    p->silent = NULL;
    fake_break(fake_world_link(p->world, LANE_LINK));
    played_run_ms(p, 200);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 4);
    assert_int_equal(many.ended, 3);
    assert_status(many.last, LK_OK);
    assert_int_equal(told.go_on, 1);
    assert_int_equal(played_stats(p).renewals_late, 0);
    assert_int_equal(played_stats(p).holding_back, 0);
    assert_int_equal(played_stats(p).held_back, 3);
    assert_int_equal(played_stats(p).losses, 0);
    many_free(&many);
}

/* Nothing was sent: it is not in doubt, and nobody is known to hold it. */
static void what_is_held_back_ends_in_its_own_time(NO_STATE)
{
    struct many many = {.count = 0};
    lk_hold *none = NULL;
    uint64_t began;
    lk_lock *lock;

    played_renew_so(p, played_silence);
    played_run_ms(p, UINT64_C(14) * DUE_MS);
    assert_int_equal(played_stats(p).renewals_late, 1);
    ask(&many, 1, DUE_MS);
    began = played_now_ms(p);
    assert_status(lk_lock_new(&lock, p->client, "other", NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, INT64_C(2) * DUE_MS, NULL, &none),
                  LK_ETIMEDOUT);
    assert_int_equal(played_now_ms(p), began + UINT64_C(2) * DUE_MS);
    assert_non_null(strstr(lk_last_error(), "held back"));
    assert_int_equal(many.ended, 1);
    assert_status(many.last, LK_ETIMEDOUT);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1);
    assert_int_equal(p->counts[PLAYED_LEAVE], 0);
    assert_int_equal(played_stats(p).holding_back, 0);
    lk_lock_free(lock);
    many_free(&many);
}

/* It has a command's time. */
static void a_try_that_is_held_back_does_not_call_the_name_busy(NO_STATE)
{
    lk_hold *none = NULL;
    lk_lock *lock;

    assert_status(lk_lock_new(&lock, p->client, "other", NULL), LK_OK);
    played_renew_so(p, played_silence);
    played_run_ms(p, UINT64_C(126) * DUE_MS);
    assert_int_equal(played_stats(p).renewals_late, 1);
    assert_says(lk_lock_acquire(lock, 0, NULL, &none), LK_EFULL, "held back");
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1);
    lk_lock_free(lock);
}

static void no_more_is_under_way_than_is_answered_in_time(NO_STATE)
{
    struct many many = {.count = 0};
    lk_info *info = NULL;

    p->answers[PLAYED_ACQUIRE] = granted;
    p->world->path->ns[SIM_BACK] = 20 * FAKE_MS;
    for (unsigned i = 0; i < 30; i++) {
        assert_status(lk_lock_info(p->lock, &info), LK_OK);
        lk_info_free(info);
    }
    ask(&many, MANY, LK_FOREVER);
    assert_int_equal(played_stats(p).holding_back, MANY - WINDOW_LEAST);
    played_run_ms(p, 15);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1 + WINDOW_LEAST);
    played_run_ms(p, 100);
    assert_int_equal(p->counts[PLAYED_ACQUIRE], 1 + MANY);
    assert_int_equal(many.ended, MANY);
    many_free(&many);
}

int test_seam_road(void)
{
    static unsigned brief_ms = 1200;
    static unsigned longer_ms = 10 * LEASE_MS;
    static unsigned longest_ms = 100 * LEASE_MS;
#define LEASE_TEST(f) cmocka_unit_test_setup_teardown(f, take, end)
#define TOKEN_TEST(f) cmocka_unit_test_setup_teardown(f, take_token, end)
#define LONG_TEST(f, ms)                                                       \
    cmocka_unit_test_prestate_setup_teardown(f, take, end, &(ms))
    const struct CMUnitTest tests[] = {
        LEASE_TEST(a_hold_of_moments_opens_no_third_connection),
        LEASE_TEST(a_renewal_does_not_stand_behind_commands),
        LEASE_TEST(without_a_lane_renewals_go_among_the_commands),
        LEASE_TEST(a_lane_that_does_not_come_is_not_waited_for),
        LEASE_TEST(what_a_broken_lane_did_not_answer_is_renewed_again),
        LEASE_TEST(a_lane_to_another_server_renews_nothing),
        LEASE_TEST(a_lane_to_a_nameless_server_renews_nothing),
        LEASE_TEST(a_lane_is_left_when_the_commands_go_elsewhere),
        LEASE_TEST(a_lane_renews_on_while_the_commands_are_away),
        LEASE_TEST(a_released_hold_is_not_revived_by_a_late_answer),
        TOKEN_TEST(tokens_of_a_redlock_take_the_lane_too),
        TOKEN_TEST(tokens_are_renewed_while_the_commands_are_away),
        TOKEN_TEST(a_renewal_under_way_outlives_the_commands),
        TOKEN_TEST(a_vote_is_of_the_server_that_renewed_it),
        LONG_TEST(an_inbox_that_comes_back_is_followed_by_a_renewal, longer_ms),
        LONG_TEST(acquires_stay_here_while_a_renewal_is_late, longer_ms),
        LONG_TEST(what_is_held_back_ends_in_its_own_time, longer_ms),
        LONG_TEST(a_try_that_is_held_back_does_not_call_the_name_busy,
                  longest_ms),
        LONG_TEST(no_more_is_under_way_than_is_answered_in_time, brief_ms),
    };

    return cmocka_run_group_tests_name("seam_road", tests, NULL, NULL);
}
