/* SPDX-License-Identifier: MIT */

/* Turns what happens into events of a history. */

#include "play/record.h"

#include <string.h>

#include "claims/hold.h"
#include "play/art.h"

/* What is claimed: a call ends, and a loss is told, so soon after its time; what
   is free is had by somebody who waits. The slowest networks take a while. */
enum { LATE_MS = 300, ANSWER_MS = 1000, GRANTED_S = 6 };

/* ---- what an event is about ------------------------------------------------------- */

static history_kind kind_of(sim_primitive primitive)
{
    static const history_kind kinds[SIM_PRIMITIVES] =
        {[SIM_LOCK] = HISTORY_LOCK,
         [SIM_SPINLOCK] = HISTORY_LOCK,
         [SIM_FAIRLOCK] = HISTORY_FAIRLOCK,
         [SIM_LEADER] = HISTORY_LEADER,
         [SIM_READ] = HISTORY_RWLOCK,
         [SIM_UPGRADEABLE] = HISTORY_RWLOCK,
         [SIM_WRITE] = HISTORY_RWLOCK,
         [SIM_SEMAPHORE] = HISTORY_SEMAPHORE,
         [SIM_SIGLOCK] = HISTORY_SIGLOCK,
         [SIM_STRIPE] = HISTORY_STRIPES,
         [SIM_MULTILOCK] = HISTORY_MULTILOCK,
         [SIM_LATCH] = HISTORY_LATCH,
         [SIM_PLAIN] = HISTORY_PLAIN,
         [SIM_REDLOCK] = HISTORY_REDLOCK,
         [SIM_BARRIER] = HISTORY_LATCH};

    return kinds[primitive];
}

static history_mode mode_of(sim_primitive primitive)
{
    switch (primitive) {
    case SIM_READ:
        return HISTORY_READ;
    case SIM_UPGRADEABLE:
        return HISTORY_UPGRADEABLE;
    case SIM_WRITE:
        return HISTORY_WRITER;
    case SIM_SEMAPHORE:
        return HISTORY_PERMITS;
    case SIM_LOCK:
    case SIM_SPINLOCK:
    case SIM_FAIRLOCK:
    case SIM_LEADER:
    case SIM_SIGLOCK:
    case SIM_STRIPE:
    case SIM_MULTILOCK:
    case SIM_LATCH:
    case SIM_PLAIN:
    case SIM_REDLOCK:
    case SIM_BARRIER:
    case SIM_CELL:
    case SIM_FLIGHT:
    case SIM_TIMED:
    case SIM_OBSERVER:
    case SIM_PRIMITIVES:
    default:
        return HISTORY_EXCLUSIVE;
    }
}

static history_phase phase_of(lk_status status)
{
    if (status == LK_OK)
        return HISTORY_OK;
    return status == LK_EINDOUBT || status == LK_EPENDING ||
                   status == LK_EOFFLINE
               ? HISTORY_UNKNOWN
               : HISTORY_FAIL;
}

/* What is to be released is released in the end, though a right is missing. */
static history_phase phase_of_call(history_call call, lk_status status)
{
    return call == HISTORY_RELEASE && status == LK_EDENIED ? HISTORY_UNKNOWN
                                                           : phase_of(status);
}

static history_event event_of(const sim_name *name, sim_primitive primitive,
                              const sim_client *client)
{
    history_event event = {.at = client->run->schedule.now,
                           .sequence = client->run->schedule.steps,
                           .process = client->process.number + 1,
                           .client = client->process.number + 1,
                           .kind = (uint8_t)kind_of(primitive),
                           .mode = (uint8_t)mode_of(primitive),
                           .db = name->db};

    event.key = history_key(name->text, name->db);
    (void)snprintf(event.name, sizeof(event.name), "%s", name->text);
    return event;
}

/* The true time of what a hold's deadline is by its client's clock. One of
   several names says no more than what is left. */
static uint64_t deadline_of(const sim_grip *grip)
{
    const sim_process *process = &grip->client->process;
    uint64_t at;

    if (sim_arts[grip->mode].joint)
        at = sim_process_clock(process) +
             lk_hold_remaining_ms(grip->hold) * SIM_MS;
    else
        at = lk__claim_deadline(grip->hold->claim);
    return sim_clock_when(&process->clock, at);
}

