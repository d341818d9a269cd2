/* SPDX-License-Identifier: MIT */

/* Export and import by an actor; see handing.h. */

#include "play/handing.h"

#include <stdlib.h>
#include <string.h>

#include "play/actor.h"
#include "play/art.h"
#include "play/client.h"
#include "play/grip.h"
#include "play/judge.h"
#include "play/record.h"
#include "world/random.h"

/* Another client of the same database, or the same; NULL: none is open. */
static sim_client *client_draw(sim_actor *actor)
{
    sim_run *run = actor->run;
    uint64_t first = sim_below(&actor->random, run->client_count);

    for (size_t i = 0; i < run->client_count; i++) {
        sim_client *client = &run->clients[(first + i) % run->client_count];

        if (client->item->as.client.db == actor->of->db &&
            sim_client_is_there(client))
            return client;
    }
    return NULL;
}

static uint64_t lease_of(const char *text)
{
    for (int i = 0; i < 5 && text != NULL; i++)
        text = strchr(text + 1, ' ');
    return text == NULL ? 0 : strtoull(text, NULL, 10) * SIM_MS;
}

/* The time that has come for what runs there, held up as it may be. */
static uint64_t now_in(const sim_client *client)
{
    uint64_t now = client->run->schedule.now;

    return client->process.ahead > now ? client->process.ahead : now;
}

/* Only an end of the hold makes the text worth nothing, or an answer that takes
   longer than the lease that it asks for. */
static void import_fails(sim_actor *actor, sim_client *client, lk_status status)
{
    sim_actor_says(actor, "cannot import it: %s", lk_status_name(status));
    sim_record_return(actor, client, HISTORY_ACQUIRE, actor->operation, status,
                      NULL, 0);
    actor->operation = 0;
    sim_judge_status(actor, "import", status);
    if (status == LK_ELOST && now_in(client) < actor->good_to &&
        sim_process_now(&client->process) < actor->imports_to &&
        !actor->of->was_ended && !actor->run->left_model)
        sim_violated(actor->run,
                     "%s cannot import %s, which is good for %.3f s more",
                     actor->name, actor->of->text,
                     (double)(actor->good_to - now_in(client)) / 1e9);
}

/* Whoever asked for it is not there any more: it is given back unseen. */
static void ends_alone(sim_actor *actor, sim_client *client, lk_hold *hold)
{
    sim_record_return(actor, client, HISTORY_ACQUIRE, actor->operation,
                      LK_EINDOUBT, NULL, 0);
    actor->operation = 0;
    lk_hold_release(hold);
}

/* The same owner asks to write at once: it may by what is a writer's, or where an
   upgradeable hold is alone. */
static void writes_by(sim_actor *actor, sim_client *client, void *handle,
                      const lk_acquire_options *options, uint64_t owner)
{
    const sim_primitive mode = actor->want.mode;
    lk_hold *hold = NULL;
    lk_status status;

    if (!sim_actor_can(actor, SIM_HANDS_ON) ||
        actor->of->family != SIM_OF_RWLOCK || !sim_chance(&actor->random, 50))
        return;
    sim_actor_says(actor, "is to write %s by that", actor->of->text);
    actor->run->counts.operations++;
    actor->upgrades = false;
    actor->want.mode = SIM_WRITE;
    sim_actor_sleeps(actor, client);
    actor->operation =
        sim_record_invoke(actor, client, HISTORY_ACQUIRE, NULL, 0, 0);
    status = lk_rwlock_acquire_write(handle, 0, options, &hold);
    sim_actor_wakes(actor);
    if (status == LK_OK && (actor->over || client->process.dead)) {
        ends_alone(actor, client, hold);
    } else if (status == LK_OK) {
        sim_grip_new(actor, client, hold, owner, 0);
    } else {
        sim_record_return(actor, client, HISTORY_ACQUIRE, actor->operation,
                          status, NULL, 0);
        actor->operation = 0;
        sim_judge_status(actor, "a write by an import", status);
    }
    actor->want.mode = mode;
}

static void imported(sim_actor *actor, sim_client *client, void *handle,
                     const lk_acquire_options *options, lk_hold *hold)
{
    const uint64_t owner = ++actor->run->last_id;

    if (actor->over || client->process.dead) {
        ends_alone(actor, client, hold);
    } else {
        sim_grip_new(actor, client, hold, owner, 0);
        writes_by(actor, client, handle, options, owner);
    }
}

