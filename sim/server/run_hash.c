/* SPDX-License-Identifier: MIT */

/* Commands on hashes. */

#include "server/commands.h"

/* Returns 1 if the field is new. */
static int
set_field(const sim_call *call, sim_value *value, sim_str field, sim_str text)
{
    const sim_server *server = call->server;
    bool is_new = sim_hash_set(&value->map, field, text);

    sim_value_note(value, field, server->many_fields, server->long_field);
    sim_value_note(value, text, server->many_fields, server->long_field);
    return is_new;
}

void sim_run_hset(sim_call *call)
{
    sim_value *value;
    int64_t added = 0;

    if (call->argc % 2 != 0) {
        sim_reply_arity_error(call);
        return;
    }
    value = sim_key_make(call, SIM_HASH);
    if (value == NULL)
        return;
    for (int i = 2; i < call->argc; i += 2)
        added += set_field(call, value, call->argv[i], call->argv[i + 1]);
    sim_reply_integer(call, added);
}

void sim_run_hsetnx(sim_call *call)
{
    sim_value *value = sim_key_make(call, SIM_HASH);
    bool is_there;

    if (value == NULL)
        return;
    is_there = sim_hash_get(&value->map, call->argv[2]) != NULL;
    if (!is_there)
        set_field(call, value, call->argv[2], call->argv[3]);
    sim_reply_integer(call, !is_there);
}

static void reply_field(sim_call *call, const sim_value *value, sim_str field)
{
    const sim_text *text =
        value == NULL ? NULL : sim_hash_get(&value->map, field);

    if (text == NULL)
        sim_reply_nil(call);
    else
        sim_reply_bulk(call, sim_text_str(text));
}

void sim_run_hget(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_HASH, &value))
        reply_field(call, value, call->argv[2]);
}

void sim_run_hmget(sim_call *call)
{
    sim_value *value;

    if (!sim_key_get(call, SIM_HASH, &value))
        return;
    sim_reply_array(call, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        reply_field(call, value, call->argv[i]);
}

void sim_run_hdel(sim_call *call)
{
    sim_value *value;
    int64_t removed = 0;

    if (!sim_key_get(call, SIM_HASH, &value))
        return;
    for (int i = 2; value != NULL && i < call->argc; i++)
        removed += sim_hash_remove(&value->map, call->argv[i]);
    sim_key_trim(call, call->argv[1]);
    sim_reply_integer(call, removed);
}

void sim_run_hlen(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_HASH, &value))
        sim_reply_integer(call, value == NULL ? 0 : (int64_t)value->map.count);
}

void sim_run_hexists(sim_call *call)
{
    sim_value *value;

    if (sim_key_get(call, SIM_HASH, &value))
        sim_reply_integer(call, value != NULL &&
                                    sim_map_find(&value->map, call->argv[2]));
}

static void reply_all(sim_call *call, bool fields, bool values)
{
    sim_value *value;

    if (!sim_key_get(call, SIM_HASH, &value))
        return;
    sim_reply_array(call, value == NULL
                              ? 0
                              : value->map.count * (fields && values ? 2 : 1));
    for (const sim_entry *at = value == NULL ? NULL : value->map.first;
         at != NULL; at = at->next) {
        if (fields)
            sim_reply_bulk(call, sim_entry_key(at));
        if (values)
            sim_reply_bulk(call, sim_text_str(at->pointer));
    }
}

void sim_run_hgetall(sim_call *call)
{
    reply_all(call, true, true);
}

void sim_run_hkeys(sim_call *call)
{
    reply_all(call, true, false);
}

void sim_run_hvals(sim_call *call)
{
    reply_all(call, false, true);
}

void sim_run_hincrby(sim_call *call)
{
    sim_value *value;
    const sim_text *old;
    int64_t by, number = 0;
    char text[SIM_NUMBER];

    if (!sim_arg_integer(call, 3, &by))
        return;
    value = sim_key_make(call, SIM_HASH);
    if (value == NULL)
        return;
    old = sim_hash_get(&value->map, call->argv[2]);
    if (old != NULL && !sim_integer_read(sim_text_str(old), &number)) {
        sim_reply_error(call, "hash value is not an integer");
        return;
    }
    if (!sim_sum(call, number, by, &number))
        return;
    set_field(call, value, call->argv[2],
              (sim_str){text, sim_integer_write(text, number)});
    sim_reply_integer(call, number);
}
