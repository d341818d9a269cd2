/* SPDX-License-Identifier: MIT */

/* The life of an actor; see actor.h. */

#include "play/actor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "claims/hold.h"
#include "claims/work.h"
#include "engine/client.h"
#include "play/art.h"
#include "play/borrow.h"
#include "play/client.h"
#include "play/errand.h"
#include "play/judge.h"
#include "play/record.h"
#include "world/random.h"

/* A call may end so much later than it has to, by its client's clock: the time
   of an answer, and what a stop of the process adds is counted apart. */
enum {
    LATE_MS = 100,
    STEPS_MOST = 3,
    EXTRA_WAIT_MS = 1500,
    LAST_WAIT_MS = 8000
};

static const sim_art *art_of(const sim_actor *actor)
{
    return &sim_arts[actor->plan->primitive];
}

static bool can(const sim_actor *actor, sim_skill skill)
{
    return (actor->plan->skills & skill) != 0;
}

static void round_end(sim_actor *actor);
static void hold_on(sim_actor *actor);
static void give_back(sim_actor *actor);

void sim_actor_says(const sim_actor *actor, const char *format, ...)
{
    char words[SIM_WORDS_MOST];
    va_list args;

    if (actor->run->schedule.story == NULL)
        return;
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    sim_tell(&actor->run->schedule, actor->name, "%s", words);
}

/* ---- time ---------------------------------------------------------------------- */

static void on_event(sim_event *event)
{
    sim_actor *actor =
        (sim_actor *)(void *)((char *)event - offsetof(sim_actor, event));

    if (actor->over || actor->home->process.dead || actor->at->process.dead ||
        !sim_process_runs(&actor->at->process, event))
        return;
    actor->next(actor);
}

static void later(sim_actor *actor, uint64_t ns, void (*next)(sim_actor *actor))
{
    actor->next = next;
    sim_event_set(&actor->run->schedule, &actor->event,
                  actor->run->schedule.now + ns);
}

/* A while of most ms milliseconds, mostly shorter, now and then none at all. */
static uint64_t while_of(sim_actor *actor, uint64_t ms)
{
    if (sim_chance(&actor->random, 10))
        return 0;
    return sim_spread(&actor->random, 1 + ms * 10, ms * 1000) * SIM_US;
}

/* ---- holds --------------------------------------------------------------------- */

static void on_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    sim_grip *grip = data;

    (void)hold;
    if (remaining_ms > 0 || grip->client->process.dead)
        return;
    grip->lost_told = true;
    sim_record_lost(grip);
    grip->actor->run->counts.losses++;
    sim_actor_says(grip->actor, "is told that %s is lost", grip->name->text);
}

static sim_grip *grip_first(sim_actor *actor)
{
    for (int i = 0; i < SIM_GRIPS; i++) {
        if (actor->grips[i].hold != NULL)
            return &actor->grips[i];
    }
    return NULL;
}

static sim_grip *grip_free(sim_actor *actor)
{
    for (int i = 0; i < SIM_GRIPS; i++) {
        if (actor->grips[i].hold == NULL)
            return &actor->grips[i];
    }
    sim_wrong("%s holds too much", actor->name);
}

/* Nobody is to have what it asked for longer than it asked. Who enters again has
   the first hold's lease, and an import the export's. */
static void judge_lease(sim_actor *actor, const lk_hold *hold)
{
    uint64_t lease_ms = actor->want.lease_ms;

    if (lease_ms == 0)
        lease_ms = actor->home->item->as.client.watchdog_ms;
    if (lk_hold_remaining_ms(hold) > lease_ms)
        sim_violated(actor->run,
                     "%s asked for %" PRIu64 " ms of %s and has %" PRIu64 " ms",
                     actor->name, lease_ms, actor->of->text,
                     lk_hold_remaining_ms(hold));
}

