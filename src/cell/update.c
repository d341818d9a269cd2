/* SPDX-License-Identifier: MIT */

/*
 * Updates: read, let a function make the next value, write it if nobody has
 * written in between, else pause and begin again. The async one does a step at
 * a time, and each begins in the callback that ends the one before.
 */

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cell/cell.h"
#include "claims/ask.h"
#include "engine/client.h"

enum { TRIES_DEFAULT = 16, PAUSE_MAX_MS = 64 };

#define MS UINT64_C(1000000)

struct lk_cell_draft {
    char *bytes; /* NULL: there is none */
    size_t size;
    uint64_t max_size;
};

typedef struct update {
    lk__place *place; /* an async one pins it, and the client */
    lk_cell_update_options options;
    uint64_t ttl_ms;
    lk_cell_update_fn fn;
    void *data;
    lk_cell_draft draft;
    uint64_t version; /* that was read; then that is there */
    uint64_t tries;   /* so far */
    lk_cell_write_cb cb;
} update;

lk_status
lk_cell_draft_set(lk_cell_draft *draft, const void *bytes, size_t size)
{
    lk_status status;
    char *copy;

    if (draft == NULL)
        return lk__fail(LK_EINVAL, "the draft is NULL");
    status = lk__cell_check_value(draft->max_size, bytes, size);
    if (status != LK_OK)
        return status;
    copy = lk__alloc(size + 1);
    if (copy == NULL)
        return LK_ENOMEM;
    if (size > 0)
        memcpy(copy, bytes, size);
    lk__free(draft->bytes);
    draft->bytes = copy;
    draft->size = size;
    return LK_OK;
}

/* ---- the steps --------------------------------------------------------------- */

static lk_status update_init(update *u, const lk_cell *cell,
                             const lk_cell_update_options *options,
                             lk_cell_update_fn fn, void *data)
{
    lk_status status = lk__cell_check(cell);

    if (status != LK_OK)
        return status;
    memset(u, 0, sizeof(*u));
    status = lk__options_copy(&u->options, sizeof(u->options), options);
    if (status == LK_OK && fn == NULL)
        status = lk__fail(LK_EINVAL, "the function is NULL");
    if (u->options.tries == 0)
        u->options.tries = TRIES_DEFAULT;
    u->place = cell->handle.place;
    u->ttl_ms = cell->options.ttl_ms;
    u->draft.max_size = cell->options.max_size;
    u->fn = fn;
    u->data = data;
    return status;
}

static void draft_clear(lk_cell_draft *draft)
{
    lk__free(draft->bytes);
    draft->bytes = NULL;
    draft->size = 0;
}

static const lk__cell_order reading = {.what = &lk__cell_read};

/* What was read goes to the function. Sets *ret_writes if there is a draft. */
static lk_status think(update *u, lk_status read, const lk__cell_result *result,
                       bool *ret_writes)
{
    lk_status status;

    *ret_writes = false;
    if (read != LK_OK && read != LK_EUNSET)
        return read;
    u->version = read == LK_OK ? result->version : LK_CELL_UNSET;
    draft_clear(&u->draft);
    status = u->fn(read == LK_OK ? result->value : NULL, &u->draft, u->data);
    *ret_writes = status == LK_OK && u->draft.bytes != NULL;
    return status;
}

static lk_status order_take(const update *u, lk__cell_order *ret_order)
{
    *ret_order = (lk__cell_order){.what = &lk__cell_write,
                                  .version = u->version,
                                  .bytes = u->draft.bytes,
                                  .size = u->draft.size,
                                  .ttl_ms = u->ttl_ms};
    return u->options.hold == NULL
               ? LK_OK
               : lk__cell_guard(ret_order, u->place, u->options.hold);
}

/* Whether to begin again. */
static bool again(update *u, lk_status status, const lk__cell_result *result)
{
    if (status == LK_OK)
        u->version = result->version;
    return status == LK_ESTALE && !result->fenced &&
           ++u->tries < u->options.tries;
}

/* Others who met the same write begin again as well, at another time. */
static uint64_t pause_ns(const update *u)
{
    uint64_t limit_ms = PAUSE_MAX_MS;

    if (u->tries < 7)
        limit_ms = UINT64_C(1) << (u->tries - 1);
    return lk__client_random(u->place->client, limit_ms * MS);
}

/* The handle may be freed while the update goes on: the place stays, and with it
   the client. */
static void place_pin(lk__place *place)
{
    lk__client_ref(place->client);
    lk__client_lock(place->client);
    place->refs++;
    lk__client_leave(place->client);
}

static void place_unpin(lk__place *place)
{
    lk_client *client = place->client;

    lk__client_lock(client);
    lk__place_unref(place);
    lk__client_leave(client);
    lk__client_unref(client);
}

/* ---- blocking ---------------------------------------------------------------- */

