/* SPDX-License-Identifier: MIT */

/* The life of a client; see client.h. */

#include "play/client.h"

#include <inttypes.h>

#include "claims/node.h"
#include "engine/client.h"
#include "handle/open.h"
#include "play/actor.h"
#include "play/errand.h"
#include "play/record.h"
#include "world/random.h"

enum {
    SHUTDOWN_MS = 5000,
    MOMENTS_MOST = 1000, /* ms that a call outlives its client at most */
    EACH_HOST = 1000     /* that apart are the numbers of one item's clients */
};

static void on_log(lk_log_level level, const char *text, void *data)
{
    const sim_client *client = data;

    (void)level;
    sim_tell(&client->run->schedule, client->name, "(%s)", text);
}

static sim_client *client_of(sim_event *event)
{
    return (sim_client *)(void *)((char *)event - offsetof(sim_client, event));
}

/* ---- birth ---------------------------------------------------------------------- */

static void client_open(sim_client *client)
{
    const sim_client_plan *plan = &client->item->as.client;
    char url[32];
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .name = client->name,
                                 .db = plan->db,
                                 .command_timeout_ms = plan->command_timeout_ms,
                                 .connect_timeout_ms =
                                     plan->command_timeout_ms + 500,
                                 .offline_ms = plan->offline_ms,
                                 .watchdog_ms = plan->watchdog_ms,
                                 .log = client->run->schedule.story != NULL
                                            ? on_log
                                            : NULL,
                                 .log_data = client,
                                 .log_level = LK_LOG_WARN};

    (void)snprintf(url, sizeof(url), "redis://h%u:6379", client->host % 10);
    if (lk__client_open_in(&client->client, &client->process.base, url,
                           &options) != LK_OK)
        sim_wrong("a client cannot be opened: %s", lk_last_error());
    /* What it tells of itself is the same on every machine. */
    (void)snprintf(client->client->node->record,
                   sizeof(client->client->node->record),
                   "machine\n1\nsim\nroot\n%s", client->name);
}

static void on_birth(sim_event *event)
{
    sim_client *client = client_of(event);
    sim_run *run = client->run;

    sim_tell(&run->schedule, client->name, "begins");
    for (unsigned host = 0; host < run->plan->hosts; host++)
        client_open(sim_client_to(client, host));
    for (size_t i = 0; i < run->actor_count; i++) {
        if (run->actors[i].home == client)
            sim_actor_begin(&run->actors[i]);
    }
}

/* "A" is the first client of the first item, and "A1" its second. */
static void name_it(sim_client *client)
{
    const char letter = (char)('A' + client->item->id % 26);

    if (client->host == 0)
        (void)snprintf(client->name, sizeof(client->name), "%c", letter);
    else
        (void)snprintf(client->name, sizeof(client->name), "%c%u", letter,
                       client->host % 10);
}

static void client_add(sim_run *run, const sim_item *item, unsigned host)
{
    sim_client *client = &run->clients[run->client_count++];
    const unsigned number = item->id + EACH_HOST * host;

    client->run = run;
    client->item = item;
    client->host = host;
    client->first = client - host;
    name_it(client);
    sim_process_init(&client->process, &run->schedule, client->name, number,
                     sim_random_for(run->plan->seed, 1000 + number),
                     run->host_list);
    if (host > 0)
        sim_process_join(&client->first->process, &client->process);
    client->process.clock = item->as.client.clock;
    client->process.send_limit = item->as.client.send_limit;
    client->process.spread_ns = item->as.client.spread_ns;
    for (int i = 0; i < SIM_HOSTS_MOST; i++)
        client->process.paths[i] = item->as.client.path;
    client->event.happen = on_birth;
}

void sim_clients_add(sim_run *run, const sim_item *item)
{
    sim_client *first = &run->clients[run->client_count];

    for (unsigned host = 0; host < run->plan->hosts; host++)
        client_add(run, item, host);
    sim_event_set(&run->schedule, &first->event, item->at);
}

sim_client *sim_client_to(sim_client *client, unsigned host)
{
    return client->first + host;
}

bool sim_client_is_there(const sim_client *client)
{
    uint64_t now = client->run->schedule.now;

    return client->client != NULL && !client->process.dead && !client->shut &&
           client->process.stopped_to <= now && client->process.ahead <= now;
}