/* lease_ms: what it was asked for; 0: it has another's. */
static void grip_new(sim_actor *actor, sim_client *client, lk_hold *hold,
                     uint64_t owner, uint64_t lease_ms)
{
    const sim_want *want = &actor->want;
    sim_grip *grip = grip_free(actor);

    *grip = (sim_grip){.name = actor->of,
                       .actor = actor,
                       .client = client,
                       .hold = hold,
                       .id = ++actor->run->last_id,
                       .owner = owner,
                       .lease_ms = lease_ms,
                       .mode = want->mode,
                       .count = want->count,
                       .fence = lk_hold_fence(hold)};
    sim_judge_status(actor, "lk_hold_on_lost()",
                     lk_hold_on_lost(hold, 0, on_lost, grip));
    sim_actor_says(actor,
                   "has %s%s (%s, fence %" PRIu64 ", for %" PRIu64 " ms)",
                   actor->of->text,
                   client == actor->home ? "" : " in the other client",
                   sim_primitive_word(want->mode), grip->fence,
                   lk_hold_remaining_ms(hold));
    sim_record_return(actor, client, HISTORY_ACQUIRE, actor->operation, LK_OK,
                      grip, lease_ms);
    actor->operation = 0;
    sim_judge_granted(grip);
    actor->run->counts.stale += !sim_grip_is_valid(grip);
}

/* The last that it got. */
static sim_grip *grip_last(sim_actor *actor)
{
    sim_grip *last = NULL;

    for (int i = 0; i < SIM_GRIPS; i++) {
        if (actor->grips[i].hold != NULL)
            last = &actor->grips[i];
    }
    return last;
}

/* A holder that has long lost it was told so. */
static void judge_loss(const sim_grip *grip)
{
    uint64_t had_ns = grip->actor->run->schedule.now - grip->since;

    if (lk_hold_lost_for_ms(grip->hold) > LATE_MS && !grip->lost_told &&
        had_ns > LATE_MS * SIM_MS &&
        sim_client_stood_to(grip->client) <= grip->since)
        sim_violated(grip->actor->run,
                     "%s lost %s %" PRIu64 " ms ago and was not told",
                     grip->actor->name, grip->name->text,
                     lk_hold_lost_for_ms(grip->hold));
}

/* ---- asking -------------------------------------------------------------------- */

static void want_draw(sim_actor *actor)
{
    uint64_t *random = &actor->random;
    uint64_t dice = sim_below(random, 100);
    uint64_t wait_ms = sim_spread(random, 1, 8000);
    uint64_t lease_ms = sim_spread(random, 20, 5000);
    bool leases = sim_chance(random, 40);

    actor->want.mode = actor->plan->primitive;
    actor->want.count = actor->want.mode == SIM_SEMAPHORE
                            ? sim_between(random, 1, actor->run->plan->permits)
                            : 1;
    actor->want.wait_ms = dice < 15 ? 0 : (int64_t)wait_ms;
    if (actor->want.mode == SIM_REDLOCK)
        lease_ms += SIM_NODE_TIMEOUT_MS;
    actor->want.lease_ms = leases && can(actor, SIM_LEASES) ? lease_ms : 0;
}

static uint64_t clock_of(const sim_actor *actor)
{
    return sim_process_clock(&actor->home->process);
}

/* The same when a call begins. One of its clients may have got ahead, held up in
   the middle of something, and the call goes by that one's clock. */
static uint64_t clock_now(const sim_actor *actor)
{
    uint64_t latest = clock_of(actor);

    for (unsigned host = 0; host < actor->run->plan->hosts; host++) {
        uint64_t clock = sim_process_now(&actor->home->first[host].process);

        if (clock > latest)
            latest = clock;
    }
    return latest;
}

/* Also the time that its process stands in between. */
static void judge_time(sim_actor *actor, const char *call)
{
    uint64_t stood = sim_client_stood_ns(actor->home) - actor->stopped_before;

    if (clock_of(actor) > actor->ends_at + stood)
        sim_violated(actor->run, "%s: %s ended %.3f s late", actor->name, call,
                     (double)(clock_of(actor) - actor->ends_at - stood) / 1e9);
}

/* Nothing of it is known of one that is entered again. */
static uint64_t lease_asked(sim_actor *actor)
{
    if (grip_first(actor) != NULL)
        return 0;
    return actor->want.lease_ms > 0 ? actor->want.lease_ms
                                    : actor->home->item->as.client.watchdog_ms;
}

