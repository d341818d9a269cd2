/* SPDX-License-Identifier: MIT */
#include "support/fake_world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_inside.h"

enum { STILL_MAX = 1000000 };

static fake_world *world_of(lk__world *base)
{
    return (fake_world *)base;
}

void fake_fail(const fake_world *world, const char *words)
{
    (void)fprintf(stderr, "fake world: %s, at %" PRIu64 " ns\n", words,
                  world != NULL ? world->now - FAKE_START : 0);
    abort();
}

void *fake_alloc(size_t size)
{
    void *block = calloc(1, size);

    if (block == NULL)
        fake_fail(NULL, "out of memory");
    return block;
}

/* ---- randomness and trace ----------------------------------------------- */

/* xorshift64*; the state is never 0. */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Spreads neighbouring seeds. */
static uint64_t random_seed(uint64_t seed)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    seed = (seed ^ (seed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    seed = (seed ^ (seed >> 27)) * UINT64_C(0x94d049bb133111eb);
    seed ^= seed >> 31;
    return seed != 0 ? seed : 1;
}

uint64_t fake_world_random(fake_world *world, uint64_t limit)
{
    return limit > 0 ? (random_next(&world->own_random) >> 11) % limit : 0;
}

uint64_t fake_jitter(fake_world *world)
{
    return world->settings.jitter_ns > 0
               ? fake_world_random(world, world->settings.jitter_ns + 1)
               : 0;
}

/* FNV-1a. */
static void trace_add(fake_world *world, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    size_t i;

    for (i = 0; i < size; i++)
        world->trace = (world->trace ^ byte[i]) * UINT64_C(0x100000001b3);
}

static void trace_number(fake_world *world, uint64_t number)
{
    world->trace = (world->trace ^ number) * UINT64_C(0x100000001b3);
    world->trace ^= world->trace >> 32;
}

static void
log_event(const fake_world *world, const char *word, const fake_event *event)
{
    size_t i;

    (void)fprintf(world->log, "%12.6f ms %s",
                  (double)(world->now - FAKE_START) / 1e6, word);
    if (event != NULL && event->link != NULL)
        (void)fprintf(world->log, " link %u ", event->link->number);
    for (i = 0; event != NULL && i < event->size; i++)
        if (event->bytes[i] < ' ' || event->bytes[i] > '~')
            (void)fprintf(world->log, "\\x%02x",
                          (unsigned)(unsigned char)event->bytes[i]);
        else
            (void)fputc(event->bytes[i], world->log);
    (void)fputc('\n', world->log);
}

/* Something happens. event: NULL for what is not in the queue. */
static void
trace_event(fake_world *world, const char *word, const fake_event *event)
{
    trace_add(world, word, strlen(word));
    trace_number(world, world->now);
    if (event != NULL) {
        trace_number(world, event->link != NULL ? event->link->number + 1 : 0);
        trace_number(world, (uint64_t)(int64_t)event->error);
        trace_add(world, event->bytes, event->size);
    }
    if (world->log != NULL)
        log_event(world, word, event);
}

uint64_t fake_world_trace(const fake_world *world)
{
    return world->trace;
}

void fake_world_log(fake_world *world, FILE *file)
{
    world->log = file;
}

/* ---- what is to come ---------------------------------------------------- */

void fake_event_insert(fake_world *world, fake_event *event)
{
    fake_event **at = &world->first;

    while (*at != NULL &&
           ((*at)->at < event->at ||
            ((*at)->at == event->at && (*at)->order < event->order)))
        at = &(*at)->next;
    event->next = *at;
    *at = event;
}

fake_event *fake_event_add(fake_world *world, fake_kind kind, uint64_t at,
                           fake_link *link, const char *bytes, size_t size)
{
    fake_event *event = fake_alloc(sizeof(*event) + size);

    event->at = at > world->now ? at : world->now;
    event->order = ++world->order;
    event->kind = kind;
    event->link = link;
    event->size = size;
    if (size > 0)
        memcpy(event->bytes, bytes, size);
    fake_event_insert(world, event);
    return event;
}

void fake_world_at(fake_world *world, uint64_t at, void (*call)(void *data),
                   void *data)
{
    fake_event *event = fake_event_add(world, FAKE_CALL, at, NULL, NULL, 0);

    event->call = call;
    event->data = data;
}

/* ---- time --------------------------------------------------------------- */

static void time_pass(fake_world *world, uint64_t at)
{
    if (at <= world->now) {
        if (++world->still > STILL_MAX)
            fake_fail(world, "time stands still");
        return;
    }
    world->still = 0;
    world->now = at;
}

static void timer_fire(fake_world *world)
{
    time_pass(world, world->timer_at);
    world->timer_at = LK__NEVER;
    trace_event(world, "timer", NULL);
    world->in_event = true;
    world->events->on_timer(world->user);
    world->in_event = false;
}

static void event_happen(fake_world *world, const fake_event *event)
{
    static const char *const words[] =
        {[FAKE_CALL] = "call",         [FAKE_WAKE] = "wake",
         [FAKE_DATA] = "data",         [FAKE_END] = "end",
         [FAKE_WRITABLE] = "writable", [FAKE_OPEN] = "open",
         [FAKE_REQUEST] = "request",   [FAKE_CLOSE] = "close"};

    trace_event(world, words[event->kind], event);
    if (event->kind == FAKE_CALL) {
        event->call(event->data);
    } else if (event->kind == FAKE_WAKE) {
        world->woken = false;
        if (world->events == NULL)
            return;
        world->in_event = true;
        world->events->on_wake(world->user);
        world->in_event = false;
    } else {
        fake_link_event(world, event);
    }
}

static void end_if_asked(fake_world *world)
{
    void (*ended)(void *data) = world->ended;

    if (ended == NULL)
        return;
    world->ended = NULL;
    world->events = NULL;
    fake_links_stop(world);
    ended(world->ended_data);
}

/* Lets the next thing happen unless it comes after limit. */
static bool step_until(fake_world *world, uint64_t limit)
{
    fake_event *event = world->first;
    uint64_t timer_at = world->events != NULL ? world->timer_at : LK__NEVER;

    if (world->in_event)
        fake_fail(world, "time was to pass in an event");
    if (timer_at < world->now)
        timer_at = world->now;
    if (timer_at != LK__NEVER &&
        (event == NULL || timer_at < event->at ||
         (timer_at == event->at && world->timer_order < event->order))) {
        if (timer_at > limit)
            return false;
        timer_fire(world);
        end_if_asked(world);
        return true;
    }
    if (event == NULL || event->at > limit)
        return false;
    world->first = event->next;
    time_pass(world, event->at);
    event_happen(world, event);
    end_if_asked(world);
    free(event);
    return true;
}

uint64_t fake_world_now(const fake_world *world)
{
    return world->now;
}

bool fake_world_step(fake_world *world)
{
    return step_until(world, LK__NEVER);
}

void fake_world_run(fake_world *world, uint64_t until)
{
    while (step_until(world, until))
        continue;
    if (until > world->now)
        time_pass(world, until);
}

void fake_world_run_for(fake_world *world, uint64_t ns)
{
    fake_world_run(world, world->now + ns);
}

void fake_world_freeze(fake_world *world, uint64_t ns)
{
    world->now += ns;
    trace_event(world, "freeze", NULL);
}

/* ---- the world's class -------------------------------------------------- */

static uint64_t world_now(lk__world *base)
{
    return world_of(base)->now;
}

static bool world_random(lk__world *base, void *bytes, size_t size)
{
    unsigned char *byte = bytes;
    size_t i;

    if (world_of(base)->settings.no_random)
        return false;
    for (i = 0; i < size; i++)
        byte[i] =
            (unsigned char)(random_next(&world_of(base)->core_random) >> 56);
    return true;
}

static int world_start(lk__world *base, const lk__events *events, void *user)
{
    fake_world *world = world_of(base);

    world->events = events;
    world->user = user;
    return 0;
}

static void world_stop(lk__world *base)
{
    fake_world *world = world_of(base);

    world->events = NULL;
    fake_links_stop(world);
}

/* When the event at hand is over. */
static void
world_stop_later(lk__world *base, void (*ended)(void *data), void *data)
{
    world_of(base)->ended = ended;
    world_of(base)->ended_data = data;
}

static bool world_is_loop(const lk__world *base)
{
    return ((const fake_world *)base)->in_event;
}

static void world_set_timer(lk__world *base, uint64_t at)
{
    fake_world *world = world_of(base);

    world->timer_at = at;
    world->timer_order = ++world->order;
}

static void world_wake(lk__world *base)
{
    fake_world *world = world_of(base);

    if (!world->woken)
        (void)fake_event_add(world, FAKE_WAKE, world->now, NULL, NULL, 0);
    world->woken = true;
}

static void world_parking_init(lk__world *base, lk__parking *parking)
{
    (void)base;
    atomic_init(&parking->posted, false);
}

static bool world_park(lk__world *base, lk__parking *parking, uint64_t until)
{
    fake_world *world = world_of(base);

    while (!atomic_load(&parking->posted)) {
        if (step_until(world, until))
            continue;
        if (until == LK__NEVER)
            fake_fail(world, "parked for ever, and nothing is to come");
        if (until > world->now)
            time_pass(world, until);
        return false;
    }
    atomic_store(&parking->posted, false);
    return true;
}

static void world_unpark(lk__world *base, lk__parking *parking)
{
    (void)base;
    atomic_store(&parking->posted, true);
}

static const lk__world_class fake_class = {
    .now = world_now,
    .random = world_random,
    .start = world_start,
    .stop = world_stop,
    .stop_later = world_stop_later,
    .is_loop = world_is_loop,
    .is_any_loop = world_is_loop,
    .set_timer = world_set_timer,
    .wake = world_wake,
    .link_open = fake_link_open,
    .link_send = fake_link_send,
    .link_close = fake_link_close,
    .parking_init = world_parking_init,
    .park = world_park,
    .unpark = world_unpark,
};

/* ---- life --------------------------------------------------------------- */

fake_world *fake_world_new(uint64_t seed, const fake_server *server, void *data)
{
    fake_world *world = fake_alloc(sizeof(*world));

    world->base.class = &fake_class;
    world->server = server;
    world->data = data;
    world->now = FAKE_START;
    world->timer_at = LK__NEVER;
    world->core_random = random_seed(seed);
    world->own_random = random_seed(~seed);
    world->trace = UINT64_C(0xcbf29ce484222325);
    world->last_link = &world->links;
    return world;
}

void fake_world_free(fake_world *world)
{
    fake_event *event;

    if (world == NULL)
        return;
    fake_links_free(world);
    while (world->first != NULL) {
        event = world->first;
        world->first = event->next;
        free(event);
    }
    free(world);
}

lk__world *fake_world_base(fake_world *world)
{
    return &world->base;
}

fake_settings *fake_world_settings(fake_world *world)
{
    return &world->settings;
}