uint64_t sim_client_stood_ns(const sim_client *client)
{
    uint64_t ns = 0;

    for (unsigned host = 0; host < client->run->plan->hosts; host++)
        ns += client->first[host].process.stopped_for_ns;
    return ns;
}

uint64_t sim_client_stood_to(const sim_client *client)
{
    uint64_t to = 0;

    for (unsigned host = 0; host < client->run->plan->hosts; host++) {
        if (client->first[host].process.stood_to > to)
            to = client->first[host].process.stood_to;
    }
    return to;
}

/* ---- the end ---------------------------------------------------------------------- */

static void actors_leave(sim_client *client)
{
    sim_run *run = client->run;

    for (size_t i = 0; i < run->actor_count; i++)
        sim_actor_leave(&run->actors[i], client);
}

/* What a dead client is yet buried after. */
typedef enum sim_waiting {
    SIM_NO_CALL,
    SIM_CALL,       /* that is to end */
    SIM_CALL_AROUND /* that cannot before one that began within it has */
} sim_waiting;

/* Whose call an actor has under way. */
static const sim_client *called(const sim_actor *actor)
{
    if (actor->sleeps_in != NULL)
        return actor->sleeps_in;
    return actor->released_in != NULL ? actor->released_in : actor->home;
}

static sim_waiting waiting_for(const sim_client *client)
{
    const sim_run *run = client->run;
    sim_waiting waiting = SIM_NO_CALL;

    for (size_t i = 0; i < run->actor_count; i++) {
        const sim_actor *actor = &run->actors[i];

        if (!actor->calls || called(actor) != client)
            continue;
        if (actor->sleeps_in != NULL && actor->depth < run->depth)
            return SIM_CALL_AROUND;
        waiting = SIM_CALL;
    }
    return waiting;
}

/* What was posted meanwhile has been heard; a call of several clients ends a
   moment after the first of them. One that stands still hears nothing. */
static void on_buried(sim_event *event)
{
    sim_client *client = client_of(event);
    sim_waiting waiting = waiting_for(client);

    if (waiting == SIM_NO_CALL)
        sim_client_done(client);
    else if (waiting == SIM_CALL_AROUND ||
             sim_client_stood_to(client) > client->run->schedule.now ||
             ++client->moments < MOMENTS_MOST)
        sim_event_set(&client->run->schedule, event,
                      client->run->schedule.now + SIM_MS);
    else
        sim_wrong("a call of %s does not end", client->name);
}

/* What its process computed nobody will complete. */
static void flights_leave(const sim_client *client)
{
    sim_run *run = client->run;

    for (size_t i = 0; i < run->actor_count; i++) {
        if (run->actors[i].home == client)
            sim_flight_leave(&run->actors[i]);
    }
}

static void on_burial(sim_event *event)
{
    sim_client *client = client_of(event);

    flights_leave(client);
    lk_client_shutdown(client->client, 0);
    client->shut = true;
    event->happen = on_buried;
    sim_event_set(&client->run->schedule, event,
                  client->run->schedule.now + SIM_MS);
}

static void client_kill(sim_client *client, bool half_open)
{
    sim_process_kill(&client->process, half_open);
    client->event.happen = on_burial;
    sim_event_set(&client->run->schedule, &client->event,
                  client->run->schedule.now);
}

void sim_client_kill(sim_client *client, bool half_open)
{
    sim_tell(&client->run->schedule, client->first->name, "dies%s",
             half_open ? ", and the server does not notice" : "");
    sim_record_died(client->first);
    for (unsigned host = 0; host < client->run->plan->hosts; host++)
        client_kill(sim_client_to(client, host), half_open);
}

static void on_shut(lk_status status, void *data)
{
    sim_client *client = data;

    client->shut = true;
    sim_tell(&client->run->schedule, client->name, "is shut down: %s",
             lk_status_name(status));
}

void sim_client_shut(sim_client *client)
{
    if (client->client == NULL || client->process.dead)
        client->shut = true;
    if (client->shut)
        return;
    if (lk_client_shutdown_async(client->client, SHUTDOWN_MS, on_shut,
                                 client) != LK_OK)
        sim_wrong("a shutdown cannot begin");
}

void sim_client_done(sim_client *client)
{
    lk_client *ending = client->client;

    if (ending == NULL)
        return;
    actors_leave(client);
    client->client = NULL;
    lk_client_free(ending);
}