void sim_actor_calls(sim_actor *actor, int64_t wait_ms)
{
    uint64_t timeout = actor->home->item->as.client.command_timeout_ms;

    actor->calls = true;
    actor->asked_at = clock_now(actor);
    actor->stopped_before = sim_client_stood_ns(actor->home);
    actor->ends_at =
        actor->asked_at +
        ((uint64_t)wait_ms + (wait_ms == 0 ? 2 * timeout : 0) + LATE_MS) *
            SIM_MS;
    actor->run->counts.operations++;
}

static void call_begin(sim_actor *actor, int64_t wait_ms)
{
    sim_actor_calls(actor, wait_ms);
    actor->fence_floor = actor->of->fence;
    actor->queued = false;
    actor->operation =
        sim_record_invoke(actor, actor->home, HISTORY_ACQUIRE, NULL,
                          actor->run->schedule.now + (uint64_t)wait_ms * SIM_MS,
                          lease_asked(actor));
}

void sim_actor_sleeps(sim_actor *actor, sim_client *client)
{
    actor->calls = true;
    actor->sleeps_in = client;
    actor->depth = ++actor->run->depth;
}

void sim_actor_wakes(sim_actor *actor)
{
    actor->calls = false;
    actor->sleeps_in = NULL;
    actor->run->depth--;
}

/* True: it is of no use any more; a dead client's callbacks are heard only when
   its memory is given back. */
bool sim_actor_called(sim_actor *actor, const char *call, lk_status status)
{
    actor->calls = false;
    if (actor->home->process.dead || actor->over)
        return true;
    sim_judge_status(actor, call, status);
    judge_time(actor, call);
    return false;
}

static void on_acquired(lk_status status, lk_hold *hold, void *data)
{
    sim_actor *actor = data;

    sim_event_clear(&actor->run->schedule, &actor->cancel_event);
    if (sim_actor_called(actor, "acquire", status)) {
        lk_hold_release(hold);
        return;
    }
    if (status != LK_OK) {
        sim_record_return(actor, actor->home, HISTORY_ACQUIRE, actor->operation,
                          status, NULL, 0);
        actor->operation = 0;
        sim_actor_says(actor, "does not get %s: %s", actor->of->text,
                       lk_status_name(status));
        if (actor->last)
            sim_violated(actor->run, "at the end nobody gets %s: %s",
                         actor->of->text, lk_status_name(status));
        if (grip_first(actor) == NULL)
            round_end(actor);
        else
            later(actor, while_of(actor, actor->plan->hold_ms), hold_on);
        return;
    }
    if (grip_first(actor) == NULL)
        judge_lease(actor, hold);
    grip_new(actor, actor->home, hold, actor->number, lease_asked(actor));
    later(actor, while_of(actor, actor->plan->hold_ms), hold_on);
}

static void on_cancel(sim_event *event)
{
    sim_actor *actor = (sim_actor *)(void *)((char *)event -
                                             offsetof(sim_actor, cancel_event));

    if (actor->over || !sim_process_runs(&actor->home->process, event))
        return;
    sim_actor_says(actor, "does not want %s any more", actor->of->text);
    lk_cancel_fire(actor->cancel);
}

/* A multilock whose members are of several clients: owners and tokens are not. */
static bool is_over_several(const sim_actor *actor)
{
    return actor->plan->primitive == SIM_MULTILOCK &&
           actor->run->plan->hosts > 1;
}

/* A token that was fired stays so: each call has one of its own. */
static void cancel_prepare(sim_actor *actor, lk_acquire_options *options)
{
    bool cancels = sim_chance(&actor->random, 25);
    uint64_t ns = while_of(actor, 2000);

    lk_cancel_free(actor->cancel);
    actor->cancel = NULL;
    if (!cancels || !can(actor, SIM_CANCELS) || is_over_several(actor) ||
        lk_cancel_new(&actor->cancel, actor->home->client) != LK_OK)
        return;
    options->cancel = actor->cancel;
    sim_event_set(&actor->run->schedule, &actor->cancel_event,
                  actor->run->schedule.now + ns);
}

