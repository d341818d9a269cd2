/* SPDX-License-Identifier: MIT */

/* Cells: reading, writing, deleting, blocking and async. */

#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/cells.h"
#include "support/check.h"
#include "support/wait.h"

LOCKS_TEST(what_is_written_is_read)
{
    lk_cell *cell = locking_new(f, lk_cell);
    uint64_t version = 0;

    cells_expect(cell, NULL);
    assert_status(lk_cell_write(cell, LK_CELL_UNSET, "one", 3, &version),
                  LK_OK);
    assert_true(version > 0);
    assert_int_equal(cells_expect(cell, "one"), version);
    assert_status(lk_cell_write(cell, version, "two", 3, NULL), LK_OK);
    assert_int_equal(cells_expect(locking_new(f, lk_cell), "two"), version + 1);
}

LOCKS_TEST(a_write_of_another_version_is_refused)
{
    lk_cell *cell = locking_new(f, lk_cell);
    uint64_t first = cells_set(cell, "one");
    uint64_t second = cells_set(locking_new(f, lk_cell), "two");
    uint64_t version = 7;

    assert_true(second > first);
    assert_status(lk_cell_write(cell, first, "three", 5, &version), LK_ESTALE);
    assert_non_null(strstr(lk_last_error(), "the version is "));
    assert_int_equal(version, 7);
    assert_status(lk_cell_write(cell, LK_CELL_UNSET, "x", 1, NULL), LK_ESTALE);
    assert_int_equal(cells_expect(cell, "two"), second);
}

LOCKS_TEST(a_value_is_any_bytes)
{
    lk_cell *cell = locking_new(f, lk_cell);
    lk_cell_value *value = NULL;
    const char bytes[] = {'a', '\0', '\r', '\n', '\xff'};

    assert_status(lk_cell_write(cell, LK_CELL_ANY, bytes, 5, NULL), LK_OK);
    assert_status(lk_cell_read(cell, &value), LK_OK);
    assert_int_equal(value->size, 5);
    assert_memory_equal(value->bytes, bytes, 5);
    lk_cell_value_free(value);
    assert_status(lk_cell_write(cell, LK_CELL_ANY, NULL, 0, NULL), LK_OK);
    cells_expect(cell, "");
}

LOCKS_TEST(a_value_has_at_most_max_size_bytes)
{
    lk_client *client = locking_open(f, NULL);
    const lk_cell_options big = {LK_CELL_OPTIONS_INIT,
                                 .max_size = LK_CELL_SIZE_MAX};
    const size_t size = 1048576;
    char *bytes = calloc(1, 4 * size);
    lk_cell_value *value = NULL;

    assert_non_null(bytes);
    assert_status(lk_cell_write(cells_named(f, client, "n", NULL), LK_CELL_ANY,
                                bytes, size, NULL),
                  LK_OK);
    assert_status(lk_cell_write(cells_named(f, client, "n", NULL), LK_CELL_ANY,
                                bytes, size + 1, NULL),
                  LK_ERANGE);
    assert_non_null(strstr(lk_last_error(), "1048576"));
    assert_status(lk_cell_write(cells_named(f, client, "n", &big), LK_CELL_ANY,
                                bytes, 4 * size, NULL),
                  LK_OK);
    free(bytes);
    assert_status(lk_cell_read(f->handles[0], &value), LK_OK);
    assert_int_equal(value->size, 4 * size);
    lk_cell_value_free(value);
}

LOCKS_TEST(a_version_is_never_used_again)
{
    lk_cell *cell = locking_new(f, lk_cell);
    uint64_t version = 0, last = 0;

    for (int i = 0; i < 50; i++)
        last = cells_set(cell, "x");
    assert_status(lk_cell_delete(cell, last - 1), LK_ESTALE);
    assert_status(lk_cell_delete(cell, last), LK_OK);
    cells_expect(cell, NULL);
    assert_status(lk_cell_delete(cell, LK_CELL_ANY), LK_EUNSET);
    assert_status(lk_cell_write(cell, last, "y", 1, NULL), LK_ESTALE);
    version = cells_set(cell, "y");
    assert_true(version > last);
    server_flush(f->server);
    assert_true(cells_set(cell, "z") > version);
}

static bool is_unset(void *data)
{
    lk_cell_value *value = NULL;
    lk_status status = lk_cell_read(data, &value);

    lk_cell_value_free(value);
    return status == LK_EUNSET;
}

LOCKS_TEST(a_cell_ends_after_its_time)
{
    const lk_cell_options options = {LK_CELL_OPTIONS_INIT, .ttl_ms = 60};
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "n", &options);
    uint64_t version = cells_set(cell, "x");

    assert_true(wait_until(is_unset, cell, 5000));
    assert_true(cells_set(cells_named(f, client, "n", NULL), "y") > version);
    assert_int_equal(locking_pttl(f, "latchkey:{n}:c"), -1);
}

/* ---- async ---- */

LOCKS_TEST(async_calls_do_the_same)
{
    lk_cell *cell = locking_new(f, lk_cell);
    cell_call unset = {0}, write = {0}, stale = {0}, read = {0};
    call deleted = {0};

    assert_status(lk_cell_read_async(cell, cell_on_read, &unset), LK_OK);
    assert_status(cell_call_wait(&unset, NULL), LK_EUNSET);
    assert_status(lk_cell_write_async(cell, LK_CELL_UNSET, "one", 3,
                                      cell_on_written, &write),
                  LK_OK);
    assert_status(cell_call_wait(&write, NULL), LK_OK);
    assert_status(lk_cell_write_async(cell, LK_CELL_UNSET, "two", 3,
                                      cell_on_written, &stale),
                  LK_OK);
    assert_status(cell_call_wait(&stale, NULL), LK_ESTALE);
    assert_non_null(strstr(stale.words, "the version is "));
    assert_status(lk_cell_read_async(cell, cell_on_read, &read), LK_OK);
    assert_status(cell_call_wait(&read, NULL), LK_OK);
    assert_string_equal(read.text, "one");
    assert_int_equal(read.version, write.version);
    assert_status(lk_cell_delete_async(cell, read.version, call_on_done,
                                       &deleted),
                  LK_OK);
    assert_status(call_wait(&deleted, NULL), LK_OK);
    cells_expect(cell, NULL);
}

LOCKS_TEST(a_handle_may_be_freed_before_an_async_call_ends)
{
    lk_client *client = locking_open(f, NULL);
    cell_call write = {0};
    lk_cell *cell = NULL;

    assert_status(lk_cell_new(&cell, client, "n", NULL), LK_OK);
    assert_status(lk_cell_write_async(cell, LK_CELL_ANY, "one", 3,
                                      cell_on_written, &write),
                  LK_OK);
    lk_cell_free(cell);
    assert_status(cell_call_wait(&write, NULL), LK_OK);
    cells_expect(locking_new(f, lk_cell), "one");
}

LOCKS_TEST(what_is_read_outlives_the_client)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = NULL;
    lk_cell_value *value = NULL;

    assert_status(lk_cell_new(&cell, client, "n", NULL), LK_OK);
    cells_set(cell, "one");
    assert_status(lk_cell_read(cell, &value), LK_OK);
    lk_cell_free(cell);
    locking_free_client(f, client);
    assert_string_equal(value->bytes, "one");
    lk_cell_value_free(value);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
