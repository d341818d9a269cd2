/* SPDX-License-Identifier: MIT */

/*
 * Cells and what can go wrong on the way: answers that are lost or never come,
 * requests that run late, connections that break, a server that is restarted.
 * Whatever happens, a write is made once and said to be made.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/cells.h"
#include "support/check.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { COMMAND = 0, SOON_MS = 10000 };

static proxy *the_proxy;

static int start(void **state)
{
    if (locking_setup(state) != 0)
        return -1;
    the_proxy = locking_proxy(*state);
    return 0;
}

#define FAULT(name) CHECK_TEST_OF(name, locking *f, start, locking_teardown)

/* A client behind the proxy: connection 0 is for its commands. */
static lk_client *far(locking *f, const lk_client_options *options)
{
    return locking_open_far(f, options);
}

static void lose_the_next_answer(void)
{
    proxy_drop_replies(the_proxy, COMMAND, true);
}

/* ---- an answer that is lost ---- */

FAULT(a_write_whose_answer_is_lost_is_known_to_be_ours)
{
    lk_cell *cell = cells_named(f, far(f, NULL), "n", NULL);
    uint64_t before = cells_set(cell, "one"), version = 0;

    lose_the_next_answer();
    assert_status(lk_cell_write(cell, before, "two", 3, &version), LK_OK);
    assert_int_equal(version, before + 1);
    assert_int_equal(cells_expect(cell, "two"), version);
}

FAULT(a_creation_whose_answer_is_lost_is_known_to_be_ours)
{
    lk_cell *cell = cells_named(f, far(f, NULL), "n", NULL);

    lose_the_next_answer();
    assert_status(lk_cell_write(cell, LK_CELL_UNSET, "one", 3, NULL), LK_OK);
    cells_expect(cell, "one");
}

FAULT(a_delete_whose_answer_is_lost_is_known_to_be_ours)
{
    lk_cell *cell = cells_named(f, far(f, NULL), "n", NULL);
    uint64_t version = cells_set(cell, "one");

    lose_the_next_answer();
    assert_status(lk_cell_delete(cell, version), LK_OK);
    cells_expect(cell, NULL);
}

static lk_status
add_one(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    long long number =
        old == NULL ? 0 : strtoll((const char *)old->bytes, NULL, 10);
    char text[32];

    if (data != NULL) /* the answer to the write */
        proxy_drop_replies(data, proxy_accepted(data) - 1, true);
    (void)snprintf(text, sizeof(text), "%lld", number + 1);
    return lk_cell_draft_set(draft, text, strlen(text));
}

FAULT(an_update_through_lost_answers_counts_once)
{
    lk_cell *cell = cells_named(f, far(f, NULL), "n", NULL);

    for (int i = 0; i < 4; i++) {
        assert_status(lk_cell_update(cell, NULL, add_one, the_proxy, NULL),
                      LK_OK);
    }
    cells_expect(cell, "4");
}

/* It was made, and is refused when it is sent again. */
FAULT(a_refusal_after_a_lost_answer_is_no_answer)
{
    lk_cell *cell = cells_named(f, far(f, NULL), "n", NULL);
    cell_call c = {0};

    cells_set(cell, "one");
    proxy_hold(the_proxy, COMMAND, PROXY_REPLIES);
    assert_status(lk_cell_write_async(cell, LK_CELL_ANY, "2", 1,
                                      cell_on_written, &c),
                  LK_OK);
    locking_wait_integer(f, 1, "EVAL %s 0",
                         "return tonumber(redis.call('HGET',"
                         "'latchkey:{n}:c', 'value')) == 2 and 1 or 0");
    freeReplyObject(server_command(f->server, "ACL SETUSER default -hmget"));
    proxy_reset(the_proxy, PROXY_ALL);
    assert_status(cell_call_wait(&c, NULL), LK_EPENDING);
    freeReplyObject(server_command(f->server, "ACL SETUSER default +hmget"));
    cells_expect(cell, "2");
}

static long long remembered(locking *f)
{
    return server_integer(f->server, "HLEN latchkey:{n}:m");
}

/* Its first request may still be on its way, as far as the client can tell. */
FAULT(only_what_was_asked_twice_is_remembered)
{
    lk_cell *cell = cells_named(f, far(f, NULL), "n", NULL);
    long long before;

    cells_set(cell, "1");
    cells_set(cell, "2");
    before = remembered(f);
    cells_set(cell, "3");
    assert_int_equal(remembered(f), before);
    lose_the_next_answer();
    cells_set(cell, "4");
    cells_set(cell, "5");
    cells_set(cell, "6");
    assert_int_equal(remembered(f), before + 1);
}