static void acquire(sim_actor *actor)
{
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .owner = actor->owner,
                                  .lease_ms = actor->want.lease_ms};
    lk_status status;

    cancel_prepare(actor, &options);
    sim_actor_says(actor, "asks for %s (%s), waits up to %" PRId64 " ms%s",
                   actor->of->text, sim_primitive_word(actor->want.mode),
                   actor->want.wait_ms,
                   actor->want.lease_ms > 0 ? ", for a lease of its own" : "");
    call_begin(actor, actor->want.wait_ms);
    status = art_of(actor)->acquire(actor->handle, &actor->want, &options,
                                    on_acquired, actor);
    if (status != LK_OK)
        on_acquired(status, NULL, actor);
}

/* ---- while it holds ------------------------------------------------------------ */

static void on_done(lk_status status, void *data)
{
    sim_actor *actor = data;

    if (actor->over || actor->home->process.dead)
        return;
    sim_judge_status(actor, "a change of its hold", status);
    sim_actor_says(actor, "is answered %s", lk_status_name(status));
}

/* Whether the hold that was to be changed is there yet. */
static const sim_grip *changed(const sim_change *change)
{
    return change->grip->hold != NULL && change->grip->id == change->hold
               ? change->grip
               : NULL;
}

static void on_changed(lk_status status, void *data)
{
    sim_actor *actor = data;
    sim_change change = actor->change;

    actor->change.operation = 0;
    if (!actor->over)
        sim_record_return(actor, change.client, change.call, change.operation,
                          status, changed(&change), change.lease_ms);
    on_done(status, actor);
}

/* One at a time. */
static bool change_begin(sim_actor *actor, history_call call, sim_grip *grip,
                         uint64_t lease_ms)
{
    if (actor->change.operation != 0)
        return false;
    actor->change =
        (sim_change){.operation = sim_record_invoke(actor, grip->client, call,
                                                    grip, 0, lease_ms),
                     .call = call,
                     .client = grip->client,
                     .grip = grip,
                     .hold = grip->id,
                     .lease_ms = lease_ms};
    actor->run->counts.operations++;
    return true;
}

static void change_end(sim_actor *actor, lk_status status)
{
    if (status != LK_OK)
        on_changed(status, actor);
}

static void extend(sim_actor *actor)
{
    uint64_t ms = sim_spread(&actor->random, 20, 8000);
    sim_grip *grip = grip_last(actor);

    if (!can(actor, SIM_EXTENDS) ||
        !change_begin(actor, HISTORY_EXTEND, grip, ms))
        return;
    sim_actor_says(actor, "extends %s to %" PRIu64 " ms", grip->name->text, ms);
    change_end(actor, lk_hold_extend_async(grip->hold, ms, on_changed, actor));
}

/* Asks once more for what it has, or for the other mode. False: it does not. */
static bool reenter(sim_actor *actor)
{
    bool turns = can(actor, SIM_TURNS);

    if (actor->at != actor->home || grip_free(actor) == NULL)
        return false;
    if (actor->want.mode == SIM_UPGRADEABLE && turns)
        actor->want.mode = SIM_WRITE;
    else if (actor->want.mode == SIM_WRITE && turns)
        actor->want.mode = SIM_READ;
    else if (!can(actor, SIM_REENTERS) || actor->want.mode == SIM_SEMAPHORE ||
             actor->run->plan->hosts > 1)
        return false;
    actor->want.wait_ms = EXTRA_WAIT_MS;
    acquire(actor);
    return true;
}

static void downgrade(sim_actor *actor)
{
    sim_grip *grip = grip_last(actor);

    if (!can(actor, SIM_TURNS) || grip->mode != SIM_WRITE ||
        grip != grip_first(actor) ||
        !change_begin(actor, HISTORY_DOWNGRADE, grip, 0))
        return;
    sim_actor_says(actor, "goes on to read %s", grip->name->text);
    sim_judge_name(actor->run, grip->name);
    grip->mode = SIM_READ;
    change_end(actor, lk_rwlock_downgrade_async(grip->hold, on_changed, actor));
}

static void on_revoked(lk_status status, int64_t left_ms, void *data)
{
    (void)left_ms;
    on_done(status, data);
}

