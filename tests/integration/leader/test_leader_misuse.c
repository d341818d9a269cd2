/* SPDX-License-Identifier: MIT */

/* Elections used as they are not meant to be. */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/leading.h"
#include "support/wait.h"

/* 0: all is refused as it should be, and nothing hangs. */
static int child_uses(lk_leader *leader, lk_hold *hold, lk_leader_watch *watch)
{
    lk_hold *other = NULL;
    lk_info *info = NULL;
    bool refused = lk_leader_campaign(leader, 0, NULL, &other) == LK_EFORKED &&
                   lk_leader_get(leader, &info) == LK_EFORKED &&
                   lk_leader_observe(leader, 0, 0, NULL, &info) == LK_EFORKED &&
                   lk_hold_check(hold) == LK_EFORKED &&
                   lk_leader_resign(leader, hold) == LK_EFORKED;

    lk_leader_watch_free(watch);
    lk_leader_free(leader);
    return refused ? 0 : 1;
}

static void a_child_of_fork_does_not_lead(void **state)
{
    locking *f = *state;
    static tells t;
    lk_leader *leader = leading_new(f, NULL);
    lk_hold *hold = locking_hold(leader);
    lk_leader_watch *watch = NULL;
    int status = -1;
    pid_t pid;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leader, tells_change, &t), LK_OK);
    tells_wait(&t, 1);
    pid = fork();
    if (pid == 0)
        _exit(child_uses(leader, hold, watch));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_status(lk_hold_check(hold), LK_OK);
    lk_leader_watch_free(watch);
    assert_status(lk_leader_resign(leader, hold), LK_OK);
}

static void what_makes_no_sense_is_refused_with_words(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
    char value[LK_LEADER_VALUE_MAX + 2];
    lk_leader_options options = {LK_LEADER_OPTIONS_INIT, .value = value};
    lk_leader *leader = NULL;
    lk_leader_watch *watch = NULL;
    lk_hold *hold = NULL;
    lk_info *info = NULL;

    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    assert_status(lk_leader_new(&leader, client, "n", &options), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "200"));
    options.value = NULL;
    options.lease_ms = 900;
    options.notice_ms = 900;
    assert_status(lk_leader_new(&leader, client, "n", &options), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "notice"));
    assert_status(lk_leader_new(NULL, client, "n", NULL), LK_EINVAL);
    assert_status(lk_leader_new(&leader, NULL, "n", NULL), LK_EINVAL);
    assert_status(lk_leader_new(&leader, client, "", NULL), LK_EINVAL);
    assert_status(lk_leader_new(&leader, client, "a{b", NULL), LK_EINVAL);
    assert_null(leader);
    lk_leader_free(NULL);

    assert_status(lk_leader_campaign(NULL, 0, NULL, &hold), LK_EINVAL);
    assert_status(lk_leader_get(NULL, &info), LK_EINVAL);
    assert_status(lk_leader_observe(NULL, 0, 0, NULL, &info), LK_EINVAL);
    assert_status(lk_leader_resign(NULL, hold), LK_EINVAL);
    leader = leading_in(f, client, NULL);
    assert_status(lk_leader_campaign(leader, -2, NULL, &hold), LK_EINVAL);
    assert_status(lk_leader_campaign(leader, 0, NULL, NULL), LK_EINVAL);
    assert_status(lk_leader_campaign_async(leader, 0, NULL, NULL, NULL),
                  LK_EINVAL);
    assert_status(lk_leader_get(leader, NULL), LK_EINVAL);
    assert_status(lk_leader_get_async(leader, NULL, NULL), LK_EINVAL);
    assert_status(lk_leader_observe(leader, 0, -2, NULL, &info), LK_EINVAL);
    assert_status(lk_leader_observe(leader, 0, 0, NULL, NULL), LK_EINVAL);
    assert_status(lk_leader_observe_async(leader, 0, 0, NULL, NULL, NULL),
                  LK_EINVAL);
    assert_status(lk_leader_resign(leader, NULL), LK_EINVAL);
    assert_status(lk_leader_resign_async(leader, NULL, NULL, NULL), LK_EINVAL);
    assert_status(lk_leader_watch_new(NULL, leader, tells_change, NULL),
                  LK_EINVAL);
    assert_status(lk_leader_watch_new(&watch, leader, NULL, NULL), LK_EINVAL);
    assert_true(lk_leader_term(NULL) == 0);
}

