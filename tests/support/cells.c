/* SPDX-License-Identifier: MIT */
#include "support/cells.h"

#include <stdio.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"

lk_cell *cells_named(locking *f, lk_client *client, const char *name,
                     const lk_cell_options *options)
{
    lk_cell *cell = NULL;

    assert_status(lk_cell_new(&cell, client, name, options), LK_OK);
    return locking_keep(f, kinds[KIND_CELL], client, cell);
}

uint64_t cells_set(lk_cell *cell, const char *text)
{
    uint64_t version = 0;

    assert_status(lk_cell_write(cell, LK_CELL_ANY, text, strlen(text),
                                &version),
                  LK_OK);
    return version;
}

uint64_t cells_expect(lk_cell *cell, const char *text)
{
    lk_cell_value *value = NULL;
    uint64_t version;

    if (text == NULL) {
        assert_status(lk_cell_read(cell, &value), LK_EUNSET);
        assert_null(value);
        return LK_CELL_UNSET;
    }
    assert_status(lk_cell_read(cell, &value), LK_OK);
    assert_int_equal(value->size, strlen(text));
    assert_string_equal(value->bytes, text);
    version = value->version;
    lk_cell_value_free(value);
    return version;
}

static void end(cell_call *c, lk_status status)
{
    c->status = status;
    (void)snprintf(c->words, sizeof(c->words), "%s", lk_last_error());
    (void)atomic_fetch_add(&c->ends, 1);
}

void cell_on_read(lk_status status, lk_cell_value *value, void *data)
{
    cell_call *c = data;

    if (value != NULL) {
        c->version = value->version;
        (void)snprintf(c->text, sizeof(c->text), "%s",
                       (const char *)value->bytes);
    }
    lk_cell_value_free(value);
    end(c, status);
}

void cell_on_written(lk_status status, uint64_t version, void *data)
{
    cell_call *c = data;

    c->version = version;
    end(c, status);
}

lk_status cell_call_wait(cell_call *c, lk_client *client)
{
    call_wait_count(&c->ends, 1, client);
    assert_int_equal(c->ends, 1);
    return c->status;
}
