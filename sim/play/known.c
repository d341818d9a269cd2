/* SPDX-License-Identifier: MIT */

#include "play/known.h"

#include <latchkey/cell.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "play/errand.h"
#include "play/run.h"

/* After the end of a lease somebody else computes so soon: whoever waits looks
   once in a second. */
enum { ROOM = 64, TAKEN_OVER_MS = 2500 };

/* Room for one more of a list. */
static void *grown(void *all, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return all;
    *room = *room == 0 ? ROOM : 2 * *room;
    all = realloc(all, *room * size);
    if (all == NULL)
        sim_wrong("no memory");
    return all;
}

void sim_known_done(sim_name *name)
{
    free(name->values.all);
    free(name->computings.all);
}

/* ---- cells ---- */

static sim_write *write_at(const sim_name *name, size_t number)
{
    return &name->values.all[number - 1];
}

size_t sim_value_begins(sim_name *name, uint64_t expected, bool deletes)
{
    sim_values *values = &name->values;

    values->all =
        grown(values->all, values->count, &values->room, sizeof(*values->all));
    values->all[values->count] =
        (sim_write){expected, 0, SIM_OPEN, deletes, values->open == 0};
    values->open++;
    values->was_deleted |= deletes;
    return ++values->count;
}

/* The write that made, or was seen as, this version; 0: none. */
static size_t maker_of(const sim_name *name, uint64_t version)
{
    for (size_t i = name->values.count; i > 0; i--) {
        if (write_at(name, i)->version == version)
            return i;
    }
    return 0;
}

/* A version stands for one value, and a value for one version. */
static void judge_version(sim_run *run, const sim_name *name, size_t number,
                          uint64_t version)
{
    const sim_write *write = write_at(name, number);
    size_t other = maker_of(name, version);

    if (other != 0 && other != number)
        sim_violated(run,
                     "version %" PRIu64 " of %s is value %zu and value %zu",
                     version, name->text, other, number);
    if (write->version != 0 && write->version != version)
        sim_violated(run, "value %zu of %s is version %" PRIu64 " and %" PRIu64,
                     number, name->text, write->version, version);
    if (write->state == SIM_NOT_MADE)
        sim_violated(run, "value %zu of %s was refused, and is there", number,
                     name->text);
}

static void note_version(sim_name *name, size_t number, uint64_t version)
{
    write_at(name, number)->version = version;
    if (version > name->values.newest)
        name->values.newest = version;
}

static bool is_made(const sim_write *write)
{
    return write->state == SIM_MADE || write->version != 0;
}

/* Of all that name one version, one is made. */
static void judge_replaced(sim_run *run, const sim_name *name, size_t number)
{
    const sim_write *write = write_at(name, number);

    if (write->expected == LK_CELL_UNSET || write->expected == LK_CELL_ANY)
        return;
    for (size_t i = 1; i <= name->values.count; i++) {
        const sim_write *other = write_at(name, i);

        if (i != number && is_made(other) && other->expected == write->expected)
            sim_violated(run,
                         "value %zu and value %zu of %s both replaced version "
                         "%" PRIu64,
                         i, number, name->text, write->expected);
    }
}

static void made(sim_run *run, sim_name *name, size_t number, uint64_t version,
                 uint64_t newest)
{
    sim_write *write = write_at(name, number);

    judge_replaced(run, name, number);
    write->state = SIM_MADE;
    if (write->deletes)
        return;
    if (version <= newest)
        sim_violated(run,
                     "value %zu of %s is version %" PRIu64 ", and %" PRIu64
                     " was there before",
                     number, name->text, version, newest);
    judge_version(run, name, number, version);
    note_version(name, number, version);
}

/* It named the newest version, and nothing else can have been done since. */
static bool was_sound(const sim_name *name, size_t number)
{
    const sim_write *write = write_at(name, number);
    size_t before = maker_of(name, write->expected);

    return before != 0 && before == number - 1 && write->alone &&
           write_at(name, before)->alone && name->values.count == number;
}

void sim_value_ends(sim_run *run, sim_name *name, size_t number,
                    lk_status status, uint64_t version, uint64_t newest)
{
    sim_write *write = write_at(name, number);

    if (status == LK_EPENDING)
        return;
    name->values.open--;
    if (run->left_model) {
        write->state = status == LK_OK ? SIM_MADE : SIM_NOT_MADE;
        return;
    }
    if (status == LK_OK) {
        made(run, name, number, version, newest);
        return;
    }
    if (write->version != 0)
        sim_violated(run, "value %zu of %s was refused, and was there", number,
                     name->text);
    write->state = SIM_NOT_MADE;
    if ((status == LK_ESTALE || status == LK_EUNSET) && was_sound(name, number))
        sim_violated(run,
                     "value %zu of %s was refused, though version %" PRIu64
                     " was there",
                     number, name->text, write->expected);
}