static void import_in(sim_actor *actor, sim_client *client, const char *text)
{
    const sim_art *art = sim_actor_art(actor);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    void *handle = NULL;
    lk_hold *hold = NULL;
    lk_status status;

    sim_actor_says(actor, "imports %s in %s%s", actor->of->text, client->name,
                   text == actor->older ? ", by the text before" : "");
    actor->run->counts.operations++;
    if (art->make(&handle, client, actor->of->text, actor->run->plan) != LK_OK)
        sim_wrong("no handle for an import");
    if (lk_owner_new(&options.owner, client->client) != LK_OK)
        sim_wrong("no owner for an import");
    sim_actor_sleeps(actor, client);
    actor->imports_to = sim_process_now(&client->process) + lease_of(text);
    actor->operation =
        sim_record_invoke(actor, client, HISTORY_ACQUIRE, NULL, 0, 0);
    status = art->import(handle, text, &options, &hold);
    sim_actor_wakes(actor);
    if (status == LK_OK)
        imported(actor, client, handle, &options, hold);
    else
        import_fails(actor, client, status);
    lk_owner_free(options.owner);
    art->free(handle);
}

/* What is out of date, where it was imported before: it has to be worth nothing. */
static void import_older(sim_actor *actor)
{
    sim_client *client = actor->older_in;
    uint64_t good_to = actor->good_to;

    if (actor->older[0] == '\0' || !sim_client_is_there(client) ||
        !sim_chance(&actor->random, 50))
        return;
    actor->good_to = 0;
    import_in(actor, client, actor->older);
    actor->good_to = good_to;
}

/* In the process of the client that is to have it. */
static void import_now(sim_actor *actor)
{
    import_older(actor);
    if (!actor->at->process.dead && !actor->over)
        import_in(actor, actor->at, actor->text);
    if (actor->over)
        return;
    if (actor->at->process.dead || sim_grip_first(actor) == NULL)
        sim_actor_rests(actor);
    else
        sim_actor_later(actor, sim_actor_while(actor, actor->plan->hold_ms),
                        sim_actor_holds_on);
}

void sim_actor_imports_again(sim_actor *actor)
{
    sim_client *client = client_draw(actor);

    actor->good_to = 0;
    if (client != NULL)
        import_in(actor, client, actor->text);
}

static void record_export(sim_actor *actor, sim_grip *grip)
{
    uint64_t operation;

    grip->hold = NULL; /* it is not there to be asked any more */
    operation =
        sim_record_invoke(actor, grip->client, HISTORY_EXPORT, grip, 0, 0);
    sim_record_return(actor, grip->client, HISTORY_EXPORT, operation, LK_OK,
                      grip, 0);
}

/* An owner of several in one process may hand on none of them; see judge_owners()
   in judge.c. */
static sim_grip *grip_draw(sim_actor *actor)
{
    return sim_actor_can(actor, SIM_HANDS_ON) && sim_chance(&actor->random, 50)
               ? sim_grip_first(actor)
               : sim_grip_last(actor);
}

bool sim_actor_exports(sim_actor *actor)
{
    sim_grip *grip = grip_draw(actor);
    sim_client *client = client_draw(actor);
    char text[LK_EXPORT_SIZE];
    uint64_t good_to;
    bool was_valid;

    if (!sim_actor_can(actor, SIM_EXPORTS) || client == NULL ||
        sim_actor_art(actor)->import == NULL ||
        (actor->text[0] != '\0' && !sim_actor_can(actor, SIM_HANDS_ON)))
        return false;
    was_valid = sim_grip_is_valid(grip);
    good_to =
        actor->run->schedule.now + lk_hold_remaining_ms(grip->hold) * SIM_MS;
    sim_judge_name(actor->run, grip->name);
    if (lk_hold_export(grip->hold, text, sizeof(text)) != LK_OK)
        return false;
    if (was_valid)
        memcpy(actor->older, actor->text, sizeof(actor->older));
    memcpy(actor->text, text, sizeof(text));
    actor->older_in = actor->at;
    actor->want.mode = grip->mode;
    actor->good_to = good_to;
    record_export(actor, grip);
    sim_judge_ended(grip);
    grip->hold = NULL;
    actor->run->counts.operations++;
    actor->at = client;
    sim_actor_says(actor, "exports %s", actor->of->text);
    sim_actor_later(actor, sim_actor_while(actor, 500), import_now);
    return true;
}
