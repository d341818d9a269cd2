/* SPDX-License-Identifier: MIT */

/* Keys, their types and their end. */

#include "server/inside.h"

int64_t sim_server_now_ms(const sim_server *server)
{
    return (int64_t)(server->now(server->data) / 1000);
}

static int64_t call_ms(const sim_call *call)
{
    return (int64_t)(call->server->now_us / 1000);
}

bool sim_value_is_over(const sim_value *value, int64_t now_ms)
{
    return value->expires_ms != SIM_FOR_EVER && now_ms > value->expires_ms;
}

static void entry_remove(const sim_call *call, sim_entry *entry)
{
    sim_value_free(entry->pointer);
    sim_map_remove(&call->server->databases[call->db], entry);
}

/* A replica leaves it to its master to remove what has expired. */
static sim_entry *entry_find(const sim_call *call, sim_str key)
{
    sim_entry *entry = sim_map_find(&call->server->databases[call->db], key);

    if (entry == NULL || !sim_value_is_over(entry->pointer, call_ms(call)))
        return entry;
    if (!call->server->is_replica)
        entry_remove(call, entry);
    return NULL;
}

sim_value *sim_key_find(const sim_call *call, sim_str key)
{
    sim_entry *entry = entry_find(call, key);

    return entry == NULL ? NULL : entry->pointer;
}

bool sim_key_get(sim_call *call, sim_type type, sim_value **ret_value)
{
    *ret_value = sim_key_find(call, call->argv[1]);
    if (*ret_value == NULL || (*ret_value)->type == type)
        return true;
    sim_reply_wrong_type(call);
    return false;
}

static sim_value *key_add(const sim_call *call, sim_str key, sim_type type)
{
    sim_value *value = sim_value_new(type);

    sim_map_add(&call->server->databases[call->db], key)->pointer = value;
    return value;
}

sim_value *sim_key_make(sim_call *call, sim_type type)
{
    sim_value *value;

    if (!sim_key_get(call, type, &value))
        return NULL;
    return value == NULL ? key_add(call, call->argv[1], type) : value;
}

sim_value *sim_key_replace(sim_call *call, sim_str key, sim_type type)
{
    sim_entry *entry = entry_find(call, key);

    if (entry == NULL)
        return key_add(call, key, type);
    sim_value_free(entry->pointer);
    entry->pointer = sim_value_new(type);
    return entry->pointer;
}

bool sim_key_remove(const sim_call *call, sim_str key)
{
    sim_entry *entry = entry_find(call, key);

    if (entry == NULL)
        return false;
    entry_remove(call, entry);
    return true;
}

static bool is_empty(const sim_value *value)
{
    if (value->type == SIM_LIST)
        return value->list.count == 0;
    if (value->type == SIM_ZSET)
        return value->zset.scores.count == 0;
    return value->type != SIM_STRING && value->map.count == 0;
}

void sim_key_trim(const sim_call *call, sim_str key)
{
    const sim_value *value = sim_key_find(call, key);

    if (value != NULL && is_empty(value))
        sim_key_remove(call, key);
}
