/* SPDX-License-Identifier: MIT */

/* The server as a whole: its life, its faults, its data. */

#include "server/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

/* ---- the administrator -------------------------------------------------- */

static void admin_hears(void *data, const char *bytes, size_t size)
{
    sim_server *server = data;

    sim_buffer_add(&server->admin_reply, (sim_str){bytes, size});
}

static void admin_ends(void *data)
{
    (void)data;
}

static const sim_ears admin_ears = {admin_hears, admin_ends};

/* Is in no list of sessions, so that nothing can end it. */
static sim_session *admin_new(sim_server *server)
{
    sim_session *admin = sim_alloc(sizeof(*admin));

    admin->server = server;
    admin->ears = &admin_ears;
    admin->data = server;
    admin->is_authenticated = true;
    admin->queue_end = &admin->queue;
    return admin;
}

/* Splits at blanks; the arguments point into the text. */
static int split(const char *text, sim_str *args, int most)
{
    int count = 0;

    for (text += strspn(text, " "); *text != '\0' && count < most;
         text += strspn(text, " ")) {
        args[count].bytes = text;
        args[count].size = strcspn(text, " ");
        text += args[count++].size;
    }
    return count;
}

const char *sim_server_admin(sim_server *server, const char *command)
{
    enum { MOST = 256 };
    sim_str args[MOST];

    server->admin_reply.size = 0;
    sim_session_ask(server->admin, split(command, args, MOST), args);
    *sim_buffer_more(&server->admin_reply, 1) = '\0';
    return server->admin_reply.bytes;
}

/* ---- life --------------------------------------------------------------- */

static void start(sim_server *server)
{
    for (unsigned i = 0; i < 5; i++)
        snprintf(server->run_id + (size_t)8 * i, 9, "%08x",
                 (unsigned)(sim_random(&server->random) >> 32));
    server->started_us = server->now(server->data);
    server->last_id = 0;
}

const char *sim_server_run_id(const sim_server *server)
{
    return server->run_id;
}

void sim_server_set_age(sim_server *server, uint64_t seconds)
{
    server->started_us = server->now(server->data) - seconds * 1000000;
}

static void set_default_user(sim_server *server)
{
    server->default_user = sim_user_add(server, sim_str_of("default"));
    sim_server_admin(server, "ACL SETUSER default on nopass ~* &* +@all");
}

sim_server *sim_server_new(sim_engine *engine, uint64_t seed,
                           uint64_t (*now)(void *data), void *data)
{
    static const char *const settings[][2] =
        {{"maxmemory", "0"},
         {"maxmemory-policy", "noeviction"},
         {"appendfsync", "everysec"},
         {"min-replicas-to-write", "0"},
         {"appendonly", "no"},
         {"notify-keyspace-events", ""},
         {"hash-max-listpack-entries", "128"},
         {"hash-max-listpack-value", "64"}};
    sim_server *server = sim_alloc(sizeof(*server));

    server->engine = engine;
    server->random = seed;
    server->shuffle = ~seed;
    server->now = now;
    server->data = data;
    for (unsigned i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        sim_hash_set(&server->settings, sim_str_of(settings[i][0]),
                     sim_str_of(settings[i][1]));
    sim_server_heed_settings(server);
    server->admin = admin_new(server);
    set_default_user(server);
    start(server);
    return server;
}

static void clear_data(sim_server *server)
{
    for (unsigned db = 0; db < SIM_DATABASES; db++)
        sim_map_clear(&server->databases[db], sim_value_free);
}

void sim_server_free(sim_server *server)
{
    if (server == NULL)
        return;
    if (server->first != NULL)
        sim_fail("a server with sessions is freed");
    clear_data(server);
    for (unsigned db = 0; db < SIM_DATABASES; db++)
        sim_map_clear(&server->ready[db], NULL);
    sim_map_clear(&server->scripts, NULL);
    sim_map_clear(&server->channels, NULL);
    sim_map_clear(&server->settings, free);
    sim_users_free(server);
    sim_buffer_done(&server->reply);
    sim_buffer_done(&server->own);
    sim_buffer_done(&server->admin_reply);
    free(server->admin->name);
    free(server->admin);
    free(server);
}

void sim_server_end_sessions(sim_server *server)
{
    for (sim_session *at = server->first; at != NULL; at = at->next)
        sim_session_end(at);
}

void sim_server_restart(sim_server *server, bool keep_data)
{
    sim_server_end_sessions(server);
    sim_map_clear(&server->scripts, NULL);
    if (!keep_data)
        clear_data(server);
    start(server);
}

uint64_t sim_server_commands(const sim_server *server)
{
    return server->commands;
}

/* ---- faults ------------------------------------------------------------- */

void sim_server_set_replica(sim_server *server, bool is_replica)
{
    server->is_replica = is_replica;
    for (sim_session *at = server->first; is_replica && at != NULL;
         at = at->next) {
        if (at->block != SIM_FREE)
            sim_session_unblock(at, SIM_BY_ROLE);
    }
}

void sim_server_set_nameless(sim_server *server, bool is_nameless)
{
    server->is_nameless = is_nameless;
}

void sim_server_set_followers(sim_server *server, unsigned count)
{
    server->followers = count;
}

void sim_server_refuse(sim_server *server, sim_refusal refusal)
{
    server->refusal = refusal;
}

bool sim_server_evict(sim_server *server, unsigned db, const char *key,
                      size_t size)
{
    sim_map *database = &server->databases[db];
    sim_entry *entry = sim_map_find(database, (sim_str){key, size});

    if (entry == NULL)
        return false;
    sim_value_free(entry->pointer);
    sim_map_remove(database, entry);
    return true;
}

/* ---- data --------------------------------------------------------------- */

struct sim_snapshot {
    sim_map databases[SIM_DATABASES];
};

static void copy_data(sim_map *to, const sim_map *from)
{
    for (unsigned db = 0; db < SIM_DATABASES; db++) {
        for (const sim_entry *at = from[db].first; at != NULL; at = at->next)
            sim_map_add(&to[db], sim_entry_key(at))->pointer =
                sim_value_copy(at->pointer);
    }
}

sim_snapshot *sim_server_snapshot(const sim_server *server)
{
    sim_snapshot *snapshot = sim_alloc(sizeof(*snapshot));

    copy_data(snapshot->databases, server->databases);
    return snapshot;
}

void sim_server_restore(sim_server *server, const sim_snapshot *snapshot)
{
    clear_data(server);
    copy_data(server->databases, snapshot->databases);
}

void sim_snapshot_free(sim_snapshot *snapshot)
{
    for (unsigned db = 0; snapshot != NULL && db < SIM_DATABASES; db++)
        sim_map_clear(&snapshot->databases[db], sim_value_free);
    free(snapshot);
}

void sim_server_each_key(const sim_server *server,
                         void (*see)(void *data, const sim_key *key),
                         void *data)
{
    int64_t now = sim_server_now_ms(server);

    for (unsigned db = 0; db < SIM_DATABASES; db++) {
        for (const sim_entry *at = server->databases[db].first; at != NULL;
             at = at->next) {
            const sim_value *value = at->pointer;
            sim_key key = {.db = db,
                           .name = at->key,
                           .size = at->size,
                           .type = sim_type_name(value->type),
                           .ttl_ms = -1};

            if (sim_value_is_over(value, now))
                continue;
            if (value->expires_ms != SIM_FOR_EVER)
                key.ttl_ms = value->expires_ms - now;
            see(data, &key);
        }
    }
}
