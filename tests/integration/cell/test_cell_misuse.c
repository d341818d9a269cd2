/* SPDX-License-Identifier: MIT */

/* Calls on cells that are wrong are refused, and say why; each allocation that
   fails is told of. */

#include <latchkey/plain_semaphore.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/call.h"
#include "support/cells.h"
#include "support/check.h"
#include "support/memory.h"
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
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
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
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
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
    locking *f = *state;
    lk_cell *cell = locking_new(f, lk_cell);
    lk_cell_value *value = NULL;

    freeReplyObject(server_command(f->server, "SET latchkey:{n}:c x"));
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
    locking *f = *state;
    lk_client *client = locking_open_calm(f, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_plain_semaphore *plain = NULL;

    assert_status(lk_plain_semaphore_new(&plain, client, "n"), LK_OK);
    for (int i = 0; i < 2; i++) {
        char message[160];

        (void)snprintf(
            message, sizeof(message),
            "grant 0 %s %s:0000000000000077 0123456789abcdef 1 2 0 4000 n",
            families[i], lk_client_id(client));
        assert_int_equal(server_integer(f->server, "PUBLISH latchkey:in::%s %s",
                                        lk_client_id(client), message),
                         1);
    }
    assert_true(wait_until(is_void, client, 5000));
    cells_set(cell, "x");
    lk_plain_semaphore_free(plain);
}

static void a_closed_client_answers_so(void **state)
{
    locking *f = *state;
    lk_client *client = locking_open(f, NULL);
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

/* ---- memory ---- */

static lk_status do_update_async(void *cell)
{
    cell_call c = {0};
    lk_status status =
        lk_cell_update_async(cell, NULL, set_x, cell_on_written, &c);

    return status == LK_OK ? cell_call_wait(&c, NULL) : status;
}

static void each_allocation_of_a_change_that_fails_is_told_of(void **state)
{
    locking *f = *state;
    lk_cell *cell = locking_new(f, lk_cell);

    cells_set(cell, "y");
    memory_fails_each("update", do_update_async, NULL, cell);
    cells_expect(cell, "x");
}

int test_cell_misuse(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(what_is_null_is_refused),
        LOCKING_TEST(options_that_cannot_be_are_refused),
        LOCKING_TEST(a_key_of_another_kind_is_not_touched),
        LOCKING_TEST(a_grant_that_cannot_be_is_not_taken),
        LOCKING_TEST(a_closed_client_answers_so),
        LOCKING_TEST(each_allocation_of_a_change_that_fails_is_told_of),
    };

    return cmocka_run_group_tests_name("cell_misuse", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
