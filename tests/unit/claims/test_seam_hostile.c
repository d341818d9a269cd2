/* SPDX-License-Identifier: MIT */

/*
 * A server, or something before it, that never comes to the point: streams that
 * end with the first script, answers that only ask to be asked again. What the
 * client spends on that is bounded, and once the server comes to the point, so
 * does the client.
 */

#include <latchkey/redlock.h>
#include <latchkey/siglock.h>

#include "support/call.h"
#include "support/check.h"
#include "support/playing.h"

enum {
    NEAR_US = 50,   /* to the server and back: the line is quick */
    HOSTILE_S = 10, /* for so long */
    MOST_CONNECTS = 10 * HOSTILE_S,
    MOST_REQUESTS = 60 * HOSTILE_S
};

static int setup(void **state)
{
    played *p;

    (void)playing_waited_setup(state);
    p = *state;
    *p->world->path = (sim_path){.ns = {NEAR_US * SIM_US, NEAR_US * SIM_US},
                                 .open_ns = NEAR_US * SIM_US};
    return 0;
}

static call c; /* outlives a test that fails */

static unsigned requests_of(const played *p)
{
    unsigned sum = 0;

    for (int i = 0; i < PLAYED_SCRIPTS; i++)
        sum += p->counts[i];
    return sum;
}

/* Somebody waits while the server is hostile; counts from there. */
static void wait_hostile(played *p)
{
    c = (call){0};
    playing_count_anew(p);
    p->connects = 0;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, UINT64_C(1000) * HOSTILE_S);
    assert_int_equal(c.ends, 0);
}

/* The server has come to its senses: the wait is over within a second. */
static void assert_recovers(played *p)
{
    for (int i = 0; i < PLAYED_SCRIPTS; i++)
        p->answers[i] = NULL;
    played_run_ms(p, 2500);
    assert_int_equal(c.ends, 1);
    assert_status(c.status, LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
}

#define TEST(name) CHECK_TEST_OF(name, played *p, setup, playing_teardown)

/* ---- connections ------------------------------------------------------------ */

TEST(a_stream_that_ends_with_each_script_comes_back_slowly)
{
    p->answers[PLAYED_ACQUIRE] = played_end;
    wait_hostile(p);
    assert_in_range(p->connects, 5, MOST_CONNECTS);
    assert_recovers(p);
}

TEST(a_stream_that_ends_after_one_answer_comes_back_slowly)
{
    p->is_held = true;
    p->answers[PLAYED_RECHECK] = played_end;
    p->answers[PLAYED_TOUCH] = played_end;
    wait_hostile(p);
    assert_in_range(p->connects, 5, MOST_CONNECTS);
    p->is_held = false;
    p->waiter_count = 0;
    assert_recovers(p);
}

/* ---- answers ---------------------------------------------------------------- */

static void
answers(played *p, const char *acquire, const char *recheck, const char *touch)
{
    p->answers[PLAYED_ACQUIRE] = acquire;
    p->answers[PLAYED_RECHECK] = recheck;
    p->answers[PLAYED_TOUCH] = touch;
    wait_hostile(p);
    assert_in_range(requests_of(p), 5, MOST_REQUESTS);
    assert_in_range(p->connects, 0, MOST_CONNECTS);
    assert_recovers(p);
}

TEST(void_and_void_again_is_asked_slowly)
{
    answers(p, "-LKVOID it was given up\r\n", NULL, NULL);
}

TEST(busy_where_one_could_queue_is_asked_slowly)
{
    answers(p, "*2\r\n:3\r\n:30000\r\n", NULL, NULL);
}

TEST(more_and_more_to_pass_on_is_asked_slowly)
{
    static const char more[] = PLAYED_LOOKED("30000", "0", "1", "*1\r\n:1\r\n");

    answers(p, PLAYED_QUEUED("0", "1", "1"), more, NULL);
}

TEST(a_queue_that_forgets_is_asked_slowly)
{
    static const char gone[] = PLAYED_LOOKED("30000", "0", "0", "*1\r\n:0\r\n");

    answers(p, PLAYED_QUEUED("30000", "1", "1"), gone, gone);
}

TEST(a_script_that_is_never_known_is_not_sent_for_ever)
{
    answers(p, "-NOSCRIPT No matching script.\r\n", NULL, NULL);
}

/* ---- what is no number --------------------------------------------------------- */

#define NO_NUMBER "$4\r\n12ab\r\n"

TEST(a_grant_of_no_number_is_none)
{
    lk_hold *hold = NULL;

    p->answers[PLAYED_ACQUIRE] = "*4\r\n:1\r\n" NO_NUMBER ":30000\r\n:63\r\n";
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    p->answers[PLAYED_ACQUIRE] = "*4\r\n:1\r\n:5\r\n" NO_NUMBER ":5\r\n";
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    assert_int_equal(played_stats(p).holding, 0);
}

/* Fences above 2^53: the hold could pass on fences that others round. */
TEST(a_grant_beyond_the_last_fence_is_none)
{
    lk_hold *hold = NULL;

    p->answers[PLAYED_ACQUIRE] =
        "*4\r\n:1\r\n:9007199254740991\r\n:30000\r\n:2\r\n";
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    assert_int_equal(played_stats(p).holding, 0);
}

/* "Lost", and why, is said with numbers. */
TEST(a_hold_is_not_lost_by_what_is_no_number)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    p->answers[PLAYED_CONFIRM] = "*2\r\n" NO_NUMBER ":2\r\n";
    assert_status(lk_hold_extend(hold, 60000), LK_EPROTO);
    assert_status(lk_hold_check(hold), LK_OK);
    p->answers[PLAYED_CONFIRM] = NULL;
    p->answers[PLAYED_CONFIRM] = "*2\r\n:1\r\n" NO_NUMBER;
    p->answers[PLAYED_RENEW] = "*2\r\n:1\r\n*2\r\n:1\r\n" NO_NUMBER;
    p->counts[PLAYED_RENEW] = p->counts[PLAYED_CONFIRM] = 0;
    played_run_ms(p, 15000);
    assert_true(played_renewals(p) > 0);
    assert_status(lk_hold_check(hold), LK_OK);
    played_renew_so(p, NULL);
    played_run_ms(p, 60000);
    assert_status(lk_hold_release(hold), LK_OK);
}

