/* SPDX-License-Identifier: MIT */

/* Scripts: compiled once, run for any server. */

#include "server/engine.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "server/pool.h"

enum { RUBBISH_MOST = 1024 }; /* KiB */

sim_engine *sim_engine_new(void)
{
    sim_engine *engine = sim_alloc(sizeof(*engine));

    engine->pool = sim_pool_new();
    engine->lua = lua_newstate(sim_pool_change, engine->pool);
    if (engine->lua == NULL)
        sim_fail("no memory");
    sim_sandbox_open(engine);
    lua_gc(engine->lua, LUA_GCSTOP, 0); /* see sweep() */
    return engine;
}

void sim_engine_free(sim_engine *engine)
{
    if (engine == NULL)
        return;
    lua_close(engine->lua);
    sim_pool_free(engine->pool);
    sim_map_clear(&engine->scripts, free);
    sim_buffer_done(&engine->reply);
    free(engine->argv);
    free(engine->numbers);
    free(engine);
}

/* NULL: it does not compile, and the reply says why. */
static sim_script *compile(sim_call *call, sim_str body)
{
    sim_engine *engine = call->server->engine;
    sim_script *script;

    if (luaL_loadbuffer(engine->lua, body.bytes, body.size, "@user_script") !=
        0) {
        sim_reply_error(call, "Error compiling script (new function): %s",
                        lua_tostring(engine->lua, -1));
        lua_pop(engine->lua, 1);
        return NULL;
    }
    script = sim_alloc(sizeof(*script));
    sim_sha1(script->sha1, body);
    script->ref = luaL_ref(engine->lua, LUA_REGISTRYINDEX);
    return script;
}

sim_script *sim_engine_compile(sim_call *call, sim_str body)
{
    sim_engine *engine = call->server->engine;
    sim_entry *entry = sim_map_find(&engine->scripts, body);
    sim_script *script;

    if (entry != NULL)
        return entry->pointer;
    script = compile(call, body);
    if (script == NULL)
        return NULL;
    sim_map_add(&engine->scripts, body)->pointer = script;
    return script;
}

/* Makes a table of an error and notes where it was raised. */
static int on_error(lua_State *lua)
{
    lua_Debug where;
    bool is_known = lua_getstack(lua, 1, &where) != 0 &&
                    lua_getinfo(lua, "Sl", &where) != 0;

    if (is_known && strcmp(where.what, "C") == 0)
        is_known = lua_getstack(lua, 2, &where) != 0 &&
                   lua_getinfo(lua, "Sl", &where) != 0;
    if (!lua_istable(lua, 1)) {
        const char *text = lua_tostring(lua, 1);

        lua_createtable(lua, 0, 3);
        lua_pushfstring(lua, "ERR %s", text == NULL ? "nil" : text);
        lua_setfield(lua, -2, "err");
    }
    if (is_known) {
        lua_pushstring(lua, where.source);
        lua_setfield(lua, -2, "source");
        lua_pushinteger(lua, where.currentline);
        lua_setfield(lua, -2, "line");
    }
    return 1;
}

static void set_array(sim_call *call, lua_State *lua, const char *name,
                      int first, int count)
{
    lua_pushstring(lua, name);
    lua_createtable(lua, count, 0);
    for (int i = 0; i < count; i++) {
        lua_pushlstring(lua, call->argv[first + i].bytes,
                        call->argv[first + i].size);
        lua_rawseti(lua, -2, i + 1);
    }
    lua_rawset(lua, LUA_GLOBALSINDEX);
}

/* A field of the error on top, as text; "" if it is none. */
static const char *field(lua_State *lua, const char *name)
{
    const char *text;

    lua_getfield(lua, -1, name);
    text = lua_isstring(lua, -1) ? lua_tostring(lua, -1) : "";
    lua_setfield(lua, -2, name); /* there as a string, which is kept */
    return text;
}

static void
reply_failure(sim_call *call, lua_State *lua, const sim_script *script)
{
    const char *words, *source, *line;

    if (!lua_istable(lua, -1))
        sim_fail("a script was out of memory");
    words = field(lua, "err");
    source = field(lua, "source");
    line = field(lua, "line");
    if (*source != '\0' && *line != '\0')
        sim_reply_error(call, "-%s script: %s, on %s:%s.", words, script->sha1,
                        source, line);
    else
        sim_reply_error(call, "-%s", words);
    lua_pop(lua, 1);
}

/* Rubbish is looked for between scripts, while it still fits into a cache. */
static void sweep(sim_engine *engine)
{
    if (lua_gc(engine->lua, LUA_GCCOUNT, 0) < engine->full_at)
        return;
    lua_gc(engine->lua, LUA_GCCOLLECT, 0);
    engine->full_at = lua_gc(engine->lua, LUA_GCCOUNT, 0) + RUBBISH_MOST;
}

void sim_engine_run(sim_call *call, const sim_script *script, int key_count)
{
    sim_engine *engine = call->server->engine;
    lua_State *lua = engine->lua;
    int failed;

    call->server->script_wrote = false;
    engine->call = call;
    lua_pushcfunction(lua, on_error);
    lua_rawgeti(lua, LUA_REGISTRYINDEX, script->ref);
    set_array(call, lua, "KEYS", 3, key_count);
    set_array(call, lua, "ARGV", 3 + key_count, call->argc - 3 - key_count);
    failed = lua_pcall(lua, 0, 1, -2);
    engine->call = NULL;
    if (failed)
        reply_failure(call, lua, script);
    else
        sim_reply_value(call, lua);
    lua_pop(lua, 1);
    sweep(engine);
}
