/* SPDX-License-Identifier: MIT */

/* What a script finds: Lua's own libraries, redis, and struct. */

#include <ctype.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "server/engine.h"

static sim_engine *engine_of(lua_State *lua)
{
    return lua_touserdata(lua, lua_upvalueindex(1));
}

/* ---- redis -------------------------------------------------------------- */

static void make_room(sim_engine *engine, int argc)
{
    if (argc <= engine->room)
        return;
    engine->room = argc + 16;
    engine->argv =
        sim_resize(engine->argv, (size_t)engine->room * sizeof(*engine->argv));
    engine->numbers = sim_resize(engine->numbers, (size_t)engine->room *
                                                      sizeof(*engine->numbers));
}

/* The arguments on the stack, which stay there; NULL, or what is wrong. */
static const char *read_args(sim_engine *engine, int argc)
{
    lua_State *lua = engine->lua;

    if (argc == 0)
        return "Please specify at least one argument for this redis lib call";
    make_room(engine, argc);
    for (int i = 0; i < argc; i++) {
        sim_str *arg = &engine->argv[i];

        if (lua_type(lua, i + 1) == LUA_TNUMBER) {
            arg->bytes = engine->numbers[i];
            arg->size =
                sim_double_write(engine->numbers[i], lua_tonumber(lua, i + 1));
        } else {
            arg->bytes = lua_tolstring(lua, i + 1, &arg->size);
        }
        if (arg->bytes == NULL)
            return "Lua redis lib command arguments must be strings or "
                   "integers";
    }
    return NULL;
}

/* Returns whether it failed; the value or the error is on the stack. */
static bool run_command(lua_State *lua)
{
    sim_engine *engine = engine_of(lua);
    int argc = lua_gettop(lua);
    const char *words = read_args(engine, argc);

    if (words == NULL) {
        sim_call call = *engine->call;

        call.argc = argc;
        call.argv = engine->argv;
        call.in_script = true;
        call.reply = &engine->reply;
        engine->reply.size = 0;
        words = sim_call_from_script(&call);
    }
    if (words != NULL) {
        sim_push_error(lua, sim_str_of(words));
        return true;
    }
    sim_push_reply(lua, (sim_str){engine->reply.bytes, engine->reply.size});
    return engine->reply.bytes[0] == '-';
}

static int redis_call(lua_State *lua)
{
    return run_command(lua) ? lua_error(lua) : 1;
}

static int redis_pcall(lua_State *lua)
{
    run_command(lua);
    return 1;
}

static int redis_sha1hex(lua_State *lua)
{
    char digest[41];
    sim_str str;

    if (lua_gettop(lua) != 1) {
        sim_push_error(lua, sim_str_of("wrong number of arguments"));
        return lua_error(lua);
    }
    str.bytes = lua_tolstring(lua, 1, &str.size);
    sim_sha1(digest, str);
    lua_pushstring(lua, digest);
    return 1;
}

static bool has_one_string(lua_State *lua)
{
    if (lua_gettop(lua) == 1 && lua_type(lua, 1) == LUA_TSTRING)
        return true;
    sim_push_error(lua, sim_str_of("wrong number or type of arguments"));
    return false;
}

static int redis_error_reply(lua_State *lua)
{
    if (!has_one_string(lua))
        return 1;
    if (lua_tostring(lua, 1)[0] != '-') {
        lua_pushliteral(lua, "-");
        lua_insert(lua, 1);
        lua_concat(lua, 2);
    }
    sim_push_error(lua, sim_str_of(lua_tostring(lua, 1)));
    return 1;
}

static int redis_status_reply(lua_State *lua)
{
    if (!has_one_string(lua))
        return 1;
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, 1);
    lua_setfield(lua, -2, "ok");
    return 1;
}

/* ---- struct ------------------------------------------------------------- */

static void
pack_integer(luaL_Buffer *buffer, lua_Number number, size_t size, bool is_big)
{
    uint64_t value = number < 0 ? (uint64_t)(int64_t)number : (uint64_t)number;

    for (size_t i = 0; i < size; i++) {
        size_t byte = is_big ? size - 1 - i : i;

        luaL_addchar(buffer, (char)(byte < 8 ? value >> 8 * byte : 0));
    }
}

