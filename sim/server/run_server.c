/* SPDX-License-Identifier: MIT */

/* Commands on the server and on the connection. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/commands.h"

void sim_run_ping(sim_call *call)
{
    if (call->argc > 2) {
        sim_reply_arity_error(call);
    } else if (call->session->channels.count > 0) {
        sim_reply_array(call, 2);
        sim_reply_text(call, "pong");
        sim_reply_bulk(call, call->argc == 1 ? sim_str_of("") : call->argv[1]);
    } else if (call->argc == 1) {
        sim_reply_status(call, "PONG");
    } else {
        sim_reply_bulk(call, call->argv[1]);
    }
}

void sim_run_echo(sim_call *call)
{
    sim_reply_bulk(call, call->argv[1]);
}

void sim_run_quit(sim_call *call)
{
    sim_reply_status(call, "OK");
    call->session->closes = true;
}

void sim_run_select(sim_call *call)
{
    int64_t db;

    if (!sim_arg_integer(call, 1, &db))
        return;
    if (db < INT32_MIN || db > INT32_MAX) {
        sim_reply_error(call,
                        "value is out of range, value must between %d "
                        "and %d",
                        INT32_MIN, INT32_MAX);
    } else if (db < 0 || db >= SIM_DATABASES) {
        sim_reply_error(call, "DB index is out of range");
    } else {
        call->session->db = (unsigned)db;
        sim_reply_status(call, "OK");
    }
}

void sim_run_time(sim_call *call)
{
    uint64_t now = call->server->now_us;

    sim_reply_array(call, 2);
    sim_reply_number(call, (int64_t)(now / 1000000));
    sim_reply_number(call, (int64_t)(now % 1000000));
}

void sim_run_role(sim_call *call)
{
    if (call->server->is_replica) {
        sim_reply_array(call, 5);
        sim_reply_text(call, "slave");
        sim_reply_text(call, "127.0.0.1");
        sim_reply_integer(call, 6379);
        sim_reply_text(call, "connected");
        sim_reply_integer(call, 0);
        return;
    }
    sim_reply_array(call, 3);
    sim_reply_text(call, "master");
    sim_reply_integer(call, 0);
    sim_reply_array(call, call->server->followers);
    for (unsigned i = 0; i < call->server->followers; i++) {
        sim_reply_array(call, 3);
        sim_reply_text(call, "127.0.0.1");
        sim_reply_number(call, 6380 + (int64_t)i);
        sim_reply_number(call, 0);
    }
}

/* ---- INFO --------------------------------------------------------------- */

static void info_server(const sim_server *server, sim_buffer *text)
{
    uint64_t now = server->now_us, begin = server->started_us;
    int64_t uptime = (int64_t)(now / 1000000) - (int64_t)(begin / 1000000);

    sim_buffer_print(text, "# Server\r\nredis_version:7.0.15\r\n"
                           "redis_mode:standalone\r\n");
    if (!server->is_nameless)
        sim_buffer_print(text, "run_id:%s\r\n", server->run_id);
    sim_buffer_print(text, "uptime_in_seconds:%lld\r\n", (long long)uptime);
}

static void info_memory(const sim_server *server, sim_buffer *text)
{
    const sim_text *most =
        sim_hash_get(&server->settings, sim_str_of("maxmemory"));
    const sim_text *policy =
        sim_hash_get(&server->settings, sim_str_of("maxmemory-policy"));

    sim_buffer_print(text,
                     "# Memory\r\nused_memory:1048576\r\nmaxmemory:%.*s\r\n"
                     "maxmemory_policy:%.*s\r\n",
                     (int)most->size, most->bytes, (int)policy->size,
                     policy->bytes);
}

static void info_persistence(const sim_server *server, sim_buffer *text)
{
    bool fails = server->refusal == SIM_REFUSES_MISCONF;

    sim_buffer_print(text,
                     "# Persistence\r\nloading:%d\r\n"
                     "rdb_last_bgsave_status:%s\r\naof_enabled:0\r\n"
                     "aof_last_write_status:ok\r\n",
                     server->refusal == SIM_REFUSES_LOADING,
                     fails ? "err" : "ok");
}

