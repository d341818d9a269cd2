/* SPDX-License-Identifier: MIT */

/* Export and import by an actor; see handing.h. */

#include "play/handing.h"

#include <string.h>

#include "play/actor.h"
#include "play/art.h"
#include "play/borrow.h"
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
static void
import_ends_alone(sim_actor *actor, sim_client *client, lk_hold *hold)
{
    sim_record_return(actor, client, HISTORY_ACQUIRE, actor->operation,
                      LK_EINDOUBT, NULL, 0);
    actor->operation = 0;
    lk_hold_release(hold);
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
    actor->imports_to =
        sim_process_now(&client->process) + sim_text_lease(text);
    sim_borrow_ends(actor);
    actor->operation =
        sim_record_invoke(actor, client, HISTORY_ACQUIRE, NULL, 0, 0);
    status = art->import(handle, text, &options, &hold);
    sim_actor_wakes(actor);
    lk_owner_free(options.owner);
    art->free(handle);
    if (status == LK_OK && (actor->over || client->process.dead))
        import_ends_alone(actor, client, hold);
    else if (status == LK_OK)
        sim_grip_new(actor, client, hold, ++actor->run->last_id, 0);
    else
        import_fails(actor, client, status);
    if (status == LK_OK)
        sim_borrow_ended(actor, text);
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

/* Somebody borrows it first. */
static void borrow_now(sim_actor *actor)
{
    sim_client *client = client_draw(actor);

    if (client != NULL && client != actor->at)
        sim_borrow(actor, client, sim_actor_art(actor));
    if (!actor->over)
        sim_actor_wakes_to(actor, 500, import_now);
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

bool sim_actor_exports(sim_actor *actor)
{
    sim_grip *grip = sim_grip_last(actor);
    sim_client *client = client_draw(actor);

    if (!sim_actor_can(actor, SIM_EXPORTS) || client == NULL ||
        sim_actor_art(actor)->import == NULL || grip != sim_grip_first(actor) ||
        (actor->text[0] != '\0' && !sim_actor_can(actor, SIM_HANDS_ON)))
        return false;
    if (sim_grip_is_valid(grip))
        memcpy(actor->older, actor->text, sizeof(actor->older));
    actor->older_in = actor->at;
    actor->want.mode = grip->mode;
    actor->good_to =
        actor->run->schedule.now + lk_hold_remaining_ms(grip->hold) * SIM_MS;
    sim_judge_name(actor->run, grip->name);
    if (lk_hold_export(grip->hold, actor->text, sizeof(actor->text)) != LK_OK) {
        actor->text[0] = '\0';
        return false;
    }
    record_export(actor, grip);
    sim_judge_ended(grip);
    grip->hold = NULL;
    actor->run->counts.operations++;
    actor->at = client;
    sim_actor_says(actor, "exports %s", actor->of->text);
    sim_actor_later(actor, sim_actor_while(actor, 500),
                    sim_actor_can(actor, SIM_HANDS_ON) &&
                            sim_chance(&actor->random, 50)
                        ? borrow_now
                        : import_now);
    return true;
}
