/* SPDX-License-Identifier: MIT */

/* The world's functions of src/world/world.h on a schedule. */

#include "world/process.h"

#include <string.h>

#include "world/random.h"
#include "world/stream.h"

static sim_process *process_of(lk__world *base)
{
    return (sim_process *)base;
}

/* ---- when it runs -------------------------------------------------------- */

/* The true time that has come for what runs there. */
static uint64_t true_now(const sim_process *process)
{
    uint64_t now = process->schedule->now;

    return process->ahead > now ? process->ahead : now;
}

uint64_t sim_process_clock(const sim_process *process)
{
    return sim_clock_at(&process->clock, process->schedule->now);
}

uint64_t sim_process_now(const sim_process *process)
{
    return sim_clock_at(&process->clock, true_now(process));
}

bool sim_process_runs(sim_process *process, sim_event *event)
{
    uint64_t now = process->schedule->now;
    uint64_t at = process->ahead > process->stopped_to ? process->ahead
                                                       : process->stopped_to;

    if (now >= at)
        return true;
    /* What was due while it stood comes in any order then. */
    sim_event_set(process->schedule, event,
                  at + sim_below(&process->net_random, 2));
    return false;
}

void sim_process_enter(sim_process *process)
{
    process->in_event = true;
}

void sim_process_leave(sim_process *process)
{
    void (*ended)(void *data) = process->ended;

    process->in_event = false;
    if (ended == NULL)
        return;
    process->ended = NULL;
    process->base.class->stop(&process->base);
    ended(process->ended_data);
}

static void on_timer(sim_event *event)
{
    sim_process *process =
        (sim_process *)(void *)((char *)event - offsetof(sim_process, timer));

    if (!sim_process_runs(process, event) || process->events == NULL)
        return;
    sim_trace(process->schedule, 't', process->number);
    sim_process_enter(process);
    process->events->on_timer(process->user);
    sim_process_leave(process);
}

static void on_wake(sim_event *event)
{
    sim_process *process =
        (sim_process *)(void *)((char *)event - offsetof(sim_process, wake));

    if (!sim_process_runs(process, event))
        return;
    process->woken = false;
    if (process->events == NULL)
        return;
    sim_trace(process->schedule, 'w', process->number);
    sim_process_enter(process);
    process->events->on_wake(process->user);
    sim_process_leave(process);
}

/* ---- the world's class --------------------------------------------------- */

/* What a clock has shown is before all that its program does then, in whichever of
   them. */
static void held_up(sim_process *process)
{
    const uint64_t to = true_now(process) + process->hold_up_ns;
    sim_process *one = process;

    do {
        one->ahead = one->stood_to = to;
        one->stopped_for_ns += process->hold_up_ns;
        one = one->peer;
    } while (one != process);
}

static uint64_t world_now(lk__world *base)
{
    sim_process *process = process_of(base);

    if (process->hold_up_in > 0 && --process->hold_up_in == 0) {
        held_up(process);
        sim_tell(process->schedule, process->name,
                 "is held up for %.3f s in the middle of something",
                 (double)process->hold_up_ns / 1e9);
    }
    return sim_process_now(process);
}

static bool world_random(lk__world *base, void *bytes, size_t size)
{
    unsigned char *byte = bytes;

    if (process_of(base)->no_random)
        return false;
    for (size_t i = 0; i < size; i++)
        byte[i] = (unsigned char)(sim_draw(&process_of(base)->random) >> 56);
    return true;
}

static int world_start(lk__world *base, const lk__events *events, void *user)
{
    process_of(base)->events = events;
    process_of(base)->user = user;
    return 0;
}

static void world_stop(lk__world *base)
{
    sim_process *process = process_of(base);

    process->events = NULL;
    sim_event_clear(process->schedule, &process->timer);
    sim_event_clear(process->schedule, &process->wake);
    sim_links_stop(process);
}

static void
world_stop_later(lk__world *base, void (*ended)(void *data), void *data)
{
    process_of(base)->ended = ended;
    process_of(base)->ended_data = data;
}

static bool world_is_loop(const lk__world *base)
{
    return ((const sim_process *)base)->in_event;
}