static void recover_soon(void *data)
{
    ((played *)data)->answers[PLAYED_RELEASE] = NULL;
}

TEST(nor_is_it_released_so)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    p->answers[PLAYED_RELEASE] = "*4\r\n:1\r\n" NO_NUMBER ":0\r\n:0\r\n";
    fake_world_at(p->world, fake_world_now(p->world) + 100 * FAKE_MS,
                  recover_soon, p);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(p->counts[PLAYED_RELEASE] >= 2);
}

static lk_status import(played *p)
{
    static const char from[] =
        "latchkey2 lock 00000000-0000-4000-8000-000000000000:7 500 510 30000 "
        "1 n";
    lk_hold *hold = NULL;

    p->answers[PLAYED_IMPORT] = "*4\r\n" NO_NUMBER ":600\r\n:30000\r\n:63\r\n";
    return lk_lock_import(p->lock, from, NULL, &hold);
}

static lk_status force(played *p)
{
    p->answers[PLAYED_FORCE] = "*4\r\n:1\r\n" NO_NUMBER ":0\r\n:0\r\n";
    return lk_lock_force_release(p->lock);
}

static lk_status revoke(played *p)
{
    int64_t left_ms;

    p->answers[PLAYED_REVOKE] = "*3\r\n:1\r\n" NO_NUMBER ":1\r\n";
    return lk_lock_revoke(p->lock, "somebody:1", &left_ms);
}

static lk_status forget(played *p)
{
    p->answers[PLAYED_FORGET] = "*3\r\n:3\r\n$1\r\na\r\n" NO_NUMBER;
    return lk_forget(p->client, "n");
}

static lk_status info_of(played *p, const char *answer)
{
    lk_info *info = NULL;

    p->answers[PLAYED_INFO] = answer;
    return lk_lock_info(p->lock, &info);
}

static lk_status info_of_holders(played *p)
{
    return info_of(p, "*4\r\n:1\r\n:0\r\n*7\r\n$1\r\na\r\n:1\r\n" NO_NUMBER
                      ":1\r\n:1\r\n$0\r\n\r\n$0\r\n\r\n*0\r\n");
}

static lk_status info_of_waiters(played *p)
{
    return info_of(
        p, "*4\r\n:1\r\n:1\r\n*0\r\n*6\r\n$1\r\na\r\n:1\r\n:1\r\n" NO_NUMBER
           "$0\r\n\r\n$0\r\n\r\n");
}

