/* SPDX-License-Identifier: MIT */

/* Cells without a lock: read, write and delete by version; see errand.h. */

#include <inttypes.h>

#include "play/actor.h"
#include "play/errand.h"
#include "world/random.h"

static void begin(sim_actor *actor, const char *word, uint64_t version)
{
    sim_actor_says(actor, "%s %s (%" PRIu64 ")", word, actor->of->text,
                   version);
    sim_actor_calls(actor, 0);
    actor->newest = actor->of->values.newest;
}

/* False: nobody wants to know any more. */
static bool end(sim_actor *actor, const char *call, lk_status status)
{
    if (sim_actor_called(actor, call, status))
        return false;
    sim_actor_says(actor, "is answered %s", lk_status_name(status));
    if (actor->last && status != LK_OK)
        sim_violated(actor->run, "at the end nobody gets at %s: %s",
                     actor->of->text, lk_status_name(status));
    return true;
}

static void on_read(lk_status status, lk_cell_value *value, void *data)
{
    sim_actor *actor = data;

    if (end(actor, "a read", status)) {
        actor->version = value != NULL ? value->version : LK_CELL_UNSET;
        sim_value_read(actor->run, actor->of, status, actor->version,
                       value != NULL ? value->bytes : NULL, actor->newest);
        sim_actor_rests(actor);
    }
    lk_cell_value_free(value);
}

static void cell_read(sim_actor *actor)
{
    lk_status status;

    begin(actor, "reads", actor->version);
    status = lk_cell_read_async(actor->handle, on_read, actor);
    if (status != LK_OK)
        on_read(status, NULL, actor);
}

static void on_written(lk_status status, uint64_t version, void *data)
{
    sim_actor *actor = data;

    if (!end(actor, "a write", status))
        return;
    sim_value_ends(actor->run, actor->of, actor->value, status, version,
                   actor->newest);
    if (status == LK_OK)
        actor->version = version;
    sim_actor_rests(actor);
}

static void cell_write(sim_actor *actor)
{
    bool any = actor->last || sim_chance(&actor->random, 10);
    uint64_t version = any ? LK_CELL_ANY : actor->version;
    char text[24];
    lk_status status;
    int size;

    begin(actor, "writes", version);
    actor->value = sim_value_begins(actor->of, version, false);
    size = snprintf(text, sizeof(text), "%zu", actor->value);
    status = lk_cell_write_async(actor->handle, version, text, (size_t)size,
                                 on_written, actor);
    if (status != LK_OK)
        on_written(status, 0, actor);
}

static void on_deleted(lk_status status, void *data)
{
    sim_actor *actor = data;

    if (!end(actor, "a delete", status))
        return;
    sim_value_ends(actor->run, actor->of, actor->value, status, 0,
                   actor->newest);
    if (status == LK_OK)
        actor->version = LK_CELL_UNSET;
    sim_actor_rests(actor);
}

static void cell_delete(sim_actor *actor)
{
    lk_status status;

    begin(actor, "deletes", actor->version);
    actor->value = sim_value_begins(actor->of, actor->version, true);
    status =
        lk_cell_delete_async(actor->handle, actor->version, on_deleted, actor);
    if (status != LK_OK)
        on_deleted(status, actor);
}

void sim_errand_cell(sim_actor *actor)
{
    uint64_t dice = sim_below(&actor->random, 100);

    if (actor->last || dice < 55)
        cell_write(actor);
    else if (dice < 92 || actor->version == LK_CELL_UNSET)
        cell_read(actor);
    else
        cell_delete(actor);
}