static void timer_arm(sim_process *process)
{
    uint64_t at = process->timer_at;

    sim_event_set(process->schedule, &process->timer,
                  at == LK__NEVER ? SIM_NEVER
                                  : sim_clock_when(&process->clock, at));
}

static void world_set_timer(lk__world *base, uint64_t at)
{
    sim_process *process = process_of(base);

    if (process->events == NULL)
        return;
    process->timer_at = at;
    timer_arm(process);
}

static void world_wake(lk__world *base)
{
    sim_process *process = process_of(base);

    if (process->woken)
        return;
    process->woken = true;
    sim_event_set(process->schedule, &process->wake, true_now(process));
}

static void world_parking_init(lk__world *base, lk__parking *parking)
{
    (void)base;
    atomic_init(&parking->posted, false);
}

/* A thread that sleeps: everybody's time goes on within. */
static bool world_park(lk__world *base, lk__parking *parking, uint64_t until)
{
    sim_process *process = process_of(base);
    uint64_t end =
        until == LK__NEVER ? SIM_NEVER : sim_clock_when(&process->clock, until);

    while (!atomic_load(&parking->posted) && !process->dead) {
        if (sim_step(process->schedule, end))
            continue;
        if (end == SIM_NEVER)
            sim_wrong("%s sleeps for ever", process->name);
        if (process->schedule->now < end)
            process->schedule->now = end;
        return false;
    }
    if (process->stopped_to > process->schedule->now && !process->dead)
        sim_run_until(process->schedule, process->stopped_to);
    return atomic_exchange(&parking->posted, false);
}

static void world_unpark(lk__world *base, lk__parking *parking)
{
    (void)base;
    atomic_store(&parking->posted, true);
}

static const lk__world_class sim_class = {
    .now = world_now,
    .random = world_random,
    .start = world_start,
    .stop = world_stop,
    .stop_later = world_stop_later,
    .is_loop = world_is_loop,
    .is_any_loop = world_is_loop,
    .set_timer = world_set_timer,
    .wake = world_wake,
    .link_open = sim_link_open,
    .link_send = sim_link_send,
    .link_close = sim_link_close,
    .parking_init = world_parking_init,
    .park = world_park,
    .unpark = world_unpark,
};

/* ---- life ---------------------------------------------------------------- */

void sim_process_init(sim_process *process, sim_schedule *schedule,
                      const char *name, unsigned number, uint64_t seed,
                      struct sim_peer *const *peers)
{
    memset(process, 0, sizeof(*process));
    process->base.class = &sim_class;
    process->schedule = schedule;
    process->peer = process;
    process->name = name;
    process->number = number;
    process->random = sim_random_for(seed, 1);
    process->net_random = sim_random_for(seed, 2);
    process->peers = peers;
    process->timer.happen = on_timer;
    process->wake.happen = on_wake;
}

void sim_process_join(sim_process *process, sim_process *other)
{
    other->peer = process->peer;
    process->peer = other;
}

void sim_process_done(sim_process *process)
{
    sim_links_free(process);
}

void sim_process_stop(sim_process *process, uint64_t ns)
{
    uint64_t to = process->schedule->now + ns;

    if (process->stopped_to >= to)
        return;
    process->stopped_for_ns += ns;
    process->stopped_to = process->stood_to = to;
}

void sim_process_sleep(sim_process *process, uint64_t ns)
{
    process->stopped_for_ns += ns;
    process->stood_to = process->schedule->now;
    sim_clock_step(&process->clock, (int64_t)ns);
    if (process->timer.slot != 0)
        timer_arm(process);
}

void sim_process_hold_up(sim_process *process, uint64_t ns, unsigned looks)
{
    process->hold_up_ns = ns;
    process->hold_up_in = looks;
}

void sim_process_kill(sim_process *process, bool half_open)
{
    process->dead = true;
    process->hold_up_in = 0;
    process->stopped_to = 0;
    process->ahead = 0;
    if (process->timer.slot != 0)
        timer_arm(process); /* it may have been put off to the end of a stop */
    if (process->woken)
        sim_event_set(process->schedule, &process->wake,
                      process->schedule->now);
    sim_links_die(process, half_open);
}
