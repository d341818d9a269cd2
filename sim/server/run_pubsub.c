/* SPDX-License-Identifier: MIT */

/* Channels, which know no databases. */

#include <stdlib.h>

#include "server/commands.h"

/* The subscribers of a channel, in the order in which they came. */
static sim_map *subscribers(const sim_server *server, sim_str channel)
{
    const sim_entry *entry = sim_map_find(&server->channels, channel);

    return entry == NULL ? NULL : entry->pointer;
}

static sim_str id_of(const sim_session *session)
{
    return (sim_str){(const char *)&session->id, sizeof(session->id)};
}

static void reply_change(sim_call *call, const char *word, sim_str channel)
{
    sim_reply_array(call, 3);
    sim_reply_text(call, word);
    sim_reply_bulk(call, channel);
    sim_reply_integer(call, (int64_t)call->session->channels.count);
}

static void subscribe(sim_session *session, sim_str channel)
{
    sim_server *server = session->server;
    sim_map *map = subscribers(server, channel);

    if (sim_map_find(&session->channels, channel) != NULL)
        return;
    sim_map_add(&session->channels, channel);
    if (map == NULL) {
        map = sim_alloc(sizeof(*map));
        sim_map_add(&server->channels, channel)->pointer = map;
    }
    sim_map_add(map, id_of(session))->pointer = session;
}

void sim_run_subscribe(sim_call *call)
{
    for (int i = 1; i < call->argc; i++) {
        subscribe(call->session, call->argv[i]);
        reply_change(call, "subscribe", call->argv[i]);
    }
}

static void unsubscribe(sim_session *session, sim_str channel)
{
    sim_server *server = session->server;
    sim_entry *own = sim_map_find(&session->channels, channel);
    sim_entry *entry = sim_map_find(&server->channels, channel);
    sim_map *map;

    if (own == NULL)
        return;
    map = entry->pointer;
    sim_map_remove(map, sim_map_find(map, id_of(session)));
    if (map->count == 0) {
        sim_map_clear(map, NULL);
        free(map);
        sim_map_remove(&server->channels, entry);
    }
    sim_map_remove(&session->channels, own);
}

void sim_session_unsubscribe_all(sim_session *session)
{
    while (session->channels.first != NULL) {
        sim_text *channel =
            sim_text_new(sim_entry_key(session->channels.first));

        unsubscribe(session, sim_text_str(channel));
        free(channel);
    }
}

static void unsubscribe_all(sim_call *call)
{
    if (call->session->channels.count == 0) {
        sim_reply_array(call, 3);
        sim_reply_text(call, "unsubscribe");
        sim_reply_nil(call);
        sim_reply_integer(call, 0);
    }
    while (call->session->channels.first != NULL) {
        sim_text *channel =
            sim_text_new(sim_entry_key(call->session->channels.first));

        unsubscribe(call->session, sim_text_str(channel));
        reply_change(call, "unsubscribe", sim_text_str(channel));
        free(channel);
    }
}

void sim_run_unsubscribe(sim_call *call)
{
    if (call->argc == 1)
        unsubscribe_all(call);
    for (int i = 1; i < call->argc; i++) {
        unsubscribe(call->session, call->argv[i]);
        reply_change(call, "unsubscribe", call->argv[i]);
    }
}

void sim_run_publish(sim_call *call)
{
    const sim_map *map = subscribers(call->server, call->argv[1]);
    sim_buffer *reply = call->reply;

    call->server->own.size = 0;
    call->reply = &call->server->own;
    sim_reply_array(call, 3);
    sim_reply_text(call, "message");
    sim_reply_bulk(call, call->argv[1]);
    sim_reply_bulk(call, call->argv[2]);
    call->reply = reply;
    for (const sim_entry *at = map == NULL ? NULL : map->first; at != NULL;
         at = at->next)
        sim_session_say(at->pointer, &call->server->own);
    sim_reply_integer(call, map == NULL ? 0 : (int64_t)map->count);
}

void sim_run_pubsub_numsub(sim_call *call)
{
    sim_reply_array(call, 2 * ((size_t)call->argc - 2));
    for (int i = 2; i < call->argc; i++) {
        const sim_map *map = subscribers(call->server, call->argv[i]);

        sim_reply_bulk(call, call->argv[i]);
        sim_reply_integer(call, map == NULL ? 0 : (int64_t)map->count);
    }
}

/* Sharded channels are for clusters. Nobody listens to them here. */

void sim_run_spublish(sim_call *call)
{
    sim_reply_integer(call, 0);
}

void sim_run_pubsub_shardnumsub(sim_call *call)
{
    sim_reply_array(call, 2 * ((size_t)call->argc - 2));
    for (int i = 2; i < call->argc; i++) {
        sim_reply_bulk(call, call->argv[i]);
        sim_reply_integer(call, 0);
    }
}

static bool is_asked(const sim_call *call, const sim_entry *channel)
{
    return call->argc == 2 ||
           sim_str_matches(sim_entry_key(channel), call->argv[2]);
}

void sim_run_pubsub_channels(sim_call *call)
{
    const sim_map *channels = &call->server->channels;
    size_t count = 0;

    for (const sim_entry *at = channels->first; at != NULL; at = at->next)
        count += is_asked(call, at);
    sim_reply_array(call, count);
    for (const sim_entry *at = channels->first; at != NULL; at = at->next) {
        if (is_asked(call, at))
            sim_reply_bulk(call, sim_entry_key(at));
    }
}
