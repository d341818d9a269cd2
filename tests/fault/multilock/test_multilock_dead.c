/* SPDX-License-Identifier: MIT */

/*
 * Processes with a multilock, or with stripes, that die or stand still. Each test has one of
 * them; they are started before there is any thread.
 */

#include <latchkey/latchkey.h>

#include <signal.h>

#include "support/check.h"
#include "support/server.h"
#include "support/wait.h"
#include "support/worker.h"

enum { PATIENCE_MS = 20000, WORKERS = 5 };

/* What a worker may begin, and what it has done. */
enum { COUNT_GO, COUNT_HELD, COUNT_LOST };

/* The last two are keys that are folded onto stripes. */
enum { FIRST_STRIPED = 3 };

static const char *const sets[WORKERS] = {"abc", "def", "ghi", "jkl", "mno"};

typedef struct scene {
    server *server;
    workers *workers;
} scene;

static scene the_scene;

static lk_client *client_open(server *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms()};
    lk_client *client = NULL;

    assert_status(lk_client_open(&client, server_url(s), &options), LK_OK);
    return client;
}

static lk_hold *hold_of(lk_client *client, const char *letters)
{
    lk_multilock *set = NULL;
    lk_hold *hold = NULL;
    lk_lock *locks[8] = {0};
    size_t count = 0;

    assert_status(lk_multilock_new(&set), LK_OK);
    for (; letters[count] != '\0'; count++) {
        const char name[] = {letters[count], '\0'};

        assert_status(lk_lock_new(&locks[count], client, name, NULL), LK_OK);
        assert_status(lk_multilock_add_lock(set, locks[count]), LK_OK);
    }
    assert_status(lk_multilock_acquire(set, LK_FOREVER, NULL, &hold), LK_OK);
    lk_multilock_free(set);
    for (size_t i = 0; i < count; i++)
        lk_lock_free(locks[i]);
    return hold;
}

static lk_hold *striped_hold_of(lk_client *client, const char *letters)
{
    const lk_stripes_options options = {LK_STRIPES_OPTIONS_INIT, .count = 4};
    lk_stripes *stripes = NULL;
    lk_hold *hold = NULL;
    char keys[8][2] = {{0}};
    const char *list[8];
    size_t count = 0;

    for (; letters[count] != '\0'; count++) {
        keys[count][0] = letters[count];
        list[count] = keys[count];
    }
    assert_status(lk_stripes_new(&stripes, client, letters, &options), LK_OK);
    assert_status(lk_stripes_acquire_many(stripes, list, count, LK_FOREVER,
                                          NULL, &hold),
                  LK_OK);
    lk_stripes_free(stripes);
    return hold;
}

/* What the worker of this index holds, by whatever means. */
static lk_hold *set_of(lk_client *client, unsigned index)
{
    return index < FIRST_STRIPED ? hold_of(client, sets[index])
                                 : striped_hold_of(client, sets[index]);
}

/* ---- the workers ---------------------------------------------------------- */

static bool may_go(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) > 0;
}

/* Holds its set until that is lost. */
static int holder_run(worker_shared *shared, unsigned index, void *data)
{
    _Atomic uint64_t *counters = shared->counters[index];
    lk_client *client;
    lk_hold *hold;
    lk_status status;

    if (!wait_until(may_go, &counters[COUNT_GO], 3 * PATIENCE_MS))
        return 1;
    client = client_open(data);
    hold = set_of(client, index);
    counters[COUNT_HELD]++;
    if (wait_until(hold_is_lost, hold, PATIENCE_MS))
        counters[COUNT_LOST]++;
    status = lk_hold_release(hold);
    lk_client_free(client);
    return status == LK_ELOST ? 0 : 1;
}

static void go(unsigned index)
{
    workers_shared(the_scene.workers)->counters[index][COUNT_GO] = 1;
}

static void wait_for(unsigned index, unsigned counter)
{
    worker_shared *shared = workers_shared(the_scene.workers);

    assert_true(
        wait_until(may_go, &shared->counters[index][counter], PATIENCE_MS));
}

static int start(NO_STATE)
{
    the_scene.server = server_start(NULL);
    if (the_scene.server == NULL)
        return -1;
    the_scene.workers = workers_start(WORKERS, holder_run, the_scene.server);
    return the_scene.workers != NULL ? 0 : -1;
}

static int stop(NO_STATE)
{
    workers_free(the_scene.workers);
    server_stop(the_scene.server);
    return 0;
}

/* ---- tests ------------------------------------------------------------------- */

static void killed(unsigned index)
{
    lk_client *client;
    lk_hold *hold;

    go(index);
    wait_for(index, COUNT_HELD);
    workers_kill(the_scene.workers, index, SIGKILL);
    client = client_open(the_scene.server);
    hold = set_of(client, index);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_client_free(client);
}

static void what_a_killed_process_held_ends_with_its_lease(NO_STATE)
{
    killed(0);
}

static void the_stripes_of_a_killed_process_end_with_their_lease(NO_STATE)
{
    killed(FIRST_STRIPED);
}

static bool has_exited(void *data)
{
    return workers_exit(the_scene.workers, *(unsigned *)data) != WORKER_RUNS;
}

static void stood_still(unsigned index)
{
    workers *w = the_scene.workers;
    lk_client *client;
    lk_hold *hold;

    go(index);
    wait_for(index, COUNT_HELD);
    workers_kill(w, index, SIGSTOP);
    client = client_open(the_scene.server);
    hold = set_of(client, index); /* its lease is over */
    workers_kill(w, index, SIGCONT);
    wait_for(index, COUNT_LOST);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(wait_until(has_exited, &index, PATIENCE_MS));
    assert_int_equal(workers_exit(w, index), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_client_free(client);
}

static void a_process_that_stood_still_knows_that_it_has_lost_all(NO_STATE)
{
    stood_still(1);
}

static void stripes_are_known_to_be_lost_after_standing_still(NO_STATE)
{
    stood_still(FIRST_STRIPED + 1);
}

static bool waits_for_i(void *data)
{
    return server_integer(data, SERVER_WAITERS("i")) == 1;
}

/* It waits for i, and holds g and h. */
static void what_a_killed_process_held_while_it_waited_ends_as_well(NO_STATE)
{
    server *s = the_scene.server;
    lk_client *client;
    lk_hold *hold;

    assert_int_equal(server_integer(s, "HSET i somebody:1 1"), 1);
    go(2);
    assert_true(wait_until(waits_for_i, s, PATIENCE_MS));
    assert_int_equal(server_integer(s, "EXISTS g h"), 2);
    workers_kill(the_scene.workers, 2, SIGKILL);
    assert_int_equal(server_integer(s, "DEL i"), 1);
    client = client_open(s);
    hold = hold_of(client, "ghi");
    assert_status(lk_hold_release(hold), LK_OK);
    lk_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_process_held_ends_with_its_lease),
        cmocka_unit_test(a_process_that_stood_still_knows_that_it_has_lost_all),
        cmocka_unit_test(the_stripes_of_a_killed_process_end_with_their_lease),
        cmocka_unit_test(stripes_are_known_to_be_lost_after_standing_still),
        cmocka_unit_test(
            what_a_killed_process_held_while_it_waited_ends_as_well),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