static void add_hold(history_event *event, const sim_grip *grip)
{
    event->hold = grip->id;
    event->owner = grip->owner;
    event->mode = (uint8_t)mode_of(grip->mode);
    event->count = grip->count;
    event->fence = grip->fence;
    if (grip->hold != NULL)
        event->deadline = deadline_of(grip);
}

/* ---- feeding ----------------------------------------------------------------------- */

static void feed(sim_run *run, const history_event *event)
{
    const checker_violation *found;
    uint64_t total;
    size_t listed;

    if (run->checker == NULL)
        return;
    if (!checker_feed(run->checker, event))
        sim_wrong("no memory for the history");
    found = checker_violations(run->checker, &listed, &total);
    if (total > 0)
        sim_violated(run, "%s: %s", found[0].name, found[0].words);
}

static bool some_can(const sim_run *run, sim_skill skill)
{
    for (size_t i = 0; i < run->plan->count; i++) {
        const sim_item *item = &run->plan->items[i];

        if (item->kind == SIM_ACTOR && !item->off &&
            (item->as.actor.skills & skill) != 0)
            return true;
    }
    return false;
}

static bool has_rwlocks(const sim_run *run)
{
    for (size_t i = 0; i < run->plan->count; i++) {
        const sim_item *item = &run->plan->items[i];

        if (item->kind == SIM_ACTOR && !item->off &&
            kind_of(item->as.actor.primitive) == HISTORY_RWLOCK)
            return true;
    }
    return false;
}

void sim_record_begin(sim_run *run)
{
    checker_options options = {.rules = CHECKER_ALL,
                               .late_ns = LATE_MS * SIM_MS,
                               .told_ns = LATE_MS * SIM_MS,
                               .granted_ns = GRANTED_S * SIM_S,
                               .answer_ns = ANSWER_MS * SIM_MS,
                               .permits = run->plan->permits};

    /* How late a call may be depends on stops, which judge_time() counts. A lock's
       newcomer may pass those who wait, and so does an import. */
    options.rules &= ~(unsigned)CHECKER_DEADLINES;
    if (run->plan->profile == SIM_PROFILE_LOCK ||
        run->plan->profile == SIM_PROFILE_LIMIT ||
        run->plan->profile == SIM_PROFILE_NAMELESS ||
        run->plan->profile == SIM_PROFILE_ELECTION ||
        some_can(run, SIM_EXPORTS))
        options.rules &= ~(unsigned)CHECKER_ORDER;
    /* There is no queue, and each attempt is as good as another's. */
    if (run->plan->profile == SIM_PROFILE_REDLOCK ||
        run->plan->profile == SIM_PROFILE_NEWBORN)
        options.rules &= ~(unsigned)(CHECKER_ORDER | CHECKER_LIVENESS);
    /* What an import in doubt has taken is nobody's until its lease ends; and
       without fences nobody has it. */
    if (run->plan->profile == SIM_PROFILE_EXPORT ||
        run->plan->profile == SIM_PROFILE_LIMIT)
        options.rules &= ~(unsigned)CHECKER_LIVENESS;
    /* Readers of one client have one hold between them, and so its extension;
       a writer becomes one of them. */
    if (has_rwlocks(run) &&
        (some_can(run, SIM_EXTENDS) || some_can(run, SIM_TURNS)))
        options.rules &= ~(unsigned)CHECKER_LEASES;
    run->checker = checker_new(&options);
    if (run->checker == NULL)
        sim_wrong("no memory for the history");
}

void sim_record_end(sim_run *run)
{
    checker_free(run->checker);
    run->checker = NULL;
}

/* ---- calls ------------------------------------------------------------------------- */

uint64_t sim_record_invoke(const sim_actor *actor, sim_client *client,
                           history_call call, const sim_grip *hold,
                           uint64_t deadline, uint64_t lease_ms)
{
    sim_run *run = actor->run;
    history_event event = event_of(actor->of, actor->plan->primitive, client);

    event.operation = ++run->last_id;
    event.phase = HISTORY_INVOKE;
    event.call = (uint8_t)call;
    event.owner = actor->number;
    event.mode = (uint8_t)mode_of(actor->want.mode);
    event.count = actor->want.count;
    if (hold != NULL)
        add_hold(&event, hold);
    event.deadline = deadline;
    event.lease_ms = lease_ms;
    feed(run, &event);
    return event.operation;
}

