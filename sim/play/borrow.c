/* SPDX-License-Identifier: MIT */

/* Holds that are borrowed; see borrow.h. */

#include "play/borrow.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "play/actor.h"
#include "play/judge.h"

/* Clocks of processes are so much slower at most, and an answer takes a while. */
enum { SLOWER_SHARE = 100 };

uint64_t sim_text_lease(const char *text)
{
    for (int i = 0; i < 6 && text != NULL; i++)
        text = strchr(text + 1, ' ');
    return text == NULL ? 0 : strtoull(text, NULL, 10) * SIM_MS;
}

/* ---- the hold ------------------------------------------------------------------ */

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    const sim_grip *grip = data;

    (void)hold;
    if (remaining_ms == 0 && !grip->client->process.dead)
        sim_actor_says(grip->actor, "is told in %s that it has lost it",
                       grip->client->name);
}

static void borrowed(sim_actor *actor, sim_client *client, lk_hold *hold)
{
    actor->borrowed = (sim_grip){.name = actor->of,
                                 .actor = actor,
                                 .client = client,
                                 .hold = hold,
                                 .mode = actor->want.mode,
                                 .since = actor->run->schedule.now,
                                 .fence = lk_hold_fence(hold),
                                 .believed = true};
    actor->borrowed_in = actor->rounds_left;
    actor->borrow_is_over = false;
    actor->borrowed_to = 0;
    sim_judge_status(actor, "lk_hold_on_lost()",
                     lk_hold_on_lost(hold, 0, on_lost, &actor->borrowed));
    sim_actor_says(actor, "borrows %s in %s (fence %" PRIu64 ")",
                   actor->of->text, client->name, actor->borrowed.fence);
}

void sim_borrow(sim_actor *actor, sim_client *client, const sim_art *art)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT, .borrow = 1};
    void *handle = NULL;
    lk_hold *hold = NULL;
    lk_status status;

    sim_borrow_give_back(actor);
    actor->run->counts.operations++;
    if (art->make(&handle, client, actor->of->text, actor->run->plan) !=
            LK_OK ||
        lk_owner_new(&options.owner, client->client) != LK_OK)
        sim_wrong("nobody can borrow");
    sim_actor_sleeps(actor, client);
    status = art->import(handle, actor->text, &options, &hold);
    sim_actor_wakes(actor);
    lk_owner_free(options.owner);
    art->free(handle);
    if (status == LK_OK && (actor->over || client->process.dead))
        lk_hold_release(hold);
    else if (status == LK_OK)
        borrowed(actor, client, hold);
    else
        sim_judge_status(actor, "to borrow", status);
}

/* Of an earlier round nothing is imported any more. */
static bool is_of_this_round(const sim_actor *actor)
{
    return actor->borrowed.hold != NULL &&
           actor->borrowed_in == actor->rounds_left;
}

void sim_borrow_ends(sim_actor *actor)
{
    actor->borrow_is_over |= is_of_this_round(actor);
}

void sim_borrow_ended(sim_actor *actor, const char *text)
{
    uint64_t lease = sim_text_lease(text);

    if (is_of_this_round(actor) && actor->borrowed_to == 0)
        actor->borrowed_to = actor->run->schedule.now + lease +
                             lease / SLOWER_SHARE + SIM_LATE_MS * SIM_MS;
}

static void on_given_back(lk_status status, void *data)
{
    sim_actor *actor = data;

    if (!actor->over)
        sim_judge_status(actor, "a release of what is borrowed", status);
}

/* If nobody has imported it, that is the end of it for all. */
void sim_borrow_give_back(sim_actor *actor)
{
    lk_hold *hold = actor->borrowed.hold;

    if (hold == NULL)
        return;
    sim_actor_says(actor, "gives back what is borrowed in %s",
                   actor->borrowed.client->name);
    if (is_of_this_round(actor) && !actor->borrow_is_over)
        actor->good_to = 0;
    actor->borrowed.hold = NULL;
    actor->borrowed.believed = false;
    actor->run->counts.operations++;
    if (lk_hold_release_async(hold, on_given_back, actor) != LK_OK)
        sim_wrong("a release cannot begin");
}

void sim_borrow_leave(sim_actor *actor, const sim_client *client)
{
    if (actor->borrowed.hold == NULL || actor->borrowed.client != client)
        return;
    lk_hold_release(actor->borrowed.hold);
    actor->borrowed.hold = NULL;
    actor->borrowed.believed = false;
}

/* ---- what may be believed ------------------------------------------------------ */

static void judge(sim_run *run, const sim_actor *actor)
{
    const sim_grip *grip = &actor->borrowed;

    if (grip->hold == NULL || actor->borrowed_to == 0 ||
        run->schedule.now <= actor->borrowed_to || !sim_grip_is_valid(grip))
        return;
    sim_violated(run,
                 "what %s has borrowed of %s in %s (fence %" PRIu64
                 ") has another owner, and it is not told",
                 actor->name, grip->name->text, grip->client->name,
                 grip->fence);
}

void sim_borrow_judge(sim_run *run)
{
    if (run->left_model)
        return;
    for (size_t i = 0; i < run->actor_count; i++)
        judge(run, &run->actors[i]);
}