/* Has somebody's hold end, whoever's. */
static void revoke(sim_actor *actor)
{
    const sim_grip *grip = actor->of->grips;

    if (!can(actor, SIM_REVOKES) || grip == NULL ||
        art_of(actor)->revoke == NULL)
        return;
    sim_actor_says(actor, "revokes what %s has", grip->actor->name);
    actor->of->was_ended = true;
    actor->run->counts.operations++;
    sim_judge_status(actor, "revoke",
                     art_of(actor)->revoke(actor->handle, grip->hold->claim->id,
                                           on_revoked, actor));
}

/* Who was forced to end hears of it when the message comes, or at its deadline;
   and what is in doubt may be done later yet. */
static void on_forced(lk_status status, void *data)
{
    sim_actor *actor = data;

    sim_record_return(actor, actor->home, HISTORY_FORCE, actor->forcing, status,
                      NULL, 0);
    actor->forcing = 0;
    actor->of->excused_to = actor->run->schedule.now +
                            (status == LK_EINDOUBT ? 90 * SIM_S : 30 * SIM_S);
    on_done(status, data);
}

static void force(sim_actor *actor)
{
    if (!can(actor, SIM_FORCES) || art_of(actor)->force == NULL ||
        actor->forcing != 0)
        return;
    sim_actor_says(actor, "ends whoever's hold of %s by force",
                   actor->of->text);
    actor->run->counts.operations++;
    actor->forcing =
        sim_record_invoke(actor, actor->home, HISTORY_FORCE, NULL, 0, 0);
    actor->of->excused_to = SIM_NEVER;
    actor->of->was_ended = true;
    if (art_of(actor)->force(actor->handle, on_forced, actor) != LK_OK)
        sim_wrong("a force cannot begin");
}

/* ---- what it guards -------------------------------------------------------------- */

static void on_written(lk_status status, uint64_t version, void *data)
{
    sim_actor *actor = data;
    uint64_t operation = actor->write.operation;

    (void)version;
    actor->write.operation = 0;
    if (actor->over || actor->home->process.dead)
        return;
    sim_judge_status(actor, "a write", status);
    sim_actor_says(actor, "has written: %s", lk_status_name(status));
    sim_record_written(actor, &actor->write, operation, status);
}

/* Writes what its fence guards. It may give back what it holds before that is
   answered. */
static void write_guarded(sim_actor *actor)
{
    sim_grip *grip = grip_last(actor);
    lk_status status = LK_OK;

    if (!sim_arts[grip->mode].fenced || grip->client != actor->home ||
        actor->plan->primitive == SIM_LEADER ||
        actor->plan->primitive == SIM_STRIPE || actor->write.operation != 0)
        return;
    if (actor->cell == NULL)
        status = lk_cell_new(&actor->cell, actor->home->client, actor->of->text,
                             NULL);
    if (status != LK_OK)
        sim_wrong("no cell");
    sim_actor_says(actor, "writes with fence %" PRIu64, grip->fence);
    actor->run->counts.operations++;
    actor->write = (sim_change){.call = HISTORY_WRITE,
                                .hold = grip->id,
                                .fence = grip->fence};
    actor->write.operation =
        sim_record_invoke(actor, actor->home, HISTORY_WRITE, grip, 0, 0);
    status = lk_cell_write_guarded_async(actor->cell, grip->hold, LK_CELL_ANY,
                                         actor->name, 1, on_written, actor);
    if (status != LK_OK)
        on_written(status, 0, actor);
}

/* ---- export and import --------------------------------------------------------- */

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
        now_in(client) < actor->imports_to && !actor->of->was_ended &&
        !actor->run->left_model)
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
    const sim_art *art = art_of(actor);
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
    actor->imports_to = now_in(client) + sim_text_lease(text);
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
        grip_new(actor, client, hold, ++actor->run->last_id, 0);
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
    if (actor->at->process.dead || grip_first(actor) == NULL)
        round_end(actor);
    else
        later(actor, while_of(actor, actor->plan->hold_ms), hold_on);
}

/* Goes on, unless the client in which it is died meanwhile. */
static void
after_sleep(sim_actor *actor, uint64_t ms, void (*next)(sim_actor *actor))
{
    if (actor->at->process.dead && !actor->over)
        round_end(actor);
    else
        later(actor, while_of(actor, ms), next);
}

