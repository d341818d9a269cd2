/* SPDX-License-Identifier: MIT */

/* Whoever wants to know who leads; see errand.h. */

#include <latchkey/leader.h>

#include <inttypes.h>

#include "play/actor.h"
#include "play/errand.h"

/* Terms only grow, what it knew is no news, and nobody leads in a term that its
   leader had resigned from before anybody asked. */
static void judge_term(sim_actor *actor, uint64_t term)
{
    const sim_run *run = actor->run;

    if (term == actor->version)
        sim_violated(actor->run, "%s is told of term %" PRIu64 " again",
                     actor->name, term);
    if (term != 0 && term < actor->newest && !run->data_lost &&
        !run->clock_went_back)
        sim_violated(actor->run,
                     "%s is told of term %" PRIu64 " after %" PRIu64,
                     actor->name, term, actor->newest);
    if (term != 0 && term <= actor->ended_term && !run->data_lost &&
        !run->clock_went_back)
        sim_violated(actor->run,
                     "%s is told of term %" PRIu64 ", and %" PRIu64
                     " has been resigned from",
                     actor->name, term, actor->ended_term);
    if (term > actor->newest)
        actor->newest = term;
    actor->version = term;
}

static void on_observed(lk_status status, lk_info *info, void *data)
{
    sim_actor *actor = data;
    uint64_t term = lk_leader_term(info);

    lk_info_free(info);
    if (sim_actor_called(actor, "observe", status))
        return;
    sim_actor_says(actor, "is answered %s: term %" PRIu64 " of %s",
                   lk_status_name(status), term, actor->of->text);
    if (status == LK_OK)
        judge_term(actor, term);
    sim_actor_rests(actor);
}

void sim_errand_observer(sim_actor *actor)
{
    lk_status status;

    sim_actor_says(actor, "waits up to %" PRId64 " ms for another term of %s",
                   actor->want.wait_ms, actor->of->text);
    sim_actor_calls(actor, actor->want.wait_ms);
    actor->ended_term = actor->of->resigned;
    status =
        lk_leader_observe_async(actor->handle, actor->version,
                                actor->want.wait_ms, NULL, on_observed, actor);
    if (status != LK_OK)
        on_observed(status, NULL, actor);
}
