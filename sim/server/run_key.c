/* SPDX-License-Identifier: MIT */

/* Commands on keys of any type. */

#include "server/commands.h"

void sim_run_del(sim_call *call)
{
    int64_t removed = 0;

    for (int i = 1; i < call->argc; i++)
        removed += sim_key_remove(call, call->argv[i]);
    sim_reply_integer(call, removed);
}

void sim_run_exists(sim_call *call)
{
    int64_t count = 0;

    for (int i = 1; i < call->argc; i++)
        count += sim_key_find(call, call->argv[i]) != NULL;
    sim_reply_integer(call, count);
}

void sim_run_type(sim_call *call)
{
    const sim_value *value = sim_key_find(call, call->argv[1]);

    sim_reply_status(call, value == NULL ? "none" : sim_type_name(value->type));
}

static int64_t now_ms(const sim_call *call)
{
    return (int64_t)(call->server->now_us / 1000);
}

/* -2: no such key; -1: it stays. */
static int64_t ttl(const sim_call *call)
{
    const sim_value *value = sim_key_find(call, call->argv[1]);

    if (value == NULL)
        return -2;
    if (value->expires_ms == SIM_FOR_EVER)
        return -1;
    return value->expires_ms < now_ms(call) ? 0
                                            : value->expires_ms - now_ms(call);
}

void sim_run_pttl(sim_call *call)
{
    sim_reply_integer(call, ttl(call));
}

void sim_run_ttl(sim_call *call)
{
    int64_t ms = ttl(call);

    sim_reply_integer(call, ms < 0 ? ms : (ms + 500) / 1000);
}

void sim_run_persist(sim_call *call)
{
    sim_value *value = sim_key_find(call, call->argv[1]);
    bool had_end = value != NULL && value->expires_ms != SIM_FOR_EVER;

    if (had_end)
        value->expires_ms = SIM_FOR_EVER;
    sim_reply_integer(call, had_end);
}

/* ---- PEXPIRE and its like ----------------------------------------------- */

enum {
    ONLY_WITHOUT = 1, /* NX */
    ONLY_WITH = 2,    /* XX */
    ONLY_LATER = 4,   /* GT */
    ONLY_EARLIER = 8  /* LT */
};

static bool expire_options(sim_call *call, unsigned *ret_options)
{
    static const char *const words[] = {"NX", "XX", "GT", "LT"};
    unsigned options = 0;

    for (int i = 3; i < call->argc; i++) {
        unsigned word = 0;

        while (word < 4 && !sim_str_is(call->argv[i], words[word]))
            word++;
        if (word == 4) {
            sim_reply_error(call, "Unsupported option %.*s",
                            (int)call->argv[i].size, call->argv[i].bytes);
            return false;
        }
        options |= 1U << word;
    }
    *ret_options = options;
    if ((options & ONLY_WITHOUT) != 0 && options != ONLY_WITHOUT)
        sim_reply_error(call, "NX and XX, GT or LT options at the same time "
                              "are not compatible");
    else if ((options & ONLY_LATER) != 0 && (options & ONLY_EARLIER) != 0)
        sim_reply_error(call, "GT and LT options at the same time are not "
                              "compatible");
    else
        return true;
    return false;
}

static bool may_expire(const sim_value *value, unsigned options, int64_t when)
{
    int64_t old = value->expires_ms;

    if ((options & ONLY_WITHOUT) != 0 && old != SIM_FOR_EVER)
        return false;
    if ((options & ONLY_WITH) != 0 && old == SIM_FOR_EVER)
        return false;
    if ((options & ONLY_LATER) != 0 && (old == SIM_FOR_EVER || when <= old))
        return false;
    return (options & ONLY_EARLIER) == 0 || old == SIM_FOR_EVER || when < old;
}

/* Reads argument 2, in that unit, counted from base. */
static bool
when_read(sim_call *call, int64_t base, int64_t unit, int64_t *ret_when)
{
    int64_t when;

    if (!sim_arg_integer(call, 2, &when))
        return false;
    if (when <= INT64_MAX / unit && when >= INT64_MIN / unit &&
        when * unit <= INT64_MAX - base) {
        *ret_when = when * unit + base;
        return true;
    }
    sim_reply_error(call, "invalid expire time in '%s' command",
                    call->command->name);
    return false;
}

static void expire(sim_call *call, int64_t base, int64_t unit)
{
    unsigned options;
    int64_t when;
    sim_value *value;

    if (!expire_options(call, &options) || !when_read(call, base, unit, &when))
        return;
    value = sim_key_find(call, call->argv[1]);
    if (value == NULL || !may_expire(value, options, when)) {
        sim_reply_integer(call, 0);
        return;
    }
    if (when <= now_ms(call) && !call->server->is_replica)
        sim_key_remove(call, call->argv[1]);
    else
        value->expires_ms = when;
    sim_reply_integer(call, 1);
}

void sim_run_pexpire(sim_call *call)
{
    expire(call, now_ms(call), 1);
}

void sim_run_expire(sim_call *call)
{
    expire(call, now_ms(call), 1000);
}

void sim_run_pexpireat(sim_call *call)
{
    expire(call, 0, 1);
}

/* ---- several keys ------------------------------------------------------- */

void sim_run_rename(sim_call *call)
{
    sim_map *database = &call->server->databases[call->db];
    sim_value *value = sim_key_find(call, call->argv[1]);
    sim_entry *target;

    if (value == NULL) {
        sim_reply_error(call, "no such key");
        return;
    }
    if (!sim_str_equal(call->argv[1], call->argv[2])) {
        sim_key_remove(call, call->argv[2]);
        target = sim_map_add(database, call->argv[2]);
        target->pointer = value;
        sim_map_remove(database, sim_map_find(database, call->argv[1]));
        if (value->type == SIM_LIST)
            sim_list_is_ready(call, call->argv[2]);
    }
    sim_reply_status(call, "OK");
}

void sim_run_dbsize(sim_call *call)
{
    sim_reply_integer(call, (int64_t)call->server->databases[call->db].count);
}

static bool flush_options(sim_call *call)
{
    if (call->argc == 1 ||
        (call->argc == 2 && (sim_str_is(call->argv[1], "SYNC") ||
                             sim_str_is(call->argv[1], "ASYNC"))))
        return true;
    sim_reply_syntax_error(call);
    return false;
}

void sim_run_flushdb(sim_call *call)
{
    if (!flush_options(call))
        return;
    sim_map_clear(&call->server->databases[call->db], sim_value_free);
    sim_reply_status(call, "OK");
}

void sim_run_flushall(sim_call *call)
{
    if (!flush_options(call))
        return;
    for (unsigned db = 0; db < SIM_DATABASES; db++)
        sim_map_clear(&call->server->databases[db], sim_value_free);
    sim_reply_status(call, "OK");
}
