/* SPDX-License-Identifier: MIT */

/* Calls on cells that are wrong are refused, and say why; each allocation that
   fails is told of. */

#include <latchkey/plain_semaphore.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "support/call.h"
#include "support/cells.h"
#include "support/check.h"
#include "support/wait.h"

/* A status and a word of what lk_last_error() says about it. */
static void assert_words(lk_status actual, lk_status expected, const char *word)
{
    assert_status(actual, expected);
    if (strstr(lk_last_error(), word) == NULL)
        fail_msg("\"%s\" does not tell of \"%s\"", lk_last_error(), word);
}

static lk_status
set_x(const lk_cell_value *old, lk_cell_draft *draft, void *data)
{
    (void)old;
    (void)data;
    return lk_cell_draft_set(draft, "x", 1);
}

static void what_is_null_is_refused(void **state)
{
    cells *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_cell_value *value = NULL;

    assert_words(lk_cell_new(NULL, client, "n", NULL), LK_EINVAL, "ret_cell");
    assert_words(lk_cell_read(NULL, &value), LK_EINVAL, "NULL");
    assert_words(lk_cell_read(cell, NULL), LK_EINVAL, "ret_value");
    assert_words(lk_cell_read_async(cell, NULL, NULL), LK_EINVAL, "callback");
    assert_words(lk_cell_write(NULL, 0, "x", 1, NULL), LK_EINVAL, "NULL");
    assert_words(lk_cell_write(cell, 0, NULL, 1, NULL), LK_EINVAL, "bytes");
    assert_words(lk_cell_write_async(cell, 0, "x", 1, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_words(lk_cell_delete(NULL, 0), LK_EINVAL, "NULL");
    assert_words(lk_cell_delete_async(cell, 0, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_words(lk_cell_update(cell, NULL, NULL, NULL, NULL), LK_EINVAL,
                 "function");
    assert_words(lk_cell_update_async(cell, NULL, set_x, NULL, NULL), LK_EINVAL,
                 "callback");
    assert_words(lk_cell_draft_set(NULL, "x", 1), LK_EINVAL, "draft");
    lk_cell_free(NULL);
    lk_cell_value_free(NULL);
}

static void options_that_cannot_be_are_refused(void **state)
{
    cells *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_cell_options options = {LK_CELL_OPTIONS_INIT,
                               .max_size = LK_CELL_SIZE_MAX + 1};
    lk_cell *cell = NULL;

    assert_words(lk_cell_new(&cell, client, "n", &options), LK_EINVAL,
                 "max_size");
    options.max_size = 0;
    options.ttl_ms = UINT64_MAX;
    assert_words(lk_cell_new(&cell, client, "n", &options), LK_EINVAL,
                 "ttl_ms");
    options.ttl_ms = 0;
    options.size = 1;
    assert_status(lk_cell_new(&cell, client, "n", &options), LK_EINVAL);
    assert_status(lk_cell_new(&cell, client, "", NULL), LK_EINVAL);
    assert_null(cell);
}

static void a_key_of_another_kind_is_not_touched(void **state)
{
    cells *f = *state;
    lk_cell *cell = cells_one(f);
    lk_cell_value *value = NULL;

    freeReplyObject(server_command(f->base->server, "SET latchkey:{n}:c x"));
    assert_status(lk_cell_read(cell, &value), LK_ETYPE);
    assert_status(lk_cell_write(cell, LK_CELL_ANY, "x", 1, NULL), LK_ETYPE);
    assert_status(lk_cell_delete(cell, LK_CELL_ANY), LK_ETYPE);
    assert_status(lk_cell_update(cell, NULL, set_x, NULL, NULL), LK_ETYPE);
}

static bool is_void(void *data)
{
    return locking_stats(data).grants_void == 2;
}

/* Of a cell nothing is ever granted, whatever somebody publishes. */
static void a_grant_that_cannot_be_is_not_taken(void **state)
{
    static const char *const families[] = {"cell", "plain"};
    cells *f = *state;
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_plain_semaphore *plain = NULL;

    assert_status(lk_plain_semaphore_new(&plain, client, "n"), LK_OK);
    for (int i = 0; i < 2; i++) {
        char message[160];

        (void)snprintf(message, sizeof(message),
                       "grant 0 %s %s:77 0123456789abcdef 1 2 0 4000 n",
                       families[i], lk_client_id(client));
        assert_int_equal(server_integer(f->base->server,
                                        "PUBLISH latchkey:in::%s %s",
                                        lk_client_id(client), message),
                         1);
    }
    assert_true(wait_until(is_void, client, 5000));
    cells_set(cell, "x");
    lk_plain_semaphore_free(plain);
}

static void a_closed_client_answers_so(void **state)
{
    cells *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_cell_value *value = NULL;

    assert_status(lk_client_shutdown(client, 5000), LK_OK);
    assert_status(lk_cell_read(cell, &value), LK_ECLOSED);
    assert_status(lk_cell_write(cell, 0, "x", 1, NULL), LK_ECLOSED);
    assert_status(lk_cell_update(cell, NULL, set_x, NULL, NULL), LK_ECLOSED);
    assert_status(lk_cell_update_async(cell, NULL, set_x, cell_on_written,
                                       NULL),
                  LK_ECLOSED);
}

/* In a callback: a blocking call would wait for itself. */
static void read_within(call *c)
{
    lk_cell_value *value = NULL;

    c->status = lk_cell_read(c->data, &value);
    if (c->status == LK_ECALLBACK)
        c->status = lk_cell_update(c->data, NULL, set_x, NULL, NULL);
}

static void a_blocking_call_in_a_callback_is_refused(void **state)
{
    cells *f = *state;
    lk_cell *cell = cells_one(f);
    call c = {.act = read_within, .data = cell};

    cells_set(cell, "x");
    assert_status(lk_cell_delete_async(cell, LK_CELL_ANY, call_on_done, &c),
                  LK_OK);
    assert_status(call_wait(&c, NULL), LK_ECALLBACK);
}

static void a_child_of_fork_is_refused(void **state)
{
    cells *f = *state;
    lk_cell *cell = cells_one(f);
    int answer = 0;
    pid_t child = fork();

    if (child == 0) {
        lk_status write = lk_cell_write(cell, LK_CELL_ANY, "x", 1, NULL);

        lk_cell_free(cell);
        _exit(write == LK_EFORKED ? 0 : 1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &answer, 0), child);
    assert_int_equal(answer, 0);
    cells_expect(cell, NULL);
}

/* ---- memory ---- */

enum { MOST = 1000 };

static atomic_int calls;   /* since the last reset */
static atomic_int fail_at; /* 0: none */

static bool fails(void)
{
    return atomic_fetch_add(&calls, 1) + 1 == atomic_load(&fail_at);
}

static void fail_from(int at)
{
    atomic_store(&fail_at, 0);
    atomic_store(&calls, 0);
    atomic_store(&fail_at, at);
}

static lk_status do_new(lk_cell *cell, lk_client *client)
{
    lk_cell *other = NULL;
    lk_status status = lk_cell_new(&other, client, "other", NULL);

    (void)cell;
    lk_cell_free(other);
    return status;
}

static lk_status do_write(lk_cell *cell, lk_client *client)
{
    (void)client;
    return lk_cell_write(cell, LK_CELL_ANY, "x", 1, NULL);
}

static lk_status do_read(lk_cell *cell, lk_client *client)
{
    lk_cell_value *value = NULL;
    lk_status status = lk_cell_read(cell, &value);

    (void)client;
    lk_cell_value_free(value);
    return status;
}

static lk_status do_update(lk_cell *cell, lk_client *client)
{
    (void)client;
    return lk_cell_update(cell, NULL, set_x, NULL, NULL);
}

static lk_status do_update_async(lk_cell *cell, lk_client *client)
{
    cell_call c = {0};
    lk_status status =
        lk_cell_update_async(cell, NULL, set_x, cell_on_written, &c);

    (void)client;
    return status == LK_OK ? cell_call_wait(&c, NULL) : status;
}

static void each_allocation_that_fails_is_told_of(void **state)
{
    lk_status (*const acts[])(lk_cell * cell,
                              lk_client * client) = {do_write, do_read,
                                                     do_update, do_update_async,
                                                     do_new};
    cells *f = *state;
    lk_client *client = locking_open(f->base, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);

    cells_set(cell, "x");
    lk__mem_fail(fails);
    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        int at = 1;

        for (bool goes_on = true; goes_on; at++) {
            lk_status status;

            assert_true(at < MOST);
            fail_from(at);
            status = acts[i](cell, client);
            goes_on = atomic_load(&calls) >= at;
            if (status != LK_OK)
                assert_status(status, LK_ENOMEM);
        }
        assert_true(at > 2);
    }
    fail_from(0);
    lk__mem_fail(NULL);
    cells_expect(cell, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CELLS_CASE(what_is_null_is_refused),
        CELLS_CASE(options_that_cannot_be_are_refused),
        CELLS_CASE(a_key_of_another_kind_is_not_touched),
        CELLS_CASE(a_grant_that_cannot_be_is_not_taken),
        CELLS_CASE(a_closed_client_answers_so),
        CELLS_CASE(a_blocking_call_in_a_callback_is_refused),
        CELLS_CASE(a_child_of_fork_is_refused),
        CELLS_CASE(each_allocation_that_fails_is_told_of),
    };

    return cmocka_run_group_tests_name("cell_misuse", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