static void info_replication(const sim_server *server, sim_buffer *text)
{
    sim_buffer_print(text,
                     "# Replication\r\nrole:%s\r\n"
                     "connected_slaves:%u\r\n",
                     server->is_replica ? "slave" : "master",
                     server->followers);
}

void sim_run_info(sim_call *call)
{
    static const struct {
        const char *name;
        void (*write)(const sim_server *server, sim_buffer *text);
    } sections[] = {{"server", info_server},
                    {"memory", info_memory},
                    {"persistence", info_persistence},
                    {"replication", info_replication}};
    sim_buffer text = {0};

    for (unsigned i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        bool is_asked = call->argc == 1;

        for (int arg = 1; arg < call->argc; arg++)
            is_asked |= sim_str_is(call->argv[arg], sections[i].name);
        if (is_asked && text.size > 0)
            sim_buffer_add(&text, sim_str_of("\r\n"));
        if (is_asked)
            sections[i].write(call->server, &text);
    }
    sim_reply_bulk(call, (sim_str){text.bytes, text.size});
    sim_buffer_done(&text);
}

/* ---- CONFIG ------------------------------------------------------------- */

void sim_run_config_get(sim_call *call)
{
    const sim_map *settings = &call->server->settings;
    sim_buffer names = {0};
    size_t count = 0;
    sim_buffer *reply = call->reply;

    call->reply = &names;
    for (const sim_entry *at = settings->first; at != NULL; at = at->next) {
        bool is_asked = false;

        for (int i = 2; i < call->argc; i++)
            is_asked |= sim_str_matches(sim_entry_key(at), call->argv[i]);
        if (!is_asked)
            continue;
        sim_reply_bulk(call, sim_entry_key(at));
        sim_reply_bulk(call, sim_text_str(at->pointer));
        count += 2;
    }
    call->reply = reply;
    sim_reply_array(call, count);
    sim_buffer_add(call->reply, (sim_str){names.bytes, names.size});
    sim_buffer_done(&names);
}

static int64_t setting(const sim_server *server, const char *name)
{
    int64_t number = 0;
    const sim_text *text = sim_hash_get(&server->settings, sim_str_of(name));

    sim_integer_read(sim_text_str(text), &number);
    return number;
}

void sim_server_heed_settings(sim_server *server)
{
    server->is_full = setting(server, "maxmemory") != 0;
    server->needs_followers = setting(server, "min-replicas-to-write");
    server->many_fields = setting(server, "hash-max-listpack-entries");
    server->long_field = setting(server, "hash-max-listpack-value");
}

void sim_run_config_set(sim_call *call)
{
    sim_server *server = call->server;

    if (call->argc % 2 != 0) {
        sim_reply_arity_error(call);
        return;
    }
    for (int i = 2; i < call->argc; i += 2) {
        if (sim_map_find(&server->settings, call->argv[i]) == NULL) {
            sim_reply_error(call,
                            "Unknown option or number of arguments for CONFIG "
                            "SET - '%.*s'",
                            (int)call->argv[i].size, call->argv[i].bytes);
            return;
        }
        sim_hash_set(&server->settings, call->argv[i], call->argv[i + 1]);
    }
    sim_server_heed_settings(server);
    sim_reply_status(call, "OK");
}

/* ---- WAIT --------------------------------------------------------------- */

void sim_run_wait(sim_call *call)
{
    int64_t wanted, ms;

    if (call->server->is_replica) {
        sim_reply_error(call, "WAIT cannot be used with replica instances. "
                              "Please also note that since Redis 4.0 if a "
                              "replica is configured to be writable (which is "
                              "not the default) writes to replicas are just "
                              "local and are not propagated.");
        return;
    }
    if (!sim_arg_integer(call, 1, &wanted))
        return;
    if (!sim_integer_read(call->argv[2], &ms))
        sim_reply_error(call, "timeout is not an integer or out of range");
    else if (ms < 0)
        sim_reply_error(call, "timeout is negative");
    else if (call->server->followers >= wanted)
        sim_reply_integer(call, call->server->followers);
    else
        sim_session_block(call, SIM_BLOCKED_WAIT,
                          ms == 0
                              ? 0
                              : ms + (int64_t)(call->server->now_us / 1000));
}
