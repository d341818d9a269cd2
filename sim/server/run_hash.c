/* SPDX-License-Identifier: MIT */

/* Commands on hashes. */

#include <stdlib.h>

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

/* ---- HRANDFIELD --------------------------------------------------------- */

/*
 * Fields by chance. One, some with repetitions, and a few of many are picked by as many
 * numbers of the server's random source and by the same sums as the real server
 * has for a small hash: from the same numbers follow the same fields. Of most of them
 * the real one makes a table, whose order nobody knows.
 */

enum { FEW = 3 }; /* a few: less than one in so many */

/* As rand(). */
enum { MOST_DRAWN = INT32_MAX };

static uint64_t draw(const sim_call *call)
{
    return sim_random(&call->server->random) & MOST_DRAWN;
}

static const sim_entry *any_field(const sim_call *call, const sim_map *hash)
{
    const sim_entry *entry = hash->first;

    for (uint64_t index = draw(call) % hash->count; index > 0; index--)
        entry = entry->next;
    return entry;
}

static void reply_entry(sim_call *call, const sim_entry *entry, bool with_value)
{
    sim_reply_bulk(call, sim_entry_key(entry));
    if (with_value)
        sim_reply_bulk(call, sim_text_str(entry->pointer));
}

/* So many, some perhaps again. */
static void
reply_any(sim_call *call, const sim_map *hash, uint64_t count, bool with_values)
{
    sim_reply_array(call, count * (with_values ? 2 : 1));
    while (count-- > 0)
        reply_entry(call, any_field(call, hash), with_values);
}

static void reply_every(sim_call *call, const sim_map *hash, bool with_values)
{
    sim_reply_array(call, hash->count * (with_values ? 2 : 1));
    for (const sim_entry *at = hash->first; at != NULL; at = at->next)
        reply_entry(call, at, with_values);
}

/* So many different ones, in their order. */
static void
reply_few(sim_call *call, const sim_map *hash, uint64_t count, bool with_values)
{
    size_t left = hash->count;

    sim_reply_array(call, count * (with_values ? 2 : 1));
    for (const sim_entry *at = hash->first; count > 0; at = at->next) {
        if ((double)draw(call) / MOST_DRAWN <= (double)count / (double)left) {
            reply_entry(call, at, with_values);
            count--;
        }
        left--;
    }
}

/* So many different ones, in any order. */
static void reply_most(sim_call *call, const sim_map *hash, uint64_t count,
                       bool with_values)
{
    const sim_entry **all = sim_alloc(hash->count * sizeof(void *));
    size_t left = 0;

    for (const sim_entry *at = hash->first; at != NULL; at = at->next)
        all[left++] = at;
    sim_reply_array(call, count * (with_values ? 2 : 1));
    for (; count > 0 && left > 0; count--) {
        size_t index = sim_random(&call->server->shuffle) % left;

        reply_entry(call, all[index], with_values);
        all[index] = all[--left];
    }
    free(all);
}

/* Argument 2, and WITHVALUES behind it. */
static bool
count_read(sim_call *call, int64_t *ret_count, bool *ret_with_values)
{
    const int64_t most = INT64_MAX;

    if (!sim_arg_integer(call, 2, ret_count))
        return false;
    *ret_with_values = call->argc == 4;
    if (*ret_count < -most)
        sim_reply_error(call,
                        "value is out of range, value must between %lld and "
                        "%lld",
                        -(long long)most, (long long)most);
    else if (call->argc > 4 ||
             (call->argc == 4 && !sim_str_is(call->argv[3], "WITHVALUES")))
        sim_reply_syntax_error(call);
    else if (*ret_with_values &&
             (*ret_count < -most / 2 || *ret_count > most / 2))
        sim_reply_error(call, "value is out of range");
    else
        return true;
    return false;
}

static void
reply_some(sim_call *call, const sim_map *hash, int64_t count, bool with_values)
{
    if (count < 0 || count == 1)
        reply_any(call, hash, (uint64_t)(count < 0 ? -count : count),
                  with_values);
    else if ((uint64_t)count >= hash->count)
        reply_every(call, hash, with_values);
    else if ((uint64_t)count * FEW > hash->count)
        reply_most(call, hash, (uint64_t)count, with_values);
    else
        reply_few(call, hash, (uint64_t)count, with_values);
}

static void reply_one(sim_call *call)
{
    sim_value *value;

    if (!sim_key_get(call, SIM_HASH, &value))
        return;
    if (value == NULL)
        sim_reply_nil(call);
    else
        reply_entry(call, any_field(call, &value->map), false);
}

void sim_run_hrandfield(sim_call *call)
{
    sim_value *value;
    int64_t count;
    bool with_values;

    if (call->argc == 2) {
        reply_one(call);
        return;
    }
    if (!count_read(call, &count, &with_values) ||
        !sim_key_get(call, SIM_HASH, &value))
        return;
    if (value == NULL || count == 0)
        sim_reply_array(call, 0);
    else
        reply_some(call, &value->map, count, with_values);
}