/* The same text once more, elsewhere: it has to be worth nothing. */
static void import_again(sim_actor *actor)
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
        sim_borrow(actor, client, art_of(actor));
    if (!actor->over)
        after_sleep(actor, 500, import_now);
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

/* False: it keeps its hold. */
static bool export_now(sim_actor *actor)
{
    sim_grip *grip = grip_last(actor);
    sim_client *client = client_draw(actor);

    if (!can(actor, SIM_EXPORTS) || client == NULL ||
        art_of(actor)->import == NULL || grip != grip_first(actor) ||
        (actor->text[0] != '\0' && !can(actor, SIM_HANDS_ON)))
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
    later(actor, while_of(actor, 500),
          can(actor, SIM_HANDS_ON) && sim_chance(&actor->random, 50)
              ? borrow_now
              : import_now);
    return true;
}

/* ---- the steps ------------------------------------------------------------------ */

/* The same of one that hands on what it has. */
static bool step_handing_on(sim_actor *actor)
{
    switch (sim_below(&actor->random, 10)) {
    case 0:
    case 1:
        extend(actor); /* and it is still under way then */
        return export_now(actor);
    case 2:
    case 3:
        return export_now(actor);
    case 4:
        revoke(actor);
        return false;
    case 5:
    case 6:
        sim_borrow_give_back(actor);
        return false;
    case 7:
    case 8:
        write_guarded(actor);
        return false;
    default:
        if (actor->text[0] != '\0')
            import_again(actor);
        return false;
    }
}

/* Something that it may do while it holds; true: it goes on elsewhere. */
static bool step(sim_actor *actor)
{
    if (can(actor, SIM_HANDS_ON))
        return step_handing_on(actor);
    switch (sim_below(&actor->random, 10)) {
    case 0:
        extend(actor);
        return false;
    case 1:
        return reenter(actor);
    case 2:
        downgrade(actor);
        return false;
    case 3:
        revoke(actor);
        return false;
    case 4:
        force(actor);
        return false;
    case 5:
    case 6:
        return export_now(actor);
    case 7:
    case 8:
        write_guarded(actor);
        return false;
    default:
        if (actor->text[0] != '\0')
            import_again(actor);
        return false;
    }
}

static void hold_on(sim_actor *actor)
{
    if (grip_first(actor) == NULL || actor->steps_left == 0) {
        give_back(actor);
        return;
    }
    actor->steps_left--;
    if (!step(actor))
        after_sleep(actor, actor->plan->hold_ms, hold_on);
}

/* ---- giving back ----------------------------------------------------------------- */

static void on_released(lk_status status, void *data)
{
    sim_actor *actor = data;

    actor->calls = false;
    if (!actor->over)
        sim_record_return(actor, actor->released_in, HISTORY_RELEASE,
                          actor->operation, status, NULL, 0);
    if (actor->over || actor->home->process.dead)
        return;
    sim_judge_status(actor, "release", status);
    sim_actor_says(actor, "has given it back: %s", lk_status_name(status));
    later(actor, 0, give_back);
}

static void give_back(sim_actor *actor)
{
    sim_grip *grip = grip_last(actor);
    lk_hold *hold;

    if (grip == NULL) {
        round_end(actor);
        return;
    }
    judge_loss(grip);
    sim_judge_name(actor->run, grip->name);
    sim_actor_says(actor, "gives %s back%s", grip->name->text,
                   sim_grip_is_valid(grip) ? "" : ", which it has lost");
    actor->operation =
        sim_record_invoke(actor, grip->client, HISTORY_RELEASE, grip, 0, 0);
    actor->released_in = grip->client;
    sim_judge_ended(grip);
    hold = grip->hold;
    grip->hold = NULL;
    actor->calls = true;
    actor->run->counts.operations++;
    if (lk_hold_release_async(hold, on_released, actor) != LK_OK)
        sim_wrong("a release cannot begin");
}

/* ---- rounds ---------------------------------------------------------------------- */

