/* SPDX-License-Identifier: MIT */

/* Commands on scripts. */

#include <ctype.h>

#include "server/commands.h"

static void reply_no_script(sim_call *call)
{
    sim_reply_error(call, "-NOSCRIPT No matching script. Please use EVAL.");
}

/* The digits of a name in small letters; false: it cannot be one. */
static bool name_read(sim_str str, char *name)
{
    if (str.size != 40)
        return false;
    for (size_t i = 0; i < 40; i++)
        name[i] = (char)tolower((unsigned char)str.bytes[i]);
    return true;
}

static const sim_script *find(const sim_call *call, sim_str sha1)
{
    char name[40];
    const sim_entry *entry;

    if (!name_read(sha1, name))
        return NULL;
    entry = sim_map_find(&call->server->scripts, (sim_str){name, sizeof(name)});
    return entry == NULL ? NULL : entry->pointer;
}

/* NULL: it does not compile, and the reply says why. */
static const sim_script *load(sim_call *call, sim_str body)
{
    sim_script *script = sim_engine_compile(call, body);
    sim_str name;

    if (script == NULL)
        return NULL;
    name = sim_str_of(script->sha1);
    if (sim_map_find(&call->server->scripts, name) == NULL)
        sim_map_add(&call->server->scripts, name)->pointer = script;
    return script;
}

/* False: the number of keys is none, and the reply says so. */
static bool keys_read(sim_call *call, int *ret_count)
{
    int64_t count;

    if (!sim_arg_integer(call, 2, &count))
        return false;
    if (count > call->argc - 3)
        sim_reply_error(call, "Number of keys can't be greater than number "
                              "of args");
    else if (count < 0)
        sim_reply_error(call, "Number of keys can't be negative");
    else
        return *ret_count = (int)count, true;
    return false;
}

static void eval(sim_call *call, bool by_name)
{
    const sim_script *script;
    int count;

    if (by_name && call->argv[1].size != 40) {
        reply_no_script(call);
        return;
    }
    if (!keys_read(call, &count))
        return;
    script = by_name ? find(call, call->argv[1]) : load(call, call->argv[1]);
    if (script != NULL)
        sim_engine_run(call, script, count);
    else if (by_name)
        reply_no_script(call);
}

void sim_run_eval(sim_call *call)
{
    eval(call, false);
}

void sim_run_evalsha(sim_call *call)
{
    eval(call, true);
}

void sim_run_script_load(sim_call *call)
{
    const sim_script *script = load(call, call->argv[2]);

    if (script != NULL)
        sim_reply_text(call, script->sha1);
}

void sim_run_script_exists(sim_call *call)
{
    sim_reply_array(call, (size_t)call->argc - 2);
    for (int i = 2; i < call->argc; i++)
        sim_reply_integer(call, sim_map_find(&call->server->scripts,
                                             call->argv[i]) != NULL);
}

void sim_run_script_flush(sim_call *call)
{
    if (call->argc > 3 ||
        (call->argc == 3 && !sim_str_is(call->argv[2], "SYNC") &&
         !sim_str_is(call->argv[2], "ASYNC"))) {
        sim_reply_error(call, "SCRIPT FLUSH only support SYNC|ASYNC option");
        return;
    }
    sim_map_clear(&call->server->scripts, NULL);
    sim_reply_status(call, "OK");
}