/* struct.pack() with integers of a named size, which is all that is needed. */
static int struct_pack(lua_State *lua)
{
    const char *format = luaL_checkstring(lua, 1);
    bool is_big = false;
    luaL_Buffer buffer;
    int arg = 2;

    luaL_buffinit(lua, &buffer);
    while (*format != '\0') {
        char sign = *format++;

        if (sign == '>' || sign == '<') {
            is_big = sign == '>';
        } else if ((sign == 'I' || sign == 'i') && isdigit(*format)) {
            size_t size = (size_t)(*format++ - '0');

            pack_integer(&buffer, luaL_checknumber(lua, arg++), size, is_big);
        } else {
            return luaL_error(lua, "invalid format option '%c'", sign);
        }
    }
    luaL_pushresult(&buffer);
    return 1;
}

/* ---- Lua's own ---------------------------------------------------------- */

/* pcall(), which tells of a table with an error the error alone. */
static int plain_pcall(lua_State *lua)
{
    int argc = lua_gettop(lua);

    lua_pushboolean(lua, 1);
    lua_insert(lua, 1);
    if (lua_pcall(lua, argc - 1, LUA_MULTRET, 0) != 0) {
        lua_remove(lua, 1);
        if (lua_istable(lua, -1)) {
            lua_getfield(lua, -1, "err");
            if (lua_isstring(lua, -1))
                lua_replace(lua, -2);
        }
        lua_pushboolean(lua, 0);
        lua_insert(lua, 1);
    }
    return lua_gettop(lua);
}

static int no_such_global(lua_State *lua)
{
    return luaL_error(
        lua, "Script attempted to access nonexistent global variable '%s'",
        lua_tostring(lua, -1));
}

static int no_new_global(lua_State *lua)
{
    return luaL_error(lua, "Attempt to modify a readonly table");
}

static void open_library(lua_State *lua, const char *name, lua_CFunction open)
{
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 0);
}

static void set_function(lua_State *lua, const char *name,
                         lua_CFunction function, sim_engine *engine)
{
    lua_pushlightuserdata(lua, engine);
    lua_pushcclosure(lua, function, 1);
    lua_setfield(lua, -2, name);
}

static void forget_globals(lua_State *lua)
{
    static const char *const names[] = {"dofile", "loadfile", "print"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        lua_pushnil(lua);
        lua_setglobal(lua, names[i]);
    }
    lua_getglobal(lua, "math"); /* nothing is random here */
    lua_pushnil(lua);
    lua_setfield(lua, -2, "random");
    lua_pop(lua, 1);
}

static void lock_globals(lua_State *lua)
{
    lua_pushvalue(lua, LUA_GLOBALSINDEX);
    lua_createtable(lua, 0, 2);
    lua_pushcfunction(lua, no_such_global);
    lua_setfield(lua, -2, "__index");
    lua_pushcfunction(lua, no_new_global);
    lua_setfield(lua, -2, "__newindex");
    lua_setmetatable(lua, -2);
    lua_pop(lua, 1);
}

void sim_sandbox_open(sim_engine *engine)
{
    lua_State *lua = engine->lua;

    open_library(lua, "", luaopen_base);
    open_library(lua, LUA_TABLIBNAME, luaopen_table);
    open_library(lua, LUA_STRLIBNAME, luaopen_string);
    open_library(lua, LUA_MATHLIBNAME, luaopen_math);
    forget_globals(lua);
    lua_pushcfunction(lua, plain_pcall);
    lua_setglobal(lua, "pcall");
    lua_createtable(lua, 0, 8);
    set_function(lua, "call", redis_call, engine);
    set_function(lua, "pcall", redis_pcall, engine);
    set_function(lua, "sha1hex", redis_sha1hex, engine);
    set_function(lua, "error_reply", redis_error_reply, engine);
    set_function(lua, "status_reply", redis_status_reply, engine);
    lua_setglobal(lua, "redis");
    lua_createtable(lua, 0, 1);
    set_function(lua, "pack", struct_pack, engine);
    lua_setglobal(lua, "struct");
    lock_globals(lua);
}
