/* SPDX-License-Identifier: MIT */

/* Who observes an election, and who is told, out of memory; see support/memory.h. */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/leading.h"
#include "support/memory.h"
#include "support/wait.h"

static int teardown(void **state)
{
    (void)memory_lasts();
    return locking_teardown(state);
}

/* What the calls are made on. */
typedef struct stage {
    lk_client *client;
    lk_leader *leader;
} stage;

static lk_status do_new(void *data)
{
    stage *s = data;
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT, .value = "v"};
    lk_leader *leader = NULL;
    lk_status status = lk_leader_new(&leader, s->client, "m", &options);

    lk_leader_free(leader);
    return status;
}

static lk_status do_campaign(void *data)
{
    stage *s = data;
    lk_hold *hold = NULL;
    lk_status status =
        lk_leader_campaign(s->leader, (int64_t)wait_limit_ms(5000), NULL,
                           &hold);

    return status == LK_OK ? lk_leader_resign(s->leader, hold) : status;
}

static void force(lk_client *client)
{
    lk_lock *lock = NULL;

    assert_status(lk_lock_new(&lock, client, "n", NULL), LK_OK);
    assert_status(lk_lock_force_release(lock), LK_OK);
    lk_lock_free(lock);
}

/* Whoever leads is told when that ends. */
static lk_status do_lead_until_forced(void *data)
{
    stage *s = data;
    static tells t;
    const lk_leader_options options = {LK_LEADER_OPTIONS_INIT,
                                       .lost = tells_loss, .lost_data = &t};
    lk_leader *leader = NULL;
    lk_hold *hold = NULL;
    lk_status status = lk_leader_new(&leader, s->client, "n", &options);

    memset(&t, 0, sizeof(t));
    if (status == LK_OK)
        status = lk_leader_campaign(leader, (int64_t)wait_limit_ms(5000), NULL,
                                    &hold);
    (void)memory_lasts();
    if (status == LK_OK) {
        force(s->client);
        tells_wait(&t, 1);
        assert_status(lk_hold_release(hold), LK_ELOST);
    }
    lk_leader_free(leader);
    return status;
}

static lk_status do_observe(void *data)
{
    stage *s = data;
    lk_info *info = NULL;
    lk_status status = lk_leader_observe(s->leader, 1, 5000, NULL, &info);

    lk_info_free(info);
    return status;
}

static lk_status do_observe_async(void *data)
{
    stage *s = data;
    call c = {0};
    lk_status status =
        lk_leader_observe_async(s->leader, 1, 5000, NULL, call_on_info, &c);

    if (status == LK_OK)
        status = call_wait(&c, NULL);
    lk_info_free(c.info);
    return status;
}

/* A failure within it is told, and made up for a second later. */
static lk_status do_watch(void *data)
{
    stage *s = data;
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

static void an_allocation_that_fails_is_told_or_made_up_for(void **state)
{
    locking *f = *state;
    stage s = {.client = locking_open_calm(f, NULL)};

    s.leader = leading_in(f, s.client, NULL);
    assert_status(do_campaign(&s), LK_OK);
    assert_status(do_observe(&s), LK_OK);
    memory_fails_each("new", do_new, NULL, &s);
    memory_fails_each("observe", do_observe, NULL, &s);
    memory_fails_each("observe async", do_observe_async, NULL, &s);
    memory_fails_each("watch", do_watch, NULL, &s);
    memory_fails_each("lead until forced", do_lead_until_forced, NULL, &s);
    locking_wait_integer(f, 0, "EXISTS %s", "n");
}

int test_leader_memory(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_allocation_that_fails_is_told_or_made_up_for, locking_setup,
            teardown),
    };

    return cmocka_run_group_tests_name("leader_memory", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