void sim_record_return(const sim_actor *actor, sim_client *client,
                       history_call call, uint64_t operation, lk_status status,
                       const sim_grip *hold, uint64_t lease_ms)
{
    history_event event = event_of(actor->of, actor->plan->primitive, client);

    if (client->process.dead)
        return;
    event.operation = operation;
    event.phase = (uint8_t)phase_of_call(call, status);
    event.call = (uint8_t)call;
    event.status = status;
    event.owner = actor->number;
    if (hold != NULL)
        add_hold(&event, hold);
    event.lease_ms = lease_ms;
    if (call == HISTORY_ACQUIRE)
        event.flags = HISTORY_WATCHED |
                      (actor->want.lease_ms == 0 ? HISTORY_RENEWED : 0U);
    feed(actor->run, &event);
}

uint64_t sim_record_ask(const sim_actor *actor, history_call call,
                        uint64_t count, uint64_t deadline)
{
    sim_run *run = actor->run;
    history_event event =
        event_of(actor->of, actor->plan->primitive, actor->home);

    event.operation = ++run->last_id;
    event.phase = HISTORY_INVOKE;
    event.call = (uint8_t)call;
    event.owner = actor->number;
    event.count = count;
    event.hold = call == HISTORY_ARRIVE ? actor->value : 0;
    event.deadline = deadline;
    feed(run, &event);
    return event.operation;
}

void sim_record_answer(const sim_actor *actor, history_call call,
                       uint64_t operation, lk_status status, uint64_t count)
{
    history_event event =
        event_of(actor->of, actor->plan->primitive, actor->home);

    if (actor->home->process.dead)
        return;
    event.operation = operation;
    event.phase = (uint8_t)phase_of(status);
    event.call = (uint8_t)call;
    event.status = status;
    event.owner = actor->number;
    event.count = count;
    feed(actor->run, &event);
}

void sim_record_written(const sim_actor *actor, const sim_change *write,
                        uint64_t operation, lk_status status)
{
    history_event event =
        event_of(actor->of, actor->plan->primitive, actor->home);

    event.operation = operation;
    event.phase = (uint8_t)phase_of(status);
    event.call = HISTORY_WRITE;
    event.status = status;
    event.owner = actor->number;
    event.hold = write->hold;
    event.fence = write->fence;
    feed(actor->run, &event);
}

/* ---- what happens ------------------------------------------------------------------- */

static void grip_event(const sim_grip *grip, history_call call)
{
    history_event event = event_of(grip->name, grip->mode, grip->client);

    event.phase = HISTORY_EVENT;
    event.call = (uint8_t)call;
    add_hold(&event, grip);
    if (call == HISTORY_LOST)
        event.deadline = 0;
    feed(grip->actor->run, &event);
}

void sim_record_checked(const sim_grip *grip)
{
    grip_event(grip, HISTORY_CHECKED);
}

void sim_record_lost(const sim_grip *grip)
{
    grip_event(grip, HISTORY_LOST);
}

void sim_record_queued(const sim_actor *actor)
{
    history_event event =
        event_of(actor->of, actor->plan->primitive, actor->home);

    event.phase = HISTORY_EVENT;
    event.call = HISTORY_QUEUED;
    event.operation = actor->operation;
    feed(actor->run, &event);
}

void sim_record_died(sim_client *client)
{
    history_event event = {.at = client->run->schedule.now,
                           .process = client->process.number + 1,
                           .phase = HISTORY_EVENT,
                           .call = HISTORY_DIED};

    feed(client->run, &event);
}

void sim_record_fault(sim_run *run, const sim_client *client, unsigned rules,
                      bool over)
{
    history_event event = {.at = run->schedule.now,
                           .call = HISTORY_FAULT,
                           .phase = over ? HISTORY_OK : HISTORY_INVOKE,
                           .count = rules};

    event.process = client != NULL ? client->process.number + 1 : 0;
    feed(run, &event);
}
