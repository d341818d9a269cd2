/* SPDX-License-Identifier: MIT */

/* Updates: read, think, write, and again if somebody was faster. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/cells.h"
#include "support/check.h"
#include "support/wait.h"

/* The data of an update's function; the first member is cb's. */
typedef struct work {
    cell_call call;
    lk_cell *rival; /* written by somebody else while the function runs */
    int rivalries;  /* so often */
    int calls;
    lk_status answer;
    bool idle; /* drafts nothing */
} work;

static long long number_of(const lk_cell_value *value)
{
    return value == NULL ? 0 : strtoll(value->bytes, NULL, 10);
}

/* The rival writes from a thread of its own: a callback may not block. */
static void *rival_run(void *data)
{
    cells_set(data, "100");
    return NULL;
}

static void rival_write(lk_cell *rival)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, rival_run, rival), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static lk_status
add_one(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    work *w = data;
    char text[32];

    w->calls++;
    if (w->rivalries > 0) {
        w->rivalries--;
        rival_write(w->rival);
    }
    if (w->answer != LK_OK || w->idle)
        return w->answer;
    (void)snprintf(text, sizeof(text), "%lld", number_of(old) + 1);
    return lk_cell_draft_set(draft, text, strlen(text));
}

LOCKS_TEST(an_update_writes_what_its_function_makes)
{
    lk_cell *cell = locking_new(f, lk_cell);
    work w = {.calls = 0};
    uint64_t version = 0;

    assert_status(lk_cell_update(cell, NULL, add_one, &w, NULL), LK_OK);
    cells_expect(cell, "1");
    assert_status(lk_cell_update(cell, NULL, add_one, &w, &version), LK_OK);
    assert_int_equal(cells_expect(cell, "2"), version);
    assert_int_equal(w.calls, 2);
}

LOCKS_TEST(an_update_begins_again_when_it_was_overtaken)
{
    lk_cell *cell = locking_new(f, lk_cell);
    work w = {.rival = locking_new(f, lk_cell), .rivalries = 3};

    assert_status(lk_cell_update(cell, NULL, add_one, &w, NULL), LK_OK);
    assert_int_equal(w.calls, 4);
    cells_expect(cell, "101");
}

LOCKS_TEST(an_update_gives_up_after_its_tries)
{
    lk_cell *cell = locking_new(f, lk_cell);
    const lk_cell_update_options options = {LK_CELL_UPDATE_OPTIONS_INIT,
                                            .tries = 3};
    work w = {.rival = locking_new(f, lk_cell), .rivalries = 10};

    assert_status(lk_cell_update(cell, &options, add_one, &w, NULL), LK_ESTALE);
    assert_int_equal(w.calls, 3);
    cells_expect(cell, "100");
    w = (work){.rival = w.rival, .rivalries = 100};
    assert_status(lk_cell_update(cell, NULL, add_one, &w, NULL), LK_ESTALE);
    assert_int_equal(w.calls, 16);
}

LOCKS_TEST(a_function_may_end_the_update)
{
    lk_cell *cell = locking_new(f, lk_cell);
    work w = {.answer = LK_EGONE};
    uint64_t version = 7;

    assert_status(lk_cell_update(cell, NULL, add_one, &w, &version), LK_EGONE);
    assert_int_equal(version, 7);
    cells_expect(cell, NULL);
    w.answer = LK_ESTALE; /* its own word: the update does not begin again */
    assert_status(lk_cell_update(cell, NULL, add_one, &w, NULL), LK_ESTALE);
    assert_int_equal(w.calls, 2);
}

LOCKS_TEST(a_function_may_write_nothing)
{
    lk_cell *cell = locking_new(f, lk_cell);
    work w = {.idle = true};
    uint64_t before = cells_set(cell, "x"), version = 0;

    assert_status(lk_cell_update(cell, NULL, add_one, &w, &version), LK_OK);
    assert_int_equal(version, before);
    assert_int_equal(cells_expect(cell, "x"), before);
}

static lk_status
too_much(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    char bytes[64] = "";

    (void)old;
    (void)data;
    return lk_cell_draft_set(draft, bytes, sizeof(bytes));
}