/* ---- no answer in time ---- */

FAULT(a_write_without_an_answer_is_in_doubt)
{
    lk_client *client = far(f, locking_hasty());
    lk_cell *cell = cells_named(f, client, "n", NULL);
    uint64_t version = cells_set(cell, "one");

    proxy_swallow(the_proxy, COMMAND, PROXY_REPLIES);
    proxy_refuse(the_proxy, true);
    assert_status(lk_cell_write(cell, version, "two", 3, NULL), LK_EPENDING);
    proxy_heal(the_proxy);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    assert_int_equal(cells_expect(cell, "two"), version + 1);
}

FAULT(a_write_that_did_not_arrive_is_not_made_later)
{
    lk_client *client = far(f, locking_hasty());
    lk_cell *cell = cells_named(f, client, "n", NULL);
    uint64_t version = cells_set(cell, "one");

    proxy_swallow(the_proxy, COMMAND, PROXY_REQUESTS);
    proxy_refuse(the_proxy, true);
    assert_status(lk_cell_write(cell, version, "two", 3, NULL), LK_EPENDING);
    proxy_heal(the_proxy);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    assert_int_equal(cells_expect(cell, "one"), version);
}

FAULT(a_read_without_an_answer_leaves_no_doubt)
{
    lk_cell *cell = cells_named(f, far(f, locking_hasty()), "n", NULL);
    lk_cell_value *value = NULL;

    proxy_swallow(the_proxy, COMMAND, PROXY_REPLIES);
    proxy_refuse(the_proxy, true);
    assert_status(lk_cell_read(cell, &value), LK_EOFFLINE);
    assert_null(value);
}

/* ---- the guard ---- */

/* It was valid when it was sent, and came late: the fence is what holds. */
static void late_write(locking *f, const char *name, lk_status expected)
{
    const lk_client_options patient = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = 60000};
    lk_client *client = far(f, &patient);
    lk_client *near = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, name, NULL);
    lk_cell *newer = cells_named(f, near, name, NULL);
    lk_hold *hold =
        locking_hold_for(locking_lock(f, client, "n"), wait_lease_ms());
    lk_hold *next = NULL;
    cell_call c = {0};

    proxy_hold(the_proxy, COMMAND, PROXY_REQUESTS);
    assert_status(lk_cell_write_guarded_async(cell, hold, LK_CELL_ANY, "late",
                                              4, cell_on_written, &c),
                  LK_OK);
    assert_status(lk_lock_acquire(locking_lock(f, near, "n"), INT64_C(60000),
                                  NULL, &next),
                  LK_OK);
    assert_status(lk_cell_write_guarded(newer, next, LK_CELL_ANY, "new", 3,
                                        NULL),
                  LK_OK);
    proxy_heal(the_proxy);
    assert_status(cell_call_wait(&c, NULL), expected);
    cells_expect(newer, "new");
    assert_status(lk_hold_release(next), LK_OK);
    (void)lk_hold_release(hold);
}

FAULT(a_late_write_of_a_former_holder_is_refused_by_fence)
{
    late_write(f, "elsewhere", LK_ESTALE);
}

FAULT(a_late_write_of_a_former_holder_is_refused_in_its_slot)
{
    late_write(f, "n", LK_ESTALE);
}

/* ---- the server ---- */

static bool is_read(void *data)
{
    lk_cell_value *value = NULL;
    lk_status status = lk_cell_read(data, &value);

    lk_cell_value_free(value);
    return status == LK_EUNSET;
}

FAULT(versions_grow_over_a_restart)
{
    lk_cell *cell = locking_new(f, lk_cell);
    uint64_t before = cells_set(cell, "one");

    assert_true(server_restart(f->server));
    assert_true(wait_until(is_read, cell, SOON_MS));
    assert_status(lk_cell_write(cell, before, "x", 1, NULL), LK_ESTALE);
    assert_true(cells_set(cell, "two") > before);
}

FAULT(a_stopped_server_keeps_no_call_longer_than_its_time)
{
    lk_client *client = locking_open(f, locking_hasty());
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_status status;
    uint64_t began;

    cells_set(cell, "1");
    server_freeze(f->server);
    began = wait_now_ms();
    status = lk_cell_update(cell, NULL, add_one, NULL, NULL);
    assert_in_range(wait_now_ms() - began, 0,
                    wait_allowed_ms(wait_scaled_ms(2000)));
    server_thaw(f->server);
    assert_status(status, LK_EOFFLINE);
    assert_status(lk_client_wait_ready(client, (int64_t)wait_limit_ms(SOON_MS)),
                  LK_OK);
    cells_expect(cell, "1");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