void sim_value_read(sim_run *run, sim_name *name, lk_status status,
                    uint64_t version, const char *bytes, uint64_t newest)
{
    size_t number = bytes != NULL ? strtoull(bytes, NULL, 10) : 0;

    if (run->left_model)
        return;
    if (status == LK_EUNSET && newest != 0 && !name->values.was_deleted)
        sim_violated(run, "%s is unset, and nobody deleted version %" PRIu64,
                     name->text, newest);
    if (status != LK_OK)
        return;
    if (number == 0 || number > name->values.count ||
        write_at(name, number)->deletes) {
        sim_violated(run, "%s holds what nobody wrote", name->text);
        return;
    }
    if (version < newest)
        sim_violated(run,
                     "%s was read as version %" PRIu64
                     " after version %" PRIu64,
                     name->text, version, newest);
    judge_version(run, name, number, version);
    note_version(name, number, version);
    judge_replaced(run, name, number);
}

/* ---- flights ---- */

/* Since then nothing has happened that may keep a claim from being renewed, or
   a call from being answered. */
static bool was_calm(const sim_run *run, uint64_t since)
{
    return !run->left_model && run->calm_from <= since;
}

/* A client has one leader. Of two in different clients one was taken over from,
   and nobody is who can renew its claim. */
static void
judge_alone(sim_run *run, const sim_name *name, const sim_actor *leader)
{
    for (size_t i = 0; i < name->computings.count; i++) {
        const sim_computing *other = &name->computings.all[i];

        if (other->ended_at == 0 && (other->leader->home == leader->home ||
                                     (was_calm(run, other->began_at) &&
                                      sim_flight_is_calm(other->leader))))
            sim_violated(run, "%s and %s both compute %s", other->leader->name,
                         leader->name, name->text);
    }
}

size_t
sim_computing_begins(sim_run *run, sim_name *name, const sim_actor *leader)
{
    sim_computings *list = &name->computings;

    judge_alone(run, name, leader);
    list->all = grown(list->all, list->count, &list->room, sizeof(*list->all));
    list->all[list->count] =
        (sim_computing){.leader = leader, .began_at = run->schedule.now};
    return ++list->count;
}

void sim_computing_ends(sim_run *run, sim_name *name, size_t number,
                        bool failed)
{
    sim_computing *one = &name->computings.all[number - 1];

    one->ended_at = run->schedule.now;
    one->failed = failed;
}

/* The server has had it since before another client was told, and for its time;
   its clock and this one are not quite the same. */
static bool
is_too_old(const sim_run *run, const sim_computing *one, uint64_t asked_at)
{
    return !run->left_model && one->told_at != 0 &&
           asked_at > one->told_at + SIM_FLIGHT_TTL_MS * SIM_MS * 11 / 10;
}

static void error_told(sim_run *run, sim_name *name)
{
    for (size_t i = 0; i < name->computings.count; i++) {
        if (name->computings.all[i].failed)
            return;
    }
    sim_violated(run, "%s is an error, and nobody said so", name->text);
}

void sim_computing_told(sim_run *run, sim_name *name, const sim_actor *actor,
                        const char *bytes)
{
    const uint64_t asked_at = actor->began_at;
    size_t number = bytes != NULL ? strtoull(bytes, NULL, 10) : 0;
    sim_computing *one;

    if (bytes == NULL) {
        error_told(run, name);
        return;
    }
    if (number == 0 || number > name->computings.count) {
        sim_violated(run, "%s is what nobody computed", name->text);
        return;
    }
    one = &name->computings.all[number - 1];
    if (one->ended_at == 0 || one->failed)
        sim_violated(run, "value %zu of %s was had before it was there", number,
                     name->text);
    if (is_too_old(run, one, asked_at))
        sim_violated(run, "value %zu of %s was had %.3f s after it was told",
                     number, name->text,
                     (double)(asked_at - one->told_at) / 1e9);
    if (one->told_at == 0 && one->leader->home != actor->home)
        one->told_at = run->schedule.now;
}

/* ---- taking over ---- */

/* Since when nobody computes, as far as a call that began then knows; 0: somebody
   does. */
static uint64_t idle_since(const sim_name *name, uint64_t began_at)
{
    uint64_t since = began_at;

    for (size_t i = 0; i < name->computings.count; i++) {
        const sim_computing *one = &name->computings.all[i];

        if (one->ended_at == 0)
            return 0;
        if (one->ended_at > since)
            since = one->ended_at;
    }
    return since;
}

/* Whoever could hold the claim without knowing yet answers soon. */
static bool are_all_answered(const sim_run *run)
{
    for (size_t i = 0; i < run->actor_count; i++) {
        if (run->actors[i].home != NULL &&
            !sim_flight_is_answered(&run->actors[i]))
            return false;
    }
    return true;
}

void sim_computing_missed(sim_run *run, const sim_name *name,
                          const sim_actor *actor)
{
    uint64_t since = idle_since(name, actor->began_at);

    if (since != 0 && was_calm(run, actor->began_at) && are_all_answered(run) &&
        run->schedule.now >
            since + (SIM_FLIGHT_LEASE_MS + TAKEN_OVER_MS) * SIM_MS)
        sim_violated(run, "%s waited %.3f s for %s, and nobody computed it",
                     actor->name, (double)(run->schedule.now - since) / 1e9,
                     name->text);
}