static void round_begin(sim_actor *actor)
{
    if (actor->rounds_left == 0 ||
        (!actor->last &&
         actor->run->schedule.now >= actor->run->plan->ends_at)) {
        actor->over = true;
        sim_actor_says(actor, "is done");
        return;
    }
    actor->rounds_left--;
    actor->text[0] = actor->older[0] = '\0';
    actor->steps_left = (unsigned)sim_below(&actor->random, STEPS_MOST + 1);
    if (can(actor, SIM_HANDS_ON))
        actor->steps_left += STEPS_MOST;
    want_draw(actor);
    if (actor->last)
        actor->want = (sim_want){actor->plan->primitive,
                                 actor->run->plan->permits, LAST_WAIT_MS, 0};
    if (art_of(actor)->errand != NULL)
        art_of(actor)->errand(actor);
    else
        acquire(actor);
}

void sim_actor_rests(sim_actor *actor)
{
    round_end(actor);
}

void sim_actor_goes_on(sim_actor *actor, void (*next)(sim_actor *actor))
{
    later(actor, while_of(actor, actor->plan->hold_ms), next);
}

static void round_end(sim_actor *actor)
{
    actor->at = actor->home;
    later(actor, while_of(actor, actor->plan->pause_ms), round_begin);
}

/* ---- life ------------------------------------------------------------------------- */

void sim_actor_init(sim_actor *actor, sim_run *run, const sim_item *item)
{
    memset(actor, 0, sizeof(*actor));
    actor->run = run;
    actor->number = ++run->last_id;
    actor->plan = &item->as.actor;
    actor->home = actor->at = sim_client_of(run, actor->plan->client);
    actor->random = actor->plan->seed;
    actor->rounds_left = actor->plan->rounds;
    actor->event.happen = on_event;
    actor->cancel_event.happen = on_cancel;
    if (actor->home == NULL) {
        actor->over = true;
        return;
    }
    (void)snprintf(actor->name, sizeof(actor->name), "%s.%u", actor->home->name,
                   item->id);
    actor->of = &run->names[art_of(actor)->family]
                           [actor->home->item->as.client.db][actor->plan->name];
}

void sim_actor_begin(sim_actor *actor)
{
    const sim_client *home = actor->home;
    const bool owns =
        actor->run->plan->hosts == 1; /* an owner is of a client */

    if (art_of(actor)->make(&actor->handle, home, actor->of->text,
                            actor->run->plan) != LK_OK ||
        (owns && lk_owner_new(&actor->owner, home->client) != LK_OK))
        sim_wrong("an actor cannot begin");
    later(actor, while_of(actor, actor->plan->pause_ms), round_begin);
}

bool sim_actor_is_queued(const sim_actor *actor)
{
    const lk__wait *wait;

    if (actor->home == NULL || actor->home->client == NULL || actor->over ||
        actor->home->process.dead || art_of(actor)->acquire == NULL)
        return false;
    for (wait = actor->home->client->work->first_wait; wait != NULL;
         wait = wait->next_all) {
        if (wait->data == actor)
            return wait->claim != NULL && wait->claim->ticket != 0 &&
                   wait->claim->state == LK__CLAIM_QUEUED;
    }
    return false;
}

void sim_actor_leave(sim_actor *actor, const sim_client *client)
{
    for (int i = 0; i < SIM_GRIPS; i++) {
        sim_grip *grip = &actor->grips[i];

        if (grip->hold == NULL || grip->client != client)
            continue;
        sim_judge_ended(grip);
        lk_hold_release(grip->hold);
        grip->hold = NULL;
    }
    sim_borrow_leave(actor, client);
    if (actor->home != client) {
        if (actor->at == client && !actor->calls && !actor->over)
            round_end(actor);
        return;
    }
    actor->over = true;
    sim_flight_leave(actor);
    sim_event_clear(&actor->run->schedule, &actor->event);
    sim_event_clear(&actor->run->schedule, &actor->cancel_event);
    if (actor->handle != NULL)
        art_of(actor)->free(actor->handle);
    lk_cell_free(actor->cell);
    lk_owner_free(actor->owner);
    lk_cancel_free(actor->cancel);
    actor->handle = NULL;
    actor->cell = NULL;
    actor->owner = NULL;
    actor->cancel = NULL;
}