static lk_status pause_blocking(const update *u)
{
    lk_client *client = u->place->client;
    lk_status status = lk__client_enter_blocking(client);
    lk__ask *ask;

    if (status != LK_OK)
        return status;
    ask = lk__ask_new(sizeof(*ask), client, NULL, NULL);
    if (ask == NULL) {
        status = LK_ENOMEM;
    } else {
        lk__ask_pause(ask, pause_ns(u));
        status = lk__ask_sleep(ask);
        lk__ask_release(ask);
    }
    lk__client_leave_blocking(client);
    return status;
}

/* Once through. Sets *ret_again if somebody else was faster. */
static lk_status round_blocking(update *u, bool *ret_again)
{
    lk__cell_result result = {0};
    lk__cell_order order;
    bool writes;
    lk_status status = lk__cell_do(u->place, &reading, &result);

    *ret_again = false;
    status = think(u, status, &result, &writes);
    lk_cell_value_free(result.value);
    if (!writes)
        return status;
    status = order_take(u, &order);
    if (status == LK_OK)
        status = lk__cell_do(u->place, &order, &result);
    *ret_again = again(u, status, &result);
    return status;
}

lk_status lk_cell_update(lk_cell *cell, const lk_cell_update_options *options,
                         lk_cell_update_fn fn, void *data,
                         uint64_t *ret_version)
{
    update u;
    bool goes_on = true;
    lk_status status = update_init(&u, cell, options, fn, data);

    if (status != LK_OK)
        return status;
    place_pin(u.place);
    while (goes_on) {
        status = round_blocking(&u, &goes_on);
        if (goes_on) {
            status = pause_blocking(&u);
            goes_on = status == LK_OK;
        }
    }
    draft_clear(&u.draft);
    place_unpin(u.place);
    if (status == LK_OK && ret_version != NULL)
        *ret_version = u.version;
    return status;
}

/* ---- async ------------------------------------------------------------------- */

static void on_written(lk_status status, lk__cell_result *result, void *data);
static void on_read(lk_status status, lk__cell_result *result, void *data);

static void update_free(update *u)
{
    draft_clear(&u->draft);
    place_unpin(u->place);
    lk__free(u);
}

static void finish(update *u, lk_status status)
{
    u->cb(status, status == LK_OK ? u->version : 0, u->data);
    update_free(u);
}

static lk_status begin(update *u)
{
    const lk__cell_end end = {.step = on_read, .data = u};

    return lk__cell_do_async(u->place, &reading, &end);
}

static void on_read(lk_status status, lk__cell_result *result, void *data)
{
    const lk__cell_end end = {.step = on_written, .data = data};
    update *u = data;
    lk__cell_order order;
    bool writes;

    status = think(u, status, result, &writes);
    if (writes)
        status = order_take(u, &order);
    if (writes && status == LK_OK) {
        status = lk__cell_do_async(u->place, &order, &end);
        if (status == LK_OK)
            return;
    }
    finish(u, status);
}

/* A pause, and whose it is. */
typedef struct breather {
    lk__ask ask; /* first */
    update *update;
} breather;

static void on_paused(lk__call *call)
{
    lk__ask *ask = lk__ask_of_call(call);
    update *u = ((breather *)(void *)ask)->update;
    lk_status status = call->status;

    lk__ask_finish(ask);
    if (status == LK_OK)
        status = begin(u);
    if (status != LK_OK)
        finish(u, status);
}

static lk_status pause_async(update *u)
{
    lk_client *client = u->place->client;
    breather *pause;
    lk_status status = lk__client_enter(client);

    if (status != LK_OK)
        return status;
    pause = (breather *)(void *)lk__ask_new(sizeof(*pause), client, NULL,
                                            on_paused);
    if (pause != NULL) {
        pause->update = u;
        lk__ask_pause(&pause->ask, pause_ns(u));
    }
    lk__client_leave(client);
    return pause != NULL ? LK_OK : LK_ENOMEM;
}

static void on_written(lk_status status, lk__cell_result *result, void *data)
{
    update *u = data;

    if (again(u, status, result)) {
        status = pause_async(u);
        if (status == LK_OK)
            return;
    }
    finish(u, status);
}

/* A copy of its own, with the place and the client pinned. */
static lk_status update_begin(const update *given)
{
    update *u = lk__alloc(sizeof(*u));
    lk_status status;

    if (u == NULL)
        return LK_ENOMEM;
    *u = *given;
    place_pin(u->place);
    status = begin(u);
    if (status != LK_OK)
        update_free(u);
    return status;
}

lk_status
lk_cell_update_async(lk_cell *cell, const lk_cell_update_options *options,
                     lk_cell_update_fn fn, lk_cell_write_cb cb, void *data)
{
    update u;
    lk_status status = update_init(&u, cell, options, fn, data);

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status != LK_OK)
        return status;
    u.cb = cb;
    return update_begin(&u);
}