static void ignore_hold(lk_status status, lk_hold *hold, void *data)
{
    (void)status;
    (void)hold;
    (void)data;
}

/* A term of its own length has a notice that fits, or none can be given. */
static void a_term_that_is_shorter_than_its_notice_is_refused(void **state)
{
    locking *f = *state;
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT,
                                       .notice_ms = 5000};
    const lk_acquire_options term = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 5000};
    const lk_acquire_options more = {LK_ACQUIRE_OPTIONS_INIT, .lease_ms = 5001};
    lk_leader *leader = leading_new(f, &options);
    lk_hold *hold = NULL;

    assert_status(lk_leader_campaign(leader, 0, &term, &hold), LK_EINVAL);
    assert_non_null(strstr(lk_last_error(), "notice"));
    assert_status(lk_leader_campaign_async(leader, 0, &term, ignore_hold, NULL),
                  LK_EINVAL);
    assert_status(lk_leader_campaign(leader, 0, &more, &hold), LK_OK);
    assert_status(lk_leader_resign(leader, hold), LK_OK);
}

static void a_name_that_is_something_else_is_refused(void **state)
{
    locking *f = *state;
    static tells t;
    lk_leader *leader = leading_new(f, NULL);
    lk_leader_watch *watch = NULL;
    lk_hold *hold = NULL;
    lk_info *info = NULL;

    memset(&t, 0, sizeof(t));
    free(server_string(f->server, "SET n text"));
    assert_status(lk_leader_campaign(leader, 0, NULL, &hold), LK_ETYPE);
    assert_status(lk_leader_get(leader, &info), LK_ETYPE);
    assert_status(lk_leader_observe(leader, 0, 1000, NULL, &info), LK_ETYPE);
    assert_status(lk_leader_watch_new(&watch, leader, tells_change, &t), LK_OK);
    tells_wait(&t, 1);
    assert_status(t.told[0].status, LK_ETYPE);
    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    tells_wait(&t, 2);
    assert_status(t.told[1].status, LK_OK);
    assert_true(t.told[1].term == 0);
    lk_leader_watch_free(watch);
}

struct blocked {
    lk_leader *leader;
    atomic_bool done;
    lk_status campaign, observe, get;
};

static void block_in(lk_status status, lk_info *info, void *data)
{
    struct blocked *b = data;
    lk_hold *hold = NULL;
    lk_info *none = NULL;

    (void)status;
    lk_info_free(info);
    b->campaign = lk_leader_campaign(b->leader, 0, NULL, &hold);
    b->observe = lk_leader_observe(b->leader, 0, 1000, NULL, &none);
    b->get = lk_leader_get(b->leader, &none);
    atomic_store(&b->done, true);
}

static bool is_blocked(void *data)
{
    return atomic_load(&((struct blocked *)data)->done);
}

static void a_blocking_call_in_a_callback_is_refused(void **state)
{
    locking *f = *state;
    static struct blocked b;

    b.leader = leading_new(f, NULL);
    assert_status(lk_leader_get_async(b.leader, block_in, &b), LK_OK);
    assert_true(wait_until(is_blocked, &b, 5000));
    assert_status(b.campaign, LK_ECALLBACK);
    assert_status(b.observe, LK_ECALLBACK);
    assert_status(b.get, LK_ECALLBACK);
}

int test_leader_misuse(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(a_child_of_fork_does_not_lead),
        LOCKING_TEST(what_makes_no_sense_is_refused_with_words),
        LOCKING_TEST(a_term_that_is_shorter_than_its_notice_is_refused),
        LOCKING_TEST(a_name_that_is_something_else_is_refused),
        LOCKING_TEST(a_blocking_call_in_a_callback_is_refused),
    };

    return cmocka_run_group_tests_name("leader_misuse", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
