/* SPDX-License-Identifier: MIT */

/* Commands on sets. */

#include "server/commands.h"

void sim_run_sadd(sim_call *call)
{
    sim_value *value = sim_key_make(call, SIM_SET);
    int64_t added = 0;

    if (value == NULL)
        return;
    for (int i = 2; i < call->argc; i++) {
        if (sim_map_find(&value->map, call->argv[i]) == NULL) {
            sim_map_add(&value->map, call->argv[i]);
            added++;
        }
    }
    sim_reply_integer(call, added);
}

void sim_run_srem(sim_call *call)
{
    sim_value *value;
    int64_t removed = 0;

    if (!sim_key_get(call, SIM_SET, &value))
        return;
    for (int i = 2; value != NULL && i < call->argc; i++)
        removed += sim_hash_remove(&value->map, call->argv[i]);
    sim_key_trim(call, call->argv[1]);
    sim_reply_integer(call, removed);
}

void sim_run_smembers(sim_call *call)
{
    sim_value *value;

    if (!sim_key_get(call, SIM_SET, &value))
        return;
    sim_reply_array(call, value == NULL ? 0 : value->map.count);
    for (const sim_entry *at = value == NULL ? NULL : value->map.first;
         at != NULL; at = at->next)
        sim_reply_bulk(call, sim_entry_key(at));
}

void sim_run_scard(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_SET, &value))
        sim_reply_integer(call, value == NULL ? 0 : (int64_t)value->map.count);
}

void sim_run_sismember(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_SET, &value))
        sim_reply_integer(call, value != NULL &&
                                    sim_map_find(&value->map, call->argv[2]));
}
