/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_ENGINE_H
#define LK_SIM_SERVER_ENGINE_H

#include <lua.h>

#include "server/inside.h"

/*
 * The interpreter. engine.c runs scripts, sandbox.c says what they find there,
 * convert.c makes values of replies and replies of values.
 */
struct sim_engine {
    lua_State *lua;
    struct sim_pool *pool; /* its memory */
    sim_map scripts;       /* text to sim_script: no sha1 is made twice */
    sim_call *call;        /* of the script under way */
    sim_buffer reply;
    sim_str *argv; /* of a command that a script calls, and its numbers */
    char (*numbers)[SIM_NUMBER];
    int room;    /* of both */
    int full_at; /* the KiB that its memory has, when it is cleared up */
};

/* Opens what a script may use, and nothing else. */
void sim_sandbox_open(sim_engine *engine);

/* Pushes a table with the field err. "ERR " is put before, unless the text
 * begins with '-', which goes. */
void sim_push_error(lua_State *lua, sim_str text);
/* Pushes what a reply says. */
void sim_push_reply(lua_State *lua, sim_str reply);
/* Replies what is on top of the stack, and takes it off. */
void sim_reply_value(sim_call *call, lua_State *lua);

#endif /* LK_SIM_SERVER_ENGINE_H */
