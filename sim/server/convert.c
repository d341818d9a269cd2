/* SPDX-License-Identifier: MIT */

/* Replies into values of scripts and back. */

#include <string.h>

#include "server/engine.h"

static bool is_line_end(char byte)
{
    return byte == '\r' || byte == '\n';
}

/* Without line ends at its ends. */
static sim_str trimmed(sim_str str)
{
    while (str.size > 0 && is_line_end(str.bytes[str.size - 1]))
        str.size--;
    while (str.size > 0 && is_line_end(str.bytes[0]))
        str = (sim_str){str.bytes + 1, str.size - 1};
    return str;
}

void sim_push_error(lua_State *lua, sim_str text)
{
    bool has_code = text.size > 0 && text.bytes[0] == '-';
    const char *blank =
        text.size == 0 ? NULL : memchr(text.bytes, ' ', text.size);
    sim_str code = {"ERR", 3};

    if (has_code) {
        text = (sim_str){text.bytes + 1, text.size - 1};
        if (blank != NULL) {
            code = (sim_str){text.bytes, (size_t)(blank - text.bytes)};
            text = (sim_str){blank + 1, text.size - code.size - 1};
        }
    }
    text = trimmed(text);
    lua_createtable(lua, 0, 3);
    lua_pushlstring(lua, code.bytes, code.size);
    lua_pushlstring(lua, " ", 1);
    lua_pushlstring(lua, text.bytes, text.size);
    lua_concat(lua, 3);
    lua_setfield(lua, -2, "err");
}

/* ---- replies into values ------------------------------------------------ */

/* Reads the number of a line; at is set behind the line. */
static int64_t line_number(const char **at)
{
    const char *end = strchr(*at, '\r');
    int64_t number = 0;

    sim_integer_read((sim_str){*at, (size_t)(end - *at)}, &number);
    *at = end + 2;
    return number;
}

static void push_bulk(lua_State *lua, const char **at)
{
    int64_t size = line_number(at);

    if (size < 0) {
        lua_pushboolean(lua, 0);
        return;
    }
    lua_pushlstring(lua, *at, (size_t)size);
    *at += size + 2;
}

static void push_value(lua_State *lua, const char **at);

static void push_array(lua_State *lua, const char **at)
{
    int64_t count = line_number(at);

    if (count < 0) {
        lua_pushboolean(lua, 0);
        return;
    }
    lua_createtable(lua, (int)count, 0);
    for (int i = 1; i <= count; i++) {
        push_value(lua, at);
        lua_rawseti(lua, -2, i);
    }
}

/* A status, or with its sign an error. */
static void push_line(lua_State *lua, const char **at)
{
    const char *end = strchr(*at, '\r');
    sim_str line = {*at, (size_t)(end - *at)};

    *at = end + 2;
    if (line.bytes[0] == '-') {
        sim_push_error(lua, line);
        return;
    }
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, line.bytes + 1, line.size - 1);
    lua_setfield(lua, -2, "ok");
}

static void push_value(lua_State *lua, const char **at)
{
    if (!lua_checkstack(lua, 4))
        sim_fail("a reply is too deep for a script");
    switch (**at) {
    case ':':
        ++*at;
        lua_pushnumber(lua, (lua_Number)line_number(at));
        break;
    case '$':
        ++*at;
        push_bulk(lua, at);
        break;
    case '*':
        ++*at;
        push_array(lua, at);
        break;
    default:
        push_line(lua, at);
        break;
    }
}

void sim_push_reply(lua_State *lua, sim_str reply)
{
    const char *at = reply.bytes;

    push_value(lua, &at);
}

/* ---- values into replies ------------------------------------------------ */

/* As the processor converts it: what does not fit is the smallest number. */
static int64_t whole(lua_Number number)
{
    if (number >= -9223372036854775808.0 && number < 9223372036854775808.0)
        return (int64_t)number;
    return INT64_MIN;
}

/* A string in that field of the table on top; NULL: there is none. */
static const char *word(lua_State *lua, const char *field)
{
    const char *text;

    lua_pushstring(lua, field);
    lua_rawget(lua, -2);
    text = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : NULL;
    lua_pop(lua, 1); /* the table keeps it */
    return text;
}

static void reply_status(sim_call *call, const char *text)
{
    size_t at = call->reply->size;

    sim_reply_status(call, text);
    for (; at < call->reply->size - 2; at++) {
        if (is_line_end(call->reply->bytes[at]))
            call->reply->bytes[at] = ' ';
    }
}

static void reply_elements(sim_call *call, lua_State *lua)
{
    size_t count = 0;

    for (;; count++) { /* up to the first nil */
        lua_rawgeti(lua, -1, (int)count + 1);
        if (lua_isnil(lua, -1))
            break;
        lua_pop(lua, 1);
    }
    lua_pop(lua, 1);
    sim_reply_array(call, count);
    for (size_t i = 1; i <= count; i++) {
        lua_rawgeti(lua, -1, (int)i);
        sim_reply_value(call, lua);
    }
}

static void reply_table(sim_call *call, lua_State *lua)
{
    const char *text = word(lua, "err");

    if (text != NULL) {
        sim_str str = trimmed(sim_str_of(text));

        sim_reply_error(call, "-%.*s", (int)str.size, str.bytes);
        return;
    }
    text = word(lua, "ok");
    if (text != NULL)
        reply_status(call, text);
    else
        reply_elements(call, lua);
}

void sim_reply_value(sim_call *call, lua_State *lua)
{
    sim_str str;

    if (!lua_checkstack(lua, 4))
        sim_fail("the value of a script is too deep");
    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        str.bytes = lua_tolstring(lua, -1, &str.size);
        sim_reply_bulk(call, str);
        break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(lua, -1))
            sim_reply_integer(call, 1);
        else
            sim_reply_nil(call);
        break;
    case LUA_TNUMBER:
        sim_reply_integer(call, whole(lua_tonumber(lua, -1)));
        break;
    case LUA_TTABLE:
        reply_table(call, lua);
        break;
    default:
        sim_reply_nil(call);
        break;
    }
    lua_pop(lua, 1);
}
