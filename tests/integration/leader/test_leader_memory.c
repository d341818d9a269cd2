/* SPDX-License-Identifier: MIT */

/*
 * Out of memory: each call on an election, with the n-th allocation failing,
 * for each n until there is none left to fail. What leaks or crashes is seen by
 * the builds with sanitizers and by valgrind.
 */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/leading.h"
#include "support/memory.h"
#include "support/wait.h"

static int teardown(void **state)
{
    (void)memory_lasts();
    return leading_teardown(state);
}

/* What the calls are made on. */
typedef struct stage {
    lk_client *client;
    lk_leader *leader;
} stage;

/* A call that either does what it should or says that there is no memory. */
typedef lk_status act(stage *s);

static lk_status do_new(stage *s)
{
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT, .value = "v"};
    lk_leader *leader = NULL;
    lk_status status = lk_leader_new(&leader, s->client, "m", &options);

    lk_leader_free(leader);
    return status;
}

static lk_status do_campaign(stage *s)
{
    lk_hold *hold = NULL;
    lk_status status = lk_leader_campaign(s->leader, 5000, NULL, &hold);

    return status == LK_OK ? lk_leader_resign(s->leader, hold) : status;
}

static lk_status do_campaign_async(stage *s)
{
    call c = {0}, resigned = {0};
    lk_status status =
        lk_leader_campaign_async(s->leader, 5000, NULL, call_on_acquire, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    if (status != LK_OK)
        return status;
    status = lk_leader_resign_async(s->leader, c.hold, call_on_done, &resigned);
    if (status == LK_OK)
        return call_wait(&resigned, NULL);
    (void)lk_hold_release(c.hold);
    return status;
}

static void force(lk_client *client)
{
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, client, "n", NULL), LK_OK);
    assert_status(lk_lock_force_release(lock), LK_OK);
    lk_lock_free(lock);
}

/* Whoever leads is told when that ends. */
static lk_status do_lead_until_forced(stage *s)
{
    static tells t;
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT,
                                       .lost = tells_loss, .lost_data = &t};
    lk_leader *leader = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_leader_new(&leader, s->client, "n", &options);

    memset(&t, 0, sizeof(t));
    if (status == LK_OK)
        status = lk_leader_campaign(leader, 5000, NULL, &hold);
    (void)memory_lasts();
    if (status == LK_OK) {
        force(s->client);
        tells_wait(&t, 1);
        assert_status(lk_hold_release(hold), LK_ELOST);
    }
    lk_leader_free(leader);
    return status;
}

static lk_status do_observe(stage *s)
{
    lk_info *info = NULL;
    lk_status status = lk_leader_observe(s->leader, 1, 5000, NULL, &info);

    lk_info_free(info);
    return status;
}

static lk_status do_observe_async(stage *s)
{
    call c = {0};
    lk_status status =
        lk_leader_observe_async(s->leader, 1, 5000, NULL, call_on_info, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    lk_info_free(c.info);
    return status;
}

/* A failure within it is told, and made up for a second later. */
static lk_status do_watch(stage *s)
{
    static tells t;
    lk_leader_watch *watch = NULL;
    lk_status status;

    memset(&t, 0, sizeof(t));
    status = lk_leader_watch_new(&watch, s->leader, tells_change, &t);
    if (status != LK_OK)
        return status;
    tells_wait(&t, 1);
    lk_leader_watch_free(watch);
    return t.told[0].status;
}

/* Until there is none left to fail. Returns how often there was no memory. */
static int fail_each(stage *s, act *tries)
{
    int failures = 0;
    int n = 0;

    do {
        lk_status status;

        memory_fails_at(++n);
        status = tries(s);
        (void)memory_lasts();
        if (status != LK_OK && status != LK_ENOMEM)
            fail_msg("%d: %s", n, lk_status_name(status));
        failures += status == LK_ENOMEM;
    } while (memory_was_short(n));
    assert_in_range(n, 2, MEMORY_MOST - 1);
    return failures;
}

static void an_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    static act *const acts[] =
        {do_new,           do_campaign, do_campaign_async,   do_observe,
         do_observe_async, do_watch,    do_lead_until_forced};
    leading *f = *state;
    stage s = {.client = locking_open_calm(f->base, NULL)};

    s.leader = leading_in(f, s.client, NULL);
    assert_status(do_campaign(&s), LK_OK);
    assert_status(do_observe(&s), LK_OK);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
        assert_true(fail_each(&s, acts[i]) > 0);
    locking_wait_integer(f->base, 0, "EXISTS %s", "n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_allocation_that_fails_is_told_or_made_up_for, leading_setup,
            teardown),
    };

    return cmocka_run_group_tests_name("leader_memory", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
