/* SPDX-License-Identifier: MIT */

/* The life of a client; see client.h. */

#include "play/client.h"

#include <inttypes.h>

#include "core/client.h"
#include "core/node.h"
#include "play/actor.h"
#include "play/record.h"
#include "world/random.h"

enum { SHUTDOWN_MS = 5000 };

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

    if (lk__client_open_in(&client->client, &client->process.base,
                           "redis://h0:6379", &options) != LK_OK)
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
    client_open(client);
    for (size_t i = 0; i < run->actor_count; i++) {
        if (run->actors[i].home == client)
            sim_actor_begin(&run->actors[i]);
    }
}

void sim_client_init(sim_client *client, sim_run *run, const sim_item *item,
                     unsigned number)
{
    client->run = run;
    client->item = item;
    (void)snprintf(client->name, sizeof(client->name), "%c",
                   (char)('A' + number % 26));
    sim_process_init(&client->process, &run->schedule, client->name, number,
                     sim_random_for(run->plan->seed, 1000 + item->id),
                     run->host_list);
    client->process.clock = item->as.client.clock;
    client->process.send_limit = item->as.client.send_limit;
    client->process.spread_ns = item->as.client.spread_ns;
    for (int i = 0; i < SIM_HOSTS_MOST; i++)
        client->process.paths[i] = item->as.client.path;
    client->event.happen = on_birth;
    sim_event_set(&run->schedule, &client->event, item->at);
}

/* ---- the end ---------------------------------------------------------------------- */

static void actors_leave(sim_client *client)
{
    sim_run *run = client->run;

    for (size_t i = 0; i < run->actor_count; i++)
        sim_actor_leave(&run->actors[i], client);
}

/* What was posted meanwhile has been heard. */
static void on_buried(sim_event *event)
{
    sim_client_done(client_of(event));
}

static void on_burial(sim_event *event)
{
    sim_client *client = client_of(event);

    lk_client_shutdown(client->client, 0);
    client->shut = true;
    event->happen = on_buried;
    sim_event_set(&client->run->schedule, event,
                  client->run->schedule.now + SIM_MS);
}

void sim_client_kill(sim_client *client, bool half_open)
{
    sim_tell(&client->run->schedule, client->name, "dies%s",
             half_open ? ", and the server does not notice" : "");
    sim_record_died(client);
    sim_process_kill(&client->process, half_open);
    client->event.happen = on_burial;
    sim_event_set(&client->run->schedule, &client->event,
                  client->run->schedule.now);
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