static lk_status info_of_how_many(played *p)
{
    return info_of(p, "*4\r\n:1\r\n" NO_NUMBER "*0\r\n*0\r\n");
}

static lk_status info_of_nothing(played *p)
{
    return info_of(p, "*1\r\n:0\r\n");
}

TEST(every_call_refuses_what_is_no_number)
{
    static lk_status (*const calls[])(
        played * p) = {import,           force,           revoke,
                       forget,           info_of_holders, info_of_waiters,
                       info_of_how_many, info_of_nothing};

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        assert_status(lk_client_wait_ready(p->client, 5000), LK_OK);
        assert_status(calls[i](p), LK_EPROTO);
    }
}

/* Of a siglock, too. */
TEST(nor_do_parties_have_other_numbers)
{
    static const char *const answers[] =
        {"*4\r\n:1\r\n:0\r\n*7\r\n$1\r\na\r\n:1\r\n" NO_NUMBER
         ":1\r\n:1\r\n$0\r\n\r\n$1\r\nx\r\n*0\r\n",
         "*4\r\n:1\r\n:1\r\n*0\r\n*6\r\n$1\r\na\r\n:1\r\n:1\r\n" NO_NUMBER
         "$0\r\n\r\n$1\r\nx\r\n"};
    lk_siglock *lock = NULL;
    lk_info *info = NULL;

    assert_status(lk_siglock_new(&lock, p->client, "n", NULL), LK_OK);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        p->answers[PLAYED_INFO] = answers[i];
        assert_status(lk_siglock_info(lock, &info), LK_EPROTO);
        assert_null(info);
    }
    lk_siglock_free(lock);
}

/* The token may stand all the same, so it is taken away. */
TEST(a_vote_of_no_number_is_none)
{
    lk_redlock *redlock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_redlock_new(&redlock, &p->client, 1, "token", NULL),
                  LK_OK);
    p->answers[PLAYED_TOKEN_ACQUIRE] = "*2\r\n:2\r\n" NO_NUMBER;
    assert_int_not_equal(lk_redlock_acquire(redlock, 0, NULL, &hold), LK_OK);
    assert_null(hold);
    played_run_ms(p, 100);
    assert_int_equal(p->counts[PLAYED_TOKEN_RELEASE], 1);
    lk_redlock_free(redlock);
}

/* ---- passing on ------------------------------------------------------------- */

/* A release that always finds one more to pass on to. */
TEST(passing_on_for_ever_is_slow)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    p->answers[PLAYED_RELEASE] = "*4\r\n:1\r\n:2\r\n:1\r\n:0\r\n";
    p->answers[PLAYED_PASS] = PLAYED_LOOKED("0", "0", "1", "*0\r\n");
    p->counts[PLAYED_PASS] = 0;
    assert_status(lk_hold_release(hold), LK_OK);
    played_run_ms(p, UINT64_C(1000) * HOSTILE_S);
    assert_in_range(p->counts[PLAYED_PASS], 5, MOST_REQUESTS);
}

/* What was done for the caller is done; waiters who are not told look. */
TEST(a_forced_release_is_one_whoever_is_told_of_it)
{
    p->answers[PLAYED_FORCE] = "*4\r\n:1\r\n:2\r\n:1\r\n:0\r\n";
    p->answers[PLAYED_PASS] = "-ERR no\r\n";
    p->counts[PLAYED_PASS] = 0;
    assert_status(lk_lock_force_release(p->lock), LK_OK);
    assert_int_equal(p->counts[PLAYED_PASS], 1);
}

TEST(a_forced_release_that_never_ends_ends_in_time)
{
    uint64_t began = fake_world_now(p->world);

    p->answers[PLAYED_FORCE] = "*4\r\n:1\r\n:2\r\n:1\r\n:0\r\n";
    p->answers[PLAYED_PASS] = PLAYED_LOOKED("0", "0", "1", "*0\r\n");
    p->counts[PLAYED_PASS] = 0;
    assert_status(lk_lock_force_release(p->lock), LK_OK);
    assert_in_range(fake_world_now(p->world) - began, 0, 2100 * FAKE_MS);
    assert_in_range(p->counts[PLAYED_PASS], 5, MOST_REQUESTS);
}
