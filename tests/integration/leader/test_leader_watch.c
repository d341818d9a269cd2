/* SPDX-License-Identifier: MIT */

/* Watches of an election. */

#include <latchkey/latchkey.h>

#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/leading.h"
#include "support/wait.h"

enum { PROMPT_MS = 500, CHANGES = 20 };

LOCKS_TEST(a_watch_tells_of_every_change_in_order)
{
    static tells t;
    lk_leader *a = leading_as(f, "a"), *b = leading_as(f, "b");
    lk_leader_watch *watch = NULL;
    lk_hold *hold = locking_hold(a);
    uint64_t first = lk_hold_fence(hold);
    call *next;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_new(f, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    assert_status(t.told[0].status, LK_OK);
    assert_true(t.told[0].term == first);
    assert_string_equal(t.told[0].value, "a");
    next = locking_begin(f, b, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    assert_status(lk_leader_resign(a, hold), LK_OK);
    assert_status(call_wait(next, NULL), LK_OK);
    tells_wait(&t, 2);
    assert_true(t.told[1].term == lk_hold_fence(next->hold));
    assert_string_equal(t.told[1].value, "b");
    assert_status(lk_leader_resign(b, locking_granted(next)), LK_OK);
    tells_wait(&t, 3);
    assert_true(t.told[2].term == 0);
    lk_leader_watch_free(watch);
}

/* Much sooner than it looks by itself. */
LOCKS_TEST(a_watch_is_told_promptly)
{
    static tells t;
    lk_leader *leader = leading_new(f, NULL);
    lk_leader_watch *watch = NULL;
    uint64_t most = 0, sum = 0;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_new(f, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    for (unsigned i = 0; i < CHANGES; i++) {
        lk_hold *hold = locking_hold(leader);
        uint64_t at = wait_now_ms(), took;

        tells_wait(&t, 2 * i + 2);
        took = t.told[2 * i + 1].at_ms > at ? t.told[2 * i + 1].at_ms - at : 0;
        most = took > most ? took : most;
        sum += took;
        assert_status(lk_leader_resign(leader, hold), LK_OK);
        tells_wait(&t, 2 * i + 3);
    }
    print_message("told of a new leader after %llu ms at most, %llu in all "
                  "%d\n",
                  (unsigned long long)most, (unsigned long long)sum, CHANGES);
    assert_in_range(sum, 0, CHANGES * wait_limit_ms(PROMPT_MS) / 2);
    lk_leader_watch_free(watch);
}

/* What others do on the name tells nobody: the watch looks. */
LOCKS_TEST(a_watch_finds_what_nobody_tells)
{
    static tells t;
    lk_lock *lock = locking_new(f, lk_lock);
    lk_leader_watch *watch = NULL;
    lk_hold *hold;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_new(f, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    assert_true(t.told[0].term == 0);
    hold = locking_hold(lock);
    tells_wait(&t, 2);
    assert_true(t.told[1].term == lk_hold_fence(hold));
    assert_status(lk_hold_release(hold), LK_OK);
    tells_wait(&t, 3);
    assert_true(t.told[2].term == 0);
    lk_leader_watch_free(watch);
}

struct self {
    lk_leader_watch *watch;
    atomic_uint calls;
};

static void end_itself(lk_status status, const lk_party *leader, void *data)
{
    struct self *self = data;

    (void)status;
    (void)leader;
    lk_leader_watch_free(self->watch);
    atomic_fetch_add(&self->calls, 1);
}

static void start_and_end(lk_status status, const lk_party *leader, void *data)
{
    (void)status;
    (void)leader;
    atomic_fetch_add((atomic_uint *)data, 1);
}

LOCKS_TEST(a_watch_may_be_ended_at_any_time)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *client = locking_open(f, &options);
    lk_leader *leader = leading_new(f, NULL);
    lk_leader *observer = leading_in(f, client, NULL);
    static struct self self;
    static atomic_uint calls;
    lk_leader_watch *watch = NULL;

    for (int i = 0; i < 50; i++) {
        assert_status(lk_leader_watch_new(&watch, leader, start_and_end,
                                          &calls),
                      LK_OK);
        if (i % 2 == 0) {
            lk_leader *also = leader;
            lk_hold *hold = locking_hold(also);

            assert_status(lk_leader_resign(also, hold), LK_OK);
        }
        lk_leader_watch_free(watch);
    }
    lk_leader_watch_free(NULL);
    assert_status(lk_leader_watch_new(&self.watch, observer, end_itself, &self),
                  LK_OK);
    while (atomic_load(&self.calls) == 0)
        assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&self.calls), 1);
    atomic_store(&calls, 0);
    assert_status(lk_leader_watch_new(&watch, leader, start_and_end, &calls),
                  LK_OK);
    assert_soon(atomic_load(&calls) > 0, 5000);
    lk_leader_watch_free(watch);
}

LOCKS_TEST(the_last_that_a_watch_tells_is_that_its_client_is_closed)
{
    static tells t;
    lk_client *client = locking_open(f, NULL);
    lk_leader_watch *watch = NULL;

    memset(&t, 0, sizeof(t));
    assert_status(lk_leader_watch_new(&watch, leading_in(f, client, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    tells_wait(&t, 2);
    assert_status(t.told[1].status, LK_ECLOSED);
    lk_leader_watch_free(watch);
}

/* Also while it pauses after a failure. */
LOCKS_TEST(so_it_is_where_something_else_failed_before)
{
    static tells t;
    lk_client *client = locking_open(f, NULL);
    lk_leader_watch *watch = NULL;

    memset(&t, 0, sizeof(t));
    free(server_string(f->server, "SET n text"));
    assert_status(lk_leader_watch_new(&watch, leading_in(f, client, NULL),
                                      tells_change, &t),
                  LK_OK);
    tells_wait(&t, 1);
    assert_status(t.told[0].status, LK_ETYPE);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    tells_wait(&t, 2);
    assert_status(t.told[1].status, LK_ECLOSED);
    lk_leader_watch_free(watch);
}

/* It does not pause any more: nobody may dispatch a second later. */
LOCKS_TEST(its_pause_ends_with_its_client)
{
    static tells t;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_client *client = locking_open(f, &options);
    lk_leader_watch *watch = NULL;

    memset(&t, 0, sizeof(t));
    free(server_string(f->server, "SET n text"));
    assert_status(lk_leader_watch_new(&watch, leading_in(f, client, NULL),
                                      tells_change, &t),
                  LK_OK);
    while (atomic_load(&t.count) == 0)
        assert_status(lk_client_dispatch(client), LK_OK);
    assert_status(t.told[0].status, LK_ETYPE);
    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_status(lk_client_dispatch(client), LK_OK);
    assert_int_equal(atomic_load(&t.count), 2);
    assert_status(t.told[1].status, LK_ECLOSED);
    lk_leader_watch_free(watch);
}

struct closer {
    tells tells;
    lk_client *client;
};

static void close_and_tell(lk_status status, const lk_party *leader, void *data)
{
    struct closer *closer = data;

    if (status != LK_ECLOSED)
        (void)lk_client_shutdown(closer->client, 0);
    tells_change(status, leader, &closer->tells);
}

/* Nor does one begin that is told of a failure while its client ends. */
LOCKS_TEST(no_pause_begins_in_a_client_that_ends)
{
    static struct closer closer;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .dispatch = 1};
    lk_leader_watch *watch = NULL;

    memset(&closer, 0, sizeof(closer));
    closer.client = locking_open(f, &options);
    free(server_string(f->server, "SET n text"));
    assert_status(lk_leader_watch_new(&watch,
                                      leading_in(f, closer.client, NULL),
                                      close_and_tell, &closer),
                  LK_OK);
    while (atomic_load(&closer.tells.count) == 0)
        assert_status(lk_client_dispatch(closer.client), LK_OK);
    assert_status(lk_client_dispatch(closer.client), LK_OK);
    assert_int_equal(atomic_load(&closer.tells.count), 2);
    assert_status(closer.tells.told[1].status, LK_ECLOSED);
    lk_leader_watch_free(watch);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
