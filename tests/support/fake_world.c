/* SPDX-License-Identifier: MIT */
#include "support/fake_world.h"

#include <stdlib.h>
#include <string.h>

#include "world/random.h"

enum { ARGS_MOST = 512 };

/* ---- the server ------------------------------------------------------------- */

static const fake_world *world_of(const fake_link *link)
{
    return (const fake_world *)link->peer;
}

static int on_open(sim_peer *peer, lk__link *link)
{
    const fake_world *world = (const fake_world *)peer;
    int error = 0;

    link->session = link;
    if (world->server->on_connect != NULL)
        error = world->server->on_connect(world->data, link);
    if (error != 0)
        link->session = NULL;
    return error;
}

/* Copies, which end with a 0. */
static void
command_run(void *data, int argc, const char **argv, const size_t *sizes)
{
    fake_link *link = data;
    const fake_world *world = world_of(link);
    const char *args[ARGS_MOST];
    size_t size = 0;
    char *texts, *to;

    if (link->session == NULL)
        return;
    for (int i = 0; i < argc; i++)
        size += sizes[i] + 1;
    texts = to = sim_alloc(size);
    for (int i = 0; i < argc; i++) {
        args[i] = memcpy(to, argv[i], sizes[i]);
        to += sizes[i] + 1;
    }
    world->server->on_command(world->data, link, argc, args, sizes);
    free(texts);
}

static void
on_read(sim_peer *peer, lk__link *link, const char *bytes, size_t size)
{
    (void)peer;
    sim_inlet_read(&link->inlet, bytes, size, command_run, link);
}

static void on_close(sim_peer *peer, lk__link *link)
{
    const fake_world *world = (const fake_world *)peer;

    if (world->server != NULL && world->server->on_close != NULL)
        world->server->on_close(world->data, link);
}

void fake_reply(fake_link *link, const char *bytes, size_t size)
{
    sim_link_reply(link, bytes, size);
}

void fake_say(fake_link *link, const char *text)
{
    sim_link_reply(link, text, strlen(text));
}

void fake_say_in(fake_link *link, uint64_t ns, const char *text)
{
    sim_link_reply_at(link, link->peer->schedule->now + ns, text, strlen(text));
}

/* Nothing of what it sends is heard any more. */
static void deafen(fake_link *link)
{
    link->session = NULL;
    sim_link_lose(link, SIM_THERE);
}

void fake_end(fake_link *link)
{
    sim_link_end(link);
    deafen(link);
}

void fake_break(fake_link *link)
{
    sim_link_break(link, &(sim_break){.client_told = true});
    deafen(link);
}

void fake_stall(fake_link *link, uint64_t until)
{
    sim_link_stall(link, SIM_THERE, until - FAKE_START);
    sim_link_stall(link, SIM_BACK, until - FAKE_START);
}

fake_link *fake_world_link(fake_world *world, unsigned number)
{
    fake_link *link = world->process.links;

    while (link != NULL && link->number != number)
        link = link->next;
    return link;
}

size_t fake_world_link_count(const fake_world *world)
{
    size_t count = 0;

    for (const fake_link *link = world->process.links; link != NULL;
         link = link->next)
        count += !link->closed;
    return count;
}

/* ---- time ------------------------------------------------------------------- */

typedef struct fake_call {
    sim_event event; /* first */
    struct fake_call *next;
    void (*call)(void *data);
    void *data;
} fake_call;

uint64_t fake_world_now(const fake_world *world)
{
    return sim_process_clock(&world->process);
}

bool fake_world_step(fake_world *world)
{
    return sim_step(&world->schedule, SIM_NEVER);
}

void fake_world_run(fake_world *world, uint64_t until)
{
    sim_run_until(&world->schedule, until - FAKE_START);
}

void fake_world_run_for(fake_world *world, uint64_t ns)
{
    sim_run_until(&world->schedule, world->schedule.now + ns);
}

static void on_call(sim_event *event)
{
    fake_call *call = (fake_call *)event;

    call->call(call->data);
}

void fake_world_at(fake_world *world, uint64_t at, void (*call)(void *data),
                   void *data)
{
    fake_call *one = sim_alloc(sizeof(*one));

    one->event.happen = on_call;
    one->call = call;
    one->data = data;
    one->next = world->calls;
    world->calls = one;
    sim_event_set(&world->schedule, &one->event,
                  at > FAKE_START ? at - FAKE_START : 0);
}

void fake_world_freeze(fake_world *world, uint64_t ns)
{
    world->schedule.now += ns;
}

uint64_t fake_world_random(fake_world *world, uint64_t limit)
{
    return sim_below(&world->random, limit);
}

/* ---- life ------------------------------------------------------------------- */

fake_world *fake_world_new(uint64_t seed, const fake_server *server, void *data)
{
    static const sim_peer_class class = {on_open, on_read, on_close};
    fake_world *world = sim_alloc(sizeof(*world));

    world->peer = (sim_peer){&class, &world->schedule, 0, 0};
    world->peers[0] = &world->peer;
    sim_schedule_init(&world->schedule, NULL);
    sim_process_init(&world->process, &world->schedule, "process", 0, seed,
                     world->peers);
    world->process.clock.base = FAKE_START;
    world->path = &world->process.paths[0];
    *world->path = (sim_path){.ns = {FAKE_MS, FAKE_MS}, .open_ns = FAKE_MS};
    world->server = server;
    world->data = data;
    world->random = sim_random_for(seed, 3);
    return world;
}

void fake_world_free(fake_world *world)
{
    fake_call *call;

    if (world == NULL)
        return;
    world->server = NULL; /* the test's data may have gone */
    sim_process_done(&world->process);
    while ((call = world->calls) != NULL) {
        world->calls = call->next;
        free(call);
    }
    sim_schedule_done(&world->schedule);
    free(world);
}