LOCKS_TEST(a_draft_that_is_too_large_is_refused)
{
    const lk_cell_options small = {LK_CELL_OPTIONS_INIT, .max_size = 63};
    lk_cell *cell = cells_named(f, locking_open(f, NULL), "n", &small);

    assert_status(lk_cell_update(cell, NULL, too_much, NULL, NULL), LK_ERANGE);
    cells_expect(cell, NULL);
}

LOCKS_TEST(a_guarded_update_needs_the_newest_fence)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "lock"));
    const lk_cell_update_options options = {LK_CELL_UPDATE_OPTIONS_INIT,
                                            .hold = hold};
    work w = {.calls = 0};

    assert_status(lk_cell_update(cell, &options, add_one, &w, NULL), LK_OK);
    assert_int_equal(server_integer(f->server, "HSET latchkey:{n}:k fence "
                                               "9000000000000000"),
                     0);
    assert_status(lk_cell_update(cell, &options, add_one, &w, NULL), LK_ESTALE);
    assert_int_equal(w.calls, 2); /* it cannot become the newest */
    cells_expect(cell, "1");
    assert_status(lk_hold_release(hold), LK_OK);
}

/* ---- async ---- */

LOCKS_TEST(an_async_update_does_the_same)
{
    lk_cell *cell = locking_new(f, lk_cell);
    work w = {.rival = locking_new(f, lk_cell), .rivalries = 3};
    work idle = {.idle = true};

    assert_status(lk_cell_update_async(cell, NULL, add_one, cell_on_written,
                                       &w),
                  LK_OK);
    assert_status(cell_call_wait(&w.call, NULL), LK_OK);
    assert_int_equal(w.calls, 4);
    assert_int_equal(cells_expect(cell, "101"), w.call.version);
    assert_status(lk_cell_update_async(cell, NULL, add_one, cell_on_written,
                                       &idle),
                  LK_OK);
    assert_status(cell_call_wait(&idle.call, NULL), LK_OK);
    assert_int_equal(idle.call.version, w.call.version);
}

LOCKS_TEST(an_async_update_gives_up_after_its_tries)
{
    lk_cell *cell = locking_new(f, lk_cell);
    const lk_cell_update_options options = {LK_CELL_UPDATE_OPTIONS_INIT,
                                            .tries = 2};
    work w = {.rival = locking_new(f, lk_cell), .rivalries = 9};
    work refuses = {.answer = LK_EGONE};

    assert_status(lk_cell_update_async(cell, &options, add_one, cell_on_written,
                                       &w),
                  LK_OK);
    assert_status(cell_call_wait(&w.call, NULL), LK_ESTALE);
    assert_int_equal(w.calls, 2);
    assert_int_equal(w.call.version, 0);
    assert_status(lk_cell_update_async(cell, NULL, add_one, cell_on_written,
                                       &refuses),
                  LK_OK);
    assert_status(cell_call_wait(&refuses.call, NULL), LK_EGONE);
}

/* Whatever step it is at. */
LOCKS_TEST(a_shutdown_ends_an_async_update)
{
    lk_cell *rival = locking_new(f, lk_cell);

    for (int i = 0; i < 8; i++) {
        lk_client *client = locking_open(f, NULL);
        const lk_cell_update_options options = {LK_CELL_UPDATE_OPTIONS_INIT,
                                                .tries = 100000};
        work w = {.rival = rival, .rivalries = 1000000};
        lk_cell *cell = NULL;

        assert_status(lk_cell_new(&cell, client, "n", NULL), LK_OK);
        assert_status(lk_cell_update_async(cell, &options, add_one,
                                           cell_on_written, &w),
                      LK_OK);
        lk_cell_free(cell);
        locking_pass_time((unsigned)(i * 7));
        assert_status(lk_client_shutdown(client, 5000), LK_OK);
        (void)cell_call_wait(&w.call, NULL);
        assert_int_not_equal(w.call.status, LK_OK);
        locking_free_client(f, client);
    }
}

CHECK_GROUP(locking_start_server, locking_stop_server)
